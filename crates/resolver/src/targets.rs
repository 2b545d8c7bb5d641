//! The paths to the targets that were asked for last.

use crate::clock::Clock;
use crate::routes::{DomainIx, Over, Routes, Topology};
use crate::unresolved::Unresolved;

/// How many targets keep their paths.
const TARGETS: usize = 16;

/// What is solved for one target.
#[derive(Debug)]
struct Target {
    clock: Clock,
    routes: Routes,
    /// The same over what is assumed, for clocks that have no route without (rule X18).
    assumed: Option<Routes>,
    with_excluded: Option<Routes>,
}

/// The targets that were asked for last.
#[derive(Debug, Default)]
pub(crate) struct Targets {
    targets: Vec<Target>,
    /// The one that was asked for first, once there is no room.
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

    /// Over what there is a path, or why there is none (rules V7, X18).
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
            let routes = target
                .assumed
                .get_or_insert_with(|| Routes::new(domain, Over::Assumed));
            routes.refresh(topology);
            if routes.reaches(source) {
                return Ok(Over::Assumed);
            }
        }
        let routes = target
            .with_excluded
            .get_or_insert_with(|| Routes::new(domain, Over::Excluded));
        routes.refresh(topology);
        Err(match routes.reaches(source) {
            true => Unresolved::NonMonotonic,
            false => Unresolved::NoPath,
        })
    }

    /// The clock after `at` on the way to a target that was reached.
    #[inline]
    pub fn next(&self, target: usize, over: Over, at: DomainIx) -> Option<DomainIx> {
        let target = &self.targets[target];
        match over {
            Over::Known => target.routes.next(at),
            Over::Assumed | Over::Excluded => target.assumed.as_ref()?.next(at),
        }
    }
}
