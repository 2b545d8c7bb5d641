//! The basis of a hop from one machine or file to another.

use rusqlite::{Connection, OptionalExtension, params};
use timebase_resolver::{ClockId, WrittenClock};

use super::causal;
use super::note::Note;

/// The relation of two clocks, if it is no snapshot of both on one machine. `readings` are what both show at the time of
/// the conversion.
pub fn note(
    database: &Connection,
    (from, to): (&str, &str),
    snapshot: i64,
    readings: Option<(i64, i64)>,
) -> anyhow::Result<Option<Note>> {
    let found = database.query_row(
        "SELECT source, packet_id, machine_id, trace_file_id FROM clock_snapshot WHERE snapshot_id = ?1
         ORDER BY id LIMIT 1",
        [snapshot],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
    );
    let found: Option<(String, Option<i64>, u32, Option<u32>)> = found.optional()?;
    let Some((source, packet, machine, file)) = found else {
        return Ok(None);
    };
    let clocks: (WrittenClock, WrittenClock) = match (from.parse(), to.parse()) {
        (Ok(from), Ok(to)) => (from, to),
        _ => return Ok(None),
    };
    match (source.as_str(), packet) {
        ("remote_sync", Some(packet)) => synchronized(database, packet, clocks.0.id()).map(Some),
        // The first clock of such a pair belongs to the file of the entry.
        ("manifest", _) => manifest(database, machine, file).map(Some),
        ("json", Some(packet)) => producer(database, packet).map(Some),
        ("causality", _) => causal::note(database, clocks, readings).map(Some),
        ("assumed", _) => assumed(database, clocks).map(Some),
        _ if clocks.0.id() == clocks.1.id() => {
            Ok(Some(vec!["the wall clock of a file is that of its machine".to_owned()]))
        }
        _ => Ok(None),
    }
}

/// Whether a snapshot is a corner of lines, and no conversion goes by itself alone (rule AL20).
pub fn is_corner(database: &Connection, snapshot: i64) -> anyhow::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM clock_snapshot WHERE snapshot_id = ?1 AND source = 'causality')";
    Ok(database.query_row(sql, [snapshot], |row| row.get(0))?)
}

/// Whether a snapshot was measured, and not stated by a manifest, concluded from messages or assumed.
pub fn is_measured(database: &Connection, snapshot: i64) -> anyhow::Result<bool> {
    let sql = "SELECT NOT EXISTS (
        SELECT 1 FROM clock_snapshot WHERE snapshot_id = ?1 AND source IN ('manifest', 'causality', 'assumed')
    )";
    Ok(database.query_row(sql, [snapshot], |row| row.get(0))?)
}

/// Rules JS33 and JS36: the text in which a producer says when its clock began.
fn producer(database: &Connection, packet: i64) -> anyhow::Result<Note> {
    /// More of a text is not shown.
    const MOST: usize = 100;
    let sql = "SELECT packet_data(?1)";
    let data = database.query_row(sql, [packet], |row| row.get::<_, Option<Vec<u8>>>(0));
    let Some(data) = data.optional()?.flatten() else {
        return Ok(vec![format!("packet {packet} of the producer says so")]);
    };
    let text = String::from_utf8_lossy(&data);
    let shown: String = text.chars().take(MOST).collect();
    let rest = if shown.len() < text.len() { " …" } else { "" };
    Ok(vec![format!("the producer says so in packet {packet}:"), format!("{shown}{rest}")])
}

/// Rules X20 and X21: the questions of a machine to another, and their results.
fn synchronized(database: &Connection, packet: i64, clock: ClockId) -> anyhow::Result<Note> {
    let (samples, offsets, errors) = database.query_row(
        "SELECT count(*), min(offset), max(offset), min(half_round_trip), max(half_round_trip)
         FROM remote_clock_sync WHERE packet_id = ?1 AND clock_id = ?2",
        params![packet, clock.get()],
        |row| {
            let offsets: (Option<i64>, Option<i64>) = (row.get(1)?, row.get(2)?);
            let errors: (Option<i64>, Option<i64>) = (row.get(3)?, row.get(4)?);
            Ok((row.get::<_, i64>(0)?, offsets, errors))
        },
    )?;
    let (low, high) = (offsets.0.unwrap_or(0), offsets.1.unwrap_or(0));
    let error = between(errors.0.unwrap_or(0), errors.1.unwrap_or(0));
    let rounds = match samples / 2 {
        1 => "1 round".to_owned(),
        rounds => format!("{rounds} rounds"),
    };
    let mut note = vec![
        format!("synchronization of packet {packet}, {rounds}:"),
        format!("client − host is {} ns", between(low, high)),
        format!("± {error} ns, half a round trip"),
    ];
    if low != high
        && let Some(last) = note.last_mut()
    {
        last.push_str("; this is their average");
    }
    Ok(note)
}

