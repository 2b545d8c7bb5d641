//! The slices that are not rows yet.
//!
//! # Design
//!
//! A trace of 100,000 threads may have 200,000 open slices, so each takes 64 bytes. Data that only
//! few slices have is in a box: texts without a number, arguments, and the time and instructions
//! that their thread spent. The arena has pieces, because a vector that doubles would waste half of
//! its memory. Boxes are used again: if all slices have arguments, that saves an allocation for
//! each.

use rustc_hash::FxHashMap;

use super::slice::{EndOfSlice, MadeSlice, NewSlice, SliceId, Spent};
use crate::arguments::merge;
use crate::definitions::Names;
use crate::output::Doubt;
use crate::timeline::{Label, Name, OwnLabel};

/// A slice on a stack.
#[derive(Debug)]
pub(super) struct Slice {
    pub id: i64,
    pub ts: i64,
    /// [`OPEN`] while it is open.
    dur: i64,
    /// [`NO_PACKET`] if the slice is not an event of its own.
    packet: i64,
    category: ShortLabel,
    name: ShortLabel,
    /// Its sequence, or [`NONE`], and how often that sequence had lost packets when the slice
    /// began.
    sequence: u32,
    lost: u32,
    /// The place of the slice below, or [`NONE`].
    below: u32,
    more: Option<Box<More>>,
}

const OPEN: i64 = i64::MIN;
const NO_PACKET: i64 = i64::MIN;
const NONE: u32 = u32::MAX;

/// The data that only few slices have.
#[derive(Debug, Default)]
struct More {
    category: OwnLabel,
    name: OwnLabel,
    time: Spent,
    instructions: Spent,
    doubt: Option<Doubt>,
    /// The arguments in their compact form.
    args: Vec<u8>,
}

/// A slice's label: 0 is no label, [`ELSEWHERE`] means that the label is in the slice's box, and
/// other values are one more than the number of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ShortLabel(u32);

const ELSEWHERE: ShortLabel = ShortLabel(u32::MAX);

impl ShortLabel {
    fn of(label: Label<'_>) -> ShortLabel {
        match label {
            Label::None => ShortLabel(0),
            Label::Known(Name(name)) => name.checked_add(1).map_or(ELSEWHERE, ShortLabel),
            Label::Own(_) => ELSEWHERE,
        }
    }

    fn label(self, elsewhere: Option<&OwnLabel>) -> Label<'_> {
        match self {
            ShortLabel(0) => Label::None,
            ELSEWHERE => elsewhere.map_or(Label::None, OwnLabel::label),
            ShortLabel(behind) => Label::Known(Name(behind - 1)),
        }
    }
}

impl Slice {
    pub fn category(&self) -> Label<'_> {
        let elsewhere = self.more.as_ref().map(|more| &more.category);
        self.category.label(elsewhere)
    }

    pub fn name(&self) -> Label<'_> {
        let elsewhere = self.more.as_ref().map(|more| &more.name);
        self.name.label(elsewhere)
    }

    /// The duration, if the slice has ended.
    pub fn dur(&self) -> Option<i64> {
        Some(self.dur).filter(|&dur| dur != OPEN)
    }

    pub fn is_open(&self) -> bool {
        self.dur == OPEN
    }

    /// The end, if the slice has ended.
    pub fn end(&self) -> Option<i64> {
        self.dur().map(|dur| self.ts.saturating_add(dur))
    }

    /// The packet that began the slice, if the begin is an event of its own.
    pub fn packet(&self) -> Option<i64> {
        Some(self.packet).filter(|&packet| packet != NO_PACKET)
    }

    /// The place of the slice below.
    pub fn below(&self) -> Option<u32> {
        Some(self.below).filter(|&below| below != NONE)
    }

    /// The reason why the slice may be wrong.
    pub fn doubt(&self) -> Option<Doubt> {
        self.more.as_ref()?.doubt
    }

    /// Whether a sequence of track events has the slice.
    pub fn has_sequence(&self) -> bool {
        self.sequence != NONE
    }

    /// The slice may be wrong.
    pub fn doubts(&mut self, doubt: Doubt) {
        let more = self.more.get_or_insert_default();
        more.doubt = Doubt::first(more.doubt, Some(doubt));
    }

    /// The time and the instructions that its thread spent, before the slice and in it.
    pub fn spent(&self) -> [Spent; 2] {
        let more = self.more.as_ref();
        more.map_or_else(Default::default, |more| [more.time, more.instructions])
    }

    pub fn args(&self) -> &[u8] {
        self.more.as_ref().map_or(&[], |more| &more.args)
    }

    /// Adds arguments.
    pub fn merge(&mut self, args: &[u8], names: &Names) {
        if !args.is_empty() {
            let more = self.more.get_or_insert_default();
            merge(&mut more.args, args, names);
        }
    }

    /// Whether an end may belong to this slice.
    pub fn fits(&self, end: &EndOfSlice<'_>) -> bool {
        let category = end.category == Label::None || self.category() == end.category;
        let is_unnamed = end.name == Label::None || self.name() == Label::None;
        category && (is_unnamed || self.name() == end.name)
    }

    /// Ends the slice, with the time and the instructions that its thread spent (rule E14).
    pub fn close(&mut self, end: &EndOfSlice<'_>, args: &[u8], names: &Names) -> MadeSlice {
        self.dur = end.ts.saturating_sub(self.ts);
        let within = |spent: Spent, until: Option<i64>| {
            let (before, until) = spent.before.zip(until)?;
            Some(until.saturating_sub(before))
        };
        if let Some(more) = &mut self.more {
            more.time.within = within(more.time, end.time).filter(|&time| time != 0);
            more.instructions.within = within(more.instructions, end.instructions);
        }
        if !end.defaults.is_empty() {
            let more = self.more.get_or_insert_default();
            more.args.splice(..0, end.defaults.iter().copied());
        }
        self.merge(args, names);
        MadeSlice { id: SliceId(self.id), ts: self.ts }
    }

    /// Ends the slice because a slice below it ends.
    pub fn cut(&mut self, end: i64) {
        self.dur = end.saturating_sub(self.ts);
    }

    /// The slice gets its end, or remains without one. If its sequence has lost packets since its
    /// begin, the end may belong to another slice, so the slice is doubtful (rule DT7).
    pub fn ends(&mut self, losses: &Losses) {
        if self.sequence != NONE && losses.of(self.sequence) != self.lost {
            self.more.get_or_insert_default().doubt = Some(Doubt::PacketsLost);
        }
    }
}

