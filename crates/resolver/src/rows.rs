//! The readings of one set of clocks: a row for each snapshot, a column for each clock, and the
//! number of the snapshot as the last column.
//!
//! # Design
//!
//! Every 64 rows are sealed into a block; the rows after the last block are plain. Clocks run
//! evenly and nearly in step. So a column of a block stores the deviations from a straight line, in
//! as few whole bytes as the largest deviation needs: for the first clock those of its values, for
//! the other clocks those of their difference to the first. Six builtin clocks take 15 to 20 bytes
//! for each snapshot instead of 52, and any row can be read without its neighbours.
//!
//! One alternative was a single base for each column, without the line: it needs the width of the
//! time that a block spans, 4 to 6 bytes for each clock. Another was the difference to the previous
//! row, which is the smallest, but reading a row needs a sum.
//!
//! All arithmetic wraps around in 64 bits, so all values are stored exactly, if perhaps with more
//! bytes.

use std::ops::Range;

/// The number of rows in a block.
///
/// With 128 rows, six clocks take 2 bytes less for each snapshot, and 10,000 sets of 100 rows each,
/// which are mostly tails, take 10 MB more.
pub(crate) const BLOCK: usize = 64;

/// Rows of one set. The topology stores the number of its clocks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rows {
    /// Boxed, because most sets of a trace with very many have one row.
    sealed: Option<Box<Sealed>>,
    /// Row by row. Empty only if there are no rows at all.
    tail: Vec<i64>,
    len: u32,
}

#[derive(Debug, Clone, Default)]
struct Sealed {
    blocks: Vec<Block>,
}

impl Rows {
    /// Appends a row of `clocks` values.
    pub fn push(&mut self, clocks: usize, values: impl Iterator<Item = i64>, snapshot: u32) {
        let width = clocks + 1;
        if self.tail.len() >= BLOCK * width {
            let block = Block::seal(&self.tail, width);
            self.sealed.get_or_insert_default().blocks.push(block);
            self.tail.clear();
        }
        if self.tail.len() == self.tail.capacity() {
            let room = self.tail.len().clamp(width, BLOCK * width / 2);
            self.tail.reserve_exact(room);
        }
        self.tail.extend(values);
        self.tail.push(snapshot.into());
        self.len += 1;
    }

    fn blocks(&self) -> &[Block] {
        match &self.sealed {
            Some(sealed) => &sealed.blocks,
            None => &[],
        }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// The last row, with the number of its snapshot at its end.
    pub fn last(&self, clocks: usize) -> Option<&[i64]> {
        let start = self.tail.len().checked_sub(clocks + 1)?;
        self.tail.get(start..)
    }

    /// A value, which must exist.
    pub fn get(&self, clocks: usize, row: usize, column: usize) -> i64 {
        match self.blocks().get(row / BLOCK) {
            Some(block) => block.get(row % BLOCK, column),
            None => {
                let row = row - self.blocks().len() * BLOCK;
                self.tail[row * (clocks + 1) + column]
            }
        }
    }

    /// A row of two clocks, which must exist: their values, and the number of the snapshot.
    pub fn pair(&self, row: usize) -> (i64, i64, u32) {
        match self.blocks().get(row / BLOCK) {
            Some(block) => {
                let first = block.read(row % BLOCK, 0);
                let second = first.wrapping_add(block.read(row % BLOCK, 1));
                (first, second, block.read(row % BLOCK, 2) as u32)
            }
            None => {
                let start = (row - self.blocks().len() * BLOCK) * 3;
                let row = &self.tail[start..start + 3];
                (row[0], row[1], row[2] as u32)
            }
        }
    }

    /// A range of rows of two clocks. Reading them one after the other is three times as fast as each by
    /// itself.
    pub fn pairs(&self, range: Range<usize>) -> Pairs<'_> {
        Pairs { rows: self, next: range.start, end: range.end, open: None }
    }

    /// The approximate size in bytes.
    pub fn size(&self) -> usize {
        let of_block = |block: &Block| {
            size_of::<Block>() + size_of_val(&block.columns[..]) + block.bytes.len()
        };
        self.blocks().iter().map(of_block).sum::<usize>() + size_of_val(&self.tail[..])
    }

    /// The number of the snapshot of a row.
    pub fn snapshot(&self, clocks: usize, row: usize) -> u32 {
        self.get(clocks, row, clocks) as u32
    }

