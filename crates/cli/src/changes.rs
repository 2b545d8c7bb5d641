//! The changes that statements make in a database that is open for writing.
//!
//! When SQLite prepares a statement, it reports everything that the statement is about to touch.
//! This distinguishes the tables of the trace from temporary tables, which reports make. It costs
//! nothing if the database is only read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indicatif::HumanCount;
use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization, TransactionOperation};

/// The effect of a statement on a table, or on another object with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verb {
    Inserted,
    Updated,
    Deleted,
    Created,
    Altered,
    Dropped,
}

type Deed = (Verb, String);

/// The changes so far.
#[derive(Debug)]
pub struct Changes {
    /// The changes of the statement that was prepared last, if it runs.
    prepared: Arc<Mutex<Prepared>>,
    /// The number of rows, or of changes, in a transaction that may be rolled back.
    pending: BTreeMap<Deed, u64>,
    done: BTreeMap<Deed, u64>,
}

#[derive(Debug, Default)]
struct Prepared {
    deeds: BTreeSet<Deed>,
    is_rollback: bool,
}

impl Changes {
    /// Notes the statements that the connection prepares from now on.
    pub fn watch(connection: &mut Connection) -> rusqlite::Result<Changes> {
        let prepared = Arc::new(Mutex::new(Prepared::default()));
        let shared = Arc::clone(&prepared);
        connection.authorizer(Some(move |context: AuthContext<'_>| {
            let mut prepared = lock(&shared);
            prepared.is_rollback |= matches!(
                context.action,
                AuthAction::Transaction { operation: TransactionOperation::Rollback }
            );
            prepared.deeds.extend(deed(&context));
            Authorization::Allow
        }))?;
        Ok(Changes { prepared, pending: BTreeMap::new(), done: BTreeMap::new() })
    }

    /// Calls `run`, which prepares and runs a statement, and notes its changes.
    pub fn during<T>(
        &mut self,
        connection: &Connection,
        run: impl FnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        *lock(&self.prepared) = Prepared::default();
        let before = connection.total_changes();
        let result = run()?;
        // If a statement changes no rows, changes() is about an earlier statement.
        let rows = match connection.total_changes() == before {
            true => 0,
            false => connection.changes(),
        };
        let Prepared { deeds, is_rollback } = std::mem::take(&mut *lock(&self.prepared));
        if is_rollback {
            self.pending.clear();
        }
        for (verb, name) in deeds.iter().cloned() {
            // SQLite empties a table before it drops it.
            if verb == Verb::Deleted && deeds.contains(&(Verb::Dropped, name.clone())) {
                continue;
            }
            let is_of_rows = matches!(verb, Verb::Inserted | Verb::Updated | Verb::Deleted);
            let count = self.pending.entry((verb, name)).or_default();
            *count = count.saturating_add(if is_of_rows { rows } else { 1 });
        }
        if connection.is_autocommit() {
            for (deed, count) in std::mem::take(&mut self.pending) {
                let done = self.done.entry(deed).or_default();
                *done = done.saturating_add(count);
            }
        }
        Ok(result)
    }

    /// The changes since the last call; `None` if there are none.
    pub fn told(&mut self) -> Option<String> {
        let done = std::mem::take(&mut self.done);
        let told: Vec<String> = done.iter().map(told).collect();
        (!told.is_empty()).then(|| told.join(", "))
    }

    /// Whether there are changes that a COMMIT would have kept.
    pub fn are_pending(&self) -> bool {
        !self.pending.is_empty()
    }
}

fn lock(prepared: &Mutex<Prepared>) -> MutexGuard<'_, Prepared> {
    prepared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The change that the statement itself makes; `None` for a temporary table.
