//! Packages and modules.

use std::fs;

use rusqlite::{Connection, OpenFlags};

use super::{Packages, connect, folder, register, rows, run, try_rows, write};

#[test]
fn pq2_a_module_runs_once_and_its_objects_are_temporary() {
    let (folder, packages) = folder(&[
        (
            "a.one",
            "INCLUDE PERFETTO MODULE a.two; CREATE PERFETTO TABLE one AS SELECT x + 1 AS x FROM _two",
        ),
        ("a.two", "CREATE PERFETTO TABLE _two AS SELECT 1 AS x"),
    ]);
    let path = folder.path().join("a.db");
    Connection::open(&path)
        .unwrap()
        .execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (1)")
        .unwrap();
    let before = fs::read(&path).unwrap();
    let conn = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    register(&conn).unwrap();
    let script = "INCLUDE PERFETTO MODULE a.one; INCLUDE PERFETTO MODULE a.two; INCLUDE PERFETTO MODULE a.one;
        SELECT x, (SELECT x FROM _two), (SELECT x FROM t) FROM one";
    assert_eq!(try_rows(&conn, script, &packages).unwrap(), "2 1 1");
    assert_eq!(fs::read(&path).unwrap(), before);
    // Another connection sees nothing of it.
    let other = Connection::open(&path).unwrap();
    register(&other).unwrap();
    assert!(try_rows(&other, "SELECT * FROM one", &packages).is_err());
}

#[test]
fn pq2_wildcards_take_all_below_in_the_order_of_names() {
    let log = |name: &str| format!("INSERT INTO made SELECT '{name}'");
    let names = ["a.c", "a.b.x", "a.b.y", "b.z"];
    let texts: Vec<(&str, String)> = names.iter().map(|name| (*name, log(name))).collect();
    let modules: Vec<(&str, &str)> =
        texts.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let (_folder, packages) = folder(&modules);
    for (module, expected) in
        [("a.*", "a.b.x\na.b.y\na.c"), ("a.b.*", "a.b.x\na.b.y"), ("*", "a.b.x\na.b.y\na.c\nb.z")]
    {
        let conn = connect();
        let script = format!(
            "CREATE TEMP TABLE made (name); INCLUDE PERFETTO MODULE {module}; SELECT name FROM made ORDER BY rowid"
        );
        assert_eq!(try_rows(&conn, &script, &packages).unwrap(), expected);
    }
    let error = try_rows(&connect(), "INCLUDE PERFETTO MODULE c.*", &packages).unwrap_err();
    assert!(error.starts_with("no such module: c.*; these folders do not have it: "), "{error}");
}

#[test]
fn pq2_a_folder_can_have_a_name_and_the_first_folder_counts() {
    let first = tempfile::tempdir().unwrap();
    let second = tempfile::tempdir().unwrap();
    write(first.path(), &[("mine.m", "CREATE PERFETTO VIEW v AS SELECT 'first' AS x")]);
    write(
        second.path(),
        &[
            ("m", "CREATE PERFETTO VIEW v AS SELECT 'second' AS x"),
            ("sub.n", "CREATE PERFETTO VIEW n AS SELECT 1 AS x"),
        ],
    );
    let named = format!("mine={}", second.path().display());
    let mut packages = Packages::default();
    packages.add(first.path().to_str().unwrap()).unwrap();
    packages.add(&named).unwrap();
    let conn = connect();
    let script =
        "INCLUDE PERFETTO MODULE mine.m; INCLUDE PERFETTO MODULE mine.sub.n; SELECT x FROM v";
    assert_eq!(try_rows(&conn, script, &packages).unwrap(), "first");
    let mut packages = Packages::default();
    packages.add(&named).unwrap();
    let conn = connect();
    assert_eq!(
        try_rows(&conn, "INCLUDE PERFETTO MODULE mine.*; SELECT x FROM v", &packages).unwrap(),
        "second"
    );
    let error = Packages::default().add("no/such/folder").unwrap_err().to_string();
    assert!(error.starts_with("cannot read the SQL package no/such/folder: "), "{error}");
}

