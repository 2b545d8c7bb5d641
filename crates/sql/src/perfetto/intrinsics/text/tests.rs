use super::super::testing::{connection, error, rows};

fn one(expression: &str) -> String {
    rows(&connection(), &format!("SELECT {expression}")).remove(0)
}

fn message(expression: &str) -> String {
    error(&connection(), &format!("SELECT {expression}"))
}

#[test]
fn pq9_str_split_counts_parts_from_0() {
    let cases = [
        ("str_split('a-b-c', '-', 0)", "a"),
        ("str_split('a-b-c', '-', 2)", "c"),
        ("str_split('a-b-c', '-', 3)", "NULL"),
        ("str_split('a', '-', 0)", "a"),
        ("str_split('', '-', 0)", ""),
        ("str_split('-a', '-', 0)", ""),
        ("str_split('a, b, c', ', ', 1)", "b"),
        ("str_split(NULL, '-', 0)", "NULL"),
        ("str_split(7, '-', 0)", "NULL"),
    ];
    for (expression, expected) in cases {
        assert_eq!(one(expression), expected, "{expression}");
    }
    assert_eq!(
        message("str_split('a', '', 0)"),
        "str_split(): argument 2 (delimiter) must be a text that is not empty, not the text ''"
    );
    assert_eq!(
        message("str_split('a', '-', -1)"),
        "str_split(): argument 3 (index) must be an integer of 0 or more, not -1"
    );
}

#[test]
fn pq9_hash_is_fnv_1a() {
    // The published values for texts; an integer is its eight bytes.
    assert_eq!(one("printf('%016x', hash())"), "cbf29ce484222325");
    assert_eq!(one("printf('%016x', hash('a'))"), "af63dc4c8601ec8c");
    assert_eq!(one("printf('%016x', hash('foobar'))"), "85944171f73967e8");
    assert_eq!(one("hash('foo', 'bar') = hash('foobar')"), "1");
    assert_eq!(one("hash(0x6162636465666768) = hash('hgfedcba')"), "1");
    assert_eq!(
        message("hash(1, NULL)"),
        "hash(): argument 2 (value) must be an integer or a text, not NULL"
    );
}

#[test]
fn pq9_reverse_turns_characters_round() {
    assert_eq!(one("__intrinsic_reverse('abc')"), "cba");
    assert_eq!(one("__intrinsic_reverse('aé→')"), "→éa");
    assert_eq!(one("__intrinsic_reverse(NULL)"), "NULL");
    assert_eq!(
        message("__intrinsic_reverse(5)"),
        "reverse(): argument 1 (text) must be a text, not 5"
    );
}

#[test]
fn pq9_hexadecimal_numbers_are_stripped() {
    let cases = [
        ("Choreographer#doFrame 12345", 2, "Choreographer#doFrame <num>"),
        ("at 0x7fab, done", 2, "at 0x<num>, done"),
        ("0xffff", 2, "0x<num>"),
        ("0xffff", 1, "<num>x<num>"),
        ("deadbeef1 x", 1, "<num> x"),
        ("deadbeef x", 1, "deadbeef x"),
        ("frame 7", 2, "frame 7"),
        ("a->b1c2", 1, "a-><num>"),
        ("é12", 1, "é<num>"),
        ("", 1, ""),
    ];
    for (text, least, expected) in cases {
        assert_eq!(one(&format!("__intrinsic_strip_hex('{text}', {least})")), expected, "{text}");
    }
    assert_eq!(one("__intrinsic_strip_hex(NULL, 1)"), "NULL");
    assert!(message("__intrinsic_strip_hex('a', -1)").contains("must be 0 or more, not -1"));
}

#[test]
fn pq9_base64_goes_both_ways() {
    assert_eq!(one("__intrinsic_base64_encode(x'000102fb')"), "AAEC+w==");
    for text in ["AAEC+w==", "AAEC-w", "AAEC+w="] {
        assert_eq!(one(&format!("hex(__intrinsic_base64_decode('{text}'))")), "000102FB", "{text}");
    }
    assert_eq!(one("hex(__intrinsic_base64_decode(''))"), "");
    assert_eq!(one("__intrinsic_base64_decode(NULL)"), "NULL");
    assert_eq!(one("__intrinsic_base64_encode(NULL)"), "NULL");
    assert!(
        message("__intrinsic_base64_decode('?')")
            .starts_with("base64_decode(): argument 1 (text) is no base64")
    );
    assert!(message("__intrinsic_base64_encode('text')").contains("must be a blob"));
}

#[test]
fn pq9_unhex_gives_a_number() {
    assert_eq!(one("__intrinsic_unhex('0x10000000')"), "268435456");
    assert_eq!(one("__intrinsic_unhex(' fF ')"), "255");
    assert_eq!(one("__intrinsic_unhex('7fffffffffffffff')"), i64::MAX.to_string());
    assert_eq!(one("__intrinsic_unhex(NULL)"), "NULL");
    for wrong in ["", "0x", "xyz", "8000000000000000"] {
        assert!(
            message(&format!("__intrinsic_unhex('{wrong}')")).contains("a hexadecimal number"),
            "{wrong}"
        );
    }
}

#[test]
fn pq9_stacks_are_put_together_from_the_leaf() {
    // Each entry is 0A, its size, 0A, the size of the name, the name.
    assert_eq!(one("hex(cat_stacks('root', 'leaf'))"), "0A060A046C6561660A060A04726F6F74");
    assert_eq!(one("cat_stacks('a', 'b', 'c') = cat_stacks('a', cat_stacks('b', NULL, 'c'))"), "1");
    assert_eq!(one("hex(cat_stacks())"), "");
    let long = "hex(substr(cat_stacks(replace(hex(zeroblob(75)), '0', 'x')), 1, 6))";
    assert_eq!(one(long), "0A99010A9601");
    assert!(
        message("cat_stacks('a', 5)")
            .contains("argument 2 (stack) must be a blob, a text or NULL, not 5")
    );
}
