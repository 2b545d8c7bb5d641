//! Collectives of PyTorch's ranks: no rank leaves one before the last has entered it (rule AL3).
//!
//! # Design
//!
//! A trace may have millions of collectives, so they are never all in memory: records are sorted on disk until all of one
//! collective are next to each other. Temporary tables of SQLite were the alternative, with the same sorts: their files
//! would not count for the limit of disk space.
//!
//! | question | where it is decided |
//! |---|---|
//! | the arguments that count | `arguments.rs` |
//! | the kernels of a participation, and their launches and operators | `kernels.rs` |
//! | which participations belong together | `numbered.rs` |
//! | the records | `participation.rs` |
//! | the messages, and the ends of rule AL19 | here |

mod arguments;
mod kernels;
mod numbered;
mod participation;

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use rusqlite::Connection;
use timebase_resolver::align::CollectiveEnds;
use timebase_store::sort::Scratch;

use self::arguments::Group;
use self::kernels::{Kernels, NamedBy};
use self::numbered::{Numbered, Steps};
use self::participation::Participation;
use super::clocks::AlignedClocks;
use super::packets::Packets;
use super::staged::{Kind, StagedPairs};
use crate::error::WriteError;

/// Collectives in which each rank waits for each.
const ALL_TO_ALL: [&str; 7] = [
    "allreduce",
    "allgather",
    "_allgather_base",
    "reduce_scatter",
    "_reduce_scatter_base",
    "barrier",
    "alltoall",
];
/// With more clocks than this, only pairs with the first ranks count.
const MANY: usize = 32;
const FIRST: usize = 8;
/// The collectives of a group whose ends are kept (rule AL19).
const ENDS: usize = 4096;

/// Where events are read.
pub(super) struct Context<'c, 'e> {
    pub conn: &'c Connection,
    pub clocks: &'c mut AlignedClocks<'e>,
    pub packets: &'c Packets<'c>,
    pub scratch: &'c Scratch,
}

/// Adds the messages of all collectives of clocks with these ranks, and returns the ends of those in which all ranks wait for all.
///
/// # Errors
///
/// If the database or a temporary file cannot be read or written.
pub(super) fn add(
    context: &mut Context<'_, '_>,
    ranks: &BTreeMap<usize, i64>,
    staged: &mut StagedPairs,
) -> Result<Vec<CollectiveEnds>, WriteError> {
    let Some(by) = NamedBy::find(context.conn)? else { return Ok(Vec::new()) };
    let (mut groups, mut all) = numbered(context, by)?;
    let mut steps = Steps::default();
    if all.needs_steps() {
        if by == NamedBy::Kernels {
            (groups, all) = numbered(context, NamedBy::Launches)?;
        }
        steps = Steps::read(context)?;
    }
    let identified = all.identify(&steps)?;
    identified.lost.each(|clocks, count| staged.add_unpaired(Kind::Collectives, clocks, count));
    let mut first = identified.clocks.clone();
    if first.len() > MANY {
        first = first.into_iter().take(FIRST).collect();
    }
    let mut collectives =
        Collectives { groups, ranks, first, staged, members: Vec::new(), ends: Ends::default() };
    let mut last = None;
    identified.each(|which, of| {
        if last.replace(which) != Some(which) {
            collectives.close()?;
        }
        collectives.members.push(of);
        Ok(())
    })?;
    collectives.close()?;
    Ok(collectives.ends.kept)
}

/// Reads all participations, and sorts them by their groups and numbers.
fn numbered(
    context: &mut Context<'_, '_>,
    by: NamedBy,
) -> Result<(Vec<Group>, Numbered), WriteError> {
    let kernels = Kernels::read(context, by)?;
    let (groups, places) = kernels.groups.in_order();
    Ok((groups, Numbered::new(kernels.sorted, &places, context.scratch)?))
}

/// Makes messages of collectives.
struct Collectives<'a> {
    groups: Vec<Group>,
    ranks: &'a BTreeMap<usize, i64>,
    /// The clocks of which one is in each pair.
    first: BTreeSet<usize>,
    staged: &'a mut StagedPairs,
    /// The participations in the current collective.
    members: Vec<Participation>,
    ends: Ends,
}

