//! Imports of real traces through the real program: whole, cut, damaged and compressed; and the
//! contents of the database.

use std::fs;
use std::io::{Cursor, Write};
use std::process::{Command, Stdio};

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use rusqlite::Connection;
use timebase_import::{Monitor, Options, Reader, Source, import_into};

use crate::support::{Imported, PROGRAM, Place, Said, count, data, expected, rows, run};
use timebase_lab::encode::{self, NEEDS_INCREMENTAL_STATE, Packet};

/// All columns of a packet except its position in the file.
const PACKETS: &str = "SELECT id, ts, timestamp, clock_id, clock_ts, seq_id, machine_id, type, uid, \
                       pid, unresolved, size, data FROM packet ORDER BY id";

const SNAPSHOTS: &str = "SELECT ts, clock_id, clock_name, clock_value, snapshot_id, machine_id \
     FROM clock_snapshot ORDER BY id";

#[test]
fn n6_clock_snapshot_equals_trace_processors() {
    let place = Place::new();
    for name in ["system", "sdk"] {
        let (conn, _) = place.import(&data(&format!("{name}.pftrace")), &[]);
        let theirs: Vec<_> = expected(&format!("{name}.clock_snapshot.csv"))
            .into_iter()
            .map(|row| row[1..].to_vec())
            .collect();
        assert!(theirs.len() > 20);
        assert_eq!(rows(&conn, SNAPSHOTS), theirs, "{name}");
    }
}

#[test]
fn v5_every_event_of_the_sdk_is_where_trace_processor_puts_it() {
    let place = Place::new();
    let (conn, _) = place.import(&data("sdk.pftrace"), &[]);
    let mut events =
        conn.prepare("SELECT 1 FROM packet WHERE type = 'track_event' AND ts = ?1").unwrap();
    for row in expected("sdk.slice.csv") {
        let ts: i64 = row[0].parse().unwrap();
        assert!(events.exists([ts]).unwrap(), "no track event at {ts}");
    }
}

#[test]
fn d5_ts_is_to_boottime_is_the_join_over_clock_mapping() {
    let place = Place::new();
    for name in ["sdk", "system", "nearest", "multihop", "dst"] {
        let (conn, _) = place.import(&data(&format!("{name}.pftrace")), &[]);
        timebase_resolver::sql::register(&conn).unwrap();
        let placed = "p.clock_ts IS NOT NULL AND p.ts IS NOT NULL AND p.type <> 'clock_snapshot'";
        let all = count(&conn, &format!("SELECT count(*) FROM packet p WHERE {placed}"));
        let equal = count(&conn, &format!(
            "SELECT count(*) FROM packet p JOIN clock_mapping m
               ON m.machine_id = p.machine_id AND m.clock_id = p.clock_id AND m.to_clock_id = 6
              AND m.seq_id = CASE WHEN p.clock_id BETWEEN 64 AND 127 THEN p.seq_id ELSE 0 END
              AND (m.start_value IS NULL OR m.start_value <= p.clock_ts)
              AND (m.end_value IS NULL OR p.clock_ts < m.end_value)
             WHERE {placed} AND to_boottime(p.clock_id, p.seq_id, p.clock_ts) = p.clock_ts + m.offset
               AND p.clock_ts + m.offset = p.ts"
        ));
        let moved = count(&conn, "SELECT count(*) FROM packet_resync");
        assert!(all > 0);
        assert_eq!(equal + moved, all, "{name}");
        if name == "sdk" {
            assert_eq!(moved, 0);
        }
    }
}

