//! The causes of a thread's waiting: the walk through the spans in which threads ran, from a span
//! back to the one that woke it.
//!
//! | function | result |
//! |---|---|
//! | `__intrinsic_wakeup_graph_agg(id, utid, ts, dur, idle_dur, waker_id, prev_id)` | spans: `ts`, `dur` and the time `idle_dur` that its thread slept before it in nanoseconds, the span that woke it, and the one before it of the same thread; the last three may be NULL |
//! | `__intrinsic_critical_path_walk(graph, root_ids)` | a table with `root_id`, `depth`, `ts`, `dur` (ns), `blocker_id`, `blocker_utid`, `parent_id`: for each root, the spans that ran while its thread slept or ran |
//!
//! A span answers for its own time and for the sleep before it. The time of the sleep goes to the
//! span that woke it, one level deeper; or to the span itself if only an interrupt woke it. The
//! time before the sleep goes to the span before it, on the same level.

use std::collections::HashMap;
use std::ffi::c_int;

use rusqlite::Connection;

use crate::Result;

use super::arrays::Array;
use super::call::{Call, Gather, PURE, gather, scalar};
use super::limits::{Budget, Watch, connection};
use super::pointer::{Handed, Pointer, kind};
use super::table::{Column, Table};

const WALK: &str = "__intrinsic_critical_path_walk";

const COLUMNS: [&str; 7] =
    ["root_id", "depth", "ts", "dur", "blocker_id", "blocker_utid", "parent_id"];

pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    gather::<Gathered>(conn)?;
    scalar(conn, WALK, 2, PURE, walk)
}

#[derive(Debug, Clone, Copy)]
struct Span {
    utid: u32,
    ts: i64,
    dur: i64,
    idle_dur: Option<i64>,
    waker: Option<u32>,
    previous: Option<u32>,
}

/// Spans by their ids.
#[derive(Debug, Default)]
struct Wakeups(HashMap<u32, Span>);

impl Handed for Wakeups {
    const KIND: &'static std::ffi::CStr = kind!("wakeups");
}

struct Gathered {
    wakeups: Wakeups,
    budget: Budget,
}

impl Gather for Gathered {
    const NAME: &'static str = "__intrinsic_wakeup_graph_agg";
    const COUNT: c_int = 7;
    type Output = Wakeups;

    fn start() -> Gathered {
        Gathered { wakeups: Wakeups::default(), budget: Budget::new(Self::NAME) }
    }

    fn add(&mut self, call: Call<'_, '_>) -> Result<()> {
        self.budget.take(2 * size_of::<(u32, Span)>())?;
        let id = call.id(0, "id")?;
        let span = Span {
            utid: call.id(1, "utid")?,
            ts: call.integer(2, "ts")?,
            dur: call.integer(3, "dur")?,
            idle_dur: call.optional(4, "idle_dur")?,
            waker: call.optional_id(5, "waker_id")?,
            previous: call.optional_id(6, "prev_id")?,
        };
        self.wakeups.0.insert(id, span);
        Ok(())
    }

    fn end(self, _call: Call<'_, '_>) -> Result<Wakeups> {
        Ok(self.wakeups)
    }
}

fn walk(call: Call<'_, '_>) -> Result<Pointer<Table>> {
    let wakeups = call.pointer::<Wakeups>(0, "graph")?;
    let roots = call.pointer::<Array>(1, "root_ids")?;
    let mut rows = Rows { columns: Default::default(), budget: Budget::new(WALK) };
    if let (Some(wakeups), Some(roots)) = (wakeups, roots) {
        let Some(roots) = roots.ids() else {
            return Err(call.arguments().wrong(1, "root_ids", "must be an array of integers"));
        };
        let conn = connection(call.context())?;
        let mut watch = Watch::new(&conn);
        for root in roots {
            if let Err(id) = walk_from(root, &wakeups, &mut rows, &mut watch)? {
                return Err(call.error(format_args!(
                    "the span {id} was woken by itself, through others; waker_id and prev_id must \
                     name earlier spans"
                )));
            }
        }
    }
    Ok(Pointer::to(rows.table()))
}

/// A span and the time for which it shall answer.
#[derive(Debug, Clone, Copy)]
struct Frame {
    id: u32,
    start: i64,
    end: i64,
    depth: u32,
    /// The number of spans on the way from the root.
    steps: usize,
}

/// Adds the rows of a root; an error within if the spans go in a circle.
fn walk_from(
    root: u32,
    wakeups: &Wakeups,
    rows: &mut Rows,
    watch: &mut Watch<'_>,
) -> Result<Result<(), u32>> {
    let Some(span) = wakeups.0.get(&root) else {
        return Ok(Ok(()));
    };
    let start = span.ts.saturating_sub(span.idle_dur.unwrap_or(0));
    let end = span.ts.saturating_add(span.dur);
    let mut stack = vec![Frame { id: root, start, end, depth: 0, steps: 0 }];
    while let Some(frame) = stack.pop() {
        watch.step()?;
        let Some(span) = wakeups.0.get(&frame.id).filter(|_| frame.start < frame.end) else {
            continue;
        };
        if frame.steps > wakeups.0.len() {
            return Ok(Err(frame.id));
        }
        let steps = frame.steps + 1;
        let idle_start = span.idle_dur.map(|idle| span.ts.saturating_sub(idle));
        if let (Some(idle_start), Some(previous)) = (idle_start, span.previous)
            && frame.start < idle_start
        {
            let end = frame.end.min(idle_start);
            stack.push(Frame { id: previous, end, steps, ..frame });
        }
        let start = frame.start.max(idle_start.unwrap_or(frame.start));
        let end = frame.end.min(span.ts.saturating_add(span.dur));
        if start >= end {
            continue;
        }
        let idle_end = end.min(span.ts);
        match (span.waker, span.previous) {
            _ if start >= idle_end => {}
            (Some(waker), _) => {
                let depth = frame.depth.saturating_add(1);
                stack.push(Frame { id: waker, start, end: idle_end, depth, steps });
            }
            (None, Some(_)) => rows.add(root, frame, span, (start, idle_end))?,
            (None, None) => {}
        }
        let run_start = start.max(span.ts);
        if run_start < end {
            rows.add(root, frame, span, (run_start, end))?;
        }
    }
    Ok(Ok(()))
}

/// The rows of the result, by column.
struct Rows {
    columns: [Vec<i64>; 7],
    budget: Budget,
}

impl Rows {
    fn add(&mut self, root: u32, frame: Frame, span: &Span, time: (i64, i64)) -> Result<()> {
        self.budget.take(7 * size_of::<i64>())?;
        let (start, end) = time;
        let row = [
            i64::from(root),
            frame.depth.into(),
            start,
            end.saturating_sub(start),
            frame.id.into(),
            span.utid.into(),
            // All levels belong to the root.
            root.into(),
        ];
        for (column, value) in self.columns.iter_mut().zip(row) {
            column.push(value);
        }
        Ok(())
    }

    fn table(self) -> Table {
        let count = self.columns.first().map_or(0, Vec::len);
        let columns = self.columns.into_iter().map(Column::Integers);
        Table::new(count, COLUMNS.into_iter().zip(columns))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
