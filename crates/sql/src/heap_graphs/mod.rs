//! SQL functions about dumps of Java heaps.
//!
//! | function | result |
//! |---|---|
//! | `heap_graph_path(object)` | the shortest path from a root to an object: why the object is alive |
//! | `heap_graph_dominator(upid, ts)` | for each object of a dump that is alive, the object that keeps it alive alone, and what it keeps alive itself |
//! | `experimental_flamegraph('graph', ts, NULL, upid, NULL, focus)` | the dump as a tree of classes, as in trace processor |
//!
//! ```
//! use rusqlite::Connection;
//!
//! let conn = Connection::open_in_memory()?;
//! conn.execute_batch(
//!     "CREATE TABLE heap_graph_class (id INTEGER PRIMARY KEY, name, deobfuscated_name, kind);
//!      CREATE TABLE heap_graph_object_record (id INTEGER PRIMARY KEY, upid, graph_sample_ts, self_size, native_size,
//!        reference_set_id, type_id, root_type, root_distance, root_reference_id);
//!      CREATE TABLE heap_graph_reference_record (id INTEGER PRIMARY KEY, reference_set_id, owner_id, owned_id, field_id);
//!      CREATE TABLE heap_graph_field (id INTEGER PRIMARY KEY, name, deobfuscated_name);
//!      INSERT INTO heap_graph_class VALUES (0, 'App', NULL, NULL), (1, 'Image', NULL, NULL);
//!      INSERT INTO heap_graph_object_record VALUES (0, 1, 10, 8, 0, 0, 0, 5, 0, NULL), (1, 1, 10, 500, 0, NULL, 1, NULL, 1, 0);
//!      INSERT INTO heap_graph_reference_record VALUES (0, 0, 0, 1, 0);
//!      INSERT INTO heap_graph_field VALUES (0, 'App.cache', NULL);",
//! )?;
//! timebase_sql::heap_graphs::register(&conn)?;
//!
//! let path = "SELECT group_concat(coalesce(field_name, root_type) || ' ' || class_name, ', ') FROM heap_graph_path(1)";
//! let path = conn.query_row(path, [], |row| row.get::<_, String>(0))?;
//! assert_eq!(path, "ROOT_STICKY_CLASS App, App.cache Image");
//! let retained = "SELECT dominated_size_bytes FROM heap_graph_dominator(1, 10) WHERE object_id = 0";
//! assert_eq!(conn.query_row(retained, [], |row| row.get::<_, i64>(0))?, 508);
//! # Ok::<(), rusqlite::Error>(())
//! ```
//!
//! # Design
//!
//! A path follows the column `root_reference_id`, which the import fills by one search from all roots. The others read
//! their dump into memory: a million objects with three million references take about 220 MB. The alternative was to
//! fill dominators at the import. Each import would take longer, and few people ask for them.

mod dominator;
mod flame;
mod heap;
mod path;

use rusqlite::Connection;

use crate::{Answer, Call, Function, Functions, Result, table_function};

/// The contents of an array, which these dumps do not have.
struct Contents;

impl Function for Contents {
    fn call<C: Call>(&self, _call: &C) -> Result<Answer> {
        Ok(Answer::Null)
    }
}

/// The types of roots by their numbers.
const ROOT_TYPES: [&str; 15] = [
    "ROOT_UNKNOWN",
    "ROOT_JNI_GLOBAL",
    "ROOT_JNI_LOCAL",
    "ROOT_JAVA_FRAME",
    "ROOT_NATIVE_STACK",
    "ROOT_STICKY_CLASS",
    "ROOT_THREAD_BLOCK",
    "ROOT_MONITOR_USED",
    "ROOT_THREAD_OBJECT",
    "ROOT_INTERNED_STRING",
    "ROOT_FINALIZING",
    "ROOT_DEBUGGER",
    "ROOT_REFERENCE_CLEANUP",
    "ROOT_VM_INTERNAL",
    "ROOT_JNI_MONITOR",
];

/// The name of a root's type.
fn root_type(number: i64) -> Option<&'static str> {
    ROOT_TYPES.get(usize::try_from(number).ok()?).copied()
}

/// Registers the functions on a connection. They read the tables of dumps, which may be created later.
///
/// # Errors
///
/// If SQLite refuses a function.
pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    let mut to = conn;
    for name in ["__intrinsic_heap_graph_array", "__intrinsic_heap_graph_array_json"] {
        to.add(name, 1, Contents)?;
    }
    table_function::register::<path::Path>(conn)?;
    table_function::register::<dominator::Dominators>(conn)?;
    table_function::register::<flame::Flamegraph>(conn)
}