#[test]
fn pq2_a_wrong_name_asks_for_the_module_that_was_meant() {
    let nothing = "CREATE PERFETTO VIEW v AS SELECT 1 AS x";
    let (folder, packages) = folder(&[
        ("slices.with_context", nothing),
        ("slices.flat_slices", nothing),
        ("linux.cpu.frequency", nothing),
        ("chrome.tasks", nothing),
    ]);
    for (wrong, meant) in [
        ("slices.with_contxt", "slices.with_context"),
        ("slice.with_context", "slices.with_context"),
        ("Slices.With_Context", "slices.with_context"),
        ("with_context", "slices.with_context"),
        ("linux.cpu.freqency", "linux.cpu.frequency"),
        ("linux.cpu", "linux.cpu.*"),
        ("slcies.*", "slices.*"),
        ("linux.gpu.*", "linux.cpu.*"),
    ] {
        let include = format!("INCLUDE PERFETTO MODULE {wrong}");
        let error = run(&connect(), &include, &packages).unwrap_err();
        let folder = folder.path().display();
        let expected = format!(
            "no such module: {wrong}; did you mean {meant}? These folders were searched: {folder}\n"
        );
        assert!(error.message().starts_with(&expected), "{error}");
        // There is no folder to name.
        assert!(!error.lacks_module());
    }
    for unlike in ["android.startup", "x", "slices.time_in_state"] {
        let include = format!("INCLUDE PERFETTO MODULE {unlike}");
        let error = run(&connect(), &include, &packages).unwrap_err();
        assert!(error.lacks_module(), "{error}");
        assert!(!error.message().contains("did you mean"), "{error}");
    }
}

#[test]
fn pq2_a_checkout_of_perfetto_stands_for_its_library() {
    let checkout = tempfile::tempdir().unwrap();
    let library = "src/trace_processor/perfetto_sql/stdlib";
    let prelude = ("prelude.after_eof.views", "CREATE PERFETTO VIEW of_prelude AS SELECT 2 AS x");
    let module = ("a.b", "CREATE PERFETTO VIEW ab AS SELECT x + 1 AS x FROM of_prelude");
    write(&checkout.path().join(library), &[prelude, module]);
    write(checkout.path(), &[("test.trace_processor.c", "SELECT 1")]);
    let found = |given: String| {
        let mut packages = Packages::default();
        packages.add(&given).unwrap();
        let script = "INCLUDE PERFETTO MODULE a.b; SELECT x FROM ab";
        (packages.modules().unwrap(), try_rows(&connect(), script, &packages))
    };
    let names = ["a.b", "prelude.after_eof.views"].map(str::to_owned).to_vec();
    for on_the_way in
        ["", "src", "src/trace_processor", "src/trace_processor/perfetto_sql", library]
    {
        let given = checkout.path().join(on_the_way).display().to_string();
        assert_eq!(found(given), (names.clone(), Ok("3".to_owned())), "{on_the_way}");
    }
    // A folder with a name is what it is.
    let (names, rows) = found(format!("mine={}", checkout.path().display()));
    assert!(names.contains(&"mine.test.trace_processor.c".to_owned()), "{names:?}");
    assert!(rows.unwrap_err().starts_with("no such module: a.b"));
}

#[test]
fn pq2_a_circle_of_includes_is_shown() {
    let (_folder, packages) = folder(&[
        ("a.one", "INCLUDE PERFETTO MODULE a.two"),
        ("a.two", "INCLUDE PERFETTO MODULE a.one"),
    ]);
    let error = try_rows(&connect(), "INCLUDE PERFETTO MODULE a.one", &packages).unwrap_err();
    assert!(error.starts_with("the module a.one includes itself: a.one → a.two → a.one\n  a.two, line 1, column 1: INCLUDE PERFETTO MODULE a.one"), "{error}");
}

#[test]
fn pq2_a_module_that_fails_half_way_leaves_nothing_and_stays_failed() {
    let (_folder, packages) = folder(&[
        (
            "a.bad",
            "INCLUDE PERFETTO MODULE a.good;
            CREATE PERFETTO TABLE t AS SELECT 1 AS x; CREATE PERFETTO VIEW v AS SELECT 1 AS x;
            CREATE PERFETTO FUNCTION f() RETURNS LONG AS SELECT 1;
            CREATE PERFETTO FUNCTION g() RETURNS TABLE(x LONG) AS SELECT 1 AS x;
            CREATE PERFETTO MACRO m() RETURNS Expr AS 1;
            CREATE OR REPLACE PERFETTO FUNCTION kept() RETURNS LONG AS SELECT 2;
            CREATE TABLE plain (x);
            SELECT missing FROM t",
        ),
        ("a.good", "CREATE PERFETTO TABLE good AS SELECT 1 AS x"),
    ]);
    let conn = connect();
    rows(&conn, "CREATE PERFETTO FUNCTION kept() RETURNS LONG AS SELECT 1");
    let include = "INCLUDE PERFETTO MODULE a.bad";
    let error = try_rows(&conn, include, &packages).unwrap_err();
    assert_eq!(
        error,
        "no such column: missing\n  a.bad, line 8, column 20: SELECT missing FROM t\n  included at line 1, column 1"
    );
    assert_eq!(rows(&conn, "SELECT count(*) FROM sqlite_temp_schema"), "0");
    for sql in ["SELECT f()", "SELECT m!()", "SELECT * FROM g()"] {
        assert!(try_rows(&conn, sql, &packages).unwrap_err().starts_with("no such "), "{sql}");
    }
    assert_eq!(rows(&conn, "SELECT kept()"), "1");
    let error = try_rows(&conn, include, &packages).unwrap_err();
    assert!(error.starts_with("a module has failed before in this connection, and stays so: a.bad: no such column: missing"), "{error}");
    // The module that it included did not fail.
    assert_eq!(
        try_rows(&conn, "INCLUDE PERFETTO MODULE a.good; SELECT x FROM good", &packages).unwrap(),
        "1"
    );
}

