//! The stacks of slices on tracks (rules B4, B5, E9 to E13).
//!
//! # Design
//!
//! The slices that are not rows yet are in one arena (`open_slices.rs`). Each slice has the place
//! of the slice below it, and a track has the place of its top slice. The alternative was a vector
//! for each track. But names of async slices make hundreds of thousands of tracks, each of which is
//! used once and would keep its buffer. So memory is only needed for open slices, plus 16 bytes for
//! each track.
//!
//! A slice becomes a row when it leaves its stack, because only then nothing can change its
//! end any more (E9). Slices get their ids when they begin, so rows do not come in the
//! order of ids. The alternative was to write rows at the begin and to change them at the end;
//! but a written row is not in memory any more.

use timebase_schema::tables::{slice_record, unended_slice};

use super::World;
use super::args::ArgSets;
use super::groups::{Groups, TimeOf};
use super::misplaced::{ClosedSlice, Misplaced};
use super::open_slices::{Arena, Losses, Slice};
use super::slice::{EndOfSlice, MadeSlice, NewSlice, SliceId};
use super::slice_order::SliceOrder;
use super::strings::Strings;
use super::threads::Threads;
use super::tracks::{Owner, TrackId, Tracks};
use crate::arguments::with_names;
use crate::definitions::{EndNames, Names, StatementsOfParts, Translated};
use crate::output::{Cause, Cell, Doubt, Example, Fault, Faults, Rows};
use crate::pieces::Pieces;
use crate::timeline::{Label, OwnLabel};

/// The largest number of slices in a stack (rules B4, E10).
const DEEPEST: u32 = 512;

/// The counters of slices that do not fit.
mod fault {
    use crate::output::{Cause, Counter, Fault};

    pub const TOO_DEEP: Fault = Fault::new(
        Counter::data_loss("slice_max_depth_exceeded", "a slice with 512 below it is dropped")
            .drops(Cause::TooDeep),
    );
    pub const OVERLAPS: Fault = Fault::new(
        Counter::data_loss(
            "slice_drop_overlapping_complete_event",
            "a slice that begins inside another one and ends after it is \
         dropped",
        )
        .drops(Cause::Overlap),
    );
    pub const MISPLACED_END: Fault = Fault::new(
        Counter::data_loss(
            "misplaced_end_event",
            "a slice ends before the slices inside it, which end with it",
        )
        .drops_nothing(),
    );
}

/// A slice begins inside another one and ends after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Overlaps;

/// The slices of a track.
#[derive(Debug, Default, Clone, Copy)]
struct Stack {
    top: Option<u32>,
    depth: u32,
    /// The number of closed slices.
    closed: u16,
    /// Whether the last end had a name.
    has_named_ends: bool,
}

/// The stacks of all tracks.
#[derive(Debug, Default)]
pub(crate) struct Slices {
    arena: Arena,
    /// By track.
    stacks: Pieces<Stack>,
    next: i64,
    order: SliceOrder,
    /// The number of packet losses, by sequence.
    losses: Losses,
    misplaced: Misplaced,
    /// The first and the last time of all slices.
    span: Option<(i64, i64)>,
}

/// The state that is needed to make a row.
struct Maker<'a, 'o> {
    faults: &'a mut Faults,
    sets: &'a mut ArgSets,
    names: &'a Names,
    end_names: &'a EndNames,
    parts: &'a StatementsOfParts,
    has_translations: bool,
    tracks: &'a Tracks,
    groups: &'a mut Groups,
    /// The machine of the current part.
    machine: u32,
    strings: &'a mut Strings,
    rows: &'a mut Rows<'o>,
}