/// The number of packet losses, by sequence.
#[derive(Debug, Default)]
pub(super) struct Losses(FxHashMap<u32, u32>);

impl Losses {
    fn of(&self, sequence: u32) -> u32 {
        match self.0.is_empty() {
            true => 0,
            false => self.0.get(&sequence).copied().unwrap_or(0),
        }
    }

    /// A sequence lost packets.
    pub fn add(&mut self, sequence: u32) {
        let losses = self.0.entry(sequence).or_default();
        *losses = losses.wrapping_add(1);
    }
}

/// Slices by their places.
#[derive(Debug, Default)]
pub(super) struct Arena {
    pieces: Vec<Vec<Slice>>,
    /// Places without a slice.
    free: Vec<u32>,
    /// Empty boxes.
    #[allow(clippy::vec_box)] // they come from slices, and go to others
    boxes: Vec<Box<More>>,
}

/// The number of slices in a piece.
const PIECE: usize = 1 << 10;
/// The largest number of empty boxes that are kept, and the largest buffer for arguments in a kept
/// box.
const BOXES: usize = 64;
const ARGS: usize = 1 << 10;

impl Arena {
    #[inline]
    pub fn get(&self, place: u32) -> Option<&Slice> {
        let place = place as usize;
        self.pieces.get(place / PIECE)?.get(place % PIECE)
    }

    #[inline]
    pub fn get_mut(&mut self, place: u32) -> Option<&mut Slice> {
        let place = place as usize;
        self.pieces.get_mut(place / PIECE)?.get_mut(place % PIECE)
    }

    /// Puts a slice on top of another one, and returns its place. An open slice has no duration.
    pub fn add(
        &mut self,
        slice: &NewSlice<'_>,
        (id, dur): (i64, Option<i64>),
        args: &[u8],
        below: Option<u32>,
        losses: &Losses,
    ) -> u32 {
        let (category, name) = (ShortLabel::of(slice.category), ShortLabel::of(slice.name));
        let is_elsewhere = category == ELSEWHERE || name == ELSEWHERE;
        let spends = slice.time != Spent::default() || slice.instructions != Spent::default();
        let mut more = None;
        if is_elsewhere || spends || !args.is_empty() {
            let mut kept = self.boxes.pop().unwrap_or_default();
            let label = |short, label: Label<'_>| match short {
                ELSEWHERE => label.into(),
                _ => OwnLabel::None,
            };
            kept.category = label(category, slice.category);
            kept.name = label(name, slice.name);
            kept.time = slice.time;
            kept.instructions = slice.instructions;
            kept.args.extend_from_slice(args);
            more = Some(kept);
        }
        let sequence = slice.sequence.filter(|_| dur.is_none());
        self.put(Slice {
            id,
            ts: slice.ts,
            dur: dur.unwrap_or(OPEN),
            packet: slice.packet.unwrap_or(NO_PACKET),
            category,
            name,
            sequence: sequence.unwrap_or(NONE),
            lost: sequence.map_or(0, |sequence| losses.of(sequence)),
            below: below.unwrap_or(NONE),
            more,
        })
    }

    fn put(&mut self, slice: Slice) -> u32 {
        if let Some(place) = self.free.pop() {
            if let Some(free) = self.get_mut(place) {
                *free = slice;
            }
            return place;
        }
        if self.pieces.last().is_none_or(|last| last.len() == PIECE) {
            self.pieces.push(Vec::with_capacity(PIECE));
        }
        let before = (self.pieces.len() - 1) * PIECE;
        match self.pieces.last_mut() {
            Some(last) => {
                last.push(slice);
                (before + last.len() - 1) as u32
            }
            None => NONE,
        }
    }

    /// Removes a slice that is a row now.
    pub fn remove(&mut self, place: u32) {
        let more = self.get_mut(place).and_then(|slice| slice.more.take());
        if let Some(mut more) = more
            && self.boxes.len() < BOXES
            && more.args.capacity() <= ARGS
        {
            more.args.clear();
            more.doubt = None;
            self.boxes.push(more);
        }
        self.free.push(place);
    }
}
