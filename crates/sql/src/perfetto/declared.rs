//! The declarations in modules, with their own comments, without running the modules.
//!
//! # Design
//!
//! A declaration is read up to its body, from the tokens as they are written: a body may call macros of modules that
//! are not there, and nothing of it is needed. The alternative, to include a module and to query the objects that it
//! made, needs a database, loses comments, and runs code to print help.

use super::script::Statements;
use crate::token::{Kind, Token, Tokens};

/// The kind of an object that a module declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeclaredKind {
    /// `CREATE PERFETTO TABLE`.
    Table,
    /// `CREATE PERFETTO VIEW`.
    View,
    /// `CREATE PERFETTO FUNCTION … RETURNS TYPE`, or `RETURNS TABLE(…)`.
    Function,
    /// `CREATE PERFETTO MACRO`.
    Macro,
}

impl DeclaredKind {
    /// The word for it: `table`, `view`, `function` or `macro`.
    pub fn word(self) -> &'static str {
        match self {
            DeclaredKind::Table => "table",
            DeclaredKind::View => "view",
            DeclaredKind::Function => "function",
            DeclaredKind::Macro => "macro",
        }
    }
}

/// A column, or an argument of a function or macro.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredName {
    /// Its name.
    pub name: String,
    /// Its type as it is written; empty without one.
    pub declared: String,
    /// The comment before it; empty without one.
    pub comment: String,
}

/// An object that a module declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    /// Table, view, function or macro.
    pub kind: DeclaredKind,
    /// Its name.
    pub name: String,
    /// The comment before it: paragraphs are apart by an empty line. Empty without one.
    pub comment: String,
    /// The arguments of a function or macro.
    pub arguments: Vec<DeclaredName>,
    /// The columns by the schema of a table or view, or of a function with rows.
    pub columns: Vec<DeclaredName>,
    /// The result of a function or macro: a type, or `TABLE`. Empty for tables and views.
    pub returns: String,
    /// The comment before `RETURNS`; empty without one.
    pub returns_comment: String,
}

impl Declared {
    /// The form of its use: `name`, `name(argument, …)` or `name!(argument, …)`.
    pub fn usage(&self) -> String {
        let names = self.arguments.iter().map(|argument| argument.name.as_str());
        let arguments = names.collect::<Vec<_>>().join(", ");
        match self.kind {
            DeclaredKind::Table | DeclaredKind::View => self.name.clone(),
            DeclaredKind::Function => format!("{}({arguments})", self.name),
            DeclaredKind::Macro => format!("{}!({arguments})", self.name),
        }
    }

    /// Whether its name begins with `_`, which modules use for their private objects.
    pub fn is_internal(&self) -> bool {
        self.name.starts_with('_')
    }
}

/// All that the text of a module declares, in its order.
pub fn declared(text: &str) -> Vec<Declared> {
    let mut before = 0;
    let mut found = Vec::new();
    for raw in Statements::of(text) {
        let gap = text.get(before..raw.start).unwrap_or_default();
        let statement = text.get(raw.start..raw.end).unwrap_or_default();
        found.extend(Reader::of(statement).object(last_comment(gap)));
        before = raw.end;
    }
    found
}

/// The comment that ends a text: lines that begin with `--`, without an empty line behind or between.
fn last_comment(gap: &str) -> String {
    // The rest is blanks before the statement.
    let (lines, _) = gap.rsplit_once('\n').unwrap_or_default();
    let lines: Vec<&str> = lines.split('\n').map(str::trim).collect();
    let count = lines.iter().rev().take_while(|line| line.starts_with("--")).count();
    comment(lines.iter().skip(lines.len().saturating_sub(count)).copied())
}

/// The text of lines that begin with `--`.
fn comment<'t>(lines: impl Iterator<Item = &'t str>) -> String {
    let lines = lines.map(|line| line.trim().trim_start_matches('-').trim());
    let text = lines.collect::<Vec<_>>().join("\n");
    text.trim_matches('\n').to_owned()
}

/// The tokens of a declaration, from the front.
struct Reader<'t> {
    tokens: Vec<Token<'t>>,
    at: usize,
}

