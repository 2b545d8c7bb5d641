//! The statements of the schema's scripts, and which other statements a table or view needs.

use std::collections::{BTreeSet, HashMap};

/// The kind of object that a statement makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementKind {
    /// A table.
    Table,
    /// A view.
    View,
    /// An index or a trigger; no statement that reads names it.
    Other,
}

/// A statement that makes an object.
///
/// ```
/// use timebase_schema::{StatementKind, Statement};
/// let statements = Statement::all(timebase_schema::TABLES);
/// let part = statements.iter().find(|statement| statement.name == "part").unwrap();
/// assert_eq!(part.kind, StatementKind::Table);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Statement<'a> {
    /// The name of the object; for [`StatementKind::Other`], any word.
    pub name: &'a str,
    /// The kind of the object.
    pub kind: StatementKind,
    /// Its text, and everything after it up to the next statement.
    pub sql: &'a str,
}

impl<'a> Statement<'a> {
    /// The statement's text as SQLite keeps it, without the semicolon, and the text after it; `None` if the statement
    /// does not end at the end of a line.
    ///
    /// ```
    /// use timebase_schema::Statement;
    /// let all = Statement::all("\nCREATE VIEW c AS SELECT ';'\n;\nDELETE FROM d;\n\nCREATE VIEW e AS SELECT 1;\n");
    /// let parts: Vec<_> = all.iter().filter_map(Statement::parts).collect();
    /// assert_eq!(parts, [("CREATE VIEW c AS SELECT ';'", "DELETE FROM d;\n"), ("CREATE VIEW e AS SELECT 1", "")]);
    /// ```
    pub fn parts(&self) -> Option<(&'a str, &'a str)> {
        let (text, rest) = self.sql.split_once(";\n")?;
        Some((text.trim(), rest))
    }

    /// The statements of a script. Each begins at the start of a line.
    pub fn all(script: &'a str) -> Vec<Statement<'a>> {
        const CREATE: &str = "\nCREATE ";

        let mut starts = script.match_indices(CREATE).peekable();
        let mut statements = Vec::new();
        while let Some((start, _)) = starts.next() {
            let end = starts.peek().map_or(script.len(), |(end, _)| *end);
            let sql = script.get(start..end).unwrap_or_default();
            let what = sql.get(CREATE.len()..).unwrap_or_default();
            let (kind, named) = match (what.strip_prefix("VIEW "), what.strip_prefix("TABLE ")) {
                (Some(named), _) => (StatementKind::View, named),
                (_, Some(named)) => (StatementKind::Table, named),
                (None, None) => (StatementKind::Other, what),
            };
            let name = named.split(' ').next().unwrap_or_default();
            statements.push(Statement { name, kind, sql });
        }
        statements
    }

    /// The wanted tables and views of `statements`, and all objects that these name.
    ///
    /// The words of a statement show which objects it names: an unnecessary word does no harm.
    ///
    /// ```
    /// use timebase_schema::Statement;
    /// let script = "\nCREATE TABLE a (b);\nCREATE VIEW c AS SELECT b FROM a;\nCREATE VIEW d AS SELECT 1;";
    /// let all = Statement::all(script);
    /// let needed = Statement::needed(&all, |name| name == "c");
    /// assert!(needed.iter().map(|statement| statement.name).eq(["a", "c"]));
    /// ```
    pub fn needed(
        statements: &[Statement<'a>],
        is_wanted: impl Fn(&str) -> bool,
    ) -> Vec<Statement<'a>> {
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let readable = statements.iter().filter(|one| one.kind != StatementKind::Other);
        let readable: Vec<Statement<'a>> = readable.copied().collect();
        let by_name: HashMap<&str, &str> = readable.iter().map(|one| (one.name, one.sql)).collect();
        let mut waiting: Vec<&str> = readable.iter().map(|one| one.name).collect();
        waiting.retain(|name| is_wanted(name));
        let mut found = BTreeSet::new();
        while let Some(name) = waiting.pop() {
            if found.insert(name) {
                let sql = by_name.get(name).copied().unwrap_or_default();
                let words = sql.split(|letter| !is_letter(letter));
                waiting.extend(words.filter(|word| by_name.contains_key(word)));
            }
        }
        let needed = readable.iter().filter(|one| found.contains(one.name));
        needed.copied().collect()
    }
}
