//! JSON, with all fields of an object in their order, including repeated names (A6).

#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Integer(i64),
    Real(f64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// `None` if it is not JSON.
    pub fn parse(text: &str) -> Option<Json> {
        let mut rest = text;
        let value = value(&mut rest)?;
        is_end(rest).then_some(value)
    }
}

fn blanks(rest: &mut &str) {
    *rest = rest.trim_start_matches([' ', '\t', '\n', '\r']);
}

fn is_end(mut rest: &str) -> bool {
    blanks(&mut rest);
    rest.is_empty()
}

/// Whether this comes next; if so, it is skipped.
fn eat(rest: &mut &str, what: &str) -> bool {
    blanks(rest);
    let behind = rest.strip_prefix(what);
    *rest = behind.unwrap_or(rest);
    behind.is_some()
}

fn value(rest: &mut &str) -> Option<Json> {
    blanks(rest);
    Some(match rest.chars().next()? {
        '{' => {
            let mut fields = Vec::new();
            items(rest, "{", "}", |rest| {
                let Json::Text(name) = string(rest)? else {
                    return None;
                };
                let value = eat(rest, ":").then(|| value(rest))??;
                fields.push((name, value));
                Some(())
            })?;
            Json::Object(fields)
        }
        '[' => {
            let mut entries = Vec::new();
            items(rest, "[", "]", |rest| {
                entries.push(value(rest)?);
                Some(())
            })?;
            Json::List(entries)
        }
        '"' => string(rest)?,
        _ if eat(rest, "null") => Json::Null,
        _ if eat(rest, "true") => Json::Bool(true),
        _ if eat(rest, "false") => Json::Bool(false),
        _ => number(rest)?,
    })
}

/// The items between brackets, separated by commas.
fn items(
    rest: &mut &str,
    open: &str,
    close: &str,
    mut item: impl FnMut(&mut &str) -> Option<()>,
) -> Option<()> {
    eat(rest, open).then_some(())?;
    if eat(rest, close) {
        return Some(());
    }
    loop {
        item(rest)?;
        if !eat(rest, ",") {
            return eat(rest, close).then_some(());
        }
    }
}

fn string(rest: &mut &str) -> Option<Json> {
    eat(rest, "\"").then_some(())?;
    let mut text = String::new();
    loop {
        let next = rest.chars().next()?;
        *rest = &rest[next.len_utf8()..];
        match next {
            '"' => return Some(Json::Text(text)),
            '\\' => text.push(escaped(rest)?),
            '\0'..' ' => return None,
            plain => text.push(plain),
        }
    }
}

/// The character for an escape after `\`.
fn escaped(rest: &mut &str) -> Option<char> {
    let next = rest.chars().next()?;
    *rest = &rest[next.len_utf8()..];
    Some(match next {
        '"' | '\\' | '/' => next,
        'b' => '\x08',
        'f' => '\x0c',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => {
            let unit = unit(rest)?;
            if !(0xd800..0xdc00).contains(&unit) {
                return char::from_u32(unit);
            }
            *rest = rest.strip_prefix("\\u")?;
            char::decode_utf16([unit as u16, self::unit(rest)? as u16]).next()?.ok()?
        }
        _ => return None,
    })
}

/// Four hexadecimal digits.
fn unit(rest: &mut &str) -> Option<u32> {
    let digits = rest.get(..4)?;
    *rest = &rest[4..];
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_hex.then(|| u32::from_str_radix(digits, 16).ok())?
}

fn number(rest: &mut &str) -> Option<Json> {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E');
    let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
    let text = &rest[..end];
    let digits = text.strip_prefix('-').unwrap_or(text);
    let whole = digits.split(['.', 'e', 'E']).next()?;
    let is_whole = !whole.is_empty() && whole.bytes().all(|digit| digit.is_ascii_digit());
    let is_led_by_zero = whole.len() > 1 && whole.starts_with('0');
    let has_fraction = digits
        .split_once('.')
        .is_none_or(|(_, fraction)| fraction.starts_with(|digit: char| digit.is_ascii_digit()));
    if !is_whole || is_led_by_zero || !has_fraction {
        return None;
    }
    let real: f64 = text.parse().ok()?;
    *rest = &rest[end..];
    let integer = if digits == whole { text.parse().ok() } else { None };
    Some(integer.map_or(Json::Real(real), Json::Integer))
}
