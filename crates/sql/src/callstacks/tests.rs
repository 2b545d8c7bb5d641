use rusqlite::Connection;

fn stacks() -> Connection {
    let conn = Connection::open_in_memory().unwrap();
    super::register(&conn).unwrap();
    conn.execute_batch(
        "CREATE TABLE stack_profile_mapping (id INTEGER PRIMARY KEY, name);
         CREATE TABLE stack_profile_frame (id INTEGER PRIMARY KEY, name, mapping, rel_pc, symbol_set_id, deobfuscated_name);
         CREATE TABLE stack_profile_symbol (id INTEGER PRIMARY KEY, symbol_set_id, name, source_file, line_number);
         CREATE TABLE stack_profile_callsite (id INTEGER PRIMARY KEY, depth, parent_id, frame_id);
         INSERT INTO stack_profile_mapping VALUES (0, '/bin/app'), (1, '');
         INSERT INTO stack_profile_symbol VALUES (0, 0, 'inner', 'a.c', 5), (1, 0, 'outer', 'b.c', 9);
         INSERT INTO stack_profile_frame (id, name, mapping, rel_pc, symbol_set_id) VALUES (0, 'main;x', 0, 16, NULL), (1, 'old', 0, 32, 0), (2, NULL, 0, -1, NULL),
           (3, '', 1, 0, NULL);
         INSERT INTO stack_profile_callsite VALUES (0, 0, NULL, 0), (1, 1, 0, 1), (2, 2, 1, 2), (3, 1, 0, 3);",
    )
    .unwrap();
    conn
}

fn text(conn: &Connection, sql: &str) -> String {
    let read = conn.query_row(sql, [], |row| row.get::<_, Option<String>>(0));
    match read {
        Ok(text) => text.unwrap_or_else(|| "NULL".into()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_stack_is_folded_from_the_outermost_function_to_the_innermost() {
    let conn = stacks();
    let of = |id: &str| text(&conn, &format!("SELECT callstack({id})"));
    assert_eq!(of("0"), "main:x");
    assert_eq!(of("1"), "main:x;outer;inner");
    assert_eq!(of("2"), "main:x;outer;inner;/bin/app+0xffffffffffffffff");
    assert_eq!(of("3"), "main:x;[unknown]+0x0");
    assert_eq!(of("9"), "NULL");
    assert_eq!(of("NULL"), "NULL");
    assert_eq!(
        of("'x'"),
        "callstack(): argument 1 (callsite_id) must be an integer, not the text 'x'"
    );
}

#[test]
fn frames_are_rows_with_their_places_in_the_source() {
    let conn = stacks();
    let rows = "SELECT group_concat(depth || ' ' || name || ' ' || mapping || ' ' || ifnull(source, '-') || ' ' || ifnull(line, '-'), ', ')
        FROM callstack_frame(1)";
    assert_eq!(
        text(&conn, rows),
        "0 main;x /bin/app - -, 1 outer /bin/app b.c 9, 1 inner /bin/app a.c 5"
    );
    let joined = "SELECT group_concat(c.id || ' ' || f.depth) FROM stack_profile_callsite AS c, callstack_frame(c.id) AS f WHERE c.depth < 2";
    assert_eq!(text(&conn, joined), "0 0,1 0,1 1,1 1,3 0,3 1");
    assert_eq!(text(&conn, "SELECT count(*) || '' FROM callstack_frame(NULL)"), "0");
    assert!(
        text(&conn, "SELECT count(*) || '' FROM callstack_frame('x')")
            .contains("must be an integer")
    );
    assert!(text(&conn, "SELECT * FROM callstack_frame").contains("needs (callsite_id)"));
}

#[test]
fn a_circle_of_callers_ends() {
    let conn = stacks();
    conn.execute_batch("INSERT INTO stack_profile_callsite VALUES (7, 0, 8, 0), (8, 1, 7, 0)")
        .unwrap();
    assert_eq!(text(&conn, "SELECT callstack(7)"), "main:x;main:x");
}
