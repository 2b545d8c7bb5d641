//! The things that all events of a trace refer to: machines, processes, threads, tracks,
//! slices, values, texts and arguments. Trackers change them, in the order of time.
//!
//! # Design
//!
//! All trackers share one world: a scheduler's switch and a line of the log name the
//! same thread, and the first of them creates it. The alternative was that each subject has its
//! own tables, which are joined at the end. But the thread of a tid depends on all
//! earlier events, from any tracker.
//!
//! Processes, threads and tracks are in memory to the end, because a later event may
//! name or bind them; they are few compared with events. Slices, values and states are
//! many, and become rows as soon as they are complete. Texts and sets of arguments
//! are remembered in bounded memory, so a text or a set may have several rows.
//!
//! | question | where it is decided |
//! |---|---|
//! | which thread has a tid, and which process has a pid (rules P) | `threads.rs` |
//! | which thread an event of a JSON trace means (rules JS14 to JS16) | `json_threads.rs` |
//! | which thread a writer in a pid namespace means (rule J11) | `outside.rs` |
//! | which thread or process owns the uuid of a track (rules U3, U4) | `uuids.rs` |
//! | which tracks exist | `tracks.rs` |
//! | which of several lanes a slice is on (rules B6, GP3) | `lanes.rs` |
//! | the state of one part (rule X42) | `parts.rs` |
//! | which slice is inside which (rules B4, B5, E9 to E13) | `slices.rs`, with the begins and ends of slices (`slice.rs`) and the slices that are not rows yet (`open_slices.rs`) |
//! | which numbers slices of one time have (rule RT12) | `slice_order.rs` |
//! | which ends belong to other slices than the ones that they end (rule DT9) | `misplaced.rs` |
//! | flows from slice to slice (rules G) | `flows.rs` |
//! | flows of the GPUs' render stages (rule GP9) | `stage_flows.rs` |
//! | texts by their numbers | `strings.rs` |
//! | how sets of arguments are kept (rules A2, A3, H6) | `args.rs` |
//! | values of counters (rules M1, M4) | `values.rs`, with those of threads' processes (`thread_counters.rs`) |
//! | how far the times of events are from each other (rule FE6) | `groups.rs` |
//! | which dumps of Java heaps there are (rules HG10, RT9) | `java_heaps.rs` |
//! | machines and CPUs (rules H1 to H3) | `machines.rs` |
//! | GPUs (rule H4) | `gpus.rs` |

mod args;
mod flows;
mod gpus;
mod groups;
mod java_heaps;
mod json_threads;
mod lanes;
mod machines;
mod misplaced;
mod named_flows;
mod numbered;
mod open_slices;
mod outside;
mod parts;
mod slice;
mod slice_order;
mod slices;
mod stage_flows;
pub(crate) mod strings;
mod thread_counters;
mod threads;
mod tracks;
mod uuids;
mod values;

use std::collections::BTreeMap;
use std::io;

use timebase_schema::{Table, tables};
use timebase_store::sort::Scratch;
use timebase_trace::Interned;

pub(crate) use args::{ArgRows, ArgSets};
pub(crate) use flows::{FlowEvent, FlowId, Flows, Step};
pub(crate) use gpus::{GpuInfo, Gpus};
pub(crate) use groups::{Groups, TimeOf};
pub(crate) use java_heaps::JavaHeaps;
use json_threads::JsonOwners;
pub(crate) use lanes::{Begins, Lanes, SetId};
pub(crate) use machines::{CPUS, Cpus, rows as machine_rows, ucpu};
pub(crate) use numbered::Numbered;
pub(crate) use outside::ThreadNumbers;
pub(crate) use parts::{PartWorld, PartWorlds};
pub(crate) use slice::{EndOfSlice, MadeSlice, NewSlice, SliceId, Spent};
pub(crate) use slice_order::stream;
pub(crate) use slices::Slices;
pub(crate) use stage_flows::StageStep;
pub(crate) use strings::Strings;
pub(crate) use thread_counters::ThreadCounter;
pub(crate) use threads::{Rank, Threads, Upid, Utid};
pub(crate) use tracks::{Details, Dimension, NewTrack, Owner, TrackId, Tracks};
pub(crate) use uuids::UuidStates;
use values::Values;
pub(crate) use values::{Measurement, ThreadValue};

use crate::definitions::{Definitions, Names, Namespaces, Records, Uuids};
use crate::output::{Cell, Counts, Doubt, Faults, Rows};
use crate::place::{PartKey, PartKeys};
use crate::timeline::OwnLabel;

