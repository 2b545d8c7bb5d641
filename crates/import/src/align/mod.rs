//! Clocks aligned by causality: the messages of a trace, and the relations that follow (rules AL).
//!
//! # Design
//!
//! The first reading of the files ends as always, with relations that may be assumed. Then messages are found: among the
//! events of flows that were put aside (`evidence`), and in the new database, by SQL. The solver
//! (`timebase_resolver::align`) judges them. Mostly nothing moves, and the tables tell what messages say. If an
//! assumption is proven wrong, the files are read once more, with the relation by messages as a source of the clock
//! graph from the beginning. So an event gets its time from one graph, whatever it is.
//!
//! The alternative was to collect messages in a pass of their own, before the first row. It would read each import of two
//! files twice, and know neither slices nor what a statement of the user finds.
//!
//! | question | where it is decided |
//! |---|---|
//! | the clocks that are aligned, and readings on them | `clocks.rs` |
//! | collectives of ranks (rule AL3) | `collectives` |
//! | the readings of packets, and the user's pairs (rule AL4) | `packets.rs` |
//! | the ends of receiving slices (rule AL6) | `ends.rs` |
//! | messages on disk | `staged.rs` |
//! | what moves, and why (rules AL17 to AL20) | `relate.rs` |
//! | the tables | `tables.rs` |

mod clocks;
mod collectives;
mod ends;
mod packets;
mod relate;
mod staged;
mod tables;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;

use rusqlite::Connection;
use timebase_resolver::{CausalBound, CausalKnot, Clock, Estimates};
use timebase_store::sort::Scratch;

use self::clocks::AlignedClocks;
use self::packets::Packets;
use self::relate::PairReport;
use self::staged::{Kind, StagedPairs};
use crate::error::WriteError;
use crate::evidence::{Evidence, Paired, pair};
use crate::manifest::Align;
use crate::output::{LogMessage, Placed};
use crate::place::{AlignedBy, AlignedRelation, Parts, file_id};
use crate::summary::How;

/// The choices of the user.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings<'a> {
    pub mode: Align,
    pub max_drift_ppm: u32,
    /// The SELECT of pairs.
    pub pairs: Option<&'a str>,
    /// Whether the import converts by rates.
    pub by_lines: bool,
}

/// No clock gains more on another one (rule AL9).
pub(crate) const MAX_DRIFT_PPM: u32 = 500;

/// The state after the first reading.
pub(crate) struct Known<'a> {
    pub conn: &'a Connection,
    pub estimates: &'a Estimates,
    pub parts: &'a Parts,
    /// The ranks of files, by their ids.
    pub ranks: &'a BTreeMap<u32, i64>,
    pub placed: &'a [Placed],
    pub trace_time: Clock,
    pub scratch: &'a Scratch,
}

/// The result: the rows of the tables, and the relations that replace others.
#[derive(Debug, Default)]
pub(crate) struct Aligned {
    reports: Vec<PairReport>,
    pub relations: Vec<AlignedRelation>,
    /// The warning about the user's pairs.
    pub warning: Option<LogMessage>,
}

/// The reason why clocks are not aligned.
#[derive(Debug)]
pub(crate) enum AlignError {
    Write(WriteError),
    /// The statement of the user fails, as the rest of a sentence.
    Pairs(String),
}

impl<E> From<E> for AlignError
where
    WriteError: From<E>,
{
    fn from(error: E) -> Self {
        AlignError::Write(error.into())
    }
}

/// The change of a rate that a relation without a rate of its own may have.
const WANDER: f64 = 40e-6;

/// The relation by a pair's corners, or its bounds if the relation is measured.
fn relation(report: &PairReport) -> Option<AlignedRelation> {
    let (a, b) = (report.a, report.b);
    if report.known.stays() {
        let corners = report.knots.iter().filter_map(|knot| {
            let (earliest, latest) = knot.interval.earliest.zip(knot.interval.latest)?;
            Some(CausalBound { value: knot.value, earliest, latest })
        });
        let by = AlignedBy::Bounds(corners.collect());
        return Some(AlignedRelation { a, b, by });
    }
    let knots = report.knots.iter().filter_map(|knot| {
        let offset = knot.offset?;
        let bounds = [knot.interval.earliest, knot.interval.latest];
        let error = bounds.into_iter().flatten().map(|bound| bound.abs_diff(offset)).max();
        let error = i64::try_from(error?).ok()?;
        Some(CausalKnot { value: knot.value, offset, error })
    });
    let knots: Vec<CausalKnot> = knots.collect();
    let wander = report.rate.map_or(WANDER, |(_, width)| width);
    (!knots.is_empty()).then_some(AlignedRelation { a, b, by: AlignedBy::Lines { knots, wander } })
}

impl Aligned {
    /// Keeps all relations as they are, because the files cannot be read again.
    pub fn give_up(&mut self) {
        self.relations.clear();
        for report in self.reports.iter_mut().filter(|report| report.is_used) {
            report.is_used = false;
            report.reason = Cow::Borrowed("a stream cannot be read again: save it to a file");
        }
    }

