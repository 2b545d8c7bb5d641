//! The machine and the file of each packet, by the manifest if there is one.

use timebase_resolver::{Clock, ClockId, FileTag, MachineId};
use timebase_trace::wire::packet::{Header, PacketType};

use super::Frame;
use super::snapshots::tell_made;
use crate::manifest::{MachineRef, MemberRules, RelatedClock, Resolved};
use crate::output::{LogMessage, Rows, Severity};
use crate::place::{AlignedRelation, PartIx, shared};

impl Frame {
    /// Adds the relations of clocks that messages prove (rule AL20).
    pub fn align(&mut self, relations: &[AlignedRelation], rows: &mut Rows<'_>) {
        for relation in relations {
            self.context.place.clocks.align(relation);
            tell_made(&mut self.context, None, rows);
        }
    }

    /// Applies the manifest's statements about machines and clocks, before the first file (rules X11,
    /// X35, X36).
    pub fn follow_manifest(&mut self, manifest: &Resolved, tags: &[FileTag], rows: &mut Rows<'_>) {
        let machines = &mut self.context.definitions.machines;
        for (index, name) in manifest.names.iter().enumerate() {
            machines.name(MachineRef::Named(index), name);
        }
        if let Some(trace_time) = manifest.trace_time {
            let machine = match trace_time.machine {
                Some(machine) => MachineId(machines.see(machine)),
                None => MachineId::HOST,
            };
            let clock = shared(machine, ClockId(trace_time.clock.id()));
            self.context.place.clocks.set_trace_time(clock);
        }
        for relation in &manifest.relations {
            let machines = &mut self.context.definitions.machines;
            let readings = [relation.this, relation.reference].map(|reading| {
                let machine = MachineId(machines.see(reading.machine));
                let clock = match reading.clock {
                    RelatedClock::Shared(clock) => shared(machine, ClockId(clock.id())),
                    RelatedClock::Private(member) => {
                        let file = tags.get(member).copied().unwrap_or(FileTag::SHARED);
                        Clock { file, ..shared(machine, ClockId::TRACE_FILE) }
                    }
                };
                (clock, reading.value)
            });
            match self.context.place.clocks.relate(readings) {
                Ok(()) => tell_made(&mut self.context, None, rows),
                Err(rejected) => {
                    let refused =
                        relation.place.refused(format_args!("contradicts others: {rejected}"));
                    self.refused.get_or_insert(refused);
                }
            }
        }
        for warning in &manifest.warnings {
            let (code, text) = ("manifest_entry_ignored", warning.to_string());
            LogMessage::new(Severity::Warning, code, text).push(rows);
        }
    }

    /// Names the machines that follow from ranks, after those of the manifest (rule JS38).
    pub fn name_ranks(&mut self, manifest: Option<&Resolved>, names: &[String]) {
        let first = manifest.map_or(0, |manifest| manifest.names.len());
        for (index, name) in (first..).zip(names) {
            self.context.definitions.machines.name(MachineRef::Named(index), name);
        }
    }

    /// Takes the own clock of a file as trace time (rule JS31).
    pub fn take_file_clock(&mut self, file: FileTag, rules: &MemberRules) {
        match rules.machine(0) {
            Ok(machine) => {
                let machine = MachineId(self.context.definitions.machines.see(machine));
                let clock = Clock { file, ..shared(machine, ClockId::TRACE_FILE) };
                self.context.place.clocks.set_trace_time(clock);
            }
            Err(refused) => _ = self.refused.get_or_insert(refused),
        }
    }

    /// The part of a packet (rules H1, X10 to X12); `None` if the packet contradicts the manifest.
    #[inline]
    pub(crate) fn part(&mut self, header: &Header<'_>, rows: &mut Rows<'_>) -> Option<PartIx> {
        let raw_id = header.machine_id;
        let machines = &mut self.context.definitions.machines;
        let parts = &mut self.context.place.clocks.parts;
        let (machine, is_host) = match self.file.last_machine {
            Some((last, machine, is_host)) if last == raw_id => (machine, is_host),
            _ if raw_id == 0
                && header.packet_type() == Some(PacketType::SYNCHRONIZATION_MARKER) =>
            {
                return Some(parts.of_marker()); // it makes no host
            }
            _ => {
                let named = match self.file.rules.machine(raw_id) {
                    Ok(named) => named,
                    Err(refused) => {
                        self.refused.get_or_insert(refused);
                        return None;
                    }
                };
                // A manifest may give other ids the host's name, too.
                let is_host = raw_id == 0 || self.file.rules.machine(0) == Ok(named);
                let machine = machines.see(named);
                self.file.last_machine = Some((raw_id, machine, is_host));
                (machine, is_host)
            }
        };
        rows.at(Some(self.file.id), Some(machine));
        if let Some(machine) = machines.get_mut(machine) {
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
        Some(parts.find(MachineId(machine), is_host))
    }
}
