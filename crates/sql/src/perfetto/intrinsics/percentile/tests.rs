use super::super::testing::{connection, error, rows};

fn one(sql: &str) -> String {
    rows(&connection(), sql).remove(0)
}

/// A query of the values 1, 4, 6, 7, 8, 9, 11, 11, 11 and NULL, in no order.
fn of(expression: &str) -> String {
    let values = "(7), (11), (NULL), (1), (9), (4), (11), (6), (8), (11)";
    format!("SELECT {expression} FROM (SELECT column1 AS y FROM (VALUES {values}))")
}

#[test]
fn sf8_a_percentile_lies_on_the_line_between_two_values() {
    let cases = [
        ("percentile(y, 0)", "1.0"),
        ("percentile(y, 50)", "8.0"),
        ("percentile(y, 100)", "11.0"),
        // The place is 0.2 · 8 = 1.6, between 4 and 6.
        ("round(percentile(y, 20), 9)", "5.2"),
        ("round(percentile(y, '20'), 9)", "5.2"),
        ("round(percentile_cont(y, 0.2), 9)", "5.2"),
        ("percentile_disc(y, 0.2)", "4.0"),
        ("percentile_disc(y, 1)", "11.0"),
        ("median(y)", "8.0"),
        ("median(y) FILTER (WHERE y < 8)", "5.0"),
        ("median(DISTINCT y)", "7.0"),
        ("median(y) FILTER (WHERE y = 7)", "7.0"),
        ("median(y) FILTER (WHERE y > 99)", "NULL"),
        ("percentile(NULL, 50)", "NULL"),
        ("percentile(-y, 0)", "-11.0"),
    ];
    for (expression, expected) in cases {
        assert_eq!(one(&of(expression)), expected, "{expression}");
    }
    let big = "SELECT median(column1) FROM (VALUES (9223372036854775807), (9223372036854775807))";
    assert_eq!(one(big), "9.223372036854776e18");
}

#[test]
fn sf8_a_window_gains_and_loses_values() {
    let sql = "SELECT group_concat(m) FROM (
        SELECT median(column1) OVER (ORDER BY column2 ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS m
        FROM (VALUES (5, 1), (1, 2), (NULL, 3), (9, 4), (7, 5), (NULL, 6), (NULL, 7), (NULL, 8), (2, 9)))";
    assert_eq!(one(sql), "5.0,3.0,3.0,5.0,8.0,8.0,7.0,2.0");
    let sql = "SELECT group_concat(m) FROM (SELECT percentile(column1, 50) OVER (PARTITION BY column1 % 2) AS m
        FROM (VALUES (1), (2), (3), (4), (4)))";
    assert_eq!(one(sql), "4.0,4.0,4.0,2.0,2.0");
}

/// Each place of windows of random values, by sorting them.
#[test]
fn sf8_windows_are_what_sorting_finds() {
    let conn = connection();
    conn.execute_batch(
        "CREATE TABLE v (n INTEGER PRIMARY KEY, y);
         WITH RECURSIVE r (n, y) AS (SELECT 0, 7 UNION ALL SELECT n + 1, (y * 1103515245 + 12345) % 2147483648 FROM r WHERE n < 300)
         INSERT INTO v SELECT n, iif(y % 7 = 0, NULL, y % 50) FROM r",
    )
    .unwrap();
    let sql = "SELECT percentile(y, 30) OVER (ORDER BY n ROWS BETWEEN 9 PRECEDING AND 3 FOLLOWING) FROM v ORDER BY n";
    let found = rows(&conn, sql);
    let values: Vec<Option<f64>> = conn
        .prepare("SELECT CAST(y AS REAL) FROM v ORDER BY n")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    for (n, found) in found.iter().enumerate() {
        let window = &values[n.saturating_sub(9)..(n + 4).min(values.len())];
        let mut window: Vec<f64> = window.iter().flatten().copied().collect();
        window.sort_by(f64::total_cmp);
        let place = 0.3 * (window.len() - 1) as f64;
        let (low, high) = (place.floor() as usize, place.ceil() as usize);
        let expected = window[low] + (window[high] - window[low]) * place.fract();
        assert!((found.parse::<f64>().unwrap() - expected).abs() < 1e-9, "{n}");
    }
}

#[test]
fn sf8_what_is_no_number_is_an_error() {
    let conn = connection();
    let of = |expression: &str| error(&conn, &of(expression));
    assert_eq!(
        of("percentile('7', 50)"),
        "percentile(): argument 1 (y) must be a finite number or NULL, not the text '7'"
    );
    assert!(of("median(9e999)").starts_with("median(): argument 1 (y) must be a finite number"));
    for wrong in ["101", "-1", "NULL", "'x'", "x'00'"] {
        let message = of(&format!("percentile(y, {wrong})"));
        let expected = "percentile(): argument 2 (p) must be a number from 0 to 100, not ";
        assert!(message.starts_with(expected), "{message}");
    }
    assert!(of("percentile_cont(y, 50)").contains("must be a number from 0 to 1, not 50"));
    assert_eq!(
        of("percentile(y, y)"),
        "percentile(): argument 2 (p) must be the same for all rows, 7, not 11"
    );
    // So near that it is the same for SQLite.
    assert_eq!(
        one("SELECT percentile(column1, 50 + column1 / 100.0) FROM (VALUES (1), (2))"),
        "1.5001"
    );
}