    /// The number of rows of snapshots before this one.
    pub fn before(&self, clocks: usize, snapshots: usize) -> usize {
        match self.last(clocks) {
            Some([.., last]) if (*last as usize) < snapshots => self.len(),
            _ => partition(self.len(), |row| (self.snapshot(clocks, row) as usize) < snapshots),
        }
    }

    /// The number of rows with at most `value` in a sorted column. `hint` is a guess.
    ///
    /// Most conversions are near the newest snapshot or near the previous conversion, and both are
    /// found without a search.
    pub fn count_until(&self, clocks: usize, column: usize, value: i64, hint: usize) -> usize {
        let width = clocks + 1;
        let Some(last) = self.last(clocks) else {
            return 0;
        };
        if last[column] <= value {
            return self.len();
        }
        let sealed = self.blocks().len() * BLOCK;
        let rows = self.len();
        if (1..rows).contains(&hint) && self.get(clocks, hint - 1, column) <= value {
            if value < self.get(clocks, hint, column) {
                return hint;
            }
            // The last row is beyond the value, so there is another one.
            if value < self.get(clocks, hint + 1, column) {
                return hint + 1;
            }
        }
        if self.tail[column] <= value {
            return sealed
                + partition(rows - sealed, |row| self.tail[row * width + column] <= value);
        }
        let blocks = self.blocks();
        let Some(block) =
            partition(blocks.len(), |b| blocks[b].get(0, column) <= value).checked_sub(1)
        else {
            return 0;
        };
        block * BLOCK + partition(BLOCK, |row| blocks[block].get(row, column) <= value)
    }
}

/// All rows of a set.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RowsOf<'a> {
    /// A single row, with the number of its snapshot at its end.
    One(&'a [i64]),
    Several(&'a Rows),
}

impl<'a> RowsOf<'a> {
    /// The number of rows.
    #[inline]
    pub fn len(self) -> usize {
        match self {
            RowsOf::One(_) => 1,
            RowsOf::Several(rows) => rows.len(),
        }
    }

    /// As [`Rows::last`].
    #[inline]
    pub fn last(self, clocks: usize) -> Option<&'a [i64]> {
        match self {
            RowsOf::One(row) => Some(row),
            RowsOf::Several(rows) => rows.last(clocks),
        }
    }

    /// A value, which must exist.
    #[inline]
    pub fn get(self, clocks: usize, row: usize, column: usize) -> i64 {
        match self {
            RowsOf::One(values) => values[column],
            RowsOf::Several(rows) => rows.get(clocks, row, column),
        }
    }

    /// The number of the snapshot of a row.
    #[inline]
    pub fn snapshot(self, clocks: usize, row: usize) -> u32 {
        self.get(clocks, row, clocks) as u32
    }

    /// As [`Rows::before`].
    pub fn before(self, clocks: usize, snapshots: usize) -> usize {
        match self {
            RowsOf::One(_) => usize::from((self.snapshot(clocks, 0) as usize) < snapshots),
            RowsOf::Several(rows) => rows.before(clocks, snapshots),
        }
    }

    /// As [`Rows::count_until`].
    #[inline]
    pub fn count_until(self, clocks: usize, column: usize, value: i64, hint: usize) -> usize {
        match self {
            RowsOf::One(values) => usize::from(values[column] <= value),
            RowsOf::Several(rows) => rows.count_until(clocks, column, value, hint),
        }
    }
}

/// Rows of two clocks, in order: their values, and the number of the snapshot.
#[derive(Debug, Clone)]
pub(crate) struct Pairs<'r> {
    rows: &'r Rows,
    next: usize,
    end: usize,
    open: Option<Open<'r>>,
}

/// A block with rows that come next.
#[derive(Debug, Clone)]
struct Open<'r> {
    bytes: &'r [u8],
    stride: usize,
    columns: [Line; 3],
    rows: usize,
}

/// A column at a row: the place of its number in the bytes, the bits of the number, and the value on the
/// straight line.
#[derive(Debug, Clone, Copy)]
struct Line {
    at: usize,
    mask: u64,
    value: i64,
    slope: i64,
}

impl Iterator for Pairs<'_> {
    type Item = (i64, i64, u32);

    #[inline]
    fn next(&mut self) -> Option<(i64, i64, u32)> {
        if self.next >= self.end {
            return None;
        }
        let row = self.next;
        self.next += 1;
        if let Some(open) = &mut self.open
            && let Some(pair) = open.next()
        {
            return Some(pair);
        }
        match self.rows.blocks().get(row / BLOCK) {
            Some(block) => self.open.insert(Open::new(block, row % BLOCK)?).next(),
            None => {
                self.open = None;
                Some(self.rows.pair(row))
            }
        }
    }
}

