//! Rows for drawing slices of several tracks without overlaps.
//!
//! | function | rows |
//! |---|---|
//! | `experimental_slice_layout(track_ids)` | `id`, `layout_depth`: the row in which each slice of these tracks is drawn; the tracks are a text such as `'1,2,3'` |
//!
//! # Design
//!
//! A slice without a parent and all below it are a box, which is drawn as a whole. The deepest boxes are placed first,
//! as in trace processor since v58; in the order of time, a wide and flat box would push the deep ones down. The spans
//! of a row are a sorted set, so that a box asks each row once, and not each box. A sorted list would move half of its
//! spans for each box that comes before others.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;

use rusqlite::vtab::Filters;
use rusqlite::{Connection, ffi};

use super::limits::Budget;
use crate::table_function::{self, TableFunction};
use crate::{Arguments, Error, Queries, Result, ValueRef};

/// The slices of tracks, whose ids are a list in JSON.
const SLICES: &str = "SELECT id, ts, dur, depth, parent_id FROM slice \
     WHERE track_id IN (SELECT value FROM json_each(?1)) ORDER BY id";

/// The deepest slice. Deeper ones are a damaged database, and would take all memory.
const DEEPEST: u32 = 1 << 20;

/// The boxes and rows between two looks for an interrupt.
const STEPS: u32 = 1 << 18;

pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    table_function::register::<SliceLayout>(conn)
}

struct SliceLayout(RefCell<Queries>);

/// A slice without a parent, with all below it.
#[derive(Debug)]
struct Tree {
    start: i64,
    end: i64,
    /// The rows that it takes.
    height: usize,
}

/// The spans of time that one row has already. An instant is before a span that begins with it.
#[derive(Debug, Default)]
struct Row(BTreeSet<(i64, i64)>);

impl Row {
    fn is_free(&self, start: i64, end: i64) -> bool {
        let first = (start, i64::MIN);
        let next = self.0.range(first..).next();
        let before = self.0.range(..first).next_back();
        next.is_none_or(|(begun, _)| *begun >= end)
            && before.is_none_or(|(_, ended)| *ended <= start)
    }
}

impl TableFunction for SliceLayout {
    const NAME: &'static str = "experimental_slice_layout";
    const COLUMNS: &'static [&'static str] = &["id", "layout_depth"];
    const ARGUMENTS: &'static [&'static str] = &["filter_track_ids"];
    const ESTIMATE: Option<(f64, i64)> = None;
    type Row = (i64, i64);

    unsafe fn new(conn: *mut ffi::sqlite3) -> SliceLayout {
        // SAFETY: by the contract of this function.
        SliceLayout(RefCell::new(unsafe { Queries::new(conn) }))
    }

    fn rows(&self, args: &Filters<'_>) -> Result<Vec<(i64, i64)>> {
        let tracks = table_function::argument::<Self>(args, 0)?;
        let values = [ValueRef::from(&tracks)];
        let arguments = Arguments::new(Self::NAME, &values[..]);
        let Some(tracks) = arguments.text(0, "filter_track_ids")? else {
            return Ok(Vec::new());
        };
        // What is no number names no track, as in trace processor.
        let tracks = tracks.split(',').filter_map(|track| track.trim().parse::<u32>().ok());
        let tracks: Vec<String> = tracks.map(|track| track.to_string()).collect();
        // A view of slices that calls this function would read itself.
        let Ok(mut queries) = self.0.try_borrow_mut() else {
            return Err(Error::new(format_args!(
                "{}() reads slice, so this view must not call it",
                Self::NAME
            )));
        };
        let (trees, slices) = trees(&mut queries, &format!("[{}]", tracks.join(",")))?;
        let rows = placed(&trees, &mut queries)?;
        let row_of = |(id, tree, depth): (i64, usize, u32)| {
            let row = rows.get(tree).copied().unwrap_or_default();
            (id, i64::try_from(row).unwrap_or(i64::MAX).saturating_add(depth.into()))
        };
        Ok(slices.into_iter().map(row_of).collect())
    }

    fn column((id, depth): &(i64, i64), column: usize) -> Option<i64> {
        match column {
            0 => Some(*id),
            1 => Some(*depth),
            _ => None,
        }
    }
}

/// A slice: its id, the place of its tree, and its depth there.
type Slice = (i64, usize, u32);

/// The trees of some tracks, and the slices in the order of ids.
fn trees(queries: &mut Queries, tracks: &str) -> Result<(Vec<Tree>, Vec<Slice>)> {
    let mut trees: Vec<Tree> = Vec::new();
    let mut slices = Vec::new();
    let mut tree_of: HashMap<i64, usize> = HashMap::new();
    queries.each(SLICES, &[ValueRef::Text(tracks.as_bytes())], |row| {
        let (id, start) = (row.integer(0, "id")?, row.integer(1, "ts")?);
        let (duration, depth) = (row.integer(2, "dur")?, row.number(3, "depth")?);
        if depth > DEEPEST {
            return Err(Error::new(format_args!(
                "experimental_slice_layout(): slice {id} has the depth {depth}; the deepest that is drawn is {DEEPEST}"
            )));
        }
        let end = match duration {
            -1 => i64::MAX,
            duration => start.saturating_add(duration),
        };
        // A parent has a lesser id than its children.
        let parent = row.optional_integer(4, "parent_id")?;
        let of_parent = parent.and_then(|parent| tree_of.get(&parent).copied());
        let place = of_parent.unwrap_or(trees.len());
        let height = usize::try_from(depth).unwrap_or_default().saturating_add(1);
        match trees.get_mut(place) {
            Some(tree) => {
                tree.end = tree.end.max(end);
                tree.height = tree.height.max(height);
            }
            None => trees.push(Tree { start, end, height }),
        }
        tree_of.insert(id, place);
        slices.push((id, place, depth));
        Ok(ControlFlow::Continue(()))
    })?;
    Ok((trees, slices))
}

/// The first row of each tree.
fn placed(trees: &[Tree], queries: &mut Queries) -> Result<Vec<usize>> {
    let mut order: Vec<(usize, &Tree)> = trees.iter().enumerate().collect();
    order.sort_by_key(|(place, tree)| (Reverse(tree.height), tree.start, *place));
    let mut rows: Vec<Row> = Vec::new();
    let mut first_rows = vec![0; trees.len()];
    let mut budget = Budget::new(SliceLayout::NAME);
    let mut steps = 0u32;
    for (place, tree) in order {
        let (mut first, mut free) = (0usize, 0usize);
        for (number, row) in rows.iter().enumerate() {
            steps = steps.wrapping_add(1);
            if steps.is_multiple_of(STEPS) {
                // Any query fails if its connection was interrupted.
                queries.each("SELECT 1", &[], |_| Ok(ControlFlow::Break(())))?;
            }
            if free == tree.height {
                break;
            }
            match row.is_free(tree.start, tree.end) {
                true => free = free.saturating_add(1),
                false => (first, free) = (number.saturating_add(1), 0),
            }
        }
        let end = first.saturating_add(tree.height);
        // A row, and an entry of a tree.
        budget.take(tree.height.saturating_mul(2 * size_of::<(Row, i64, i64)>()))?;
        if rows.len() < end {
            rows.resize_with(end, Row::default);
        }
        for row in rows.iter_mut().skip(first).take(tree.height) {
            row.0.insert((tree.start, tree.end));
        }
        if let Some(of_tree) = first_rows.get_mut(place) {
            *of_tree = first;
        }
    }
    Ok(first_rows)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
