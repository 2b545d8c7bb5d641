//! The statements of the dialect, read token by token (PQ1, PQ3 to PQ7).
//!
//! A word of the dialect is a keyword only at its place, so a column may be called `module`.

use std::borrow::Cow;
use std::sync::Arc;

use super::expand::{Macro, Macros, Piece, Sql, at, expand, pieces, trimmed};
use super::script::Raw;
use super::source::{Place, Source};
use super::types::Type;
use crate::error::Result;
use crate::token::Kind;

/// A column of a schema, or an argument of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    pub declared: Type,
    /// `name TYPE...`: this argument and any more of it.
    pub is_variadic: bool,
}

/// The kind of a function's result.
#[derive(Debug, Clone)]
pub enum Returns {
    Value,
    Rows(Vec<Column>),
}

/// The implementation of a function.
#[derive(Debug, Clone)]
pub enum Body {
    Select(Sql),
    /// The same as another function.
    Delegates(String),
}

/// `CREATE PERFETTO FUNCTION`.
#[derive(Debug, Clone)]
pub struct Function {
    pub name: String,
    pub arguments: Vec<Column>,
    pub returns: Returns,
    pub body: Body,
}

/// `CREATE PERFETTO INDEX`.
#[derive(Debug, Clone)]
pub struct Index {
    pub name: String,
    pub table: String,
    pub columns: Vec<String>,
}

/// The kind of an object, in `DROP PERFETTO`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dropped {
    Table,
    View,
    Index,
    Function,
    Macro,
}

/// A function whose call, as a statement, is one of the dialect's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calling {
    CreateFunction,
    CreateViewFunction,
    Import,
    Memoize,
}

impl Calling {
    pub const ALL: [Calling; 4] =
        [Calling::CreateFunction, Calling::CreateViewFunction, Calling::Import, Calling::Memoize];

    /// The name of the function.
    pub fn name(self) -> &'static str {
        match self {
            Calling::CreateFunction => "create_function",
            Calling::CreateViewFunction => "create_view_function",
            Calling::Import => "import",
            Calling::Memoize => "experimental_memoize",
        }
    }

    /// The names of its arguments, all of which are texts.
    pub fn arguments(self) -> &'static [&'static str] {
        match self {
            Calling::CreateFunction => &["prototype", "type", "sql"],
            Calling::CreateViewFunction => &["prototype", "columns", "sql"],
            Calling::Import => &["module"],
            Calling::Memoize => &["function"],
        }
    }
}

/// The action of a statement.
#[derive(Debug)]
pub enum Action {
    Table {
        name: String,
        schema: Vec<Column>,
        select: Sql,
    },
    View {
        name: String,
        schema: Vec<Column>,
        select: Sql,
    },
    Function(Function),
    Index(Index),
    Macro(Macro),
    Include(String),
    Drop(Dropped, String),
    /// `SELECT create_function(…)` and its like: an old form of the dialect's statements.
    Call(Calling, Sql),
    /// `experimental_memoize`, of a function.
    Memoize(String),
    /// A statement of SQLite's.
    Sqlite(Plain),
}

impl Action {
    /// The SELECT inside of it, if there is one.
    pub fn body(&self) -> Option<&Sql> {
        match self {
            Action::Table { select, .. } | Action::View { select, .. } => Some(select),
            Action::Function(function) => match &function.body {
                Body::Select(select) => Some(select),
                Body::Delegates(_) => None,
            },
            _ => None,
        }
    }
}

/// A statement of SQLite's.
#[derive(Debug)]
pub struct Plain {
    pub sql: Sql,
    /// The same, but the object that it makes is in the temp schema. `None` if it makes no table,
    /// view or virtual table, or names the schema.
    pub temporary: Option<Sql>,
    /// Whether it makes a span join, which the dialect puts into the temp schema.
    pub is_span_join: bool,
}

/// A statement, and where it begins.
#[derive(Debug)]
pub struct Statement {
    pub place: Place,
    pub is_replacing: bool,
    pub action: Action,
}

