//! The text of a path, checked against the schema.

use super::{Select, Step};
use crate::pool::Pool;
use crate::schema::{Field, Kind, MessageId};
use crate::unreadable::MAX_DEPTH;
use std::fmt;

/// Names longer than any name in a schema are not compared with those in the schema.
const MAX_SUGGESTION: usize = 80;

/// The reason why a text is not a path of a message.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// The path lacks something at a place.
    #[error("the path '{path}' lacks {expected} at character {}", at + 1)]
    Lacks {
        /// The path.
        path: String,
        /// The missing part.
        expected: &'static str,
        /// The number of characters before the place.
        at: usize,
    },
    /// The message has no such field.
    #[error("{message} has no field '{field}'{}", suggestion(nearest.as_deref()))]
    NoField {
        /// The message's name, without its package.
        message: String,
        /// The missing field.
        field: String,
        /// The field that the user may have meant.
        nearest: Option<String>,
    },
    /// A step after a field that is not a message.
    #[error("'{field}' is not a message, so '.{rest}' cannot follow it")]
    NoMessage {
        /// The field's name.
        field: String,
        /// The rest of the path.
        rest: String,
    },
    /// A step into a list as a whole.
    #[error("'{field}' is a list; write '{field}[0].{rest}' for its first element")]
    NoIndex {
        /// The field's name.
        field: String,
        /// The rest of the path.
        rest: String,
    },
    /// An index of a field that is not a list.
    #[error("'{field}' is not a list; write '{field}', without '[{index}]'")]
    NoList {
        /// The field's name.
        field: String,
        /// The contents of the brackets.
        index: String,
    },
    /// An index of a list that is not a number.
    #[error(
        "'{field}' is a list; write '{field}[0]' for its first element, not '{field}[{index}]'"
    )]
    BadIndex {
        /// The field's name.
        field: String,
        /// The contents of the brackets.
        index: String,
    },
    /// More steps than the allowed nesting of messages.
    #[error("the path has more than {MAX_DEPTH} steps")]
    TooLong,
}

/// As a sentence: a `main` that returns this error, and `unwrap`, write its Debug to the user.
impl fmt::Debug for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean '{name}'?"))
}

/// Reads the steps of a path.
pub(super) fn steps(pool: &Pool, root: MessageId, text: &str) -> Result<Vec<Step>, PathError> {
    let mut parser = Parser { pool, path: text, at: 0 };
    let mut steps = Vec::new();
    let mut message = root;
    loop {
        let start = parser.at;
        let (name, number, field) = parser.field(message)?;
        let shape = parser.shape(field);
        let select = parser.select(&name, &shape)?;
        steps.push(Step {
            text: parser.since(start).to_owned(),
            number,
            known: field.is_some(),
            select,
        });
        if parser.rest().is_empty() {
            return Ok(steps);
        }
        if steps.len() >= MAX_DEPTH {
            return Err(PathError::TooLong);
        }
        let selected = steps.last().is_some_and(|step| step.select.is_some());
        message = parser.next_message(name, &shape, selected)?;
    }
}

/// The kind of a field, for paths.
enum Shape {
    Single(Option<MessageId>),
    List(Option<MessageId>),
    Map(Option<MessageId>),
    /// A field that the schema does not know: one value or several.
    Unknown,
}

enum Bracket<'t> {
    Plain(&'t str),
    Quoted(&'t str),
}

struct Parser<'t> {
    pool: &'t Pool,
    path: &'t str,
    at: usize,
}

