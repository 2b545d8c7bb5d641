//! Macros (PQ7): a call is replaced by tokens, before anything else reads the statement.
//!
//! Arguments are not expanded before they are put into the body, so `stringify!` sees what the user
//! wrote. The result is read again for calls; names in it may be of any origin (a macro is
//! hygienic in nothing).

use std::sync::Arc;

use super::source::{Place, Source, Via};
use crate::error::{Error, Result};
use crate::token::{Kind, Token, Tokens, is_name_byte};

/// The depth of calls inside of bodies (PQ7).
const DEPTH: usize = 1000;

/// The bytes of a statement after all expansions. SQLite in the program takes no longer statements.
const LONGEST: usize = 16 << 20;

/// The tokens that all expansions of one statement may read.
const WORK: usize = 16 << 20;

/// A token with its origin.
#[derive(Debug, Clone)]
pub struct Piece {
    pub kind: Kind,
    source: Arc<Source>,
    start: usize,
    end: usize,
    via: Option<Arc<Via>>,
}

impl Piece {
    pub fn text(&self) -> &str {
        self.source.text.get(self.start..self.end).unwrap_or_default()
    }

    pub fn place(&self) -> Place {
        Place { source: Arc::clone(&self.source), offset: self.start, via: self.via.clone() }
    }

    /// Whether it is this word without quotes, in any case.
    pub fn is_word(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.text().eq_ignore_ascii_case(word)
    }

    /// Whether it is this sign.
    pub fn is_sign(&self, sign: &str) -> bool {
        self.kind == Kind::Sign && self.text() == sign
    }

    fn through(&self, via: &Arc<Via>) -> Piece {
        Piece { via: Some(Arc::clone(via)), ..self.clone() }
    }
}

/// The tokens of a part of a source.
pub fn pieces(source: &Arc<Source>, start: usize, end: usize) -> Vec<Piece> {
    let text = source.text.get(start..end).unwrap_or_default();
    let piece = |token: Token<'_>| Piece {
        kind: token.kind,
        source: Arc::clone(source),
        start: start.saturating_add(token.start),
        end: start.saturating_add(token.end()),
        via: None,
    };
    Tokens::with_macros(text).map(piece).collect()
}

/// Without the blanks and comments at both ends.
pub fn trimmed(pieces: &[Piece]) -> &[Piece] {
    let is_part = |piece: &Piece| !piece.kind.is_blank();
    let start = pieces.iter().position(is_part).unwrap_or(pieces.len());
    let end = pieces.iter().rposition(is_part).map_or(start, |at| at + 1);
    pieces.get(start..end).unwrap_or_default()
}

/// An error at the place of a token.
pub fn at(place: &Place, message: impl std::fmt::Display) -> Error {
    Error::new(format_args!("{message}{}", place.told()))
}

/// A macro of a user or a module.
#[derive(Debug)]
pub struct Macro {
    pub name: String,
    /// The names of its arguments, without `$`.
    pub parameters: Vec<String>,
    pub body: Vec<Piece>,
}

/// A statement for SQLite, and where its parts were written.
#[derive(Debug, Clone)]
pub struct Sql {
    pub text: String,
    /// By their first byte in the text.
    origins: Vec<(usize, Piece)>,
}

impl Sql {
    /// The text of tokens, which are kept apart where they would become one.
    pub fn of(pieces: &[Piece]) -> Sql {
        let mut sql = Sql { text: String::new(), origins: Vec::new() };
        for piece in pieces {
            sql.push(piece);
        }
        sql
    }

    /// The same, after other words.
    pub fn after(&self, words: &str) -> Sql {
        let origins = self.origins.iter();
        let moved =
            origins.map(|(start, piece)| (start.saturating_add(words.len()), piece.clone()));
        Sql { text: format!("{words}{}", self.text), origins: moved.collect() }
    }

    fn push(&mut self, piece: &Piece) {
        let follows = self.origins.last().is_some_and(|(start, last)| {
            let length = self.text.len().saturating_sub(*start);
            Arc::ptr_eq(&last.source, &piece.source)
                && last.start.checked_add(length) == Some(piece.start)
                && same(last.via.as_ref(), piece.via.as_ref())
        });
        if !follows {
            if self.would_merge(piece.text()) {
                self.text.push(' ');
            }
            self.origins.push((self.text.len(), piece.clone()));
        }
        self.text += piece.text();
    }

