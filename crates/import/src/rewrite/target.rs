//! The trace that is written, as an import of it will see it.
//!
//! # Design
//!
//! Whether a time that is written leads to the one that it has to is decided by the import, by rules of
//! snapshots, machines and files that have no short form. So the packets that are written are placed here
//! by the same functions, and a reading is good if it comes to stand where it has to. To derive from the
//! rules which reading that is was the alternative; it would be a second place that decides times.

use timebase_resolver::{Clock, ClockId, SeqId};
use timebase_trace::wire::packet::Header;

use super::inverse::{Found, inverse};
use crate::frame::{CopiedPacket, Frame};
use crate::output::Rows;
use crate::place::{PartIx, Place, Placement, Snapshot, TraceTime};

/// The trace that is written, up to the packet that is.
pub(crate) struct Target {
    pub frame: Frame,
    /// The same when all of it is written, for what an import tries once more then (rule D2).
    pub whole: Option<Frame>,
    pub trace_time: Clock,
    /// Whether that clock counts nanoseconds.
    is_nanoseconds: bool,
}

impl Target {
    pub fn new(frame: Frame, whole: Option<Frame>, trace_time: Clock) -> Target {
        let unit = whole.as_ref().map(|whole| {
            let clocks = &whole.context.place.clocks;
            clocks.unit(trace_time)
        });
        Target {
            frame,
            whole,
            trace_time,
            is_nanoseconds: unit.is_none_or(|unit| unit == 1),
        }
    }

    /// Whether a clock of a part is the one that times are told on, so that its readings are times.
    #[inline]
    pub fn is_trace_time(&self, part: PartIx, id: ClockId) -> bool {
        let place = &self.frame.context.place;
        self.is_nanoseconds && place.clocks.parts[part].clock(id, SeqId(0)) == self.trace_time
    }

    /// The clock of a packet of a part that names none.
    pub fn default_clock(&self, part: PartIx) -> u32 {
        self.frame.context.place.clocks.parts.default_clock(part)
    }

    /// Whether timestamps of a clock are deltas (rule V5).
    pub fn is_incremental(&self, header: &Header<'_>, part: PartIx, clock: u32) -> bool {
        self.frame
            .context
            .place
            .clocks
            .is_incremental(header, part, clock)
    }

    /// Something of a part is going to be converted.
    #[inline]
    pub fn attempted(&mut self, part: PartIx) {
        self.frame.context.place.clocks.attempted(part);
    }

    /// A packet is written next.
    pub fn enter(
        &mut self,
        header: &Header<'_>,
        snapshot: Option<&Snapshot>,
        rows: &mut Rows<'_>,
    ) -> Option<CopiedPacket> {
        self.frame.enter_copy(header, snapshot, rows)
    }

    /// Where a snapshot stands in the trace that is written (rule RW4): at once, or when all is written.
    pub fn snapshot_time(&mut self, copied: &CopiedPacket) -> Option<TraceTime> {
        let accepted = copied.accepted()?;
        accepted.ts().or_else(|| {
            let clocks = &mut self.whole.as_mut()?.context.place.clocks;
            let (times, _) = clocks.place_readings(&accepted.readings);
            times.first().copied().flatten()
        })
    }

    /// It is written with this header.
    pub fn written(
        &mut self,
        copied: CopiedPacket,
        header: &Header<'_>,
        rows: &mut Rows<'_>,
    ) -> Placement {
        self.frame.time_copy(copied, header, rows)
    }

    /// The reading of a clock, in nanoseconds, that leads to a time or closest to it, near to what was
    /// recorded. `None` if the clock leads nowhere.
    pub fn reading(
        &mut self,
        part: PartIx,
        (id, seq): (ClockId, SeqId),
        recorded: i64,
        ts: TraceTime,
    ) -> Option<Found> {
        let Target { frame, whole, .. } = self;
        let place = &mut frame.context.place;
        let clock = place.clocks.parts[part].clock(id, seq);
        let back = match whole {
            Some(whole) => whole.context.place.clocks.back(ts, clock),
            None => None,
        };
        let mut whole = whole.as_mut().map(|whole| &mut whole.context.place);
        let TraceTime(time) = ts;
        let convert =
            |reading: i64| converted(place, whole.as_deref_mut(), part, (id, seq), reading);
        inverse(convert, [recorded].into_iter().chain(back), time)
    }

    /// Where a reading in nanoseconds leads.
    pub fn leads_to(
        &mut self,
        part: PartIx,
        clock: (ClockId, SeqId),
        reading: i64,
    ) -> Option<TraceTime> {
        let Target { frame, whole, .. } = self;
        let whole = whole.as_mut().map(|whole| &mut whole.context.place);
        let place = &mut frame.context.place;
        converted(place, whole, part, clock, reading).map(TraceTime)
    }
}

/// Where an import of the trace that is written places a reading: at once, or at the end.
fn converted(
    place: &mut Place,
    whole: Option<&mut Place>,
    part: PartIx,
    clock: (ClockId, SeqId),
    reading: i64,
) -> Option<i64> {
    let reading = u64::try_from(reading).ok()?;
    let now = place.clocks.event_clock(part, Some(clock));
    match place.clocks.place_event(&now, reading) {
        Ok(TraceTime(ts)) => Some(ts),
        Err(reason) if place.clocks.may_resolve_later(part, reason) => {
            let whole = whole?;
            let then = whole.clocks.event_clock(part, Some(clock));
            let TraceTime(ts) = whole.clocks.place_event(&then, reading).ok()?;
            Some(ts)
        }
        Err(_) => None,
    }
}
