//! The clocks that are aligned: one for the parts of a machine whose BOOTTIME is one clock, one for each file in JSON.

use timebase_resolver::{Clock, ClockId, ClockNs, EstimateCache, Estimates, SeqId, Source, Ticks};

use crate::evidence::{FlowMoment, Located};
use crate::output::Placed;
use crate::place::{PartIx, Parts};

/// The clocks, by their numbers. That of trace time has number 0.
pub(super) struct AlignedClocks<'e> {
    estimates: &'e Estimates,
    cache: EstimateCache,
    pub all: Vec<Clock>,
    /// The number of each part's clock.
    of_part: Vec<usize>,
    /// Whether all readings until now are whole microseconds.
    counts_micros: Vec<bool>,
}

/// The relation of two clocks without causality.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    Nothing,
    /// The relation rests on an assumption: that wall clocks agree, or else BOOTTIMEs.
    Assumed {
        by_wall_clocks: bool,
    },
    Measured,
    /// Only the producers of files in JSON say it, with an error that nobody knows.
    Stated,
}

impl Known {
    /// Whether it stays, whatever messages say (rule AL18).
    pub fn stays(self) -> bool {
        matches!(self, Known::Measured | Known::Stated)
    }
}

impl<'e> AlignedClocks<'e> {
    pub fn new(
        estimates: &'e Estimates,
        parts: &Parts,
        placed: &[Placed],
        trace_time: Clock,
    ) -> Self {
        let clocks: Vec<Clock> = parts
            .iter()
            .map(|part| {
                let id = match part.is_pinned {
                    true => ClockId::TRACE_FILE,
                    false => ClockId::BOOTTIME,
                };
                let own = part.clock(id, SeqId(0));
                let key = (part.file.id, part.machine.0);
                let is_other_boot = placed.iter().any(|placed| {
                    (placed.file, placed.machine) == key && placed.boots_differ.is_some()
                });
                match part.is_pinned || is_other_boot {
                    true => own,
                    false => part.shared(id),
                }
            })
            .collect();
        let is_first = |clock: &Clock| {
            *clock == trace_time
                || clock.machine == trace_time.machine && clock.file == trace_time.file
        };
        let order = |clock: &Clock| (!is_first(clock), clock.machine, clock.file.order);
        let mut all = clocks.clone();
        all.sort_unstable_by_key(order);
        all.dedup();
        let of_part =
            clocks.iter().filter_map(|clock| all.binary_search_by_key(&order(clock), order).ok());
        let of_part = of_part.collect();
        AlignedClocks {
            estimates,
            cache: EstimateCache::new(),
            of_part,
            counts_micros: vec![true; all.len()],
            all,
        }
    }

    /// The number of a part's clock.
    pub fn of(&self, PartIx(part): PartIx) -> Option<usize> {
        self.of_part.get(part as usize).copied()
    }

    /// A reading of a part's packet, on the part's clock, in nanoseconds.
    pub fn read(&mut self, part: PartIx, clock: Clock, ticks: Ticks) -> Option<(usize, i64)> {
        let number = self.of(part)?;
        let to = *self.all.get(number)?;
        let unit = self.estimates.graph().unit(clock).map_or(1, |unit| unit.ns);
        let cache = &mut self.cache;
        let at = match clock == to {
            true => ticks.in_units_of(unit),
            false => self.estimates.convert_ticks(clock, ticks, unit, to, cache).ok(),
        };
        let ClockNs(at) = at?;
        if let Some(counts_micros) = self.counts_micros.get_mut(number) {
            *counts_micros &= at % 1000 == 0;
        }
        Some((number, at))
    }

    /// An event of a flow, on the clock of its part.
    pub fn locate(&mut self, moment: &FlowMoment) -> Option<Located> {
        let (clock, at) = self.read(moment.part, moment.clock, moment.ticks)?;
        Some(Located { clock, at, role: moment.role, packet: moment.packet })
    }

    /// The nanoseconds in the unit that a clock counts.
    pub fn unit(&self, number: usize) -> u32 {
        match self.counts_micros.get(number) {
            Some(true) => 1000,
            _ => 1,
        }
    }

    /// The relation of two clocks.
    pub fn known(&mut self, a: usize, b: usize) -> Known {
        let (Some(&a), Some(&b)) = (self.all.get(a), self.all.get(b)) else {
            return Known::Nothing;
        };
        match self.estimates.fits(a, b, &mut self.cache) {
            Err(_) => Known::Nothing,
            Ok(mut hops) => {
                let mut is_stated = true;
                let assumed = hops.find(|hop| {
                    is_stated &= hop.2.is_none_or(|source| source == Source::Json);
                    hop.2 == Some(Source::Assumed)
                });
                match assumed {
                    Some((from, ..)) => {
                        Known::Assumed { by_wall_clocks: from.id == ClockId::REALTIME }
                    }
                    None if is_stated => Known::Stated,
                    None => Known::Measured,
                }
            }
        }
    }

    /// The reading of clock B less that of A, when A shows a time, by the conversion of the import.
    pub fn ahead(&mut self, (a, b): (usize, usize), at: i64, by_lines: bool) -> Option<i64> {
        let (from, to) = (*self.all.get(a)?, *self.all.get(b)?);
        let cache = &mut self.cache;
        let shown = match by_lines {
            true => self.estimates.convert(from, ClockNs(at), to, cache),
            false => self.estimates.graph().convert(from, ClockNs(at), to, cache.conversions()),
        };
        shown.ok()?.0.checked_sub(at)
    }

    /// The same by lines, with its possible error.
    pub fn measured(&mut self, (a, b): (usize, usize), at: i64) -> Option<(i64, u64)> {
        let (from, to) = (*self.all.get(a)?, *self.all.get(b)?);
        let estimate = self.estimates.at(from, ClockNs(at), to, &mut self.cache).ok()?;
        // A producer's statement has no error (rule R10).
        let error = estimate.error().and_then(|error| u64::try_from(error).ok()).unwrap_or(0);
        Some((estimate.value.0.checked_sub(at)?, error))
    }
}
