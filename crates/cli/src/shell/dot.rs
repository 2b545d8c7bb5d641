//! The shell's own commands.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail, ensure};
use clap::ValueEnum;
use rusqlite::Connection;
use timebase_sql::perfetto::Packages;
use timebase_sql::token::{Kind, Tokens};

use super::commands::{COMMANDS, is_bare, is_known, name};
use super::input::{Input, Line};
use super::{Next, Shell};
use crate::escape::printable;
use crate::output::Format;
use crate::reference::{SectionKind, reference};
use crate::{help, statements};

/// The largest depth of files that read files. A file that reads itself ends here.
const DEPTH: usize = 16;

impl Shell<'_> {
    pub(super) fn command(&mut self, line: &str) -> anyhow::Result<Next> {
        let line = line.trim().trim_end_matches(';').trim_end();
        let typed = name(line);
        let rest = line[typed.len()..].trim();
        let name = if is_bare(typed) {
            format!(".{}", typed.to_ascii_lowercase())
        } else {
            typed.to_owned()
        };
        match (name.as_str(), rest) {
            (".quit" | ".exit", "") => return Ok(Next::Quit),
            (".help", "") => self.help()?,
            (".help", topic) => {
                let packages = Packages::of(&self.database)?;
                help::tell(topic, &packages, self.terminal, self.out)?;
            }
            (".tables", pattern) => self.tables(pattern)?,
            (".functions", "") => {
                help::tell("functions", &Packages::default(), self.terminal, self.out)?;
            }
            (".schema", "") => self.schema(None)?,
            (".schema", name) => self.schema(Some(unquoted(name)))?,
            (".mode", "") => writeln!(self.out, "{}", name_of(self.format))?,
            (".mode", name) => self.format = parse_format(name)?,
            (".timer", "") => writeln!(self.out, "{}", if self.timer { "on" } else { "off" })?,
            (".timer", "on") => self.timer = true,
            (".timer", "off") => self.timer = false,
            (".timer", _) => bail!("the timer is on or off: .timer on"),
            (".read", "") => bail!("which file? .read FILE"),
            (".read", file) => return self.read_file(Path::new(unquoted(file))),
            (known, _) if is_known(known) => bail!("{known} takes no argument"),
            (unknown, _) => bail!("there is no command {unknown}; '.help' lists the commands"),
        }
        Ok(Next::Continue)
    }

    fn help(&mut self) -> anyhow::Result<()> {
        let entries = COMMANDS.iter().map(|(name, takes, does)| {
            let command = format!("{name} {takes}");
            (command.trim_end().to_owned(), (*does).to_owned())
        });
        let text = help::listed(entries, self.terminal);
        writeln!(
            self.out,
            "{text}\nEverything else is SQL, and ends with a semicolon. Tab completes names, Up\nrecalls earlier lines."
        )?;
        Ok(())
    }

    /// Lists the tables and views for queries. The tables behind the views are listed only for a
    /// pattern.
    fn tables(&mut self, pattern: &str) -> anyhow::Result<()> {
        let is_hidden = |name: &str| {
            let section = reference().section(name);
            pattern.is_empty()
                && section.is_some_and(|section| section.kind == SectionKind::Storage)
        };
        let rows: Vec<String> = sources(&self.database)?
            .into_iter()
            .filter(|(name, _)| !is_hidden(name))
            .map(|(name, kind)| {
                let what = help::in_short(&name).unwrap_or_default();
                format!("({}, {}, {})", quoted(&name), quoted(&kind), quoted(&what))
            })
            .collect();
        let pattern = if pattern.is_empty() { "%" } else { pattern };
        statements::run(
            &self.database,
            &format!(
                "SELECT column1 AS name, column2 AS type, column3 AS what
                 FROM (VALUES {}) WHERE name LIKE {};",
                rows.join(", "),
                quoted(unquoted(pattern))
            ),
            self.format,
            self.terminal,
            self.out,
        )
    }

    fn schema(&mut self, name: Option<&str>) -> anyhow::Result<()> {
        let mut statement = self.database.prepare(
            "SELECT type IN ('table', 'view'), tbl_name, sql
             FROM (SELECT * FROM sqlite_schema UNION ALL SELECT * FROM sqlite_temp_schema)
             WHERE sql IS NOT NULL AND name NOT GLOB 'sqlite_*' AND (?1 IS NULL OR lower(tbl_name) = lower(?1))
             ORDER BY tbl_name, type NOT IN ('table', 'view'), name",
        )?;
        let mut rows = statement.query([name])?;
        let mut is_found = false;
        while let Some(row) = rows.next()? {
            let (is_table, table) = (row.get(0)?, row.get_ref(1)?.as_str()?);
            if is_found && is_table {
                writeln!(self.out)?;
            }
            is_found = true;
            if is_table {
                self.out
                    .write_all(help::comment(table, name.is_some(), self.terminal).as_bytes())?;
            }
            let sql = without_comments(row.get_ref(2)?.as_str()?);
            // Names can contain anything.
            let shown = match self.terminal {
                Some(_) => printable(&sql),
                None => sql,
            };
            writeln!(self.out, "{shown};")?;
        }
        ensure!(
            is_found,
            "there is no table or view {}; '.tables' lists them",
            name.unwrap_or_default()
        );
        Ok(())
    }

    /// Runs a file, up to the first error.
    fn read_file(&mut self, path: &Path) -> anyhow::Result<Next> {
        ensure!(
            self.depth < DEPTH,
            "{} is nested too deeply in files that read files",
            path.display()
        );
        let text =
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        self.depth += 1;
        let result = self.read_lines(path, &text);
        self.depth -= 1;
        result
    }

    fn read_lines(&mut self, path: &Path, text: &str) -> anyhow::Result<Next> {
        let mut input = Input::new(false);
        // The line at which the current statement or command begins.
        let mut begin = 1;
        for (number, line) in (1..).zip(text.lines()) {
            if input.pending().is_empty() {
                begin = number;
            }
            let taken = input.take(line);
            let at = || format!("{}: line {begin}", path.display());
            self.unfinished(&taken, &mut input).with_context(at)?;
            if self.answer(&taken).with_context(at)? == Next::Quit {
                return Ok(Next::Quit);
            }
        }
        let last = Line::Statements(input.give_up());
        self.answer(&last).with_context(|| format!("{}: line {begin}", path.display()))
    }
}

