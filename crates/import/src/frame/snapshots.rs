//! Snapshots from any source: this file adds them to the clock graph, and writes their readings as rows.

use timebase_resolver::{ClockId, MachineId, Reading, Rejected, Source, builtin_name};
use timebase_schema::tables;
use timebase_trace::wire::proto::RemoteClockSync;

use super::counters;
use crate::manifest::{MemberRules, Refused};
use crate::output::{Cell, LogMessage, Rows, Severity};
use crate::place::{
    ClockEffect, IncomingPacket, PartIx, Snapshot, Taken, TraceTime, called, file_id, recorded,
};
use crate::readers::ImportContext;

/// The result of adding a packet's snapshot.
pub(super) struct TakenSnapshot {
    pub taken: Taken,
    /// The first of its rows of `clock_snapshot`.
    pub first_row: i64,
}

/// Adds a snapshot, and writes its readings as rows.
pub(super) fn take(
    context: &mut ImportContext,
    snapshot: &Snapshot,
    packet: &IncomingPacket<'_>,
    rows: &mut Rows<'_>,
) -> TakenSnapshot {
    let say = |code, text, rows: &mut Rows<'_>| {
        let message = LogMessage::new(Severity::Warning, code, text);
        message.of_packet(packet.id, packet.offset).push(rows);
    };
    let first_row = rows.count(&tables::clock_snapshot::TABLE);
    let taken = context.place.snapshot(snapshot, packet);
    match &taken {
        Taken::Accepted(accepted) => {
            let reads_zeros = accepted.readings.iter().all(|reading| reading.value == 0);
            context.has_zeros |= reads_zeros && accepted.readings.len() > 1;
            let made = SnapshotRows {
                source: snapshot.source(),
                snapshot: accepted.id.0,
                packet: Some(packet.id),
            };
            made.push(&accepted.readings, &accepted.times, rows);
            if accepted.is_mixed {
                let text = "times before this snapshot were read on clocks that the machine has in other \
                            files, too; from here on the file has clocks of its own";
                say("mixed_clock_sources", text.into(), rows);
            }
            if let Some(clock) = accepted.ignored_primary {
                let text = format!(
                    "primary_trace_clock {clock} is ignored: times were converted to {} before \
                     it, or it cannot be trace time",
                    context.place.trace_time()
                );
                say("primary_clock_ignored", text, rows);
            }
        }
        Taken::Rejected(rejected) => {
            context.journal.count(counters::SNAPSHOTS_REJECTED, 1);
            let what = called(snapshot.source());
            let text = format!("{what} was rejected: {rejected}");
            say(rejected.code(), text, rows);
        }
        Taken::Repeated => {}
    }
    TakenSnapshot { taken, first_row }
}

/// Adds the synchronization of two machines (rules X19 to X23).
///
/// # Errors
///
/// [`Refused`] if the manifest does not allow a host in this file.
#[cold]
pub(super) fn take_remote_sync(
    context: &mut ImportContext,
    sync: &RemoteClockSync,
    packet: &IncomingPacket<'_>,
    rules: &MemberRules,
    rows: &mut Rows<'_>,
) -> Result<(), Refused> {
    if packet.header.machine_id == 0 {
        context.journal.count(counters::SNAPSHOTS_REJECTED, 1);
        let text = "the synchronization with another machine was rejected: its packet has no \
                    machine_id, so both machines are the host";
        let code = "remote_sync_same_machine";
        LogMessage::new(Severity::Warning, code, text.into())
            .of_packet(packet.id, packet.offset)
            .push(rows);
        return Ok(());
    }
    for synced in &sync.synced_clocks {
        let Some(clocks) = &synced.client_clocks else {
            continue;
        };
        let snapshot = Snapshot::of_client(clocks, packet.header);
        let TakenSnapshot { taken, first_row } = take(context, &snapshot, packet, rows);
        if let Taken::Accepted(accepted) = taken {
            let (readings, times) = (&accepted.readings, &accepted.times);
            context.place.readings_wait(first_row, readings, times);
        }
    }
    let host = context.definitions.machines.see(rules.machine(0)?);
    let host = context.place.clocks.parts.find(MachineId(host), true);
    context.place.remote_sync(sync, packet.id, packet.part, host);
    Ok(())
}

