//! Walks from a slice to others, and along flows: ids in, ids out.
//!
//! Nothing here assumes that ids are in order or that parents form a tree, so no database, however
//! it was made, causes an endless loop. The result has at most [`MOST`] ids, because the tables may
//! be endless views.

use std::collections::{HashSet, VecDeque};
use std::ops::ControlFlow::{Break, Continue};

use crate::{Error, Queries, Result, Row, ValueRef, Values};

use crate::slices::PARENT;

/// The limit for slices or flows in a result. They take 30 bytes each, and so do those that were
/// visited on the way.
pub const MOST: usize = 1 << 25;

/// Refuses one more than the limit.
pub fn check(found: usize) -> Result<()> {
    match found < MOST {
        true => Ok(()),
        false => Err(Error::new(format_args!(
            "more than {MOST} slices or flows are found, which are as many as are kept"
        ))),
    }
}

/// All slices on a slice's track from its begin to its end, including the slice itself. A slice
/// without an end never ends.
pub const ON_TRACK: &str = "SELECT d.id, d.parent_id
     FROM main.slice AS s
     CROSS JOIN main.slice AS d
       ON d.track_id = s.track_id
      AND d.ts BETWEEN s.ts AND iif(s.dur < 0, 9223372036854775807, s.ts + s.dur)
     WHERE s.id = ?1 ORDER BY d.ts, d.id";
pub const TO: &str = "SELECT id, slice_out FROM main.flow WHERE slice_in = ?1 ORDER BY id";
pub const FROM: &str = "SELECT id, slice_in FROM main.flow WHERE slice_out = ?1 ORDER BY id";

/// The slices around a slice, the outermost first; `None` if there is no such slice.
pub fn ancestors(queries: &mut Queries, of: i64) -> Result<Option<Vec<i64>>> {
    let Some(mut above) = parent(queries, of)? else {
        return Ok(None);
    };
    let (mut found, mut known) = (Vec::new(), HashSet::from([of]));
    while let Some(id) = above
        && known.insert(id)
    {
        check(found.len())?;
        found.push(id);
        above = parent(queries, id)?.flatten();
    }
    found.reverse();
    Ok(Some(found))
}

/// The parent of an existing slice.
fn parent(queries: &mut Queries, of: i64) -> Result<Option<Option<i64>>> {
    let mut found = None;
    queries.each(PARENT, &[ValueRef::Integer(of)], |row| {
        found = Some(row.optional_integer(0, "parent_id")?);
        Ok(Break(()))
    })?;
    Ok(found)
}

/// The slices inside the slice that began before it ended, in the order of time; `None` if there is
/// no such slice.
pub fn descendants(queries: &mut Queries, of: i64) -> Result<Option<Vec<i64>>> {
    let (mut found, mut within, mut is_slice) = (Vec::new(), HashSet::from([of]), false);
    queries.each(ON_TRACK, &[ValueRef::Integer(of)], |row| {
        is_slice = true;
        let is_within = match row.optional_integer(1, "parent_id")? {
            Some(parent) => within.contains(&parent),
            None => false,
        };
        let id = row.integer(0, "id")?;
        if is_within && within.insert(id) {
            check(found.len())?;
            found.push(id);
        }
        Ok(Continue(()))
    })?;
    Ok(is_slice.then_some(found))
}

/// The direction in which to follow flows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// To their targets, and from the inner slices of each reached slice.
    Forwards,
    /// To their origins, and to the slices around each reached slice.
    Backwards,
    /// In both directions, only from the slices themselves.
    Both,
}

/// The way by which a slice was reached.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reached {
    Start,
    Forwards,
    Backwards,
    /// As a neighbour of a reached slice: its own neighbours are then reached from there, too.
    Nested,
}

/// The flows that can be reached from a slice, the nearest first; `None` if there is no such slice.
/// The order of the search is trace processor's.
pub fn flows(queries: &mut Queries, of: i64, direction: Direction) -> Result<Option<Vec<i64>>> {
    if parent(queries, of)?.is_none() {
        return Ok(None);
    }
    let mut search = Search::default();
    search.reach(of, Reached::Start)?;
    while let Some((slice, reached)) = search.reached.pop_front() {
        for id in nested(queries, slice, reached, direction)? {
            search.reach(id, Reached::Nested)?;
        }
        if direction != Direction::Forwards && reached != Reached::Forwards {
            search.follow(queries, TO, slice, Reached::Backwards)?;
        }
        if direction != Direction::Backwards && reached != Reached::Backwards {
            search.follow(queries, FROM, slice, Reached::Forwards)?;
        }
    }
    Ok(Some(search.found))
}

/// The slices that are reached together with a slice.
fn nested(
    queries: &mut Queries,
    of: i64,
    reached: Reached,
    direction: Direction,
) -> Result<Vec<i64>> {
    let found = match (reached, direction) {
        (Reached::Nested, _) | (_, Direction::Both) => None,
        (_, Direction::Forwards) => descendants(queries, of)?,
        (_, Direction::Backwards) => ancestors(queries, of)?,
    };
    Ok(found.unwrap_or_default())
}

#[derive(Default)]
struct Search {
    /// Slices whose flows are still to be followed.
    reached: VecDeque<(i64, Reached)>,
    slices: HashSet<i64>,
    flows: HashSet<i64>,
    found: Vec<i64>,
}

impl Search {
    fn reach(&mut self, slice: i64, reached: Reached) -> Result<()> {
        if self.slices.insert(slice) {
            check(self.slices.len())?;
            self.reached.push_back((slice, reached));
        }
        Ok(())
    }

    /// Follows the flows of a slice that `sql` finds, with the slices at their other ends.
    fn follow(
        &mut self,
        queries: &mut Queries,
        sql: &str,
        slice: i64,
        reached: Reached,
    ) -> Result<()> {
        queries.each(sql, &[ValueRef::Integer(slice)], |row| {
            let id = row.integer(0, "id")?;
            if self.flows.insert(id) {
                check(self.found.len())?;
                self.found.push(id);
            }
            if let Some(slice) = end(row) {
                self.reach(slice, reached)?;
            }
            Ok(Continue(()))
        })
    }
}

/// The slice at the other end of a flow. A made-up flow may not have one.
fn end(row: &Row<'_>) -> Option<i64> {
    match row.value(1) {
        Some(ValueRef::Integer(slice)) => Some(slice),
        _ => None,
    }
}
