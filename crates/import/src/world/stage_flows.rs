//! Flows of the GPUs' render stages: from the slices that submit them, and to the slices that wait
//! for them (rule GP9).
//!
//! # Design
//!
//! As with other flows, the steps of slices are put aside, sorted by the id of the render stages,
//! and turned into links after the whole trace was read. In sound traces, each render stage has its
//! own id. If many slices have one id and many wait for it, each pair would be a link, and a trace
//! of a megabyte could make millions of rows. So there are limits, which sound traces do not reach.

use std::io;

use timebase_store::sort::{Scratch, Sorter};

use super::slice::SliceId;
use crate::compact::{Put, Take, cut};
use crate::output::{Counter, Fault, Faults};

/// The largest number of links of an id, for each slice so far that names the id.
const LINKS: usize = 64;

/// The limit for remembered slices of each kind, for an id that they name.
const REMEMBERED: usize = 1 << 16;

const TOO_MANY: Fault = Fault::new(
    Counter::data_loss(
        "gpu_flow_limit_exceeded",
        "links of one event id of a GPU are left out, as they are too many",
    )
    .drops_nothing(),
);

/// The relation of a slice to an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StageStep {
    /// A render stage with this id.
    Is,
    /// A slice of a track event that submitted the stage.
    Submits,
    /// A slice of a track event that waited for the stage.
    Awaits,
    /// Another render stage that waited for the stage.
    Follows,
}

impl StageStep {
    const ALL: [StageStep; 4] =
        [StageStep::Is, StageStep::Submits, StageStep::Awaits, StageStep::Follows];
}

/// The flows of all render stages.
pub(super) struct StageFlows {
    scratch: Scratch,
    steps: Option<Sorter<(i64, u64)>>,
    record: Vec<u8>,
}

/// A link: the order in which it was made, and its slices.
type Link = (u64, i64, i64);

/// The slices that name an id.
#[derive(Debug, Default)]
struct Named {
    stages: Vec<i64>,
    submission: Option<i64>,
    wait: Option<i64>,
    followers: Vec<i64>,
    /// The number of slices, of links, and of slices that lack links.
    steps: usize,
    links: usize,
    left_out: usize,
}

impl Named {
    /// Adds a slice, and links it with earlier slices.
    fn step(&mut self, step: StageStep, slice: i64, mut link: impl FnMut(i64, i64)) {
        self.steps = self.steps.saturating_add(1);
        let room = LINKS.saturating_mul(self.steps).saturating_sub(self.links);
        let mut asked: usize = 0;
        let mut link = |from, to| {
            asked = asked.saturating_add(1);
            if asked <= room {
                link(from, to);
            }
            asked <= room
        };
        let mut is_kept = true;
        match step {
            StageStep::Is => {
                is_kept = keep(&mut self.stages, slice);
                if let Some(submission) = self.submission {
                    link(submission, slice);
                }
                if let Some(wait) = self.wait {
                    link(slice, wait);
                }
                for &follower in &self.followers {
                    if !link(slice, follower) {
                        break;
                    }
                }
            }
            StageStep::Submits => {
                self.submission = Some(slice);
                for &stage in &self.stages {
                    if !link(slice, stage) {
                        break;
                    }
                }
            }
            StageStep::Awaits | StageStep::Follows => {
                for &stage in &self.stages {
                    if !link(stage, slice) {
                        break;
                    }
                }
                match step {
                    StageStep::Follows => is_kept = keep(&mut self.followers, slice),
                    _ => self.wait = Some(slice),
                }
            }
        }
        self.links = self.links.saturating_add(asked.min(room));
        if asked > room || !is_kept {
            self.left_out = self.left_out.saturating_add(1);
        }
    }
}

/// Remembers a slice, if there is room.
fn keep(slices: &mut Vec<i64>, slice: i64) -> bool {
    let has_room = slices.len() < REMEMBERED;
    if has_room {
        slices.push(slice);
    }
    has_room
}

impl StageFlows {
    /// Starts without flows. Steps that do not fit into memory go to `scratch`.
    pub fn new(scratch: &Scratch) -> Self {
        StageFlows { scratch: scratch.clone(), steps: None, record: Vec::new() }
    }

