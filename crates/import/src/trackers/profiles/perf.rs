//! Samples of linux.perf (rules PF).

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use timebase_schema::fields::{
    perf_sample as field, perf_sample_defaults as defaults, perf_sample_producer_event as event,
};

use super::callstacks::Callstacks;
use super::faults::{
    CHOSEN_SHARD, GUARDRAIL_STOP, LOST_RECORDS, SHARD_COUNT, SKIPPED, SKIPPED_DATALOSS,
};
use super::packet::Packet;
use super::perf_events::{self, FOLLOWER, TIMEBASE};
use super::samples::{Execution, Sample, Samples, SessionId, SourceId, Task};
use super::stacks::KnownStacks;
use crate::arguments::{ArgBuf, ArgValue};
use crate::message::Message;
use crate::output::{Loss, Rows};
use crate::summary::LossKind;
use crate::timeline::Name;
use crate::trackers::tracker::TrackerContext;
use crate::world::{Details, NewTrack, Owner, TrackId, ucpu};

const TRACK_TYPE: &str = "perf_cpu_counter";

/// Sessions and tracks of perf.
#[derive(Debug, Default)]
pub(super) struct Perf {
    /// By writer.
    sessions: FxHashMap<u32, SessionId>,
    /// The tracks of a CPU's counters, from a writer's first packet of this CPU: the timebase's track, then
    /// those of the followers.
    cpus: FxHashMap<(u32, u32), Box<[TrackId]>>,
    tracks: FxHashMap<(u32, SessionId, Name), TrackId>,
    /// The skipped samples, by writer.
    skipped: BTreeMap<u32, Loss>,
}

impl Perf {
    /// Takes a packet (rule PF5).
    pub fn packet(
        &mut self,
        packet: &Packet<'_>,
        (known, callstacks): (&mut KnownStacks, &mut Callstacks),
        samples: &mut Samples,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let message = packet.message();
        let session = self.session(packet, samples);
        let cpu = message.small(field::CPU);
        self.settle(cpu.unwrap_or(0), session, packet, samples, at);
        let lost = message.number(field::KERNEL_RECORDS_LOST).unwrap_or(0);
        if lost > 0 {
            return records_lost(lost, cpu.unwrap_or(0), packet, at);
        }
        if let Some(event) = message.bytes(field::PRODUCER_EVENT).map(Message) {
            return producer_event(event, session, packet, at);
        }
        if let Some(reason) = message.number(field::SAMPLE_SKIPPED_REASON) {
            self.skips(reason, packet, at);
        }
        let (pid, tid) = (message.small(field::PID), message.small(field::TID));
        let (pid, tid) = (pid.unwrap_or(0), tid.unwrap_or(0));
        let machine = packet.writer.machine;
        let utid = at.world.threads.bind(machine, tid.into(), pid.into());
        let upid = at.world.threads.process(machine, pid.into());
        let task = Task { upid: Some(upid), utid: Some(utid), of_async: None };
        let mut sample = Sample {
            source: Some(SourceId::LINUX_PERF),
            session: Some(session),
            unwind_error: message.number(field::UNWIND_ERROR).map(unwind_error),
            ..Sample::default()
        };
        self.values(message, packet, &mut sample, samples, at);
        sample.task = Some(samples.task(task));
        let mode = message.number(field::CPU_MODE).and_then(cpu_mode);
        let cpu = cpu.and_then(|cpu| ucpu(machine, cpu));
        if cpu.is_some() || mode.is_some() {
            sample.execution = Some(samples.execution(Execution { ucpu: cpu, mode }));
        }
        if let Some(iid) = message.number(field::CALLSTACK_IID) {
            sample.callsite = known.stack((Some(upid), iid), packet.known(), callstacks, at);
        }
        samples.add(packet.ts, &sample, at);
    }

    /// The session of a packet's sequence (rule PF1).
    fn session(&mut self, packet: &Packet<'_>, samples: &mut Samples) -> SessionId {
        let session = self.sessions.entry(packet.event.writer);
        *session.or_insert_with(|| samples.session(Some(SourceId::LINUX_PERF)))
    }