impl Maker<'_, '_> {
    /// The number of a slice's set of arguments, with names instead of hashes (rule TN3).
    fn set(&mut self, args: &[u8], track: TrackId) -> Option<i64> {
        if self.rows.state_of().is_some() {
            return None;
        }
        let named = match self.has_translations {
            false => None,
            true => {
                let of_part = self.parts.get(self.tracks.part(track));
                let hashes = of_part.into_iter().flat_map(|of| of.translations.hashes());
                with_names(args, self.names, hashes)
            }
        };
        let args = named.as_deref().unwrap_or(args);
        self.sets.number(args, self.names, self.rows)
    }

    /// A slice of the current part starts or ends.
    #[inline]
    fn sees(&mut self, ts: i64) {
        self.groups.see(TimeOf::Slice, self.machine, ts);
    }

    /// Writes the row of a slice.
    fn row(&mut self, slice: &Slice, track: TrackId, (depth, parent): (u32, Option<i64>)) {
        let arg_set_id = self.set(slice.args(), track);
        let category = self.text(slice.category());
        let name = self.text(slice.name());
        let [time, instructions] = slice.spent();
        self.rows.count_slice(slice.doubt().is_some());
        self.rows.push(slice_record::Row {
            id: Cell::from(slice.id),
            ts: Cell::from(slice.ts),
            dur: Cell::from(slice.dur().unwrap_or(-1)),
            track_id: Cell::from(track.0),
            category,
            name,
            depth: Cell::from(depth.saturating_sub(1)),
            parent_id: Cell::or_null(parent),
            arg_set_id: Cell::or_null(arg_set_id),
            packet_id: Cell::or_null(slice.packet()),
            thread_ts: Cell::or_null(time.before),
            thread_dur: Cell::or_null(time.within),
            thread_instruction_count: Cell::or_null(instructions.before),
            thread_instruction_delta: Cell::or_null(instructions.within),
            doubt: Cell::or_null(slice.doubt().map(Doubt::number)),
        });
    }

    /// The number of a text in the table `string`.
    fn text(&mut self, label: Label<'_>) -> Cell {
        match label {
            Label::None => Cell::Null,
            Label::Known(name) => Cell::from(self.strings.of_name(name, self.names, self.rows)),
            Label::Own(text) => Cell::from(self.strings.number(text, self.rows)),
        }
    }
}

/// The description of an event of a slice.
fn example(slice: &NewSlice<'_>, tracks: &Tracks, threads: &Threads, names: &Names) -> Example {
    let name = OwnLabel::from(slice.name);
    let (tid, pid) = match tracks.owner(slice.track) {
        Owner::Thread(utid) => threads.ids(utid),
        Owner::Process(upid) => (None, threads.pid(upid)),
        _ => (None, None),
    };
    Example {
        packet: slice.packet,
        ts: Some(slice.ts),
        name: names.text_of(&name).map(str::to_owned),
        pid,
        tid,
    }
}

impl World {
    /// Begins a slice (rule E10). Returns `None` if the stack is too deep.
    pub fn begin_slice(
        &mut self,
        slice: NewSlice<'_>,
        args: &[u8],
        rows: &mut Rows<'_>,
    ) -> Option<SliceId> {
        self.name_and_push(slice, None, args, rows)
    }

    /// Adds a slice with a known duration; an instant has 0 (rule E12). Returns `None`
    /// if the stack is too deep, or if the slice begins inside another one and ends after it.
    pub fn add_slice(
        &mut self,
        slice: NewSlice<'_>,
        dur: i64,
        args: &[u8],
        rows: &mut Rows<'_>,
    ) -> Option<SliceId> {
        self.name_and_push(slice, Some(dur.max(0)), args, rows)
    }

    /// Adds a slice as [`World::add_slice`] does, or returns an error, which is not counted, if the slice begins inside
    /// another one and ends after it (rule JS19).
    pub fn add_unless_overlapping(
        &mut self,
        slice: &NewSlice<'_>,
        dur: i64,
        args: &[u8],
        rows: &mut Rows<'_>,
    ) -> Result<Option<SliceId>, Overlaps> {
        let (slices, mut maker) = self.slices_and_maker(rows);
        match slices.push(slice, Some(dur.max(0)), args, &mut maker) {
            Ok(id) => {
                self.flows.slice_made(slice.track, MadeSlice { id, ts: slice.ts });
                Ok(Some(id))
            }
            Err(fault) if fault.counter().name == fault::OVERLAPS.counter().name => Err(Overlaps),
            Err(fault) => {
                self.dropped(slice, fault);
                Ok(None)
            }
        }
    }

