//! Damaged traces from the outside (rules Z). tests/reliability.rs counts how much of them an
//! import keeps, over many copies.

use std::fs;
use std::io::Write;

use rusqlite::Connection;

use crate::support::{Place, count, data, rows, run};
use timebase_lab::encode::{ClockSnapshot, Packet, Reading, trace};

/// A recorded trace, and the positions where each of its packets begins (with its tag) and ends.
fn sdk(place: &Place) -> (Vec<u8>, Vec<(usize, usize)>) {
    let bytes = fs::read(data("sdk.pftrace")).unwrap();
    let (conn, _) = place.import(&data("sdk.pftrace"), &[]);
    let mut statement =
        conn.prepare("SELECT offset, offset + size FROM packet ORDER BY id").unwrap();
    let ends = statement.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)));
    let mut begin = 0;
    let packets = ends.unwrap().map(|packet| {
        let (_, end) = packet.unwrap();
        (std::mem::replace(&mut begin, end as usize), end as usize)
    });
    let packets = packets.collect();
    (bytes, packets)
}

/// The only row.
fn text(conn: &Connection, sql: &str) -> String {
    let rows = rows(conn, sql);
    assert_eq!(rows.len(), 1, "{sql}");
    rows[0].join("|")
}

const PACKETS: &str = "SELECT timestamp, seq_id, type, size, data FROM packet ORDER BY id";

#[test]
fn z1_what_is_behind_damage_is_imported_and_the_damage_told() {
    let place = Place::new();
    let (mut bytes, packets) = sdk(&place);
    let whole = rows(&place.import(&data("sdk.pftrace"), &[]).0, PACKETS);
    let at = packets[1001].0;
    bytes[at] = 0x0f;
    let path = place.write("damaged.pftrace", &bytes);
    let (conn, said) = place.import(&path, &[]);
    let size = packets[1001].1 - at;
    let told = format!(
        "byte {at} starts no packet; {size} bytes are left out, and the 4824 packets around them read"
    );
    assert!(said.contains(&told), "{said}");
    let mut expected = whole;
    expected.remove(1001);
    assert_eq!(rows(&conn, PACKETS), expected);
    let log = "SELECT severity, code, offset, size, packet_id, message FROM import_log";
    let line = text(&conn, log);
    assert_eq!(line, format!("error|damaged|{at}|{size}|[NULL]|byte {at} starts no packet"));
    let stats = "SELECT group_concat(name || ' ' || value) FROM stats WHERE name LIKE 'damaged%'";
    assert_eq!(text(&conn, stats), format!("damaged_bytes {size},damaged_regions 1"));
}

#[test]
fn z1_several_damages_are_one_line_of_the_summary() {
    let place = Place::new();
    let (mut bytes, packets) = sdk(&place);
    for packet in [200, 900, 2000] {
        bytes[packets[packet].0] = 0x0f;
    }
    bytes.truncate(packets[4000].1 - 1);
    let path = place.write("damaged.pftrace", &bytes);
    let (conn, said) = place.import(&path, &[]);
    let lost: usize =
        [200, 900, 2000, 4000].iter().map(|&packet| packets[packet].1 - packets[packet].0).sum();
    let told = format!(
        "4 places are damaged; {} bytes are left out, and the 3997 packets around them read",
        lost - 1
    );
    assert!(said.contains(&told), "{said}");
    let codes = "SELECT group_concat(code) FROM (SELECT code FROM import_log ORDER BY id)";
    assert_eq!(text(&conn, codes), "damaged,damaged,damaged,cut");
}

#[test]
fn z3_a_packet_that_is_too_large_to_be_read_is_not_looked_into() {
    let place = Place::new();
    let of_time = |timestamp| Packet { timestamp: Some(timestamp), seq: 3, ..Packet::default() };
    // A recorder's test may write this: a trace in a packet of a trace.
    let mut inside = trace(&(0..100).map(of_time).collect::<Vec<_>>());
    inside.resize(33 << 20, 0);
    let large = Packet { payload: Some((900, inside)), ..of_time(5) };
    let path = place.write("large.pftrace", &trace(&[of_time(1), large, of_time(9)]));
    let (conn, _) = place.import(&path, &[]);
    let packets = "SELECT group_concat(timestamp) FROM packet";
    assert_eq!(text(&conn, packets), "1,5,9");
    let codes = "SELECT group_concat(code) FROM import_log";
    assert_eq!(text(&conn, codes), "payload_too_large");
}