impl<'r> Open<'r> {
    fn new(block: &'r Block, row: usize) -> Option<Open<'r>> {
        let columns: &[Column; 3] = block.columns.first_chunk()?;
        let columns = columns.map(|column| Line {
            at: row * block.stride as usize + column.at as usize,
            mask: mask(column.width),
            value: column.base.wrapping_add(column.slope.wrapping_mul(row as i64)),
            slope: column.slope,
        });
        let stride = block.stride as usize;
        Some(Open { bytes: &block.bytes, stride, columns, rows: BLOCK - row })
    }

    #[inline]
    fn next(&mut self) -> Option<(i64, i64, u32)> {
        self.rows = self.rows.checked_sub(1)?;
        let mut values = [0i64; 3];
        for (value, column) in values.iter_mut().zip(&mut self.columns) {
            let number: &[u8; 8] = self.bytes.get(column.at..)?.first_chunk()?;
            let number = u64::from_le_bytes(*number) & column.mask;
            *value = column.value.wrapping_add(number as i64);
            column.at += self.stride;
            column.value = column.value.wrapping_add(column.slope);
        }
        let [first, second, snapshot] = values;
        Some((first, first.wrapping_add(second), snapshot as u32))
    }
}

/// The number of elements below `len` that satisfy a condition, which holds for the first elements.
pub(crate) fn partition(len: usize, mut holds: impl FnMut(usize) -> bool) -> usize {
    let (mut start, mut end) = (0, len);
    while start < end {
        let middle = start + (end - start) / 2;
        if holds(middle) {
            start = middle + 1;
        } else {
            end = middle;
        }
    }
    start
}

#[derive(Debug, Clone)]
struct Block {
    columns: Box<[Column]>,
    /// The bytes of a row.
    stride: u32,
    /// Row by row, and 8 more bytes at the end, because reading a number may read 8 bytes.
    bytes: Box<[u8]>,
}

/// A column of a block: `base + slope × row + number`.
#[derive(Debug, Clone, Copy)]
struct Column {
    base: i64,
    slope: i64,
    /// The place of its number in a row.
    at: u32,
    /// The bytes of a number.
    width: u8,
}

impl Block {
    fn seal(tail: &[i64], width: usize) -> Block {
        let rows = tail.chunks_exact(width);
        let mut columns = Vec::with_capacity(width);
        let mut numbers: Vec<[u64; BLOCK]> = Vec::with_capacity(width);
        let mut stride = 0u32;
        for column in 0..width {
            let mut values = [0i64; BLOCK];
            for (value, row) in values.iter_mut().zip(rows.clone()) {
                *value = match column {
                    column if is_difference(column, width) => row[column].wrapping_sub(row[0]),
                    column => row[column],
                };
            }
            let (fitted, deviations) = Column::fit(&values, stride);
            stride += u32::from(fitted.width);
            columns.push(fitted);
            numbers.push(deviations);
        }
        let mut bytes = vec![0u8; BLOCK * stride as usize + 8];
        for (column, numbers) in columns.iter().zip(&numbers) {
            for (row, number) in numbers.iter().enumerate() {
                let at = row * stride as usize + column.at as usize;
                let number = &number.to_le_bytes()[..usize::from(column.width)];
                bytes[at..at + number.len()].copy_from_slice(number);
            }
        }
        Block { columns: columns.into(), stride, bytes: bytes.into() }
    }

    fn get(&self, row: usize, column: usize) -> i64 {
        let value = self.read(row, column);
        match is_difference(column, self.columns.len()) {
            true => value.wrapping_add(self.read(row, 0)),
            false => value,
        }
    }