/// Reads a statement of a source.
///
/// # Errors
///
/// If it begins like one of the dialect and goes on differently, and those of macros.
pub fn read(source: &Arc<Source>, raw: Raw, macros: &dyn Macros) -> Result<Statement> {
    let all = pieces(source, raw.start, raw.end);
    // The calls in a macro's body wait for its own call.
    let all = match Reader::of(&all).begins_macro() {
        true => all,
        false => expand(all, macros)?,
    };
    Reader::of(&all).statement(source)
}

/// Whether a statement is one call of a function that stands for a statement of the dialect, and so has no rows.
pub fn is_call(source: &Arc<Source>, raw: Raw) -> bool {
    Reader::of(&pieces(source, raw.start, raw.end)).call().is_some()
}

/// A list of tokens, read from the front.
struct Reader<'p> {
    pieces: &'p [Piece],
    at: usize,
}

impl<'p> Reader<'p> {
    fn of(pieces: &'p [Piece]) -> Reader<'p> {
        Reader { pieces, at: 0 }
    }

    /// The next token that is no blank.
    fn peek(&self) -> Option<&'p Piece> {
        let rest = self.pieces.get(self.at..)?;
        rest.iter().find(|piece| !piece.kind.is_blank())
    }

    fn next(&mut self) -> Option<&'p Piece> {
        let rest = self.pieces.get(self.at..)?;
        let found = rest.iter().position(|piece| !piece.kind.is_blank())?;
        self.at = self.at.saturating_add(found).saturating_add(1);
        rest.get(found)
    }

    /// The rest, without blanks around it.
    fn rest(&self) -> &'p [Piece] {
        trimmed(self.pieces.get(self.at..).unwrap_or_default())
    }

    /// Whether the next token is this word; then it is read.
    fn word(&mut self, word: &str) -> bool {
        let is = self.peek().is_some_and(|piece| piece.is_word(word));
        if is {
            self.next();
        }
        is
    }

    fn sign(&mut self, sign: &str) -> bool {
        let is = self.peek().is_some_and(|piece| piece.is_sign(sign));
        if is {
            self.next();
        }
        is
    }

    fn words(&mut self, words: &[&str]) -> bool {
        let before = self.at;
        let are = words.iter().all(|word| self.word(word));
        if !are {
            self.at = before;
        }
        are
    }

    fn begins_macro(mut self) -> bool {
        self.create().is_some() && self.word("MACRO")
    }

    /// `CREATE [OR REPLACE] PERFETTO`: whether it replaces.
    fn create(&mut self) -> Option<bool> {
        let before = self.at;
        if self.word("CREATE") {
            let is_replacing = self.words(&["OR", "REPLACE"]);
            if self.word("PERFETTO") {
                return Some(is_replacing);
            }
        }
        self.at = before;
        None
    }

    fn statement(mut self, source: &Arc<Source>) -> Result<Statement> {
        let place = match self.peek() {
            Some(piece) => piece.place(),
            None => Place::start(source),
        };
        let mut is_replacing = false;
        let action = if let Some(replacing) = self.create() {
            is_replacing = replacing;
            self.created()?
        } else if self.words(&["INCLUDE", "PERFETTO"]) {
            self.expect_word("MODULE")?;
            Action::Include(self.module()?)
        } else if self.words(&["DROP", "PERFETTO"]) {
            self.dropped()?
        } else if let Some(call) = self.call() {
            call
        } else {
            Action::Sqlite(self.plain())
        };
        Ok(Statement { place, is_replacing, action })
    }

    /// `SELECT create_function(…) [AS name]`, and nothing more.
    fn call(&mut self) -> Option<Action> {
        let before = self.at;
        let found = self.found_call();
        if found.is_none() {
            self.at = before;
        }
        found
    }

    fn found_call(&mut self) -> Option<Action> {
        if !self.word("SELECT") {
            return None;
        }
        let called = Calling::ALL.into_iter().find(|calling| self.word(calling.name()))?;
        if !self.sign("(") {
            return None;
        }
        let start = self.at;
        let mut depth = 1usize;
        while depth > 0 {
            let piece = self.next()?;
            depth = match piece {
                piece if piece.is_sign("(") => depth.saturating_add(1),
                piece if piece.is_sign(")") => depth.saturating_sub(1),
                _ => depth,
            };
        }
        let arguments = self.pieces.get(start..self.at.saturating_sub(1))?;
        if self.word("AS") {
            self.name("a name").ok()?;
        }
        self.peek().is_none().then(|| Action::Call(called, Sql::of(arguments)))
    }

    fn created(&mut self) -> Result<Action> {
        if self.word("TABLE") {
            let name = self.name("the table's name")?;
            if self.word("USING") {
                self.name("the table's implementation")?;
            }
            let schema = self.schema()?;
            let select = self.select()?;
            return Ok(Action::Table { name, schema, select });
        }
        if self.word("VIEW") {
            let name = self.name("the view's name")?;
            let schema = self.schema()?;
            let select = self.select()?;
            return Ok(Action::View { name, schema, select });
        }
        if self.word("FUNCTION") {
            return self.function();
        }
        if self.word("MACRO") {
            return self.a_macro();
        }
        if self.word("INDEX") {
            let name = self.name("the index's name")?;
            self.expect_word("ON")?;
            let table = self.name("the table's name")?;
            let columns = self.list(|reader| reader.name("a column"))?;
            self.end()?;
            return Ok(Action::Index(Index { name, table, columns }));
        }
        self.wrong("TABLE, VIEW, FUNCTION, MACRO or INDEX after CREATE PERFETTO")
    }

    fn dropped(&mut self) -> Result<Action> {
        const KINDS: [(&str, Dropped); 5] = [
            ("TABLE", Dropped::Table),
            ("VIEW", Dropped::View),
            ("INDEX", Dropped::Index),
            ("FUNCTION", Dropped::Function),
            ("MACRO", Dropped::Macro),
        ];
        let Some((_, kind)) = KINDS.into_iter().find(|(word, _)| self.word(word)) else {
            return self.wrong("TABLE, VIEW, FUNCTION, MACRO or INDEX after DROP PERFETTO");
        };
        let name = self.name("a name")?;
        if kind == Dropped::Index && self.word("ON") {
            self.name("the table's name")?;
        }
        self.end()?;
        Ok(Action::Drop(kind, name))
    }

    fn function(&mut self) -> Result<Action> {
        let name = self.name("the function's name")?;
        let arguments = self.columns()?;
        self.expect_word("RETURNS")?;
        let returns = match self.word("TABLE") {
            true => Returns::Rows(self.columns()?),
            false => {
                self.declared()?;
                Returns::Value
            }
        };
        let body = match self.words(&["DELEGATES", "TO"]) {
            true => {
                let to = self.name("a function")?;
                self.end()?;
                Body::Delegates(to)
            }
            false => Body::Select(self.select()?),
        };
        let variadic = arguments.iter().position(|argument| argument.is_variadic);
        let is_last = variadic.is_none_or(|at| at.checked_add(1) == Some(arguments.len()));
        if !is_last || (variadic.is_some() && matches!(body, Body::Select(_))) {
            return self.fail(
                "only the last argument of a function that delegates can have any number of values (...)",
            );
        }
        Ok(Action::Function(Function { name, arguments, returns, body }))
    }

    /// The rest of `CREATE PERFETTO MACRO`. The types are for the reader; macros take tokens.
    fn a_macro(&mut self) -> Result<Action> {
        let name = self.name("the macro's name")?;
        let parameters = self.list(|reader| {
            let name = reader.name("an argument's name")?;
            reader.macro_type()?;
            Ok(name)
        })?;
        self.expect_word("RETURNS")?;
        self.macro_type()?;
        self.expect_word("AS")?;
        let body = self.rest().to_vec();
        if body.is_empty() {
            return self.wrong("the macro's body");
        }
        Ok(Action::Macro(Macro { name, parameters, body }))
    }

    fn macro_type(&mut self) -> Result<()> {
        /// The types of trace processor, whose modules check them.
        const TYPES: [&str; 8] = [
            "ColumnNameList",
            "_ProjectionFragment",
            "_TableNameList",
            "ColumnName",
            "Expr",
            "TableOrSubquery",
            "UnparenExprList",
            "ExprList",
        ];
        let before = self.at;
        let name = self.name("a type")?;
        if TYPES.iter().any(|known| known.eq_ignore_ascii_case(&name)) {
            return Ok(());
        }
        self.at = before;
        self.wrong(&format!("one of the types of macros ({})", TYPES.join(", ")))
    }

    /// `a.b.c`, `a.*` or `*`.
    fn module(&mut self) -> Result<String> {
        let mut module = String::new();
        loop {
            match self.next() {
                Some(piece) if piece.is_sign("*") => module.push('*'),
                Some(piece) if piece.kind == Kind::Word => module += piece.text(),
                _ => return self.wrong("the name of a module, such as slices.with_context"),
            }
            if !self.sign(".") {
                break;
            }
            module.push('.');
        }
        self.end()?;
        Ok(module)
    }

    /// `AS` and a statement that has rows.
    fn select(&mut self) -> Result<Sql> {
        self.expect_word("AS")?;
        let rest = self.rest();
        match rest.is_empty() {
            true => self.wrong("SELECT after AS"),
            false => Ok(Sql::of(&for_sqlite(rest))),
        }
    }

    /// The schema of a table or view; empty if there is none.
    fn schema(&mut self) -> Result<Vec<Column>> {
        match self.peek().is_some_and(|piece| piece.is_sign("(")) {
            true => self.columns(),
            false => Ok(Vec::new()),
        }
    }

    fn columns(&mut self) -> Result<Vec<Column>> {
        self.list(|reader| {
            let name = reader.name("a name")?;
            let declared = reader.declared()?;
            let is_variadic = reader.sign(".") && reader.sign(".") && reader.sign(".");
            Ok(Column { name, declared, is_variadic })
        })
    }

    /// A type: `LONG`, or `JOINID(thread.id)`.
    fn declared(&mut self) -> Result<Type> {
        let before = self.at;
        let name = self.name("a type")?;
        let Some(declared) = Type::of(&name) else {
            self.at = before;
            return self.wrong(&format!("one of the types {}", Type::ALL));
        };
        if self.sign("(") {
            self.name("a table")?;
            while self.sign(".") {
                self.name("a column")?;
            }
            self.expect_sign(")")?;
        }
        Ok(declared)
    }

    /// A list in parentheses, which may be empty.
    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.expect_sign("(")?;
        let mut items = Vec::new();
        if self.sign(")") {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.sign(")") {
                return Ok(items);
            }
            if !self.sign(",") {
                return self.wrong("a comma or a closing parenthesis");
            }
        }
    }

    fn name(&mut self, what: &str) -> Result<String> {
        match self.peek() {
            Some(piece) if piece.kind == Kind::Word => {
                self.next();
                Ok(piece.text().to_owned())
            }
            Some(piece) if piece.kind == Kind::Quoted => {
                self.next();
                Ok(unquoted(piece.text()))
            }
            _ => self.wrong(what),
        }
    }

    fn expect_word(&mut self, word: &str) -> Result<()> {
        match self.word(word) {
            true => Ok(()),
            false => self.wrong(word),
        }
    }

    fn expect_sign(&mut self, sign: &str) -> Result<()> {
        match self.sign(sign) {
            true => Ok(()),
            false => self.wrong(sign),
        }
    }

    fn end(&mut self) -> Result<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => self.wrong("the end of the statement"),
        }
    }

    fn wrong<T>(&self, expected: &str) -> Result<T> {
        match self.peek() {
            Some(piece) => self.fail(&format!(
                "near \"{}\": expected {expected}",
                piece.text().chars().take(40).collect::<String>()
            )),
            None => self.fail(&format!("the statement is incomplete: expected {expected}")),
        }
    }

    fn fail<T>(&self, message: &str) -> Result<T> {
        let piece = self.peek().or_else(|| trimmed(self.pieces).last());
        match piece {
            Some(piece) => Err(at(&piece.place(), message)),
            None => Err(crate::Error::new(message)),
        }
    }

    /// A statement of SQLite's, in both forms.
    fn plain(mut self) -> Plain {
        let pieces = for_sqlite(trimmed(self.pieces));
        let sql = Sql::of(&pieces);
        let mut plain = Plain { sql, temporary: None, is_span_join: false };
        if !self.word("CREATE") {
            return plain;
        }
        let after_create = self.at;
        let is_virtual = self.words(&["VIRTUAL", "TABLE"]);
        if !is_virtual && !self.word("TABLE") && !self.word("VIEW") {
            return plain;
        }
        self.words(&["IF", "NOT", "EXISTS"]);
        let before_name = self.pieces.len().saturating_sub(self.rest().len());
        if self.name("").is_err() || self.sign(".") {
            return plain;
        }
        plain.is_span_join = is_virtual
            && self.word("USING")
            && self.peek().is_some_and(|piece| {
                ["SPAN_JOIN", "SPAN_LEFT_JOIN", "SPAN_OUTER_JOIN"]
                    .iter()
                    .any(|name| piece.is_word(name))
            });
        let (at, added) = match is_virtual {
            true => (before_name, "temp."),
            false => (after_create, " TEMP"),
        };
        let (before, after) = self.pieces.split_at(at.min(self.pieces.len()));
        let source = Source::new(None, added);
        let mut with = before.to_vec();
        with.extend(super::expand::pieces(&source, 0, added.len()));
        with.extend_from_slice(after);
        plain.temporary = Some(Sql::of(&for_sqlite(trimmed(&with))));
        plain
    }
}

