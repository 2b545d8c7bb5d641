//! `import --compact`: the bytes of packets in compressed blocks.

use std::fs;
use std::path::Path;
use std::process::Command;

use rusqlite::Connection;

use crate::support::{PROGRAM, Place, Said, count, repository, rows, run};

/// An import of files and flags into the file `name`.
fn import(place: &Place, name: &str, arguments: &[&str]) -> Connection {
    let mut command = Command::new(PROGRAM);
    command.current_dir(repository().join("tests/data")).arg("import").args(arguments);
    let said = Said::from(command.arg("-o").arg(place.path(name)).output().unwrap());
    assert_eq!(said.code, Some(0), "{arguments:?}: {}", said.stderr);
    let conn = Connection::open(place.path(name)).unwrap();
    timebase::sql::register(&conn).unwrap();
    conn
}

/// Both imports of the same files.
fn both(place: &Place, arguments: &[&str]) -> (Connection, Connection) {
    let compact = import(place, "compact.db", &[arguments, &["--compact"]].concat());
    (import(place, "plain.db", arguments), compact)
}

#[test]
fn compact_keeps_all_rows_and_the_bytes_of_all_packets() {
    let sets: [&[&str]; 8] = [
        &["sdk.pftrace"],
        &["desktop.pftrace", "--conversion=linear"],
        &["training.json"],
        &["rest/13.pftrace"],
        &["late-frame.pftrace", "--no-events"],
        &["several/phone.pftrace", "several/watch.pftrace", "--manifest=several/machines.json"],
        // Packets wait for snapshots, so rows change after they were written.
        &["multihop.pftrace"],
        &["system.pftrace"],
    ];
    for set in sets {
        let place = Place::new();
        let (plain, compact) = both(&place, set);
        let tables =
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'sqlite_*'";
        for table in rows(&plain, tables).concat() {
            let without = match table.as_str() {
                "packet_block" | "fact" => continue,
                "packet_record" => "name NOT IN ('data', 'size')",
                _ => "1",
            };
            let columns = format!(
                "SELECT group_concat('\"' || name || '\"') FROM pragma_table_info('{table}') WHERE {without}"
            );
            let sql = format!("SELECT {} FROM {table}", rows(&plain, &columns).concat().concat());
            assert_eq!(rows(&compact, &sql), rows(&plain, &sql), "{set:?} {table}");
        }
        let bytes = |data: &str| format!("SELECT id, size, hex({data}) FROM packet ORDER BY id");
        let expected = rows(&plain, &bytes("data"));
        assert_eq!(rows(&compact, &bytes("packet_data(id)")), expected, "{set:?}");
        assert_eq!(rows(&plain, &bytes("packet_data(id)")), expected, "{set:?}");
        let any =
            "SELECT hex(packet_data(id * 7919 % (SELECT 2 + count(*) FROM packet))) FROM packet";
        assert_eq!(rows(&compact, any), rows(&plain, any), "{set:?}");
        assert_eq!(count(&compact, "SELECT count(data) FROM packet"), 0);
        assert!(count(&compact, "SELECT count(*) FROM packet_block") > 0);
        let none = "SELECT packet_data(-1) IS NULL AND packet_data(9223372036854775807) IS NULL AND packet_data(NULL) IS NULL";
        assert_eq!(count(&compact, none), 1);
        let fact = "SELECT value FROM metadata WHERE name = 'import_data'";
        assert_eq!(rows(&compact, fact), [["compact"]]);
    }
}

#[test]
fn compact_leaves_all_views_to_clients_without_functions() {
    let place = Place::new();
    import(&place, "compact.db", &["app.pftrace", "--compact"]);
    let other = Connection::open(place.path("compact.db")).unwrap();
    let views = rows(&other, "SELECT name FROM sqlite_schema WHERE type = 'view'").concat();
    assert!(views.len() > 100);
    for view in views {
        let prepared = other.prepare(&format!("SELECT * FROM \"{view}\""));
        if let Err(error) = prepared {
            panic!("{view}: {error}");
        }
    }
    let places = "SELECT count(*), min(ts), max(ts), sum(size) FROM packet";
    let plain = import(&place, "plain.db", &["app.pftrace"]);
    assert_eq!(rows(&other, places), rows(&plain, places));
}

#[test]
fn compact_gives_the_same_answers() {
    let place = Place::new();
    let (plain, compact) = both(&place, &["rest/21.pftrace"]);
    let defaults = "SELECT * FROM __intrinsic_winscope_proto_to_args_with_defaults('windowmanager_windowcontainer') ORDER BY 1, 2, 3";
    assert!(!rows(&plain, defaults).is_empty());
    assert_eq!(rows(&compact, defaults), rows(&plain, defaults));

    let place = Place::new();
    both(&place, &["training.json"]);
    let file = |name: &str| place.path(name).display().to_string();
    let names = ["plain.db", "compact.db"];
    let slice = ["--slice", "5", "--to", "REALTIME"];
    let slice = names.map(|name| run(&[&["explain", &file(name)], &slice[..]].concat()).stdout);
    assert!(slice[0].contains("\"ts\": 221475219144.704"), "{}", slice[0]);
    assert!(slice[0].contains("packet 4: \"baseTimeNanoseconds\": 172774"), "{}", slice[0]);
    assert_eq!(slice[0], slice[1]);
    let packets = names.map(|name| {
        let out = format!("{}.tables", file(name));
        let said = run(&["export", &file(name), "-o", &out, "--tables=packet"]);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        let mut of_traces = fs::read_dir(Path::new(&out).join("packet")).unwrap();
        let of_trace = of_traces.next().unwrap().unwrap().path();
        fs::read(of_trace.join("part-0.parquet")).unwrap()
    });
    assert!(packets[0] == packets[1]);
    let pages = names.map(|name| {
        let out = format!("{}.html", file(name));
        assert_eq!(run(&["report", &file(name), "-o", &out]).code, Some(0));
        fs::read_to_string(out).unwrap().contains("baseTimeNanoseconds")
    });
    assert_eq!(pages, [true, true]);
}

