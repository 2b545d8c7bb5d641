//! Names without their numbers.

#![allow(clippy::unwrap_used, missing_docs)]

use std::borrow::Cow;

use proptest::prelude::*;
use regex::Regex;
use timebase_compare::Names;
use timebase_sql::standard::pattern;

#[test]
fn cm7_numbers_uuids_and_hexadecimal_digits() {
    for (name, without) in [
        ("Binder:123_4", "Binder:#_#"),
        ("Choreographer#doFrame 1234", "Choreographer#doFrame #"),
        ("conv2d", "conv2d"),
        ("utf8 2x", "utf8 #x"),
        ("1.5 -3", "#.# -#"),
        ("", ""),
        ("12", "#"),
        ("7f3e12ab-0000-1111-2222-0123456789AB!", "#!"),
        ("0x7ffe12", "#"),
        ("0x", "#x"),
        ("obj@deadbeefdeadbeef", "obj@#"),
        ("deadbeefdeadbee", "deadbeefdeadbee"),
        ("é5", "é#"),
        ("日本12", "日本#"),
        ("a-12345678-1234-1234-1234-123456789012-b", "a-#-b"),
    ] {
        assert_eq!(pattern(name), without, "{name}");
    }
    assert!(matches!(pattern("conv2d"), Cow::Borrowed(_)), "an equal name is no copy");
}

#[test]
fn cm7_replacements_of_the_user_come_first() {
    let names = Names::new(&[r"worker-(\w+)-\d+=worker $1", "blue=red"], true).unwrap();
    assert_eq!(names.pattern("worker-blue-12 3"), "worker red #");
    let kept = Names::new(&["a=b"], false).unwrap();
    assert_eq!(kept.pattern("a1 2"), "b1 2");
    let error = Names::new(&["(=x"], true).unwrap_err().to_string();
    assert_eq!(error, "\"(=x\" is no replacement of names: unclosed group; write REGEX=TEXT");
    let error = Names::new(&["=x"], true).unwrap_err().to_string();
    assert_eq!(
        error,
        "\"=x\" is no replacement of names: the expression is empty; write REGEX=TEXT"
    );
}

/// The rule as three expressions, as a database without the function has it.
fn by_expressions(name: &str) -> String {
    let hex = "[0-9a-fA-F]";
    let uuid = format!("{hex}{{8}}-{hex}{{4}}-{hex}{{4}}-{hex}{{4}}-{hex}{{12}}");
    let long = format!("0x{hex}+|{hex}{{16,}}");
    let name = Regex::new(&uuid).unwrap().replace_all(name, "#").into_owned();
    let name = Regex::new(&long).unwrap().replace_all(&name, "#").into_owned();
    Regex::new("(^|[^0-9A-Za-z])[0-9]+").unwrap().replace_all(&name, "${1}#").into_owned()
}

proptest! {
    #[test]
    fn cm7_it_equals_three_expressions(
        name in "([a-f0-9]{0,18}|0x|-|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|x|é|_| ){0,6}"
    ) {
        prop_assert_eq!(pattern(&name).into_owned(), by_expressions(&name));
    }
}
