//! Regular expressions.
//!
//! | function | result |
//! |---|---|
//! | `__intrinsic_regexp(pattern, text)` | whether the pattern matches a part of the text |
//! | `__intrinsic_regexp_with_flags(pattern, text, flags)` | the same; `i` in the flags ignores the case, `c` does not, and the last one counts |
//! | `__intrinsic_regexp_extract(text, pattern)` | the first match, or the part of it in the pattern's only group; NULL if there is none |
//! | `__intrinsic_regexp_replace_simple(text, pattern, replacement)` | the text with the replacement for each match |
//!
//! The syntax is that of the crate `regex`, without references to groups and without looking
//! ahead or behind, so that a match takes a time linear in the text. A pattern is compiled once in
//! a statement.

use std::borrow::Cow;
use std::sync::Arc;

use regex::{NoExpand, Regex, RegexBuilder};
use rusqlite::Connection;
use rusqlite::types::ValueRef;

use crate::{Error, Result};

use super::call::{Call, PURE, scalar};

/// The most bytes of a compiled pattern, and of the tables that a match fills.
const COMPILED: usize = 1 << 20;

pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    scalar(conn, "__intrinsic_regexp", 2, PURE, |call| {
        matches(call, None)
    })?;
    scalar(conn, "__intrinsic_regexp_with_flags", 3, PURE, |call| {
        matches(call, Some(2))
    })?;
    scalar(conn, "__intrinsic_regexp_extract", 2, PURE, extract)?;
    scalar(conn, "__intrinsic_regexp_replace_simple", 3, PURE, replace)
}

struct Pattern {
    regex: Regex,
    ignores_case: bool,
}

/// The pattern in an argument; `None` for NULL.
fn pattern(call: Call<'_, '_>, index: usize, ignores_case: bool) -> Result<Option<Arc<Pattern>>> {
    let kept = i32::try_from(index).unwrap_or_default();
    let ctx = call.context();
    if let Ok(Some(pattern)) = ctx.get_aux::<Pattern>(kept)
        && pattern.ignores_case == ignores_case
    {
        return Ok(Some(pattern));
    }
    let Some(text) = text(call.value(index)) else {
        return Ok(None);
    };
    let regex = RegexBuilder::new(&text)
        .case_insensitive(ignores_case)
        .size_limit(COMPILED)
        .dfa_size_limit(COMPILED)
        .build();
    let regex = regex.map_err(|wrong| call.arguments().wrong(index, "pattern", told(&wrong)))?;
    let pattern = Pattern {
        regex,
        ignores_case,
    };
    Ok(Some(ctx.set_aux(kept, pattern)?))
}

/// The last line of an error, without the picture of the pattern above it.
fn told(wrong: &regex::Error) -> String {
    match wrong {
        regex::Error::CompiledTooBig(_) => "is a pattern that needs too much memory".to_owned(),
        wrong => {
            let told = wrong.to_string();
            let last = told.lines().next_back().unwrap_or_default();
            let reason = last.strip_prefix("error: ").unwrap_or(last);
            format!("is no regular expression: {reason}")
        }
    }
}

/// A value as a text; `None` for NULL.
fn text(value: ValueRef<'_>) -> Option<Cow<'_, str>> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(value) => Some(value.to_string().into()),
        ValueRef::Real(value) => Some(format!("{value:?}").into()),
        ValueRef::Text(text) | ValueRef::Blob(text) => Some(String::from_utf8_lossy(text)),
    }
}

fn matches(call: Call<'_, '_>, flags: Option<usize>) -> Result<Option<bool>> {
    let mut ignores_case = false;
    if let Some(index) = flags {
        let Some(flags) = text(call.value(index)) else {
            return Ok(None);
        };
        for flag in flags.chars() {
            ignores_case = match flag {
                'i' => true,
                'c' => false,
                _ => return Err(call.arguments().must_be(index, "flags", "of i and c")),
            };
        }
    }
    let Some(text) = text(call.value(1)) else {
        return Ok(None);
    };
    let pattern = pattern(call, 0, ignores_case)?;
    Ok(pattern.map(|pattern| pattern.regex.is_match(&text)))
}

fn extract(call: Call<'_, '_>) -> Result<Option<String>> {
    let (Some(text), Some(pattern)) = (text(call.value(0)), pattern(call, 1, false)?) else {
        return Ok(None);
    };
    // The whole match is the first group.
    if pattern.regex.captures_len() > 2 {
        return Err(call.arguments().wrong(
            1,
            "pattern",
            "has more than one group; write (?:…) for those that are not extracted",
        ));
    }
    let Some(found) = pattern.regex.captures(&text) else {
        return Ok(None);
    };
    // A group that matched nothing stands for the whole match.
    let group = found
        .get(1)
        .filter(|group| !group.is_empty())
        .or(found.get(0));
    Ok(group.map(|group| group.as_str().to_owned()))
}

fn replace(call: Call<'_, '_>) -> Result<Option<String>> {
    let (Some(text), Some(replacement)) = (text(call.value(0)), text(call.value(2))) else {
        return Ok(None);
    };
    let Some(pattern) = pattern(call, 1, false)? else {
        return Ok(None);
    };
    // SQLite refuses a longer text, but after it was made.
    let longest = text
        .len()
        .saturating_add(1)
        .saturating_mul(replacement.len().max(1));
    if longest > super::limits::BYTES {
        return Err(Error::new(
            "regexp_replace_simple(): the text and its replacement are too long",
        ));
    }
    Ok(Some(
        pattern
            .regex
            .replace_all(&text, NoExpand(&replacement))
            .into_owned(),
    ))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