    /// Adds a slice, with another name if it has one (rule TN2). A slice that was just written field
    /// by field is not copied: the copy would wait for all of these writes.
    #[inline]
    fn name_and_push(
        &mut self,
        slice: NewSlice<'_>,
        dur: Option<i64>,
        args: &[u8],
        rows: &mut Rows<'_>,
    ) -> Option<SliceId> {
        match self.other_name(slice.track, slice.name) {
            None => self.push_slice(&slice, dur, args, rows),
            Some(name) => {
                let name = name.label();
                self.push_slice(&NewSlice { name, ..slice }, dur, args, rows)
            }
        }
    }

    #[inline]
    fn push_slice(
        &mut self,
        slice: &NewSlice<'_>,
        dur: Option<i64>,
        args: &[u8],
        rows: &mut Rows<'_>,
    ) -> Option<SliceId> {
        let doubt = self.doubt;
        let (slices, mut maker) = self.slices_and_maker(rows);
        let id = match slices.push(slice, dur, args, &mut maker) {
            Ok(id) => id,
            Err(fault) => {
                self.dropped(slice, fault);
                return None;
            }
        };
        if let Some(doubt) = doubt.filter(|_| dur.is_none()) {
            slices.doubt_top(slice.track, doubt);
        }
        self.flows.slice_made(slice.track, MadeSlice { id, ts: slice.ts });
        Some(id)
    }

    /// Counts a slice that makes no row (rule FE1).
    #[cold]
    fn dropped(&mut self, slice: &NewSlice<'_>, fault: Fault) {
        let World { tracks, threads, definitions, faults, .. } = self;
        let example = || example(slice, tracks, threads, &definitions.names);
        faults.add_event(fault, slice.packet, slice.sequence, example);
    }

    /// Notes an end whose name no open slice has (rule JS18): `end` has its time, track, name and packet.
    #[cold]
    pub fn unmatched(&mut self, end: &NewSlice<'_>) {
        let World { tracks, threads, definitions, faults, .. } = self;
        faults.note(Cause::NoOpenSlice, || example(end, tracks, threads, &definitions.names));
    }

    /// Ends the topmost open slice that fits (rules B5, E11), and adds arguments to it.
    pub fn end_slice(
        &mut self,
        end: EndOfSlice<'_>,
        args: &[u8],
        rows: &mut Rows<'_>,
    ) -> Option<MadeSlice> {
        let other = self.other_name(end.track, end.name);
        let (slices, mut maker) = self.slices_and_maker(rows);
        match other {
            None => slices.close(&end, args, &mut maker),
            Some(name) => {
                let name = name.label();
                slices.close(&EndOfSlice { name, ..end }, args, &mut maker)
            }
        }
    }

    /// The other name of a slice, if it has one (rule TN2).
    #[inline]
    fn other_name(&self, track: TrackId, name: Label<'_>) -> Option<OwnLabel> {
        let definitions = &self.definitions;
        if definitions.translation_room.is_empty() {
            return None;
        }
        let of_part = definitions.parts.get(self.tracks.part(track))?;
        let translations = &of_part.translations;
        translations.name(Translated::Slice, name, &definitions.names)
    }

    /// Adds arguments to the topmost open slice of a track with this category and name, even if
    /// slices above it have ended. Does nothing if there is no such slice.
    pub fn mark_slice(
        &mut self,
        track: TrackId,
        category: Label<'_>,
        name: Label<'_>,
        args: &[u8],
    ) {
        let mut next = self.slices.stack(track).top;
        while let Some(slice) = next.and_then(|next| self.slices.arena.get_mut(next)) {
            if slice.is_open() && slice.category() == category && slice.name() == name {
                slice.merge(args, &self.definitions.names);
                return;
            }
            next = slice.below();
        }
    }