    fn would_merge(&self, next: &str) -> bool {
        let (Some(last), Some(first)) = (self.text.bytes().last(), next.bytes().next()) else {
            return false;
        };
        let is_part = |byte: u8| is_name_byte(byte) || b"'\"`.".contains(&byte);
        let is_operator = |byte: u8| b"-/*<>=|!&:".contains(&byte);
        // A dot joins names, and must not become part of a number.
        let is_dot = last == b'.' && !first.is_ascii_digit() || first == b'.';
        (is_part(last) && is_part(first) && !is_dot) || (is_operator(last) && is_operator(first))
    }

    /// The origin of a byte.
    pub fn place(&self, offset: usize) -> Option<Place> {
        let after = self.origins.partition_point(|(start, _)| *start <= offset);
        let (start, piece) = self.origins.get(after.checked_sub(1)?)?;
        let mut place = piece.place();
        place.offset = place.offset.saturating_add(offset.saturating_sub(*start));
        Some(place)
    }

    /// Adds the origin of the statement, or of the byte that SQLite names, to an error.
    pub fn explain(&self, message: &str, offset: Option<usize>) -> Error {
        match self.place(offset.unwrap_or(0)) {
            Some(place) => at(&place, message),
            None => Error::new(message),
        }
    }
}

fn same(one: Option<&Arc<Via>>, other: Option<&Arc<Via>>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        _ => false,
    }
}

/// The macros that a statement can call.
pub trait Macros {
    fn find(&self, name: &str) -> Option<Arc<Macro>>;
}

/// The tokens of a statement with all calls replaced.
///
/// # Errors
///
/// If a macro is missing or gets wrong arguments, or if the result is too long or too deep.
pub fn expand(pieces: Vec<Piece>, macros: &dyn Macros) -> Result<Vec<Piece>> {
    if !pieces.iter().any(|piece| piece.is_sign("!")) {
        return Ok(pieces);
    }
    let mut expansion =
        Expansion { macros, out: Vec::with_capacity(pieces.len()), bytes: 0, work: 0 };
    expansion.run(&pieces, 0)?;
    Ok(expansion.out)
}

struct Expansion<'m> {
    macros: &'m dyn Macros,
    out: Vec<Piece>,
    bytes: usize,
    work: usize,
}

/// A call in a list of tokens.
struct Found<'p> {
    name: &'p Piece,
    /// Each as it was written, without blanks around it.
    arguments: Vec<&'p [Piece]>,
    /// The index after the call.
    end: usize,
}

impl Expansion<'_> {
    fn run(&mut self, pieces: &[Piece], depth: usize) -> Result<()> {
        self.work = self.work.saturating_add(pieces.len());
        let mut index = 0;
        while let Some(piece) = pieces.get(index) {
            let Some(call) = call(pieces, index)? else {
                self.bytes = self.bytes.saturating_add(piece.text().len());
                if self.bytes > LONGEST || self.work > WORK {
                    let message = format_args!(
                        "the macros make a statement of more than {} MiB",
                        LONGEST >> 20
                    );
                    return Err(at(&piece.place(), message));
                }
                self.out.push(piece.clone());
                index += 1;
                continue;
            };
            if depth == DEPTH {
                let message = format_args!(
                    "the macro {}! is called more than {DEPTH} deep, perhaps by itself",
                    call.name.text()
                );
                return Err(at(&outermost(call.name.place()), message));
            }
            if self.work > WORK {
                let message = format!("the macro {}! makes too many calls", call.name.text());
                return Err(at(&outermost(call.name.place()), message));
            }
            let replaced = match built_in(&call)? {
                Some(replaced) => replaced,
                None => self.replaced(&call)?,
            };
            self.run(&replaced, depth.saturating_add(1))?;
            index = call.end;
        }
        Ok(())
    }

    /// The body of a macro with the arguments of a call.
    fn replaced(&self, call: &Found<'_>) -> Result<Vec<Piece>> {
        let name = call.name.text();
        let Some(found) = self.macros.find(name) else {
            if let Some(cast) = cast(call)? {
                return Ok(cast);
            }
            let message = format_args!(
                "no such macro: {name}!; include the module that declares it, or declare it with CREATE PERFETTO MACRO"
            );
            return Err(at(&call.name.place(), message));
        };
        if found.parameters.len() != call.arguments.len() {
            return Err(wrong_count(call, &found.parameters.len().to_string()));
        }
        let via = via(call);
        let mut replaced = Vec::with_capacity(found.body.len());
        for piece in &found.body {
            let argument = match (piece.kind, piece.text().strip_prefix('$')) {
                (Kind::Variable, Some(name)) => {
                    found.parameters.iter().position(|known| known == name)
                }
                _ => None,
            };
            match argument.and_then(|index| call.arguments.get(index)) {
                Some(argument) => replaced.extend_from_slice(argument),
                None => replaced.push(piece.through(&via)),
            }
        }
        Ok(replaced)
    }
}

