//! The state of the parts of the trace: the trackers of each part, and its part of the world (rule X42).

use std::io;

use rustc_hash::FxHashSet;
use timebase_schema::tables::sched_record;
use timebase_store::sort::Scratch;

use super::all::{Shared, Trackers};
use super::json::Ties;
use super::sched::SchedSlices;
use super::tracker::TrackerContext;
use crate::definitions::Records;
use crate::limits::Watch;
use crate::output::{Counts, Faults, Rows};
use crate::place::{PartIx, PartKey, PartKeys, TraceTime};
use crate::timeline::{Event, Timeline};
use crate::world::{PartWorld, PartWorlds, World, stream};

/// Gives all events of a trace to all trackers. Returns the contradictions in the trace, the counts
/// for files and machines, and what the recording says of itself.
///
/// # Errors
///
/// If a temporary file cannot be written or read, or memory does not suffice.
pub(crate) fn follow(
    timeline: Timeline,
    keys: &PartKeys,
    mut world: World,
    scratch: &Scratch,
    watch: &mut Watch,
    rows: &mut Rows<'_>,
) -> io::Result<(Faults, Counts, Records)> {
    let of_parts = world.definitions.parts.iter();
    let complete: FxHashSet<PartIx> =
        of_parts.filter(|(_, part)| part.has_complete).map(|(part, _)| part).collect();
    let mut shared = Shared::default();
    let mut parts = Parts::new(keys, &mut shared.slices, &mut world, rows);
    let mut ties = Ties::new(scratch);
    let mut give = |ts, event: &Event<'_>| match event {
        Event::PacketsLost { sequence } => {
            world.packets_lost(*sequence);
            Ok(())
        }
        event => match event.part() {
            Some(part) => {
                let of_part = parts.enter(part, &mut shared.slices, &mut world, rows);
                world.comes(ts, stream(event), rows);
                let at = &mut TrackerContext { world: &mut world, rows };
                of_part.event(ts, event, &mut shared, at)
            }
            None => Ok(()),
        },
    };
    timeline.drain(keys, watch, |TraceTime(ts), event| match event {
        Event::Json(record) => {
            let part = record.part();
            if !ties.has_room(ts, part) {
                ties.give(|ts, record| give(ts, &Event::Json(record)))?;
            }
            ties.add(ts, *record, complete.contains(&part))
        }
        event => {
            if !ties.is_empty() {
                ties.give(|ts, record| give(ts, &Event::Json(record)))?;
            }
            give(ts, event)
        }
    })?;
    ties.give(|ts, record| give(ts, &Event::Json(record)))?;
    let worlds = parts.end(&mut shared.slices, &mut world, rows);
    shared.end(&mut TrackerContext { world: &mut world, rows })?;
    drop(shared);
    world.end(keys, worlds, rows)
}

/// The state of one part.
#[derive(Default)]
struct Part {
    trackers: Trackers,
    /// The part's things, while another part is current.
    world: PartWorld,
}

/// The states of all parts with events, and the current part.
pub(super) struct Parts<'k> {
    keys: &'k PartKeys,
    /// By the numbers of parts.
    all: Vec<Option<Box<Part>>>,
    current: Option<PartIx>,
}

impl<'k> Parts<'k> {
    /// The states before the first event. A part whose descriptions alone make tracks begins at once, in the
    /// order of the parts.
    pub fn new(
        keys: &'k PartKeys,
        slices: &mut SchedSlices,
        world: &mut World,
        rows: &mut Rows<'_>,
    ) -> Self {
        let mut parts = Parts { keys, all: Vec::new(), current: None };
        let described = world.definitions.parts.iter();
        let described = described.filter(|(_, of_part)| of_part.makes_tracks());
        let described: Vec<PartIx> = described.map(|(part, _)| part).collect();
        for part in described {
            parts.enter(part, slices, world, rows);
        }
        parts
    }

    fn get(&mut self, PartIx(part): PartIx) -> Option<&mut Part> {
        self.all.get_mut(part as usize)?.as_deref_mut()
    }

    /// Makes a part current, and returns its trackers. A new part begins.
    #[inline]
    pub fn enter(
        &mut self,
        part: PartIx,
        slices: &mut SchedSlices,
        world: &mut World,
        rows: &mut Rows<'_>,
    ) -> &mut Trackers {
        let place = part.0 as usize;
        if self.current != Some(part) {
            self.change(part, slices, world, rows);
        }
        &mut self.all[place].get_or_insert_default().trackers
    }

    #[cold]
    fn change(
        &mut self,
        part: PartIx,
        slices: &mut SchedSlices,
        world: &mut World,
        rows: &mut Rows<'_>,
    ) {
        self.leave(slices, world);
        let (place, key) = (part.0 as usize, self.keys.get(part));
        if self.all.len() <= place {
            self.all.resize_with(place + 1, || None);
        }
        let is_new = self.all[place].is_none();
        let new = self.all[place].get_or_insert_default();
        world.exchange(key, &mut new.world);
        new.trackers.enter(slices);
        if is_new {
            new.trackers.begin(slices, &mut TrackerContext { world, rows });
        }
        self.current = Some(part);
    }

    /// Leaves the current part.
    fn leave(&mut self, slices: &mut SchedSlices, world: &mut World) {
        if let Some(current) = self.current.take()
            && let Some(part) = self.get(current)
        {
            world.exchange(PartKey::default(), &mut part.world);
            part.trackers.leave(slices);
        }
    }

    /// Ends all parts, because there are no more events. Returns their things in the world.
    pub fn end(
        mut self,
        slices: &mut SchedSlices,
        world: &mut World,
        rows: &mut Rows<'_>,
    ) -> PartWorlds {
        for part in (0..self.all.len() as u32).map(PartIx) {
            if self.get(part).is_some() {
                let trackers = self.enter(part, slices, world, rows);
                trackers.end(&mut TrackerContext { world, rows });
            }
        }
        self.leave(slices, world);
        slices.end(rows);
        if let Some((start, end)) = slices.span {
            world.spans(&sched_record::TABLE, start, end.saturating_sub(start));
        }
        let all = self.all.into_iter();
        PartWorlds(all.map(|part| Some(part?.world)).collect())
    }
}
