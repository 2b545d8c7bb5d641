//! The statement of all messages together, and the relations that they replace (rules AL14, AL17, AL18, AL20).

use std::borrow::Cow;
use std::collections::BTreeMap;

use timebase_resolver::Clock;
use timebase_resolver::align::{
    AlignedPair, Alignment, AlignmentKnot, CausalOutlier, CollectiveEnds, Compared, Decision,
    Evidence, KnotsOf, LEAST_INVERTED, MeasuredPair, Network, PairClocks, align,
};

use super::clocks::{AlignedClocks, Known};
use super::ends;
use super::staged::{Kind, Staged, StagedPairs};
use super::{Settings, WANDER, relation};
use crate::error::WriteError;
use crate::manifest::Align;
use crate::place::AlignedRelation;
use crate::summary::CausalCheck;

/// The most outliers of a pair that get rows.
const OUTLIERS: usize = 10_000;

/// A pair of clocks, as `clock_alignment` tells it.
#[derive(Debug)]
pub(super) struct PairReport {
    pub a: Clock,
    pub b: Clock,
    pub kinds: [bool; 3],
    /// Whether messages relate the two clocks, and not only those of other pairs.
    pub alignment: Option<Numbers>,
    pub unpaired: i64,
    pub undirected: i64,
    /// In the middle.
    pub knot: Option<AlignmentKnot>,
    pub rate: Option<(f64, f64)>,
    pub assumed: Option<i64>,
    pub known: Known,
    pub compared: Option<Compared>,
    pub is_used: bool,
    pub reason: Cow<'static, str>,
    pub knots: Vec<AlignmentKnot>,
    pub outliers: Vec<CausalOutlier>,
    /// The possible error of the relation that it confirms.
    pub error: Option<i64>,
}

impl PairReport {
    /// The statement of the messages about the place of clock B's part, by its relation to clock A.
    pub fn about_place(&self) -> Option<CausalCheck> {
        if self.is_used {
            // Also if only messages of other clocks relate the two.
            let by = self.knot.as_ref()?.offset?.abs_diff(self.assumed?);
            return Some(CausalCheck::Moved { by });
        }
        let numbers = self.alignment.as_ref()?;
        let undecided = || {
            let messages: u64 = numbers.messages.iter().sum();
            (messages > 0).then_some(CausalCheck::Undecided { messages })
        };
        if numbers.sides == "contradictory" {
            return undecided();
        }
        let compared = self.compared?;
        if self.error.is_some() {
            return Some(CausalCheck::Confirmed { messages: numbers.accepted.iter().sum() });
        }
        let mode = match &*self.reason {
            _ if numbers.sides != "both" => None,
            KEPT => Some(Align::Auto.name()),
            FEW | VIOLATED => self.kinds.iter().position(|has| *has).and_then(|of| {
                let kind = Kind::ALL.get(of)?;
                Some(kind.name())
            }),
            _ => None,
        };
        let is_contradicted = compared.inverted >= LEAST_INVERTED;
        if is_contradicted {
            return Some(CausalCheck::Contradicted { wrong_by: compared.wrong_by, mode });
        }
        undecided()
    }
}

/// The counts of an alignment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbers {
    pub arrival: &'static str,
    pub sides: &'static str,
    /// Readings of A.
    pub from: i64,
    pub to: i64,
    pub messages: [u64; 2],
    pub accepted: [u64; 2],
    pub violated: u64,
    pub suspect: u64,
    pub stretches: usize,
}

/// A pair while it is judged.
struct Judged {
    a: usize,
    b: usize,
    alignment: Alignment,
    compared: Compared,
    outliers: Vec<CausalOutlier>,
    known: Known,
    moves: bool,
    /// Whether the error of a measured relation becomes less (rule AL18).
    tightens: bool,
    reason: Cow<'static, str>,
}

