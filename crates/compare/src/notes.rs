//! Remarks on a comparison (rules CM8, CM11, CM14, CM17, CM18, CM20).

use crate::comparison::{Call, Compared, Comparison, Note, Row, Scale, Unused};
use crate::estimate::{mean, median};
use crate::line::Family;
use crate::run::{RunId, Side};
use crate::settings::{Pairs, Per, Settings};
use crate::student::quantile;
use crate::table::LEAST_DEVIATION;

/// CM20: verdicts need five runs a side.
pub(crate) const VERDICT: usize = 5;
/// CM8: longer or shorter by more is worth a note.
const LENGTHS: f64 = 1.1;
/// CM11: shares of loss that are farther apart are worth a warning.
const LOSSES: f64 = 0.02;
/// CM18: a factor that many standard deviations from its side's median is odd.
const ODD: f64 = 3.5;
/// CM20: more runs than that are no advice.
const MOST_RUNS: u32 = 10_000;

/// A used run.
type Used<'a> = (RunId, &'a Compared);

/// All remarks.
pub(crate) fn notes(comparison: &Comparison) -> Vec<Note> {
    let used: Vec<Used<'_>> = (0..)
        .zip(&comparison.runs)
        .filter(|(_, run)| run.unused.is_none())
        .map(|(at, run)| (RunId(at), run))
        .collect();
    let mut notes = Vec::new();
    notes.extend(losses(&used));
    notes.extend(one_direction(comparison));
    notes.extend(interleave(&used));
    notes.extend(odd_runs(&used));
    notes.extend(lengths(&used, &comparison.settings));
    notes.extend(few_runs(comparison));
    notes.extend(nothing_in_common(comparison));
    let unpaired = (0..).zip(&comparison.runs);
    let unpaired = unpaired.filter(|(_, run)| run.unused == Some(Unused::Unpaired));
    notes.extend(unpaired.map(|(at, _)| Note::Unpaired { run: RunId(at) }));
    notes
}

