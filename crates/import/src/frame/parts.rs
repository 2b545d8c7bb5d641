//! Whose packets are read: the machines of a trace, what a manifest says of them, and what is made of their clocks
//! besides what packets ask for.

use crate::manifest::{MachineRef, RelatedClock, Resolved};
use timebase_resolver::{Clock, ClockId, FileTag, MachineId, Rejected, Source};
use timebase_schema::tables;
use timebase_trace::wire::packet::{Header, PacketType};
use timebase_trace::wire::proto::RemoteClockSync;

use super::{Frame, counter, readings, say};
use crate::output::{Message, Rows, Severity};
use crate::place::{Made, PartIx, SequenceIx, Snapshot, TRACE_FILE, Taken, called, shared};

impl Frame {
    /// Does what the manifest says of machines and clocks, before any file is read (rules X11, X35,
    /// X36).
    pub fn follow_manifest(&mut self, manifest: &Resolved, tags: &[FileTag], rows: &mut Rows<'_>) {
        for (index, name) in manifest.names.iter().enumerate() {
            self.context
                .definitions
                .machines
                .name(MachineRef::Named(index), name);
        }
        if let Some(trace_time) = manifest.trace_time {
            let machine = match trace_time.machine {
                Some(machine) => MachineId(self.context.definitions.machines.see(machine)),
                None => MachineId::HOST,
            };
            let clock = shared(machine, ClockId(trace_time.clock.id()));
            self.context.place.set_trace_time(clock);
        }
        for relation in &manifest.relations {
            let readings = [relation.this, relation.reference].map(|reading| {
                let machine = MachineId(self.context.definitions.machines.see(reading.machine));
                let clock = match reading.clock {
                    RelatedClock::Shared(clock) => shared(machine, ClockId(clock.id())),
                    RelatedClock::Private(member) => {
                        let file = tags.get(member).copied().unwrap_or(FileTag::SHARED);
                        Clock {
                            file,
                            ..shared(machine, TRACE_FILE)
                        }
                    }
                };
                (clock, reading.value)
            });
            match self.context.place.related(readings) {
                Ok(()) => self.tell_made(None, 0, rows),
                Err(rejected) => {
                    let refused = relation
                        .place
                        .refused(format_args!("contradicts others: {rejected}"));
                    self.refused.get_or_insert(refused);
                }
            }
        }
        for warning in &manifest.warnings {
            let (code, text) = ("manifest_entry_ignored", warning.to_string());
            let message = Message::of_whole(Severity::Warning, code, text);
            message.push(rows);
        }
    }

    /// The row of a packet's machine (rules H1, X10 to X12), and its part. There is none if the manifest
    /// does not let it be.
    #[inline]
    pub(super) fn part(
        &mut self,
        header: &Header<'_>,
        rows: &mut Rows<'_>,
    ) -> Option<(u32, PartIx)> {
        let raw_id = header.machine_id;
        let (machine, is_host) = match self.file.last {
            Some((last, machine, is_host)) if last == raw_id => (machine, is_host),
            _ if raw_id == 0
                && header.packet_type() == Some(PacketType::SYNCHRONIZATION_MARKER) =>
            {
                return Some(self.context.place.of_marker()); // it makes no host
            }
            _ => {
                let named = match self.file.rules.machine(raw_id) {
                    Ok(named) => named,
                    Err(refused) => {
                        self.refused.get_or_insert(refused);
                        return None;
                    }
                };
                // A manifest may call other ids by the host's name, too.
                let is_host = raw_id == 0 || self.file.rules.machine(0) == Ok(named);
                let machine = self.context.definitions.machines.see(named);
                self.file.last = Some((raw_id, machine, is_host));
                (machine, is_host)
            }
        };
        rows.at(Some(self.file.id), Some(machine));
        if let Some(machine) = self.context.definitions.machines.get_mut(machine) {
            machine.packets += 1;
        }
        let allowed = match header.packet_type() {
            Some(PacketType::CLOCK_SNAPSHOT) => self.file.rules.clock_snapshot(),
            Some(PacketType::REMOTE_CLOCK_SYNC) => self.file.rules.remote_clock_sync(),
            _ => Ok(()),
        };
        if let Err(refused) = allowed {
            self.refused.get_or_insert(refused);
            return None;
        }
        Some((
            machine,
            self.context.place.part(MachineId(machine), is_host),
        ))
    }