    /// An event of a stream comes (rule RT12).
    #[inline]
    pub fn comes(&mut self, ts: i64, stream: u32, rows: &mut Rows<'_>) {
        self.slices.order.event(ts, stream, rows);
    }

    /// A sequence lost packets.
    pub fn packets_lost(&mut self, sequence: u32) {
        self.slices.losses.add(sequence);
    }

    /// The slice on top of a track, whether it has ended or not (rule G6).
    pub fn top_slice(&mut self, track: TrackId) -> Option<MadeSlice> {
        let top = self.slices.stack(track).top;
        let slice = self.slices.arena.get(top?)?;
        Some(MadeSlice { id: SliceId(slice.id), ts: slice.ts })
    }

    /// Writes the remaining slices; open ones have no end (rule E13).
    pub(super) fn end_slices(&mut self, rows: &mut Rows<'_>) {
        self.doubt_open_slices();
        self.slices.order.end(rows);
        let (slices, mut maker) = self.slices_and_maker(rows);
        slices.end(&mut maker);
        if let Some((start, end)) = slices.span {
            self.spans(&slice_record::TABLE, start, end.saturating_sub(start));
        }
    }

    /// Marks slices that never ended, of threads that the first event of another CPU has (rule FE9).
    fn doubt_open_slices(&mut self) {
        let World { definitions, tracks, threads, slices, .. } = self;
        let first_seen = |part, tid| {
            let of_part = definitions.parts.get(part)?;
            of_part.kernel_buffers.first_seen(tid)
        };
        if definitions.parts.iter().all(|(_, of_part)| of_part.kernel_buffers.is_empty()) {
            return;
        }
        for (track, part, utid) in tracks.of_threads() {
            let (tid, _) = threads.ids(utid);
            if let Some(first) = tid.and_then(|tid| first_seen(part, tid)) {
                slices.doubt_open(track, first);
            }
        }
    }

    fn slices_and_maker<'a, 'o>(
        &'a mut self,
        rows: &'a mut Rows<'o>,
    ) -> (&'a mut Slices, Maker<'a, 'o>) {
        let maker = Maker {
            faults: &mut self.faults,
            sets: &mut self.args,
            names: &self.definitions.names,
            end_names: &self.definitions.end_names,
            parts: &self.definitions.parts,
            has_translations: !self.definitions.translation_room.is_empty(),
            tracks: &self.tracks,
            groups: &mut self.groups,
            machine: self.part.machine,
            strings: &mut self.strings,
            rows,
        };
        (&mut self.slices, maker)
    }
}

impl Slices {
    #[inline]
    fn stack(&mut self, TrackId(track): TrackId) -> &mut Stack {
        let place = track as usize;
        self.stacks.reach(place)
    }

    #[inline]
    fn seen(&mut self, ts: i64) {
        let (start, end) = self.span.unwrap_or((ts, ts));
        self.span = Some((start, end.max(ts)));
    }