    /// Adds a slice that names an id of a machine; `order` is greater than the `order` of earlier
    /// slices.
    pub fn step(
        &mut self,
        (part, event_id): (u32, u64),
        step: StageStep,
        SliceId(slice): SliceId,
        order: u64,
    ) -> io::Result<()> {
        self.record.clear();
        Put(&mut self.record).natural(step as u64).natural(order).integer(slice);
        let scratch = &self.scratch;
        let steps = self.steps.get_or_insert_with(|| Sorter::new(scratch));
        steps.push((part.into(), event_id), &self.record)
    }

    /// Whether there is no step.
    pub fn is_empty(&self) -> bool {
        self.steps.is_none()
    }

    /// Calls `each` with all links.
    pub fn links(
        self,
        faults: &mut Faults,
        mut each: impl FnMut(Link) -> io::Result<()>,
    ) -> io::Result<()> {
        let Some(steps) = self.steps else {
            return Ok(());
        };
        let mut last = None;
        let mut named = Named::default();
        let mut left_out = 0u64;
        steps.finish(|&key, step| {
            if last.replace(key) != Some(key) {
                left_out = left_out.saturating_add(named.left_out as u64);
                named = Named::default();
            }
            let mut take = Take(step);
            let number = usize::try_from(take.natural()?).map_err(|_| cut())?;
            let step = *StageStep::ALL.get(number).ok_or_else(cut)?;
            let order = take.natural()?;
            let mut failed = Ok(());
            named.step(step, take.integer()?, |from, to| {
                if failed.is_ok() {
                    failed = each((order, from, to));
                }
            });
            failed
        })?;
        left_out = left_out.saturating_add(named.left_out as u64);
        faults.add_many(TOO_MANY, None, u32::try_from(left_out).unwrap_or(u32::MAX));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(steps: &[(StageStep, i64)]) -> (Vec<(i64, i64)>, usize) {
        let (mut named, mut links) = (Named::default(), Vec::new());
        for &(step, slice) in steps {
            named.step(step, slice, |from, to| links.push((from, to)));
        }
        (links, named.left_out)
    }

    #[test]
    fn gp9_links_are_made_in_whichever_order_slices_come() {
        use StageStep::{Awaits, Follows, Is, Submits};
        let (made, left_out) = links(&[
            (Follows, 1),
            (Submits, 2),
            (Awaits, 3),
            (Is, 4),
            (Is, 5),
            // The last one counts from now on.
            (Submits, 6),
            (Awaits, 7),
            (Follows, 8),
            (Is, 9),
        ]);
        let expected = [
            (2, 4),
            (4, 3),
            (4, 1),
            (2, 5),
            (5, 3),
            (5, 1),
            (6, 4),
            (6, 5),
            (4, 7),
            (5, 7),
            (4, 8),
            (5, 8),
            (6, 9),
            (9, 7),
            (9, 1),
            (9, 8),
        ];
        assert_eq!((made, left_out), (expected.to_vec(), 0));
    }

    #[test]
    fn gp9_an_id_has_at_most_64_links_for_each_slice() {
        let stages = (0..200).map(|slice| (StageStep::Is, slice));
        let followers = (200..400).map(|slice| (StageStep::Follows, slice));
        let (made, left_out) = links(&stages.chain(followers).collect::<Vec<_>>());
        assert_eq!((made.len(), made.last()), (400 * 64, Some(&(63, 399))));
        // The first 94 followers are linked with all 200 stages, for which 294 × 64 links suffice.
        assert_eq!(left_out, 400 - 294);
    }

    #[test]
    fn gp9_so_many_slices_of_an_id_are_remembered() {
        let (mut named, mut count) = (Named::default(), 0);
        for slice in 0..=REMEMBERED as i64 {
            named.step(StageStep::Is, slice, |_, _| {});
        }
        named.step(StageStep::Submits, -1, |_, _| count += 1);
        assert_eq!((count, named.left_out), (REMEMBERED, 1));
    }
}