    /// Two machines have asked each other for the time (rules X19 to X23).
    #[cold]
    pub(super) fn remote_sync(
        &mut self,
        sync: &RemoteClockSync,
        header: &Header<'_>,
        id: i64,
        offset: u64,
        (client, sequence): (PartIx, SequenceIx),
        rows: &mut Rows<'_>,
    ) {
        if header.machine_id == 0 {
            self.context.journal.count(counter::SNAPSHOTS_REJECTED, 1);
            let text = "the synchronization with another machine was rejected: its packet has no \
                        machine_id, so both machines are the host";
            let code = "remote_sync_same_machine";
            say(rows, Severity::Warning, code, Some(id), offset, text.into());
            return;
        }
        for synced in &sync.synced_clocks {
            let Some(clocks) = &synced.client_clocks else {
                continue;
            };
            let snapshot = Snapshot::of_client(clocks, header);
            let (taken, first_row) = self.snapshot(&snapshot, id, offset, (client, sequence), rows);
            if let Taken::Accepted(accepted) = taken {
                self.context.place.pair_waits(first_row, &accepted);
            }
        }
        let host = match self.file.rules.machine(0) {
            Ok(host) => self.context.definitions.machines.see(host),
            Err(refused) => {
                self.refused.get_or_insert(refused);
                return;
            }
        };
        let host = self.context.place.part(MachineId(host), true);
        self.context.place.remote_sync(sync, id, (client, host));
    }

    /// What happened to the clocks besides what was asked for becomes rows, and lines of the log.
    #[cold]
    pub(super) fn tell_made(&mut self, packet: Option<i64>, offset: u64, rows: &mut Rows<'_>) {
        for made in self.context.place.take_made() {
            match made {
                Made::Snapshot {
                    source,
                    part,
                    id,
                    readings: made,
                    times,
                } => {
                    let first_row = rows.count(&tables::clock_snapshot::TABLE);
                    readings((&made, &times), source, id.0, packet, rows);
                    self.context.place.made_waits(first_row, &made, &times);
                    if source == Source::Assumed
                        && let [one, other] = &made[..]
                        && let Some(part) = part
                    {
                        self.at_part(part, rows);
                        let text = format!(
                            "nothing says how {} and {} relate; the import assumes that they read the same",
                            one.clock, other.clock
                        );
                        let code = "clocks_assumed_equal";
                        self.of_part(Severity::Warning, code, packet, text, rows);
                    }
                }
                Made::Unrelatable { part, trace_time } => {
                    self.at_part(part, rows);
                    let text = format!(
                        "no snapshot leads from the clocks of this machine in this file to {trace_time}, \
                         and nothing can be assumed; what is read on them has no time. A manifest can \
                         relate them"
                    );
                    let code = "clock_sync_unrelatable_clock_domains";
                    self.of_part(Severity::Warning, code, packet, text, rows);
                }
                Made::NotSynced { part, rejected } => {
                    self.at_part(part, rows);
                    self.context.journal.count(counter::SNAPSHOTS_REJECTED, 1);
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
                    say(rows, Severity::Warning, code, packet, offset, text);
                }
            }
        }
    }

    /// What is said next is said of a part.
    pub(super) fn at_part(&mut self, part: PartIx, rows: &mut Rows<'_>) {
        let part = &self.context.place.parts()[part];
        rows.at(Some(part.file.id), Some(part.machine.0));
    }

    fn of_part(
        &mut self,
        severity: Severity,
        code: &'static str,
        packet_id: Option<i64>,
        text: String,
        rows: &mut Rows<'_>,
    ) {
        let message = Message {
            packet_id,
            ..Message::of_whole(severity, code, text)
        };
        message.push(rows);
    }
}
