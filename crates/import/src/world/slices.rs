//! Slices: what lies on a track from when to when (rules B4, B5, E9 to E13).
//!
//! # Design
//!
//! The slices that are no rows yet lie in one arena, in which each knows the one
//! below it; a track has the place of its top. A vector for each track was the
//! alternative: names of async slices make tracks by the hundred thousand, each of
//! which is used once and would keep its buffer. So memory is that of what is open,
//! and of 16 bytes for each track.
//!
//! A slice is a row when it leaves its stack, for only then nothing can change its
//! end any more (E9). Ids are given when slices begin, so rows do not come in their
//! order. To write rows at the begin and to change them at the end was the other way;
//! but a row that is written is out of memory.

use timebase_schema::tables::slice_record;

use super::World;
use super::args::{Arg, ArgSets};
use super::strings::Strings;
use super::tracks::TrackId;
use crate::output::{Cell, Rows};

/// So many slices may lie on each other (rules B4, E10).
const DEEPEST: u32 = 512;

/// A row of `slice`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SliceId(pub i64);

/// A slice that begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewSlice {
    pub ts: i64,
    pub track: TrackId,
    /// This and the next are numbers of `Strings`.
    pub category: Option<i64>,
    pub name: Option<i64>,
}

/// A slice on a stack.
#[derive(Debug)]
struct Slice {
    id: i64,
    ts: i64,
    /// `None` while it is open.
    dur: Option<i64>,
    category: Option<i64>,
    name: Option<i64>,
    args: Vec<Arg<'static>>,
    /// The place of the one below.
    below: Option<u32>,
}

impl Slice {
    /// When it ended, if it did.
    fn end(&self) -> Option<i64> {
        self.dur.map(|dur| self.ts.saturating_add(dur))
    }
}

/// The slices of a track.
#[derive(Debug, Default, Clone, Copy)]
struct Stack {
    top: Option<u32>,
    depth: u32,
    /// How many of them are closed.
    closed: u32,
}

/// The stacks of all tracks.
#[derive(Debug, Default)]
pub(crate) struct Slices {
    arena: Vec<Slice>,
    /// Places of the arena where no slice is.
    free: Vec<u32>,
    /// By track.
    stacks: Vec<Stack>,
    next: i64,
    /// From when to when slices are.
    span: Option<(i64, i64)>,
}

/// What a row is made with.
struct Maker<'a, 'o> {
    sets: &'a mut ArgSets,
    strings: &'a mut Strings,
    rows: &'a mut Rows<'o>,
}

