use super::super::testing::{connection, rows};
use super::demangled;

#[test]
fn pq9_names_of_c_plus_plus_and_rust_are_as_in_the_source() {
    let conn = connection();
    let cases = [
        ("_ZN3foo3barEi", "foo::bar(int)"),
        ("__ZN3foo3barEi", "foo::bar(int)"),
        (
            "_ZNSt6vectorIiSaIiEE9push_backERKi",
            "std::vector<int, std::allocator<int> >::push_back(int const&)",
        ),
        ("_RNvCskwGfYPst2Cb_3foo16example_function", "foo::example_function"),
        ("main", "NULL"),
        ("_Znonsense", "NULL"),
        ("_R", "NULL"),
        ("i", "NULL"),
    ];
    for (name, expected) in cases {
        let sql = format!("SELECT __intrinsic_demangle('{name}')");
        assert_eq!(rows(&conn, &sql), [expected], "{name}");
    }
    assert_eq!(rows(&conn, "SELECT __intrinsic_demangle(NULL)"), ["NULL"]);
}

#[test]
fn pq13_a_name_that_explodes_has_none() {
    // Each type is a pair of the one before it, by a reference.
    let mut name = "_Z1fI1pIiiE".to_owned();
    for digit in "0123456789ABCDEFGHIJKLMNOPQRST".chars() {
        name += &format!("1pIS{digit}_S{digit}_E");
    }
    name += "Evv";
    assert!(demangled(&name).is_none_or(|name| name.len() <= super::LONGEST));
    let deep = format!("_Z1f{}i", "P".repeat(100_000));
    assert!(demangled(&deep).is_none_or(|name| name.len() <= super::LONGEST));
}
