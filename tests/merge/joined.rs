//! Several recordings in one file (rule X45).

use rusqlite::Connection;
use timebase_lab::encode::{Message, trace_of};

use crate::support::{Imported, Place, data, import, rows};

const S: u64 = 1_000_000_000;

fn new() -> Message {
    Message::new()
}

/// A packet of a sequence at a time.
fn at(sequence: u64, ts: u64, fields: Message) -> Message {
    fields.number(8, ts).number(10, sequence)
}

fn first(sequence: u64, ts: u64) -> Message {
    at(sequence, ts, new().number(87, 1))
}

fn snapshot(sequence: u64, boottime: u64) -> Message {
    let clock = |id, ts| new().number(1, id).number(2, ts);
    let clocks = new().message(1, clock(6, boottime)).message(1, clock(3, boottime));
    new().number(10, sequence).message(6, clocks)
}

fn uuid(msb: u64) -> Message {
    new().message(89, new().number(1, msb).number(2, 7))
}

fn config(fields: Message) -> Message {
    new().message(33, fields)
}

fn started(ts: u64) -> Message {
    at(1, ts, new().message(69, new().number(2, 1)))
}

fn track(uuid: u64, name: &str) -> Message {
    let described = new().number(1, uuid).text(2, name);
    new().number(10, 2).message(60, described)
}

/// The line of the log about a second recording.
fn joined(packets: &[Message]) -> Option<String> {
    let imported = Imported::of_bytes(&trace_of(packets), &[]);
    let sql =
        "SELECT packet_id || ': ' || message FROM import_log WHERE code = 'recordings_joined'";
    imported.rows(sql).concat().pop()
}

#[test]
fn x45_each_sign_of_a_second_recording_is_found_at_its_packet() {
    let session = |name| config(new().text(22, name));
    let cases = [
        (vec![uuid(1), at(2, S, new()), uuid(1)], "2: ", "trace_uuid"),
        // The service writes snapshots and its configuration before its uuid.
        (
            vec![session("a"), uuid(1), at(2, S, new()), snapshot(1, 2 * S), session("a"), uuid(1)],
            "3: ",
            "trace_uuid",
        ),
        (vec![session("a"), session("a"), at(2, S, new()), session("b")], "3: ", "another session"),
        (vec![config(new().number(27, 5)), config(new().number(27, 6))], "1: ", "another session"),
        (vec![started(S), started(2 * S)], "1: ", "tracing_started"),
        (
            vec![first(2, S), first(3, S), at(2, S, new()), first(3, 2 * S), first(2, 2 * S)],
            "3: ",
            "begin again",
        ),
        (
            vec![snapshot(2, 60 * S), at(2, 61 * S, new()), snapshot(2, 49 * S)],
            "2: ",
            "BOOTTIME goes back",
        ),
        (
            vec![
                snapshot(2, S),
                track(1, "rank 0"),
                at(2, 3 * S, new()),
                snapshot(2, 2 * S),
                track(1, "rank 0"),
                track(1, "rank 1"),
            ],
            "3: ",
            "older than its sequence",
        ),
    ];
    for (packets, place, sign) in cases {
        let found = joined(&packets).unwrap_or_default();
        assert!(found.starts_with(place) && found.contains(sign), "{found}, not {place}{sign}");
    }
}

#[test]
fn x45_one_recording_is_not_two() {
    let guest = |packet: Message| packet.number(98, 5);
    for packets in [
        // A guest has its own uuid, and starts at its own time.
        vec![uuid(1), guest(uuid(2)), started(S), guest(started(2 * S))],
        vec![started(S), started(S)],
        vec![config(new().number(1, 3)), config(new().text(22, "a"))],
        // One writer that begins again while others go on, and a number that is used again.
        vec![first(2, S), first(3, S), first(3, 2 * S), at(2, 3 * S, new()), first(2, 3 * S)],
        vec![first(2, S), first(3, S), first(3, 2 * S)],
        vec![snapshot(2, 60 * S), snapshot(2, 51 * S), snapshot(3, 20 * S)],
        // A late snapshot alone, and a track that gets another name.
        vec![snapshot(2, S), track(1, "a"), at(2, 3 * S, new()), snapshot(2, 2 * S), track(2, "b")],
        vec![snapshot(2, S), track(1, "a"), at(2, 3 * S, new()), snapshot(2, 4 * S), track(1, "b")],
    ] {
        assert_eq!(joined(&packets), None, "{packets:?}");
    }
}