/// Writes and logs the snapshots that no packet has, such as assumptions. `packet` is the id and the offset
/// of the packet that caused them.
#[cold]
pub(super) fn tell_made(
    context: &mut ImportContext,
    packet: Option<(i64, u64)>,
    rows: &mut Rows<'_>,
) {
    let (packet, offset) = packet.unzip();
    let said = |code, text| LogMessage {
        packet_id: packet,
        ..LogMessage::new(Severity::Warning, code, text)
    };
    for made in std::mem::take(&mut context.place.clocks.made) {
        match made {
            ClockEffect::Snapshot { source, part, id, readings, times } => {
                let first_row = rows.count(&tables::clock_snapshot::TABLE);
                let made = SnapshotRows { source, snapshot: id.0, packet };
                made.push(&readings, &times, rows);
                context.place.readings_wait(first_row, &readings, &times);
                if source == Source::Assumed
                    && let [one, other] = &readings[..]
                    && let Some(part) = part
                {
                    at_part(context, part, rows);
                    let text = format!(
                        "nothing says how {} and {} relate; the import assumes that they read the same",
                        one.clock, other.clock
                    );
                    said("clocks_assumed_equal", text).push(rows);
                }
            }
            ClockEffect::Unrelatable { part, trace_time } => {
                at_part(context, part, rows);
                let text = format!(
                    "no snapshot leads from the clocks of this machine in this file to {trace_time}, \
                     and nothing can be assumed; what is read on them has no time. A manifest can \
                     relate them"
                );
                let code = "clock_sync_unrelatable_clock_domains";
                said(code, text).push(rows);
            }
            ClockEffect::UnpairedSync { id, files } => {
                let text = format!(
                    "the clock_sync {id:?} relates no clocks: {files} files have it, and it takes one that \
                     issued it (with issue_ts) and one that received it"
                );
                said("json_clock_sync_unpaired", text).push(rows);
            }
            ClockEffect::NotSynced { part, rejected } => {
                at_part(context, part, rows);
                context.journal.count(counters::SNAPSHOTS_REJECTED, 1);
                let (code, text) = match rejected {
                    Rejected::Duplicate { .. } => (
                        "remote_sync_same_machine",
                        "both machines of a synchronization are the same".to_owned(),
                    ),
                    rejected => (
                        rejected.code(),
                        format!("{} was rejected: {rejected}", called(Source::RemoteSync)),
                    ),
                };
                let message = LogMessage { offset: offset.or(Some(0)), ..said(code, text) };
                message.push(rows);
            }
        }
    }
}

/// The next message of the log is about this part.
fn at_part(context: &ImportContext, part: PartIx, rows: &mut Rows<'_>) {
    let part = &context.place.clocks.parts[part];
    rows.at(Some(part.file.id), Some(part.machine.0));
}

/// Columns that are equal in all rows of a snapshot.
struct SnapshotRows {
    source: Source,
    snapshot: u32,
    packet: Option<i64>,
}

impl SnapshotRows {
    /// Writes the readings with their times.
    fn push(&self, readings: &[Reading], times: &[Option<TraceTime>], rows: &mut Rows<'_>) {
        for (reading, ts) in readings.iter().zip(times) {
            let clock = reading.clock;
            let id = rows.count(&tables::clock_snapshot::TABLE);
            let clock_name = rows.optional_text(clock_name(clock.id));
            let source = rows.text(self.source.name());
            rows.push(tables::clock_snapshot::Row {
                id: Cell::from(id),
                ts: Cell::or_null(ts.map(|TraceTime(ts)| ts)),
                clock_id: Cell::from(clock.id.get()),
                clock_name,
                clock_value: Cell::from(reading.value),
                snapshot_id: Cell::from(self.snapshot),
                machine_id: Cell::from(clock.machine.0),
                packet_id: Cell::or_null(self.packet),
                seq_id: Cell::from(clock.seq.0),
                timestamp: Cell::from(recorded(reading).0),
                unit_multiplier_ns: Cell::from(reading.unit),
                is_incremental: Cell::from(i64::from(reading.incremental)),
                source,
                trace_file_id: Cell::or_null(file_id(clock.file)),
            });
        }
    }
}

/// The name that trace processor gives a clock in `clock_snapshot`: only the
/// clocks of the kernel's `clock_gettime` have one.
fn clock_name(id: ClockId) -> Option<&'static str> {
    builtin_name(id.get()).filter(|_| id <= ClockId::BOOTTIME)
}
