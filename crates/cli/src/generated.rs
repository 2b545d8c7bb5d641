//! Output that is generated from the definition of the command line.
//!
//! # Design
//!
//! For completion, the shell runs the program at every press of the key. It uses clap_complete's
//! engine, which is marked unstable and is therefore held at one version. Its older scripts contain
//! a fixed list of words, so they cannot know the clocks of a trace. Only a database is read for
//! the clocks; importing a trace would block the key.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{CommandFactory, ValueEnum};
use clap_complete::Shell;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::{CompleteEnv, Shells};
use clap_mangen::Man;
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags};
use timebase_import::{FileKind, Subject};

use crate::escape::printable;
use crate::flags::Cli;
use crate::guard;
use crate::help;
use crate::output::file;
use crate::reports::Report;
use crate::script::Script;

/// A shell that asks for completion sets this variable to its name.
const ASKED: &str = "TIMEBASE_COMPLETE";

/// Answers a shell that asks for completion, and then ends the program.
pub fn complete() {
    CompleteEnv::with_factory(command).var(ASKED).complete();
}

/// The definition, with the candidates for completion.
fn command() -> clap::Command {
    let candidates = |of: fn() -> Vec<CompletionCandidate>| ArgValueCandidates::new(of);
    Cli::command()
        .mut_subcommand("explain", |explain| {
            explain
                .mut_arg("clock", |clock| clock.add(candidates(clocks)))
                .mut_arg("to", |to| to.add(candidates(clocks)))
                .mut_arg("machine", |machine| machine.add(candidates(machines)))
                .mut_arg("file", |file| file.add(candidates(files)))
        })
        .mut_subcommand("import", |import| {
            import.mut_arg("tables", |tables| tables.add(candidates(subjects)))
        })
        .mut_subcommand("query", |query| {
            query.mut_arg("parameters", |param| param.add(candidates(parameters)))
        })
        .mut_subcommand("help", |help| help.mut_arg("name", |name| name.add(candidates(names))))
        .mut_subcommand("man", |man| man.mut_arg("command", |name| name.add(candidates(commands))))
}

/// The words of the line that is being completed.
fn words() -> Vec<OsString> {
    let mut arguments = std::env::args_os();
    // The program's own arguments come before them.
    arguments.by_ref().find(|argument| argument == "--");
    arguments.collect()
}

/// The clocks of the database on the command line or, without a database, the clocks that any trace
/// may have. Other flags give their machine and file.
fn clocks() -> Vec<CompletionCandidate> {
    let clocks = of_database(
        "SELECT coalesce(name, clock_id || iif(seq_id > 0, '@' || seq_id, '')) AS clock, coalesce(path, 'has no path')
         FROM clock GROUP BY clock ORDER BY min(machine_id), min(clock_id), min(seq_id) LIMIT 10000",
    );
    clocks.unwrap_or_else(|| {
        let builtin = (1..64).filter_map(timebase_resolver::builtin_name);
        builtin.map(CompletionCandidate::new).collect()
    })
}

/// The machines of the database on the command line.
fn machines() -> Vec<CompletionCandidate> {
    let machines = of_database("SELECT id, coalesce(name, '') FROM machine ORDER BY id LIMIT 1000");
    machines.unwrap_or_default()
}

/// The files of the database on the command line.
fn files() -> Vec<CompletionCandidate> {
    let files = of_database(
        "SELECT id, coalesce(name, '') FROM trace_file
         WHERE processing_order IS NOT NULL AND trace_type IS NOT 'perfetto_manifest' ORDER BY id LIMIT 1000",
    );
    files.unwrap_or_default()
}

/// The result of a query of the database on the command line: the words to type, with their
/// descriptions.
fn of_database(sql: &str) -> Option<Vec<CompletionCandidate>> {
    let words = words();
    let database = words.iter().map(Path::new).find(|path| {
        path.is_file()
            && timebase_import::file_kind(path).is_ok_and(|kind| kind == FileKind::Database)
    })?;
    found(database, sql).ok()
}

fn found(database: &Path, sql: &str) -> rusqlite::Result<Vec<CompletionCandidate>> {
    /// A user who waits for the names of clocks does not wait for an endless view.
    const STEPS: i32 = 10_000_000;

    let database = std::path::absolute(database).unwrap_or_else(|_| database.to_owned());
    let mut connection = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    guard::distrust(&connection)?;
    connection.progress_handler(STEPS, Some(|| true))?;
    connection
        .prepare(sql)?
        .query_map([], |row| {
            let word = match row.get(0)? {
                Value::Integer(id) => id.to_string(),
                Value::Text(name) => printable(&name),
                _ => String::new(),
            };
            let what: String = row.get(1)?;
            let help = (!what.is_empty()).then(|| printable(&what).into());
            Ok(CompletionCandidate::new(word).help(help))
        })?
        .collect()
}