impl World {
    /// A slice begins (rule E10); nothing where the stack is too deep.
    pub fn begin_slice(
        &mut self,
        slice: NewSlice,
        args: &[Arg<'static>],
        rows: &mut Rows<'_>,
    ) -> Option<SliceId> {
        let (slices, mut maker) = self.slices_and_maker(rows);
        slices.push(slice, None, args, &mut maker)
    }

    /// A slice whose duration is known; 0 is that of an instant (rule E12). Nothing
    /// where the stack is too deep, or another one ends within it.
    pub fn add_slice(
        &mut self,
        slice: NewSlice,
        dur: i64,
        args: &[Arg<'static>],
        rows: &mut Rows<'_>,
    ) -> Option<SliceId> {
        let (slices, mut maker) = self.slices_and_maker(rows);
        slices.push(slice, Some(dur.max(0)), args, &mut maker)
    }

    /// The topmost open slice of a track ends, of this category if there is one
    /// (rule B5), and gets more arguments.
    pub fn end_slice(
        &mut self,
        ts: i64,
        track: TrackId,
        category: Option<i64>,
        args: &[Arg<'static>],
        rows: &mut Rows<'_>,
    ) {
        let (slices, mut maker) = self.slices_and_maker(rows);
        slices.close(ts, track, category, args, &mut maker);
    }

    /// What is open has no end (rule E13).
    pub(super) fn end_slices(&mut self, rows: &mut Rows<'_>) {
        let (slices, mut maker) = self.slices_and_maker(rows);
        slices.end(&mut maker);
        if let Some((start, end)) = slices.span {
            self.spans(&slice_record::TABLE, start, end.saturating_sub(start));
        }
    }

    fn slices_and_maker<'a, 'o>(
        &'a mut self,
        rows: &'a mut Rows<'o>,
    ) -> (&'a mut Slices, Maker<'a, 'o>) {
        let maker = Maker {
            sets: &mut self.args,
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
        if self.stacks.len() <= place {
            self.stacks.resize(place + 1, Stack::default());
        }
        &mut self.stacks[place]
    }

    #[inline]
    fn get(&self, place: u32) -> Option<&Slice> {
        self.arena.get(place as usize)
    }

    #[inline]
    fn get_mut(&mut self, place: Option<u32>) -> Option<&mut Slice> {
        self.arena.get_mut(place? as usize)
    }

    #[inline]
    fn seen(&mut self, ts: i64) {
        let (start, end) = self.span.unwrap_or((ts, ts));
        self.span = Some((start, end.max(ts)));
    }

    /// Puts a slice on its stack. An open one has no duration.
    fn push(
        &mut self,
        slice: NewSlice,
        dur: Option<i64>,
        args: &[Arg<'static>],
        maker: &mut Maker<'_, '_>,
    ) -> Option<SliceId> {
        let NewSlice { ts, track, .. } = slice;
        self.settle(ts, track, dur == Some(0), maker);
        let stack = *self.stack(track);
        let end = dur.map(|dur| ts.saturating_add(dur));
        if stack.depth >= DEEPEST || end.is_some_and(|end| self.overlaps(stack, ts, end)) {
            return None;
        }
        let id = self.next;
        self.next += 1;
        self.seen(ts);
        self.seen(end.unwrap_or(ts));
        let slice = Slice {
            id,
            ts,
            dur,
            category: slice.category,
            name: slice.name,
            args: args.to_vec(),
            below: stack.top,
        };
        let top = match self.free.pop() {
            Some(place) => {
                if let Some(free) = self.get_mut(Some(place)) {
                    *free = slice;
                }
                place
            }
            None => {
                self.arena.push(slice);
                (self.arena.len() - 1) as u32
            }
        };
        *self.stack(track) = Stack {
            top: Some(top),
            depth: stack.depth + 1,
            closed: stack.closed + u32::from(dur.is_some()),
        };
        Some(SliceId(id))
    }

    /// Whether a closed slice that no open one is above ends within another one that
    /// starts in it (rule E12).
    fn overlaps(&self, stack: Stack, ts: i64, end: i64) -> bool {
        let mut next = stack.top.and_then(|top| self.get(top));
        while let Some(slice) = next
            && let Some(within) = slice.end()
        {
            if ts < within && within < end {
                return true;
            }
            next = slice.below.and_then(|below| self.get(below));
        }
        false
    }

    /// Takes off a stack what is over at a time (rule E9).
    #[inline]
    fn settle(&mut self, ts: i64, track: TrackId, is_instant: bool, maker: &mut Maker<'_, '_>) {
        if self.stack(track).closed > 0 {
            self.settle_closed(ts, track, is_instant, maker);
        }
    }

    fn settle_closed(
        &mut self,
        ts: i64,
        track: TrackId,
        is_instant: bool,
        maker: &mut Maker<'_, '_>,
    ) {
        let mut is_open_above = false;
        let mut next = self.stack(track).top;
        while let Some(place) = next
            && let Some(slice) = self.get(place)
        {
            next = slice.below;
            let Some(end) = slice.end() else {
                is_open_above = true;
                continue;
            };
            if is_open_above {
                if end < ts {
                    self.cut(track, place, end, maker);
                    is_open_above = false;
                }
            } else if end < ts || (end == ts && !(is_instant && slice.ts == end)) {
                self.pop(track, maker);
            }
            if self.stack(track).closed == 0 {
                break;
            }
        }
    }

    /// A slice is over, though one above it is open: it and all above it go, and end
    /// with it.
    fn cut(&mut self, track: TrackId, place: u32, end: i64, maker: &mut Maker<'_, '_>) {
        while let Some(top) = self.stack(track).top {
            if top != place
                && let Some(slice) = self.get_mut(Some(top))
            {
                let was_open = slice.dur.is_none();
                slice.dur = Some(end.saturating_sub(slice.ts));
                self.stack(track).closed += u32::from(was_open);
            }
            self.pop(track, maker);
            if top == place {
                break;
            }
        }
    }

    /// Rules B5 and E11. Categories are compared by their numbers, so whoever begins
    /// and ends slices of one keeps its number.
    fn close(
        &mut self,
        ts: i64,
        track: TrackId,
        category: Option<i64>,
        args: &[Arg<'static>],
        maker: &mut Maker<'_, '_>,
    ) {
        self.settle(ts, track, false, maker);
        let top = self.stack(track).top;
        let mut next = top;
        while let Some(slice) = self.get_mut(next) {
            let fits = category.is_none() || slice.category == category;
            if slice.dur.is_none() && fits {
                slice.dur = Some(ts.saturating_sub(slice.ts));
                slice.args.extend_from_slice(args);
                self.stack(track).closed += 1;
                self.seen(ts);
                if next == top {
                    self.pop(track, maker);
                }
                break;
            }
            next = slice.below;
        }
    }

    /// The top leaves a stack: it is a row.
    fn pop(&mut self, track: TrackId, maker: &mut Maker<'_, '_>) {
        let stack = *self.stack(track);
        let Some(top) = stack.top else { return };
        let Some(slice) = self.get_mut(Some(top)) else {
            return;
        };
        let args = std::mem::take(&mut slice.args);
        let arg_set_id = maker.sets.number(&args, maker.strings, maker.rows);
        let Some(slice) = self.get(top) else { return };
        let below = slice.below;
        let parent = below.and_then(|below| self.get(below));
        maker.rows.push(slice_record::Row {
            id: Cell::from(slice.id),
            ts: Cell::from(slice.ts),
            dur: Cell::from(slice.dur.unwrap_or(-1)),
            track_id: Cell::from(track.0),
            category: Cell::or_null(slice.category),
            name: Cell::or_null(slice.name),
            depth: Cell::from(stack.depth.saturating_sub(1)),
            parent_id: Cell::or_null(parent.map(|parent| parent.id)),
            arg_set_id: Cell::or_null(arg_set_id),
        });
        let was_closed = slice.dur.is_some();
        self.free.push(top);
        *self.stack(track) = Stack {
            top: below,
            depth: stack.depth.saturating_sub(1),
            closed: stack.closed.saturating_sub(was_closed.into()),
        };
    }

    /// All of them become rows.
    fn end(&mut self, maker: &mut Maker<'_, '_>) {
        for track in 0..self.stacks.len() as i64 {
            while self.stack(TrackId(track)).top.is_some() {
                self.pop(TrackId(track), maker);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use timebase_trace::Interned;

    use super::*;
    use crate::facts::Facts;
    use crate::trackers::testing::Made;
    use crate::world::{NewTrack, Owner};

    const TRACK: TrackId = TrackId(0);

    /// The slices that calls make on one track: their categories are numbers of texts.
    fn slices(make: impl FnOnce(&mut World, &mut Rows<'_>)) -> Vec<String> {
        let made = Made::by(|rows| {
            let directory = tempfile::tempdir().unwrap();
            let (facts, interned) = (Facts::default(), Interned::default());
            let mut world = World::new(facts, interned, directory.path(), rows);
            let track = NewTrack::slices(0, "t", None, Owner::None);
            assert_eq!(world.tracks.get(track), TRACK);
            make(&mut world, rows);
            world.end(rows).unwrap();
        });
        let slices = made.slices().into_iter();
        slices.map(|slice| slice.replace(", t/-#0", "")).collect()
    }

    fn at(ts: i64, category: Option<i64>) -> NewSlice {
        NewSlice {
            ts,
            track: TRACK,
            category,
            name: None,
        }
    }

    #[test]
    fn e9_what_is_closed_below_something_open_takes_that_with_it() {
        let (outer, inner) = (Some(0), Some(1)); // "Running" and "R"
        let made = slices(|world, rows| {
            world.begin_slice(at(1, outer), &[], rows);
            world.begin_slice(at(2, inner), &[], rows);
            world.begin_slice(at(3, inner), &[], rows);
            world.end_slice(5, TRACK, outer, &[], rows);
            // It stays for as long as its time does.
            world.begin_slice(at(5, None), &[], rows);
            world.begin_slice(at(6, None), &[], rows);
        });
        assert_eq!(
            made,
            [
                "Running: 1+4 0 -",
                "R: 2+3 1 -",
                "R: 3+2 2 -",
                "5+0 3 -",
                "6+-1 0 -"
            ]
        );
    }

    #[test]
    fn e9_what_has_ended_is_no_parent_unless_both_are_instants() {
        let made = slices(|world, rows| {
            world.add_slice(at(1, None), 4, &[], rows);
            world.add_slice(at(2, None), 0, &[], rows);
            world.add_slice(at(2, None), 0, &[], rows);
            world.add_slice(at(2, None), 3, &[], rows);
            world.add_slice(at(5, None), 0, &[], rows);
            world.begin_slice(at(5, None), &[], rows);
        });
        let expected = [
            "1+4 0 -", "2+0 1 -", "2+0 2 -", "2+3 1 -", "5+0 0 -", "5+-1 0 -",
        ];
        assert_eq!(made, expected);
    }

    #[test]
    fn e12_what_overlaps_is_dropped() {
        let made = slices(|world, rows| {
            world.add_slice(at(1, None), 4, &[], rows);
            assert_eq!(world.add_slice(at(2, None), 4, &[], rows), None);
            world.add_slice(at(2, None), 3, &[], rows);
            world.begin_slice(at(3, None), &[], rows);
            world.add_slice(at(3, None), i64::MAX, &[], rows);
        });
        assert_eq!(
            made,
            [
                "1+4 0 -",
                "2+3 1 -",
                "3+-1 2 -",
                "3+9223372036854775807 3 -"
            ]
        );
    }

    #[test]
    fn b5_e11_an_end_finds_the_topmost_open_slice_of_its_category() {
        let (outer, inner) = (Some(0), Some(1));
        let made = slices(|world, rows| {
            world.end_slice(0, TRACK, None, &[], rows);
            world.begin_slice(at(1, outer), &[], rows);
            world.begin_slice(at(2, inner), &[], rows);
            world.end_slice(3, TRACK, Some(2), &[], rows);
            world.end_slice(4, TRACK, outer, &[], rows);
            world.end_slice(4, TRACK, outer, &[], rows);
            world.end_slice(4, TRACK, None, &[], rows);
        });
        assert_eq!(made, ["Running: 1+3 0 -", "R: 2+2 1 -"]);
    }

    #[test]
    fn b4_e10_e13_stacks_have_512_slices_and_what_is_open_has_no_end() {
        let made = slices(|world, rows| {
            for ts in 0..512 {
                assert!(world.begin_slice(at(ts, None), &[], rows).is_some());
            }
            assert_eq!(world.begin_slice(at(512, None), &[], rows), None);
            world.end_slice(513, TRACK, None, &[], rows);
        });
        assert_eq!(made.len(), 512);
        assert_eq!(
            (made[510].as_str(), made[511].as_str()),
            ("510+-1 510 -", "511+2 511 -")
        );
    }
}
