//! How trace processor stores columns.

use proptest::prelude::*;

use super::super::tests::{connect, refusal, rows};

const INFO: &str = "SELECT name, col_type, nullable, sorted FROM perfetto_table_info('t')";

fn info(table: &str) -> String {
    rows(&connect(), &format!("CREATE PERFETTO TABLE t AS {table}; {INFO}"))
}

#[test]
fn pq16_a_column_has_the_narrowest_type_that_fits() {
    assert_eq!(
        info(
            "SELECT 0 AS id, 5 AS ts, 'x' AS n, 1.5 AS d, NULL AS z UNION ALL SELECT 1, 7, 'y', 2.5, NULL"
        ),
        "id id 0 0\nts uint32 0 2\nn string 0 2\nd double 0 2\nz uint32 1 3\n_auto_id id 0 0"
    );
    assert_eq!(
        info(
            "SELECT -5000000000 AS a, 3000000000 AS b, -1 AS c, 2.5 AS d, '' AS e
              UNION ALL SELECT NULL, 4, 3000000000, 7, 'B' UNION ALL SELECT 1, 5, 2, 7.0, 'a'"
        ),
        "a int64 1 3\nb uint32 0 3\nc int64 0 3\nd double 0 2\ne string 0 2\n_auto_id id 0 0"
    );
    assert_eq!(
        info("SELECT -1 AS a, 1 AS b WHERE 0"),
        "a uint32 0 3\nb uint32 0 3\n_auto_id id 0 0"
    );
    assert_eq!(info("SELECT -1 AS a, 5 AS b"), "a int32 0 2\nb uint32 0 2\n_auto_id id 0 0");
    let schema = "CREATE PERFETTO TABLE t(s STRING, d DOUBLE, l LONG) AS SELECT NULL AS s, NULL AS d, NULL AS l;";
    assert_eq!(
        rows(&connect(), &format!("{schema} {INFO}")),
        "s string 1 3\nd double 1 3\nl uint32 1 3\n_auto_id id 0 0"
    );
}

#[test]
fn pq16_a_set_id_is_the_number_of_its_first_row() {
    assert_eq!(
        info(
            "SELECT 0 AS a, 0 AS b, 0 AS c, 1 AS e UNION ALL SELECT 0, 1, 2, 1
              UNION ALL SELECT 2, 1, 2, 3 UNION ALL SELECT 2, 3, 4, 3"
        ),
        "a uint32 0 1\nb uint32 0 1\nc uint32 0 2\ne uint32 0 2\n_auto_id id 0 0"
    );
}

#[test]
fn pq16_trace_processors_tables_are_as_it_stores_them() {
    let conn = connect();
    let counter = "SELECT id, table_name, name, col_type, nullable, sorted FROM perfetto_table_info('__intrinsic_counter')";
    assert_eq!(
        rows(&conn, counter),
        "0 __intrinsic_counter id id 0 0\n1 __intrinsic_counter ts int64 0 2\n\
         2 __intrinsic_counter track_id uint32 0 3\n3 __intrinsic_counter value double 0 3\n\
         4 __intrinsic_counter arg_set_id uint32 2 3"
    );
    for (given, expected) in [
        ("'none'", "is no table of CREATE PERFETTO TABLE"),
        ("'plain'", "is no table of CREATE PERFETTO TABLE"),
        ("'v'", "is no table of CREATE PERFETTO TABLE"),
        ("NULL", "perfetto_table_info(): argument 1 (table) must be a text, not NULL"),
        ("7", "must be a text, not 7"),
    ] {
        let script = "CREATE TEMP TABLE IF NOT EXISTS plain(a); CREATE OR REPLACE PERFETTO VIEW v AS SELECT 1 AS a;";
        let message =
            refusal(&conn, &format!("{script} SELECT * FROM perfetto_table_info({given})"));
        assert!(message.contains(expected), "{message}");
    }
    // A dropped table is none.
    rows(
        &conn,
        "CREATE PERFETTO TABLE t AS SELECT 1 AS a; DROP PERFETTO TABLE t; CREATE TEMP TABLE t(a)",
    );
    assert!(refusal(&conn, "SELECT * FROM perfetto_table_info('t')").contains("is no table"));
}

#[test]
fn pq16_every_line_about_trace_processors_tables_is_complete() {
    for line in super::STORED.lines().filter(|line| !line.starts_with('#')) {
        let (table, columns) = line.split_once(": ").unwrap();
        let found = super::stored(table).unwrap();
        assert_eq!(found.len(), columns.split(',').count(), "{table}");
        assert!(found.iter().all(|column| (0..=4).contains(&column.nullable)), "{table}");
    }
}

/// The naive model: each fact by the sentence that says it.
fn model(values: &[Option<i64>]) -> (&'static str, i64, i64) {
    let known: Vec<i64> = values.iter().flatten().copied().collect();
    let is_id = !known.is_empty()
        && values.iter().enumerate().all(|(row, value)| *value == Some(row as i64));
    let kind = if is_id {
        "id"
    } else if known.iter().all(|value| (0..1 << 32).contains(value)) {
        "uint32"
    } else if known.iter().all(|value| i32::try_from(*value).is_ok()) {
        "int32"
    } else {
        "int64"
    };
    let has_null = values.contains(&None);
    let is_set_id = values
        .iter()
        .enumerate()
        .all(|(row, value)| *value == Some(row as i64) || row > 0 && *value == values[row - 1]);
    let sorted = if is_id {
        0
    } else if known.is_empty() || has_null {
        3
    } else if kind == "uint32" && is_set_id {
        1
    } else if values.windows(2).all(|pair| pair[0] <= pair[1]) {
        2
    } else {
        3
    };
    (kind, has_null.into(), sorted)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn pq16_a_random_column_is_what_the_model_says(
        values in prop::collection::vec(
            prop_oneof![
                6 => (0i64..5).prop_map(Some),
                1 => prop::sample::select(vec![-1, -3_000_000_000, 4_294_967_295, 4_294_967_296]).prop_map(Some),
                1 => Just(None),
            ],
            0..6,
        ),
        is_sorted in any::<bool>(),
    ) {
        let mut values = values;
        if is_sorted {
            values.sort_unstable();
        }
        let texts: Vec<String> = values.iter().map(|value| match value {
            Some(value) => format!("SELECT {value} AS a"),
            None => "SELECT NULL AS a".to_owned(),
        }).collect();
        let select = match texts.is_empty() {
            true => "SELECT 1 AS a WHERE 0".to_owned(),
            false => texts.join(" UNION ALL "),
        };
        let (kind, nullable, sorted) = model(&values);
        prop_assert_eq!(info(&select), format!("a {kind} {nullable} {sorted}\n_auto_id id 0 0"));
    }
}