    /// Says of parts what messages between their clocks and trace time tell of their place.
    pub fn tell(&self, placed: &mut [Placed], trace_time: Clock) {
        let is_first =
            |clock: Clock| clock.machine == trace_time.machine && clock.file == trace_time.file;
        for report in self.reports.iter().filter(|report| is_first(report.a)) {
            let file = file_id(report.b.file);
            let is_of = |part: &&mut Placed| {
                part.machine == report.b.machine.0 && file.is_none_or(|file| file == part.file)
            };
            for part in placed.iter_mut().filter(is_of) {
                let is_assumed = matches!(part.how, How::Realtime | How::SameClock | How::Assumed);
                if is_assumed || part.how == How::Causality && report.is_used {
                    part.causal = report.about_place();
                    part.error = part.error.or(report.error.filter(|_| is_assumed));
                }
            }
        }
    }

    /// Fills the tables.
    ///
    /// # Errors
    ///
    /// If the database cannot be written.
    pub fn write(&self, known: &Known<'_>) -> Result<(), WriteError> {
        let mut cache = timebase_resolver::EstimateCache::new();
        let mut at = |clock: Clock, reading: i64| {
            let reading = timebase_resolver::ClockNs(reading);
            let time = known.estimates.convert(clock, reading, known.trace_time, &mut cache);
            time.ok().map(|time| time.0)
        };
        tables::write(known.conn, &self.reports, &mut at)?;
        tables::state_errors(known.conn, &self.reports, known.trace_time)?;
        if let Some(warning) = &self.warning {
            warning.insert(known.conn, (None, None))?;
        }
        Ok(())
    }
}

/// Finds all messages, and what they say. `None` if there is none.
///
/// # Errors
///
/// If the database or a temporary file cannot be read or written, or the statement of the user fails.
pub(crate) fn align(
    known: &Known<'_>,
    evidence: &mut Evidence,
    settings: &Settings<'_>,
) -> Result<Option<Aligned>, AlignError> {
    let &Known { conn, estimates, parts, placed, trace_time, scratch, .. } = known;
    let mut clocks = AlignedClocks::new(estimates, parts, placed, trace_time);
    if clocks.all.len() < 2 {
        return Ok(None);
    }
    let packets = Packets::new(parts);
    let mut staged = StagedPairs::new(scratch);
    let wants = |kind: Kind| match settings.mode {
        Align::Auto | Align::Tighten | Align::Report => true,
        Align::Flows => kind == Kind::Flows,
        Align::Collectives => kind == Kind::Collectives,
        Align::Pairs => kind == Kind::Pairs,
        Align::Off => false,
    };
    if wants(Kind::Flows) {
        add_flows(evidence, &mut clocks, &mut staged)?;
    }
    let mut ends = Vec::new();
    let is_json = |part: &crate::place::Part| part.json.is_some();
    if wants(Kind::Collectives) && parts.iter().filter(|part| is_json(part)).count() > 1 {
        let parts = parts.of_files();
        let ranks =
            parts.filter_map(|(ix, part)| Some((clocks.of(ix)?, *known.ranks.get(&part.file.id)?)));
        let ranks = ranks.collect();
        let clocks = &mut clocks;
        let mut context = collectives::Context { conn, clocks, packets: &packets, scratch };
        ends = collectives::add(&mut context, &ranks, &mut staged)?;
    }
    let mut warning = None;
    if let Some(sql) = settings.pairs.filter(|_| wants(Kind::Pairs)) {
        warning = packets.add_pairs(conn, sql, &mut clocks, &mut staged)?.warning();
    }
    if staged.pairs.is_empty() && warning.is_none() {
        return Ok(None);
    }
    let mut durations = |packets: &_| ends::durations(conn, packets);
    let (reports, relations) =
        relate::relate(&mut clocks, staged, &ends, settings, &mut durations)?;
    Ok(Some(Aligned { reports, relations, warning }))
}

/// Adds the messages of flows (rule AL2).
fn add_flows(
    evidence: &mut Evidence,
    clocks: &mut AlignedClocks<'_>,
    staged: &mut StagedPairs,
) -> io::Result<()> {
    let mut events = Vec::new();
    evidence.flows(|moments| {
        events.clear();
        events.extend(moments.iter().filter_map(|moment| clocks.locate(moment)));
        match pair(&events) {
            Paired::Nothing => {}
            Paired::Message(out, into) => staged.add(Kind::Flows, &out, &into)?,
            Paired::Messages(messages) => {
                for (out, into) in messages {
                    staged.add(Kind::Flows, &out, &into)?;
                }
            }
            Paired::Unpaired(one, other) => staged.add_unpaired(Kind::Flows, (one, other), 1),
            Paired::Undirected(one, other) => staged.of(one, other).undirected += 1,
        }
        Ok(())
    })
}
