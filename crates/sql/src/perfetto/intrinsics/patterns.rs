//! Regular expressions.
//!
//! | function | result |
//! |---|---|
//! | `regexp(pattern, text)` | whether the pattern matches a part of the text; `text REGEXP pattern` calls it |
//! | `regexp(pattern, text, flags)` | the same; `i` in the flags ignores the case, `c` does not, and the last one counts |
//! | `regexp_extract(text, pattern)` | the first match, or the part of it in the pattern's only group; NULL if there is none |
//! | `regexp_replace_simple(text, pattern, replacement)` | the text with the replacement for each match |
//!
//! They have trace processor's internal names, too: `__intrinsic_regexp`, `__intrinsic_regexp_with_flags`,
//! `__intrinsic_regexp_extract` and `__intrinsic_regexp_replace_simple`.
//!
//! The syntax is that of the crate `regex`, without references to groups and without looking
//! ahead or behind, so that a match takes a time linear in the text. A function keeps the patterns that
//! it compiled last, so a statement with a pattern compiles it once (SF3). SQLite's auxiliary data would do
//! so only for a pattern that is a constant of the statement, and only if SQLite calls.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use regex::{NoExpand, Regex, RegexBuilder};
use rusqlite::Connection;

use crate::{Answer, Arguments, Call, Error, Function, Functions, Result, ValueRef};

/// The most bytes of a compiled pattern, and of the tables that a match fills.
const COMPILED: usize = 1 << 20;

/// The limit for the compiled patterns that a function keeps.
const KEPT: usize = 8;

pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    let mut to = conn;
    to.add("__intrinsic_regexp", 2, Matches::new("__intrinsic_regexp"))?;
    let with_flags = "__intrinsic_regexp_with_flags";
    to.add(with_flags, 3, Matches::new(with_flags))?;
    let extract = "__intrinsic_regexp_extract";
    to.add(extract, 2, Extract(Patterns::new(extract)))?;
    let replace = "__intrinsic_regexp_replace_simple";
    to.add(replace, 3, Replace(Patterns::new(replace)))?;
    Ok(())
}

/// Adds the functions under their public names.
pub fn add(to: &mut impl Functions) -> Result<()> {
    to.add("regexp", 2, Matches::new("regexp"))?;
    to.add("regexp", 3, Matches::new("regexp"))?;
    let extract = "regexp_extract";
    to.add(extract, 2, Extract(Patterns::new(extract)))?;
    let replace = "regexp_replace_simple";
    to.add(replace, 3, Replace(Patterns::new(replace)))
}

struct Pattern {
    text: String,
    ignores_case: bool,
    regex: Regex,
}

/// The patterns that a function compiled, the last used first.
struct Patterns {
    function: &'static str,
    kept: Mutex<Vec<Arc<Pattern>>>,
}

impl Patterns {
    fn new(function: &'static str) -> Patterns {
        Patterns { function, kept: Mutex::default() }
    }

    /// The pattern in an argument; `None` for NULL.
    fn of<C: Call>(
        &self,
        call: &C,
        index: usize,
        ignores_case: bool,
    ) -> Result<Option<Arc<Pattern>>> {
        let Some(text) = text(call, index) else {
            return Ok(None);
        };
        let wrong =
            |wrong| Arguments::new(self.function, call).wrong(index, "pattern", told(&wrong));
        self.compiled(&text, ignores_case).map(Some).map_err(wrong)
    }

    /// A pattern that was compiled before, or is now.
    fn compiled(
        &self,
        text: &str,
        ignores_case: bool,
    ) -> std::result::Result<Arc<Pattern>, regex::Error> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same =
            |known: &Arc<Pattern>| known.ignores_case == ignores_case && known.text == text;
        if let Some(at) = kept.iter().position(is_same) {
            let pattern = kept.remove(at);
            kept.insert(0, Arc::clone(&pattern));
            return Ok(pattern);
        }
        let regex = RegexBuilder::new(text)
            .case_insensitive(ignores_case)
            .size_limit(COMPILED)
            .dfa_size_limit(COMPILED)
            .build()?;
        let pattern = Arc::new(Pattern { regex, text: text.to_owned(), ignores_case });
        kept.truncate(KEPT.saturating_sub(1));
        kept.insert(0, Arc::clone(&pattern));
        Ok(pattern)
    }
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

/// An argument as a text; `None` for NULL.
fn text<C: Call>(call: &C, index: usize) -> Option<Cow<'_, str>> {
    match call.value(index)? {
        ValueRef::Null => None,
        ValueRef::Integer(value) => Some(value.to_string().into()),
        ValueRef::Real(value) => Some(format!("{value:?}").into()),
        ValueRef::Text(text) | ValueRef::Blob(text) => Some(String::from_utf8_lossy(text)),
    }
}

struct Matches(Patterns);

impl Matches {
    fn new(function: &'static str) -> Matches {
        Matches(Patterns::new(function))
    }
}

impl Function for Matches {
    fn call<C: Call>(&self, call: &C) -> Result<Answer> {
        let mut ignores_case = false;
        if call.value(2).is_some() {
            let Some(flags) = text(call, 2) else {
                return Ok(Answer::Null);
            };
            for flag in flags.chars() {
                ignores_case = match flag {
                    'i' => true,
                    'c' => false,
                    _ => {
                        let arguments = Arguments::new(self.0.function, call);
                        return Err(arguments.must_be(2, "flags", "of i and c"));
                    }
                };
            }
        }
        let Some(text) = text(call, 1) else {
            return Ok(Answer::Null);
        };
        let pattern = self.0.of(call, 0, ignores_case)?;
        let is_match = pattern.map(|pattern| i64::from(pattern.regex.is_match(&text)));
        Ok(is_match.into())
    }
}

struct Extract(Patterns);

impl Function for Extract {
    fn call<C: Call>(&self, call: &C) -> Result<Answer> {
        let (Some(text), Some(pattern)) = (text(call, 0), self.0.of(call, 1, false)?) else {
            return Ok(Answer::Null);
        };
        // The whole match is the first group.
        if pattern.regex.captures_len() > 2 {
            return Err(Arguments::new(self.0.function, call).wrong(
                1,
                "pattern",
                "has more than one group; write (?:…) for those that are not extracted",
            ));
        }
        let Some(found) = pattern.regex.captures(&text) else {
            return Ok(Answer::Null);
        };
        // A group that matched nothing stands for the whole match.
        let group = found.get(1).filter(|group| !group.is_empty()).or(found.get(0));
        Ok(group.map(|group| group.as_str().to_owned()).into())
    }
}

struct Replace(Patterns);

impl Function for Replace {
    fn call<C: Call>(&self, call: &C) -> Result<Answer> {
        let (Some(text), Some(replacement)) = (text(call, 0), text(call, 2)) else {
            return Ok(Answer::Null);
        };
        let Some(pattern) = self.0.of(call, 1, false)? else {
            return Ok(Answer::Null);
        };
        // SQLite refuses a longer text, but after it was made.
        let longest = text.len().saturating_add(1).saturating_mul(replacement.len().max(1));
        if longest > super::limits::BYTES {
            return Err(Error::new(format_args!(
                "{}(): the text and its replacement are too long",
                self.0.function
            )));
        }
        let replaced = pattern.regex.replace_all(&text, NoExpand(&replacement));
        Ok(replaced.into_owned().into())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
