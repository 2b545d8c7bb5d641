//! V8's profiles in track events (rule FP5).

use std::io;

use rustc_hash::FxHashMap;

use super::callstacks::{CallsiteId, Callstacks, MappingId, Source, SymbolLine};
use super::packet::Packet;
use super::samples::{Sample, Samples, SourceId, Task};
use crate::compact::{Compact, Take};
use crate::definitions::v8::fault as v8_fault;
use crate::definitions::{Names, V8Node, V8Sample, V8Session};
use crate::output::Rows;
use crate::timeline::ProfileSample;
use crate::trackers::tracker::TrackerContext;
use crate::world::{ThreadNumbers, Utid};

/// The callsites of all sessions, by their numbers.
#[derive(Debug, Default)]
pub(super) struct V8Profiles(FxHashMap<u32, Calls>);

/// The callsites of a session.
#[derive(Debug, Default)]
struct Calls {
    mapping: Option<MappingId>,
    /// The callsite and the depth of each node by its place.
    callsites: FxHashMap<u32, (CallsiteId, usize)>,
}

impl V8Profiles {
    /// Takes a sample, in the compact form of its reader.
    ///
    /// # Errors
    ///
    /// If the bytes have another form, because the temporary file is damaged.
    pub fn sample(
        &mut self,
        packet: &Packet<'_>,
        callstacks: &mut Callstacks,
        samples: &mut Samples,
        at: &mut TrackerContext<'_, '_>,
    ) -> io::Result<()> {
        let sample = V8Sample::take(&mut Take(packet.event.payload))?;
        let V8Sample { session: number, node: id, thread } = sample;
        let thread = thread.map(|thread| ThreadNumbers::of(packet.writer.machine, thread));
        let Some(callsite) = self.callsite((number, id), packet.event.packet, callstacks, at)
        else {
            return Ok(());
        };
        let utid = thread.map(|thread| {
            let (pid, tid) = at.world.thread_outside(thread);
            at.world.threads.bind(thread.machine, tid, pid)
        });
        add(packet.ts, callsite, utid, samples, at);
        Ok(())
    }

    /// Takes a sample of a JSON trace (rule JS28).
    pub fn json_sample(
        &mut self,
        ts: i64,
        (sample, packet): (ProfileSample, i64),
        utid: Utid,
        (callstacks, samples): (&mut Callstacks, &mut Samples),
        at: &mut TrackerContext<'_, '_>,
    ) {
        let of = (sample.session, sample.node);
        if let Some(callsite) = self.callsite(of, packet, callstacks, at) {
            add(ts, callsite, Some(utid), samples, at);
        }
    }

    /// The callsite of a session's node, which may be unknown.
    fn callsite(
        &mut self,
        (number, id): (u32, u32),
        packet: i64,
        callstacks: &mut Callstacks,
        at: &mut TrackerContext<'_, '_>,
    ) -> Option<CallsiteId> {
        let session = at.world.definitions.v8.get(number);
        let found = session.and_then(|session| Some((session, session.place(id)?)));
        let Some((session, place)) = found else {
            at.world.faults.add(v8_fault::INVALID_SAMPLE, packet);
            return None;
        };
        let calls = self.0.entry(number).or_default();
        let mut maker = Maker { calls, callstacks, rows: at.rows };
        let names = &mut at.world.definitions.names;
        maker.callsite(place, session, names).map(|(callsite, _)| callsite)
    }

    /// Makes the callsites without samples, because there are no more.
    pub fn end(&mut self, callstacks: &mut Callstacks, at: &mut TrackerContext<'_, '_>) {
        let definitions = &mut at.world.definitions;
        for number in 0..definitions.v8.len() {
            let Some(session) = definitions.v8.get(number) else {
                continue;
            };
            let mut maker =
                Maker { calls: self.0.entry(number).or_default(), callstacks, rows: at.rows };
            for place in 0..session.nodes.len() as u32 {
                maker.callsite(place, session, &mut definitions.names);
            }
        }
    }
}

/// Adds the row of a sample.
fn add(
    ts: i64,
    callsite: CallsiteId,
    utid: Option<Utid>,
    samples: &mut Samples,
    at: &mut TrackerContext<'_, '_>,
) {
    let task = utid.map(|utid| {
        let upid = at.world.threads.process_of(utid);
        samples.task(Task { upid, utid: Some(utid), of_async: None })
    });
    let sample = Sample {
        source: Some(SourceId::LEGACY_V8),
        task,
        callsite: Some(callsite),
        ..Sample::default()
    };
    samples.add(ts, &sample, at);
}

/// Makes the callsites of a session.
struct Maker<'m, 'r> {
    calls: &'m mut Calls,
    callstacks: &'m mut Callstacks,
    rows: &'m mut Rows<'r>,
}

impl Maker<'_, '_> {
    /// The callsite and the depth of a node. The callers above it are made first, the outermost first.
    fn callsite(
        &mut self,
        place: u32,
        session: &V8Session,
        names: &mut Names,
    ) -> Option<(CallsiteId, usize)> {
        let mut above = Vec::new();
        let mut next = Some(place);
        // A caller is earlier than its callees, so the loop ends.
        while let Some(place) = next.filter(|place| !self.calls.callsites.contains_key(place)) {
            above.push(place);
            next = session.nodes.get(place as usize)?.caller;
        }
        for place in above.into_iter().rev() {
            let node = *session.nodes.get(place as usize)?;
            let made = self.add(node, session.machine, names);
            self.calls.callsites.insert(place, made);
        }
        self.calls.callsites.get(&place).copied()
    }

    /// Adds a node whose caller is there.
    fn add(&mut self, node: V8Node, machine: u32, names: &mut Names) -> (CallsiteId, usize) {
        let rows = &mut *self.rows;
        let mapping = self.calls.mapping;
        let mapping = mapping.unwrap_or_else(|| self.callstacks.dummy(machine, "", names, rows));
        self.calls.mapping = Some(mapping);
        let line =
            SymbolLine { function: node.function, source: Source { file: node.url, line: None } };
        let frame = self.callstacks.dummy_frame(mapping, line, names, rows);
        let caller = node.caller.and_then(|place| self.calls.callsites.get(&place));
        let (parent, depth) = match caller {
            Some((parent, depth)) => (Some(*parent), depth + 1),
            None => (None, 0),
        };
        (self.callstacks.callsite(parent, depth, frame, rows), depth)
    }
}