    /// Puts a slice on its stack. An open slice has no duration.
    fn push(
        &mut self,
        slice: &NewSlice<'_>,
        dur: Option<i64>,
        args: &[u8],
        maker: &mut Maker<'_, '_>,
    ) -> Result<SliceId, Fault> {
        let &NewSlice { ts, track, .. } = slice;
        let end = dur.map(|dur| ts.saturating_add(dur));
        if !self.settle(ts, end, track, maker) {
            return Err(fault::OVERLAPS);
        }
        let stack = *self.stack(track);
        if stack.depth >= DEEPEST {
            return Err(fault::TOO_DEEP);
        }
        let id = self.next;
        self.next += 1;
        let parent = stack.top.and_then(|top| self.arena.get(top));
        self.order.begins(id, parent.map(|parent| parent.id));
        self.seen(ts);
        maker.sees(ts);
        if let Some(end) = end.filter(|&end| end != ts) {
            self.seen(end);
            maker.sees(end);
        }
        let (losses, arena) = (&self.losses, &mut self.arena);
        let top = arena.add(slice, (id, dur), args, stack.top, losses);
        *self.stack(track) = Stack {
            top: Some(top),
            depth: stack.depth + 1,
            closed: stack.closed + u16::from(dur.is_some()),
            ..stack
        };
        self.misplaced.begins(track, id, slice.name, maker.end_names);
        Ok(SliceId(id))
    }

    /// Marks the slice on top of a track as doubtful.
    #[cold]
    fn doubt_top(&mut self, track: TrackId, doubt: Doubt) {
        let top = self.stack(track).top;
        if let Some(slice) = top.and_then(|top| self.arena.get_mut(top)) {
            slice.doubts(doubt);
        }
    }

    /// Marks the open slices of a track that kernel events began before `ts`: the buffer of another CPU may have lost
    /// their ends (rule FE9).
    fn doubt_open(&mut self, track: TrackId, ts: i64) {
        let mut next = self.stack(track).top;
        while let Some(slice) = next.and_then(|next| self.arena.get_mut(next)) {
            if slice.is_open() && slice.ts < ts && !slice.has_sequence() {
                slice.doubts(Doubt::CpusMissing);
            }
            next = slice.below();
        }
    }

    /// Takes the slices that have ended at `ts` off a stack (rule E9). `until` is the end of the
    /// slice that comes next, if it has one. Returns whether that slice fits. If it begins inside
    /// another slice and ends after it, the slices below the other one stay (rule E12).
    #[inline]
    fn settle(
        &mut self,
        ts: i64,
        until: Option<i64>,
        track: TrackId,
        maker: &mut Maker<'_, '_>,
    ) -> bool {
        self.stack(track).closed == 0 || self.settle_closed(ts, until, track, maker)
    }

    fn settle_closed(
        &mut self,
        ts: i64,
        until: Option<i64>,
        track: TrackId,
        maker: &mut Maker<'_, '_>,
    ) -> bool {
        let is_instant = until == Some(ts);
        let mut is_open_above = false;
        let mut next = self.stack(track).top;
        while let Some(place) = next
            && let Some(slice) = self.arena.get(place)
        {
            next = slice.below();
            let Some(end) = slice.end() else {
                is_open_above = true;
                continue;
            };
            if is_open_above {
                if end < ts {
                    let packet = slice.packet();
                    maker.faults.add(fault::MISPLACED_END, packet);
                    self.cut(track, place, end, maker);
                    is_open_above = false;
                }
            } else if end < ts || (end == ts && !(is_instant && slice.ts == end)) {
                self.pop(track, maker);
            } else if until.is_some_and(|until| ts < end && end < until) {
                return false;
            }
            if self.stack(track).closed == 0 {
                break;
            }
        }
        true
    }

    /// A slice has ended although a slice above it is open. It leaves the stack together with all
    /// slices above it, which end with it.
    fn cut(&mut self, track: TrackId, place: u32, end: i64, maker: &mut Maker<'_, '_>) {
        let by = self.arena.get(place).map_or(0, |slice| slice.id);
        while let Some(top) = self.stack(track).top {
            if top != place
                && let Some(slice) = self.arena.get_mut(top)
            {
                let was_open = slice.is_open();
                if was_open {
                    slice.ends(&self.losses);
                }
                if slice.end() != Some(end) {
                    let named = (slice.id, slice.name());
                    self.misplaced.cut(track, named, by, was_open, maker.rows);
                }
                slice.cut(end);
                self.stack(track).closed += u16::from(was_open);
            }
            self.pop(track, maker);
            if top == place {
                break;
            }
        }
    }