#[test]
fn z1_a_trace_may_begin_anywhere() {
    let place = Place::new();
    let (bytes, packets) = sdk(&place);
    let whole = rows(&place.import(&data("sdk.pftrace"), &[]).0, PACKETS);
    for begin in (packets[3000].0..packets[3003].1).step_by(3) {
        let path = place.write("late.pftrace", &bytes[begin..]);
        let (conn, _) = place.import(&path, &[]);
        let first = packets.iter().position(|packet| packet.0 >= begin).unwrap();
        assert_eq!(rows(&conn, PACKETS), whole[first..], "from byte {begin}");
    }
}

#[test]
fn z2_z5_random_bytes_and_other_files_are_no_traces() {
    let place = Place::new();
    let mut state = 88_172_645_463_325_252_u64;
    for copy in 0..20 {
        let mut noise = Vec::new();
        while noise.len() < 200_000 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            noise.extend_from_slice(&state.to_le_bytes());
        }
        // The more likely beginnings of a packet first.
        noise[0] = [0x0a, 0x12, 0, 0xff][copy % 4];
        let path = place.write("noise", &noise);
        let said = place.refuse(&path, &[]);
        assert!(said.contains("is not a trace"), "{said}");
        fs::remove_file(path).unwrap();
    }
    for other in ["Cargo.lock", "docs/images/datasette-table.png", "schema/perfetto.descriptor"] {
        let path = crate::support::repository().join(other);
        let said = place.refuse(&path, &[]);
        assert!(said.contains("is not a trace"), "{other}: {said}");
    }
    let zeros = place.write("zeros", &[0; 100_000]);
    let said = place.refuse(&zeros, &[]);
    assert!(said.contains("is not a trace: byte 0 starts no packet"), "{said}");
}