/// All things that events refer to.
pub(crate) struct World {
    pub definitions: Definitions,
    /// The meaning of interned numbers.
    pub interned: Interned,
    pub threads: Threads,
    json_owners: JsonOwners,
    /// The numbers in pid namespaces that were stated so far.
    pub namespaces: Namespaces,
    pub uuids: UuidStates,
    pub cpus: Cpus,
    pub gpus: Gpus,
    pub tracks: Tracks,
    pub lanes: Lanes,
    slices: Slices,
    pub strings: Strings,
    pub args: ArgSets,
    /// Contradictions in the trace.
    pub faults: Faults,
    /// Counts for files and machines.
    pub counts: Counts,
    pub flows: Flows,
    values: Values,
    pub java_heaps: JavaHeaps,
    /// The reason why slices and states that begin with the current event may be wrong (rule FE9).
    pub doubt: Option<Doubt>,
    /// The times of all slices, values and runs.
    pub groups: Groups,
    /// The current part.
    pub part: PartKey,
    /// The number of states of tracks that have begun.
    pub states: i64,
    /// The place for data that does not fit into memory.
    pub scratch: Scratch,
    /// The first and the last time of each table's rows, by the table's number.
    spans: BTreeMap<usize, (i64, i64)>,
}

impl World {
    /// Starts a world without events. Data that does not fit into memory goes to `scratch`.
    pub fn new(
        mut definitions: Definitions,
        interned: Interned,
        scratch: &Scratch,
        rows: &mut Rows<'_>,
    ) -> Self {
        definitions.end_names.are_translated = !definitions.translation_room.is_empty();
        World {
            threads: Threads::new(definitions.machines.iter().map(|machine| !machine.is_of_json)),
            json_owners: JsonOwners::default(),
            namespaces: Namespaces::default(),
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
            java_heaps: JavaHeaps::default(),
            scratch: scratch.clone(),
            doubt: None,
            groups: Groups::new(rows),
            part: PartKey::default(),
            states: 0,
            spans: BTreeMap::new(),
            definitions,
            interned,
        }
    }

    /// The number of a set of arguments; an empty set has none.
    pub fn arg_set(&mut self, args: &[u8], rows: &mut Rows<'_>) -> Option<i64> {
        self.args.number(args, &self.definitions.names, rows)
    }

    /// The number of a label in the table `string`; an empty label has none.
    pub fn text(&mut self, label: &OwnLabel, rows: &mut Rows<'_>) -> Option<i64> {
        let strings = &mut self.strings;
        match label {
            OwnLabel::None => None,
            OwnLabel::Known(name) => Some(strings.of_name(*name, &self.definitions.names, rows)),
            OwnLabel::Own(text) => Some(strings.number(text, rows)),
        }
    }

    /// A row of a table starts at `ts` and lasts `dur`, which is −1 without an end.
    #[inline]
    pub fn spans(&mut self, table: &Table, ts: i64, dur: i64) {
        let end = ts.saturating_add(dur.max(0));
        let (first, last) = self.spans.entry(table.number).or_insert((ts, end));
        *first = (*first).min(ts);
        *last = (*last).max(end);
    }

    /// Ends the trace: everything that is still in memory becomes rows. Returns the contradictions
    /// in the trace, the counts for files and machines, and what the recording says of itself.
    ///
    /// # Errors
    ///
    /// If a temporary file cannot be written or read.
    pub fn end(
        mut self,
        keys: &PartKeys,
        mut parts: PartWorlds,
        rows: &mut Rows<'_>,
    ) -> io::Result<(Faults, Counts, Records)> {
        self.end_slices(rows);
        // Only events need these. They are freed before the rest becomes rows.
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
            groups,
            spans,
            mut faults,
            counts,
            flows,
            java_heaps,
            ..
        } = self;
        groups.end(rows);
        flows.end(&mut faults, rows)?;
        values.end(&threads, &mut tracks, &mut parts, rows)?;
        let mut set =
            |set: &[u8], names: &Names, rows: &mut Rows<'_>| args.number(set, names, rows);
        tracks.end(keys, &mut cpus, &gpus, &mut definitions.names, &mut set, rows);
        cpus.end(&definitions.machines, &mut definitions.names, &mut set, rows);
        gpus.end(rows);
        java_heaps.end(rows);
        threads.end(&definitions.names, &mut set, rows);
        let wanted = tables::ALL.iter().filter(|table| rows.wants(table));
        let known: Vec<_> =
            wanted.filter_map(|table| Some((table.name, spans.get(&table.number)?))).collect();
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