    /// Closes the topmost open slice that an end fits (rules B5, E11).
    fn close(
        &mut self,
        end: &EndOfSlice<'_>,
        args: &[u8],
        maker: &mut Maker<'_, '_>,
    ) -> Option<MadeSlice> {
        let &EndOfSlice { ts, track, name, .. } = end;
        self.settle(ts, None, track, maker);
        let stack = self.stack(track);
        stack.has_named_ends = name != Label::None;
        let top = stack.top;
        let mut next = top;
        while let Some(slice) = next.and_then(|next| self.arena.get_mut(next)) {
            if slice.is_open() && slice.fits(end) {
                slice.ends(&self.losses);
                let made = slice.close(end, args, maker.names);
                self.closed(track, next, name, maker);
                self.stack(track).closed += 1;
                self.seen(ts);
                if made.ts != ts {
                    maker.sees(ts);
                }
                if next == top {
                    self.pop(track, maker);
                }
                return Some(made);
            }
            next = slice.below();
        }
        self.closed_nothing(end, maker);
        None
    }

    /// An end closed the slice at a place.
    #[inline]
    fn closed(
        &mut self,
        track: TrackId,
        place: Option<u32>,
        end: Label<'_>,
        maker: &Maker<'_, '_>,
    ) {
        if !self.misplaced.needs_closed(end, maker.end_names) {
            return;
        }
        if let Some(slice) = place.and_then(|place| self.arena.get(place)) {
            let parent = slice.below().and_then(|below| self.arena.get(below));
            let closed = ClosedSlice {
                id: slice.id,
                name: slice.name(),
                parent: parent.map(|parent| parent.id),
            };
            self.misplaced.closed(track, closed, end, maker.end_names);
        }
    }

    /// An end closed nothing (rule DT9).
    fn closed_nothing(&mut self, end: &EndOfSlice<'_>, maker: &mut Maker<'_, '_>) {
        if self.misplaced.is_empty() {
            return;
        }
        let &EndOfSlice { ts, track, name, .. } = end;
        let Some(owed) = self.misplaced.closed_nothing(track, name, ts, maker.rows) else {
            return;
        };
        let mut next = self.stack(track).top;
        while let Some(slice) = next.and_then(|next| self.arena.get(next)) {
            if slice.id == owed.slice && slice.is_open() {
                return owed.is_open(maker.rows);
            }
            next = slice.below();
        }
    }

    /// Takes the top slice off a stack and writes its row.
    fn pop(&mut self, track: TrackId, maker: &mut Maker<'_, '_>) {
        let stack = *self.stack(track);
        let Some(top) = stack.top else { return };
        let Some(slice) = self.arena.get_mut(top) else {
            return;
        };
        if slice.is_open() {
            slice.ends(&self.losses);
        }
        let Some(slice) = self.arena.get(top) else {
            return;
        };
        let below = slice.below();
        let parent = below.and_then(|below| self.arena.get(below)).map(|parent| parent.id);
        if maker.rows.state_of().is_none_or(|of| slice.ts < of.to) {
            maker.row(slice, track, (stack.depth, parent));
        }
        let was_closed = !slice.is_open();
        self.arena.remove(top);
        *self.stack(track) = Stack {
            top: below,
            depth: stack.depth.saturating_sub(1),
            closed: stack.closed.saturating_sub(was_closed.into()),
            ..stack
        };
    }

    /// Writes the rows of all slices.
    fn end(&mut self, maker: &mut Maker<'_, '_>) {
        for track in (0..self.stacks.len() as i64).map(TrackId) {
            while let Some(top) = self.stack(track).top {
                self.unended(track, top, maker);
                self.pop(track, maker);
            }
        }
        self.misplaced.end(maker.rows);
    }