#[test]
fn pq13_a_module_reads_no_files_and_does_not_end_the_transaction() {
    for (number, statement) in [
        "ATTACH 'x.db' AS x",
        "PRAGMA writable_schema = 1",
        "COMMIT",
        "SELECT load_extension('x')",
        "CREATE PERFETTO TABLE t AS SELECT 1 AS x; SELECT \"readfile\" ('x') FROM t",
        "CREATE VIRTUAL TABLE c USING csv(filename = 'x')",
    ]
    .iter()
    .enumerate()
    {
        let (_folder, packages) = folder(&[("a.m", statement)]);
        let conn = connect();
        let error = try_rows(&conn, "INCLUDE PERFETTO MODULE a.m", &packages).unwrap_err();
        assert!(error.starts_with("a module must not use "), "{number}: {error}");
        assert!(conn.is_autocommit());
    }
    let (_folder, packages) =
        folder(&[("a.m", "CREATE PERFETTO TABLE t AS SELECT load_extension('x') AS x")]);
    let error = try_rows(&connect(), "INCLUDE PERFETTO MODULE a.m", &packages).unwrap_err();
    assert!(error.starts_with("a module must not use load_extension"), "{error}");
}

#[test]
fn pq1_a_module_has_no_results_and_missing_ones_are_explained() {
    let (_folder, packages) =
        folder(&[("a.m", "SELECT 1"), ("a.quiet", "SELECT 1 AS suppress_query_output")]);
    let conn = connect();
    let error = try_rows(&conn, "INCLUDE PERFETTO MODULE a.m", &packages).unwrap_err();
    assert!(error.starts_with("a module must not have results"), "{error}");
    try_rows(&conn, "INCLUDE PERFETTO MODULE a.quiet", &packages).unwrap();
    let error =
        try_rows(&conn, "SELECT 1;\nINCLUDE PERFETTO MODULE a.missing", &packages).unwrap_err();
    assert!(
        error.starts_with("no such module: a.missing; these folders do not have it: "),
        "{error}"
    );
    assert!(
        error.contains("Name the folder that has it")
            && error.ends_with("line 2, column 1: INCLUDE PERFETTO MODULE a.missing"),
        "{error}"
    );
    let error =
        try_rows(&connect(), "INCLUDE PERFETTO MODULE a.m", &Packages::default()).unwrap_err();
    assert!(
        error.starts_with(
            "no such module: a.m. Name the folder that has it in the variable TIMEBASE_SQL_PACKAGES"
        ),
        "{error}"
    );
}