#[test]
fn x45_no_recorded_trace_is_two() {
    for trace in ["app", "desktop", "desktop-compact", "sdk", "system", "system-compressed"] {
        let imported = Imported::new(&format!("{trace}.pftrace"), &[]);
        let found =
            imported.count("SELECT count(*) FROM import_log WHERE code = 'recordings_joined'");
        assert_eq!(found, 0, "{trace}");
    }
}

const STEPS: &str =
    "SELECT k.name, s.dur, f.name FROM slice AS s JOIN track AS k ON k.id = s.track_id
                     JOIN trace_file AS f ON f.id = k.trace_file_id ORDER BY s.ts, s.id";

#[test]
fn x45_two_recordings_of_one_file_are_split() {
    let trace = "reports/41-cat-same-uuid.pftrace";
    let whole = Imported::new(trace, &[]);
    let said = whole.rows("SELECT message FROM import_log WHERE code = 'recordings_joined'");
    assert_eq!(
        said,
        [[
            "a second recording begins at packet 4, byte 83: a snapshot that is older than its sequence, and then \
           another descriptor for a known track; both use sequences 1 and track uuids 1"
        ]]
    );
    let steps = |imported: &Imported| {
        imported.rows(STEPS).iter().map(|row| row.join(" ")).collect::<Vec<_>>()
    };
    let split = Imported::new(trace, &["--split"]);
    assert_eq!(
        steps(&split),
        ["rank 0 4000000 41-cat-same-uuid.pftrace#1", "rank 1 6000000 41-cat-same-uuid.pftrace#2"]
    );
    assert_eq!(split.count("SELECT count(*) FROM import_log WHERE code = 'recordings_joined'"), 0);
}

/// Recordings joined by `cat`, plain and compressed as a whole, give the rows of the recordings as files.
#[test]
fn x45_a_split_file_has_the_rows_of_its_recordings() {
    let recordings = ["system.pftrace", "desktop.pftrace", "system-compressed.pftrace"];
    let bytes = recordings.map(|name| std::fs::read(data(name)).unwrap());
    let joined = bytes.concat();
    let place = Place::new();
    let plain = place.write("joined.pftrace", &joined);
    let compressed = zstd::encode_all(&joined[..], 1).unwrap();
    let compressed = place.write("joined.zst", &compressed);
    let counts = |conn: &Connection, file: &str| {
        let file = format!("(SELECT id FROM trace_file WHERE name = '{file}')");
        rows(
            conn,
            &format!(
                "SELECT type, count(*), min(offset), sum(size) FROM packet WHERE trace_file_id = {file} GROUP BY type"
            ),
        )
    };
    for (name, trace) in [("joined.pftrace", plain), ("joined.zst", compressed)] {
        let split = Imported::of(&trace, &["--split"]);
        for (number, recording) in (1..).zip(recordings) {
            let alone = place.path(format!("{name}{number}.db"));
            let said = import(&data(recording), &alone, &[]);
            assert_eq!(said.code, Some(0));
            let alone = Connection::open(alone).unwrap();
            let name_alone: String =
                alone.query_row("SELECT name FROM trace_file", [], |row| row.get(0)).unwrap();
            let found = counts(&split.conn, &split_name(&split.conn, number));
            assert_eq!(found, counts(&alone, &name_alone), "{name}#{number}");
        }
        assert_eq!(split.count("SELECT count(*) FROM trace_file WHERE NOT is_container"), 3);
    }
}

/// The name of a recording of a file that was split.
fn split_name(conn: &Connection, number: usize) -> String {
    let sql = format!("SELECT name FROM trace_file WHERE name LIKE '%#{number}'");
    rows(conn, &sql).concat().concat()
}
