//! The shell's own commands, which start with a dot.

use anyhow::{bail, ensure};
use clap::ValueEnum;

use super::{Next, Shell};
use crate::output::Format;
use crate::statements;

/// Names, for completion and for `.help`: with arguments, and what they do.
pub const COMMANDS: &[(&str, &str, &str)] = &[
    (".help", "", "show this"),
    (".tables", "", "list tables and views"),
    (".schema", "[NAME]", "show how they are made: all, or one"),
    (
        ".mode",
        "[FORMAT]",
        "show or choose the format: table, csv, json, jsonl, markdown",
    ),
    (".quit", "", "end; so do .exit and Ctrl-D"),
    (".exit", "", "end"),
];

/// Whether an input is one of these commands, or means to be.
pub fn is_command(input: &str) -> bool {
    input.trim_start().starts_with('.')
}

impl Shell<'_> {
    pub(super) fn command(&mut self, input: &str) -> anyhow::Result<Next> {
        // A semicolon comes by itself after an hour of SQL.
        let mut words = input.trim().trim_end_matches(';').split_whitespace();
        let name = words.next().unwrap_or_default();
        let arguments: Vec<&str> = words.collect();
        match (name, arguments.as_slice()) {
            (".quit" | ".exit", []) => return Ok(Next::Quit),
            (".help", []) => self.help()?,
            (".tables", []) => self.tables()?,
            (".schema", []) => self.schema(None)?,
            (".schema", [name]) => self.schema(Some(name))?,
            (".mode", []) => writeln!(self.out, "{}", name_of(self.format))?,
            (".mode", [name]) => self.format = parse_format(name)?,
            (known, _) => match COMMANDS.iter().find(|(name, ..)| *name == known) {
                Some((name, "", _)) => bail!("{name} takes no argument"),
                Some((name, takes, _)) => {
                    bail!("{name} takes at most one argument: {name} {takes}")
                }
                None => bail!("there is no command {known}; '.help' lists those that are"),
            },
        }
        Ok(Next::Continue)
    }

    fn help(&mut self) -> anyhow::Result<()> {
        for (name, takes, does) in COMMANDS {
            writeln!(self.out, "{:<16} {does}", format!("{name} {takes}"))?;
        }
        Ok(())
    }

    fn tables(&mut self) -> anyhow::Result<()> {
        statements::run(
            &self.connection,
            "SELECT name, type FROM sqlite_schema
              WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
              ORDER BY name;",
            self.format,
            self.out,
        )
    }

    fn schema(&mut self, name: Option<&str>) -> anyhow::Result<()> {
        let mut statement = self.connection.prepare(
            "SELECT sql FROM sqlite_schema
              WHERE sql IS NOT NULL AND (?1 IS NULL OR lower(tbl_name) = lower(?1))
              ORDER BY tbl_name, type <> 'table', name",
        )?;
        let mut rows = statement.query([name])?;
        let mut is_found = false;
        while let Some(row) = rows.next()? {
            is_found = true;
            writeln!(self.out, "{};", row.get_ref(0)?.as_str()?)?;
        }
        ensure!(
            is_found,
            "there is no table or view {}; '.tables' lists those that are",
            name.unwrap_or_default()
        );
        Ok(())
    }
}

fn parse_format(name: &str) -> anyhow::Result<Format> {
    Format::from_str(name, true).or_else(|_| {
        let known: Vec<_> = Format::value_variants()
            .iter()
            .map(|f| name_of(*f))
            .collect();
        bail!("there is no format {name}; there are {}", known.join(", "))
    })
}

fn name_of(format: Format) -> String {
    format
        .to_possible_value()
        .map_or_else(String::new, |value| value.get_name().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::Connection;

    fn said(format: Format, input: &str) -> Result<String, String> {
        let connection = Connection::open_in_memory().expect("in memory");
        connection
            .execute_batch("CREATE TABLE packet (id); CREATE VIEW v AS SELECT 1")
            .expect("valid SQL");
        let mut out = Vec::new();
        let mut shell = Shell {
            connection,
            format,
            out: &mut out,
        };
        shell.command(input).map_err(|error| error.to_string())?;
        Ok(String::from_utf8(out).expect("UTF-8"))
    }

    #[test]
    fn tables_are_listed_in_the_format_of_results() {
        let tables = said(Format::Csv, ".tables;");
        assert_eq!(tables.as_deref(), Ok("name,type\npacket,table\nv,view\n"));
    }

    #[test]
    fn a_schema_is_sql() {
        let schema = said(Format::Csv, ".schema Packet");
        assert_eq!(schema.as_deref(), Ok("CREATE TABLE packet (id);\n"));
        assert!(said(Format::Csv, ".schema other").is_err());
    }

    #[test]
    fn wrong_commands_say_what_is_right() {
        let message = |input| said(Format::Table, input).expect_err("is wrong");
        assert!(message(".mode xml").contains("table, csv, json, jsonl, markdown"));
        assert!(message(".mode csv json").contains(".mode [FORMAT]"));
        assert!(message(".tables all").contains("takes no argument"));
        assert!(message(".import").contains(".help"));
    }

    #[test]
    fn the_mode_can_be_asked_for() {
        assert_eq!(said(Format::Jsonl, ".mode").as_deref(), Ok("jsonl\n"));
    }
}