    /// Sets the tracks of a CPU's counters, by the sequence's first packet of this CPU (rule PF2).
    fn settle(
        &mut self,
        cpu: u32,
        session: SessionId,
        packet: &Packet<'_>,
        samples: &mut Samples,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let key = (packet.event.writer, cpu);
        if self.cpus.contains_key(&key) {
            return;
        }
        let (events, unit) = self.events(session, packet, at);
        if let Some(unit) = unit {
            let unit = at.world.definitions.names.number(unit.as_bytes());
            samples.set_unit(session, unit);
        }
        let tracks = match ucpu(packet.writer.machine, cpu) {
            None => Box::default(),
            Some(ucpu) => {
                let events =
                    events.iter().zip(std::iter::once(true).chain(std::iter::repeat(false)));
                let machine = packet.writer.machine;
                events
                    .map(|(name, is_timebase)| {
                        self.track((machine, ucpu), session, (name, is_timebase), at)
                    })
                    .collect()
            }
        };
        self.cpus.insert(key, tracks);
    }

    /// The names of the timebase and the followers, and the unit of the timebase.
    fn events(
        &self,
        SessionId(session): SessionId,
        packet: &Packet<'_>,
        at: &mut TrackerContext<'_, '_>,
    ) -> (Vec<String>, Option<&'static str>) {
        let world = &mut *at.world;
        let defaults = world.definitions.profiles.perf_defaults(packet.event.defaults);
        let Some(defaults) = defaults else {
            let (name, unit) = perf_events::DEFAULT;
            return (vec![name.to_owned()], Some(unit));
        };
        let shards = defaults.small(defaults::PROCESS_SHARD_COUNT).unwrap_or(0);
        if shards > 0 {
            let idx = i64::from(session);
            let chosen = defaults.small(defaults::CHOSEN_PROCESS_SHARD).unwrap_or(0);
            let (counts, of) = (&mut world.counts, packet.of());
            counts.set(&SHARD_COUNT, of, idx, shards.into());
            counts.set(&CHOSEN_SHARD, of, idx, chosen.into());
        }
        let timebase = Message(defaults.bytes(defaults::TIMEBASE).unwrap_or_default());
        let followers = defaults.messages(defaults::FOLLOWERS);
        let mut names = vec![perf_events::name(timebase, &TIMEBASE)];
        names.extend(followers.map(|follower| perf_events::name(follower, &FOLLOWER)));
        (names, perf_events::unit(timebase, &TIMEBASE))
    }

    fn track(
        &mut self,
        (machine, ucpu): (u32, u32),
        session: SessionId,
        (name, is_timebase): (&str, bool),
        at: &mut TrackerContext<'_, '_>,
    ) -> TrackId {
        let world = &mut *at.world;
        let names = &mut world.definitions.names;
        let key = (ucpu, session, names.number(name.as_bytes()));
        if let Some(&track) = self.tracks.get(&key) {
            return track;
        }
        let owner = Owner::Cpu(ucpu);
        let track = world.tracks.add(NewTrack::counter(machine, TRACK_TYPE, name, owner));
        let (mut dimensions, mut source) = (ArgBuf::default(), ArgBuf::default());
        let number = ArgValue::Int(session.0.into());
        dimensions.push("perf_session_id", number, names);
        dimensions.push("name", ArgValue::Text(name), names);
        source.push("is_timebase", ArgValue::Bool(is_timebase), names);
        let details = Details { dimensions, source, ..Details::default() };
        world.tracks.describe(track, details);
        self.tracks.insert(key, track);
        track
    }

    /// Writes the counts of a sample as values of its CPU's counters.
    fn values(
        &self,
        message: Message<'_>,
        packet: &Packet<'_>,
        sample: &mut Sample,
        samples: &mut Samples,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let cpu = message.small(field::CPU).unwrap_or(0);
        let tracks = self.cpus.get(&(packet.event.writer, cpu));
        let Some((&timebase, followers)) = tracks.and_then(|tracks| tracks.split_first()) else {
            return;
        };
        let values = &mut sample.values;
        if let Some(count) = message.number(field::TIMEBASE_COUNT) {
            samples.value((packet.ts, count), timebase, values, at);
        }
        let counts = message.numbers(field::FOLLOWER_COUNTS);
        for (count, &track) in counts.zip(followers) {
            samples.value((packet.ts, count), track, values, at);
        }
    }

