//! `ftrace_events`: the kernel's events become rows (rule I1).
//!
//! # Design
//!
//! A row of `ftrace_record` has numbers only: time, packet, CPU, thread, and
//! the numbers of its name and of its arguments, which are stored once each
//! (`arguments.rs`). That is about 30 bytes a row, where a row with its name and
//! its arguments as JSON would have 180. The view `ftrace_event` puts them
//! together.
//!
//! The scheduler's events of the compact encoding (`compact_sched.rs`) lack what
//! the CPU's previous switch tells, so the events of a bundle are read in the
//! order of time, whatever their encoding. Those before the first switch of a
//! CPU cannot be completed: which thread was running is not known. Perfetto's
//! trace processor drops them, and `ftrace_event` equals its table; here they
//! are rows of `ftrace_event_partial`.

mod arguments;
mod bundle;
mod compact_sched;
mod generic;
mod rows;
mod timeline;
mod unresolved;

use rusqlite::{Connection, params};
use rustc_hash::FxHashMap;
use timebase_descriptor::{MessageId, Pool};
use timebase_resolver::{Clock, ClockId, MachineId, SeqId, Unresolved};
use timebase_wire::field::Malformed;

use super::{Events, Halt, Importer, Packet};
use crate::decoder::Decoder;
use crate::retry;
use crate::rows::{Placement, ReadingRow, Severity};
use arguments::Seen;
use bundle::{Bundle, FtraceClock};
use compact_sched::{Columns, Thread};
use rows::{Import, Kind, Placing};
use unresolved::{Retry, Runs};

pub(super) static IMPORTER: Importer = Importer {
    import,
    finish: Some(finish),
    tables: &[
        &rows::RECORDS,
        &rows::PARTIAL,
        &rows::ARGS,
        &unresolved::RUNS,
    ],
};

/// The clock of a bundle that only its pairs know (rule I1).
const SEQUENCE_CLOCK: ClockId = ClockId(64);

/// What is remembered between bundles.
#[derive(Debug, Default)]
struct State {
    schema: Option<Schema>,
    schema_changes: u64,
    kinds: FxHashMap<(u32, u32), Kind>,
    names: FxHashMap<String, i64>,
    /// Self-describing kinds, by machine and field of `FtraceEvent`.
    described: FxHashMap<(u32, u32), MessageId>,
    seen: Seen,
    args: i64,
    events: i64,
    complete: u64,
    /// Which thread runs on each CPU of each machine.
    running: FxHashMap<(u32, u32), Thread>,
    /// The pair of each machine that was added last.
    last_pair: FxHashMap<u32, i64>,
    runs: Runs,
    columns: Columns,
    key: Vec<u8>,
    json: String,
}

impl State {
    /// Forgets how events look where the schema has been added to.
    fn follow_schema(&mut self, changes: u64) {
        if self.schema_changes != changes {
            self.schema_changes = changes;
            self.schema = None;
            self.kinds.clear();
            self.seen = Seen::default();
        }
    }
}

/// What of the schema is used.
#[derive(Debug, Clone, Copy)]
struct Schema {
    event: Option<MessageId>,
    /// A message of no fields, for kinds that the schema does not know.
    unknown: Option<MessageId>,
}

impl Schema {
    fn of(pool: &mut Pool) -> Schema {
        Schema {
            event: pool.message("perfetto.protos.FtraceEvent"),
            unknown: pool.add_message(&[]).ok(),
        }
    }
}

fn import(decoder: &mut Decoder, packet: &Packet<'_>) -> Result<Placement, Halt> {
    let bundle = Bundle::parse(packet.payload)?;
    let mut state = decoder.states.take::<State>();
    let imported = import_bundle(decoder, &mut state, packet, &bundle);
    decoder.states.put(state);
    imported?;
    let sequence = decoder.sequences.get(packet.sequence);
    Ok(decoder.clocks.place(packet.header, sequence))
}