fn deed(context: &AuthContext<'_>) -> Option<Deed> {
    use AuthAction as A;

    // The user did not write the statements of a trigger.
    if context.accessor.is_some() || context.database_name.is_some_and(|name| name == "temp") {
        return None;
    }
    let (verb, name) = match context.action {
        A::Insert { table_name } => (Verb::Inserted, table_name),
        A::Update { table_name, .. } => (Verb::Updated, table_name),
        A::Delete { table_name } => (Verb::Deleted, table_name),
        A::CreateTable { table_name } | A::CreateVtable { table_name, .. } => {
            (Verb::Created, table_name)
        }
        A::CreateView { view_name } => (Verb::Created, view_name),
        A::CreateIndex { index_name, .. } => (Verb::Created, index_name),
        A::CreateTrigger { trigger_name, .. } => (Verb::Created, trigger_name),
        A::AlterTable { table_name, .. } => (Verb::Altered, table_name),
        A::DropTable { table_name } | A::DropVtable { table_name, .. } => {
            (Verb::Dropped, table_name)
        }
        A::DropView { view_name } => (Verb::Dropped, view_name),
        A::DropIndex { index_name, .. } => (Verb::Dropped, index_name),
        A::DropTrigger { trigger_name, .. } => (Verb::Dropped, trigger_name),
        _ => return None,
    };
    // SQLite's own tables, in which it records the schema.
    let is_internal = name.starts_with("sqlite_");
    (!is_internal).then(|| (verb, name.to_owned()))
}

fn told(((verb, name), count): (&Deed, &u64)) -> String {
    let rows = HumanCount(*count);
    let noun = if *count == 1 { "row" } else { "rows" };
    match verb {
        Verb::Inserted => format!("{rows} {noun} inserted into {name}"),
        Verb::Updated => format!("{rows} {noun} of {name} updated"),
        Verb::Deleted => format!("{rows} {noun} of {name} deleted"),
        Verb::Created => format!("{name} created"),
        Verb::Altered => format!("{name} altered"),
        Verb::Dropped => format!("{name} dropped"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(statements: &[&str]) -> (Option<String>, bool) {
        let mut connection = Connection::open_in_memory().expect("in memory");
        let made = "CREATE TABLE t (a, b); CREATE TABLE u (a); INSERT INTO t VALUES (1, 1), (2, 2);
            CREATE TRIGGER r AFTER DELETE ON t BEGIN INSERT INTO u VALUES (old.a); END;";
        connection.execute_batch(made).expect("valid SQL");
        let mut changes = Changes::watch(&mut connection).expect("can be watched");
        for sql in statements {
            let ran = changes.during(&connection, || {
                let mut statement = connection.prepare(sql)?;
                let mut rows = statement.raw_query();
                while rows.next()?.is_some() {}
                Ok(())
            });
            ran.expect("valid SQL");
        }
        (changes.told(), changes.are_pending())
    }

    #[test]
    fn rows_are_counted_by_table_and_those_of_triggers_are_not() {
        let some = |text: &str| (Some(text.to_owned()), false);
        assert_eq!(told(&["DELETE FROM t"]), some("2 rows of t deleted"));
        assert_eq!(
            told(&["UPDATE t SET a = 3, b = 4 WHERE a = 1", "UPDATE t SET a = 5"]),
            some("3 rows of t updated")
        );
        assert_eq!(
            told(&["INSERT INTO t VALUES (7, 7) RETURNING a", "SELECT * FROM t"]),
            some("1 row inserted into t")
        );
        assert_eq!(told(&["DELETE FROM t WHERE a = 9"]), some("0 rows of t deleted"));
    }

    #[test]
    fn what_is_created_and_dropped_has_its_name() {
        assert_eq!(
            told(&[
                "CREATE VIEW v AS SELECT 1",
                "CREATE TABLE n AS SELECT * FROM t",
                "DROP TABLE t"
            ])
            .0,
            Some("n created, v created, r dropped, t dropped".to_owned())
        );
    }

    #[test]
    fn what_is_temporary_or_rolled_back_is_no_change() {
        let nothing = (None, false);
        assert_eq!(told(&["SELECT 1"]), nothing);
        assert_eq!(
            told(&[
                "CREATE TEMP TABLE x AS SELECT * FROM t",
                "INSERT INTO x VALUES (1, 2)",
                "DROP TABLE x"
            ]),
            nothing
        );
        assert_eq!(told(&["BEGIN", "DELETE FROM t", "ROLLBACK"]), nothing);
        assert_eq!(told(&["BEGIN", "DELETE FROM t"]), (None, true));
    }
}