    /// Writes that a slice has no end, if it is open.
    fn unended(&mut self, track: TrackId, place: u32, maker: &mut Maker<'_, '_>) {
        let named_ends = self.stack(track).has_named_ends;
        if let Some(slice) = self.arena.get(place).filter(|slice| slice.is_open()) {
            maker.rows.push(unended_slice::Row {
                slice_id: Cell::from(slice.id),
                named_ends: Cell::from(i64::from(named_ends)),
            });
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use timebase_trace::Interned;

    use super::*;
    use crate::definitions::Definitions;
    use crate::place::PartKeys;
    use crate::trackers::testing::WrittenRows;
    use crate::world::{NewTrack, Owner, PartWorlds, Spent};

    const TRACK: TrackId = TrackId(0);

    /// The slices that calls make on one track, with their names as texts.
    fn slices(make: impl FnOnce(&mut World, &mut Rows<'_>)) -> Vec<String> {
        let slices = made(make).slices().into_iter();
        slices.map(|slice| slice.replace(", t/-#0", "")).collect()
    }

    /// The rows of these slices, as they are made.
    fn rows(make: impl FnOnce(&mut World, &mut Rows<'_>)) -> Vec<Vec<String>> {
        made(make).rows(&slice_record::TABLE)
    }

    fn made(make: impl FnOnce(&mut World, &mut Rows<'_>)) -> WrittenRows {
        WrittenRows::by(|rows| {
            let directory = tempfile::tempdir().unwrap();
            let (definitions, interned) = (Definitions::default(), Interned::default());
            let mut world = World::new(definitions, interned, &directory.path().into(), rows);
            let track = NewTrack::slices(0, "t", None, Owner::None);
            assert_eq!(world.tracks.get(track), TRACK);
            make(&mut world, rows);
            world.end(&PartKeys::new([(0, 0)]), PartWorlds(Vec::new()), rows).unwrap();
        })
    }

    fn at(ts: i64, category: Label<'static>) -> NewSlice<'static> {
        NewSlice { category, ..NewSlice::named(ts, TRACK, Label::None) }
    }

    fn end(ts: i64, category: Label<'static>) -> EndOfSlice<'static> {
        EndOfSlice { category, ..EndOfSlice::any(ts, TRACK) }
    }

    const NONE: Label<'_> = Label::None;
    const OUTER: Label<'_> = Label::Own("Running");
    const INNER: Label<'_> = Label::Own("R");

    #[test]
    fn e9_what_is_closed_below_something_open_takes_that_with_it() {
        let made = slices(|world, rows| {
            world.begin_slice(at(1, OUTER), &[], rows);
            world.begin_slice(at(2, INNER), &[], rows);
            world.begin_slice(at(3, INNER), &[], rows);
            world.end_slice(end(5, OUTER), &[], rows);
            // The slice stays while its time lasts.
            world.begin_slice(at(5, NONE), &[], rows);
            world.begin_slice(at(6, NONE), &[], rows);
        });
        assert_eq!(made, ["Running: 1+4 0 -", "R: 2+3 1 -", "R: 3+2 2 -", "5+0 3 -", "6+-1 0 -"]);
    }

    #[test]
    fn e9_what_has_ended_is_no_parent_unless_both_are_instants() {
        let made = slices(|world, rows| {
            world.add_slice(at(1, NONE), 4, &[], rows);
            world.add_slice(at(2, NONE), 0, &[], rows);
            world.add_slice(at(2, NONE), 0, &[], rows);
            world.add_slice(at(2, NONE), 3, &[], rows);
            world.add_slice(at(5, NONE), 0, &[], rows);
            world.begin_slice(at(5, NONE), &[], rows);
        });
        let expected = ["1+4 0 -", "2+0 1 -", "2+0 2 -", "2+3 1 -", "5+0 0 -", "5+-1 0 -"];
        assert_eq!(made, expected);
    }

    #[test]
    fn e12_what_overlaps_is_dropped() {
        let made = slices(|world, rows| {
            world.add_slice(at(1, NONE), 4, &[], rows);
            assert_eq!(world.add_slice(at(2, NONE), 4, &[], rows), None);
            world.add_slice(at(2, NONE), 3, &[], rows);
            world.begin_slice(at(3, NONE), &[], rows);
            world.add_slice(at(3, NONE), i64::MAX, &[], rows);
        });
        assert_eq!(made, ["1+4 0 -", "2+3 1 -", "3+-1 2 -", "3+9223372036854775807 3 -"]);
    }

    #[test]
    fn b5_e11_an_end_finds_the_topmost_open_slice_of_its_category() {
        let made = slices(|world, rows| {
            world.end_slice(end(0, NONE), &[], rows);
            world.begin_slice(at(1, OUTER), &[], rows);
            world.begin_slice(at(2, INNER), &[], rows);
            world.end_slice(end(3, Label::Own("S")), &[], rows);
            world.end_slice(end(4, OUTER), &[], rows);
            world.end_slice(end(4, OUTER), &[], rows);
            world.end_slice(end(4, NONE), &[], rows);
        });
        assert_eq!(made, ["Running: 1+3 0 -", "R: 2+2 1 -"]);
    }

    #[test]
    fn e11_an_end_with_a_name_fits_a_slice_without_one() {
        let named = |ts, name| NewSlice::named(ts, TRACK, Label::Own(name));
        let end = |ts, name| EndOfSlice { name: Label::Own(name), ..EndOfSlice::any(ts, TRACK) };
        let made = slices(|world, rows| {
            world.begin_slice(named(1, "a"), &[], rows);
            world.begin_slice(at(2, NONE), &[], rows);
            world.begin_slice(named(3, "b"), &[], rows);
            let ended = world.end_slice(end(4, "c"), &[], rows);
            assert_eq!(ended.map(|made| made.ts), Some(2));
            assert!(world.end_slice(end(4, "c"), &[], rows).is_none());
            let ended = world.end_slice(end(4, "b"), &[], rows);
            assert_eq!(ended.map(|made| made.ts), Some(3));
        });
        assert_eq!(made, ["1+-1 0 a", "2+2 1 -", "3+1 2 b"]);
    }

    #[test]
    fn e14_what_a_thread_spends_in_a_slice() {
        let begins = |ts, before| NewSlice {
            time: Spent { before: Some(before), within: None },
            instructions: Spent { before: Some(before), within: None },
            ..at(ts, NONE)
        };
        let ends = |ts, until| EndOfSlice {
            time: Some(until),
            instructions: Some(until),
            ..EndOfSlice::any(ts, TRACK)
        };
        let made = rows(|world, rows| {
            world.begin_slice(begins(1, 10), &[], rows);
            world.begin_slice(begins(2, 12), &[], rows);
            world.end_slice(ends(3, 15), &[], rows);
            world.end_slice(ends(4, 10), &[], rows);
            world.begin_slice(begins(5, 20), &[], rows);
            world.end_slice(EndOfSlice::any(6, TRACK), &[], rows);
        });
        // An unchanged time has no difference, an unchanged count has 0; an end without values has
        // neither.
        let spent: Vec<_> = made.iter().map(|row| row[10..14].join(" ")).collect();
        assert_eq!(spent, ["12 3 12 3", "10 - 10 0", "20 - 20 -"]);
    }

    #[test]
    fn b4_e10_e13_stacks_have_512_slices_and_what_is_open_has_no_end() {
        let made = slices(|world, rows| {
            for ts in 0..512 {
                assert!(world.begin_slice(at(ts, NONE), &[], rows).is_some());
            }
            assert_eq!(world.begin_slice(at(512, NONE), &[], rows), None);
            world.end_slice(end(513, NONE), &[], rows);
        });
        assert_eq!(made.len(), 512);
        assert_eq!((made[510].as_str(), made[511].as_str()), ("510+-1 510 -", "511+2 511 -"));
    }
}