/// A tar archive of one file.
fn tar(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut head = vec![0; 512];
    head[..name.len()].copy_from_slice(name.as_bytes());
    head[124..135].copy_from_slice(format!("{:011o}", bytes.len()).as_bytes());
    head[257..262].copy_from_slice(b"ustar");
    let sum = head.iter().map(|&byte| u32::from(byte)).sum::<u32>() + 8 * 32;
    head[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    [&head[..], bytes].concat()
}

#[test]
fn z5_a_trace_that_lies_in_an_archive_is_a_file_of_it() {
    let place = Place::new();
    let bytes = fs::read(data("sdk.pftrace")).unwrap();
    let path = place.write("traces.tar", &tar("sdk.pftrace", &bytes));
    let (conn, _) = place.import(&path, &[]);
    let packets = "SELECT count(*) FROM packet WHERE type IS NOT 'corrupt'";
    let archived = count(&conn, packets);
    let (conn, _) = place.import(&data("sdk.pftrace"), &[]);
    assert_eq!(archived, count(&conn, packets));
}

#[test]
fn z6_of_a_damaged_compressed_packet_what_came_before_the_damage_is_there() {
    let place = Place::new();
    let whole = fs::read(data("system-compressed.pftrace")).unwrap();
    let (conn, _) = place.import(&data("system-compressed.pftrace"), &[]);
    let packets = count(&conn, "SELECT count(*) FROM packet");
    // The first compressed packet, and how many packets it holds.
    let held = "SELECT offset, count(*) AS held FROM packet GROUP BY offset HAVING held > 1 ORDER BY held DESC LIMIT 1";
    let (at, held): (i64, i64) =
        conn.query_row(held, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let next = format!("SELECT min(offset) FROM packet WHERE offset > {at}");
    let size = count(&conn, &next) - at;
    let original = format!(
        "SELECT data FROM packet WHERE offset = {at} AND type IS NOT 'corrupt' ORDER BY id"
    );
    let held_bytes = rows(&conn, &original);
    let mut some = 0;
    for tenth in 1..10 {
        let mut bytes = whole.clone();
        bytes[(at + size * tenth / 10) as usize..][..16].fill(0x5a);
        let path = place.write("damaged.pftrace", &bytes);
        let (conn, said) = place.import(&path, &[]);
        assert!(said.contains("1 of "), "{said}");
        let kept = rows(&conn, &original);
        assert!(kept.len() < held as usize, "{tenth}");
        // The packets before the last one are unchanged; the last one may have wrong bytes.
        let sure = kept.len().saturating_sub(1);
        assert_eq!(kept[..sure], held_bytes[..sure], "{tenth}");
        some += sure;
        let others = format!("SELECT count(*) FROM packet WHERE offset <> {at}");
        assert_eq!(count(&conn, &others), packets - held, "{tenth}");
        let corrupt =
            format!("SELECT count(*) FROM packet WHERE offset = {at} AND type = 'corrupt'");
        assert_eq!(count(&conn, &corrupt), 1, "{tenth}");
    }
    assert!(some > 0);
}

#[test]
fn z3_z6_what_follows_a_compressed_packet_that_lacks_a_piece_is_there() {
    let place = Place::new();
    let whole = fs::read(data("system-compressed.pftrace")).unwrap();
    let (conn, _) = place.import(&data("system-compressed.pftrace"), &[]);
    let packets = count(&conn, "SELECT count(*) FROM packet");
    let carriers =
        rows(&conn, "SELECT offset, count(*) FROM packet GROUP BY offset ORDER BY offset LIMIT 8");
    for pair in carriers.windows(2) {
        let [at, next]: [usize; 2] = [&pair[0], &pair[1]].map(|row| row[0].parse().unwrap());
        let held: i64 = pair[0][1].parse().unwrap();
        for quarter in 1..4 {
            let gap = at + (next - at) * quarter / 4;
            let bytes = [&whole[..gap], &whole[gap + 1000..]].concat();
            let (conn, _) = place.import(&place.write("gap.pftrace", &bytes), &[]);
            let others = format!("SELECT count(*) FROM packet WHERE offset <> {at}");
            assert_eq!(count(&conn, &others), packets - held, "{at} {quarter}");
        }
    }
}

#[test]
fn z7_a_damaged_gzip_or_zstd_file_goes_on_at_its_next_part() {
    let place = Place::new();
    let (bytes, packets) = sdk(&place);
    let parts = [0..2000, 2000..3000, 3000..4825]
        .map(|part| &bytes[packets[part.start].0..packets[part.end - 1].1]);
    let gzip = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    // With a checksum, like the program zstd.
    let zstd = |bytes: &[u8]| {
        let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
        encoder.include_checksum(true).unwrap();
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    for (name, mut members) in [("gzip", parts.map(gzip)), ("zstd", parts.map(zstd))] {
        let at = members[1].len() / 4;
        members[1][at..at + 64].fill(0xff);
        let path = place.write(name, &members.concat());
        let (conn, said) = place.import(&path, &[]);
        assert!(said.contains("damaged"), "{name}: {said}");
        let told =
            "SELECT count(*) FROM import_log WHERE message LIKE '%the compressed data is damaged%'";
        assert!(count(&conn, told) > 0, "{name}: {said}");
        let first = "SELECT count(*) FROM packet WHERE id < 2000";
        assert_eq!(count(&conn, first), 2000, "{name}");
        let last = rows(&conn, PACKETS);
        let (whole, _) = place.import(&data("sdk.pftrace"), &[]);
        let whole = rows(&whole, PACKETS);
        assert_eq!(last[last.len() - 1825..], whole[3000..], "{name}");
        let hashed =
            "SELECT count(*) FROM metadata WHERE name = 'source_sha256' AND length(value) = 64";
        assert_eq!(count(&Connection::open(place.path("out.db")).unwrap(), hashed), 1, "{name}");
    }
}

/// A sequence of the tracing SDK: clocks, and packets with deltas that need earlier packets.
fn sequence(seq: u32, resets: &[usize], packets: usize) -> Vec<Packet> {
    let clocks = |at: u64| ClockSnapshot {
        clocks: vec![
            Reading { id: 6, timestamp: at, ..Reading::default() },
            Reading { id: 64, timestamp: at, incremental: true, unit: 0 },
        ],
        ..ClockSnapshot::default()
    };
    let mut made = Vec::new();
    for number in 0..packets {
        if resets.contains(&number) {
            made.push(Packet {
                seq,
                flags: 1,
                defaults: Some(64),
                uid: Some(1000),
                clock_snapshot: Some(clocks(1_000_000 + number as u64 * 1000)),
                ..Packet::default()
            });
        }
        made.push(Packet {
            timestamp: Some(1000),
            seq,
            flags: 2,
            uid: Some(1000),
            payload: Some((11, vec![0x48, 3, 0x58, 7, 0x18, 1])),
            ..Packet::default()
        });
    }
    made
}

#[test]
fn z8_packets_are_unsure_until_their_sequence_is_cleared() {
    let place = Place::new();
    let packets = sequence(3, &[0, 20, 30], 40);
    let bytes = trace(&packets);
    let begin = trace(&packets[..10]).len();
    let end = trace(&packets[..12]).len();
    let damaged = [&bytes[..begin], &bytes[end..]].concat();
    // Two packets are missing, and nothing shows it: their neighbours are intact.
    let (conn, _) = place.import(&place.write("gap.pftrace", &damaged), &[]);
    assert_eq!(count(&conn, "SELECT count(*) FROM packet_unsure"), 0);
    // A piece of one packet remains.
    let damaged = [&bytes[..begin], &bytes[end - 5..]].concat();
    let (conn, _) = place.import(&place.write("piece.pftrace", &damaged), &[]);
    // The first reset is packet 0; the second one is packet 19, because two are missing.
    let unsure = "SELECT min(id) || '-' || max(id) || ' ' || count(*) || ' ' || sum(unsure_time) || ' ' || sum(unsure_names) \
                  || ' ' || min(damage_offset) || ' ' || max(damage_size) FROM packet_unsure";
    assert_eq!(text(&conn, unsure), format!("10-18 9 9 9 {begin} 5"));
    assert_eq!(count(&conn, "SELECT value FROM stats WHERE name = 'unsure_packets'"), 9);
    let message =
        "SELECT message FROM import_log WHERE id = (SELECT log_id FROM packet_unsure LIMIT 1)";
    assert_eq!(text(&conn, message), format!("byte {begin} starts no packet"));
}

#[test]
fn z8_packets_that_rely_on_nothing_are_sure() {
    let place = Place::new();
    let packet = |at| Packet {
        timestamp: Some(at),
        seq: 5,
        uid: Some(0),
        payload: Some((45, vec![])),
        ..Packet::default()
    };
    let bytes = trace(&[packet(1), packet(2), packet(3), packet(4), packet(5)]);
    let damaged =
        [&bytes[..], &[0xff; 5], &trace(&[packet(6), packet(7), packet(8), packet(9)])].concat();
    let (conn, _) = place.import(&place.write("damaged.pftrace", &damaged), &[]);
    assert_eq!(count(&conn, "SELECT count(*) FROM packet"), 9);
    assert_eq!(count(&conn, "SELECT count(*) FROM packet_unsure"), 0);
}

#[test]
fn z9_strict_refuses_a_trace_with_damage() {
    let place = Place::new();
    let (mut bytes, packets) = sdk(&place);
    let at = packets[1001].0;
    bytes[at] = 0x0f;
    let path = place.write("damaged.pftrace", &bytes);
    let said = place.refuse(&path, &["--strict"]);
    assert!(said.contains(&format!("is damaged: byte {at} starts no packet")), "{said}");
    let out = place.path("out.db");
    place.import(&path, &[]);
    let rewritten = place.path("out.pftrace");
    let [from, to] = [&path, &rewritten].map(|path| path.to_str().unwrap());
    let said = run(&["rewrite", "--strict", from, "-o", to]);
    assert!(said.stderr.contains("is damaged") && said.code == Some(1), "{}", said.stderr);
    assert!(!rewritten.exists());
    assert_eq!(run(&["rewrite", from, "-o", to]).code, Some(0));
    let said = run(&["query", "--strict", out.to_str().unwrap(), "SELECT 1"]);
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    assert!(said.stderr.contains(&format!("byte {at} starts no packet")), "{}", said.stderr);
}