/// The subjects that 'import --tables' can keep.
fn subjects() -> Vec<CompletionCandidate> {
    let names = Subject::ALL.into_iter().map(Subject::name);
    names.map(CompletionCandidate::new).collect()
}

/// The parameters of the report on the command line, up to their values.
fn parameters() -> Vec<CompletionCandidate> {
    let words = words();
    let mut words = words.iter().filter_map(|word| word.to_str());
    let named = |word: &str| {
        let named = word.strip_prefix("--report=");
        named.is_some() || word == "--report" || word == "-r"
    };
    let report = words
        .find(|word| named(word))
        .and_then(|word| word.strip_prefix("--report=").or_else(|| words.next()))
        .and_then(|name| Report::from_str(name, true).ok());
    let script = report.map(|report| Script::parse(report.sql()));
    let declared = script.map(|script| script.declared).unwrap_or_default();
    let parameter = |name: &str, description: &str| {
        CompletionCandidate::new(format!("{name}=")).help(Some(description.to_owned().into()))
    };
    declared.iter().map(|declared| parameter(declared.name, declared.description)).collect()
}

/// All names that `help` knows.
fn names() -> Vec<CompletionCandidate> {
    let known = help::names_known().into_iter();
    known.map(|(name, what)| CompletionCandidate::new(name).help(Some(what.into()))).collect()
}

fn commands() -> Vec<CompletionCandidate> {
    let cli = Cli::command();
    let commands = cli.get_subcommands().filter(|command| !command.is_hide_set());
    commands
        .map(|command| {
            CompletionCandidate::new(command.get_name()).help(command.get_about().cloned())
        })
        .collect()
}

/// Writes the completion script of a shell.
pub fn completions(shell: Shell, out: &mut dyn Write) -> anyhow::Result<()> {
    let name = shell.to_string();
    let shells = Shells::builtins();
    let adapter = shells.completer(&name).with_context(|| format!("{name} cannot be completed"))?;
    adapter.write_registration(ASKED, "timebase", "timebase", &own_path(), &mut *out)?;
    if shell == Shell::Bash {
        // Otherwise bash cuts 64@3 into three words.
        out.write_all(b"COMP_WORDBREAKS=${COMP_WORDBREAKS//@}\n")?;
    }
    Ok(())
}

/// The program that the script runs. It is a name if the shell found the program by name, so that
/// the script still works with a new version in another place.
fn own_path() -> String {
    let called = std::env::args_os().next().map(PathBuf::from).unwrap_or_default();
    let path = match std::env::current_dir() {
        Ok(current) if called.components().count() > 1 => current.join(called),
        _ => called,
    };
    path.to_string_lossy().into_owned()
}

/// Writes the manual page of the program, or of one of its commands.
pub fn man(command: Option<&str>, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut cli = Cli::command();
    cli.build();
    let page = match command {
        None => cli,
        Some(name) => cli
            .find_subcommand(name)
            .with_context(|| format!("there is no command {name}, so it has no manual page"))?
            .clone(),
    };
    out.write_all(page_of(page)?.1.as_bytes())?;
    Ok(())
}

/// The name of a manual page's file, and its text.
fn page_of(command: clap::Command) -> anyhow::Result<(String, String)> {
    let source = concat!("timebase ", env!("CARGO_PKG_VERSION"));
    let page = Man::new(command).manual("timebase").source(source);
    let mut text = Vec::new();
    page.render(&mut text)?;
    // The section after the flags has the same name as for other programs.
    let text = String::from_utf8(text)?
        .replace(".SH EXTRA\nExamples:\n", ".SH EXAMPLES\n")
        .replace(".SH EXTRA\n", ".SH NOTES\n");
    Ok((page.get_filename(), text))
}

/// Writes the manual pages of the program and of all its commands.
pub fn man_pages(directory: &Path) -> anyhow::Result<()> {
    let cannot = || format!("cannot write manual pages to {}", directory.display());
    fs::create_dir_all(directory).with_context(cannot)?;
    let mut cli = Cli::command();
    cli.build();
    let commands: Vec<clap::Command> = cli.get_subcommands().cloned().collect();
    for page in std::iter::once(cli).chain(commands) {
        let (name, text) = page_of(page)?;
        file::put(&directory.join(name), text.as_bytes()).with_context(cannot)?;
    }
    Ok(())
}
