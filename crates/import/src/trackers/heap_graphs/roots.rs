//! The objects that the roots of a graph lead to (rule HG7).
//!
//! # Design
//!
//! All roots together are the start of one search by breadth. So each object and each reference is visited once, an
//! object gets its least distance, and the reference by which the search came is the end of a shortest path. This
//! reference is a column of the object's row, so that a path costs as much as it is long.

use super::classes::Classes;
use super::graph::Graph;
use super::objects::ObjectIx;

/// The kinds of references that do not keep their referents alive: weak, finalizer and phantom references.
const WEAK: [u8; 3] = [9, 10, 11];

const NONE: u32 = u32::MAX;

/// How roots lead to objects.
#[derive(Debug)]
pub(super) struct Reached {
    /// The number of a root's type, plus 1.
    root_types: Vec<u8>,
    distances: Vec<i32>,
    /// The place of the last reference of a shortest path.
    via: Vec<u32>,
}

/// The rank of a root's type: a lower one replaces it.
fn rank(root_type: u8) -> u8 {
    match root_type {
        5 => 0, // ROOT_STICKY_CLASS
        1 => 1, // ROOT_JNI_GLOBAL
        2 => 2, // ROOT_JNI_LOCAL
        _ => 3,
    }
}

impl Reached {
    /// Searches from the roots. `is_referent` tells whether a reference is that of a `java.lang.ref.Reference`.
    pub fn from(
        roots: &[(ObjectIx, u8)],
        graph: &Graph,
        classes: &Classes,
        is_referent: impl Fn(u32) -> bool,
    ) -> Reached {
        let count = graph.objects.rows.count() as usize;
        let mut reached = Reached {
            root_types: vec![0; count],
            distances: vec![-1; count],
            via: vec![NONE; count],
        };
        let mut queue = Vec::new();
        for &(object, root_type) in roots {
            if reached.mark(object, root_type) {
                queue.push(object);
            }
        }
        let mut distance = 0i32;
        while !queue.is_empty() {
            distance = distance.saturating_add(1);
            let mut next = Vec::new();
            for object in queue {
                let Some(set) = graph.objects.set(object) else { continue };
                let class = classes.get(graph.objects.class(object));
                let kind = class.and_then(|class| class.kind);
                let is_weak = kind.is_some_and(|kind| WEAK.contains(&kind));
                for place in graph.references.of(set) {
                    let Some(owned) = graph.references.owned(place) else { continue };
                    if is_weak && is_referent(place) {
                        continue;
                    }
                    if reached.reach(owned, distance, place) {
                        next.push(owned);
                    }
                }
            }
            queue = next;
        }
        reached
    }

    /// Makes an object a root; returns whether it was none before.
    fn mark(&mut self, ObjectIx(place): ObjectIx, root_type: u8) -> bool {
        let place = place as usize;
        let (Some(known), Some(distance)) =
            (self.root_types.get_mut(place), self.distances.get_mut(place))
        else {
            return false;
        };
        *distance = 0;
        let before = known.checked_sub(1);
        if before.is_none_or(|before| rank(root_type) < rank(before)) {
            *known = root_type.saturating_add(1);
        }
        before.is_none()
    }

    /// Comes to an object; returns whether for the first time.
    fn reach(&mut self, ObjectIx(object): ObjectIx, by: i32, reference: u32) -> bool {
        let object = object as usize;
        let (Some(distance), Some(via)) =
            (self.distances.get_mut(object), self.via.get_mut(object))
        else {
            return false;
        };
        let is_new = *distance < 0;
        if is_new {
            (*distance, *via) = (by, reference);
        }
        is_new
    }

    pub fn root_type(&self, ObjectIx(place): ObjectIx) -> Option<u8> {
        self.root_types.get(place as usize)?.checked_sub(1)
    }

    pub fn distance(&self, ObjectIx(place): ObjectIx) -> i32 {
        self.distances.get(place as usize).copied().unwrap_or(-1)
    }

    pub fn via(&self, ObjectIx(place): ObjectIx) -> Option<u32> {
        self.via.get(place as usize).copied().filter(|via| *via != NONE)
    }
}
