//! Values from the tables of a trace, as Perfetto's prelude declares them.
//!
//! | function | result |
//! |---|---|
//! | `extract_metadata(name)` | the value of the first row with this name in `metadata`; NULL if there is none |
//! | `extract_metadata_for_trace(trace_id, name)` | the same for a trace |
//! | `extract_metadata_for_machine(machine_id, name)` | the same for a machine |
//! | `__intrinsic_perf_counter_for_sample(sample_id, name)` | the value of the counter with this name in a sample of perf; NULL if there is none |
//!
//! They read the tables by their names alone, so that those of the prelude come before those of the
//! database. A value is `str_value`, or else `int_value`.

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use crate::{Answer, Arguments, Call, Function, Functions, Lookup, Result};

pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    let mut to = conn;
    let of_trace = Lookup::new(
        "SELECT coalesce(str_value, int_value) FROM metadata WHERE trace_id = ?1 AND name = ?2",
    )
    .or("SELECT coalesce(str_value, int_value) FROM metadata
         WHERE trace_file_id = ?1 AND name = ?2");
    let of_machine = Lookup::new(
        "SELECT coalesce(str_value, int_value) FROM metadata WHERE machine_id = ?1 AND name = ?2",
    );
    let of_all = Lookup::new("SELECT coalesce(str_value, int_value) FROM metadata WHERE name = ?1");
    to.add("extract_metadata", 1, Metadata(of_all))?;
    let of_sample = Lookup::new(
        "SELECT counter.value FROM __intrinsic_profiler_sample AS sample
         JOIN __intrinsic_profiler_counter_set AS member USING (counter_set_id)
         JOIN counter ON counter.id = member.counter_id
         JOIN track ON track.id = counter.track_id
         WHERE sample.id = ?1 AND track.name = ?2 ORDER BY member.id",
    );
    to.add("extract_metadata_for_trace", 2, LookupByName("extract_metadata_for_trace", of_trace))?;
    to.add(
        "extract_metadata_for_machine",
        2,
        LookupByName("extract_metadata_for_machine", of_machine),
    )?;
    let name = "__intrinsic_perf_counter_for_sample";
    to.add(name, 2, LookupByName(name, of_sample))?;
    Ok(())
}

/// `extract_metadata(name)`; NULL of NULL.
struct Metadata(Lookup);

impl Function for Metadata {
    fn call<C: Call>(&self, call: &C) -> Result<Answer> {
        const NAME: &str = "extract_metadata";
        match Arguments::new(NAME, call).text(0, "name")? {
            Some(name) => self.0.value(NAME, call, &[ValueRef::Text(name.as_bytes())]),
            None => Ok(Answer::Null),
        }
    }
}

/// A lookup by an id and a name; NULL if one of them is.
struct LookupByName(&'static str, Lookup);

impl Function for LookupByName {
    fn call<C: Call>(&self, call: &C) -> Result<Answer> {
        let LookupByName(function, lookup) = self;
        let arguments = Arguments::new(function, call);
        match (arguments.integer(0, "id")?, arguments.text(1, "name")?) {
            (Some(id), Some(name)) => {
                let parameters = [ValueRef::Integer(id), ValueRef::Text(name.as_bytes())];
                lookup.value(function, call, &parameters)
            }
            _ => Ok(Answer::Null),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::super::testing::{connection, error, rows};

    #[test]
    fn pq15_metadata_of_a_trace_and_of_a_machine() {
        let conn = connection();
        assert!(
            error(&conn, "SELECT extract_metadata_for_trace(0, 'a')")
                .contains("no such table: metadata")
        );
        conn.execute_batch(
            "CREATE TABLE metadata (name, int_value, str_value, trace_id, machine_id);
             INSERT INTO metadata VALUES ('size', 7, NULL, 0, NULL), ('type', NULL, 'proto', 1, 3)",
        )
        .unwrap();
        let sql =
            "SELECT extract_metadata_for_trace(0, 'size'), extract_metadata_for_trace(1, 'size'),
            extract_metadata_for_machine(3, 'type'), extract_metadata_for_machine(NULL, 'type')";
        assert_eq!(rows(&conn, sql), ["7 NULL proto NULL"]);
        let sql =
            "SELECT extract_metadata('size'), extract_metadata('type'), extract_metadata('none'),
            extract_metadata(NULL)";
        assert_eq!(rows(&conn, sql), ["7 proto NULL NULL"]);
        assert_eq!(
            error(&conn, "SELECT extract_metadata(5)"),
            "extract_metadata(): argument 1 (name) must be a text, not 5"
        );
    }

    #[test]
    fn pq9_a_database_of_timebase_names_traces_by_their_files() {
        let conn = connection();
        conn.execute_batch(
            "CREATE TABLE metadata (name, int_value, str_value, trace_file_id, machine_id);
             INSERT INTO metadata VALUES ('size', 7, NULL, 0, NULL);",
        )
        .unwrap();
        assert_eq!(rows(&conn, "SELECT extract_metadata_for_trace(0, 'size')"), ["7"]);
        // A table of the prelude comes first.
        conn.execute_batch(
            "CREATE TEMP TABLE metadata (name, int_value, str_value, trace_id, machine_id)",
        )
        .unwrap();
        assert_eq!(rows(&conn, "SELECT extract_metadata_for_trace(0, 'size')"), ["NULL"]);
    }

    #[test]
    fn pq9_the_counter_of_a_sample() {
        let conn = connection();
        conn.execute_batch(
            "CREATE TABLE __intrinsic_profiler_sample (id, counter_set_id);
             CREATE TABLE __intrinsic_profiler_counter_set (id, counter_set_id, counter_id);
             CREATE TABLE counter (id, track_id, value); CREATE TABLE track (id, name);
             INSERT INTO track VALUES (1, 'cycles'), (2, 'faults');
             INSERT INTO counter VALUES (10, 1, 1.5), (11, 2, 2.5);
             INSERT INTO __intrinsic_profiler_counter_set VALUES (0, 5, 10), (1, 5, 11);
             INSERT INTO __intrinsic_profiler_sample VALUES (100, 5), (101, NULL);",
        )
        .unwrap();
        let sql = "SELECT __intrinsic_perf_counter_for_sample(100, 'faults'),
            __intrinsic_perf_counter_for_sample(100, 'other'),
            __intrinsic_perf_counter_for_sample(101, 'faults')";
        assert_eq!(rows(&conn, sql), ["2.5 NULL NULL"]);
    }
}