#[test]
fn pq2a_the_prelude_runs_before_the_first_module_and_shadows_the_database() {
    let (_folder, packages) = folder(&[
        ("prelude.before_eof.bounds", "CREATE TABLE _trace_bounds AS SELECT 0 AS start_ts, 0 AS end_ts;
            CREATE PERFETTO FUNCTION trace_start() RETURNS LONG AS SELECT start_ts FROM _trace_bounds"),
        ("prelude.after_eof.slices", "CREATE PERFETTO VIEW slice AS SELECT id, ts, dur, name FROM __intrinsic_slice;
            CREATE PERFETTO TABLE started AS SELECT trace_start() AS ts"),
        ("a.m", "CREATE PERFETTO TABLE m AS SELECT id, name FROM slice WHERE dur > 5"),
        ("a.logs", "CREATE PERFETTO TABLE smaps AS SELECT count(*) AS n FROM __intrinsic_android_dumpstate"),
    ]);
    let conn = connect();
    conn.execute_batch(
        "CREATE TABLE slice (id INTEGER PRIMARY KEY, ts, dur, track_id, category, name, depth, parent_id, arg_set_id,
            thread_ts, thread_dur, thread_instruction_count, thread_instruction_delta, extra);
         INSERT INTO slice (id, ts, dur, name) VALUES (1, 10, 5, 'short'), (2, 20, 9, 'long');
         CREATE VIEW trace_bounds AS SELECT 10 AS start_ts, 29 AS end_ts",
    )
    .unwrap();
    assert_eq!(rows(&conn, "SELECT count(*) FROM pragma_table_info('slice')"), "14");
    let script = "INCLUDE PERFETTO MODULE a.m; SELECT id, name, trace_start(), (SELECT ts FROM started) FROM m";
    assert_eq!(try_rows(&conn, script, &packages).unwrap(), "2 long 10 10");
    assert_eq!(rows(&conn, "SELECT * FROM slice WHERE id = 1"), "1 10 5 short");
    assert_eq!(rows(&conn, "SELECT count(extra) FROM main.slice"), "0");
    assert_eq!(rows(&conn, "SELECT trace_start()"), "10");
    // A table that nothing fills says so: directly, and through a table that was made from it.
    let unread = |sql: &str| {
        rows(&conn, sql);
        let unread = super::super::take_unread(&conn, sql).unwrap();
        unread.into_iter().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(unread("SELECT * FROM slice"), "");
    assert_eq!(
        unread("SELECT id FROM __intrinsic_android_dumpstate"),
        "__intrinsic_android_dumpstate"
    );
    try_rows(&conn, "INCLUDE PERFETTO MODULE a.logs", &packages).unwrap();
    assert_eq!(unread("SELECT count(*) FROM slice"), "");
    assert_eq!(unread("SELECT n + 1 FROM (SELECT n FROM smaps)"), "__intrinsic_android_dumpstate");
    rows(&conn, "CREATE PERFETTO TABLE more AS SELECT n FROM smaps");
    assert_eq!(unread("SELECT n FROM more"), "__intrinsic_android_dumpstate");
}

#[test]
fn pq12_the_states_of_threads_become_a_table_when_they_are_first_named() {
    let (_folder, packages) = folder(&[
        (
            "prelude.after_eof.views",
            "CREATE PERFETTO VIEW thread_state AS SELECT * FROM __intrinsic_thread_state",
        ),
        ("a.other", "CREATE PERFETTO VIEW other AS SELECT 1 AS x"),
        ("a.states", "CREATE PERFETTO VIEW states AS SELECT id, ts FROM thread_state"),
    ]);
    let conn = connect();
    conn.execute_batch(
        "CREATE TABLE thread_state (id, ts, dur, utid, state, io_wait, blocked_function, waker_utid, waker_id, irq_context, ucpu);
         INSERT INTO thread_state (id, ts, utid) VALUES (3, 10, 1), (1, 20, 1)",
    )
    .unwrap();
    // Not as a script, which would name it.
    let kind = || {
        let sql = "SELECT type FROM sqlite_temp_schema WHERE name = '__intrinsic_thread_state'";
        conn.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap()
    };
    try_rows(&conn, "INCLUDE PERFETTO MODULE a.other", &packages).unwrap();
    assert_eq!(kind(), "view");
    let script = "INCLUDE PERFETTO MODULE a.states; SELECT id, ts FROM states";
    assert_eq!(try_rows(&conn, script, &packages).unwrap(), "1 20\n3 10");
    assert_eq!(kind(), "table");
    let plan =
        rows(&conn, "EXPLAIN QUERY PLAN SELECT * FROM thread_state WHERE utid = 1 AND ts = 10");
    assert!(plan.contains("thread_state (utid, ts)"), "{plan}");
}

#[test]
fn pq10_bounds_of_a_trace_without_times_are_0() {
    let (_folder, packages) = folder(&[
        (
            "prelude.before_eof.bounds",
            "CREATE TABLE _trace_bounds AS SELECT 0 AS start_ts, 0 AS end_ts",
        ),
        ("a.m", "CREATE PERFETTO TABLE m AS SELECT start_ts, end_ts FROM _trace_bounds"),
    ]);
    let conn = connect();
    conn.execute_batch("CREATE VIEW trace_bounds AS SELECT NULL AS start_ts, NULL AS end_ts")
        .unwrap();
    assert_eq!(
        try_rows(&conn, "INCLUDE PERFETTO MODULE a.m; SELECT * FROM m", &packages).unwrap(),
        "0 0"
    );
}
