//! One table of a span join: its rows in their order, as pieces of time.

use rusqlite::ffi;

use crate::query::{Stepped, Steps};
use crate::value::{Values, told};
use crate::{Error, Result, ValueRef};

use super::definition;
use super::plan;

/// A piece of the time of one table and partition: a span, or a gap before, between or after spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    pub start: i64,
    /// The start plus the duration, for the duration of a row. For an unfinished span it is before
    /// the start.
    pub last: i64,
    /// The end for comparisons, not before the start.
    pub end: i64,
    pub is_span: bool,
}

impl Piece {
    fn gap(start: i64, end: i64) -> Piece {
        Piece { start, last: end, end, is_span: false }
    }

    fn span(row: Row) -> Piece {
        let last = row.ts.saturating_add(row.dur);
        Piece { start: row.ts, last, end: last.max(row.ts), is_span: true }
    }
}

/// The values that the join needs from the current row of the query.
#[derive(Debug, Clone, Copy)]
struct Row {
    ts: i64,
    dur: i64,
    /// 0 for all rows of a table without partitions.
    partition: i64,
}

/// A table while it is read.
pub struct Input {
    conn: *mut ffi::sqlite3,
    name: String,
    join: &'static str,
    ts: usize,
    dur: Option<usize>,
    partition: Option<usize>,
    has_gaps: bool,
    query: Option<(String, Steps)>,
    row: Option<Row>,
    /// The partition that is being read.
    inside: i64,
    piece: Option<Piece>,
}

impl Input {
    /// # Safety
    ///
    /// The connection is open for as long as this lives, and only its calls use it.
    pub unsafe fn new(
        of: &definition::Input,
        join: &'static str,
        conn: *mut ffi::sqlite3,
    ) -> Input {
        Input {
            conn,
            name: of.name.clone(),
            join,
            ts: of.ts,
            dur: of.dur,
            partition: of.partition_at,
            has_gaps: of.has_gaps,
            query: None,
            row: None,
            inside: 0,
            piece: None,
        }
    }

    /// Begins a query. One with the same text stays prepared.
    pub fn begin(&mut self, query: plan::Query) -> Result<()> {
        (self.row, self.piece) = (None, None);
        match &mut self.query {
            Some((sql, steps)) if *sql == query.sql => steps.restart(query.parameters)?,
            _ => {
                // SAFETY: by the contract of `new`.
                let steps = unsafe { Steps::prepare(self.conn, &query.sql, query.parameters) };
                let steps = steps.map_err(|error| self.explained(error))?;
                self.query = Some((query.sql, steps));
            }
        }
        self.step()
    }

    /// Begins again with the first row, unless it stands there.
    pub fn rewind_unless(&mut self, is_fresh: bool) -> Result<()> {
        if is_fresh {
            return Ok(());
        }
        if let Some((_, steps)) = &mut self.query {
            steps.rewind();
        }
        self.step()
    }

    /// The partition of the next row; `None` after the last one.
    pub fn next_partition(&self) -> Option<i64> {
        self.row.map(|row| row.partition)
    }

    /// The current piece; `None` after the last one of the partition.
    pub fn piece(&self) -> Option<Piece> {
        self.piece
    }

    /// The current row, if the current piece is a span.
    pub fn row(&self) -> Option<Stepped<'_>> {
        let is_span = self.piece.is_some_and(|piece| piece.is_span);
        self.query.as_ref().filter(|_| is_span).map(|(_, steps)| steps.row())
    }

    /// Goes to the first piece of a partition, which is the next one or has no rows.
    pub fn enter(&mut self, partition: i64) {
        self.inside = partition;
        let first = self.row.filter(|row| row.partition == partition);
        self.piece = match first {
            Some(row) => Some(self.up_to(i64::MIN, row)),
            None => self.has_gaps.then(|| Piece::gap(i64::MIN, i64::MAX)),
        };
    }

    /// Goes to the next piece of the partition.
    pub fn advance(&mut self) -> Result<()> {
        let Some(piece) = self.piece else {
            return Ok(());
        };
        if piece.is_span {
            self.step()?;
        }
        let next = self.row.filter(|row| row.partition == self.inside);
        self.piece = match next {
            Some(row) if piece.is_span => {
                self.check(piece, row)?;
                Some(self.up_to(piece.end, row))
            }
            Some(row) => Some(Piece::span(row)),
            None => (piece.is_span && self.has_gaps).then(|| Piece::gap(piece.end, i64::MAX)),
        };
        Ok(())
    }

    /// The gap from `start` to a row, or its span if there is no gap.
    fn up_to(&self, start: i64, row: Row) -> Piece {
        match self.has_gaps && start < row.ts {
            true => Piece::gap(start, row.ts),
            false => Piece::span(row),
        }
    }

    /// Leaves out the rest of the partition.
    pub fn leave(&mut self) -> Result<()> {
        self.piece = None;
        while self.row.is_some_and(|row| row.partition == self.inside) {
            self.step()?;
        }
        Ok(())
    }

    /// Spans of a table that overlap have no order in which they could be joined.
    fn check(&self, piece: Piece, row: Row) -> Result<()> {
        if row.ts >= piece.end {
            return Ok(());
        }
        let partition = match self.partition {
            Some(_) => format!(" (partition {})", self.inside),
            None => String::new(),
        };
        Err(Error::new(format_args!(
            "{}: spans of {} overlap{partition}: the one at ts {} with dur {} has not ended when the \
             one at ts {} with dur {} begins; join them by a partition without overlaps, or \
             flatten them first",
            self.join,
            self.name,
            piece.start,
            piece.last.saturating_sub(piece.start),
            row.ts,
            row.dur
        )))
    }

    /// Goes to the next row with a partition.
    fn step(&mut self) -> Result<()> {
        self.row = self.read().map_err(|error| self.explained(error))?;
        Ok(())
    }

    fn read(&mut self) -> Result<Option<Row>> {
        let Some((_, steps)) = &mut self.query else {
            return Ok(None);
        };
        while let Some(row) = steps.next()? {
            let partition = match self.partition.map(|at| row.value(at)) {
                None => 0,
                Some(Some(ValueRef::Integer(partition))) => partition,
                Some(None | Some(ValueRef::Null)) => continue,
                Some(other) => {
                    let other = told(other);
                    return Err(Error::new(format_args!(
                        "a partition must be an integer, not {other}; hash() makes one of a text"
                    )));
                }
            };
            let ts = integer(row.value(self.ts), "ts")?;
            let dur = match self.dur {
                Some(dur) => integer(row.value(dur), "dur")?,
                None => 0,
            };
            return Ok(Some(Row { ts, dur, partition }));
        }
        Ok(None)
    }

    fn explained(&self, error: Error) -> Error {
        match error.is_interrupt() {
            true => error,
            false => Error::new(format_args!("{}: {}: {error}", self.join, self.name)),
        }
    }
}

/// A time, without its fraction; 0 for NULL.
fn integer(value: Option<ValueRef<'_>>, column: &str) -> Result<i64> {
    match value {
        None | Some(ValueRef::Null) => Ok(0),
        Some(ValueRef::Integer(value)) => Ok(value),
        Some(ValueRef::Real(value)) => Ok(value as i64),
        other => {
            let other = told(other);
            Err(Error::new(format_args!("{column} must be a number, not {other}")))
        }
    }
}