/// Judges all pairs. Returns what the tables tell, and the relations that replace others.
///
/// # Errors
///
/// If messages cannot be read back.
pub(super) fn relate(
    clocks: &mut AlignedClocks<'_>,
    staged: StagedPairs,
    collectives: &[CollectiveEnds],
    settings: &Settings<'_>,
    ended: &mut ends::Ended<'_>,
) -> Result<(Vec<PairReport>, Vec<AlignedRelation>), WriteError> {
    let mut judged = Vec::new();
    let mut staged = staged.pairs;
    for (&(a, b), messages) in &mut staged {
        judged.push(judge((a, b), messages, clocks, settings, ended)?);
    }
    let network = network(clocks, &judged, collectives);
    for (place, of) in judged.iter_mut().enumerate() {
        if network.dropped().contains(&place) && of.moves {
            (of.moves, of.reason) = (false, Cow::Borrowed("other pairs contradict it"));
        }
    }
    if matches!(settings.mode, Align::Flows | Align::Collectives | Align::Pairs) {
        for of in judged.iter_mut().filter(|of| !of.known.stays() && !of.moves) {
            let is_one_sided = matches!(of.alignment.sides, Evidence::Upper | Evidence::Lower);
            let middle = of.alignment.middle();
            if is_one_sided && network.estimate(of.a, of.b, middle).is_some() {
                let reason = "messages of other clocks bound the other side";
                (of.moves, of.reason) = (true, Cow::Borrowed(reason));
            }
        }
    }
    for of in judged.iter_mut().filter(|of| of.moves) {
        if network.is_contradictory(of.a) {
            (of.moves, of.reason) = (false, Cow::Borrowed("other pairs contradict it"));
        } else if network.goes_back(of.a) || network.goes_back(of.b) {
            let reason = "a clock was set back, so its readings do not tell when it showed them";
            (of.moves, of.reason) = (false, Cow::Borrowed(reason));
        }
    }
    let roots = roots(clocks.all.len(), judged.iter().filter(|of| of.moves));
    let mut moved = moved(&roots, &network, &judged);
    let mut reports = Vec::new();
    for of in &mut judged {
        let Some(messages) = staged.get(&(of.a, of.b)) else { continue };
        let by_network = moved.remove(&(of.a, of.b));
        let mut report = report(of, messages, by_network, clocks)?;
        let middle = of.alignment.middle();
        if of.tightens {
            (report.is_used, report.knots) = (true, of.alignment.bounds_knots());
        } else if report.is_used {
            // Times follow from all pairs, not from this one alone.
            report.knot = Some(AlignmentKnot {
                value: middle,
                offset: network.estimate(of.a, of.b, middle),
                interval: network.interval(of.a, of.b, middle),
                step: false,
            });
        } else if of.moves {
            report.reason = Cow::Borrowed("other pairs replace the assumption");
        }
        reports.push(report);
    }
    for ((a, b), knots) in moved {
        reports.push(of_others((a, b), knots, clocks));
    }
    let relations = reports.iter().filter(|report| report.is_used).filter_map(relation);
    let relations = relations.collect();
    Ok((reports, relations))
}

fn judge(
    (a, b): (usize, usize),
    messages: &mut Staged,
    clocks: &mut AlignedClocks<'_>,
    settings: &Settings<'_>,
    ended: &mut ends::Ended<'_>,
) -> Result<Judged, WriteError> {
    let pair = PairClocks {
        unit_a: clocks.unit(a),
        unit_b: clocks.unit(b),
        max_drift_ppm: settings.max_drift_ppm,
    };
    let mut alignment = align(pair, messages)?;
    // AL6
    if 20 * alignment.violated > alignment.messages_ab + alignment.messages_ba {
        ends::add(messages, ended)?;
        alignment = align(pair, messages)?;
    }
    let known = clocks.known(a, b);
    let by_lines = settings.by_lines;
    let mut outliers = Vec::new();
    let mut show = |outlier| {
        if outliers.len() < OUTLIERS {
            outliers.push(outlier);
        }
    };
    let mut relation = |at| match known {
        // AL18: the measurement counts, not what the import's conversion makes of it.
        Known::Measured | Known::Stated => clocks.measured((a, b), at),
        _ => Some((clocks.ahead((a, b), at, by_lines)?, 0)),
    };
    let compared = alignment.compare_measured(messages, &mut relation, &mut show)?;
    let (moves, reason) = decide(&alignment, &compared, known, settings.mode);
    let tightens = settings.mode == Align::Tighten
        && known.stays()
        && matches!(alignment.decision(&compared), Decision::Confirm | Decision::Replace)
        && !compared.contradicts();
    let count = alignment.messages_ab + alignment.messages_ba;
    let reason = match alignment.too_fast {
        Some(rate) => Cow::Owned(too_fast(rate)),
        None if tightens => Cow::Borrowed("messages bound the measured relation"),
        None if matches!(reason, ONE_SIDED | FEW) && messages.unpaired.unsigned_abs() > count => {
            Cow::Borrowed("most sends and arrivals do not pair up")
        }
        None => Cow::Borrowed(reason),
    };
    Ok(Judged { a, b, alignment, compared, outliers, known, moves, tightens, reason })
}