fn via(call: &Found<'_>) -> Arc<Via> {
    Arc::new(Via { name: call.name.text().to_owned(), at: call.name.place() })
}

/// The call that a user wrote: a chain of a thousand would hide it.
fn outermost(mut place: Place) -> Place {
    while let Some(via) = place.via.take() {
        place = via.at.clone();
    }
    place
}

fn wrong_count(call: &Found<'_>, expected: &str) -> Error {
    let (name, given) = (call.name.text(), call.arguments.len());
    let message = format_args!("{name}!() takes {expected} arguments, not {given}");
    at(&call.name.place(), message)
}

/// The index of the first token from `from` on that is no blank.
fn significant(pieces: &[Piece], from: usize) -> Option<usize> {
    let rest = pieces.get(from..)?;
    let found = rest.iter().position(|piece| !piece.kind.is_blank())?;
    from.checked_add(found)
}

/// The call that begins at a token: `name ! ( … )`, with blanks between its parts.
fn call(pieces: &[Piece], index: usize) -> Result<Option<Found<'_>>> {
    let Some(name) = pieces.get(index).filter(|piece| piece.kind == Kind::Word) else {
        return Ok(None);
    };
    let next = |from: usize, sign: &str| {
        significant(pieces, from.saturating_add(1))
            .filter(|at| pieces.get(*at).is_some_and(|piece| piece.is_sign(sign)))
    };
    let Some(open) = next(index, "!").and_then(|bang| next(bang, "(")) else {
        return Ok(None);
    };
    let (arguments, end) = divided(pieces, open).ok_or_else(|| {
        let message = format!("the arguments of {}! have no end", name.text());
        at(&name.place(), message)
    })?;
    Ok(Some(Found { name, arguments, end }))
}

/// Divides at the commas outside of inner parentheses, from an opening parenthesis to its end; and
/// the index after that. `()` has no part. `None` if there is no end.
fn divided(pieces: &[Piece], open: usize) -> Option<(Vec<&[Piece]>, usize)> {
    let (mut depth, mut start, mut parts) = (0usize, open.checked_add(1)?, Vec::new());
    for (index, piece) in pieces.iter().enumerate().skip(start) {
        match piece.text() {
            _ if piece.kind != Kind::Sign => {}
            "(" => depth = depth.checked_add(1)?,
            ")" if depth > 0 => depth -= 1,
            ")" => {
                let last = trimmed(pieces.get(start..index)?);
                if !(parts.is_empty() && last.is_empty()) {
                    parts.push(last);
                }
                return Some((parts, index.checked_add(1)?));
            }
            "," if depth == 0 => {
                parts.push(trimmed(pieces.get(start..index)?));
                start = index.checked_add(1)?;
            }
            _ => {}
        }
    }
    None
}

/// The result of a built-in macro; `None` if the call is of another one.
fn built_in(call: &Found<'_>) -> Result<Option<Vec<Piece>>> {
    let name = call.name.text();
    let (joiner, is_prefix) = match name.strip_prefix("__intrinsic_") {
        Some("stringify" | "stringify_ignore_table") => return stringify(call).map(Some),
        Some("table_ptr") => return table_pointer(call).map(Some),
        Some("token_apply") => (", ", false),
        Some("token_apply_prefix") => (", ", true),
        Some("token_apply_and") => (" AND ", false),
        Some("token_apply_and_prefix") => (" AND ", true),
        _ => return Ok(None),
    };
    apply(call, joiner, is_prefix).map(Some)
}

