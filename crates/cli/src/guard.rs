//! The defences against a database that is only read, no matter who made it, and the limits of a statement
//! that only reads. docs/hostile-input.md describes them for users.
//!
//! # Design
//!
//! SQLite's own defences come first: they hold for any statement. An authorizer, which SQLite asks while it
//! prepares a statement, closes the remaining gaps: `VACUUM INTO` writes a file even if nothing else can be
//! written, and pragmas remove the defences. The alternative was to look at the words of a statement, but
//! SQLite knows better what they mean.
//!
//! The limits are larger than any statement needs that a person wrote, and small enough for memory. There is
//! no limit on time: Ctrl-C ends a statement that takes too long.

use std::fs;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode};

/// Twice the size of the largest packet.
const LENGTH: i32 = 512 << 20;

/// The limit on SQLite's memory, in bytes: a few of the longest values.
const HEAP: i64 = 2 << 30;

/// The limits of a statement where SQLite's own limits would allow it to take all memory or an hour. All
/// other limits, such as the depth of expressions, are SQLite's.
const LIMITS: [(Limit, i32); 5] = [
    (Limit::SQLITE_LIMIT_LENGTH, LENGTH),
    (Limit::SQLITE_LIMIT_SQL_LENGTH, 16 << 20),
    (Limit::SQLITE_LIMIT_VDBE_OP, 10_000_000),
    (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000),
    (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 10),
];

/// The pragmas that a statement must not set. `hard_heap_limit` can only be lowered.
const PRAGMAS: [&str; 7] = [
    "cell_size_check",
    "data_store_directory",
    "mmap_size",
    "soft_heap_limit",
    "temp_store_directory",
    "trusted_schema",
    "writable_schema",
];

/// The reason why a statement was denied.
#[derive(Clone, Debug, Default)]
pub struct Denied(Arc<Mutex<Option<String>>>);

impl Denied {
    /// The reason of the last denial; `None` if there was none since the last call.
    pub fn take(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn set(&self, why: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
    }
}

/// The defences for any database: whatever its schema says, it calls nothing that could do harm, and its
/// pages are checked before they are used. The file is not mapped into memory, so that a file that shrinks
/// meanwhile does not end the program.
pub fn distrust(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    // The result is the size, if the system can map files at all.
    connection.execute_batch("PRAGMA mmap_size = 0")
}

/// Refuses a schema that is no text, as in a damaged file: the code that runs before a statement handles only
/// texts.
pub fn refuse_bytes(connection: &Connection) -> rusqlite::Result<()> {
    let mut statement = connection.prepare("SELECT name, sql FROM sqlite_schema")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (_, _): (Option<String>, Option<String>) = (row.get(0)?, row.get(1)?);
    }
    Ok(())
}

/// The defences for a database that is only read.
pub fn protect(connection: &mut Connection) -> rusqlite::Result<Denied> {
    for (config, is_on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_CREATE, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_WRITE, false),
    ] {
        connection.set_db_config(config, is_on)?;
    }
    for (limit, most) in LIMITS {
        connection.set_limit(limit, most)?;
    }
    connection.pragma_update_and_check(None, "hard_heap_limit", HEAP, |_| Ok(()))?;
    let denied = Denied::default();
    let noted = denied.clone();
    connection.authorizer(Some(move |context: AuthContext<'_>| {
        match objection(&context.action) {
            None => Authorization::Allow,
            Some(why) => {
                noted.set(why);
                Authorization::Deny
            }
        }
    }))?;
    Ok(denied)
}

/// The reason why a statement may not do something; `None` if it may.
fn objection(action: &AuthAction<'_>) -> Option<String> {
    match *action {
        AuthAction::Attach { filename } if filename.starts_with("file:") => Some(
            "a URI might create a file, which needs --write; name an existing file without a URI"
                .to_owned(),
        ),
        AuthAction::Attach { filename } if would_be_made(filename) => {
            Some(format!("there is no database {filename}, and creating one needs --write"))
        }
        AuthAction::Pragma { pragma_name: name, pragma_value: Some(_) }
            if PRAGMAS.iter().any(|known| known.eq_ignore_ascii_case(name)) =>
        {
            Some(format!(
                "{name} protects against a malicious database, so changing it needs --write"
            ))
        }
        _ => None,
    }
}

/// Whether a file is missing or empty: a statement that attaches it wants to write to it. `VACUUM INTO` also
/// attaches its file, by the name as it is.
fn would_be_made(name: &str) -> bool {
    let is_temporary = name.is_empty() || name == ":memory:";
    !is_temporary && fs::metadata(name).map_or(true, |metadata| metadata.len() == 0)
}

/// The advice about an error of a database that is read; `None` if there is none.
pub fn advice(error: &rusqlite::Error) -> Option<&'static str> {
    /// A journal shows that a change was not completed.
    const READONLY_ROLLBACK: i32 = rusqlite::ffi::SQLITE_READONLY_ROLLBACK;
    const READONLY_RECOVERY: i32 = rusqlite::ffi::SQLITE_READONLY_RECOVERY;

    let code = error.sqlite_error()?;
    match (code.code, code.extended_code) {
        (_, READONLY_ROLLBACK | READONLY_RECOVERY) => Some(
            "a journal beside it holds an incomplete change, which reading cannot undo; if you trust both files, open it once with --write",
        ),
        (ErrorCode::ReadOnly, _) => Some("it is open read-only; --write opens it for writing"),
        (ErrorCode::DatabaseCorrupt, _) => Some(
            "the file is damaged, or a program other than SQLite changed it during the query; import the trace again",
        ),
        (ErrorCode::NotADatabase, _) => Some("it is not a database, or its beginning is damaged"),
        (ErrorCode::OutOfMemory, _) => {
            Some("the memory limit of a statement is 2 GiB; --write removes it")
        }
        _ => None,
    }
}
