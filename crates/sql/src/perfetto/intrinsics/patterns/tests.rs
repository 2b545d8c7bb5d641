use std::sync::Arc;

use super::super::testing::{connection, error, rows};
use super::{KEPT, Patterns};

fn one(expression: &str) -> String {
    rows(&connection(), &format!("SELECT {expression}")).remove(0)
}

fn message(expression: &str) -> String {
    error(&connection(), &format!("SELECT {expression}"))
}

#[test]
fn pq9_a_pattern_matches_a_part_of_a_text() {
    let cases = [
        ("__intrinsic_regexp('b+', 'abbc')", "1"),
        ("__intrinsic_regexp('^b', 'abbc')", "0"),
        ("__intrinsic_regexp('B', 'abbc')", "0"),
        ("__intrinsic_regexp('[0-9]', 15)", "1"),
        ("__intrinsic_regexp(NULL, 'a')", "NULL"),
        ("__intrinsic_regexp('a', NULL)", "NULL"),
        ("__intrinsic_regexp_with_flags('B', 'abbc', 'i')", "1"),
        ("__intrinsic_regexp_with_flags('B', 'abbc', 'ic')", "0"),
        ("__intrinsic_regexp_with_flags('B', 'abbc', '')", "0"),
        ("__intrinsic_regexp_with_flags('B', 'abbc', NULL)", "NULL"),
    ];
    for (expression, expected) in cases {
        assert_eq!(one(expression), expected, "{expression}");
    }
    assert_eq!(
        message("__intrinsic_regexp_with_flags('B', 'abbc', 'x')"),
        "__intrinsic_regexp_with_flags(): argument 3 (flags) must be of i and c, not the text 'x'"
    );
}

#[test]
fn pq9_what_is_extracted_is_the_group_or_all() {
    let cases = [
        ("__intrinsic_regexp_extract('waited for 12s', ' for ([0-9]+)s')", "12"),
        ("__intrinsic_regexp_extract('waited for 12s', 'for [0-9]+s')", "for 12s"),
        ("__intrinsic_regexp_extract('abc', 'a(x)?b')", "ab"),
        ("__intrinsic_regexp_extract('abc', 'x')", "NULL"),
        ("__intrinsic_regexp_extract(NULL, 'x')", "NULL"),
    ];
    for (expression, expected) in cases {
        assert_eq!(one(expression), expected, "{expression}");
    }
    assert_eq!(
        message("__intrinsic_regexp_extract('abc', '(a)(b)')"),
        "__intrinsic_regexp_extract(): argument 2 (pattern) has more than one group; write (?:…) \
         for those that are not extracted"
    );
}

#[test]
fn pq9_a_replacement_is_a_plain_text() {
    assert_eq!(one("__intrinsic_regexp_replace_simple('a1b22', '[0-9]+', '#')"), "a#b#");
    assert_eq!(one("__intrinsic_regexp_replace_simple('abc', '(b)', '$1$1')"), "a$1$1c");
    assert_eq!(one("__intrinsic_regexp_replace_simple('abc', 'b', NULL)"), "NULL");
}

#[test]
fn pq9_sf3_a_pattern_may_come_from_a_column() {
    let conn = connection();
    let sql =
        "SELECT group_concat(__intrinsic_regexp(column1, 'abc')) FROM (VALUES ('a'), ('x'), ('b'))";
    assert_eq!(rows(&conn, sql), ["1,0,1"]);
    // More than are kept, over and over.
    let sql = "WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < 99)
        SELECT sum(__intrinsic_regexp('^' || (n % 20) || '$', n % 20) + __intrinsic_regexp('^' || (n % 3) || '$', n)) FROM n";
    assert_eq!(rows(&conn, sql), ["103"]);
}

#[test]
fn sf3_a_pattern_is_compiled_once_and_few_are_kept() {
    let patterns = Patterns::new("regexp");
    let first = patterns.compiled("a+", false).unwrap();
    assert!(Arc::ptr_eq(&first, &patterns.compiled("a+", false).unwrap()));
    // The case makes another one.
    let other = patterns.compiled("a+", true).unwrap();
    assert!(!Arc::ptr_eq(&first, &other) && other.regex.is_match("A"));
    for number in 0..KEPT - 1 {
        patterns.compiled(&number.to_string(), false).unwrap();
        patterns.compiled("a+", false).unwrap();
    }
    assert!(Arc::ptr_eq(&first, &patterns.compiled("a+", false).unwrap()));
    assert!(!Arc::ptr_eq(&other, &patterns.compiled("a+", true).unwrap()));
    assert_eq!(patterns.kept.lock().unwrap().len(), KEPT);
}

#[test]
fn pq13_a_wrong_or_huge_pattern_is_an_error() {
    assert_eq!(
        message("__intrinsic_regexp('(a', 'a')"),
        "__intrinsic_regexp(): argument 1 (pattern) is no regular expression: unclosed group"
    );
    assert!(message("__intrinsic_regexp('(?=a)', 'a')").contains("look-around"));
    assert_eq!(
        message("__intrinsic_regexp('((a{1000}){1000}){1000}', 'a')"),
        "__intrinsic_regexp(): argument 1 (pattern) is a pattern that needs too much memory"
    );
    // A pattern that takes other engines an exponential time.
    assert_eq!(
        one("__intrinsic_regexp('^(a+)+$', replace(hex(zeroblob(5000)), '0', 'a') || 'b')"),
        "0"
    );
}