/// The result of a macro of trace processor's prelude that needs no INCLUDE: `cast_int!(x)` is
/// `CAST(x AS INT)`. `None` if the call is of another one.
fn cast(call: &Found<'_>) -> Result<Option<Vec<Piece>>> {
    let to = match call.name.text() {
        "cast_int" => " AS INT)",
        "cast_double" => " AS REAL)",
        "cast_string" => " AS TEXT)",
        _ => return Ok(None),
    };
    let [argument] = call.arguments.as_slice() else {
        return Err(wrong_count(call, "1"));
    };
    let via = via(call);
    let mut cast = made("CAST(", &via);
    cast.extend_from_slice(argument);
    cast.extend(made(to, &via));
    Ok(Some(cast))
}

/// Tokens that no source has.
fn made(text: &str, via: &Arc<Via>) -> Vec<Piece> {
    let source = Source::new(Some(format!("{}!", via.name)), text);
    let made = pieces(&source, 0, text.len());
    made.iter().map(|piece| piece.through(via)).collect()
}

/// `'argument'`. Quotes inside of the argument stay as they are (PQ10).
fn stringify(call: &Found<'_>) -> Result<Vec<Piece>> {
    let [argument] = call.arguments.as_slice() else {
        return Err(wrong_count(call, "1"));
    };
    let text = Sql::of(argument).text;
    Ok(made(&format!("'{text}'"), &via(call)))
}

/// The call of the function with this name, whose value is a table pointer.
fn table_pointer(call: &Found<'_>) -> Result<Vec<Piece>> {
    let [argument] = call.arguments.as_slice() else {
        return Err(wrong_count(call, "1"));
    };
    let via = via(call);
    let mut called = made("__intrinsic_table_ptr(", &via);
    called.extend_from_slice(argument);
    called.extend(made(")", &via));
    Ok(called)
}

/// `name!(a, x) joiner name!(b, y) …` for the lists `(a, b …)` and `(x, y …)`; the shorter list
/// counts. There may be one list only.
fn apply(call: &Found<'_>, joiner: &str, is_prefix: bool) -> Result<Vec<Piece>> {
    let (name, lists) = match call.arguments.as_slice() {
        [name, lists @ ..] if matches!(lists.len(), 1 | 2) => (*name, lists),
        _ => return Err(wrong_count(call, "2 or 3")),
    };
    let list = |index: usize| match lists.get(index) {
        None => Ok(None),
        Some(list) => elements(call, list).map(Some),
    };
    let (first, second) = (list(0)?.unwrap_or_default(), list(1)?);
    let count = second.as_ref().map_or(first.len(), |second| first.len().min(second.len()));
    let via = via(call);
    let mut applied = Vec::new();
    for (index, element) in first.iter().take(count).enumerate() {
        if index > 0 || is_prefix {
            applied.extend(made(joiner, &via));
        }
        applied.extend_from_slice(name);
        applied.extend(made("!(", &via));
        applied.extend_from_slice(element);
        if let Some(other) = second.as_ref().and_then(|second| second.get(index)) {
            applied.extend(made(", ", &via));
            applied.extend_from_slice(other);
        }
        applied.extend(made(")", &via));
    }
    Ok(applied)
}

/// The elements of a list in parentheses, none of which is empty.
fn elements<'p>(call: &Found<'_>, list: &'p [Piece]) -> Result<Vec<&'p [Piece]>> {
    let divided = match list.first() {
        Some(open) if open.is_sign("(") => divided(list, 0),
        _ => None,
    };
    let elements = divided.filter(|(_, end)| *end == list.len());
    let elements = elements.map(|(mut elements, _)| {
        // A comma may follow the last one.
        if elements.len() > 1 && elements.last().is_some_and(|last| last.is_empty()) {
            elements.pop();
        }
        elements
    });
    match elements {
        Some(elements) if elements.iter().all(|element| !element.is_empty()) => Ok(elements),
        _ => {
            let name = call.name.text();
            let message =
                format_args!("{name}!() takes lists such as (a, b), not {}", Sql::of(list).text);
            Err(at(&call.name.place(), message))
        }
    }
}

#[cfg(test)]
#[path = "expand/tests.rs"]
#[allow(clippy::unwrap_used)]
mod tests;