/// Rule AL20.
fn decide(
    alignment: &Alignment,
    compared: &Compared,
    known: Known,
    mode: Align,
) -> (bool, &'static str) {
    let decision = alignment.decision(compared);
    let moves = match mode {
        Align::Auto | Align::Tighten => {
            let is_better = decision == Decision::Confirm && known == Known::Nothing;
            decision == Decision::Replace || is_better
        }
        Align::Flows | Align::Collectives | Align::Pairs => alignment.sides == Evidence::Both,
        Align::Report | Align::Off => false,
    };
    let reason = match decision {
        _ if known == Known::Measured => "the relation is measured",
        _ if known == Known::Stated => "the producers state the relation",
        Decision::Contradictory => "over a quarter of the messages contradict the others",
        Decision::OneSided => ONE_SIDED,
        _ if moves && !matches!(mode, Align::Auto | Align::Tighten) => "the mode asks for it",
        Decision::Few => FEW,
        Decision::Violated => VIOLATED,
        Decision::Confirm if known == Known::Nothing => "nothing else relates the clocks",
        Decision::Confirm => CONFIRMED,
        Decision::Replace if mode == Align::Report => KEPT,
        Decision::Replace => "messages contradict the assumption",
    };
    (moves && !known.stays(), reason)
}

/// All pairs together with the measured relations of their clocks.
fn network(
    clocks: &mut AlignedClocks<'_>,
    judged: &[Judged],
    collectives: &[CollectiveEnds],
) -> Network {
    let count = clocks.all.len();
    let spans = judged.iter().filter(|of| of.alignment.from <= of.alignment.to);
    let mut measured = Vec::new();
    for of in spans.filter(|of| of.known.stays()) {
        let times = [of.alignment.from, of.alignment.middle(), of.alignment.to];
        let mut readings = Vec::new();
        for at in times {
            let is_later = readings.last().is_none_or(|(last, ..): &(i64, i64, u64)| *last < at);
            if let Some((offset, error)) = clocks.measured((of.a, of.b), at).filter(|_| is_later) {
                readings.push((at, offset, error));
            }
        }
        measured.push(MeasuredPair { a: of.a, b: of.b, readings });
    }
    let pairs =
        judged.iter().map(|of| AlignedPair { a: of.a, b: of.b, alignment: of.alignment.clone() });
    Network::new(count, pairs.collect(), &measured, collectives)
}

/// For each clock the least number of those to which pairs lead.
fn roots<'j>(count: usize, pairs: impl Iterator<Item = &'j Judged>) -> Vec<usize> {
    let mut roots: Vec<usize> = (0..count).collect();
    for pair in pairs {
        let of = |clock: usize| roots.get(clock).copied().unwrap_or(clock);
        let (one, other) = (of(pair.a), of(pair.b));
        let (least, most) = (one.min(other), one.max(other));
        for root in &mut roots {
            if *root == most {
                *root = least;
            }
        }
    }
    roots
}

/// The corners of each clock that moves, against the root of its group.
fn moved(
    roots: &[usize],
    network: &Network,
    judged: &[Judged],
) -> BTreeMap<(usize, usize), Vec<AlignmentKnot>> {
    let direct = |of: &KnotsOf| judged.iter().find(|j| (j.a, j.b) == (of.from, of.to));
    let pairs = roots.iter().enumerate().filter(|(clock, root)| clock != *root);
    let pairs = pairs.map(|(to, &from)| {
        let of = KnotsOf { from, to, wander: WANDER };
        let rate = direct(&of).and_then(|of| rate(&of.alignment));
        KnotsOf { wander: rate.map_or(WANDER, |(_, width)| width), ..of }
    });
    let pairs: Vec<KnotsOf> = pairs.collect();
    let mut moved = BTreeMap::new();
    for (of, mut knots) in pairs.iter().zip(network.knots(&pairs)) {
        knots.sort_by_key(|knot| knot.value);
        knots.dedup_by_key(|knot| knot.value);
        never_back(&mut knots);
        if let Some(of) = direct(of) {
            for at in 1..knots.len() {
                let [.., knot, next] = &mut knots[..=at] else { continue };
                let between = knot.value.midpoint(next.value);
                knot.step = of.alignment.is_in_step(between);
            }
        }
        if !knots.is_empty() {
            moved.insert((of.from, of.to), knots);
        }
    }
    moved
}

/// Takes away what rounding to nanoseconds makes of a clock that stands still.
fn never_back(knots: &mut [AlignmentKnot]) {
    let mut last = i64::MIN;
    for knot in knots {
        let Some(offset) = knot.offset else { continue };
        let shown = knot.value.saturating_add(offset).max(last);
        let offset = shown.saturating_sub(knot.value);
        knot.offset = Some(offset);
        knot.interval.latest = knot.interval.latest.map(|latest| latest.max(offset));
        last = shown;
    }
}

