//! Generates Rust from `tables.sql`: a `Table` and a struct of named columns for every table, so
//! only the SQL declares tables. It also generates the view `finding` from `findings.sql` and the
//! files in `findings/`, with a `Check` for each file: `findings.rs`. And it generates the numbers of protobuf
//! fields from `perfetto.descriptor`: `fields.rs`.
//!
//! It only understands the SQL that `tables.sql` uses, and refuses everything else: `CREATE TABLE`
//! with one column on each line, `CREATE INDEX` on columns, optionally with `WHERE column IS NOT
//! NULL`, and comments.

use std::error::Error;
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

#[path = "findings.rs"]
mod findings;

#[path = "fields.rs"]
mod fields;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

struct Table {
    name: String,
    docs: Vec<String>,
    events: Option<String>,
    order: Option<String>,
    columns: Columns,
    indexes: Vec<Index>,
}

/// The columns of a table.
#[derive(Default)]
struct Columns {
    /// Names and comments. A column of the rowid comes first.
    all: Vec<(String, String)>,
    /// Whether the column of the rowid is the last one of the table.
    rowid_is_last: bool,
    /// Whether there is a key other than the rowid.
    keyed: bool,
}

struct Index {
    name: String,
    columns: Vec<String>,
    only: Option<String>,
}

fn main() -> Result<()> {
    println!("cargo::rerun-if-changed=tables.sql");
    let tables = parse(&fs::read_to_string("tables.sql")?)?;
    let out = env::var("OUT_DIR")?;
    fs::write(Path::new(&out).join("tables.rs"), generate(&tables)?)?;
    fs::write(Path::new(&out).join("findings.rs"), findings::generate()?)?;
    fs::write(Path::new(&out).join("fields.rs"), fields::generate()?)?;
    Ok(())
}

fn parse(sql: &str) -> Result<Vec<Table>> {
    let mut tables: Vec<Table> = Vec::new();
    let mut comment: Vec<String> = Vec::new();
    let mut lines = sql.lines();
    while let Some(line) = lines.next() {
        if let Some(text) = line.strip_prefix("--") {
            comment.push(text.trim().to_owned());
        } else if let Some(rest) = line.strip_prefix("CREATE TABLE ") {
            let name = rest.strip_suffix(" (").ok_or("a table begins with `name (`")?;
            let columns = columns(&mut lines)?;
            let mut said = |what: &str| {
                let at = comment.iter().position(|text| text.starts_with(what))?;
                Some(comment.remove(at)[what.len()..].to_owned())
            };
            let (events, order) = (said("Events: "), said("Order: "));
            tables.push(Table {
                name: name.to_owned(),
                docs: std::mem::take(&mut comment),
                events,
                order,
                columns,
                indexes: Vec::new(),
            });
        } else if let Some(rest) = line.strip_prefix("CREATE INDEX ") {
            let (table, index) = index(rest)?;
            let table = tables.iter_mut().find(|other| other.name == table);
            table.ok_or("an index is of a table above it")?.indexes.push(index);
        } else if line.is_empty() || line.starts_with("PRAGMA ") {
            comment.clear();
        } else {
            return Err(format!("tables.sql: {line:?} is not understood").into());
        }
    }
    Ok(tables)
}

/// The columns up to the end of the table.
fn columns<'a>(lines: &mut impl Iterator<Item = &'a str>) -> Result<Columns> {
    let mut columns = Columns::default();
    for line in lines {
        if line.starts_with(')') {
            columns.keyed |= line.contains("WITHOUT ROWID");
            if columns.rowid_is_last {
                columns.all.rotate_right(1);
            }
            return Ok(columns);
        }
        let (declared, comment) = line.split_once("--").unwrap_or((line, ""));
        let name = declared.split_whitespace().next().ok_or("a line without a column")?;
        if name.starts_with("PRIMARY") {
            continue;
        }
        columns.keyed |= declared.contains("UNIQUE");
        columns.rowid_is_last = !columns.all.is_empty() && declared.contains("INTEGER PRIMARY KEY");
        let name = name.trim_end_matches(',');
        columns.all.push((name.to_owned(), comment.trim().to_owned()));
    }
    Err("a table without an end".into())
}

