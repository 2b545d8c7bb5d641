//! Flows, which link slices (G).

use super::machines::Machine;
use super::slices::{SliceId, Slices};
use super::track_events::Happening;
use super::tracks::TrackId;
use super::world::World;
use std::collections::BTreeMap;

/// G6: unscoped_id, category and name, of a part (X43).
pub type LegacyFlow = (Machine, u64, Option<String>, Option<String>);

/// X43: ids below 2³² are a part's.
fn space(machine: Machine, id: u64) -> (Option<Machine>, u64) {
    ((id < 1 << 32).then_some(machine), id)
}

#[derive(Debug, Default)]
pub struct Flows {
    /// The slices at both ends.
    pub links: Vec<(SliceId, SliceId)>,
    current: BTreeMap<(Option<Machine>, u64), SliceId>,
    legacy: BTreeMap<LegacyFlow, SliceId>,
    /// The flows that wait for the next slice on a track (G6).
    waiting: Vec<(TrackId, LegacyFlow)>,
}

/// The effect of a flow on its current slice (G5, G6).
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Out,
    Through,
    In,
}

impl Flows {
    /// G4
    fn link(&mut self, slices: &Slices, current: SliceId, slice: SliceId) {
        let starts = |slice: SliceId| slices.all[slice].time;
        let link =
            if starts(slice) < starts(current) { (slice, current) } else { (current, slice) };
        self.links.push(link);
    }

    /// The current slice at that time (G5).
    fn step(
        &mut self,
        slices: &Slices,
        step: Step,
        current: Option<SliceId>,
        slice: SliceId,
    ) -> Option<SliceId> {
        let Some(current) = current else {
            return (step == Step::Out).then_some(slice);
        };
        if step == Step::Out {
            return Some(current);
        }
        self.link(slices, current, slice);
        Some(if step == Step::Through { slice } else { current })
    }

    /// G6
    pub fn legacy(&mut self, slices: &Slices, phase: char, flow: LegacyFlow, slice: SliceId) {
        let step = match phase {
            's' => Step::Out,
            't' => Step::Through,
            _ => Step::In,
        };
        let current = self.legacy.get(&flow).copied();
        if let Some(current) = self.step(slices, step, current, slice) {
            self.legacy.insert(flow, current);
        }
    }

    /// G6
    pub fn wait(&mut self, track: TrackId, flow: LegacyFlow) {
        self.waiting.push((track, flow));
    }

    /// A slice was made for which flows may have waited (G6).
    pub fn made(&mut self, slices: &Slices, slice: SliceId) {
        let track = slices.all[slice].track;
        let waiting = std::mem::take(&mut self.waiting);
        for (on, flow) in waiting {
            if on == track {
                self.legacy(slices, 'f', flow, slice);
            } else {
                self.waiting.push((on, flow));
            }
        }
    }
}

impl World<'_> {
    /// G1 to G3, G5
    pub fn flows_of(&mut self, happening: &Happening<'_>, slice: SliceId) {
        let (fields, legacy) = (&happening.event.fields, &happening.legacy);
        let slices = &self.slices;
        let flows = &mut self.flows;
        let step = match legacy.unsigned(13) {
            1 => Some(Step::In),
            2 => Some(Step::Out),
            3 => Some(Step::Through),
            _ => None,
        };
        if let (Some(id), Some(step)) = (legacy.number(8), step) {
            let id = space(happening.machine, id);
            let current = flows.current.get(&id).copied();
            if let Some(current) = flows.step(slices, step, current, slice) {
                flows.current.insert(id, current);
            }
        }
        let ids = |new, old| match fields.has(new) {
            true => fields.fixed64s(new),
            false => fields.numbers(old),
        };
        for id in ids(47, 36) {
            let id = space(happening.machine, id);
            if let Some(current) = flows.current.insert(id, slice) {
                flows.link(slices, current, slice);
            }
        }
        for id in ids(48, 42) {
            let id = space(happening.machine, id);
            if let Some(current) = flows.current.remove(&id) {
                flows.link(slices, current, slice);
            }
        }
        self.event_flows(happening.machine, slice, fields);
    }
}
