//! The overlapping pieces of two tables.

use rusqlite::ffi;

use crate::Result;
use crate::query::Stepped;

use super::definition::{Definition, Partitioning};
use super::input::{Input, Piece};
use super::plan::Query;

/// Two tables while they are joined. At any time it stands on two pieces that overlap, or it is
/// done.
pub struct Merge {
    inputs: [Input; 2],
    partitioning: Partitioning,
    partition: i64,
    /// Whether the only partition of tables without partitions is still to come.
    is_fresh: bool,
    at: Option<(Piece, Piece)>,
}

impl Merge {
    /// # Safety
    ///
    /// The connection is open for as long as this lives, and only its calls use it.
    pub unsafe fn new(definition: &Definition, conn: *mut ffi::sqlite3) -> Merge {
        let [a, b] = &definition.inputs;
        let join = definition.kind.name();
        // SAFETY: by the contract of this function.
        let inputs = unsafe { [Input::new(a, join, conn), Input::new(b, join, conn)] };
        Merge {
            inputs,
            partitioning: definition.partitioning,
            partition: 0,
            is_fresh: true,
            at: None,
        }
    }

    /// Goes to the first row.
    pub fn begin(&mut self, [a, b]: [Query; 2]) -> Result<()> {
        (self.at, self.is_fresh) = (None, true);
        let [first, second] = &mut self.inputs;
        first.begin(a)?;
        second.begin(b)?;
        match self.enter_partition()? {
            true => self.find(),
            false => Ok(()),
        }
    }

    /// Goes to the next row.
    pub fn next(&mut self) -> Result<()> {
        if let Some((a, b)) = self.at.take() {
            self.advance(a, b)?;
            self.find()?;
        }
        Ok(())
    }

    pub fn is_done(&self) -> bool {
        self.at.is_none()
    }

    /// A row begins with the later piece.
    pub fn ts(&self) -> i64 {
        self.at.map_or(0, |(a, b)| a.start.max(b.start))
    }

    pub fn dur(&self) -> i64 {
        self.at.map_or(0, |(a, b)| a.last.min(b.last).saturating_sub(a.start.max(b.start)))
    }

    pub fn partition(&self) -> i64 {
        self.partition
    }

    /// The row of a table; `None` in a gap.
    pub fn row(&self, table: usize) -> Option<Stepped<'_>> {
        self.inputs.get(table).and_then(Input::row)
    }

    /// Looks for the next pieces that overlap, from the current ones on.
    fn find(&mut self) -> Result<()> {
        loop {
            let [a, b] = &self.inputs;
            let (Some(a), Some(b)) = (a.piece(), b.piece()) else {
                if self.leave_partition()? {
                    continue;
                }
                return Ok(());
            };
            if overlap(a, b) {
                self.at = Some((a, b));
                return Ok(());
            }
            self.advance(a, b)?;
        }
    }

    /// Leaves the piece that ends first: of two that end together a gap, then that of the second
    /// table.
    fn advance(&mut self, a: Piece, b: Piece) -> Result<()> {
        let [first, second] = &mut self.inputs;
        match (a.end, a.is_span) < (b.end, b.is_span) {
            true => first.advance(),
            false => second.advance(),
        }
    }

    /// Goes to the next partition; whether there is one.
    fn leave_partition(&mut self) -> Result<bool> {
        let [a, b] = &mut self.inputs;
        match self.partitioning {
            Partitioning::None => return Ok(false),
            Partitioning::Same => {
                a.leave()?;
                b.leave()?;
            }
            Partitioning::Only(table) => {
                if let Some(input) = self.inputs.get_mut(table) {
                    input.leave()?;
                }
            }
        }
        self.enter_partition()
    }

    fn enter_partition(&mut self) -> Result<bool> {
        let is_fresh = std::mem::replace(&mut self.is_fresh, false);
        let [a, b] = &mut self.inputs;
        let next = match self.partitioning {
            Partitioning::None => is_fresh.then_some(0),
            Partitioning::Same => a.next_partition().into_iter().chain(b.next_partition()).min(),
            Partitioning::Only(0) => a.next_partition(),
            Partitioning::Only(_) => b.next_partition(),
        };
        let Some(partition) = next else {
            return Ok(false);
        };
        self.partition = partition;
        match self.partitioning {
            Partitioning::Only(0) => {
                b.rewind_unless(is_fresh)?;
                b.enter(0);
                a.enter(partition);
            }
            Partitioning::Only(_) => {
                a.rewind_unless(is_fresh)?;
                a.enter(0);
                b.enter(partition);
            }
            Partitioning::None | Partitioning::Same => {
                a.enter(partition);
                b.enter(partition);
            }
        }
        Ok(true)
    }
}

/// Whether a row has these pieces: at least one is a span, and one begins inside of the other.
/// Spans that begin together overlap even if both are instants.
fn overlap(a: Piece, b: Piece) -> bool {
    let begins_in = |a: Piece, b: Piece| b.start <= a.start && a.start < b.end;
    let is_met = begins_in(a, b) || begins_in(b, a);
    (a.is_span && b.is_span && a.start == b.start) || ((a.is_span || b.is_span) && is_met)
}
