//! The readings of a hop, in order.
//!
//! # Design
//!
//! Few readings are an array. Many are packed like the graph's snapshots of two clocks (`rows.rs`): a
//! regular reading takes 8 bytes instead of 32. The errors, the changes of the rate and the kinds of the
//! gaps have arrays of their own, which exist as soon as not all of their elements are the same. A fit
//! goes through the readings again for each median, instead of keeping a number for each reading
//! (`select.rs`). It also reads them from the graph again, instead of having all and the used ones at once.
//!
//! The alternative was a temporary file. It needs no memory, however many the readings. But then the resolver
//! needs a place for files, and conversions may fail.

use std::ops::Range;

use super::knot::{Gap, Knot};
use crate::rows::{Rows, partition};

/// From this many readings on, they are packed.
const PACKED: usize = if cfg!(test) { 24 } else { 1 << 17 };

/// Gives all readings of a hop in order, as often as they are needed.
pub(super) type Read<'r> = &'r dyn Fn(&mut dyn FnMut(Knot));

/// The number of clocks in a row.
const CLOCKS: usize = 2;

/// Readings in order.
#[derive(Debug, Clone, Default)]
pub(super) struct Knots {
    /// Empty if they are packed.
    plain: Vec<Knot>,
    packed: Option<Box<Packed>>,
}

/// The arrays are empty, or have an element for each reading.
#[derive(Debug, Clone, Default)]
struct Packed {
    rows: Rows,
    errors: Vec<f32>,
    wanders: Vec<f32>,
    after: Vec<After>,
}

/// The kind of the gap after a reading, and whether it is a corner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct After {
    gap: Gap,
    is_corner: bool,
}

impl After {
    const LINE: After = After { gap: Gap::Line, is_corner: false };
}

/// Sets an element of an array that does not exist while all elements have the same value.
fn set<T: Copy + PartialEq>(array: &mut Vec<T>, len: usize, same: T, index: usize, value: T) {
    if array.is_empty() && value != same {
        array.reserve_exact(len);
        array.resize(len, same);
    }
    if let Some(of) = array.get_mut(index) {
        *of = value;
    }
}

impl Packed {
    fn push(&mut self, knot: Knot) {
        let len = self.rows.len() + 1;
        self.rows.push(CLOCKS, [knot.a, knot.b].into_iter(), knot.snapshot);
        // An array that exists has an element for each reading.
        for (array, value) in [(&mut self.errors, knot.error), (&mut self.wanders, knot.wander)] {
            if !array.is_empty() {
                array.push(value);
            }
            set(array, len, 0.0, len - 1, value);
        }
        let after = After { gap: knot.gap, is_corner: knot.is_corner };
        if !self.after.is_empty() {
            self.after.push(after);
        }
        set(&mut self.after, len, After::LINE, len - 1, after);
    }

    fn get(&self, index: usize) -> Knot {
        self.knot(index, self.rows.pair(index))
    }

    #[inline]
    fn knot(&self, index: usize, (a, b, snapshot): (i64, i64, u32)) -> Knot {
        let After { gap, is_corner } = self.after.get(index).copied().unwrap_or(After::LINE);
        let number = |array: &[f32]| array.get(index).copied().unwrap_or(0.0);
        let (error, wander) = (number(&self.errors), number(&self.wanders));
        Knot { a, b, snapshot, error, wander, gap, is_corner }
    }

    fn of(&self, range: Range<usize>) -> impl Iterator<Item = Knot> + Clone {
        range.clone().zip(self.rows.pairs(range)).map(|(index, pair)| self.knot(index, pair))
    }

    fn windows<const N: usize>(&self, range: Range<usize>) -> impl Iterator<Item = [Knot; N]> {
        let mut next = self.of(range);
        let mut window = [Knot::read(0, 0, 0); N];
        let mut known = 0;
        std::iter::from_fn(move || {
            loop {
                window.copy_within(1.., 0);
                *window.last_mut()? = next.next()?;
                known += 1;
                if known >= N {
                    return Some(window);
                }
            }
        })
    }
}

impl Knots {
    /// No readings, with room for some.
    pub fn with_capacity(count: usize) -> Knots {
        match count < PACKED {
            true => Knots { plain: Vec::with_capacity(count), packed: None },
            false => Knots { plain: Vec::new(), packed: Some(Box::default()) },
        }
    }

    /// All readings of a hop, of which there are at most so many.
    pub fn of_all(read: Read<'_>, count: usize) -> Knots {
        let mut all = Knots::with_capacity(count);
        read(&mut |knot| all.push(knot));
        all
    }