/// The rate in the middle, and the width of the possible ones.
fn rate(alignment: &Alignment) -> Option<(f64, f64)> {
    let middle = alignment.middle();
    alignment.rate(middle).zip(alignment.rates(middle).map(|(least, most)| most - least))
}

fn report(
    of: &mut Judged,
    messages: &Staged,
    by_network: Option<Vec<AlignmentKnot>>,
    clocks: &mut AlignedClocks<'_>,
) -> Result<PairReport, WriteError> {
    let outliers = std::mem::take(&mut of.outliers);
    let alignment = &of.alignment;
    let middle = alignment.middle();
    let count = alignment.messages_ab + alignment.messages_ba;
    let assumed = clocks.ahead((of.a, of.b), middle, true).filter(|_| count > 0);
    let interval = alignment.interval(middle);
    let error = assumed
        .filter(|_| matches!(of.known, Known::Assumed { .. }) && !of.moves)
        .and_then(|assumed| {
            let (earliest, latest) = interval.earliest.zip(interval.latest)?;
            let farther = latest.saturating_sub(assumed).max(assumed.saturating_sub(earliest));
            let is_inside = (earliest..=latest).contains(&assumed);
            (is_inside && of.reason == CONFIRMED).then_some(farther)
        });
    let is_used = by_network.is_some();
    let knots = by_network.unwrap_or_else(|| match alignment.sides {
        Evidence::Contradictory | Evidence::None => Vec::new(),
        _ => alignment.knots(),
    });
    let sides = match alignment.sides {
        Evidence::Both => "both",
        Evidence::Upper => "upper",
        Evidence::Lower => "lower",
        Evidence::None => "none",
        Evidence::Contradictory => "contradictory",
    };
    let [a, b] = [of.a, of.b].map(|clock| clocks.all.get(clock).copied());
    let (Some(a), Some(b)) = (a, b) else { return Err(no_clock()) };
    Ok(PairReport {
        a,
        b,
        kinds: messages.kinds,
        alignment: Some(Numbers {
            arrival: match alignment.arrival {
                timebase_resolver::align::Arrival::Begin => "begin",
                timebase_resolver::align::Arrival::End => "end",
            },
            sides,
            from: alignment.from,
            to: alignment.to,
            messages: [alignment.messages_ab, alignment.messages_ba],
            accepted: [of.compared.accepted_ab, of.compared.accepted_ba],
            violated: alignment.violated,
            suspect: alignment.suspect,
            stretches: alignment.stretches(),
        }),
        unpaired: messages.unpaired,
        undirected: messages.undirected,
        knot: (count > 0).then(|| AlignmentKnot {
            value: middle,
            offset: alignment.estimate(middle),
            interval,
            step: false,
        }),
        rate: rate(alignment),
        assumed,
        known: of.known,
        compared: (of.known != Known::Nothing).then_some(of.compared),
        is_used,
        reason: of.reason.clone(),
        knots,
        outliers,
        error,
    })
}

/// The reasons of pairs with too few messages.
const ONE_SIDED: &str = "messages bound one side only";
const FEW: &str = "fewer than 10 messages each way are accepted";
/// The reasons of pairs that another mode may move.
const VIOLATED: &str = "over 5 % of the messages contradict the others";
const KEPT: &str = "messages contradict the assumption, which the mode keeps";

/// The reason of a pair whose clocks drift too fast.
fn too_fast(rate: f64) -> String {
    let ppm = (rate * 1e6).abs();
    format!("the clocks drift by about {ppm:.0} ppm, more than max_drift_ppm allows")
}

/// The reason of a pair that confirms an assumption.
const CONFIRMED: &str = "messages do not contradict the assumption";

/// Two clocks that are related by way of others.
fn of_others(
    (a, b): (usize, usize),
    knots: Vec<AlignmentKnot>,
    clocks: &mut AlignedClocks<'_>,
) -> PairReport {
    let knot = knots.get(knots.len() / 2).copied();
    let assumed = knot.and_then(|knot| clocks.ahead((a, b), knot.value, true));
    let clock = |number: usize| clocks.all.get(number).copied().unwrap_or(Clock::BOOTTIME);
    PairReport {
        a: clock(a),
        b: clock(b),
        kinds: [false; Kind::ALL.len()],
        alignment: None,
        unpaired: 0,
        undirected: 0,
        knot,
        rate: None,
        assumed,
        known: Known::Nothing,
        compared: None,
        is_used: true,
        reason: Cow::Borrowed("messages of other clocks relate them"),
        knots,
        outliers: Vec::new(),
        error: None,
    }
}

fn no_clock() -> WriteError {
    std::io::Error::other("a pair of clocks without a clock").into()
}
