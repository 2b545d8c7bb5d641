//! The written trace, as an import of it will see it.
//!
//! # Design
//!
//! The import decides whether a written time leads to the right time, by rules of snapshots, machines and
//! files that have no short form. So the written packets are placed here by the same functions, and a reading
//! is good if its place is the right time. The alternative was to derive the right reading from the rules;
//! but then times would be decided in two places.

use timebase_resolver::{Clock, ClockId, SeqId};
use timebase_trace::wire::packet::Header;

use super::inverse::{Found, inverse};
use super::several::Several;
use crate::files::File;
use crate::frame::{CopiedPacket, Frame};
use crate::output::Rows;
use crate::place::{PartIx, Placement, Snapshot, TraceTime};

/// The written trace, up to the current packet.
pub(crate) struct Target {
    pub frame: Frame,
    /// The same trace after all of it is written, for the second attempt of an import (rule D2).
    pub whole: Option<Frame>,
    pub trace_time: Clock,
    /// Whether a reading of that clock is a time in the written trace: the clock counts nanoseconds, and is
    /// the trace time of an import.
    is_direct: bool,
    /// Whether something depended on the whole written trace before it was known.
    pub lacks_whole: bool,
}

impl Target {
    pub fn new(frame: Frame, whole: Option<Frame>, trace_time: Clock) -> Target {
        // If this is not known yet, it is checked at the end.
        let is_direct = whole.as_ref().is_none_or(|whole| {
            let place = &whole.context.place;
            place.clocks.unit(trace_time) == 1 && place.trace_time() == trace_time
        });
        Target { frame, whole, trace_time, is_direct, lacks_whole: false }
    }

    /// After the whole trace is written: whether the assumptions about its times hold.
    pub fn is_as_assumed(&self) -> bool {
        let place = &self.frame.context.place;
        !self.lacks_whole
            && place.clocks.unit(self.trace_time) == 1
            && place.trace_time() == self.trace_time
    }

    /// Whether a clock of a part is trace time, so that its readings are times.
    #[inline]
    pub fn is_trace_time(&self, part: PartIx, id: ClockId) -> bool {
        let place = &self.frame.context.place;
        self.is_direct && place.clocks.parts[part].clock(id, SeqId(0)) == self.trace_time
    }

    /// The clock of a packet that names no clock, in this part.
    pub fn default_clock(&self, part: PartIx) -> u32 {
        self.frame.context.place.clocks.parts.default_clock(part)
    }

    /// Whether timestamps of a clock are deltas (rule V5).
    pub fn is_incremental(&self, header: &Header<'_>, part: PartIx, clock: u32) -> bool {
        self.frame.context.place.clocks.is_incremental(header, part, clock)
    }

    /// A time of a part is about to be converted.
    #[inline]
    pub fn attempted(&mut self, part: PartIx) {
        self.frame.context.place.clocks.attempted(part);
    }

    /// A file that was in JSON. Its packets state no clocks, so one of them stands for all.
    pub fn enter_converted(&mut self, file: &File, several: &Several, rows: &mut Rows<'_>) {
        self.frame.begin_file(file.tag, false, several.rules(file), rows);
        let header =
            Header { timestamp: Some(0), timestamp_clock_id: several.clock, ..Header::default() };
        if let Some(copied) = self.enter(&header, None, rows) {
            self.written(copied, &header, rows);
        }
    }

    /// The next packet is about to be written.
    pub fn enter(
        &mut self,
        header: &Header<'_>,
        snapshot: Option<&Snapshot>,
        rows: &mut Rows<'_>,
    ) -> Option<CopiedPacket> {
        self.frame.enter_copy(header, snapshot, rows)
    }

    /// The time of a snapshot in the written trace (rule RW4): at once, or after all is written.
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

    /// The packet is written with this header.
    pub fn written(
        &mut self,
        copied: CopiedPacket,
        header: &Header<'_>,
        rows: &mut Rows<'_>,
    ) -> Placement {
        self.frame.time_copy(copied, header, rows)
    }

    /// The reading of a clock, in nanoseconds, that leads to a time or closest to it, near the recorded
    /// reading. `None` if the clock does not lead to trace time.
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
        let found = inverse(|reading| convert(self, reading), begins.into_iter().flatten(), time);
        if found.is_some_and(|found| found.off == 0) {
            return found;
        }
        self.lacks_whole |= self.whole.is_none();
        let whole = self.whole.as_mut()?;
        let then = whole.context.place.clocks.back(ts, clock);
        let begins = begins.into_iter().chain([then]).flatten();
        inverse(|reading| convert(self, reading), begins, time)
    }

    /// The same for a reading that an import converts after the whole trace is read.
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

    /// The time that an import of the written trace gives a reading in nanoseconds: at once, or at the end.
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
