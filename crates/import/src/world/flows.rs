//! Flows from slice to slice (rules G).
//!
//! # Design
//!
//! The steps of slices in flows are put aside, sorted by flow, and turned into links after the
//! whole trace was read. So memory does not grow with flows that nothing terminates. It was simpler
//! to remember the current slice of each flow, but that took 40 bytes for each flow to the end of
//! the trace.
//!
//! Links follow the order of time (rule G4). So a flow that was received before it was sent has no
//! link: its end has no begin, and its begin has no end. Such flows get rows of their own, because
//! they show that two clocks disagree (rule G7). A flow that ends or begins a second time gets no
//! such row: its number is used again, and its missing begin or end is not in the trace.

use std::io;

use rustc_hash::FxHashMap;
use timebase_schema::tables::{flow, flow_backwards};
use timebase_store::sort::{Scratch, Sorter};

use super::named_flows::{FlowName, NamedFlows};
use super::slice::{MadeSlice, SliceId};
use super::stage_flows::{StageFlows, StageStep};
use super::tracks::TrackId;
use crate::compact::{Put, Take, cut};
use crate::output::{Cell, Counter, Fault, Faults, Rows};
use crate::place::PartIx;

/// A step of a slice in a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Makes a link from the current slice, if there is one, and becomes current (rule G2).
    Goes,
    /// Makes a link from the current slice, if there is one. Then no slice is current (rule G3).
    Terminates,
    /// Begins the flow (rule G5).
    Out,
    /// Makes a link, and becomes current.
    InOut,
    /// Makes a link.
    In,
}

impl Step {
    const ALL: [Step; 5] = [Step::Goes, Step::Terminates, Step::Out, Step::InOut, Step::In];
}

/// The number of a flow. Flows of legacy events have their own numbers (rule G6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FlowId {
    Event(u64),
    Legacy(u64),
    /// A `bind_id` of a JSON trace that is a number (rule JS24).
    Json(u64),
    /// Another flow of a JSON trace, which gets its number later.
    Named(FlowName),
}

/// Smaller numbers of flows belong to a part, because writers count from 1. From this number on, writers
/// take 64 random bits, so the flow may go to another part or another machine (rule X43).
const SHARED: u64 = 1 << 32;

/// The number of the space of a part in which numbers of flows are unique.
fn space(PartIx(part): PartIx, kind: u64) -> u64 {
    u64::from(part) << 2 | kind
}

/// The spaces of a part.
const EVENT: u64 = 0;
const NAMED: u64 = 1;
const BIND: u64 = 2;
const BIND_TEXT: u64 = 3;

/// A step of a flow, without its slice.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FlowEvent {
    pub flow: FlowId,
    pub step: Step,
    pub packet: i64,
    pub arg_set_id: Option<i64>,
}

mod fault {
    use super::{Counter, Fault};

    pub const DUPLICATE: Fault = Fault::new(
        Counter::info("flow_duplicate_id", "the second begin of a flow is left out")
            .drops_nothing(),
    );
    pub const STEP: Fault = Fault::new(
        Counter::info("flow_step_without_start", "a step of a flow that has not begun is left out")
            .drops_nothing(),
    );
    pub const END: Fault = Fault::new(
        Counter::info("flow_end_without_start", "the end of a flow that has not begun is left out")
            .drops_nothing(),
    );
}

/// All flows.
pub(crate) struct Flows {
    scratch: Scratch,
    steps: Option<Sorter<(i64, u64)>>,
    /// Links that are known already, in their order.
    links: Option<Sorter<(i64, u64)>>,
    stages: StageFlows,
    named: NamedFlows,
    failure: Option<io::Error>,
    order: u64,
    /// The steps that wait for the next slice of a track.
    waiting: FxHashMap<TrackId, Vec<FlowEvent>>,
    /// The current part.
    pub(super) part: PartIx,
    record: Vec<u8>,
}

/// A slice that a flow comes from.
#[derive(Debug, Clone, Copy)]
struct End {
    slice: i64,
    ts: i64,
    packet: i64,
}

/// The ends of a flow, which show whether it runs backwards (rule G7).
#[derive(Debug, Default)]
struct Ends {
    /// The first end that had no begin.
    without_begin: Option<End>,
    /// Whether there was any other end.
    is_ended: bool,
}

