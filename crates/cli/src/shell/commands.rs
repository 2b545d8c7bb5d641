//! The names of the shell's own commands, which distinguish commands from SQL.

/// Names, for completion and for `.help`, with arguments and descriptions.
pub const COMMANDS: &[(&str, &str, &str)] = &[
    (".help", "[NAME]", "list these; or explain a table, column, function, command or report"),
    (
        ".tables",
        "[PATTERN]",
        "list tables, views and table-valued functions; with '%', also the tables behind the views",
    ),
    (".functions", "", "list the SQL functions of timebase"),
    (".schema", "[NAME]", "show the columns and the SQL of all tables and views, or of one"),
    (".mode", "[FORMAT]", "show or choose the format of results"),
    (".timer", "[on|off]", "show how long statements take, or not"),
    (".read", "FILE", "run the statements and commands of a file"),
    (".quit", "", "end; so do .exit, quit, exit and Ctrl-D"),
    (".exit", "", "end"),
];

/// Commands that are also known without a dot.
const BARE: &[&str] = &["help", "exit", "quit"];

/// The first word of a line, without a semicolon at the end, which users of SQL type from habit.
pub fn name(line: &str) -> &str {
    let line = line.trim().trim_end_matches(';');
    line.split_whitespace().next().unwrap_or_default()
}

/// Whether a word is one of these commands.
pub fn is_known(word: &str) -> bool {
    COMMANDS.iter().any(|(name, ..)| *name == word)
}

/// Whether a word is a command that needs no dot.
pub fn is_bare(word: &str) -> bool {
    BARE.iter().any(|bare| bare.eq_ignore_ascii_case(word))
}