/// In the form for SQLite: row numbers have SQLite's name, and `FROM name()` has no parentheses.
fn for_sqlite(pieces: &[Piece]) -> Cow<'_, [Piece]> {
    match without_empty_calls(pieces) {
        Some(pieces) => with_row_numbers(&pieces).into_owned().into(),
        None => with_row_numbers(pieces),
    }
}

/// `FROM name()` is a table, view or function without arguments (PQ10): trace processor's tables are
/// virtual, and may have parentheses, which SQLite allows for virtual tables only. `None` if there
/// is nothing to remove.
fn without_empty_calls(pieces: &[Piece]) -> Option<Vec<Piece>> {
    let meaning: Vec<usize> = (0..pieces.len())
        .filter(|index| pieces.get(*index).is_some_and(|piece| !piece.kind.is_blank()))
        .collect();
    let mut removed = Vec::new();
    for window in meaning.windows(4) {
        let [from, name, open, close] = window else {
            continue;
        };
        let at = |index: &usize| pieces.get(*index);
        let is_source = at(from).is_some_and(|from| from.is_word("FROM") || from.is_word("JOIN"));
        let is_name = at(name).is_some_and(|name| matches!(name.kind, Kind::Word | Kind::Quoted));
        let is_empty = at(open).is_some_and(|open| open.is_sign("("))
            && at(close).is_some_and(|close| close.is_sign(")"));
        // IS DISTINCT FROM f() compares with a value.
        let before = pieces.get(..*from).unwrap_or_default();
        let is_comparison = trimmed(before).last().is_some_and(|last| last.is_word("DISTINCT"));
        if is_source && is_name && is_empty && !is_comparison {
            removed.extend(*open..=*close);
        }
    }
    if removed.is_empty() {
        return None;
    }
    let kept = pieces.iter().enumerate();
    let kept = kept.filter(|(index, _)| removed.binary_search(index).is_err());
    Some(kept.map(|(_, piece)| piece.clone()).collect())
}

/// The hidden column `_auto_id` of trace processor's tables is the number of the row. SQLite has
/// that as `rowid`, under which name every table that [`Action::Table`] makes numbers its rows.
fn with_row_numbers(pieces: &[Piece]) -> Cow<'_, [Piece]> {
    if !pieces.iter().any(|piece| piece.is_word("_auto_id")) {
        return pieces.into();
    }
    let source = Source::new(None, "rowid");
    let rowid = super::expand::pieces(&source, 0, source.text.len());
    let replaced = pieces.iter().flat_map(|piece| {
        let piece = std::slice::from_ref(piece);
        match piece.iter().any(|piece| piece.is_word("_auto_id")) {
            true => rowid.iter().cloned(),
            false => piece.iter().cloned(),
        }
    });
    replaced.collect::<Vec<_>>().into()
}

fn unquoted(quoted: &str) -> String {
    let mut inner = quoted.chars();
    let first = inner.next();
    inner.next_back();
    let inner = inner.as_str();
    match first {
        Some('"') => inner.replace("\"\"", "\""),
        Some('`') => inner.replace("``", "`"),
        _ => inner.to_owned(),
    }
}

#[cfg(test)]
#[path = "dialect/tests.rs"]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
