//! The choice of runs, their marks and pairs (rules CM11, CM17, CM18).

use std::collections::HashMap;

use regex::Regex;

use crate::comparison::{Compared, Mark, Unused};
use crate::error::{Error, Result};
use crate::run::{Run, RunId, Side};
use crate::settings::{Pairs, Settings};

/// The word for all marked runs.
const LOSSY: &str = "lossy";

/// The runs, used or not, and the pairs of used ones.
pub(crate) fn choose(
    runs: &[Run],
    settings: &Settings,
) -> Result<(Vec<Compared>, Vec<[RunId; 2]>)> {
    for name in &settings.leave_out {
        if name != LOSSY && !runs.iter().any(|run| run.name == *name) {
            return Err(Error::NoSuchRun { name: name.clone() });
        }
    }
    let places = places(runs);
    let mut compared: Vec<Compared> = runs
        .iter()
        .zip(places)
        .map(|(run, place)| {
            let marks = marks(run, settings.max_loss);
            Compared {
                unused: unused(run, &marks, place, settings),
                run: run.clone(),
                marks,
                factor: None,
                place,
                divisor: [1.0; 2],
                samples: [0.0; 2],
            }
        })
        .collect();
    let pairs = match &settings.pairs {
        None => Vec::new(),
        Some(pairs) => {
            let all = match pairs {
                Pairs::Order => in_order(runs)?,
                Pairs::By(regex) => by_key(runs, regex)?,
            };
            used_pairs(&mut compared, all)
        }
    };
    check_left(&compared)?;
    Ok((compared, pairs))
}

/// Refuses a choice that leaves out all runs of a side.
fn check_left(runs: &[Compared]) -> Result<()> {
    for (side, name) in [(Side::Before, "before"), (Side::After, "after")] {
        let of_side = || runs.iter().filter(|run| run.run.side == side);
        if let Some(first) = of_side().next().and_then(|run| run.unused)
            && of_side().all(|run| run.unused.is_some())
        {
            let flag = match first {
                Unused::LeftOut | Unused::Lossy => "--leave-out",
                Unused::First => "--skip-first",
                Unused::Unpaired => "--pair-by",
            };
            return Err(Error::NoRunLeft { side: name, flag, runs: of_side().count() });
        }
    }
    Ok(())
}

/// The place of each run in its side.
fn places(runs: &[Run]) -> Vec<usize> {
    let all_known = runs.iter().all(|run| run.facts.start.is_some());
    let mut order: Vec<usize> = (0..runs.len()).collect();
    if all_known {
        order.sort_by_key(|&at| runs.get(at).map(|run| (run.facts.start, run.name.as_str())));
    }
    let mut places = vec![0; runs.len()];
    let mut next = [0; 2];
    for at in order {
        if let (Some(run), Some(place)) = (runs.get(at), places.get_mut(at)) {
            let next = &mut next[run.side.index()];
            *place = *next;
            *next += 1;
        }
    }
    places
}

/// CM11: the marks of a run.
fn marks(run: &Run, max_loss: f64) -> Vec<Mark> {
    let facts = &run.facts;
    let left_out = facts.left_out.iter().filter(|(_, share)| *share > max_loss);
    let mut marks: Vec<Mark> =
        left_out.map(|&(family, share)| Mark::LeftOut(family, share)).collect();
    if facts.lost > max_loss {
        marks.push(Mark::Lost(facts.lost));
    }
    if facts.errors > 0 {
        marks.push(Mark::Errors(facts.errors));
    }
    marks
}

fn unused(run: &Run, marks: &[Mark], place: usize, settings: &Settings) -> Option<Unused> {
    if settings.leave_out.contains(&run.name) {
        return Some(Unused::LeftOut);
    }
    if !marks.is_empty() && settings.leave_out.iter().any(|name| name == LOSSY) {
        return Some(Unused::Lossy);
    }
    // CM18
    (place < settings.skip_first).then_some(Unused::First)
}

fn of_side(runs: &[Run], side: Side) -> Vec<RunId> {
    (0..).zip(runs).filter(|(_, run)| run.side == side).map(|(at, _)| RunId(at)).collect()
}

/// CM17: all runs of a side count, also those that are left out, so that no run moves to another partner.
fn in_order(runs: &[Run]) -> Result<Vec<[RunId; 2]>> {
    let [before, after] = Side::BOTH.map(|side| of_side(runs, side));
    if before.len() != after.len() {
        return Err(Error::NoPairs { before: before.len(), after: after.len() });
    }
    Ok(before.into_iter().zip(after).map(|(before, after)| [before, after]).collect())
}

fn by_key(runs: &[Run], regex: &Regex) -> Result<Vec<[RunId; 2]>> {
    let mut keys: HashMap<&str, [Option<RunId>; 2]> = HashMap::new();
    for (at, run) in (0..).zip(runs) {
        let Some(found) = regex.captures(&run.name) else { continue };
        let Some(key) = found.get(1).or(found.get(0)) else { continue };
        let sides = keys.entry(key.as_str()).or_default();
        let place = &mut sides[run.side.index()];
        if let Some(first) = place.and_then(|id| runs.get(id.index())) {
            return Err(Error::PairTwice {
                first: first.name.clone(),
                second: run.name.clone(),
                key: key.as_str().to_owned(),
            });
        }
        *place = Some(RunId(at));
    }
    let mut pairs: Vec<[RunId; 2]> =
        keys.into_values().filter_map(|[before, after]| Some([before?, after?])).collect();
    pairs.sort();
    Ok(pairs)
}

/// Leaves out runs without a partner.
fn used_pairs(runs: &mut [Compared], mut pairs: Vec<[RunId; 2]>) -> Vec<[RunId; 2]> {
    let is_used = |id: &RunId| runs.get(id.index()).is_some_and(|run| run.unused.is_none());
    pairs.retain(|pair| pair.iter().all(is_used));
    let mut is_paired = vec![false; runs.len()];
    for id in pairs.iter().flatten() {
        if let Some(paired) = is_paired.get_mut(id.index()) {
            *paired = true;
        }
    }
    for (run, paired) in runs.iter_mut().zip(is_paired) {
        if !paired {
            run.unused = run.unused.or(Some(Unused::Unpaired));
        }
    }
    pairs
}
