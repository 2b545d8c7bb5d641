//! Text for a terminal, or for the command line of a shell.

use std::borrow::Cow;

/// Log messages can contain anything, but they must not control a terminal. Line feeds are kept: a
/// cell may have several lines.
pub fn printable(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' => c,
            '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(c)).unwrap_or(' '),
            '\x7f' => '␡',
            c if c.is_control() => char::REPLACEMENT_CHARACTER,
            c => c,
        })
        .collect()
}

/// A name in a message of one line.
pub fn one_line(text: &str) -> String {
    printable(text).replace('\n', "␊")
}

/// A path for a shell, so that the line can be pasted. A path that begins with a dash gets `./`, so
/// that it is not taken for an option.
pub fn quoted_path(path: &str) -> Cow<'_, str> {
    match path.starts_with('-') && path != "-" {
        true => Cow::Owned(quoted(&format!("./{path}")).into_owned()),
        false => quoted(path),
    }
}

/// A word for a shell.
pub fn quoted(path: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+=:,@%".contains(c);
    if !path.is_empty() && path.chars().all(is_plain) {
        Cow::Borrowed(path)
    } else {
        Cow::Owned(format!("'{}'", path.replace('\'', r"'\''")))
    }
}

/// A text in HTML.
pub fn html(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    printable(&text.replace('>', "&gt;"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_can_be_pasted() {
        assert_eq!(quoted("a/trace-1.db"), "a/trace-1.db");
        assert_eq!(quoted("my trace.db"), "'my trace.db'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted_path("-t.db"), "./-t.db");
        assert_eq!(quoted_path("--my trace.db"), "'./--my trace.db'");
        assert_eq!(quoted_path("a-b.db"), "a-b.db");
        assert_eq!(quoted_path("-"), "-");
    }
}