    /// The used readings of a hop, each with the kind of the gap after it.
    pub fn of_used(read: Read<'_>, gaps: &[Option<Gap>]) -> Knots {
        let mut used = Knots::with_capacity(gaps.len());
        let mut gaps = gaps.iter();
        read(&mut |knot| {
            if let Some(&Some(gap)) = gaps.next() {
                used.push(Knot { gap, ..knot });
            }
        });
        used
    }

    pub fn push(&mut self, knot: Knot) {
        match &mut self.packed {
            Some(packed) => packed.push(knot),
            None if self.plain.len() < PACKED => self.plain.push(knot),
            None => {
                let mut packed = Packed::default();
                self.plain.iter().for_each(|&knot| packed.push(knot));
                packed.push(knot);
                self.plain = Vec::new();
                self.packed = Some(Box::new(packed));
            }
        }
    }

    pub fn len(&self) -> usize {
        match &self.packed {
            Some(packed) => packed.rows.len(),
            None => self.plain.len(),
        }
    }

    /// The approximate size in bytes.
    pub fn size(&self) -> usize {
        match &self.packed {
            Some(packed) => {
                let arrays = size_of_val(&packed.errors[..]) + size_of_val(&packed.wanders[..]);
                packed.rows.size() + arrays + size_of_val(&packed.after[..])
            }
            None => size_of_val(&self.plain[..]),
        }
    }

    /// A reading, which must exist.
    #[inline]
    pub fn at(&self, index: usize) -> Knot {
        match &self.packed {
            Some(packed) => packed.get(index),
            None => self.plain[index],
        }
    }

    pub fn get(&self, index: usize) -> Option<Knot> {
        (index < self.len()).then(|| self.at(index))
    }

    pub fn last(&self) -> Option<Knot> {
        self.get(self.len().checked_sub(1)?)
    }

    pub fn all(&self) -> Range<usize> {
        0..self.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = Knot> + Clone {
        self.of(self.all())
    }

    /// The readings of a range.
    pub fn of(&self, range: Range<usize>) -> impl Iterator<Item = Knot> + Clone {
        let (plain, packed) = self.parts(range);
        let packed = packed.into_iter().flat_map(|(packed, range)| packed.of(range));
        plain.iter().copied().chain(packed)
    }

    /// The gaps between the readings of a range.
    pub fn gaps(&self, range: Range<usize>) -> impl Iterator<Item = (Knot, Knot)> {
        let (plain, packed) = self.parts(range);
        let packed = packed.into_iter().flat_map(|(packed, range)| {
            let mut knots = packed.of(range);
            let mut last = knots.next();
            knots.filter_map(move |knot| Some((last.replace(knot)?, knot)))
        });
        plain.iter().copied().zip(plain.iter().skip(1).copied()).chain(packed)
    }

    /// The readings of a range, each with those after it.
    pub fn windows<const N: usize>(&self, range: Range<usize>) -> impl Iterator<Item = [Knot; N]> {
        let (plain, packed) = self.parts(range);
        let plain = plain.windows(N).filter_map(|of| of.first_chunk().copied());
        plain.chain(packed.into_iter().flat_map(|(packed, range)| packed.windows(range)))
    }

    /// A range of readings: in the array, or packed.
    fn parts(&self, range: Range<usize>) -> (&[Knot], Option<(&Packed, Range<usize>)>) {
        match &self.packed {
            Some(packed) => (&[], Some((packed, range))),
            None => (&self.plain[range], None),
        }
    }

    /// The number of readings up to a value.
    pub fn count_until(&self, value: i64) -> usize {
        partition(self.len(), |index| match &self.packed {
            Some(packed) => packed.rows.get(CLOCKS, index, 0) <= value,
            None => self.plain[index].a <= value,
        })
    }

    pub fn set_error(&mut self, index: usize, error: f32) {
        match &mut self.packed {
            Some(packed) => set(&mut packed.errors, packed.rows.len(), 0.0, index, error),
            None => self.plain[index].error = error,
        }
    }

    pub fn set_wander(&mut self, index: usize, wander: f32) {
        match &mut self.packed {
            Some(packed) => set(&mut packed.wanders, packed.rows.len(), 0.0, index, wander),
            None => self.plain[index].wander = wander,
        }
    }

    /// The segments: ranges of readings without a step between them.
    pub fn segments(&self) -> Vec<Range<usize>> {
        let mut segments = Vec::new();
        let mut start = 0;
        for index in self.all() {
            let gap = match &self.packed {
                Some(packed) => packed.after.get(index).map_or(Gap::Line, |after| after.gap),
                None => self.plain[index].gap,
            };
            if gap != Gap::Line || index + 1 == self.len() {
                segments.push(start..index + 1);
                start = index + 1;
            }
        }
        segments
    }
}

impl From<Vec<Knot>> for Knots {
    fn from(knots: Vec<Knot>) -> Knots {
        Knots { plain: knots, packed: None }
    }
}
