//! The times of a packet on their way from the trace that is read to the written trace.

use rustc_hash::FxHashMap;
use timebase_resolver::{Clock, ClockId, SeqId, Ticks};
use timebase_schema::tables;

use super::inverse::Found;
use super::tally::{Missed, Tally};
use super::target::Target;
use super::waits::Known;
use crate::place::{EventClock, EventRow, Generation, PartIx, Place, TraceTime, WaitingEvent};
use crate::readers::{Fixed, References, Retime};

/// The times that wait for a snapshot, as far as they are known.
pub(crate) enum Waits {
    /// They are collected for another pass.
    Collected,
    Known(Known),
}

/// The state from packet to packet.
pub(crate) struct Times {
    pub waits: Waits,
    /// Whether packets are written. This ends when something depends on a later packet.
    pub writes: bool,
    /// The number of the next time that waits.
    pub next: i64,
    /// The references for deltas, by sequence.
    references: FxHashMap<u32, (Generation, References)>,
    pub tally: Tally,
    /// Whether times are converted by rates, so that the nearest snapshot may give other times.
    pub has_rates: bool,
    /// The greatest time until now.
    pub latest: Option<TraceTime>,
    /// The reason why the times that waited cannot be read back.
    pub failure: Option<std::io::Error>,
}

impl Times {
    pub fn new(waits: Waits, writes: bool, has_rates: bool) -> Self {
        Times {
            waits,
            writes,
            next: 0,
            references: FxHashMap::default(),
            tally: Tally::default(),
            has_rates,
            latest: None,
            failure: None,
        }
    }

    /// Gives a waiting time the next number, and returns the time if it is known.
    #[cold]
    pub fn waits(&mut self) -> Option<TraceTime> {
        let number = self.next;
        self.next += 1;
        match &mut self.waits {
            Waits::Collected => {
                self.writes = false;
                None
            }
            Waits::Known(known) => match known.get(number) {
                Ok(ts) => ts,
                Err(error) => {
                    self.failure.get_or_insert(error);
                    None
                }
            },
        }
    }

    /// A reading of a clock has its time.
    #[inline]
    pub fn placed(
        &mut self,
        place: &mut Place,
        clock: Clock,
        ticks: Ticks,
        TraceTime(ts): TraceTime,
    ) {
        self.latest = self.latest.max(Some(TraceTime(ts)));
        let nearest = match self.has_rates && clock != place.trace_time() {
            true => place.clocks.nearest(clock, ticks),
            false => None,
        };
        let by = nearest.map_or(0, |TraceTime(nearest)| nearest.abs_diff(ts));
        self.tally.moved(by);
    }
}

/// The times of one packet.
pub(crate) struct Converter<'a> {
    pub source: &'a mut Place,
    pub target: &'a mut Target,
    pub times: &'a mut Times,
    /// The packet's part, in the trace that is read and in the written trace.
    pub parts: (PartIx, PartIx),
}

impl Converter<'_> {
    fn missed(&mut self, fixed: Fixed, off: Option<u64>) {
        self.times.tally.missed(Missed::Inside(fixed), 1, off);
    }
}

