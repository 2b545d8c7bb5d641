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
use crate::place::{PartIx, Placement, Snapshot, TraceTime};

/// The trace that is written, up to the packet that is.
pub(crate) struct Target {
    pub frame: Frame,
    /// The same when all of it is written, for what an import tries once more then (rule D2).
    pub whole: Option<Frame>,
    pub trace_time: Clock,
    /// Whether a reading of that clock is a time in the trace that is written: it counts nanoseconds, and an
    /// import tells times on it.
    is_direct: bool,
    /// Whether something was needed of all that is written, before it is.
    pub lacks_whole: bool,
}

impl Target {
    pub fn new(frame: Frame, whole: Option<Frame>, trace_time: Clock) -> Target {
        // What is not known is checked at the end.
        let is_direct = whole.as_ref().is_none_or(|whole| {
            let place = &whole.context.place;
            place.clocks.unit(trace_time) == 1 && place.trace_time() == trace_time
        });
        Target {
            frame,
            whole,
            trace_time,
            is_direct,
            lacks_whole: false,
        }
    }

    /// When all is written, and nothing was known of that before: whether times are what they were taken for.
    pub fn is_as_assumed(&self) -> bool {
        let place = &self.frame.context.place;
        !self.lacks_whole
            && place.clocks.unit(self.trace_time) == 1
            && place.trace_time() == self.trace_time
    }

    /// Whether a clock of a part is the one that times are told on, so that its readings are times.
    #[inline]
    pub fn is_trace_time(&self, part: PartIx, id: ClockId) -> bool {
        let place = &self.frame.context.place;
        self.is_direct && place.clocks.parts[part].clock(id, SeqId(0)) == self.trace_time
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
        if let Some(ts) = accepted.ts() {
            return Some(ts);
        }
        self.lacks_whole |= self.whole.is_none();
        let clocks = &mut self.whole.as_mut()?.context.place.clocks;
        let (times, _) = clocks.place_readings(&accepted.readings);
        times.first().copied().flatten()
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
        let TraceTime(time) = ts;
        let convert = |target: &mut Target, reading| {
            let led = target.leads_to(part, (id, seq), reading);
            led.map(|TraceTime(ts)| ts)
        };
        let clocks = &mut self.frame.context.place.clocks;
        let clock = clocks.parts[part].clock(id, seq);
        let begins = [Some(recorded), clocks.back(ts, clock)];
        let found = inverse(
            |reading| convert(self, reading),
            begins.into_iter().flatten(),
            time,
        );
        if found.is_some_and(|found| found.off == 0) {
            return found;
        }
        self.lacks_whole |= self.whole.is_none();
        let whole = self.whole.as_mut()?;
        let then = whole.context.place.clocks.back(ts, clock);
        let begins = begins.into_iter().chain([then]).flatten();
        inverse(|reading| convert(self, reading), begins, time)
    }

    /// The same of a reading that an import converts when all of the trace is read.
    pub fn reading_at_end(
        &mut self,
        part: PartIx,
        clock: (ClockId, SeqId),
        recorded: i64,
        TraceTime(time): TraceTime,
    ) -> Option<Found> {
        self.lacks_whole |= self.whole.is_none();
        let clocks = &mut self.whole.as_mut()?.context.place.clocks;
        let clock = clocks.event_clock(part, Some(clock));
        let convert = |reading| {
            let placed = clocks.place_event(&clock, u64::try_from(reading).ok()?);
            placed.ok().map(|TraceTime(ts)| ts)
        };
        inverse(convert, [recorded], time)
    }

    /// Where an import of the trace that is written places a reading in nanoseconds: at once, or at the end.
    pub fn leads_to(
        &mut self,
        part: PartIx,
        clock: (ClockId, SeqId),
        reading: i64,
    ) -> Option<TraceTime> {
        let reading = u64::try_from(reading).ok()?;
        let clocks = &mut self.frame.context.place.clocks;
        let now = clocks.event_clock(part, Some(clock));
        match clocks.place_event(&now, reading) {
            Ok(ts) => Some(ts),
            Err(reason) if clocks.may_resolve_later(part, reason) => {
                self.lacks_whole |= self.whole.is_none();
                let clocks = &mut self.whole.as_mut()?.context.place.clocks;
                let then = clocks.event_clock(part, Some(clock));
                clocks.place_event(&then, reading).ok()
            }
            Err(_) => None,
        }
    }
}
