//! What all events of a trace speak of: machines, processes, threads, tracks,
//! slices, values, texts and arguments. Trackers change it, in the order of time.
//!
//! # Design
//!
//! One world for all trackers: a scheduler's switch and a line of the log name the
//! same thread, and who comes first makes it. To let each subject keep tables of
//! its own and to join them at the end was the alternative; but which thread a tid
//! is depends on everything that happened before, whoever told of it.
//!
//! Processes, threads and tracks are in memory to the end, as a later event may
//! name or bind them; they are few beside events. What is many (slices,
//! values, states) is a row as soon as it is complete. Texts and sets of arguments
//! are remembered in bounded memory, and may stand twice.
//!
//! | question | where it is decided |
//! |---|---|
//! | which thread is a tid, which process a pid (rules P) | `threads.rs` |
//! | which tracks there are | `tracks.rs` |
//! | texts by their numbers | `strings.rs` |
//! | sets of arguments (rule H6) | `args.rs` |
//! | machines and CPUs (rules H1 to H3) | `machines.rs` |

mod args;
mod machines;
pub(crate) mod strings;
mod threads;
mod tracks;

use std::collections::BTreeMap;

use timebase_schema::{Table, tables};
use timebase_trace::Interned;

pub(crate) use args::{Arg, ArgSets, ArgValue};
pub(crate) use machines::{Cpus, ucpu};
pub(crate) use strings::Strings;
pub(crate) use threads::{Rank, Threads, Upid, Utid};
pub(crate) use tracks::{NewTrack, Owner, TrackId, Tracks};

use crate::facts::Facts;
use crate::output::{Cell, Rows};

/// All of it.
pub(crate) struct World {
    pub facts: Facts,
    /// What numbers of interned data mean.
    pub interned: Interned,
    pub threads: Threads,
    pub cpus: Cpus,
    pub tracks: Tracks,
    pub strings: Strings,
    pub args: ArgSets,
    /// From when to when the rows of tables are, by their numbers.
    spans: BTreeMap<usize, (i64, i64)>,
}

impl World {
    pub fn new(mut facts: Facts, interned: Interned, rows: &mut Rows<'_>) -> Self {
        if facts.machines.iter().next().is_none() {
            facts.machines.see(0);
        }
        World {
            threads: Threads::new(facts.machines.iter().count() as u32),
            cpus: Cpus::default(),
            tracks: Tracks::default(),
            strings: Strings::new(rows),
            args: ArgSets::default(),
            spans: BTreeMap::new(),
            facts,
            interned,
        }
    }

    /// A value of a counter is a row.
    pub fn value(
        &mut self,
        ts: i64,
        track: TrackId,
        value: f64,
        arg_set_id: Option<i64>,
        rows: &mut Rows<'_>,
    ) {
        self.spans(&tables::counter_record::TABLE, ts, 0);
        let id = rows.count(&tables::counter_record::TABLE);
        rows.push(tables::counter_record::Row {
            id: Cell::from(id),
            ts: Cell::from(ts),
            track_id: Cell::from(track.0),
            value: Cell::number(value),
            arg_set_id: Cell::or_null(arg_set_id),
        });
    }

    /// A row of a table is at a time, and lasts so long; −1 without an end.
    #[inline]
    pub fn spans(&mut self, table: &Table, ts: i64, dur: i64) {
        let end = ts.saturating_add(dur.max(0));
        let (first, last) = self.spans.entry(table.number).or_insert((ts, end));
        *first = (*first).min(ts);
        *last = (*last).max(end);
    }

    /// What lasts to the end becomes rows.
    pub fn end(&mut self, rows: &mut Rows<'_>) {
        let World {
            facts,
            threads,
            cpus,
            tracks,
            strings,
            args,
            spans,
            ..
        } = self;
        machines::rows(&facts.machines, rows);
        tracks.end(cpus, strings, args, rows);
        cpus.end(&facts.machines, rows);
        threads.end(&facts.names, rows);
        let wanted = tables::ALL.iter().filter(|table| rows.wants(table));
        let known: Vec<_> = wanted
            .filter_map(|table| Some((table.name, spans.get(&table.number)?)))
            .collect();
        for (name, (start, end)) in known {
            let name = rows.text(name);
            rows.push(tables::event_span::Row {
                name,
                start_ts: Cell::from(*start),
                end_ts: Cell::from(*end),
            });
        }
    }
}