impl<'t> Parser<'t> {
    fn rest(&self) -> &'t str {
        self.path.get(self.at..).unwrap_or_default()
    }

    fn since(&self, start: usize) -> &'t str {
        self.path.get(start..self.at).unwrap_or_default()
    }

    fn lacks(&self, expected: &'static str) -> PathError {
        let before = self.path.get(..self.at).unwrap_or_default();
        PathError::Lacks { path: self.path.to_owned(), expected, at: before.chars().count() }
    }

    /// Skips a text if it comes next.
    fn skip(&mut self, text: &str) -> bool {
        let is_next = self.rest().starts_with(text);
        if is_next {
            self.at += text.len();
        }
        is_next
    }

    fn until(&mut self, end: impl Fn(&str) -> Option<usize>) -> Option<&'t str> {
        let rest = self.rest();
        let size = end(rest)?;
        self.at += size;
        rest.get(..size)
    }

    /// The text up to the next `.` or `[`.
    fn word(&mut self, expected: &'static str) -> Result<&'t str, PathError> {
        let word = self.until(|rest| Some(rest.find(['.', '[']).unwrap_or(rest.len())));
        match word {
            Some(word) if !word.is_empty() => Ok(word),
            _ => Err(self.lacks(expected)),
        }
    }

    fn bracket(&mut self) -> Result<Option<Bracket<'t>>, PathError> {
        if !self.skip("[") {
            return Ok(None);
        }
        for (quote, end) in [("'", "']"), ("\"", "\"]")] {
            if self.skip(quote) {
                let key = self.until(|rest| rest.find(end));
                let key = key.ok_or_else(|| self.lacks("the end of a quoted key"))?;
                self.skip(end);
                return Ok(Some(Bracket::Quoted(key)));
            }
        }
        let inner = self.until(|rest| rest.find(']'));
        let inner = inner.ok_or_else(|| self.lacks("a closing bracket after this"))?;
        self.skip("]");
        Ok(Some(Bracket::Plain(inner)))
    }

    /// The field of a step: its name in the path, its number, and its definition in the schema.
    fn field(&mut self, message: MessageId) -> Result<(String, u32, Option<&'t Field>), PathError> {
        let name = match self.bracket()? {
            Some(Bracket::Plain(full) | Bracket::Quoted(full)) => format!("[{full}]"),
            None => self.word("the name of a field")?.to_owned(),
        };
        if let Ok(number @ 1..=0x1fff_ffff) = name.parse() {
            return Ok((name, number, self.pool.field(message, number)));
        }
        match self.pool.field_by_name(message, &name) {
            Some(field) => Ok((name, field.number, Some(field))),
            None => Err(self.no_field(message, name)),
        }
    }

    fn no_field(&self, message: MessageId, field: String) -> PathError {
        let full = self.pool.message_name(message);
        PathError::NoField {
            message: full.rsplit('.').next().unwrap_or(full).to_owned(),
            nearest: self.nearest(message, &field),
            field,
        }
    }

    /// The field with the most similar name, if any is similar.
    fn nearest(&self, message: MessageId, name: &str) -> Option<String> {
        if name.len() > MAX_SUGGESTION {
            return None;
        }
        let known = self.pool.schema.message(message)?.fields.iter();
        let distances = known
            .map(Field::step)
            .filter(|known| known.len() <= MAX_SUGGESTION)
            .map(|known| (strsim::osa_distance(name, known), known));
        let (distance, nearest) = distances.min_by_key(|&(distance, _)| distance)?;
        (distance <= (name.len() / 3).max(2)).then(|| nearest.to_owned())
    }

    fn shape(&self, field: Option<&Field>) -> Shape {
        let Some(field) = field else {
            return Shape::Unknown;
        };
        match self.pool.schema.map_entry(field) {
            Some((_, value)) => Shape::Map(message_of(value)),
            None if field.repeated => Shape::List(message_of(field)),
            None => Shape::Single(message_of(field)),
        }
    }

    fn select(&mut self, name: &str, shape: &Shape) -> Result<Option<Select>, PathError> {
        let bracket = self.bracket()?;
        if let Shape::Map(_) = shape {
            return match bracket {
                Some(Bracket::Plain(key) | Bracket::Quoted(key)) => {
                    Ok(Some(Select::Key(key.to_owned())))
                }
                None if self.skip(".") => Ok(Some(Select::Key(self.word("a key")?.to_owned()))),
                None => Ok(None),
            };
        }
        let index = match bracket {
            None => return Ok(None),
            Some(Bracket::Plain(index)) => index.to_owned(),
            Some(Bracket::Quoted(key)) => format!("'{key}'"),
        };
        let field = name.to_owned();
        if let Shape::Single(_) = shape {
            return Err(PathError::NoList { field, index });
        }
        if index.is_empty() || !index.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(PathError::BadIndex { field, index });
        }
        // An index that does not fit is beyond the end of any list.
        Ok(Some(Select::Index(index.parse().unwrap_or(usize::MAX))))
    }

    /// The message that contains the next step.
    fn next_message(
        &mut self,
        field: String,
        shape: &Shape,
        selected: bool,
    ) -> Result<MessageId, PathError> {
        if !self.skip(".") {
            return Err(self.lacks("a '.'"));
        }
        let rest = || self.rest().to_owned();
        match *shape {
            Shape::List(Some(_)) if !selected => Err(PathError::NoIndex { rest: rest(), field }),
            Shape::Single(Some(id)) | Shape::List(Some(id)) | Shape::Map(Some(id)) => Ok(id),
            _ => Err(PathError::NoMessage { rest: rest(), field }),
        }
    }
}

fn message_of(field: &Field) -> Option<MessageId> {
    match field.kind {
        Kind::Message(id) => Some(id),
        _ => None,
    }
}
