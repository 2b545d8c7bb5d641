//! Names without their numbers (rule CM7), and without what a user replaces.

use std::borrow::Cow;

use regex::Regex;
use timebase_sql::standard::pattern;

use crate::error::{Error, Result};

/// The replacements in names: those of the user first, then [`pattern`].
///
/// ```
/// use timebase_compare::Names;
/// let names = Names::new(&["worker-[a-z]+=worker"], true)?;
/// assert_eq!(names.pattern("worker-blue 7"), "worker #");
/// assert!(Names::new(&["worker"], true).is_err());
/// # Ok::<(), timebase_compare::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Names {
    replacements: Vec<(Regex, String)>,
    numbers: bool,
}

impl Default for Names {
    /// No replacements but those of numbers.
    fn default() -> Names {
        Names { replacements: Vec::new(), numbers: true }
    }
}

impl Names {
    /// Replacements written as `REGEX=TEXT`; `TEXT` is after the last `=`, and may name groups as `$1`. With
    /// `numbers`, [`pattern`] replaces the numbers as well.
    pub fn new(replacements: &[impl AsRef<str>], numbers: bool) -> Result<Names> {
        let replacements = replacements.iter().map(|text| replacement(text.as_ref()));
        Ok(Names { replacements: replacements.collect::<Result<_>>()?, numbers })
    }

    /// The name after all replacements.
    pub fn pattern<'a>(&self, name: &'a str) -> Cow<'a, str> {
        let mut name = Cow::Borrowed(name);
        for (regex, text) in &self.replacements {
            if let Cow::Owned(new) = regex.replace_all(&name, text.as_str()) {
                name = Cow::Owned(new);
            }
        }
        match (&name, self.numbers) {
            (_, false) => name,
            (Cow::Borrowed(name), true) => pattern(name),
            (Cow::Owned(name), true) => Cow::Owned(pattern(name).into_owned()),
        }
    }
}

fn replacement(text: &str) -> Result<(Regex, String)> {
    let wrong = |reason: String| Error::Replacement { text: text.to_owned(), reason };
    let (regex, by) = text.rsplit_once('=').ok_or_else(|| wrong("it has no =".to_owned()))?;
    if regex.is_empty() {
        return Err(wrong("the expression is empty".to_owned()));
    }
    let regex = Regex::new(regex).map_err(|error| {
        // The lines before the last one show the place in the expression.
        let text = error.to_string();
        let reason = text.lines().last().unwrap_or_default();
        wrong(reason.strip_prefix("error: ").unwrap_or(reason).to_owned())
    })?;
    Ok((regex, by.to_owned()))
}
