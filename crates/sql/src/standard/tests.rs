use rusqlite::Connection;

use crate::perfetto::intrinsics::testing::{error, rows};

fn connection() -> Connection {
    let conn = Connection::open_in_memory().unwrap();
    super::register(&conn).unwrap();
    conn
}

fn one(expression: &str) -> String {
    rows(&connection(), &format!("SELECT {expression}")).remove(0)
}

fn message(expression: &str) -> String {
    error(&connection(), &format!("SELECT {expression}"))
}

#[test]
fn sf1_every_function_is_there_without_a_module() {
    let cases = [
        ("regexp('^b.*_[0-9]$', 'binder_3')", "1"),
        ("'binder_3' REGEXP '^b.*_[0-9]$'", "1"),
        ("'binder_3' NOT REGEXP 'x'", "1"),
        ("regexp('B', 'binder', 'i')", "1"),
        ("regexp_extract('binder:412_3', ':([0-9]+)')", "412"),
        ("regexp_replace_simple('a1b2', '[0-9]', '-')", "a-b-"),
        ("str_split('a:b', ':', 1)", "b"),
        ("reverse('abc')", "cba"),
        ("base64_encode(x'00ff')", "AP8="),
        ("base64_decode('AP8=')", "[0, 255]"),
        ("demangle('_ZN3foo3barEv')", "foo::bar()"),
        ("to_timecode(3723004005006)", "01:02:03 004 005 006"),
        ("ln(1)", "0.0"),
        ("exp(0)", "1.0"),
        ("sqrt(4)", "2.0"),
    ];
    for (expression, expected) in cases {
        assert_eq!(one(expression), expected, "{expression}");
    }
}

#[test]
fn sf1_null_gives_null() {
    for expression in [
        "regexp(NULL, 'a')",
        "regexp('a', NULL)",
        "regexp('a', 'a', NULL)",
        "regexp_extract(NULL, 'a')",
        "regexp_extract('a', NULL)",
        "regexp_replace_simple(NULL, 'a', 'a')",
        "regexp_replace_simple('a', NULL, 'a')",
        "regexp_replace_simple('a', 'a', NULL)",
        "str_split(NULL, ':', 0)",
        "reverse(NULL)",
        "base64_encode(NULL)",
        "base64_decode(NULL)",
        "demangle(NULL)",
        "to_timecode(NULL)",
        "ln(NULL)",
        "exp(NULL)",
        "sqrt(NULL)",
        "time_from_s(NULL)",
        "time_to_s(NULL)",
        "percentile(NULL, 5)",
        "median(NULL)",
    ] {
        assert_eq!(one(expression), "NULL", "{expression}");
    }
}

#[test]
fn sf1_an_error_has_the_public_name() {
    let cases = [
        ("regexp('(', 'a')", "regexp(): argument 1 (pattern) "),
        (
            "regexp_extract('a', '(a)(b)')",
            "regexp_extract(): argument 2 (pattern) has more than one group",
        ),
        ("regexp_replace_simple('a', '(', '')", "regexp_replace_simple(): argument 2 (pattern) "),
        (
            "str_split('a', '', 0)",
            "str_split(): argument 2 (delimiter) must be a text that is not empty",
        ),
        ("reverse(5)", "reverse(): argument 1 (text) must be a text, not 5"),
        (
            "base64_encode('a')",
            "base64_encode(): argument 1 (blob) must be a blob, not the text 'a'",
        ),
        ("base64_decode(5)", "base64_decode(): argument 1 (text) must be a text, not 5"),
        ("base64_decode('?')", "base64_decode(): argument 1 (text) is no base64"),
        ("demangle(5)", "demangle(): argument 1 (name) must be a text, not 5"),
        ("to_timecode('a')", "to_timecode(): argument 1 (ns) must be an integer, not the text 'a'"),
        (
            "time_from_ms(1.5)",
            "time_from_ms(): argument 1 (time) must be an integer, not the real number 1.5",
        ),
        (
            "time_to_hours('1')",
            "time_to_hours(): argument 1 (ns) must be an integer, not the text '1'",
        ),
    ];
    for (expression, expected) in cases {
        let message = message(expression);
        assert!(message.starts_with(expected), "{expression}: {message}");
    }
}

#[test]
fn sf2_a_function_that_sqlite_has_stays() {
    let conn = Connection::open_in_memory().unwrap();
    let own = |conn: &Connection, name: &str| {
        let sql = format!("SELECT count(*) FROM pragma_function_list WHERE name = '{name}'");
        conn.query_row(&sql, [], |row| row.get::<_, i64>(0)).unwrap()
    };
    // The SQLite of these tests has no mathematical functions, so they stand for its own.
    assert_eq!(own(&conn, "ln"), 0);
    let answer = |_: &rusqlite::functions::Context<'_>| Ok("mine");
    for name in ["ln", "sqrt", "exp", "median"] {
        let flags = rusqlite::functions::FunctionFlags::SQLITE_UTF8;
        conn.create_scalar_function(name, 1, flags, answer).unwrap();
    }
    super::register(&conn).unwrap();
    assert_eq!(rows(&conn, "SELECT ln(1), sqrt(4), exp(0), median(1)"), ["mine mine mine mine"]);
    assert_eq!(rows(&conn, "SELECT percentile(1, 5)"), ["1.0"]);
    // Registered again, it keeps what it has.
    super::register(&conn).unwrap();
    assert_eq!(rows(&conn, "SELECT reverse(ln(1))"), ["enim"]);
}

#[test]
fn sf6_the_bounds_are_those_of_the_trace() {
    let conn = connection();
    let sql = "SELECT trace_start(), trace_end(), trace_dur()";
    assert!(error(&conn, sql).contains("no such table: main.trace_bounds"));
    conn.execute_batch("CREATE TABLE trace_bounds (start_ts, end_ts)").unwrap();
    assert_eq!(rows(&conn, sql), ["0 0 0"]);
    conn.execute_batch("INSERT INTO trace_bounds VALUES (-5, 100)").unwrap();
    assert_eq!(rows(&conn, sql), ["-5 100 105"]);
    conn.execute_batch("UPDATE trace_bounds SET start_ts = NULL, end_ts = NULL").unwrap();
    assert_eq!(rows(&conn, sql), ["0 0 0"]);
}

#[test]
fn sf7_units_of_time_become_nanoseconds_and_whole_units() {
    let units: [(&str, i64); 7] = [
        ("ns", 1),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("min", 60_000_000_000),
        ("hours", 3_600_000_000_000),
        ("days", 86_400_000_000_000),
    ];
    for (unit, ns) in units {
        assert_eq!(one(&format!("time_from_{unit}(3)")), (3 * ns).to_string());
        assert_eq!(one(&format!("time_from_{unit}(-3)")), (-3 * ns).to_string());
        for time in [0, 2 * ns, 3 * ns - 1, -(2 * ns), 1 - 3 * ns, i64::MAX, i64::MIN + 1] {
            assert_eq!(one(&format!("time_to_{unit}({time})")), (time / ns).to_string());
        }
    }
    // Beyond 64 bits a product is a real number, as SQLite's are.
    assert_eq!(one("time_from_days(106752)"), "9.2233728e18");
    assert_eq!(one("time_from_s(-9223372037)"), "-9.223372037e18");
    assert_eq!(one("time_from_s(9223372036)"), "9223372036000000000");
}
