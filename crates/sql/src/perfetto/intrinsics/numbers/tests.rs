use super::super::testing::{connection, error, rows};

fn one(expression: &str) -> String {
    rows(&connection(), &format!("SELECT {expression}")).remove(0)
}

#[test]
fn pq9_logarithms_powers_and_roots() {
    let cases = [
        ("__intrinsic_ln(1)", "0.0"),
        ("__intrinsic_ln('2.718281828459045')", "1.0"),
        ("__intrinsic_ln(0)", "NULL"),
        ("__intrinsic_ln(-1)", "NULL"),
        ("__intrinsic_ln('one')", "NULL"),
        ("__intrinsic_ln(NULL)", "NULL"),
        ("__intrinsic_exp(0)", "1.0"),
        ("__intrinsic_exp(1.0)", "2.718281828459045"),
        ("__intrinsic_exp('inf')", "NULL"),
        ("__intrinsic_sqrt(9)", "3.0"),
        ("__intrinsic_sqrt(-1)", "NULL"),
        ("__intrinsic_sqrt(x'09')", "NULL"),
    ];
    for (expression, expected) in cases {
        assert_eq!(one(expression), expected, "{expression}");
    }
}

#[test]
fn pq9_a_timecode_shows_each_unit() {
    assert_eq!(one("__intrinsic_to_timecode(3723004005006)"), "01:02:03 004 005 006");
    assert_eq!(one("__intrinsic_to_timecode(0)"), "00:00:00 000 000 000");
    assert_eq!(one("__intrinsic_to_timecode(360000000000000)"), "100:00:00 000 000 000");
    assert_eq!(one("__intrinsic_to_timecode(NULL)"), "NULL");
    let message = error(&connection(), "SELECT __intrinsic_to_timecode(1.5)");
    assert_eq!(
        message,
        "to_timecode(): argument 1 (ns) must be an integer, not the real number 1.5"
    );
}
