//! Traces that would fill the memory or the disk (the bombs of `timebase_lab::synth`), small enough
//! to take a second each. `cargo bench -- bombs` has them in full size.
//!
//! Nothing here measures time. The memory is that of the program's process, measured while it runs.
//! So the limits are wide enough for any allocator, and still far below the memory that the program
//! would need if its memory grew faster than the trace, or if it kept data in memory instead of in
//! temporary files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use timebase_lab::synth::bomb;

use crate::support::{PROGRAM, Place, Said, data, import};

const MEGABYTE: u64 = 1_000_000;

/// The peak values of a run of the program, as far as they were measured.
#[derive(Debug, Default, Clone, Copy)]
struct Peak {
    memory: u64,
    /// In files, with and without names.
    disk: u64,
}

/// Runs the program, and measures it repeatedly.
fn watched(trace: &Path, database: &Path, args: &[&str]) -> (Said, Peak) {
    let directory = database.parent().unwrap();
    let mut child = Command::new(PROGRAM)
        .env("TMPDIR", directory)
        .args(["import", "--force", "-o"])
        .args([database, trace])
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut peak = Peak::default();
    while child.try_wait().unwrap().is_none() {
        let now = seen(child.id(), directory);
        peak.memory = peak.memory.max(now.memory);
        peak.disk = peak.disk.max(now.disk);
        sleep(Duration::from_millis(4));
    }
    (child.wait_with_output().unwrap().into(), peak)
}

