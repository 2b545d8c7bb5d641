//! The layers and the payloads of Android's window tracing.
//!
//! | function | rows |
//! |---|---|
//! | `__intrinsic_winscope_surfaceflinger_hierarchy_path()` | `id`, `snapshot_id`, `layer_id`, `ancestor_id`: each layer with its ancestors, the outermost first, and with itself |
//! | `__intrinsic_winscope_proto_to_args_with_defaults(table_name)` | the fields of the payloads of a table, also those that a payload lacks |
//!
//! They read `__intrinsic_surfaceflinger_layer`, and where the import says that payloads are.

mod payloads;
mod walk;

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use rusqlite::vtab::Filters;
use rusqlite::{Connection, ffi};

use super::limits::{Budget, Watch};
use crate::table_function::{self, TableFunction};
use crate::{Database, Result};

const LAYERS: &str = "SELECT snapshot_id, layer_id, coalesce(parent, 0)
    FROM __intrinsic_surfaceflinger_layer WHERE layer_id IS NOT NULL ORDER BY snapshot_id, id";

pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    table_function::register::<Paths>(conn)?;
    payloads::register(conn)
}

/// The function on a connection.
struct Paths(*mut ffi::sqlite3);

struct Step {
    id: usize,
    snapshot: i64,
    layer: i64,
    ancestor: i64,
}

impl TableFunction for Paths {
    const NAME: &'static str = "__intrinsic_winscope_surfaceflinger_hierarchy_path";
    const COLUMNS: &'static [&'static str] = &["id", "snapshot_id", "layer_id", "ancestor_id"];
    const ARGUMENTS: &'static [&'static str] = &[];
    const ESTIMATE: Option<(f64, i64)> = None;
    type Row = Step;

    unsafe fn new(conn: *mut ffi::sqlite3) -> Paths {
        Paths(conn)
    }

    fn rows(&self, _args: &Filters<'_>) -> Result<Vec<Step>> {
        // SAFETY: the connection is open during this call, and the reference stays in it.
        let conn = unsafe { Connection::from_handle(self.0) }?;
        let mut out =
            Out { rows: Vec::new(), budget: Budget::new(Self::NAME), watch: Watch::new(&conn) };
        let (mut current, mut layers) = (None, Vec::new());
        conn.query(LAYERS, |row| {
            let snapshot = row.optional_integer(0, "snapshot_id")?;
            if snapshot != current {
                out.snapshot(current, &layers)?;
                layers.clear();
                current = snapshot;
            }
            out.budget.take(size_of::<(i64, i64)>())?;
            layers.push((row.integer(1, "layer_id")?, row.integer(2, "parent")?));
            Ok(ControlFlow::Continue(()))
        })?;
        out.snapshot(current, &layers)?;
        Ok(out.rows)
    }

    fn column(row: &Step, column: usize) -> Option<i64> {
        match column {
            0 => i64::try_from(row.id).ok(),
            1 => Some(row.snapshot),
            2 => Some(row.layer),
            3 => Some(row.ancestor),
            _ => None,
        }
    }
}

struct Out<'c> {
    rows: Vec<Step>,
    budget: Budget,
    watch: Watch<'c>,
}

impl Out<'_> {
    /// Adds the paths of the layers of a snapshot, each with its parent.
    fn snapshot(&mut self, snapshot: Option<i64>, layers: &[(i64, i64)]) -> Result<()> {
        let Some(snapshot) = snapshot else {
            return Ok(());
        };
        let mut parents = HashMap::new();
        for (layer, parent) in layers {
            parents.entry(*layer).or_insert(*parent);
        }
        for (layer, parent) in layers {
            let mut path = vec![*layer];
            let (mut seen, mut next) = (HashSet::new(), *parent);
            while let Some(above) = parents.get(&next).copied() {
                self.watch.step()?;
                // A layer that is its own parent, or hangs in a circle, hangs at nothing.
                if above == next || !seen.insert(next) {
                    break;
                }
                path.push(next);
                next = above;
            }
            self.budget.take(path.len().saturating_mul(size_of::<Step>()))?;
            let steps = path.into_iter().rev().map(unsigned);
            for ancestor in steps {
                let id = self.rows.len();
                self.rows.push(Step { id, snapshot, layer: unsigned(*layer), ancestor });
            }
        }
        Ok(())
    }
}

/// An id as trace processor's columns have it.
fn unsigned(id: i64) -> i64 {
    id & i64::from(u32::MAX)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::super::testing::{connection, rows};

    #[test]
    fn ws15_a_path_ends_at_no_layer_at_its_own_parent_and_in_a_circle() {
        let conn = connection();
        conn.execute_batch(
            "CREATE TABLE __intrinsic_surfaceflinger_layer (id, snapshot_id, layer_id, parent);
             INSERT INTO __intrinsic_surfaceflinger_layer VALUES
                (0, 0, 1, NULL), (1, 0, 2, 1), (2, 0, 3, 2), (3, 0, NULL, 1), (4, 0, 4, 4),
                (5, 0, 5, 4), (6, 1, 7, 8), (7, 1, 8, 7), (8, 1, -1, 9);",
        )
        .unwrap();
        let all = rows(&conn, "SELECT * FROM __intrinsic_winscope_surfaceflinger_hierarchy_path()");
        assert_eq!(
            all,
            [
                "0 0 1 1",
                "1 0 2 1",
                "2 0 2 2",
                "3 0 3 1",
                "4 0 3 2",
                "5 0 3 3",
                "6 0 4 4",
                "7 0 5 5",
                "8 1 7 7",
                "9 1 7 8",
                "10 1 7 7",
                "11 1 8 8",
                "12 1 8 7",
                "13 1 8 8",
                "14 1 4294967295 4294967295",
            ]
        );
    }
}