/// `name ON table (column, column) WHERE column IS NOT NULL;`
fn index(text: &str) -> Result<(String, Index)> {
    let parts = || -> Option<(&str, &str, &str, &str)> {
        let (name, rest) = text.split_once(" ON ")?;
        let (table, rest) = rest.split_once(" (")?;
        let (columns, rest) = rest.split_once(')')?;
        Some((name, table, columns, rest.strip_suffix(';')?))
    };
    let (name, table, columns, rest) =
        parts().ok_or_else(|| format!("tables.sql: the index {text:?} is not understood"))?;
    let only = match rest {
        "" => None,
        _ => {
            let only = rest.strip_prefix(" WHERE ").and_then(|r| r.strip_suffix(" IS NOT NULL"));
            Some(only.ok_or("an index is of all rows, or of those where a column is not NULL")?)
        }
    };
    let index = Index {
        name: name.to_owned(),
        columns: columns.split(", ").map(str::to_owned).collect(),
        only: only.map(str::to_owned),
    };
    Ok((table.to_owned(), index))
}

fn generate(tables: &[Table]) -> Result<String> {
    let mut code = String::new();
    for (number, table) in tables.iter().enumerate() {
        let place = |name: &String| -> Result<usize> {
            let place = table.columns.all.iter().position(|(column, _)| column == name);
            Ok(place.ok_or_else(|| format!("{} has no column {name}", table.name))?)
        };
        for line in &table.docs {
            writeln!(code, "/// {line}")?;
        }
        writeln!(code, "pub mod {} {{", table.name)?;
        writeln!(code, "/// The table, as `tables.sql` declares it.")?;
        writeln!(code, "pub static TABLE: crate::Table = crate::Table {{")?;
        writeln!(code, "number: {number}, name: {:?},", table.name)?;
        let names: Vec<&String> = table.columns.all.iter().map(|(name, _)| name).collect();
        writeln!(
            code,
            "columns: &{names:?}, rowid_is_last: {}, keyed: {}, events: {}, order: crate::Order::{},",
            table.columns.rowid_is_last,
            table.columns.keyed,
            events(table)?,
            order(table)?
        )?;
        writeln!(code, "indexes: &[")?;
        for index in &table.indexes {
            let columns = index.columns.iter().map(place).collect::<Result<Vec<_>>>()?;
            let only = index.only.as_ref().map(place).transpose()?;
            let name = &index.name;
            writeln!(
                code,
                "crate::Index {{ name: {name:?}, columns: &{columns:?}, only: {only:?} }},"
            )?;
        }
        writeln!(code, "] }};")?;

        writeln!(code, "/// A row of `{}`.\n#[derive(Debug, Clone, Copy)]", table.name)?;
        writeln!(code, "pub struct Row<V> {{")?;
        for (name, comment) in &table.columns.all {
            let comment = if comment.is_empty() { "As in the trace." } else { comment };
            writeln!(code, "/// {comment}\npub r#{name}: V,")?;
        }
        writeln!(code, "}}\nimpl<V> crate::Row<V> for Row<V> {{")?;
        writeln!(code, "const TABLE: &'static crate::Table = &TABLE;")?;
        writeln!(code, "type Cells = [V; {}];", table.columns.all.len())?;
        writeln!(code, "#[inline(always)] fn cells(self) -> Self::Cells {{ [")?;
        for (name, _) in &table.columns.all {
            writeln!(code, "self.r#{name},")?;
        }
        writeln!(code, "] }}\n}}\n}}")?;
    }
    writeln!(code, "/// All tables, in the order of their numbers.")?;
    writeln!(code, "pub static ALL: &[&crate::Table] = &[")?;
    for table in tables {
        writeln!(code, "&{}::TABLE,", table.name)?;
    }
    writeln!(code, "];")?;
    Ok(code)
}

/// The value of the comment `Order:` above a table.
fn order(table: &Table) -> Result<&'static str> {
    match (table.order.as_deref(), table.columns.keyed) {
        (None, false) => Ok("Rowid"),
        (None, true) => Ok("None"),
        (Some("key"), true) => Ok("Key"),
        (Some("any"), false) => Ok("Any"),
        (Some(order), _) => {
            Err(format!("{}: `Order: {order}` is not understood", table.name).into())
        }
    }
}

/// The value of the comment `Events:` above a table.
fn events(table: &Table) -> Result<String> {
    let Some(text) = &table.events else {
        return Ok("None".to_owned());
    };
    if let Some(of) = text.strip_prefix("part of ") {
        return Ok(format!("Some(crate::Events::PartOf({of:?}))"));
    }
    let parts = || -> Option<(&str, [&str; 2], &str)> {
        let (heading, rest) = text.split_once(": ")?;
        let (nouns, name) = rest.split_once(" in ")?;
        Some((heading, nouns.split_once(", ")?.into(), name))
    };
    let (heading, [one, noun], name) =
        parts().ok_or_else(|| format!("{}: `Events: {text}` is not understood", table.name))?;
    Ok(format!(
        "Some(crate::Events::Rows {{ name: {name:?}, heading: {heading:?}, one: {one:?}, noun: {noun:?} }})"
    ))
}
