//! The message about several files on one timeline whose clocks nothing relates.
//!
//! # Design
//!
//! A shell expands `fleet/*.pftrace` to several arguments, which become one timeline here. This is
//! rarely the intention if the traces have nothing to do with each other, and nothing in the result
//! shows it. The import knows how it related each file, so its result decides, and not the names of
//! the files. The alternative was to make each file a separate trace. But then the same command
//! would do different things, depending on the contents of the traces.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::escape::quoted_path;

/// The number of files that the message names.
const NAMED: usize = 3;

/// The message, with the commands that the user may have meant; `None` if all files are related.
pub fn told(
    command: &str,
    traces: &[PathBuf],
    output: &Path,
    unrelated: &[String],
) -> Option<String> {
    if unrelated.is_empty() {
        return None;
    }
    let said = format!(
        "nothing says how the clocks of {} relate to those of the earlier files: on one timeline, the order of their events is random",
        names(unrelated)
    );
    let manifest = "A manifest says how files relate: timebase manifest --help";
    let [_, _, ..] = traces else {
        return Some(format!("{said}. --merge accepts this without a warning. {manifest}"));
    };
    let output = quoted_path(&output.to_string_lossy()).into_owned();
    // Each database has its own name, and tables have one folder.
    let alone = match command {
        "export" => format!(" -o {output}"),
        "rewrite" => " -o \"rewritten-${trace##*/}\"".to_owned(),
        _ => String::new(),
    };
    let traces = arguments(traces);
    Some(format!(
        "{said}. Choose one:\n  \
           separately:     for trace in {traces}; do timebase {command} \"$trace\"{alone}; done\n  \
           one timeline:   timebase {command} --merge {traces} -o {output}\n\
         {manifest}"
    ))
}

/// The first names, and the number of the others.
fn names(names: &[String]) -> String {
    let first: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
    match names.len().saturating_sub(NAMED) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// Arguments for a shell: many files of one folder become a pattern, as they were probably given.
fn arguments(traces: &[PathBuf]) -> String {
    let quoted = |path: &Path| quoted_path(&path.to_string_lossy()).into_owned();
    if traces.len() > NAMED
        && let Some((folder, ending)) = common(traces)
    {
        let folder = match folder.as_os_str().is_empty() {
            true => String::new(),
            false => format!("{}/", quoted(folder)),
        };
        return format!("{folder}*.{}", ending.display());
    }
    let first = traces.iter().take(NAMED).map(|path| quoted(path));
    let mut all: Vec<String> = first.collect();
    if traces.len() > NAMED {
        all.push("…".to_owned());
    }
    all.join(" ")
}

/// The common folder and extension of all paths.
fn common(traces: &[PathBuf]) -> Option<(&Path, &OsStr)> {
    let of = |path: &'_ Path| Some((path.parent()?.to_owned(), path.extension()?.to_owned()));
    let first = traces.first()?;
    let expected = of(first)?;
    let is_plain = |ending: &OsStr| ending.to_string_lossy().chars().all(char::is_alphanumeric);
    let is_common = traces.iter().all(|path| of(path).as_ref() == Some(&expected));
    let found = (first.parent()?, first.extension()?);
    (is_common && is_plain(found.1)).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_files_are_given_by_a_pattern_where_one_fits() {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        let fleet = paths(&[
            "my fleet/a.pftrace",
            "my fleet/b.pftrace",
            "my fleet/c.pftrace",
            "my fleet/d.pftrace",
        ]);
        assert_eq!(arguments(&fleet), "'my fleet'/*.pftrace");
        let here = paths(&["a.gz", "b.gz", "c.gz", "d.gz"]);
        assert_eq!(arguments(&here), "*.gz");
        assert_eq!(arguments(&paths(&["a.pftrace", "-b"])), "a.pftrace ./-b");
        assert_eq!(arguments(&paths(&["a.x", "b.x", "c.x", "d.y"])), "a.x b.x c.x …");
    }

    #[test]
    fn some_names_are_told_and_how_many_more() {
        let all: Vec<String> = ["a", "b", "c", "d", "e"].map(String::from).to_vec();
        assert_eq!(names(&all[..2]), "a, b");
        assert_eq!(names(&all), "a, b, c and 2 more");
    }
}