impl<'t> Reader<'t> {
    fn of(text: &'t str) -> Reader<'t> {
        Reader { tokens: Tokens::with_macros(text).collect(), at: 0 }
    }

    /// The next token that is no blank, and the comment before it.
    fn next(&mut self) -> Option<(&'t str, String)> {
        let mut comments = Vec::new();
        while let Some(token) = self.tokens.get(self.at) {
            self.at = self.at.saturating_add(1);
            match token.kind {
                Kind::Space => {}
                Kind::Comment => comments.push(token.text),
                _ => return Some((token.text, comment(comments.into_iter()))),
            }
        }
        None
    }

    fn is_next(&mut self, expected: &str) -> bool {
        let before = self.at;
        let is = self.next().is_some_and(|(text, _)| text.eq_ignore_ascii_case(expected));
        if !is {
            self.at = before;
        }
        is
    }

    fn object(mut self, comment: String) -> Option<Declared> {
        if !self.is_next("CREATE") {
            return None;
        }
        if self.is_next("OR") && !self.is_next("REPLACE") {
            return None;
        }
        if !self.is_next("PERFETTO") {
            return None;
        }
        let kind = match self.next()?.0.to_ascii_uppercase().as_str() {
            "TABLE" => DeclaredKind::Table,
            "VIEW" => DeclaredKind::View,
            "FUNCTION" => DeclaredKind::Function,
            "MACRO" => DeclaredKind::Macro,
            _ => return None,
        };
        let mut object = Declared {
            kind,
            name: self.next()?.0.to_owned(),
            comment,
            arguments: Vec::new(),
            columns: Vec::new(),
            returns: String::new(),
            returns_comment: String::new(),
        };
        match kind {
            DeclaredKind::Table | DeclaredKind::View => object.columns = self.list(),
            DeclaredKind::Function | DeclaredKind::Macro => {
                object.arguments = self.list();
                let (_, before) = self.next()?;
                object.returns_comment = before;
                let (returns, _) = self.next()?;
                object.returns = returns.to_owned();
                if kind == DeclaredKind::Function && returns.eq_ignore_ascii_case("TABLE") {
                    object.columns = self.list();
                } else if kind == DeclaredKind::Function && self.is_next("(") {
                    // JOINID(slice.id)
                    object.returns.push('(');
                    while let Some((text, _)) = self.next() {
                        object.returns += text;
                        if text == ")" {
                            break;
                        }
                    }
                }
            }
        }
        Some(object)
    }

    /// `(name TYPE, …)`; nothing where there is none.
    fn list(&mut self) -> Vec<DeclaredName> {
        let mut names = Vec::new();
        if !self.is_next("(") {
            return names;
        }
        while let Some((name, comment)) = self.next() {
            if name == ")" {
                break;
            }
            let mut declared = String::new();
            let mut depth = 0usize;
            let mut is_last = true;
            while let Some((text, _)) = self.next() {
                match text {
                    "(" => depth = depth.saturating_add(1),
                    "," if depth == 0 => {
                        is_last = false;
                        break;
                    }
                    ")" if depth == 0 => break,
                    ")" => depth = depth.saturating_sub(1),
                    _ => {}
                }
                declared += text;
            }
            names.push(DeclaredName { name: name.to_owned(), declared, comment });
            if is_last {
                break;
            }
        }
        names
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const MODULE: &str = "-- A licence, not a comment of anything.\n\n\
        INCLUDE PERFETTO MODULE a.other;\n\n\
        -- Frames that took too long.\n-- On any display.\n--\n-- Not those of tests.\n\
        CREATE PERFETTO TABLE late_frame(\n  -- The slice.\n  id JOINID(slice.id),\n  -- How late,\n  -- in ns.\n  late LONG\n) AS\n\
        SELECT missing!(1) AS id, 2 AS late;\n\n\
        -- Not of the view, as a line is between.\n\n\
        CREATE OR REPLACE PERFETTO VIEW plain AS SELECT 1 AS x;\n\
        -- Twice.\nCREATE PERFETTO FUNCTION twice(\n  -- A number.\n  x LONG)\n-- The double.\nRETURNS LONG AS SELECT 2 * $x;\n\
        CREATE PERFETTO FUNCTION rows_of(n LONG) RETURNS TABLE(\n  -- From 0.\n  i LONG) AS SELECT 0 AS i;\n\
        CREATE PERFETTO MACRO _inner(t TableOrSubquery) RETURNS Expr AS (SELECT 1 FROM $t);\n\
        SELECT 1; CREATE TABLE no_declaration(a); CREATE PERFETTO INDEX i ON late_frame(late);\
        CREATE PERFETTO";

    fn name(name: &str, declared: &str, comment: &str) -> DeclaredName {
        DeclaredName {
            name: name.to_owned(),
            declared: declared.to_owned(),
            comment: comment.to_owned(),
        }
    }

    #[test]
    fn pq2_declarations_are_read_with_their_comments() {
        let found = declared(MODULE);
        let usages: Vec<_> = found.iter().map(Declared::usage).collect();
        assert_eq!(usages, ["late_frame", "plain", "twice(x)", "rows_of(n)", "_inner!(t)"]);
        let [table, view, value, rows, inner] = <[Declared; 5]>::try_from(found).unwrap();
        assert_eq!(
            table.comment,
            "Frames that took too long.\nOn any display.\n\nNot those of tests."
        );
        assert_eq!(
            table.columns,
            [
                name("id", "JOINID(slice.id)", "The slice."),
                name("late", "LONG", "How late,\nin ns.")
            ]
        );
        assert_eq!((view.comment.as_str(), view.columns.len()), ("", 0));
        assert_eq!(value.arguments, [name("x", "LONG", "A number.")]);
        let returned = (value.returns.as_str(), value.returns_comment.as_str());
        assert_eq!(returned, ("LONG", "The double."));
        assert_eq!(rows.returns, "TABLE");
        assert_eq!(rows.columns, [name("i", "LONG", "From 0.")]);
        assert_eq!(inner.kind, DeclaredKind::Macro);
        assert!(inner.is_internal() && !rows.is_internal());
    }

    #[test]
    fn pq2_a_declaration_that_breaks_off_is_read_as_far_as_it_goes() {
        for end in 0..MODULE.len() {
            if let Some(text) = MODULE.get(..end) {
                assert!(declared(text).len() <= 5);
            }
        }
    }
}