impl Retime for Converter<'_> {
    fn clock(&self, clock: Option<(ClockId, SeqId)>) -> EventClock {
        let (part, _) = self.parts;
        self.source.clocks.event_clock(part, clock)
    }

    #[inline]
    fn time(&mut self, clock: &EventClock, timestamp: u64) -> Option<TraceTime> {
        let ts = match self.source.clocks.place_event(clock, timestamp) {
            Ok(ts) => ts,
            Err(reason) => {
                if matches!(self.times.waits, Waits::Collected) {
                    let (_, part) = self.parts;
                    self.target.attempted(part);
                    self.source.waiting.event(&WaitingEvent {
                        row: EventRow {
                            table: &tables::ftrace_record::TABLE,
                            id: self.times.next,
                            mark: 0,
                        },
                        part: clock.part(),
                        clock: clock.clock(),
                        ticks: Ticks::recorded(timestamp),
                        reason,
                        place: None,
                        event: &[],
                    });
                }
                self.times.waits()?
            }
        };
        if let (Some(clock), Some(ticks)) = (clock.clock(), Ticks::recorded(timestamp)) {
            self.times.placed(self.source, clock, ticks, ts);
        }
        Some(ts)
    }

    fn time_now(&mut self, clock: &EventClock, timestamp: u64) -> Option<TraceTime> {
        self.source.clocks.place_event(clock, timestamp).ok()
    }

    #[inline]
    fn reading(&mut self, fixed: Fixed, clock: ClockId, recorded: u64, ts: TraceTime) -> u64 {
        let (_, part) = self.parts;
        if !self.times.writes {
            self.target.attempted(part);
            return recorded;
        }
        if self.target.is_trace_time(part, clock)
            && let Ok(reading) = u64::try_from(ts.0)
        {
            self.target.attempted(part);
            return reading;
        }
        let near = i64::try_from(recorded).unwrap_or(ts.0);
        let clock = (clock, SeqId(0));
        // With the nearest snapshots, a reading that is right now is right at the end, because the snapshots
        // are the source's.
        let found = match fixed {
            Fixed::HeapDumps if self.times.has_rates => {
                self.target.reading_at_end(part, clock, near, ts)
            }
            _ => self.target.reading(part, clock, near, ts),
        };
        match found.map(|found| (u64::try_from(found.reading), found.off)) {
            Some((Ok(reading), 0)) => reading,
            Some((Ok(reading), off)) => {
                self.missed(fixed, Some(off));
                reading
            }
            _ => {
                self.missed(fixed, None);
                recorded
            }
        }
    }

    fn coarse(
        &mut self,
        fixed: Fixed,
        clock: ClockId,
        unit: u64,
        recorded: u64,
        ts: TraceTime,
    ) -> u64 {
        let (_, part) = self.parts;
        if !self.times.writes {
            self.target.attempted(part);
            return recorded;
        }
        let ns = |reading: u64| i64::try_from(reading.saturating_mul(unit)).ok();
        let off = |target: &mut Target, reading: u64| {
            let led = target.leads_to(part, (clock, SeqId(0)), ns(reading)?)?;
            Some(led.0.abs_diff(ts.0))
        };
        let is_near = |off: &Option<u64>| off.is_some_and(|off| off <= unit / 2);
        let of_recorded = off(self.target, recorded);
        let (reading, off) = match is_near(&of_recorded) {
            true => (recorded, of_recorded),
            false => {
                let near = ns(recorded).unwrap_or(ts.0);
                let found = self.target.reading(part, (clock, SeqId(0)), near, ts);
                let reading = found.and_then(|Found { reading, .. }| u64::try_from(reading).ok());
                let rounded = reading.map(|reading| reading.saturating_add(unit / 2) / unit.max(1));
                match rounded {
                    Some(rounded) => (rounded, off(self.target, rounded)),
                    None => (recorded, None),
                }
            }
        };
        if off != Some(0) {
            self.missed(fixed, off);
        }
        reading
    }

    fn unplaced(&mut self, fixed: Fixed, clock: (ClockId, SeqId), recorded: u64) {
        let (_, part) = self.parts;
        let Ok(recorded) = i64::try_from(recorded) else {
            return;
        };
        if self.times.writes && self.target.leads_to(part, clock, recorded).is_some() {
            self.missed(fixed, None);
        }
    }

    fn off(&mut self, fixed: Fixed, off: Option<u64>) {
        if self.times.writes {
            self.missed(fixed, off);
        }
    }

    fn leads_to(&mut self, clock: ClockId, reading: u64) -> Option<TraceTime> {
        let (_, part) = self.parts;
        let reading = i64::try_from(reading).ok()?;
        self.target.leads_to(part, (clock, SeqId(0)), reading)
    }

    fn references(&mut self, generation: Generation) -> &mut References {
        let sequence = generation.interval.sequence;
        let kept = self.times.references.entry(sequence);
        let (of, references) = kept.or_insert((generation, References::default()));
        if *of != generation {
            (*of, *references) = (generation, References::default());
        }
        references
    }
}
