//! The messages for wrong input: the problem, and the remedy.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::support::{PROGRAM, Place, Said, count, data, repository, run};
use timebase_lab::encode::{Message, Packet, trace};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Files that people mistake for traces: the name, the bytes, and the message.
fn others() -> Vec<(&'static str, Vec<u8>, &'static [&'static str])> {
    let long = |text: &str| text.repeat(300).into_bytes();
    let mut tar = vec![b'a'; 257];
    tar.extend(b"ustar\x0000");
    tar.resize(1024, 0);
    let zip = |name: &str| {
        let mut file = b"PK\x03\x04".to_vec();
        file.resize(26, 0);
        file.extend((name.len() as u16).to_le_bytes());
        file.extend([0, 0]);
        file.extend(name.as_bytes());
        file.resize(200, 7);
        file
    };
    vec![
        ("events.json", b"{\"traceEvents\":[{\"ph\":\"X\",\"ts\"".to_vec(), &["Chrome's JSON"]),
        ("firefox.json", long(r#"{"meta":{"interval":1,"processType":0}}"#), &["Firefox"]),
        ("some.json", long(r#"{"a":1}"#), &["It is JSON"]),
        (
            "ftrace.txt",
            long("# tracer: nop\n#\n  <idle>-0 [000] 1.0: sched_switch: a\n"),
            &["kernel's trace as text", "perfetto"],
        ),
        (
            "systrace.html",
            b"<!DOCTYPE html>\n<html><head><title>Android System Trace</title>".to_vec(),
            &["It is a systrace report", "perfetto"],
        ),
        (
            "48-systrace.html",
            fs::read(data("reports/48-systrace.html")).unwrap(),
            &["It is a systrace report", "record the same events", "ui.perfetto.dev"],
        ),
        (
            "trace.pbtxt",
            b"# by hand\npacket {\n  trace_config { buffers { size_kb: 4 } }\n}\n".to_vec(),
            &["text format (.pbtxt)", "traceconv binary"],
        ),
        (
            "packet.pb",
            // timestamp, trusted_packet_sequence_id, and an empty track_event
            vec![0x40, 1, 0x50, 2, 0x5a, 0],
            &["a TracePacket by itself", "0x0a and its length"],
        ),
        (
            "packets.delimited",
            [6, 0x40, 1, 0x50, 2, 0x5a, 0].repeat(3),
            &["TracePackets with their lengths", "0x0a and its length"],
        ),
        (
            "login.html",
            b"<!doctype HTML>\n<html><body>Please log in</body></html>".to_vec(),
            &["a web page", "login"],
        ),
        (
            "config.txt",
            b"\nbuffers {\n  size_kb: 1024\n}\n".to_vec(),
            &["configuration", "perfetto --txt -c"],
        ),
        ("notes.xml", b"<?xml version=\"1.0\"?><notes/>".to_vec(), &["It is XML"]),
        ("notes.txt", long("\nwhat I saw\n"), &["It is text"]),
        ("log.txt", long("--------- beginning of main\n"), &["Android log"]),
        ("build.log", long("# ninja log v5\n1\t2\t3\tout.o\n"), &["ninja"]),
        ("perf.data", b"PERFILE2\x68\0\0\0\0\0\0\0".to_vec(), &["Linux perf"]),
        ("simple.data", b"SIMPLEPERF\x01\0\0\0\0".to_vec(), &["simpleperf"]),
        ("trace.fxt", b"\x10\x00\x04\x46\x78\x54\x16\x00\0\0\0\0".to_vec(), &["Fuchsia"]),
        ("trace.dat", b"\x17\x08\x44tracing6\0\0\0".to_vec(), &["trace-cmd"]),
        ("net.pcap", b"\xd4\xc3\xb2\xa1\x02\0\x04\0\0\0\0\0".to_vec(), &["network packets"]),
        ("program", fs::read(PROGRAM).unwrap()[..9000].to_vec(), &["executable"]),
        ("bugreport.zip", zip("version.txt"), &["has no trace in it"]),
        ("trace.zip", zip("phone.pftrace"), &["has no trace in it"]),
        ("traces.tar", tar, &["has no trace in it"]),
        (
            "trace.xz",
            b"\xfd7zXZ\0\0\x04aaaaaaaaaaaaaa".to_vec(),
            &["xz -dc FILE | timebase import"],
        ),
        ("twice.gz", gzip(&gzip(b"something")), &["gzip", "second time"]),
        (
            "firefox.json.gz",
            gzip(br#"{"meta":{"interval":1,"processType":0}}"#),
            &["compressed with gzip", "Firefox"],
        ),
        ("picture.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0".to_vec(), &["image/png"]),
    ]
}

#[test]
fn someone_gives_another_file_for_a_trace_and_reads_what_it_is_and_what_to_do() {
    let place = Place::new();
    for (name, bytes, expected) in others() {
        let file = place.write(name, &bytes);
        let said = place.refuse(&file, &[]);
        assert!(said.starts_with("timebase: error: "), "{said}");
        for expected in [&[name, "no"], expected].concat() {
            assert!(said.contains(expected), "{expected:?} is not in\n{said}");
        }
        assert_eq!(said.lines().count(), 1, "{said}");
        fs::remove_file(file).unwrap();
    }
    // A direct query and a pipe give the same message.
    let file = place.write("firefox.json", br#"{"meta":{"interval":1,"processType":0}}"#);
    let file = file.to_str().unwrap();
    for command in [&["query", file, "SELECT 1"][..], &["clocks", file], &["shell", file]] {
        assert!(run(command).stderr.contains("a profile of Firefox"), "{command:?}");
    }
    let said = piped(&fs::read(file).unwrap(), &place);
    assert!(said.stderr.contains("standard input is not a trace"));
    assert!(said.stderr.contains("a profile of Firefox"), "{}", said.stderr);
}

/// An archive of files that are not compressed.
fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (name, bytes) in files {
        writer.start_file(*name, options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[test]
fn someone_gives_an_archive_without_a_trace_and_reads_what_is_in_it() {
    let place = Place::new();
    let json = br#"{"meta":{"interval":1,"processType":0}}"#;
    let one = place.write("one.zip", &zip(&[("firefox.json", json)]));
    let said = place.refuse(&one, &[]);
    assert!(
        said.contains("one.zip has no trace in it")
            && said.contains("is not a trace, but a profile of Firefox"),
        "{said}"
    );
    assert!(said.contains("profiler.firefox.com"), "{said}");
    let two = zip(&[("firefox.json", json), ("notes.txt", b"what I saw there")]);
    let said = place.refuse(&place.write("two.zip", &two), &[]);
    assert!(
        said.contains("none of its 2 files is a trace") && said.contains("a profile of Firefox"),
        "{said}"
    );
    // Beside a trace, a warning has the format.
    let trace = fs::read(data("nearest.pftrace")).unwrap();
    let mixed = zip(&[("a.pftrace", &trace), ("firefox.json", json)]);
    let (_, said) = place.import(&place.write("mixed.zip", &mixed), &[]);
    assert!(said.contains("mixed.zip: not a trace but a profile of Firefox, left out"), "{said}");
}

fn piped(bytes: &[u8], place: &Place) -> Said {
    let mut child = Command::new(PROGRAM)
        .args(["import", "-", "-o", place.path("piped.db").to_str().unwrap()])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(bytes).unwrap();
    child.wait_with_output().unwrap().into()
}

#[test]
fn f8_a_trace_that_looks_like_text_is_imported() {
    // A packet of 67 bytes with a field that no schema has, of 65 bytes: a newline, C, z, A and letters.
    let packet = [&b"\nCzA"[..], &[b'x'; 65]].concat();
    let place = Place::new();
    let json = [&b"\nCzA{\"traceEvents\":"[..], &[b'x'; 50]].concat();
    for bytes in [packet.repeat(3), json, packet] {
        assert!(std::str::from_utf8(&bytes).unwrap().is_ascii());
        let (conn, _) = place.import(&place.write("trace", &bytes), &[]);
        let packets = count(&conn, "SELECT count(*) FROM packet WHERE type IS NOT 'corrupt'");
        assert_eq!(packets as usize, bytes.len() / 69);
    }
}

#[test]
fn someone_imports_a_database_and_is_told_to_ask_it() {
    let place = Place::new();
    let (_, _) = place.import(&data("nearest.pftrace"), &[]);
    let ours = place.refuse(&place.path("out.db"), &[]);
    assert!(ours.contains("timebase query"), "{ours}");

    let other = place.path("other.db");
    let conn = rusqlite::Connection::open(&other).unwrap();
    conn.execute_batch("CREATE TABLE t (x)").unwrap();
    drop(conn);
    let said = place.refuse(&other, &[]);
    assert!(said.contains("timebase did not make it") && said.contains("sqlite3"), "{said}");
    let packed = place.write("packed.gz", &gzip(&fs::read(&other).unwrap()));
    let said = place.refuse(&packed, &[]);
    assert!(said.contains("a SQLite database") && said.contains("Decompress"), "{said}");
}

#[test]
fn fp8_a_header_alone_is_no_database() {
    let place = Place::new();
    place.import(&data("nearest.pftrace"), &[]);
    let ours = fs::read(place.path("out.db")).unwrap();
    let empty = place.path("empty.db");
    let conn = rusqlite::Connection::open(&empty).unwrap();
    conn.execute_batch("CREATE TABLE t (x); DROP TABLE t").unwrap();
    drop(conn);
    let other = fs::read(&empty).unwrap();
    for bytes in [&ours[..100], &other[..100], &ours[..16], &ours[..1000]] {
        let file = place.write("header.db", bytes);
        let file = file.to_str().unwrap();
        for command in [
            &["query", file, "SELECT 1"][..],
            &["doctor", file],
            &["import", file],
            &["export", file, "-o", "tables"],
            &["rewrite", file, "-o", "new.pftrace"],
        ] {
            let said = run(command);
            assert_eq!(said.code, Some(1), "{command:?}");
            assert!(
                said.stderr.contains("header.db is no database of timebase"),
                "{command:?}: {}",
                said.stderr
            );
        }
    }
    let said = run(&["query", empty.to_str().unwrap(), "SELECT 1"]);
    assert!(said.stderr.contains("timebase did not make it"), "{}", said.stderr);
}

#[test]
fn fp8_import_lists_all_tables_that_it_can_choose() {
    let help = run(&["import", "--help"]).stdout;
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = run(&["import", "x", "--tables", "nothing"]).stderr;
    for subject in timebase_import::Subject::ALL {
        let name = subject.name();
        assert!(
            help.contains(&format!("{name} (")) || help.contains(&format!("{name},")),
            "{name}: {help}"
        );
        assert!(said.contains(name), "{name}: {said}");
    }
}

#[test]
fn someone_names_a_place_where_no_database_can_be() {
    let place = Place::new();
    let trace = data("nearest.pftrace");
    let trace = trace.to_str().unwrap();
    let refused = |output: &str| {
        let said = run(&["import", trace, "--force", "-o", output]);
        assert_ne!(said.code, Some(0));
        assert_eq!(place.files(), Vec::<String>::new());
        said
    };
    let dash = refused("-");
    assert_eq!(dash.code, Some(2));
    assert!(dash.stderr.contains("standard output") && dash.stderr.contains("-o OUT.db"));
    assert!(!repository().join("-").exists());

    let directory = place.path("");
    let said = refused(directory.to_str().unwrap()).stderr;
    assert!(said.contains("is a directory") && said.contains("trace.db"), "{said}");
    let nowhere = place.path("no/such/out.db");
    let said = refused(nowhere.to_str().unwrap()).stderr;
    assert!(said.contains("there is no directory") && said.contains("no/such;"), "{said}");
    let said = refused("/dev/null").stderr;
    assert!(said.contains("device or a pipe"), "{said}");
}

#[test]
fn someone_names_a_source_that_cannot_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let said = place.refuse(&place.path(""), &[]);
    assert!(said.contains("is a directory; name a trace file"), "{said}");
    for name in ["empty.pftrace", "empty.gz"] {
        let bytes = if name == "empty.gz" { gzip(b"") } else { Vec::new() };
        let said = place.refuse(&place.write(name, &bytes), &[]);
        assert!(said.contains(&format!("{name} is empty")), "{said}");
    }
    let said = place.refuse(&place.path("missing.pftrace"), &[]);
    assert!(said.contains("missing.pftrace: No such file"), "{said}");
    let secret = place.write("secret.pftrace", b"\n\x02X\x01");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o000)).unwrap();
    // Root may read it all the same.
    if fs::File::open(&secret).is_err() {
        let said = place.refuse(&secret, &[]);
        assert!(said.contains("Permission denied"), "{said}");
    }
}

#[test]
fn someone_whose_temporary_directory_is_full_reads_of_tmpdir() {
    let place = Place::new();
    let script = format!(
        "trap '' XFSZ; ulimit -f 64; TMPDIR='{}' exec '{PROGRAM}' query '{}' 'SELECT 1'",
        place.path("").display(),
        data("system.pftrace").display(),
    );
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    let said = Said::from(output);
    assert_eq!((said.code, said.stdout.as_str()), (Some(1), ""));
    assert!(said.stderr.contains("temporary database in"), "{}", said.stderr);
    assert!(said.stderr.contains("TMPDIR"), "{}", said.stderr);
    assert!(!said.stderr.contains("-o"), "{}", said.stderr);
    assert_eq!(place.files(), Vec::<String>::new());

    let mut command = Command::new(PROGRAM);
    command.args(["clocks", data("nearest.pftrace").to_str().unwrap()]);
    let said = Said::from(command.env("TMPDIR", place.path("no")).output().unwrap());
    assert_eq!(said.code, Some(1));
    assert!(said.stderr.contains("TMPDIR"), "{}", said.stderr);
}

#[test]
fn someone_begins_with_a_file_or_another_word_and_reads_which_command_is_meant() {
    let place = Place::new();
    place.import(&data("nearest.pftrace"), &[]);
    let database = place.path("out.db");
    let trace = data("nearest.pftrace");
    let tip = |word: &str| {
        let said = run(&[word]);
        assert_eq!(said.code, Some(2), "{word}");
        let tips: Vec<&str> = said.stderr.lines().filter(|line| line.contains("tip:")).collect();
        assert_eq!(tips.len(), 1, "{}", said.stderr);
        tips[0].to_owned()
    };
    assert!(tip(trace.to_str().unwrap()).contains("timebase import"));
    assert!(
        tip(database.to_str().unwrap())
            .contains("that is a database: query it with 'timebase query")
    );
    assert!(tip("missing.pftrace").contains("timebase import TRACE"));
    assert!(tip("SELECT 1").contains("timebase query"));
    assert!(tip("convert").contains("timebase import"));
    assert!(tip("reports").contains("--report NAME"));
    assert!(tip("usage").contains("--help"));
    assert!(tip("impor").contains("'import'"));
}

#[test]
fn someone_misspells_a_name_and_reads_what_is_there() {
    let place = Place::new();
    place.import(&data("app.pftrace"), &[]);
    let database = place.path("out.db");
    let tip = |sql: &str| {
        let said = run(&["query", database.to_str().unwrap(), sql]);
        assert_eq!((said.code, said.stdout.as_str()), (Some(1), ""), "{sql}");
        let (error, tip) = said.stderr.split_once("  tip: ").unwrap_or((&said.stderr, ""));
        assert!(error.starts_with("timebase: error: "), "{error}");
        tip.trim().to_owned()
    };
    assert_eq!(tip("SELECT * FROM slcies"), "did you mean slices?");
    // The same holds for a trace, whose temporary database only has the named views.
    let trace = data("app.pftrace");
    let said = run(&["query", trace.to_str().unwrap(), "SELECT * FROM slcies"]);
    assert!(said.stderr.trim_end().ends_with("tip: did you mean slices?"), "{}", said.stderr);
    assert_eq!(tip("SELECT * FROM slice JOIN thred USING (utid)"), "did you mean thread?");
    assert_eq!(tip("SELECT * FROM main.trak"), "did you mean track?");
    assert!(tip("SELECT * FROM elephants").contains("timebase help tables"));
    assert_eq!(tip("SELECT durr FROM slice"), "did you mean dur?");
    assert_eq!(
        tip("SELECT s.trackid, t.id FROM slice AS s JOIN track t"),
        "did you mean track_id?"
    );
    // A view has it joined.
    assert!(tip("SELECT thread_name FROM slice").contains("a column of thread_slice"));
    let all = tip("SELECT s.elephant FROM flow s");
    assert_eq!(all, "flow has the columns id, slice_out, slice_in, trace_id, arg_set_id");
    assert_eq!(tip("SELECT to_bootime(6, 0, 1)"), "did you mean to_boottime?");
    assert_eq!(tip("SELECT EXTRACT_ARGS(1, 'x')"), "did you mean extract_arg?");
    // No hints for a statement that is wrong in itself.
    assert_eq!(tip("SELEC 1"), "");
    assert_eq!(tip("SELECT to_boottime(1)"), "");

    let shell = crate::support::run_with_input(
        &["shell", database.to_str().unwrap()],
        "SELECT durr FROM slice;\n",
    );
    assert!(shell.stderr.contains("tip: did you mean dur?"), "{}", shell.stderr);
    let report =
        place.write("report.sql", b"-- # All\nSELECT 1;\n-- # Slices\nSELECT * FROM slize;\n");
    let said = run(&["query", database.to_str().unwrap(), "--file", report.to_str().unwrap()]);
    assert!(said.stderr.contains("tip: did you mean slice"), "{}", said.stderr);
}

#[test]
fn fp7_someone_brings_sql_of_trace_processor_and_reads_what_becomes_of_it() {
    let place = Place::new();
    place.import(&data("nearest.pftrace"), &[]);
    let database = place.path("out.db");
    let tip = |sql: &str| {
        let said = run(&["query", database.to_str().unwrap(), sql]);
        assert_eq!(said.code, Some(1), "{sql}");
        said.stderr.split_once("  tip: ").map(|(_, tip)| tip.trim().to_owned()).unwrap()
    };
    let page = "'timebase help coming-from-trace-processor'";
    for sql in ["SELECT thread_name(1)", "SELECT RUN_METRIC('android/android_startup.sql')"] {
        assert!(tip(sql).contains(page), "{sql}: {}", tip(sql));
    }
    for (sql, packets) in [
        ("SELECT * FROM android_network_packets", "network_packet"),
        ("SELECT * FROM memory_snapshot_node", "memory_tracker_snapshot"),
    ] {
        let said = tip(sql);
        let of_type = format!("WHERE type = '{packets}', and read them with packet_json(data)");
        assert!(said.contains(&of_type), "{said}");
    }
    let snapshot = tip("SELECT * FROM Memory_Snapshot");
    assert!(snapshot.contains("WHERE type = 'memory_tracker_snapshot'"), "{snapshot}");
}

#[test]
fn someone_brings_a_script_of_trace_processor_and_it_runs() {
    let place = Place::new();
    place.import(&data("nearest.pftrace"), &[]);
    let database = place.path("out.db");
    let database = database.to_str().unwrap();
    let modules = place.path("modules/mine");
    std::fs::create_dir_all(&modules).unwrap();
    let module = "CREATE PERFETTO FUNCTION plus_one(x LONG) RETURNS LONG AS SELECT $x + 1;
        CREATE PERFETTO MACRO twice(x Expr) RETURNS Expr AS 2 * ($x);";
    std::fs::write(modules.join("sums.sql"), module).unwrap();
    let packages = place.path("modules");
    let packages = packages.to_str().unwrap();
    let script = "INCLUDE PERFETTO MODULE mine.sums;
        CREATE PERFETTO TABLE t AS SELECT :n AS n;
        SELECT plus_one(twice!(n)) AS result FROM t";
    let csv = ["--format", "csv"];
    let with = ["query", database, "--sql-package", packages, "-p", "n=5", script];
    let said = run(&[&with[..], &csv].concat());
    assert_eq!((said.stdout.as_str(), said.code), ("result\n11\n", Some(0)), "{}", said.stderr);
    // Without the folder, the error says how to name it.
    let said = run(&["query", database, "-p", "n=5", script]);
    assert!(said.stderr.contains("tip: name the folder with --sql-package DIR"), "{}", said.stderr);
    assert_eq!(said.code, Some(1));
    // The shell keeps its own objects, and the database does not get them.
    let input = "INCLUDE PERFETTO MODULE mine.sums;\nSELECT twice!(21) AS x;\n";
    let shell = ["shell", database, "--sql-package", packages, "-F", "csv"];
    let said = crate::support::run_with_input(&shell, input);
    assert_eq!(said.stdout, "x\n42\n", "{}", said.stderr);
    let said = run(&[
        "query",
        database,
        "SELECT count(*) FROM sqlite_schema WHERE name IN ('t', 'plus_one')",
        "-F",
        "csv",
    ]);
    assert_eq!(said.stdout.lines().nth(1), Some("0"));
    // An error names the module, the line and the column.
    std::fs::write(
        modules.join("wrong.sql"),
        "\nCREATE PERFETTO VIEW v AS SELECT missing FROM packet",
    )
    .unwrap();
    let said =
        run(&["query", database, "--sql-package", packages, "INCLUDE PERFETTO MODULE mine.wrong"]);
    assert!(
        said.stderr.contains("no such column: missing\n  mine.wrong, line 2, column 34:"),
        "{}",
        said.stderr
    );
}

#[test]
fn someone_asks_for_what_the_import_left_out_and_reads_that_it_did() {
    let place = Place::new();
    let ask = |options: &[&str], sql: &str| {
        place.import(&data("system.pftrace"), options);
        let database = place.path("out.db");
        let said = run(&["query", database.to_str().unwrap(), sql, "--format", "jsonl"]);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        (said.stdout, said.stderr)
    };
    let field = "SELECT packet_field(data, 'timestamp') AS t FROM packet LIMIT 1";
    let (rows, said) = ask(&["--no-data"], field);
    assert_eq!(rows, "{\"t\":null}\n", "the answer is what it was");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("--no-data") && said.contains("packet_field"), "{said}");
    assert_eq!(ask(&["--no-data"], "SELECT count(*) FROM packet").1, "");
    assert_eq!(ask(&[], field).1, "");

    let empty = "SELECT count(*) AS n FROM slice; SELECT * FROM sched LIMIT 0; SELECT 1 FROM slice";
    let (rows, said) = ask(&["--no-events"], empty);
    assert!(rows.contains("{\"n\":0}"), "{rows}");
    assert_eq!(said.lines().count(), 2, "once for each subject: {said}");
    assert!(said.contains("slice is empty because the import left it out"), "{said}");
    let (_, said) = ask(&["--tables", "sched"], empty);
    assert!(said.contains("slice is empty") && !said.contains("sched is empty"), "{said}");
    assert_eq!(ask(&["--tables", "sched"], "SELECT name FROM thread").1, "");
    assert_eq!(ask(&[], empty).1, "");
}

#[test]
fn every_table_that_is_said_to_be_left_out_is_empty_then() {
    let place = Place::new();
    let (conn, _) = place.import(&data("system.pftrace"), &["--no-events"]);
    let mut statement =
        conn.prepare("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')").unwrap();
    let tables: Vec<String> =
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let database = place.path("out.db");
    let mut told = 0;
    for table in tables {
        let sql = format!("SELECT * FROM {table} LIMIT 1");
        let said = run(&["query", database.to_str().unwrap(), &sql, "--format", "csv"]);
        if said.stderr.contains("left it out") {
            told += 1;
            assert_eq!(count(&conn, &format!("SELECT count(*) FROM {table}")), 0, "{table}");
        }
    }
    assert!(told > 30, "{told}");
}

#[test]
fn someone_imports_a_trace_of_memory_dumps_and_reads_where_they_are() {
    let packet = |field: u32, timestamp: u64| {
        let payload = Message::new().number(1, 7).0;
        Packet { timestamp: Some(timestamp), payload: Some((field, payload)), ..Packet::default() }
    };
    let mut packets: Vec<Packet> = (0..1200).map(|n| packet(73, n)).collect();
    packets.extend((0..3).map(|n| packet(88, n)));
    let bytes = trace(&packets);
    let place = Place::new();
    let file = place.write("profile.pftrace", &bytes);
    let (conn, said) = place.import(&file, &[]);
    assert!(said.contains("no table    1,200  memory_tracker_snapshot\n"), "{said}");
    assert!(said.contains("                3  network_packet\n"), "{said}");
    assert!(said.contains("packet_json(data)"), "{said}");
    assert_eq!(
        count(&conn, "SELECT count(*) FROM packet WHERE type = 'memory_tracker_snapshot'"),
        1200
    );
    let (_, said) = place.import(&file, &["--no-data"]);
    assert!(said.contains("without --no-data"), "{said}");
    // If a trace has tables for all but a few packets, it says nothing about them.
    let (_, said) = place.import(&data("system.pftrace"), &[]);
    assert!(!said.contains("no table"), "{said}");
}