impl Ends {
    /// Adds an end without an earlier begin.
    fn unbegun(&mut self, end: End) {
        match self.without_begin {
            None if !self.is_ended => self.without_begin = Some(end),
            _ => self.is_ended = true,
        }
    }

    /// Writes the row of the flow, if it runs backwards, after all its steps were read. `current`
    /// is the begin that did not end.
    fn row(&self, trace_id: i64, current: Option<End>, rows: &mut Rows<'_>) {
        let (Some(end), Some(begin), false) = (self.without_begin, current, self.is_ended) else {
            return;
        };
        let id = rows.count(&flow_backwards::TABLE);
        rows.push(flow_backwards::Row {
            id: Cell::from(id),
            slice_out: Cell::from(begin.slice),
            slice_in: Cell::from(end.slice),
            trace_id: Cell::from(trace_id),
            packet_out: Cell::from(begin.packet),
            packet_in: Cell::from(end.packet),
        });
    }
}

impl Flows {
    /// Starts without flows. Steps and links that do not fit into memory go to `scratch`.
    pub fn new(scratch: &Scratch) -> Self {
        Flows {
            scratch: scratch.clone(),
            steps: None,
            links: None,
            stages: StageFlows::new(scratch),
            named: NamedFlows::new(scratch),
            failure: None,
            order: 0,
            waiting: FxHashMap::default(),
            part: PartIx::default(),
            record: Vec::new(),
        }
    }

    /// Adds a step of a slice in a flow.
    pub fn step(&mut self, event: FlowEvent, slice: MadeSlice) {
        let MadeSlice { id: SliceId(id), ts } = slice;
        self.record.clear();
        Put(&mut self.record)
            .natural(event.step as u64)
            .natural(self.order)
            .integer(id)
            .integer(ts)
            .integer(event.packet)
            .optional(event.arg_set_id);
        let part = self.part;
        let key = match event.flow {
            FlowId::Event(id) if id >= SHARED => (id as i64, EVENT),
            FlowId::Event(id) => (id as i64, space(part, EVENT)),
            FlowId::Legacy(id) => (id as i64, space(part, NAMED)),
            FlowId::Json(id) => (id as i64, space(part, BIND)),
            FlowId::Named(name) => return self.named(name, true),
        };
        self.order += 1;
        let scratch = &self.scratch;
        let steps = self.steps.get_or_insert_with(|| Sorter::new(scratch));
        if self.failure.is_none() {
            self.failure = steps.push(key, &self.record).err();
        }
    }

    /// Adds an event of a named flow; the record has its step, if it has one.
    fn named(&mut self, name: FlowName, has_step: bool) {
        let step = if has_step { &self.record[..] } else { &[] };
        if self.failure.is_none() {
            self.failure = self.named.add(name, self.order, step).err();
        }
        self.order += 1;
    }

    /// The flow of an id of the current part, among those of a kind. Numbers and texts are different ids.
    pub fn name(&self, kind: u32, id: Result<u64, &str>) -> FlowId {
        let space = space(self.part, NAMED);
        FlowId::Named(match id {
            Ok(id) => FlowName::number(space, self.part.0, kind, id),
            Err(id) => FlowName::text(space, self.part.0, kind, id),
        })
    }

    /// The flow of a `bind_id` of the current part.
    pub fn bind(&self, id: Result<u64, &str>) -> FlowId {
        match id {
            Ok(id) => FlowId::Json(id),
            Err(id) => {
                FlowId::Named(FlowName::text(space(self.part, BIND_TEXT), self.part.0, 0, id))
            }
        }
    }

    /// An event of a flow has no step, or a later one. If it is the first, the flow gets its number here.
    pub fn mention(&mut self, flow: FlowId) {
        if let FlowId::Named(name) = flow {
            self.named(name, false);
        }
    }

    /// Adds a link between slices that belongs to no numbered flow.
    pub fn link(&mut self, SliceId(from): SliceId, SliceId(to): SliceId) {
        self.record.clear();
        put_link(&mut self.record, from, to, None, None);
        let scratch = &self.scratch;
        let links = self.links.get_or_insert_with(|| Sorter::new(scratch));
        if self.failure.is_none() {
            self.failure = links.push((self.order as i64, 0), &self.record).err();
        }
        self.order += 1;
    }

