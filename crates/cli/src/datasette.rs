//! `timebase datasette-metadata`: metadata of a database in Datasette's form: tables to hide,
//! descriptions of tables and columns, and queries to start with.
//!
//! # Design
//!
//! All descriptions of tables and columns are the reference's text, so the pages in the browser are
//! the same as the documentation. The Python package's plugin for Datasette runs this command, too,
//! and adds the things that metadata cannot have (functions, links, readable times). The
//! alternative was a metadata file in the repository. It would be a second copy of the reference,
//! and would not know the name of the user's database.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_core::{Serialize, Serializer};

use crate::reference::{Reference, Section, SectionKind, reference};

const QUERIES: &str = include_str!("datasette/queries.sql");

const DESCRIPTION: &str = "A trace, every event on one clock. Times are integers in nanoseconds. The tables and views are described where they are shown, and \
     the queries are a start.";

/// Writes the metadata of databases, by their names.
pub fn run(databases: &[PathBuf], out: &mut dyn Write) -> anyhow::Result<()> {
    let mut described = Vec::new();
    for path in databases {
        described.push((name(path)?, database(reference())));
    }
    let metadata = object([("databases", Json::Object(described))]);
    serde_json::to_writer_pretty(&mut *out, &metadata)?;
    writeln!(out)?;
    Ok(())
}

/// Like `serde_json::Value`, whose objects do not keep the order of columns.
#[derive(Debug, PartialEq, Eq)]
enum Json {
    True,
    Text(String),
    Object(Vec<(String, Json)>),
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Json::True => serializer.serialize_bool(true),
            Json::Text(text) => serializer.serialize_str(text),
            Json::Object(members) => {
                serializer.collect_map(members.iter().map(|(key, value)| (key, value)))
            }
        }
    }
}

fn text(text: impl Into<String>) -> Json {
    Json::Text(text.into())
}

fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
    Json::Object(members.map(|(key, value)| (key.to_owned(), value)).into())
}

/// Datasette's name for a database: the name of its file, without the extension.
fn name(path: &Path) -> anyhow::Result<String> {
    let stem =
        path.file_stem().with_context(|| format!("{} has no name of a file", path.display()))?;
    Ok(stem.to_string_lossy().into_owned())
}

fn database(reference: &Reference) -> Json {
    let sections = reference.sections.iter();
    let tables = sections
        .filter(|section| matches!(section.kind, SectionKind::Table | SectionKind::Storage));
    let tables = tables.map(|section| (section.name.clone(), table(reference, section)));
    object([
        ("description", text(DESCRIPTION)),
        ("source", text("timebase")),
        ("tables", Json::Object(tables.collect())),
        (
            "queries",
            Json::Object(queries().map(|query| (query.key(), query.described())).collect()),
        ),
    ])
}

fn table(reference: &Reference, section: &Section) -> Json {
    let columns = reference.columns(section);
    let columns =
        columns.map(|column| (column.name.to_owned(), text(described(column.kind, column.text))));
    let mut members = vec![
        ("description_html".to_owned(), text(section.paragraphs().map(html).collect::<String>())),
        ("columns".to_owned(), Json::Object(columns.collect())),
    ];
    if section.kind == SectionKind::Storage {
        members.push(("hidden".to_owned(), Json::True));
    }
    Json::Object(members)
}

/// The description of a column, in a line. Datasette shows the text as it is.
fn described(kind: &str, text: &str) -> String {
    let text = text.replace('`', "");
    if kind.is_empty() { text } else { format!("{text} ({})", kind.replace('`', "")) }
}

/// A paragraph with its code marked.
fn html(paragraph: &str) -> String {
    let mut html = String::new();
    for (index, part) in paragraph.split('`').enumerate() {
        let escaped = part.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        if index % 2 == 1 {
            html += &format!("<code>{escaped}</code>");
        } else {
            html += &escaped;
        }
    }
    format!("<p>{html}</p>")
}

/// A query that comes with the program.
struct Query {
    title: &'static str,
    description: &'static str,
    sql: &'static str,
}

/// Each query begins with a comment of two lines: `-- # Title`, and its description.
fn queries() -> impl Iterator<Item = Query> {
    QUERIES.split("-- # ").skip(1).filter_map(|part| {
        let (title, rest) = part.split_once('\n')?;
        let (description, sql) = rest.strip_prefix("-- ")?.split_once('\n')?;
        Some(Query { title, description, sql: sql.trim_end() })
    })
}

impl Query {
    /// Its name in the URL.
    fn key(&self) -> String {
        self.title.to_lowercase().replace(' ', "-")
    }

    fn described(&self) -> Json {
        object([
            ("title", text(self.title)),
            ("description", text(self.description)),
            ("sql", text(self.sql)),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_called_as_datasette_calls_it() {
        let named = |path: &str| name(Path::new(path)).ok();
        assert_eq!(named("a/trace.db").as_deref(), Some("trace"));
        assert_eq!(named("trace").as_deref(), Some("trace"));
        assert_eq!(named("a.b.db").as_deref(), Some("a.b"));
        assert_eq!(named(".."), None);
    }

    #[test]
    fn text_is_escaped_and_code_is_marked() {
        let paragraph = "of `a < b` & more";
        let expected = "<p>of <code>a &lt; b</code> &amp; more</p>";
        assert_eq!(html(paragraph), expected);
        assert_eq!(described("integer, ns", "see `ts`"), "see ts (integer, ns)");
    }

    #[test]
    fn every_query_has_a_title_a_description_and_runs() {
        let connection = rusqlite::Connection::open_in_memory().expect("in memory");
        let tables = [timebase_schema::TABLES, &timebase_schema::finish()].concat();
        connection.execute_batch(&tables).expect("valid");
        let found: Vec<Query> = queries().collect();
        assert_eq!(found.len(), QUERIES.matches("-- # ").count());
        for query in found {
            assert!(query.description.ends_with('.'), "{}", query.title);
            let statement = connection.prepare(query.sql);
            assert!(statement.is_ok(), "{}: {statement:?}", query.title);
        }
    }

    #[test]
    fn storage_is_hidden_and_nothing_else() {
        let described = serde_json::to_value(database(reference())).expect("JSON");
        let hidden = |table: &str| described["tables"][table]["hidden"] == true;
        assert!(hidden("sched_record") && hidden("string"));
        assert!(!hidden("sched") && !hidden("packet") && !hidden("slice"));
    }
}
