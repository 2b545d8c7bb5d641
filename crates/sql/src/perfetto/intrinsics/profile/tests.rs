use proptest::prelude::*;

use super::super::testing::{connection, error, rows};
use super::super::wire::{Field, fields};

#[test]
fn pq9_a_profile_adds_up_the_values_of_each_stack() {
    let conn = connection();
    let sql = "SELECT experimental_profile(cat_stacks('main', column1), 'time', 'ns', column2)
        FROM (VALUES ('a', 5), ('b', 7), ('a', 10))";
    let profile: Vec<u8> = conn.query_row(sql, [], |row| row.get(0)).unwrap();
    let of = |number: u64| -> Vec<Vec<u8>> {
        let bytes = |field: Option<Field<'_>>| match field.unwrap() {
            Field::Bytes(of, bytes) if of == number => Some(bytes.to_vec()),
            _ => None,
        };
        fields(&profile).filter_map(bytes).collect()
    };
    // sample_type { type: 1, unit: 2 }
    assert_eq!(of(1), [&[8, 1, 16, 2][..]]);
    // sample { location_id: [1, 2], value: 15 }: the leaf first.
    assert_eq!(of(2), [&[10, 2, 1, 2, 18, 1, 15][..], &[10, 2, 3, 2, 18, 1, 7]]);
    // location { id: 1, line { function_id: 1 } }
    assert_eq!(of(4)[0], [8, 1, 34, 2, 8, 1]);
    assert_eq!(of(4).len(), 3);
    // function { id: 1, name: 3, system_name: 3 }
    assert_eq!(of(5)[0], [8, 1, 16, 3, 24, 3]);
    assert_eq!(of(6), [&b""[..], b"time", b"ns", b"a", b"main", b"b"]);
}

#[test]
fn pq9_a_profile_without_values_counts() {
    let conn = connection();
    let sql = "SELECT hex(experimental_profile(cat_stacks('a'))) FROM (VALUES (1), (2), (3))";
    // sample_type { 1, 2 }, sample { location_id: 1, value: 3 }, …
    assert!(rows(&conn, sql)[0].starts_with("0A040801100212060A0101120103"));
    assert_eq!(rows(&conn, "SELECT experimental_profile(cat_stacks('a')) WHERE 0"), ["NULL"]);
}

#[test]
fn pq9_a_wrong_stack_or_value_is_an_error() {
    let conn = connection();
    let message =
        |arguments: &str| error(&conn, &format!("SELECT experimental_profile({arguments})"));
    assert_eq!(
        message("x'08'"),
        "experimental_profile(): argument 1 (stack) is no blob from cat_stacks()"
    );
    assert_eq!(
        message("x'0A021005'"),
        "experimental_profile(): argument 1 (stack) has a frame by its id; only frames with names \
         are known"
    );
    assert!(message("'text'").contains("argument 1 (stack) must be a blob"));
    assert!(
        message("cat_stacks('a'), 'time', 'ns', NULL")
            .contains("argument 4 (value) must be an integer, not NULL")
    );
    assert!(message("cat_stacks('a'), 'time'").contains("it takes a stack, then a type"));
}

proptest! {
    #[test]
    fn pq13_any_blob_is_a_stack_or_an_error(blob in proptest::collection::vec(any::<u8>(), 0..60)) {
        let conn = connection();
        let sql = "SELECT length(experimental_profile(?1))";
        let found = conn.query_row(sql, [blob], |row| row.get::<_, i64>(0));
        prop_assert!(found.is_err() || found.is_ok_and(|size| size > 0));
    }
}