    /// Adds a slice that names the id of render stages, which is the part's (rules GP9, X42).
    pub fn stage(&mut self, event_id: u64, step: StageStep, slice: SliceId) {
        if self.failure.is_none() {
            let id = (self.part.0, event_id);
            self.failure = self.stages.step(id, step, slice, self.order).err();
        }
        self.order += 1;
    }

    /// Adds a step that belongs to the next slice on a track.
    pub fn waits(&mut self, track: TrackId, event: FlowEvent) {
        self.mention(event.flow);
        self.waiting.entry(track).or_default().push(event);
    }

    /// A slice was made on a track: adds the steps that waited for it.
    #[inline]
    pub(super) fn slice_made(&mut self, track: TrackId, slice: MadeSlice) {
        if !self.waiting.is_empty() {
            for event in self.waiting.remove(&track).unwrap_or_default() {
                self.step(event, slice);
            }
        }
    }

    /// Links become rows, in the order in which they were made.
    pub fn end(self, faults: &mut Faults, rows: &mut Rows<'_>) -> io::Result<()> {
        if let Some(error) = self.failure {
            return Err(error);
        }
        let is_empty = self.stages.is_empty() && self.named.is_empty();
        if self.steps.is_none() && self.links.is_none() && is_empty {
            return Ok(());
        }
        let scratch = &self.scratch;
        let mut steps = self.steps.unwrap_or_else(|| Sorter::new(scratch));
        self.named.steps(|number, step| steps.push(number, step))?;
        let mut links = self.links.unwrap_or_else(|| Sorter::new(scratch));
        let mut record = Vec::new();
        self.stages.links(faults, |(order, from, to)| {
            record.clear();
            put_link(&mut record, from, to, None, None);
            links.push((order as i64, 0), &record)
        })?;
        let mut last = None;
        let mut current: Option<End> = None;
        let mut ends = Ends::default();
        steps.finish(|&key, step| {
            if last != Some(key) {
                if let Some((trace_id, _)) = last.replace(key) {
                    ends.row(trace_id, current, rows);
                }
                (current, ends) = (None, Ends::default());
            }
            let mut take = Take(step);
            let number = usize::try_from(take.natural()?).map_err(|_| cut())?;
            let step = *Step::ALL.get(number).ok_or_else(cut)?;
            let order = take.natural()?;
            let here = End { slice: take.integer()?, ts: take.integer()?, packet: take.integer()? };
            let packet = here.packet;
            match (step, current) {
                (Step::Out, Some(_)) => faults.add(fault::DUPLICATE, packet),
                (Step::InOut, None) => faults.add(fault::STEP, packet),
                (Step::In, None) => {
                    faults.add(fault::END, packet);
                    ends.unbegun(here);
                }
                (Step::Out | Step::Goes, None) => current = Some(here),
                (Step::Terminates, None) => ends.unbegun(here),
                (step, Some(from)) => {
                    let (out, into) = match here.ts < from.ts {
                        true => (here, from),
                        false => (from, here),
                    };
                    record.clear();
                    let args = take.optional()?;
                    put_link(&mut record, out.slice, into.slice, Some(key.0), args);
                    links.push((order as i64, 0), &record)?;
                    ends.is_ended |= matches!(step, Step::Terminates | Step::In);
                    current = match step {
                        Step::Terminates => None,
                        Step::In => Some(from),
                        Step::Goes | Step::Out | Step::InOut => Some(here),
                    };
                }
            }
            io::Result::Ok(())
        })?;
        if let Some((trace_id, _)) = last {
            ends.row(trace_id, current, rows);
        }
        links.finish(|_, link| {
            let mut take = Take(link);
            let id = rows.count(&flow::TABLE);
            rows.push(flow::Row {
                id: Cell::from(id),
                slice_out: Cell::from(take.integer()?),
                slice_in: Cell::from(take.integer()?),
                trace_id: Cell::or_null(take.optional()?),
                arg_set_id: Cell::or_null(take.optional()?),
            });
            Ok(())
        })
    }
}

/// Appends a link to `record`.
fn put_link(
    record: &mut Vec<u8>,
    from: i64,
    to: i64,
    trace_id: Option<i64>,
    arg_set_id: Option<i64>,
) {
    Put(record).integer(from).integer(to).optional(trace_id).optional(arg_set_id);
}
