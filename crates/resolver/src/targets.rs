//! The paths to the most recent targets.

use crate::clock::Clock;
use crate::routes::{DomainIx, Over, Routes, Topology};
use crate::unresolved::Unresolved;

/// The number of targets whose paths are kept.
const TARGETS: usize = 16;

/// The solved paths for one target.
#[derive(Debug)]
struct Target {
    clock: Clock,
    routes: Routes,
    /// The same with assumptions, for clocks that have no route without them (rule X18).
    assumed: Option<Routes>,
    with_excluded: Option<Routes>,
}

/// The most recent targets.
#[derive(Debug, Default)]
pub(crate) struct Targets {
    targets: Vec<Target>,
    /// The oldest target, once the list is full.
    oldest: usize,
}

impl Targets {
    pub fn find(&self, clock: Clock) -> Option<usize> {
        self.targets.iter().position(|target| target.clock == clock)
    }

    pub fn add(&mut self, clock: Clock, domain: DomainIx) -> usize {
        let target = Target {
            clock,
            routes: Routes::new(domain, Over::Known),
            assumed: None,
            with_excluded: None,
        };
        if self.targets.len() < TARGETS {
            self.targets.push(target);
            return self.targets.len() - 1;
        }
        let index = self.oldest;
        self.targets[index] = target;
        self.oldest = (index + 1) % TARGETS;
        index
    }

    /// The edges of the path, or the reason why there is none (rules V7, X18).
    pub fn reach(
        &mut self,
        topology: &Topology,
        source: DomainIx,
        target: usize,
    ) -> Result<Over, Unresolved> {
        let target = &mut self.targets[target];
        target.routes.refresh(topology);
        if target.routes.reaches(source) {
            return Ok(Over::Known);
        }
        let domain = target.routes.target();
        if topology.assumes() {
            let routes = target.assumed.get_or_insert_with(|| Routes::new(domain, Over::Assumed));
            routes.refresh(topology);
            if routes.reaches(source) {
                return Ok(Over::Assumed);
            }
        }
        let routes =
            target.with_excluded.get_or_insert_with(|| Routes::new(domain, Over::Excluded));
        routes.refresh(topology);
        Err(match routes.reaches(source) {
            true => Unresolved::NonMonotonic,
            false => Unresolved::NoPath,
        })
    }

    /// The clock after `at` on the path to a reachable target.
    #[inline]
    pub fn next(&self, target: usize, over: Over, at: DomainIx) -> Option<DomainIx> {
        let target = &self.targets[target];
        match over {
            Over::Known => target.routes.next(at),
            Over::Assumed | Over::Excluded => target.assumed.as_ref()?.next(at),
        }
    }
}
