//! PerfettoSQL in the program: folders of modules, and a statement's form for SQLite.

use std::path::Path;

use anyhow::{Context, anyhow};
use timebase_sql::perfetto::{self, Packages, Translated};

use crate::database::Database;
use crate::parameters::Parameters;
use crate::{hints, messages};

/// The folders of `--sql-package` and of the environment.
pub fn packages(given: &[String]) -> anyhow::Result<Packages> {
    let mut packages = Packages::default();
    for folder in given {
        packages.add(folder).context("--sql-package")?;
    }
    let more = Packages::from_environment().context(perfetto::VARIABLE)?;
    packages.append(more);
    Ok(packages)
}

/// Adds the folders of modules to the connection: the folders of `--sql-package` and of the
/// environment, and the folder of the file with the statements.
pub fn add_packages(
    database: &Database,
    given: &[String],
    file: Option<&Path>,
) -> anyhow::Result<()> {
    packages(given)?.add_to(database)?;
    if let Some(folder) = file.and_then(Path::parent) {
        let mut packages = Packages::default();
        let is_here = folder.as_os_str().is_empty();
        packages.add_folder(if is_here { Path::new(".") } else { folder })?;
        packages.add_to(database)?;
    }
    Ok(())
}

/// The form of a statement for SQLite.
pub enum Form {
    /// The statement is the same.
    Same,
    /// The statement has already run.
    Ran,
    Other(Translated),
}

impl Form {
    /// SQLite's text of a statement.
    pub fn text<'t>(&'t self, sql: &'t str) -> &'t str {
        match self {
            Form::Other(translated) => translated.text(),
            Form::Same | Form::Ran => sql,
        }
    }
}

/// Runs a statement of the dialect, or finds the form of any other statement.
pub fn form(
    database: &Database,
    sql: &str,
    place: &str,
    parameters: &Parameters,
) -> anyhow::Result<Form> {
    if !perfetto::may_be_dialect(sql) {
        return Ok(Form::Same);
    }
    match perfetto::step_with(database, sql, &parameters.values()) {
        Ok(None) => Ok(Form::Ran),
        Ok(Some(translated)) if translated.is_same() => Ok(Form::Same),
        Ok(Some(translated)) => Ok(Form::Other(translated)),
        Err(error) if error.is_interrupt() => Err(anyhow!("interrupted")),
        Err(error) => {
            // Otherwise the next error would report this denial.
            let denied = database.why_denied();
            let denied = denied.map_or_else(String::new, |why| format!(": {why}"));
            let tip = match error.lacks_module() {
                true => "\n  tip: name the folder with --sql-package DIR",
                false => "",
            };
            Err(anyhow!("{place}{error}{denied}{tip}"))
        }
    }
}

/// Writes notes for the user about the last statements.
pub fn tell_notes(database: &Database, sql: &str) {
    for note in perfetto::take_notes(database).unwrap_or_default() {
        messages::note(note);
    }
    for table in perfetto::take_unread(database, sql).unwrap_or_default() {
        let packets = hints::packets_of(table.trim_start_matches("__intrinsic_"));
        let packets = packets.map_or_else(String::new, |packets| {
            format!("; its packets have the type {packets} in the table packet")
        });
        messages::note(format_args!("{}{packets}", perfetto::note_of(&table)));
    }
}