#[test]
fn f3_packets_inside_compressed_packets_stand_in_their_place() {
    let place = Place::new();
    let trace = fs::read(data("multihop.pftrace")).unwrap();
    let zlib = |bytes: &[u8]| {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let zstd = |bytes: &[u8]| zstd::encode_all(bytes, 3).unwrap();
    let plain = rows(&place.import(&data("multihop.pftrace"), &[]).0, PACKETS);
    for (field, packed) in [(50u32, zlib(&trace)), (133, zstd(&trace))] {
        let compressed = place.write("c.pftrace", &carrier(field, &packed));
        let (conn, _) = place.import(&compressed, &[]);
        assert_eq!(rows(&conn, PACKETS), plain);
        let offset = count(&conn, "SELECT max(offset) FROM packet");
        assert_eq!(offset, count(&conn, "SELECT min(offset) FROM packet"), "that of the carrier");

        // Nested: logged and skipped; the packets around it are kept.
        let inside = [carrier(field, &packed), trace.clone()].concat();
        let nested = place.write("n.pftrace", &carrier(50, &zlib(&inside)));
        let (conn, _) = place.import(&nested, &[]);
        assert_eq!(rows(&conn, PACKETS), plain);
        let logged = "SELECT count(*) FROM import_log WHERE code = 'nested_compression'";
        assert_eq!(count(&conn, logged), 1);

        // Damaged inside: the readable packets are there, and so is the carrier.
        let damaged = [carrier(field, &packed[..packed.len() - 9]), trace.clone()].concat();
        let damaged = place.write("d.pftrace", &damaged);
        let (conn, said) = place.import(&damaged, &[]);
        assert!(said.contains("cannot be read"), "{said}");
        assert_eq!(count(&conn, "SELECT count(*) FROM packet WHERE type = 'corrupt'"), 1);
        let uncompressed =
            "SELECT count(*) FROM packet WHERE id > (SELECT id FROM packet WHERE type = 'corrupt')";
        assert_eq!(count(&conn, uncompressed), plain.len() as i64);
        assert!(place.refuse(&damaged, &["--strict"]).contains("is damaged"));
    }
}

/// A packet whose payload is one field of bytes.
fn carrier(field: u32, payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    prost::encoding::bytes::encode(field, &payload.to_vec(), &mut packet);
    let mut trace = Vec::new();
    prost::encoding::bytes::encode(1, &packet, &mut trace);
    trace
}

#[test]
fn f2_f4_compressed_piped_and_concatenated_traces_are_one_trace() {
    let place = Place::new();
    let trace = fs::read(data("sdk.pftrace")).unwrap();
    let (conn, _) = place.import(&data("sdk.pftrace"), &[]);
    let plain = rows(&conn, PACKETS);
    let gzip = |bytes: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let zstd = |bytes: &[u8]| zstd::encode_all(bytes, 3).unwrap();
    for (name, bytes) in [
        ("t.gz", trace.chunks(10_000).flat_map(gzip).collect::<Vec<u8>>()),
        ("t.zst", trace.chunks(10_000).flat_map(zstd).collect()),
    ] {
        let path = place.write(name, &bytes);
        assert_eq!(rows(&place.import(&path, &[]).0, PACKETS), plain, "{name}");
        // Cut inside the compression: the data before it is imported.
        let cut = place.write(&format!("cut-{name}"), &bytes[..bytes.len() / 2]);
        let (conn, said) = place.import(&cut, &[]);
        let packets = count(&conn, "SELECT count(*) FROM packet") as usize;
        assert!(packets > 0 && packets < plain.len(), "{packets} packets");
        assert!(said.contains("byte "), "{said}");
        assert_eq!(rows(&conn, PACKETS)[..], plain[..packets]);
    }

    let out = place.path("piped.db");
    let mut piped = Command::new(PROGRAM)
        .args(["import", "-", "-o", out.to_str().unwrap()])
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    piped.stdin.take().unwrap().write_all(&trace).unwrap();
    assert!(piped.wait().unwrap().success());
    assert_eq!(rows(&Connection::open(out).unwrap(), PACKETS), plain);

    let twice = place.write("twice.pftrace", &[&trace[..], &trace[..]].concat());
    let (conn, _) = place.import(&twice, &[]);
    assert_eq!(count(&conn, "SELECT count(*) FROM packet"), 2 * plain.len() as i64);
}

#[test]
fn f6_a_file_cut_anywhere_is_imported_up_to_there() {
    let place = Place::new();
    let trace = fs::read(data("nearest.pftrace")).unwrap();
    let (conn, _) = place.import(&data("nearest.pftrace"), &[]);
    let whole = rows(&conn, "SELECT * FROM packet ORDER BY id");
    let ends: Vec<i64> = {
        let mut statement = conn.prepare("SELECT offset + size FROM packet ORDER BY id").unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    for cut in 4..trace.len() {
        let import = |options: &Options| {
            let source = Source::Reader(Reader::new(Cursor::new(trace[..cut].to_vec())));
            let mut conn = Connection::open_in_memory().unwrap();
            import_into(&[source], &mut conn, options, &Monitor::default()).map(|_| conn)
        };
        let mut options = Options::default();
        let conn = import(&options).unwrap();
        let before = ends.iter().filter(|&&end| end <= cut as i64).count();
        assert_eq!(count(&conn, "SELECT count(*) FROM packet"), before as i64, "cut at {cut}");
        let clean = ends.contains(&(cut as i64));
        let logged = count(
            &conn,
            "SELECT count(*) FROM import_log WHERE code = 'cut' AND offset IS NOT NULL
             AND message LIKE '%the file ends inside the packet that starts at byte%'",
        );
        assert_eq!(logged, i64::from(!clean), "cut at {cut}");
        assert_eq!(rows(&conn, "SELECT * FROM packet ORDER BY id")[..], whole[..before]);
        if !clean {
            options.strict = true;
            assert!(import(&options).is_err(), "cut at {cut}");
        }
    }
    // As the program says it.
    let path = place.write("cut.pftrace", &trace[..trace.len() - 1]);
    let (_, said) = place.import(&path, &[]);
    let text = "the file ends inside the packet that starts at byte";
    assert!(said.contains(text), "{said}");
    place.refuse(&path, &["--strict"]);
}

#[test]
fn f7_a_packet_that_cannot_be_parsed_is_kept() {
    let place = Place::new();
    let trace = fs::read(data("nearest.pftrace")).unwrap();
    let path = place.write("corrupt.pftrace", &[&trace[..], &[0x0a, 2, 0x0b, 0xff]].concat());
    let (conn, said) = place.import(&path, &[]);
    assert!(said.contains("1 of 17 packets cannot be read"), "{said}");
    let kept = "SELECT count(*) FROM packet WHERE id = 16 AND ts IS NULL AND type = 'corrupt' \
                AND size = 2 AND data = x'0BFF'";
    assert_eq!(count(&conn, kept), 1);
    assert_eq!(count(&conn, "SELECT count(*) FROM import_log WHERE packet_id = 16"), 1);
}

#[test]
fn offset_and_size_are_where_the_bytes_are() {
    let place = Place::new();
    let trace = fs::read(data("sdk.pftrace")).unwrap();
    let (conn, _) = place.import(&data("sdk.pftrace"), &[]);
    let mut statement = conn.prepare("SELECT offset, size, data FROM packet").unwrap();
    let mut packets = statement.query([]).unwrap();
    while let Some(row) = packets.next().unwrap() {
        let (offset, size): (i64, i64) = (row.get(0).unwrap(), row.get(1).unwrap());
        let bytes: Vec<u8> = row.get(2).unwrap();
        assert_eq!(bytes, trace[offset as usize..(offset + size) as usize]);
    }
}

#[test]
fn the_help_says_how_large_databases_were_measured_to_be() {
    let help = crate::support::answer(&["import", "--help"]);
    let flowing = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flowing.contains("had 5 to 16 times the size of the trace"));
    for trace in ["app", "desktop", "sdk", "system"] {
        let name = format!("{trace}.pftrace");
        let imported = Imported::new(&name, &[]);
        let size = |path: &std::path::Path| fs::metadata(path).unwrap().len() as f64;
        let times = size(imported.path().as_ref()) / size(&data(&name));
        assert!((5.0..16.0).contains(&times), "{trace}: {times}");
    }
}

#[test]
fn no_data_leaves_out_the_bytes_and_nothing_else() {
    let place = Place::new();
    let columns = "SELECT id, ts, timestamp, type, offset, size FROM packet ORDER BY id";
    let with = rows(&place.import(&data("sdk.pftrace"), &[]).0, columns);
    let (conn, _) = place.import(&data("sdk.pftrace"), &["--no-data"]);
    assert_eq!(rows(&conn, columns), with);
    assert_eq!(count(&conn, "SELECT count(data) FROM packet"), 0);
}

#[test]
fn the_database_says_what_it_is() {
    let place = Place::new();
    let (conn, _) = place.import(&data("sdk.pftrace"), &[]);
    assert_eq!(count(&conn, "PRAGMA application_id"), 1_952_605_811);
    assert_eq!(count(&conn, "PRAGMA user_version"), 16);
    let fact = |name: &str| -> String {
        let sql = "SELECT CAST(value AS TEXT) FROM metadata WHERE name = ?1";
        conn.query_row(sql, [name], |row| row.get(0)).unwrap()
    };
    assert_eq!(fact("trace_time_clock_id"), "6");
    assert_eq!(fact("source_size"), fs::metadata(data("sdk.pftrace")).unwrap().len().to_string());
    assert_eq!(fact("source_sha256").len(), 64);
    assert_eq!(fact("trace_uuid").len(), 36);
    assert_eq!(count(&conn, "SELECT value FROM stats WHERE name = 'packets'"), 4825);
    let bounds = "SELECT start_ts = (SELECT min(ts) FROM slice) AND end_ts = (SELECT max(ts + max(dur, 0)) FROM slice) FROM trace_bounds";
    assert_eq!(count(&conn, bounds), 1);
    let sequences = "SELECT count(*) FROM sequence s WHERE packets = (SELECT count(*) FROM packet p WHERE p.seq_id = s.id) \
                     AND first_ts = (SELECT min(ts) FROM packet p WHERE p.seq_id = s.id)";
    assert_eq!(count(&conn, sequences), 5);
    let miscounted = "SELECT count(*) FROM clock c WHERE packets <> (SELECT count(*) FROM packet p \
                      WHERE p.clock_id = c.clock_id AND c.seq_id IN (0, p.seq_id))";
    assert_eq!(count(&conn, miscounted), 0);
    let path: String = conn
        .query_row("SELECT path FROM clock WHERE clock_id = 64 AND seq_id = 3", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert_eq!(path, "64@3 → BOOTTIME");
    assert_eq!(
        count(&conn, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"),
        1
    );
}

/// The first queries of a trace, in the words of trace processor.
#[test]
fn stats_and_metadata_answer_queries_for_trace_processor() {
    let place = Place::new();
    let (conn, _) = place.import(&data("sdk.pftrace"), &[]);
    let wrong = "SELECT name, severity, source, value FROM stats \
                 WHERE severity IN ('error', 'data_loss') AND value > 0";
    assert!(rows(&conn, wrong).is_empty());
    let size = fs::metadata(data("sdk.pftrace")).unwrap().len();
    assert_eq!(
        rows(
            &conn,
            "SELECT name, key_type, int_value, str_value FROM metadata \
             WHERE name IN ('trace_size_bytes', 'trace_type', 'trace_uuid') ORDER BY name"
        ),
        [
            ["trace_size_bytes", "single", &size.to_string(), "[NULL]"],
            ["trace_type", "single", "[NULL]", "proto"],
            ["trace_uuid", "single", "[NULL]", "73d01a2b-e286-7eda-5105-27e8d768f183"],
        ]
    );

    let lost =
        Packet { seq: 1, timestamp: Some(7), flags: NEEDS_INCREMENTAL_STATE, ..Packet::default() };
    let corrupt = Packet { payload: Some((6, vec![0xff])), ..Packet::default() };
    let trace = place.write("wrong.pftrace", &encode::trace(&[lost, corrupt]));
    let (conn, _) = place.import(&trace, &[]);
    assert_eq!(
        rows(&conn, wrong),
        [
            ["packets_unresolved_incremental_state_lost", "data_loss"],
            ["payloads_corrupt", "error"],
        ]
        .map(|[name, severity]| [name, severity, "analysis", "1"])
    );
}

#[test]
fn a_counter_has_a_row_and_a_number_of_its_own() {
    let place = Place::new();
    let (conn, _) = place.import(&data("ftrace-clocks.pftrace"), &[]);
    let counters =
        count(&conn, "SELECT count(*) FROM stats WHERE trace_file_id IS NULL AND idx IS NULL");
    let of_whole = "SELECT count(DISTINCT key) FROM stats WHERE trace_file_id IS NULL";
    assert_eq!(count(&conn, of_whole), counters);
    let in_order = "SELECT count(*) FROM (SELECT id, key, row_number() OVER (ORDER BY name) - 1 AS n, \
                    dense_rank() OVER (ORDER BY name) - 1 AS k FROM stats) WHERE id <> n OR key <> k";
    assert_eq!(count(&conn, in_order), 0);
}

#[test]
fn bad_input_is_told_and_leaves_nothing() {
    let place = Place::new();
    let text = place.write("notes.txt", b"These are notes, not a trace.\n");
    assert!(place.refuse(&text, &[]).contains("notes.txt is not a trace"));
    let line = place.write("line.txt", b"\nHello, this file begins with a newline.\n");
    assert!(place.refuse(&line, &[]).contains("is not a trace"));
    let empty = place.write("empty.pftrace", b"");
    assert!(place.refuse(&empty, &[]).contains("empty.pftrace is empty"));
    assert!(place.refuse(&place.path(""), &[]).contains("is a directory"));
    assert!(place.refuse(&place.path("missing.pftrace"), &[]).contains("missing.pftrace"));
    let gzip = place.write("bad.gz", &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xff, 0xff, 0xff]);
    assert!(place.refuse(&gzip, &[]).contains("bad.gz is not a trace"));
    let (conn, _) = place.import(&data("nearest.pftrace"), &[]);
    drop(conn);
    let said = place.refuse(&place.path("out.db"), &[]);
    assert!(
        said.contains("already is a SQLite database") && said.contains("timebase query"),
        "{said}"
    );
    let nowhere = run(&["import", data("dst.pftrace").to_str().unwrap(), "-o", "missing-dir/x.db"]);
    assert_eq!(nowhere.code, Some(1));
    assert!(nowhere.stderr.contains("cannot create missing-dir/x.db"), "{}", nowhere.stderr);
}

#[test]
fn a_destination_that_exists_is_not_harmed() {
    let place = Place::new();
    let old = place.write("old.db", b"not a database");
    let import = |args: &[&str]| {
        let trace = data("nearest.pftrace");
        let mut all = vec!["import", trace.to_str().unwrap(), "-o", old.to_str().unwrap()];
        all.extend(args);
        run(&all)
    };
    assert!(import(&[]).stderr.contains("--force"));
    assert!(
        import(&["--force"])
            .stderr
            .contains("is not a SQLite database, so timebase does not replace it")
    );
    assert_eq!(fs::read(&old).unwrap(), b"not a database");

    fs::remove_file(&old).unwrap();
    let others = rusqlite::Connection::open(&old).unwrap();
    others.execute_batch("CREATE TABLE mine (x); INSERT INTO mine VALUES (1)").unwrap();
    let refused = import(&["--force"]).stderr;
    assert!(refused.contains("is a database of another program, so timebase does not replace it; name another file with -o"), "{refused}");
    assert_eq!(count(&others, "SELECT x FROM mine"), 1);

    fs::remove_file(&old).unwrap();
    assert_eq!(import(&[]).code, Some(0));
    let before = fs::read(&old).unwrap();
    assert_eq!(import(&[]).code, Some(1));
    let bad = place.write("bad.txt", b"no trace");
    let failed = run(&["import", bad.to_str().unwrap(), "--force", "-o", old.to_str().unwrap()]);
    assert_eq!(failed.code, Some(1));
    assert_eq!(fs::read(&old).unwrap(), before, "a failed import keeps the older database");
    place.write("old.db-wal", b"unfinished business");
    assert!(import(&["--force"]).stderr.contains("old.db-wal exists"));
    fs::remove_file(place.path("old.db-wal")).unwrap();
    assert_eq!(import(&["--force"]).code, Some(0));
    assert_eq!(place.files(), ["bad.txt", "old.db"]);
}

#[cfg(unix)]
#[test]
fn an_interrupted_import_leaves_nothing_even_if_its_input_hangs() {
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;
    let place = Place::new();
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let mut child = start_hanging_import(&place);
        // `wait` would close it, and the import might end before it gets the signal.
        let input = child.stdin.take();
        kill(Pid::from_raw(child.id() as i32), signal).unwrap();
        let output = child.wait().unwrap();
        drop(input);
        assert_eq!(output.code(), Some(130));
        assert_eq!(place.files(), Vec::<String>::new());
    }
}

#[cfg(unix)]
#[test]
fn what_a_killed_import_left_is_removed_by_the_next() {
    let place = Place::new();
    let mut child = start_hanging_import(&place);
    let mut living = start_hanging_import(&place);
    assert_eq!(place.files().len(), 2);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(place.files().len(), 2);
    place.import(&data("nearest.pftrace"), &[]);
    let files = place.files();
    assert_eq!(files.len(), 2, "that of the living one stays: {files:?}");
    assert!(files.contains(&"out.db".to_owned()));
    living.kill().unwrap();
    living.wait().unwrap();
}

/// A started import to `out.db` that waits for its input.
#[cfg(unix)]
fn start_hanging_import(place: &Place) -> std::process::Child {
    let before = place.files().len();
    let mut child = Command::new(PROGRAM)
        .args(["import", "-", "-o", place.path("out.db").to_str().unwrap()])
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let trace = fs::read(data("nearest.pftrace")).unwrap();
    child.stdin.as_mut().unwrap().write_all(&trace).unwrap();
    while place.files().len() == before {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child
}

#[cfg(unix)]
#[test]
fn a_file_that_cannot_grow_is_told_and_leaves_nothing() {
    let place = Place::new();
    let script = format!(
        "trap '' XFSZ; ulimit -f 64; exec '{}' import '{}' -o '{}'",
        PROGRAM,
        data("system.pftrace").display(),
        place.path("out.db").display()
    );
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    let output = Said::from(output);
    assert_eq!(output.code, Some(1));
    assert!(output.stderr.contains("out.db failed"), "{}", output.stderr);
    assert_eq!(place.files(), Vec::<String>::new());
}
