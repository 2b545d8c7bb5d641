//! Typed or piped lines: statements of several lines, and commands.
//!
//! # Design
//!
//! Lines are read one at a time, with a second prompt within a statement, as in other shells of
//! databases. The line editor can also keep a statement together until it is complete, so that the
//! lines above the last one can still be changed. But it shows no prompt before them, and then a
//! user who forgot a semicolon believes that the shell hangs. A whole statement from the history
//! can be changed in all its lines.

use std::mem;

use timebase_sql::token;

use super::commands;
use crate::script::Script;

/// The result of a line.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A part of a statement that continues.
    Part,
    /// It ended a statement, or several.
    Statements(String),
    /// A command, whether or not a statement is open.
    Command(String),
}

/// Joins lines.
pub struct Input {
    /// The lines of a statement that is not finished.
    pending: String,
    /// Whether a person types. If a word that may also be SQL is alone on a line, the person
    /// probably wants help, or wants to leave.
    is_typed: bool,
}

impl Input {
    pub fn new(is_typed: bool) -> Input {
        Input { pending: String::new(), is_typed }
    }

    /// The unfinished statement so far.
    pub fn pending(&self) -> &str {
        &self.pending
    }

    /// Drops the unfinished statement, and returns it.
    pub fn give_up(&mut self) -> String {
        mem::take(&mut self.pending)
    }

    pub fn take(&mut self, line: &str) -> Line {
        if !token::is_open(&self.pending) && self.is_command(line) {
            return Line::Command(line.trim().to_owned());
        }
        // This avoids parsing a long statement again at each of its lines.
        let may_end = self.pending.is_empty() || line.contains(';') || line.contains("*/");
        self.pending.push_str(line);
        self.pending.push('\n');
        if may_end && Script::parse(&self.pending).is_complete {
            return Line::Statements(mem::take(&mut self.pending));
        }
        Line::Part
    }

    fn is_command(&self, line: &str) -> bool {
        let word = commands::name(line);
        let mut signs = word.chars();
        match (signs.next(), signs.next()) {
            // Other shells have this instead of the dot. Nothing in SQL begins with it.
            (Some('\\'), _) => true,
            (Some('.'), _) if self.pending.is_empty() => true,
            // Otherwise it may stand before a number; or, in a script, before a table whose schema
            // is on the previous line.
            (Some('.'), Some(sign)) => {
                commands::is_known(word) || self.is_typed && sign.is_ascii_alphabetic()
            }
            _ if self.pending.is_empty() => commands::is_bare(word),
            // A word alone may be a name.
            _ => self.is_typed && commands::is_bare(word) && line.split_whitespace().count() == 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(is_typed: bool, lines: &[&str]) -> Vec<Line> {
        let mut input = Input::new(is_typed);
        lines.iter().map(|line| input.take(line)).collect()
    }

    fn command(text: &str) -> Line {
        Line::Command(text.into())
    }

    fn statements(text: &str) -> Line {
        Line::Statements(text.into())
    }

    #[test]
    fn a_statement_may_take_several_lines() {
        assert_eq!(
            taken(true, &["SELECT 1;", "SELECT", "2", ";", ""]),
            [
                statements("SELECT 1;\n"),
                Line::Part,
                Line::Part,
                statements("SELECT\n2\n;\n"),
                statements("\n"),
            ]
        );
    }

    #[test]
    fn a_command_is_one_where_a_statement_is_open_but_not_in_quotes() {
        assert_eq!(
            taken(false, &["SELECT 1", ".tables", ";"]),
            [Line::Part, command(".tables"), statements("SELECT 1\n;\n")]
        );
        assert_eq!(
            taken(true, &["SELECT '", ".tables", "help", "';"]),
            [Line::Part, Line::Part, Line::Part, statements("SELECT '\n.tables\nhelp\n';\n")]
        );
        for line in [".5", ".packet"] {
            assert_eq!(
                taken(false, &["SELECT", line, ";"]).last(),
                Some(&statements(&format!("SELECT\n{line}\n;\n")))
            );
        }
        assert_eq!(
            taken(true, &["SELECT 1", ".tabels", "\\dt", ".5"]),
            [Line::Part, command(".tabels"), command("\\dt"), Line::Part]
        );
    }

    #[test]
    fn words_that_ask_for_help_or_the_way_out_need_no_dot() {
        for word in ["help", "Exit", "quit;", "help slice"] {
            assert_eq!(taken(false, &[word]), [command(word)]);
        }
        assert_eq!(taken(true, &["SELECT 1", "quit"]), [Line::Part, command("quit")]);
        // In a script it may be the name of a column.
        assert_eq!(
            taken(false, &["SELECT 1 AS", "quit", ";"]).last(),
            Some(&statements("SELECT 1 AS\nquit\n;\n"))
        );
        assert_eq!(taken(false, &["helpless"]), [Line::Part]);
    }
}