/// Tables, views and timebase's table-valued functions, by name, each with its kind.
pub fn sources(connection: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    let mut sources: Vec<(String, String)> = connection
        .prepare(
            "SELECT name, type
             FROM (SELECT name, type FROM sqlite_schema UNION ALL SELECT name, type FROM sqlite_temp_schema)
             WHERE type IN ('table', 'view') AND name NOT GLOB 'sqlite_*'
             UNION
             SELECT name, 'function' FROM pragma_module_list
             ORDER BY name",
        )?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    // SQLite has modules of its own.
    let is_ours = |name: &str| {
        let section = reference().section(name);
        section.is_some_and(|section| section.kind == SectionKind::Function)
    };
    sources.retain(|(name, kind)| kind != "function" || is_ours(name));
    Ok(sources)
}

/// A text as SQL writes it.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// An argument without the quotation marks around it, as in a shell.
fn unquoted(text: &str) -> &str {
    ['\'', '"']
        .iter()
        .find_map(|mark| text.strip_prefix(*mark)?.strip_suffix(*mark))
        .unwrap_or(text)
}

/// SQL without its comments.
fn without_comments(sql: &str) -> String {
    let kept: String = Tokens::of(sql)
        .map(|token| match token.kind {
            Kind::Comment if token.is_line_comment() => "",
            Kind::Comment => " ",
            _ => token.text,
        })
        .collect();
    let lines = kept.lines().map(str::trim_end);
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    lines.join("\n")
}

fn parse_format(name: &str) -> anyhow::Result<Format> {
    Format::from_str(name, true).or_else(|_| {
        let known: Vec<_> = Format::value_variants().iter().map(|f| name_of(*f)).collect();
        bail!("there is no format {name}; the formats are {}", known.join(", "))
    })
}

fn name_of(format: Format) -> String {
    format.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(format: Format, input: &str) -> Result<String, String> {
        let connection = Connection::open_in_memory().expect("in memory");
        connection
            .execute_batch(
                "CREATE TABLE packet (id, /* no */ ts -- developer\n, x); CREATE VIEW v AS SELECT 1;
                 CREATE TABLE slice_record (id); CREATE INDEX by_ts ON packet (ts)",
            )
            .expect("valid SQL");
        let mut out = Vec::new();
        let mut shell = Shell {
            database: connection.into(),
            format,
            timer: false,
            depth: 0,
            out: &mut out,
            terminal: None,
        };
        shell.command(input).map_err(|error| format!("{error:#}"))?;
        Ok(String::from_utf8(out).expect("UTF-8"))
    }

    #[test]
    fn tables_are_listed_in_the_format_of_results() {
        assert_eq!(
            said(Format::Csv, ".tables;").as_deref(),
            Ok("name,type,what\npacket,table,a packet of the trace\nv,view,\n")
        );
    }

    #[test]
    fn tables_behind_the_views_are_listed_by_a_pattern() {
        let tables = said(Format::Csv, ".tables %_record");
        assert_eq!(
            tables.as_deref(),
            Ok("name,type,what\nslice_record,table,a stored row of `slice`\n")
        );
    }

    #[test]
    fn a_schema_is_sql_with_comments_for_those_who_ask() {
        let schema = said(Format::Csv, ".schema Packet").expect("is known");
        assert!(schema.starts_with("-- A row is a packet of the trace."), "{schema}");
        assert!(schema.contains("\n--   ts "), "{schema}");
        assert!(
            schema.ends_with(
                "CREATE TABLE packet (id,   ts\n, x);\nCREATE INDEX by_ts ON packet (ts);\n"
            ),
            "{schema}"
        );
        assert_eq!(said(Format::Csv, ".schema v").as_deref(), Ok("CREATE VIEW v AS SELECT 1;\n"));
        assert!(said(Format::Csv, ".schema other").is_err());
    }

    #[test]
    fn wrong_commands_say_what_is_right() {
        let message = |input| said(Format::Table, input).expect_err("is wrong");
        assert!(message(".mode xml").contains("table, csv, json, jsonl"));
        assert!(message(".functions all").contains("takes no argument"));
        assert!(message(".timer maybe").contains(".timer on"));
        assert!(message(".read").contains(".read FILE"));
        assert!(message(".read no/such.sql").contains("cannot read no/such.sql"));
        assert!(message(".import").contains(".help"));
        assert!(message("\\dt").contains(".help"));
        assert_eq!(said(Format::Jsonl, ".mode").as_deref(), Ok("jsonl\n"));
    }
}
