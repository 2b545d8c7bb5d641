//! The placement of each part (a machine's packets in one file) in trace time: the table `part`.

use rusqlite::Connection;
use timebase_resolver::{
    Clock, ClockId, ClockNs, Estimate, EstimateCache, Estimates, SeqId, Source,
};
use timebase_schema::{Row, tables};

use super::journal::{LogMessage, Severity};
use crate::place::{Part, Place, TraceTime};
use crate::summary::{CausalCheck, How};

/// If two placements of a part differ by this or more, they belong to two boots of its machine (rule X28).
const BOOT_NS: u64 = 1_000_000_000;

/// A row of `part`.
#[derive(Debug, Clone)]
pub(crate) struct Placed {
    pub file: u32,
    pub machine: u32,
    own_from: Option<i64>,
    is_pinned: bool,
    pub how: How,
    /// Trace time less BOOTTIME of the part, at its first packet.
    pub offset: Option<i64>,
    /// The largest error of the offset; `None` if something is assumed.
    pub error: Option<i64>,
    /// The time by which REALTIME puts the part too late, in ns.
    pub boots_differ: Option<i64>,
    /// Whether anything relates its clocks to the clocks of the files before it (rule X41); `None` if nothing
    /// of the part was placed.
    pub is_related: Option<bool>,
    /// The statement of messages about its place (rule AL20).
    pub causal: Option<CausalCheck>,
}

/// All parts, in the order of the table. `estimates` are the estimates of the whole import.
pub(crate) fn placed(place: &Place, estimates: &Estimates) -> Vec<Placed> {
    let mut asked = Asked { estimates, cache: EstimateCache::new() };
    let trace_time = place.trace_time();
    let parts = place.clocks.parts.of_files();
    let mut placed: Vec<Placed> =
        parts.map(|(_, part)| of_part(part, trace_time, &mut asked)).collect();
    placed.sort_unstable_by_key(|placed| (placed.file, placed.machine));
    placed
}

/// The estimates of the whole import, and their cache.
struct Asked<'e> {
    estimates: &'e Estimates,
    cache: EstimateCache,
}

impl Asked<'_> {
    /// By the nearest snapshot.
    fn convert(&mut self, from: Clock, value: ClockNs, to: Clock) -> Option<ClockNs> {
        let (graph, cache) = (self.estimates.graph(), self.cache.conversions());
        graph.convert(from, value, to, cache).ok()
    }

    fn at(&mut self, from: Clock, value: ClockNs, to: Clock) -> Option<Estimate> {
        let cache = &mut self.cache;
        self.estimates.at(from, value, to, cache).ok()
    }

    /// The hops between two clocks, each with the source of its snapshots; `None` if there is no path.
    fn hops(&mut self, from: Clock, to: Clock) -> Option<Vec<(Clock, Clock, Option<Source>)>> {
        let fits = self.estimates.fits(from, to, &mut self.cache).ok()?;
        let hops = fits.map(|(from, to, source, _)| (from, to, source));
        Some(hops.collect())
    }
}

fn of_part(part: &Part, trace_time: Clock, asked: &mut Asked<'_>) -> Placed {
    let id = match part.is_pinned {
        true => ClockId::TRACE_FILE,
        false => ClockId::BOOTTIME,
    };
    let own = part.clock(id, SeqId(0));
    // A part whose default clock the user gave may have no BOOTTIME (rule FP2).
    let given = part.given_clock.map(|given| part.clock(given, SeqId(0)));
    let own = match given {
        Some(given) if asked.hops(own, trace_time).is_none() => given,
        _ => own,
    };
    let (how, is_known) = how(own, trace_time, asked);
    // In a file in JSON, metadata before all events may have a time.
    let of_json = part.json.as_deref().and_then(|json| json.first);
    let of_json = of_json.and_then(|value| asked.convert(own, ClockNs(value), trace_time));
    let first = of_json.map(|ClockNs(first)| TraceTime(first)).or(part.first);
    let first = first.and_then(|TraceTime(first)| {
        let value = match own == trace_time {
            true => ClockNs(first),
            false => asked.convert(trace_time, ClockNs(first), own)?,
        };
        Some((first, value))
    });
    let error = first.filter(|_| is_known).and_then(|(first, value)| {
        if own == trace_time {
            return Some(0);
        }
        let estimate = asked.at(own, value, trace_time)?;
        // The error of the estimate, plus the distance between the estimate and the part's place.
        let off = i64::try_from(estimate.value.0.abs_diff(first)).ok()?;
        estimate.error()?.checked_add(off)
    });
    let boot = boot(part, asked);
    let is_related = first.map(|_| is_related(part, boot, trace_time, asked));
    Placed {
        file: part.file.id,
        machine: part.machine.0,
        own_from: part.own_from,
        is_pinned: part.is_pinned,
        how,
        offset: first.and_then(|(first, ClockNs(value))| first.checked_sub(value)),
        error,
        boots_differ: match boot {
            Boot::Differs(later) => Some(later),
            Boot::Read | Boot::Agrees | Boot::Unknown => None,
        },
        is_related,
        causal: None,
    }
}