/// The current memory of a process; nothing if the system has no `/proc`.
fn seen(pid: u32, directory: &Path) -> Peak {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let memory = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let memory = memory.and_then(|text| text.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    // Files are measured one by one, and one may grow after another one is gone. Because each of
    // them only grows, values that are equal twice existed at the same time.
    let files = files_of(pid, directory);
    let disk = match files == files_of(pid, directory) {
        true => files.values().sum(),
        false => 0,
    };
    Peak { memory: memory.unwrap_or(0) << 10, disk }
}

/// The sizes of the files of a directory that a process has open, with and without names, by their
/// numbers. Before the program has started, the process still has those of the tests.
fn files_of(pid: u32, directory: &Path) -> BTreeMap<u64, u64> {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten();
    let sizes = files.flatten().filter_map(|file| {
        let found = fs::metadata(file.path()).ok()?;
        let is_counted = found.is_file() && fs::read_link(file.path()).ok()?.starts_with(directory);
        Some((file_number(&found), found.len())).filter(|_| is_counted)
    });
    sizes.collect()
}

#[cfg(unix)]
fn file_number(found: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(found)
}

#[cfg(not(unix))]
fn file_number(_: &fs::Metadata) -> u64 {
    0
}

fn write(place: &Place, name: &str, count: u64) -> std::path::PathBuf {
    let path = place.path(format!("{name}-{count}.pftrace"));
    let mut file = fs::File::create(&path).unwrap();
    bomb(name).unwrap().write(count, &mut file).unwrap();
    path
}

/// Imports a bomb of this size; the result must be a database in which SQLite finds no error.
fn peak(name: &str, count: u64) -> Peak {
    let (place, bombs) = (Place::new(), Place::new());
    let trace = write(&bombs, name, count);
    let database = place.path("out.db");
    let (said, peak) = watched(&trace, &database, &[]);
    assert_eq!(said.code, Some(0), "{name}: {}", said.stderr);
    let conn = rusqlite::Connection::open(&database).unwrap();
    let check = "SELECT group_concat(integrity_check) FROM pragma_integrity_check";
    let check: String = conn.query_row(check, [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok", "{name}");
    peak
}

/// Endless items of a trace take no memory: waiting packets, repetitions, texts, sets of arguments,
/// slices without an end, flows, packets in compressed packets, lines of `import_log`.
#[test]
fn memory_does_not_grow_with_what_is_put_aside() {
    for (name, count) in [
        ("small", 20_000),
        ("zstd-of-packets", 20_000),
        ("zlib-packet", 80_000),
        ("waiting", 20_000),
        ("names", 10_000),
        ("arguments", 10_000),
        ("flows", 10_000),
        ("deep-slices", 10_000),
        ("bundle", 20_000),
        ("tags", 10_000),
    ] {
        let (small, large) = (peak(name, count), peak(name, 4 * count));
        let grown = large.memory.saturating_sub(small.memory);
        assert!(
            grown < 24 * MEGABYTE,
            "{name}: {small:?} with {count}, {large:?} with four times as many"
        );
    }
}

#[test]
#[ignore = "heavy"]
fn ws16_memory_does_not_grow_with_rectangles_that_are_all_different() {
    let (small, large) = (peak("rectangles", 300_000), peak("rectangles", 1_200_000));
    let grown = large.memory.saturating_sub(small.memory);
    assert!(grown < 24 * MEGABYTE, "{small:?} with 300,000, {large:?} with four times as many");
}

/// Items that a trace names once are in memory, each with at most this many bytes:
/// docs/reference.md, "Memory and disk".
#[test]
#[ignore = "heavy"]
fn memory_grows_by_a_bounded_number_of_bytes_for_each_thing_that_is_named() {
    for (name, count, most) in [
        ("sequences", 5000, 1000),
        ("sequence-clocks", 5000, 1000),
        ("backward-chains", 2000, 2000),
        ("clocks", 10_000, 500),
        ("interned", 20_000, 500),
        ("interned-by-many", 100_000, 500),
        ("threads", 5000, 2000),
        ("processes", 5000, 1000),
        ("uuids", 5000, 2500),
        ("track-chain", 2000, 3000),
        ("track-loop", 2000, 3000),
        ("open-slices", 5000, 2500),
        ("asyncs", 5000, 3000),
        ("atrace-asyncs", 3000, 4000),
        ("counters", 3000, 2000),
        ("gpu-contexts", 3000, 4000),
        ("event-names", 3000, 2000),
        ("machines", 1000, 8000),
        ("cpus", 5000, 1000),
    ] {
        let (small, large) = (peak(name, count), peak(name, 4 * count));
        let grown = large.memory.saturating_sub(small.memory);
        let allowed = 24 * MEGABYTE + 3 * count * most;
        assert!(
            grown < allowed,
            "{name}: {small:?} with {count}, {large:?} with four times as many"
        );
    }
}

/// The message of an import that must fail, and leaves nothing behind.
fn refused(trace: &Path, args: &[&str]) -> String {
    let place = Place::new();
    place.refuse(trace, args)
}

#[test]
fn more_memory_than_is_allowed_is_an_error_that_says_how_far_it_came() {
    let place = Place::new();
    let trace = write(&place, "machines", 20_000);
    let said = refused(&trace, &["--max-memory", "8M"]);
    assert!(
        said.contains("needs more than 8MB of memory")
            && said.contains(" packets); nothing was changed")
            && said.contains("--max-memory"),
        "{said}"
    );
    // Data that is looked up while the trace is read counts as well.
    let trace = write(&place, "atrace-asyncs", 20_000);
    let said = refused(&trace, &["--max-memory", "10MiB"]);
    assert!(said.contains("10MiB of memory"), "{said}");
    assert!(said.contains("with all of the trace read"), "{said}");
}

#[test]
fn what_is_too_large_to_be_read_is_kept_and_named() {
    let place = Place::new();
    for (name, count, why) in [
        ("name", 33 << 20, "more than 33554432 are kept but not read"),
        ("empty-clocks", 100_000, "more than 65536 readings"),
        ("clocks-in-one", 70_000, "more than 65536 readings"),
        ("log-packet", (1 << 20) + 1, "more than 1048576 lines"),
    ] {
        let (conn, _) = place.import(&write(&place, name, count), &[]);
        let found: (i64, i64, String) = conn
            .query_row(
                "SELECT (SELECT count(*) FROM packet),
                        (SELECT value FROM stats WHERE name = 'payloads_too_large'), message
                 FROM import_log WHERE code = 'payload_too_large'",
                [],
                |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
            )
            .unwrap();
        assert_eq!((found.0, found.1), (1, 1), "{name}");
        assert!(found.2.contains(why), "{name}: {}", found.2);
    }
}

#[test]
fn a_descriptor_of_more_than_any_schema_has_is_named() {
    let place = Place::new();
    let trace = write(&place, "descriptor", 5 << 20);
    let (conn, _) = place.import(&trace, &[]);
    let sql = "SELECT message FROM import_log WHERE code = 'descriptor_unusable'";
    let said: String = conn.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(said, "the descriptor is larger than 4194304 bytes");
    // A thousand of them are used.
    let (conn, _) = place.import(&write(&place, "descriptors", 1003), &[]);
    let sql = "SELECT count(*), min(message) FROM import_log WHERE code = 'descriptor_unusable'";
    let found: (i64, String) =
        conn.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    assert_eq!(found, (3, "the trace has more than 1000 of them".to_owned()));
}

#[test]
fn v3_a_path_has_at_most_256_hops() {
    let place = Place::new();
    let trace = write(&place, "clock-chain", 1000);
    let (conn, _) = place.import(&trace, &[]);
    let row = |sql: &str| -> (i64, i64) {
        conn.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
    };
    let hops = "SELECT max(hops), count(*) FROM clock WHERE hops > 0";
    assert_eq!(row(hops), (256, 256));
    let times = "SELECT count(ts), sum(unresolved = 'no_path') FROM packet WHERE clock_id IS NOT NULL AND type IS NULL";
    let (placed, not) = row(times);
    assert_eq!((placed, placed + not), (255, 1000));
    let path: String =
        conn.query_row("SELECT path FROM clock WHERE hops = 256", [], |row| row.get(0)).unwrap();
    assert!(path.contains("(225 more)") && path.ends_with("→ BOOTTIME"), "{path}");
}

#[test]
fn a_window_that_takes_too_much_memory_is_refused_with_what_to_do() {
    let place = Place::new();
    let said = refused(&write(&place, "zstd-window", 31), &[]);
    assert!(said.contains("zstd -dc --long=31 FILE"), "{said}");
    let (conn, _) = place.import(&write(&place, "zstd-window", 27), &[]);
    let packets = "SELECT count(*) FROM packet";
    assert_eq!(conn.query_row(packets, [], |row| row.get(0)), Ok(1));
    // Inside a packet it is one unreadable packet; its contents are in fact not compressed, and are
    // found.
    let (conn, said) = place.import(&write(&place, "zstd-packet-window", 31), &[]);
    assert_eq!(conn.query_row(packets, [], |row| row.get(0)), Ok(4));
    assert!(said.contains("1 of 4 packets cannot be read"), "{said}");
}

#[test]
fn what_nests_without_end_is_cut_and_told() {
    let place = Place::new();
    for (name, count) in
        [("deep-annotations", 10_000), ("deep-nested-values", 10_000), ("nested-packets", 100)]
    {
        let (conn, _) = place.import(&write(&place, name, count), &[]);
        timebase_sql::packets::register(&conn).unwrap();
        let json = "SELECT packet_json(data) FROM packet";
        let said = conn.query_row(json, [], |row| row.get::<_, String>(0));
        match name {
            "nested-packets" => assert_eq!(said, Err(rusqlite::Error::QueryReturnedNoRows)),
            _ => {
                let said = said.unwrap_err().to_string();
                assert!(said.ends_with("messages are nested more than 100 deep"), "{said}");
            }
        }
    }
}

/// The largest disk space of an import of the trace, without a limit.
fn unlimited(trace: &Path) -> (u64, Peak) {
    let place = Place::new();
    let database = place.path("out.db");
    let (said, peak) = watched(trace, &database, &[]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    (fs::metadata(database).unwrap().len(), peak)
}

#[test]
fn max_size_is_never_exceeded_and_leaves_nothing_where_it_does_not_suffice() {
    let bombs = Place::new();
    for trace in [
        data("system.pftrace"),
        // All of its rows are changed at the end, and SQLite makes its indexes.
        write(&bombs, "waiting", 40_000),
        // Much of it is sorted.
        write(&bombs, "flows", 40_000),
    ] {
        let (size, free) = unlimited(&trace);
        let place = Place::new();
        let mut had_room = false;
        for percent in [1, 50, 95, 130, 300, 800] {
            let limit = size * percent / 100;
            let database = place.path("out.db");
            let (said, peak) = watched(&trace, &database, &["--max-size", &limit.to_string()]);
            assert!(
                peak.disk <= limit,
                "{trace:?}: {peak:?} with {limit}, and {free:?} without a limit"
            );
            match said.code {
                Some(0) => {
                    had_room = true;
                    assert!(fs::metadata(&database).unwrap().len() <= limit);
                    fs::remove_file(&database).unwrap();
                }
                _ => {
                    let why = format!("{trace:?} with {limit}: {}", said.stderr);
                    assert!(!had_room, "{why}");
                    assert!(said.stderr.contains(" of disk, "), "{why}");
                    assert!(said.stderr.contains(" packets); nothing was changed"), "{why}");
                }
            }
            assert_eq!(place.files(), Vec::<String>::new(), "{limit}");
        }
        assert!(had_room, "{trace:?}");
    }
}

#[test]
fn max_size_keeps_the_database_that_was_there() {
    let place = Place::new();
    let older = place.path("out.db");
    let trace = data("nearest.pftrace");
    assert_eq!(import(&trace, &older, &[]).code, Some(0));
    let before = fs::read(&older).unwrap();
    let bomb = write(&place, "zlib-packet", 8_000_000);
    let said = import(&bomb, &older, &["--force", "--max-size", "2M"]);
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    assert!(said.stderr.contains("more than 2MB of disk"), "{}", said.stderr);
    assert_eq!(fs::read(&older).unwrap(), before);
    assert_eq!(place.files().len(), 2);
}

#[test]
fn a_size_that_is_none_is_told() {
    for args in [["--max-size", "big"], ["--max-memory", "much"], ["--max-size", "1.5G"]] {
        let said = import(&data("nearest.pftrace"), Path::new("never.db"), &args);
        assert_eq!(said.code, Some(2), "{args:?}");
        assert!(said.stderr.contains("500M, 2G or 4GiB"), "{}", said.stderr);
    }
}
