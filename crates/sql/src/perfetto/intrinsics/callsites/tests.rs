use super::super::testing::{connection, error, rows};

#[test]
fn pq9_the_callers_of_a_frame_are_the_outermost_first() {
    let conn = connection();
    assert!(
        error(&conn, "SELECT * FROM experimental_ancestor_stack_profile_callsite(1)")
            .contains("no such table: stack_profile_callsite")
    );
    conn.execute_batch(
        "CREATE TABLE stack_profile_callsite (id, depth, parent_id, frame_id);
         INSERT INTO stack_profile_callsite VALUES (0, 0, NULL, 70), (1, 1, 0, 71), (2, 2, 1, 72),
            (3, 1, 0, 73);",
    )
    .unwrap();
    let of = |id: &str| {
        rows(&conn, &format!("SELECT * FROM experimental_ancestor_stack_profile_callsite({id})"))
    };
    assert_eq!(of("2"), ["0 0 NULL 70", "1 1 0 71"]);
    assert_eq!(of("0"), [""; 0]);
    assert_eq!(of("NULL"), [""; 0]);
    let joined = "SELECT c.id, frame_id FROM (SELECT 2 AS id UNION ALL SELECT 3) AS c,
        experimental_ancestor_stack_profile_callsite(c.id)";
    assert_eq!(rows(&conn, joined), ["2 70", "2 71", "3 70"]);
    assert_eq!(
        error(&conn, "SELECT * FROM experimental_ancestor_stack_profile_callsite(9)"),
        "experimental_ancestor_stack_profile_callsite(): argument 1 (start_id) must be the id of a \
         callsite, not 9"
    );
    assert!(
        error(&conn, "SELECT * FROM experimental_ancestor_stack_profile_callsite")
            .contains("needs (start_id)")
    );
}

#[test]
fn pq13_callers_in_a_circle_are_an_error() {
    let conn = connection();
    conn.execute_batch(
        "CREATE TABLE stack_profile_callsite (id INTEGER PRIMARY KEY, depth, parent_id, frame_id);
         INSERT INTO stack_profile_callsite VALUES (0, 0, 1, 70), (1, 1, 0, 71);",
    )
    .unwrap();
    assert_eq!(
        error(&conn, "SELECT * FROM experimental_ancestor_stack_profile_callsite(1)"),
        "experimental_ancestor_stack_profile_callsite(): the callers of 1 go in a circle"
    );
}