#[test]
fn compact_says_where_the_bytes_are() {
    let place = Place::new();
    let conn = import(&place, "compact.db", &["multihop.pftrace", "--compact"]);
    let file = place.path("compact.db").display().to_string();
    let said = run(&["query", &file, "SELECT packet_json(data) FROM packet WHERE id = 5"]);
    let hint = "this database was imported with --compact, so the column data is NULL; packet_data(id) returns the bytes of a packet";
    assert!(said.stderr.contains(hint), "{}", said.stderr);
    for sql in [
        "SELECT * FROM packet LIMIT 1",
        "SELECT p.*, 1 FROM packet AS p",
        "SELECT \"data\" FROM packet_record",
    ] {
        let said = run(&["query", &file, sql]);
        assert!(said.stderr.contains(hint), "{sql}: {}", said.stderr);
    }
    for sql in ["SELECT count(*), 2 * size FROM packet -- data", "SELECT 'data' FROM packet"] {
        assert_eq!(run(&["query", &file, sql]).stderr, "", "{sql}");
    }
    let said = run(&["query", &file, "SELECT packet_json(packet_data(id)) AS data FROM packet"]);
    assert!(!said.stderr.contains("--compact"), "{}", said.stderr);
    assert!(said.stdout.contains("custom 3503"), "{}", said.stdout);

    conn.execute_batch("UPDATE packet_block SET data = x'28b52ffd'").unwrap();
    let error = conn.query_row("SELECT packet_data(5)", [], |_| Ok(())).unwrap_err().to_string();
    let expected = "packet_data(): the block of packet 5 in packet_block cannot be read: it is no frame of Zstandard with a size; import the trace again";
    assert_eq!(error, expected);
}

#[test]
fn compact_without_bytes_has_neither_blocks_nor_indexes_by_time() {
    let place = Place::new();
    let conn = import(&place, "a.db", &["app.pftrace", "--compact", "--no-data"]);
    let has = "SELECT (SELECT count(*) FROM packet_block), (SELECT count(data) FROM packet_record),
                      (SELECT count(*) FROM sqlite_schema WHERE name IN ('packet_ts', 'slice_record_ts'))";
    assert_eq!(rows(&conn, has), [["0", "0", "0"]]);
    let file = place.path("a.db").display().to_string();
    let said = run(&["query", &file, "SELECT packet_data(5)"]);
    assert!(said.stderr.contains("imported with --no-data"), "{}", said.stderr);
}

#[test]
fn compact_json_has_the_check_of_its_unit() {
    let place = Place::new();
    for (at, flags) in [&[][..], &["--compact"], &["--no-data"]].iter().enumerate() {
        let file = format!("{at}.db");
        let conn = import(&place, &file, &[&["doctor/json_unit.json"], *flags].concat());
        let found = "SELECT severity, events, message FROM finding WHERE check_name = 'json_unit'";
        let text = "Most durations of the first 3 events are below a nanosecond, as microseconds: the longest of these is 0.000456; as seconds, it is 456.0 us. Write dur in microseconds.";
        assert_eq!(rows(&conn, found), [["warning", "3", text]], "{flags:?}");
    }
}

#[test]
fn compact_finds_the_slices_of_a_time_range_on_each_track() {
    let place = Place::new();
    let (plain, compact) = both(&place, &["app.pftrace"]);
    let index = "SELECT count(*) FROM sqlite_schema WHERE name = 'slice_record_ts'";
    assert_eq!((count(&plain, index), count(&compact, index)), (1, 0));
    let range = "FROM slice WHERE ts BETWEEN 1000 * (SELECT min(ts) / 1000 + 1 FROM slice) AND (SELECT avg(ts) FROM slice) ORDER BY ts, id";
    let (all, names) = (format!("SELECT * {range}"), format!("SELECT id, name {range}"));
    assert!(rows(&plain, &names).len() > 100);
    assert_eq!(rows(&compact, &names), rows(&plain, &names));
    let plan = |conn| format!("{:?}", rows(conn, &format!("EXPLAIN QUERY PLAN {all}")));
    let by_time = "SEARCH s USING INDEX slice_record_ts (ts>? AND ts<?)";
    assert!(plan(&plain).contains(by_time), "{}", plan(&plain));
    let by_track = "SEARCH s USING INDEX slice_record_track (ANY(track_id) AND ts>? AND ts<?)";
    assert!(plan(&compact).contains(by_track), "{}", plan(&compact));
}