    /// Counts a skipped callstack of a sample.
    fn skips(&mut self, reason: u64, packet: &Packet<'_>, at: &mut TrackerContext<'_, '_>) {
        let fault = match reason {
            1 | 2 => SKIPPED,
            3 => SKIPPED_DATALOSS,
            _ => return,
        };
        at.world.faults.add(fault, packet.event.packet);
        let loss = self.skipped.entry(packet.event.writer).or_insert(Loss {
            start: Some(packet.ts),
            seq: Some(packet.writer.sequence),
            ..said_by(packet)
        });
        loss.end = Some(packet.ts);
        loss.count = Some(loss.count.unwrap_or(0).saturating_add(1));
    }

    /// Writes skipped samples as rows of `loss`.
    pub fn end(&mut self, rows: &mut Rows<'_>) {
        for loss in std::mem::take(&mut self.skipped).into_values() {
            loss.push(rows);
        }
    }
}

/// A loss of samples that a packet reports.
fn said_by(packet: &Packet<'_>) -> Loss {
    Loss {
        machine: Some(packet.writer.machine),
        packet: Some(packet.event.packet),
        ..Loss::new(LossKind::Samples)
    }
}

/// Counts lost records, because the kernel's buffer of a CPU was full.
fn records_lost(lost: u64, cpu: u32, packet: &Packet<'_>, at: &mut TrackerContext<'_, '_>) {
    let count = i64::try_from(lost).unwrap_or(i64::MAX);
    let idx = i64::from(cpu);
    at.world.counts.add(&LOST_RECORDS, packet.of(), idx, count);
    let loss =
        Loss { end: Some(packet.ts), ucpu: ucpu(packet.writer.machine, cpu), ..said_by(packet) };
    loss.counted(lost).push(at.rows);
}

/// Notes that the profiler stopped because it exceeded its limits.
fn producer_event(
    event: Message<'_>,
    SessionId(session): SessionId,
    packet: &Packet<'_>,
    at: &mut TrackerContext<'_, '_>,
) {
    const GUARDRAIL: u64 = 1;
    if event.number(event::SOURCE_STOP_REASON) == Some(GUARDRAIL) {
        let idx = i64::from(session);
        let (counts, of) = (&mut at.world.counts, packet.of());
        counts.set(&GUARDRAIL_STOP, of, idx, packet.ts);
        let loss =
            Loss { start: Some(packet.ts), seq: Some(packet.writer.sequence), ..said_by(packet) };
        loss.push(at.rows);
    }
}

/// The name of a CPU mode (rule PF6).
fn cpu_mode(mode: u64) -> Option<&'static str> {
    match mode {
        0 => None,
        1 => Some("kernel"),
        2 => Some("user"),
        3 => Some("hypervisor"),
        4 => Some("guest_kernel"),
        5 => Some("guest_user"),
        _ => Some("unknown"),
    }
}

/// The name of an unwinding error (rule PF7).
fn unwind_error(error: u64) -> &'static str {
    const ERRORS: [&str; 16] = [
        "unknown",
        "none",
        "memory_invalid",
        "unwind_info",
        "unsupported",
        "invalid_map",
        "max_frames_exceeded",
        "repeated_frame",
        "invalid_elf",
        "system_call",
        "thread_timeout",
        "thread_does_not_exist",
        "bad_arch",
        "maps_parse",
        "invalid_parameter",
        "ptrace_call",
    ];
    let place = usize::try_from(error).ok();
    let known = place.and_then(|place| ERRORS.get(place));
    known.copied().unwrap_or("unknown")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pf6_cpu_modes_have_names() {
        let modes: Vec<_> = (0..7).map(cpu_mode).collect();
        let named = ["kernel", "user", "hypervisor", "guest_kernel", "guest_user"];
        assert_eq!(modes[0], None);
        assert_eq!(modes[1..6], named.map(Some));
        assert_eq!(modes[6], Some("unknown"));
    }

    #[test]
    fn pf7_unwind_errors_have_names() {
        assert_eq!(unwind_error(1), "none");
        assert_eq!(unwind_error(15), "ptrace_call");
        assert_eq!(unwind_error(16), "unknown");
        assert_eq!(unwind_error(u64::MAX), "unknown");
    }
}