fn between(low: i64, high: i64) -> String {
    match low == high {
        true => low.to_string(),
        false => format!("{low} to {high}"),
    }
}

/// Rule X35: the manifest, and its entry if it can be determined.
fn manifest(database: &Connection, machine: u32, file: Option<u32>) -> anyhow::Result<Note> {
    let one = |sql: &str, id: Option<u32>| -> anyhow::Result<Option<String>> {
        let found = database.query_row(sql, params![id], |row| row.get(0));
        Ok(found.optional()?.flatten())
    };
    let name = one(
        "SELECT name FROM trace_file WHERE trace_type = 'perfetto_manifest' AND ?1 IS NULL",
        None,
    )?;
    let entry = match file {
        Some(_) => one("SELECT name FROM trace_file WHERE id = ?1", file)?,
        None => one(
            "SELECT min(f.name) FROM part AS p JOIN trace_file AS f ON f.id = p.trace_file_id
             WHERE p.machine_id = ?1 HAVING count(*) = 1",
            Some(machine),
        )?,
    };
    let mut note = vec![match name {
        Some(name) => format!("the manifest {name} relates them"),
        None => "the manifest relates them".to_owned(),
    }];
    if let Some((last, entry)) = note.last_mut().zip(entry) {
        last.push(',');
        note.push(format!("in the entry of {entry} (clocks)"));
    }
    Ok(note)
}

/// Rules X26 and X28: the assumption, because nothing measured the relation, and the evidence
/// against it.
fn assumed(
    database: &Connection,
    (from, to): (WrittenClock, WrittenClock),
) -> anyhow::Result<Note> {
    let machine = |clock: WrittenClock| clock.clock().machine;
    let text = match from.id() {
        ClockId::REALTIME => "assumed, by REALTIME: the wall clocks of both machines agree",
        _ if machine(from) == machine(to) => {
            "assumed: BOOTTIME of the file is that of its machine, so both are of one boot"
        }
        _ => "assumed: BOOTTIME of the two is the same",
    };
    let (first, rest) = text.split_once(": ").unwrap_or((text, ""));
    let mut note = vec![format!("{first}:"), rest.to_owned()];
    let differ = database.query_row(
        "SELECT boots_differ FROM part WHERE machine_id = ?1 AND trace_file_id = ?2",
        params![machine(from).0, from.file().or(to.file())],
        |row| row.get::<_, Option<i64>>(0),
    );
    if let Some(differ) = differ.optional()?.flatten()
        && machine(from) == machine(to)
    {
        if let Some(last) = note.last_mut() {
            last.push(';');
        }
        note.push(format!("by REALTIME the file is {:+.3} s from there", differ as f64 / 1e9));
    }
    Ok(note)
}

/// A sample that a conversion by rates uses: the packet with the question, and half of the round
/// trip.
pub fn sample(
    database: &Connection,
    (from, to): (&str, &str),
    (from_value, to_value): (i64, i64),
) -> anyhow::Result<Option<(i64, i64)>> {
    let (Ok(from), Ok(to)): (Result<WrittenClock, _>, Result<WrittenClock, _>) =
        (from.parse(), to.parse())
    else {
        return Ok(None);
    };
    let found = database.query_row(
        "SELECT packet_id, half_round_trip FROM remote_clock_sync
         WHERE used AND clock_id = ?1
           AND (machine_id = ?2 AND host_machine_id = ?3 AND host_value = ?5 AND host_value + offset = ?4
             OR machine_id = ?3 AND host_machine_id = ?2 AND host_value = ?4 AND host_value + offset = ?5)
         ORDER BY half_round_trip LIMIT 1",
        params![
            from.id().get(),
            from.clock().machine.0,
            to.clock().machine.0,
            from_value,
            to_value
        ],
        |row| Ok((row.get(0)?, row.get(1)?)),
    );
    Ok(found.optional()?)
}