/// The way from a clock to trace time, named by its least certain step; and whether it is free of
/// assumptions.
fn how(own: Clock, trace_time: Clock, asked: &mut Asked<'_>) -> (How, bool) {
    if own.file == trace_time.file && own.machine == trace_time.machine {
        return (How::TraceTime, true);
    }
    let Some(hops) = asked.hops(own, trace_time) else {
        return (How::Unplaced, false);
    };
    let assumes = |of_wall_clocks: bool| {
        hops.iter().any(|(from, _, source)| {
            *source == Some(Source::Assumed) && of_wall_clocks == (from.id == ClockId::REALTIME)
        })
    };
    let has = |source| hops.iter().any(|(.., other)| *other == Some(source));
    let assumes_file = own.id == ClockId::TRACE_FILE
        && hops.iter().any(|(from, to, source)| {
            *source == Some(Source::Assumed) && [from.id, to.id].contains(&ClockId::TRACE_FILE)
        });
    match () {
        () if assumes_file => (How::Assumed, false),
        () if assumes(true) => (How::Realtime, false),
        () if assumes(false) => (How::SameClock, false),
        () if has(Source::RemoteSync) => (How::RemoteSync, true),
        () if has(Source::Causality) => (How::Causality, true),
        () if has(Source::Manifest) => (How::Manifest, true),
        () => (How::Snapshots, true),
    }
}

/// The evidence whether a part is of the same boot as other files of its machine.
#[derive(Clone, Copy)]
enum Boot {
    /// Its clocks are the machine's, or readings relate them.
    Read,
    /// REALTIME agrees with its place.
    Agrees,
    /// REALTIME puts the part later by this number (rule X28).
    Differs(i64),
    /// There is no evidence, or REALTIME is too far away for a number.
    Unknown,
}

fn boot(part: &Part, asked: &mut Asked<'_>) -> Boot {
    let own = part.clock(ClockId::BOOTTIME, SeqId(0));
    let shared = part.shared(ClockId::BOOTTIME);
    if own == shared || part.is_pinned {
        return Boot::Read;
    }
    let mut is_assumed = |from, to| {
        let hops = asked.hops(from, to)?;
        Some(hops.iter().any(|(.., source)| *source == Some(Source::Assumed)))
    };
    if is_assumed(own, shared) != Some(true) {
        return Boot::Read;
    }
    let wall = part.clock(ClockId::REALTIME, SeqId(0));
    let shared_wall = part.shared(ClockId::REALTIME);
    let is_read =
        is_assumed(own, wall) == Some(false) && is_assumed(shared_wall, shared) == Some(false);
    if !is_read {
        return Boot::Unknown;
    }
    let domain = asked.estimates.graph().domain(own);
    let first = domain.map(|domain| domain.first_value);
    let later = first.and_then(|at| {
        let read = asked.convert(own, ClockNs(at), wall)?;
        let ClockNs(by_wall_clock) = asked.convert(shared_wall, read, shared)?;
        by_wall_clock.checked_sub(at)
    });
    match later {
        Some(later) if later.unsigned_abs() > BOOT_NS => Boot::Differs(later),
        Some(_) => Boot::Agrees,
        None => Boot::Unknown,
    }
}

/// Rule X41.
fn is_related(part: &Part, boot: Boot, trace_time: Clock, asked: &mut Asked<'_>) -> bool {
    // It reads the clocks of a file before it, without a statement whose clocks they are.
    let is_taken_for_another = part.is_host && part.may_become_own() && !part.is_pinned;
    if is_taken_for_another || matches!(boot, Boot::Differs(_) | Boot::Unknown) {
        return false;
    }
    let id = match part.json {
        Some(_) => ClockId::TRACE_FILE,
        None => ClockId::BOOTTIME,
    };
    let own = part.clock(id, SeqId(0));
    let Some(hops) = asked.hops(own, trace_time) else {
        return true;
    };
    if part.json.is_some() {
        // The last assumption of rule JS37.
        return !hops.into_iter().any(|(from, to, source)| {
            source == Some(Source::Assumed) && ![from.id, to.id].contains(&ClockId::REALTIME)
        });
    }
    // Two BOOTTIMEs of two machines. Wall clocks are at least meant to agree.
    !hops.into_iter().any(|(from, to, source)| {
        source == Some(Source::Assumed)
            && from.machine != to.machine
            && from.id != ClockId::REALTIME
    })
}

/// Fills the table `part`, and logs the parts of two boots.
pub(crate) fn insert(
    conn: &Connection,
    all: &[Placed],
    name_of: impl Fn(u32) -> String,
) -> rusqlite::Result<()> {
    let mut insert = conn.prepare(&tables::part::TABLE.insert())?;
    for placed in all {
        let row = tables::part::Row::<&dyn rusqlite::ToSql> {
            trace_file_id: &placed.file,
            machine_id: &placed.machine,
            own_from: &placed.own_from,
            is_pinned: &placed.is_pinned,
            how: &placed.how.name(),
            offset: &placed.offset,
            error: &placed.error,
            boots_differ: &placed.boots_differ,
        };
        insert.execute(row.cells().as_ref())?;
        if let Some(later) = placed.boots_differ {
            let name = name_of(placed.file);
            let seconds = later as f64 / 1e9;
            let text = format!(
                "by REALTIME, {name} is {seconds:+.3} s from where the BOOTTIME that it is assumed to share \
                 with other files of its machine puts it: the machine may have been restarted between \
                 them. If so, name both boots in a manifest: {{\"path\": \"{name}\", \"machine\": \
                 {{\"name\": \"after the restart\"}}}}"
            );
            let message = LogMessage::new(Severity::Warning, "boots_differ", text);
            message.insert(conn, (Some(placed.file), Some(placed.machine)))?;
        }
    }
    Ok(())
}