impl Collectives<'_> {
    /// Ends the current collective.
    fn close(&mut self) -> io::Result<()> {
        let members = std::mem::take(&mut self.members);
        let group = members.first().and_then(|of| usize::try_from(of.group).ok());
        let Some((number, group)) = group.and_then(|of| Some((of, self.groups.get(of)?))) else {
            return Ok(());
        };
        if !agree(group.name(), &members) {
            return Ok(());
        }
        let has_empty_split = members.iter().any(|of| of.has_empty_split);
        let is_all_to_all = is_all_to_all(group.name(), has_empty_split);
        let first = &self.first;
        let counts = |one: usize, other: usize| first.contains(&one) || first.contains(&other);
        messages((group.name(), is_all_to_all), &members, self.ranks, |out, into| {
            match counts(out.clock(), into.clock()) {
                true => self.staged.add(Kind::Collectives, &out.starts(), &into.ends()),
                false => Ok(()),
            }
        })?;
        if is_all_to_all {
            self.ends.add(number, &members);
        }
        Ok(())
    }
}

/// The ends of collectives: all of a group, or every k-th one if there are many.
#[derive(Debug, Default)]
struct Ends {
    kept: Vec<CollectiveEnds>,
    /// The current group, the place of its first ends, how many there were, and k.
    group: usize,
    since: usize,
    seen: usize,
    stride: usize,
}

impl Ends {
    /// Adds a collective; those of a group come one after the other.
    fn add(&mut self, group: usize, members: &[Participation]) {
        if self.stride == 0 || self.group != group {
            (self.group, self.since, self.seen, self.stride) = (group, self.kept.len(), 0, 1);
        }
        if self.seen.is_multiple_of(self.stride) {
            let ends = members.iter().map(|of| (of.clock(), of.end));
            self.kept.push(CollectiveEnds(ends.collect()));
        }
        self.seen += 1;
        if self.kept.len() - self.since > ENDS {
            let (since, mut place) = (self.since, 0);
            self.kept.retain(|_| {
                let is_kept = place < since || (place - since).is_multiple_of(2);
                place += 1;
                is_kept
            });
            self.stride *= 2;
        }
    }
}

/// Whether all ranks of a collective say the same of their data.
fn agree(name: &str, members: &[Participation]) -> bool {
    let clocks: BTreeSet<u64> = members.iter().map(|of| of.clock).collect();
    let said: BTreeSet<(u64, bool)> =
        members.iter().map(|of| (of.data, of.has_empty_split)).collect();
    clocks.len() == members.len() && (said.len() == 1 || name.starts_with("alltoall"))
}

fn is_all_to_all(name: &str, has_empty_split: bool) -> bool {
    let is_alltoall = name.starts_with("alltoall");
    (is_alltoall || ALL_TO_ALL.contains(&name)) && !(is_alltoall && has_empty_split)
}

/// Gives each start and the end that comes after it.
fn messages(
    (name, is_all_to_all): (&str, bool),
    members: &[Participation],
    ranks: &BTreeMap<usize, i64>,
    mut each: impl FnMut(&Participation, &Participation) -> io::Result<()>,
) -> io::Result<()> {
    let mut between = |is_message: &dyn Fn(&Participation, &Participation) -> bool| {
        for out in members {
            for into in members.iter().filter(|into| into.clock != out.clock) {
                if is_message(out, into) {
                    each(out, into)?;
                }
            }
        }
        Ok(())
    };
    let rank = |of: &Participation| ranks.get(&of.clock()).copied();
    let is = |of: &Participation, named: Option<i64>| named.is_some() && rank(of) == named;
    match name {
        _ if is_all_to_all => between(&|_, _| true),
        "broadcast" | "scatter" => between(&|out, _| is(out, out.root)),
        "reduce" | "gather" => between(&|_, into| is(into, into.root)),
        "send" | "recv" => between(&|out, into| is(out, out.source) && is(into, into.destination)),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn al19_of_many_collectives_every_kth_of_a_group_counts() {
        let of = |clock, end| Participation { clock, end, ..Participation::default() };
        let mut ends = Ends::default();
        for (group, count) in [(0, 3), (2, 4096), (5, 20_000), (6, 9)] {
            for number in 0..count {
                ends.add(group, &[of(0, number), of(1, number + 7)]);
            }
        }
        let kept: Vec<i64> = ends.kept.iter().map(|CollectiveEnds(ends)| ends[0].1).collect();
        let all = (0..3).chain(0..4096).chain((0..20_000).step_by(8)).chain(0..9);
        assert_eq!(kept, all.collect::<Vec<i64>>());
    }
}