fn import_bundle(
    decoder: &mut Decoder,
    state: &mut State,
    packet: &Packet<'_>,
    bundle: &Bundle<'_>,
) -> Result<(), Halt> {
    let mut columns = std::mem::take(&mut state.columns);
    let comms = columns.read(&bundle.compact_sched)?;
    let machine = packet.header.machine_id;
    let clock = clock_of(packet, bundle.clock);
    if let (Some(clock), Some(pair)) = (clock, bundle.pair)
        && bundle.clock != FtraceClock::Boottime
        && !clock.lacks_sequence()
        && state.last_pair.get(&machine) != Some(&pair.0)
        && add_pair(decoder, packet, clock, pair)
    {
        state.last_pair.insert(machine, pair.0);
    }
    if decoder.keep_events {
        let cpu = (machine, bundle.cpu.unwrap_or(u32::MAX));
        describe_kinds(decoder, state, packet, bundle)?;
        state.follow_schema(decoder.schema_changes);
        let placing = match clock {
            None => Placing::Never(Unresolved::UnknownClock),
            Some(clock) if clock.lacks_sequence() => Placing::Never(Unresolved::NoSequenceId),
            Some(clock) => Placing::On {
                clock,
                unit: decoder.clocks.unit(clock),
            },
        };
        let running = state.running.remove(&cpu);
        let mut import = Import {
            clock,
            placing,
            cpu: bundle.cpu,
            running,
            corrupt: 0,
            nameless: 0,
            decoder,
            packet,
            state,
        };
        import.events(bundle, &columns, &comms)?;
        import.end(bundle, &columns);
        if let Some(running) = import.running {
            state.running.insert(cpu, running);
        }
    }
    state.columns = columns;
    Ok(())
}

/// The clock of a bundle's timestamps; `None` if it is not known.
fn clock_of(packet: &Packet<'_>, clock: FtraceClock) -> Option<Clock> {
    let id = match clock {
        FtraceClock::Boottime => ClockId::BOOTTIME,
        FtraceClock::MonotonicRaw => ClockId::MONOTONIC_RAW,
        FtraceClock::OfSequence => SEQUENCE_CLOCK,
        FtraceClock::Unknown => return None,
    };
    let seq = SeqId(packet.header.trusted_packet_sequence_id);
    Some(Clock::new(MachineId(packet.header.machine_id), id, seq))
}

/// The bundle's pair is a snapshot, unless it is rejected (rule N1).
fn add_pair(decoder: &mut Decoder, packet: &Packet<'_>, clock: Clock, pair: (i64, i64)) -> bool {
    match decoder.clocks.add_pair(clock, pair.0, pair.1) {
        Ok(accepted) => {
            decoder.counters.snapshots_to_retry += u64::from(accepted.ts.is_none());
            for (reading, ts) in accepted.readings {
                decoder.batch.readings.push(ReadingRow {
                    ts,
                    snapshot: accepted.id,
                    source: accepted.source,
                    packet_id: packet.id,
                    timestamp: reading.value,
                    reading,
                });
            }
            true
        }
        Err(rejected) => {
            decoder.counters.snapshots_rejected += 1;
            let message = format!("the bundle's pair of clocks was rejected: {rejected}");
            decoder.log(Severity::Warning, rejected.code(), packet, message);
            false
        }
    }
}

/// Takes the kinds of events that the bundle describes into the schema.
fn describe_kinds(
    decoder: &mut Decoder,
    state: &mut State,
    packet: &Packet<'_>,
    bundle: &Bundle<'_>,
) -> Result<(), Malformed> {
    let machine = packet.header.machine_id;
    for message in &bundle.descriptors {
        let Some((field, descriptor)) = bundle::generic_descriptor(message)? else {
            continue;
        };
        if state.described.contains_key(&(machine, field)) {
            continue;
        }
        match decoder.pool().add_message(descriptor) {
            Ok(message) => {
                state.described.insert((machine, field), message);
                decoder.schema_changes += 1;
            }
            Err(error) => {
                let message = format!("the description of event {field} cannot be used: {error}");
                decoder.log(Severity::Warning, "descriptor_unusable", packet, message);
            }
        }
    }
    Ok(())
}

/// Retries events that came before the snapshots they need (rule D2).
fn finish(conn: &Connection, decoder: &mut Decoder) -> rusqlite::Result<Events> {
    let state = decoder.states.take::<State>();
    let mut insert = conn.prepare("INSERT INTO ftrace_name VALUES (?1, ?2)")?;
    for (name, id) in &state.names {
        insert.execute(params![id, name])?;
    }
    Retry::new(conn)?.all(&mut decoder.clocks)?;
    let unresolved = retry::by_reason(
        conn,
        "SELECT u.reason, count(*) FROM ftrace_unresolved AS u \
         JOIN ftrace_record AS e ON e.id BETWEEN u.first_id AND u.last_id \
         GROUP BY 1",
    )?;
    let partial = u64::try_from(state.events).unwrap_or(0) - state.complete;
    decoder.count("ftrace_events_partial", partial);
    Ok(Events {
        table: "ftrace_event",
        rows: state.complete,
        unresolved,
    })
}
