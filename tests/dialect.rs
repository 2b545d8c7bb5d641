//! PerfettoSQL through the real program, on databases that it only reads: the older forms of statements, tables of a
//! script's own, and the functions that read the tables of a trace.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Map, Value, json};

use crate::support::{Imported, Place, run};

/// The rows of all results of a script.
fn answers(database: &Imported, more: &[&str], script: &str) -> Vec<Value> {
    let args = [&["query", database.path(), script, "--format", "jsonl"], more].concat();
    let said = run(&args);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let row = |line: &str| {
        let mut row: Value = serde_json::from_str(line).unwrap();
        // With the title of the statement, if there are several.
        match row.get_mut("row") {
            Some(inner) => inner.take(),
            None => row,
        }
    };
    said.stdout.lines().map(row).collect()
}

#[test]
fn pq14_only_the_results_of_a_script_are_shown() {
    let app = Imported::new("app.pftrace", &[]);
    let script = "SELECT create_function('f(x INT)', 'INT', 'SELECT $x + 1');
        SELECT create_view_function('v(n INT)', 'x INT', 'SELECT $n AS x UNION ALL SELECT 7');
        SELECT experimental_memoize('f'); SELECT f(x) AS y FROM v(1)";
    assert_eq!(answers(&app, &[], script), [json!({"y": 2}), json!({"y": 8})]);
}

#[test]
fn pq1_a_script_makes_plain_tables_beside_a_database_that_it_only_reads() {
    let app = Imported::new("app.pftrace", &[]);
    let script =
        "CREATE TABLE t(a, b); INSERT INTO t VALUES (1, 2), (3, 4); UPDATE t SET b = 7 WHERE a = 1;
        DELETE FROM t WHERE a = 3; CREATE TABLE u AS SELECT b FROM t; DROP TABLE t;
        SELECT b, (SELECT count(*) FROM sqlite_temp_schema) AS made FROM u";
    let before = app.rows("SELECT count(*) FROM sqlite_schema");
    assert_eq!(answers(&app, &[], script), [json!({"b": 7, "made": 1})]);
    assert_eq!(app.rows("SELECT count(*) FROM sqlite_schema"), before);
    let said = run(&["query", app.path(), "DELETE FROM slice_record"]);
    assert_eq!(said.code, Some(1), "{}", said.stdout);
}

#[test]
fn pq9_the_table_of_a_scan_needs_no_value() {
    let app = Imported::new("app.pftrace", &[]);
    let place = Place::new();
    let folder = place.path("modules/own");
    fs::create_dir_all(&folder).unwrap();
    let module = "CREATE PERFETTO MACRO sums(edges TableOrSubquery, starts TableOrSubquery, query TableOrSubquery)
        RETURNS TableOrSubquery AS (SELECT c0 AS id, c1 AS x
        FROM __intrinsic_table_ptr(__intrinsic_graph_aggregating_scan(
          (SELECT __intrinsic_graph_agg(source_node_id, dest_node_id) FROM $edges),
          (SELECT __intrinsic_row_dataframe_agg('id', id, 'x', x) FROM $starts),
          __intrinsic_stringify_ignore_table!($query), '(x)'))
        WHERE __intrinsic_table_ptr_bind(c0, 'id') AND __intrinsic_table_ptr_bind(c1, 'x'))";
    fs::write(folder.join("graph.sql"), module).unwrap();
    let script = "INCLUDE PERFETTO MODULE own.graph;
        SELECT * FROM sums!((SELECT 1 AS source_node_id, 2 AS dest_node_id), (SELECT 1 AS id, 5 AS x),
          (SELECT t.id, sum(t.x) AS x FROM $table AS t GROUP BY t.id)) ORDER BY id";
    let modules = place.path("modules");
    let more = ["--sql-package", modules.to_str().unwrap()];
    assert_eq!(answers(&app, &more, script), [json!({"id": 1, "x": 5}), json!({"id": 2, "x": 5})]);
}

/// The naive model: puts a value into an object by its key.
fn put(object: &mut Value, key: &str, value: Value) {
    let mut at = object;
    for part in key.split('.') {
        let mut names = part.split('[');
        let name = names.next().unwrap();
        if at.is_null() {
            *at = Value::Object(Map::new());
        }
        at = at.as_object_mut().unwrap().entry(name).or_insert(Value::Null);
        for index in names {
            let index: usize = index.trim_end_matches(']').parse().unwrap();
            if at.is_null() {
                *at = Value::Array(Vec::new());
            }
            let list = at.as_array_mut().unwrap();
            list.resize(list.len().max(index + 1), Value::Null);
            at = &mut list[index];
        }
    }
    *at = value;
}

