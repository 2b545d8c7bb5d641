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
//! | whose a uuid of a track is (rules U3, U4) | `uuids.rs` |
//! | which tracks there are | `tracks.rs` |
//! | which of several lanes a slice is on (rules B6, GP3) | `lanes.rs` |
//! | what lies on what (rules B4, B5, E9 to E13) | `slices.rs`, with slices that begin and end (`slice.rs`) and those that are no rows yet (`open_slices.rs`) |
//! | flows from slice to slice (rules G) | `flows.rs` |
//! | those of render stages of GPUs (rule GP9) | `stage_flows.rs` |
//! | texts by their numbers | `strings.rs` |
//! | how sets of arguments are kept (rules A2, A3, H6) | `args.rs` |
//! | values of counters (rules M1, M4) | `values.rs` |
//! | machines and CPUs (rules H1 to H3) | `machines.rs` |
//! | GPUs (rule H4) | `gpus.rs` |

mod args;
mod flows;
mod gpus;
mod lanes;
mod machines;
mod open_slices;
mod slice;
mod slices;
mod stage_flows;
pub(crate) mod strings;
mod threads;
mod tracks;
mod uuids;
mod values;

use std::collections::BTreeMap;
use std::io;

use timebase_schema::{Table, tables};
use timebase_store::sort::Scratch;
use timebase_trace::Interned;

pub(crate) use args::ArgSets;
pub(crate) use flows::{FlowEvent, FlowId, Flows, Step};
pub(crate) use gpus::{GpuInfo, Gpus};
pub(crate) use lanes::{Begins, Lanes, SetId};
pub(crate) use machines::{CPUS, Cpus, rows as machine_rows, ucpu};
pub(crate) use slice::{EndOfSlice, Made, NewSlice, SliceId, Spent};
pub(crate) use slices::Slices;
pub(crate) use stage_flows::StageStep;
pub(crate) use strings::Strings;
pub(crate) use threads::{Rank, Threads, Upid, Utid};
pub(crate) use tracks::{Details, Dimension, NewTrack, Owner, TrackId, Tracks};
pub(crate) use uuids::UuidStates;
use values::Values;
pub(crate) use values::{Measurement, ThreadCounter, ThreadValue};

use crate::manifest::MachineRef;

use crate::definitions::{Definitions, Names, Records, Uuids};
use crate::output::{Cell, Counts, Faults, Rows};
use crate::timeline::OwnLabel;

/// All of it.
pub(crate) struct World {
    pub definitions: Definitions,
    /// What numbers of interned data mean.
    pub interned: Interned,
    pub threads: Threads,
    pub uuids: UuidStates,
    pub cpus: Cpus,
    pub gpus: Gpus,
    pub tracks: Tracks,
    pub lanes: Lanes,
    slices: Slices,
    pub strings: Strings,
    pub args: ArgSets,
    /// What of the trace does not go together.
    pub faults: Faults,
    /// What was counted of files and machines.
    pub counts: Counts,
    pub flows: Flows,
    values: Values,
    /// From when to when the rows of tables are, by their numbers.
    spans: BTreeMap<usize, (i64, i64)>,
}

impl World {
    /// What does not fit memory is put aside there.
    pub fn new(
        mut definitions: Definitions,
        interned: Interned,
        scratch: &Scratch,
        rows: &mut Rows<'_>,
    ) -> Self {
        if definitions.machines.iter().next().is_none() {
            definitions.machines.see(MachineRef::HOST);
        }
        World {
            threads: Threads::new(definitions.machines.iter().count() as u32),
            uuids: UuidStates::default(),
            cpus: Cpus::default(),
            gpus: Gpus::default(),
            tracks: Tracks::default(),
            lanes: Lanes::default(),
            slices: Slices::default(),
            strings: Strings::new(rows),
            args: ArgSets::default(),
            faults: Faults::default(),
            counts: Counts::default(),
            flows: Flows::new(scratch),
            values: Values::new(scratch),
            spans: BTreeMap::new(),
            definitions,
            interned,
        }
    }

    /// The number of a set of arguments; none of an empty one.
    pub fn arg_set(&mut self, args: &[u8], rows: &mut Rows<'_>) -> Option<i64> {
        self.args.number(args, &self.definitions.names, rows)
    }

    /// The number of what something is called among the texts of `string`; none of nothing.
    pub fn text(&mut self, label: &OwnLabel, rows: &mut Rows<'_>) -> Option<i64> {
        let strings = &mut self.strings;
        match label {
            OwnLabel::None => None,
            OwnLabel::Known(name) => Some(strings.of_name(*name, &self.definitions.names, rows)),
            OwnLabel::Own(text) => Some(strings.number(text, rows)),
        }
    }

    /// A row of a table is at a time, and lasts so long; −1 without an end.
    #[inline]
    pub fn spans(&mut self, table: &Table, ts: i64, dur: i64) {
        let end = ts.saturating_add(dur.max(0));
        let (first, last) = self.spans.entry(table.number).or_insert((ts, end));
        *first = (*first).min(ts);
        *last = (*last).max(end);
    }

    /// What lasts to the end becomes rows. Tells what of the trace does not go together, what was
    /// counted of files and machines, and what the recording says of itself.
    ///
    /// # Errors
    ///
    /// If what was put aside cannot be written or read back.
    pub fn end(mut self, rows: &mut Rows<'_>) -> io::Result<(Faults, Counts, Records)> {
        self.end_slices(rows);
        // What only events need goes before what is in memory becomes rows.
        self.slices = Slices::default();
        self.uuids = UuidStates::default();
        self.definitions.uuids = Uuids::default();
        self.interned = Interned::default();
        let World {
            mut definitions,
            mut threads,
            mut cpus,
            gpus,
            mut tracks,
            mut args,
            values,
            spans,
            mut faults,
            counts,
            flows,
            ..
        } = self;
        flows.end(&mut faults, rows)?;
        values.end(&threads, &mut tracks, rows)?;
        let mut set =
            |set: &[u8], names: &Names, rows: &mut Rows<'_>| args.number(set, names, rows);
        tracks.end(&mut cpus, &gpus, &mut definitions.names, &mut set, rows);
        cpus.end(
            &definitions.machines,
            &mut definitions.names,
            &mut set,
            rows,
        );
        gpus.end(rows);
        threads.end(&definitions.names, &mut set, rows);
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
        Ok((faults, counts, definitions.records))
    }
}