    fn read(&self, row: usize, column: usize) -> i64 {
        let Column { base, slope, at, width } = self.columns[column];
        let number = number(&self.bytes, row * self.stride as usize + at as usize, width);
        base.wrapping_add(slope.wrapping_mul(row as i64)).wrapping_add(number as i64)
    }
}

/// Whether a column is stored as its difference to the first: this holds for all clocks except the
/// first, and not for the snapshots' numbers.
fn is_difference(column: usize, width: usize) -> bool {
    column > 0 && column + 1 < width
}

/// A number of `width` bytes.
#[inline]
pub(crate) fn number(bytes: &[u8], at: usize, width: u8) -> u64 {
    let mut eight = [0u8; 8];
    eight.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(eight) & mask(width)
}

/// The bits of a number of `width` bytes.
#[inline]
fn mask(width: u8) -> u64 {
    u64::MAX.checked_shr(64 - 8 * u32::from(width)).unwrap_or(0)
}

/// The number of bytes that a number needs.
pub(crate) fn width_of(number: u64) -> u8 {
    (64 - number.leading_zeros()).div_ceil(8) as u8
}

impl Column {
    /// Draws a line from the first value to the last one; returns the distance of each value above
    /// the lowest parallel line.
    fn fit(values: &[i64; BLOCK], at: u32) -> (Column, [u64; BLOCK]) {
        let slope = values[BLOCK - 1].wrapping_sub(values[0]) / (BLOCK as i64 - 1);
        let mut heights = *values;
        for (row, height) in heights.iter_mut().enumerate() {
            *height = height.wrapping_sub(slope.wrapping_mul(row as i64));
        }
        let base = heights.iter().copied().min().unwrap_or(0);
        let deviations = heights.map(|height| height.wrapping_sub(base) as u64);
        let width = width_of(deviations.iter().copied().max().unwrap_or(0));
        let column = Column { base, slope, at, width };
        (column, deviations)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rows_of(values: &[Vec<i64>]) -> Rows {
        let mut rows = Rows::default();
        for (row, snapshot) in values.iter().zip(0..) {
            rows.push(row.len(), row.iter().copied(), snapshot * 3);
        }
        rows
    }

    /// Near a line, near the ends of 64 bits, or anywhere.
    fn value() -> impl Strategy<Value = i64> {
        prop_oneof![
            4 => 0i64..1_000_000,
            1 => i64::MIN..i64::MIN + 9,
            1 => i64::MAX - 9..=i64::MAX,
            1 => any::<i64>(),
        ]
    }

    proptest! {
        #[test]
        fn n6_a_row_comes_out_as_it_went_in(
            (clocks, values) in (0usize..7).prop_flat_map(|clocks| {
                let row = prop::collection::vec(value(), clocks);
                (Just(clocks), prop::collection::vec(row, 0..2 * BLOCK + 9))
            }),
        ) {
            let rows = rows_of(&values);
            prop_assert_eq!(rows.len(), values.len());
            for (index, row) in values.iter().enumerate() {
                prop_assert_eq!(rows.snapshot(clocks, index), index as u32 * 3);
                for (column, &value) in row.iter().enumerate() {
                    prop_assert_eq!(rows.get(clocks, index, column), value);
                }
                if let &[first, second] = row.as_slice() {
                    prop_assert_eq!(rows.pair(index), (first, second, index as u32 * 3));
                }
            }
            if clocks == 2 {
                for start in [0, 1, BLOCK / 2, BLOCK, values.len()] {
                    let pairs: Vec<_> = rows.pairs(start..values.len()).collect();
                    let naive = (start..values.len()).map(|row| rows.pair(row));
                    prop_assert_eq!(pairs, naive.collect::<Vec<_>>());
                }
            }
            let last = values.last().map(|row| row.as_slice());
            prop_assert_eq!(rows.last(clocks).map(|last| &last[..clocks]), last);
        }

        #[test]
        fn v2_rows_until_a_value_are_counted_from_any_hint(
            (mut column, other) in (1usize..3 * BLOCK).prop_flat_map(|len| (
                prop::collection::vec(prop_oneof![-300i64..300, value()], len),
                prop::collection::vec(value(), len),
            )),
            ats in prop::collection::vec((prop_oneof![-310i64..310, value()], 0..3 * BLOCK), 1..20),
        ) {
            column.sort_unstable();
            let values: Vec<Vec<i64>> =
                other.iter().zip(&column).map(|(&other, &sorted)| vec![other, sorted]).collect();
            let rows = rows_of(&values);
            for (at, hint) in ats {
                let naive = column.iter().filter(|&&value| value <= at).count();
                prop_assert_eq!(rows.count_until(2, 1, at, hint), naive);
            }
        }
    }

    #[test]
    fn clocks_that_run_evenly_take_few_bytes() {
        let mut rows = Rows::default();
        for i in 0..640i64 {
            // Every 10 s, up to 1 ms late; each snapshot reads its clocks within 300 ns.
            let at = i * 10_000_000_000 + (i * 7919) % 1_000_000;
            let clocks = (0..6).map(|clock| at + clock * 1_000_000_007 + (i * clock * 31) % 300);
            rows.push(6, clocks, i as u32);
        }
        let bytes: usize = rows.blocks().iter().map(|block| block.bytes.len()).sum();
        assert!(bytes <= 9 * BLOCK * 14, "{bytes} bytes for {} rows", 9 * BLOCK);
    }
}