#[test]
fn pq15_every_set_of_arguments_is_the_object_that_its_rows_make() {
    for trace in ["app.pftrace", "sdk.pftrace", "desktop.pftrace"] {
        let database = Imported::new(trace, &[]);
        let rows = answers(
            &database,
            &[],
            "SELECT arg_set_id AS s, key, value_type AS t, coalesce(int_value, string_value, real_value) AS v,
                    display_value AS d FROM args WHERE arg_set_id IN (SELECT arg_set_id FROM slice) ORDER BY id",
        );
        let mut expected: BTreeMap<i64, Value> = BTreeMap::new();
        for row in rows {
            let value = match row["t"].as_str().unwrap() {
                "bool" => Value::Bool(row["v"] != 0),
                "uint" => row["d"].as_str().unwrap().parse::<u64>().unwrap().into(),
                "pointer" => row["d"].clone(),
                _ => row["v"].clone(),
            };
            let object = expected.entry(row["s"].as_i64().unwrap()).or_insert(Value::Null);
            put(object, row["key"].as_str().unwrap(), value);
        }
        let json = answers(
            &database,
            &[],
            "SELECT s, __intrinsic_arg_set_to_json(s) AS j FROM (SELECT DISTINCT arg_set_id AS s FROM slice WHERE s NOT NULL)",
        );
        let json = json.iter().map(|row| {
            (row["s"].as_i64().unwrap(), serde_json::from_str(row["j"].as_str().unwrap()).unwrap())
        });
        let json: BTreeMap<i64, Value> = json.collect();
        assert!(expected.len() > 5, "{trace}");
        for (set, object) in &expected {
            // A real number has 16 digits.
            let (one, other) = (rounded(&json[set]), rounded(object));
            assert_eq!(one, other, "{trace}, set {set}");
        }
    }
}

/// The value with its real numbers as trace processor writes them.
fn rounded(value: &Value) -> String {
    match value {
        Value::Number(number) if number.is_f64() => format!("{:.12e}", number.as_f64().unwrap()),
        Value::Number(number) => match number.as_f64() {
            Some(whole) if whole.abs() < 9e15 => format!("{whole:.12e}"),
            _ => number.to_string(),
        },
        Value::Array(list) => list.iter().map(rounded).collect::<Vec<_>>().join(","),
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| format!("{name}:{}", rounded(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}

#[test]
fn pq18_no_two_slices_are_drawn_over_each_other() {
    let app = Imported::new("app.pftrace", &[]);
    let overlaps = "CREATE PERFETTO TABLE drawn AS SELECT id, layout_depth AS row, ts, iif(dur = -1, 1 << 62, ts + dur) AS end_ts, depth, parent_id
        FROM experimental_slice_layout((SELECT group_concat(id) FROM track)) JOIN slice USING (id);
        SELECT (SELECT count(*) FROM drawn) AS drawn, (SELECT count(*) FROM slice) AS slices,
          (SELECT count(*) FROM drawn AS a JOIN drawn AS b ON a.row = b.row AND a.id < b.id AND a.ts < b.end_ts AND b.ts < a.end_ts) AS overlaps,
          (SELECT count(*) FROM drawn AS a JOIN drawn AS b ON b.id = a.parent_id AND a.row - b.row <> a.depth - b.depth) AS torn";
    let found = answers(&app, &[], overlaps).remove(0);
    assert_eq!(found["drawn"], found["slices"]);
    assert_eq!((&found["overlaps"], &found["torn"]), (&Value::from(0), &Value::from(0)));
}

#[test]
fn pq17_the_objects_of_a_folder_are_a_table() {
    let app = Imported::new("app.pftrace", &[]);
    let place = Place::new();
    let folder = place.path("modules/own");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("a.sql"), "-- One row.\nCREATE PERFETTO VIEW one AS SELECT 1 AS x;")
        .unwrap();
    let modules = place.path("modules");
    let more = ["--sql-package", modules.to_str().unwrap()];
    let script = "SELECT import('own.a'); SELECT object_type AS t, description AS d, (SELECT x FROM one) AS x
        FROM __intrinsic_stdlib_objects";
    assert_eq!(
        answers(&app, &more, script),
        [json!({"t": "MODULE", "d": "", "x": 1}), json!({"t": "VIEW", "d": "One row.", "x": 1})]
    );
}