/// CM8
fn lengths(used: &[Used<'_>], settings: &Settings) -> Option<Note> {
    let mut known: Vec<&Used<'_>> = used.iter().filter(|(_, run)| run.run.facts.ns > 0.0).collect();
    known.sort_by(|one, other| one.1.run.name.cmp(&other.1.run.name));
    let ns = |used: &&Used<'_>| used.1.run.facts.ns;
    let shortest = *known.first()?;
    let shortest =
        known.iter().fold(shortest, |best, run| if ns(run) < ns(&best) { run } else { best });
    let longest =
        known.iter().fold(shortest, |best, run| if ns(run) > ns(&best) { run } else { best });
    let differ = ns(&longest) > LENGTHS * ns(&shortest);
    (differ && settings.per == Per::Run)
        .then_some(Note::LengthsDiffer { shortest: shortest.0, longest: longest.0 })
}

/// CM11
fn losses(used: &[Used<'_>]) -> Vec<Note> {
    let of_family = |run: &Compared, family| {
        let shares = run.run.facts.left_out.iter();
        shares.filter(|(of, _)| *of == family).map(|(_, share)| *share).sum()
    };
    let families = Family::ALL.map(Some).into_iter().chain([None]);
    let notes = families.filter_map(|family| {
        let shares = Side::BOTH.map(|side| {
            let of_side = used.iter().filter(|(_, run)| run.run.side == side);
            let mut shares: Vec<f64> = of_side
                .map(|(_, run)| family.map_or(run.run.facts.lost, |family| of_family(run, family)))
                .collect();
            shares.sort_unstable_by(f64::total_cmp);
            mean(&shares)
        });
        ((shares[0] - shares[1]).abs() > LOSSES).then_some(Note::LossDiffers { family, shares })
    });
    notes.collect()
}

/// CM14
fn one_direction(comparison: &Comparison) -> Option<Note> {
    let lines = comparison.lines.iter().filter(|line| line.line.family.is_time());
    let [mut up, mut down, mut of] = [0, 0, 0];
    for line in lines.filter(|line| line.p.is_some()) {
        let rows = comparison.rows.get(line.rows.clone()).unwrap_or_default();
        let mut called = rows.iter().filter(|row| row.call != Call::No).map(|row| row.judged().d);
        up += usize::from(called.clone().any(|d| d > 0.0));
        down += usize::from(called.any(|d| d < 0.0));
        of += 1;
    }
    (comparison.shift.is_some() && 4 * up.max(down) > of).then_some(Note::OneDirection {
        up,
        down,
        of,
    })
}

/// CM17
fn interleave(used: &[Used<'_>]) -> Option<Note> {
    let starts = Side::BOTH.map(|side| {
        let of_side = used.iter().filter(|(_, run)| run.run.side == side);
        of_side.map(|(_, run)| run.run.facts.start).collect::<Option<Vec<i64>>>()
    });
    let [Some(before), Some(after)] = starts else { return None };
    if before.len() < 2 || after.len() < 2 {
        return None;
    }
    let apart =
        before.iter().max() < after.iter().min() || after.iter().max() < before.iter().min();
    apart.then_some(Note::Interleave)
}

/// CM18
fn odd_runs(used: &[Used<'_>]) -> Vec<Note> {
    let mut notes = Vec::new();
    for side in Side::BOTH {
        let of_side = used.iter().filter(|(_, run)| run.run.side == side);
        let runs: Vec<(RunId, usize, f64)> =
            of_side.filter_map(|(id, run)| Some((*id, run.place, run.factor?))).collect();
        let mut factors: Vec<f64> = runs.iter().map(|run| run.2).collect();
        let Some(middle) = median(&mut factors) else { continue };
        let mut distances: Vec<f64> =
            factors.iter().map(|factor| (factor - middle).abs()).collect();
        let deviation = 1.4826 * median(&mut distances).unwrap_or(0.0);
        let limit = ODD * deviation.max(LEAST_DEVIATION);
        let odd = runs.iter().filter(|run| (run.2 - middle).abs() > limit);
        notes.extend(odd.map(|run| Note::OddRun { run: run.0, factor: run.2 - middle }));
        let slowest = runs.iter().max_by(|one, other| one.2.total_cmp(&other.2));
        let first = runs.iter().min_by_key(|run| run.1);
        if let (Some(first), Some(slowest)) = (first, slowest)
            && first.2 == slowest.2
            && first.2 > middle + LEAST_DEVIATION
        {
            notes.push(Note::FirstSlowest { run: first.0, factor: first.2 - middle });
        }
    }
    notes
}

/// CM19
fn nothing_in_common(comparison: &Comparison) -> Option<Note> {
    let is_on_both_sides = comparison.lines.iter().any(|line| line.line.family.is_tested());
    (!is_on_both_sides && !comparison.names.is_empty()).then_some(Note::NothingInCommon)
}

/// CM20
fn few_runs(comparison: &Comparison) -> Option<Note> {
    let fewest = comparison.counts.runs.into_iter().min()?;
    (fewest < VERDICT).then(|| Note::FewRuns { needed: needed(comparison, 1.1_f64.ln()) })
}

/// The runs a side that show a change `d` of half of the lines, with a power of 80 %.
fn needed(comparison: &Comparison, d: f64) -> Option<u32> {
    let is_paired = matches!(comparison.settings.pairs, Some(Pairs::Order | Pairs::By(_)));
    let of_line = comparison.lines.iter().filter_map(|line| {
        let rows = comparison.rows.get(line.rows.clone())?;
        let row = rows.iter().find(|row| row.p.is_some() && row.scale == Scale::Ratio)?;
        deviation(row, is_paired)
    });
    let deviation = median(&mut of_line.collect::<Vec<_>>())?;
    let alpha = comparison.counts.alpha;
    let shows = |n: &u32| {
        let n = f64::from(*n);
        let (df, se) = if is_paired {
            (n - 1.0, deviation / n.sqrt())
        } else {
            (2.0 * n - 2.0, deviation * (2.0 / n).sqrt())
        };
        let t = quantile(alpha, df).zip(quantile(0.4, df)).map(|(one, other)| one + other);
        t.is_some_and(|t| t * se <= d)
    };
    let most = (2..MOST_RUNS.ilog2() + 2).map(|power| 1 << power).find(shows)?;
    // The function falls, so that half of the rest can be left out each time.
    let (mut low, mut high) = (most / 2, most);
    while high - low > 1 {
        let middle = low.midpoint(high);
        if shows(&middle) { high = middle } else { low = middle }
    }
    Some(high)
}

/// The deviation of a run, or of the difference of a pair.
fn deviation(row: &Row, is_paired: bool) -> Option<f64> {
    let se = row.change.se;
    let [before, after] = row.n.map(f64::from);
    let deviation =
        if is_paired { se * before.sqrt() } else { se / (1.0 / before + 1.0 / after).sqrt() };
    Some(deviation).filter(|deviation| deviation.is_finite())
}
