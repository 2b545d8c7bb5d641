//! Flows that have a name, and get a number from 0 on in the order of their first events (rules JS23, JS24).
//!
//! # Design
//!
//! Whether an event is the first of its flow is known only from all earlier ones. A map from names to numbers tells it at
//! once, and keeps each flow to the end of the trace: 72 MB for a million. So the steps are put aside by name. Sorted, they
//! show the first event of each flow; sorted by these, they are in the order of the numbers. An import of a million flows
//! takes as long as with the map.
//!
//! The key of a number in a name is exact, and that of a text is a hash of 127 bits. Among 10⁹ texts two have the same one
//! with a probability of 10⁻²⁰, and would be one flow.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;

use rustc_hash::FxHashMap;
use timebase_store::sort::{Scratch, Sorter};

use crate::compact::{Put, Take};

/// A flow by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FlowName {
    /// Equal if the names are.
    key: (i64, u64),
    /// The space of its number.
    space: u64,
}

/// Keys of texts have this bit, and those of numbers have not: there are fewer parts.
const IS_TEXT: u64 = 1 << 63;

impl FlowName {
    /// A number in the flows of a kind in a part. The number of the flow is unique in `space`.
    pub fn number(space: u64, part: u32, kind: u32, id: u64) -> FlowName {
        let key = (id as i64, u64::from(part) << 32 & !IS_TEXT | u64::from(kind));
        FlowName { key, space }
    }

    /// A text in the flows of a kind in a part.
    pub fn text(space: u64, part: u32, kind: u32, id: &str) -> FlowName {
        let half = |number: u8| {
            let mut hasher = DefaultHasher::new();
            (number, space, part, kind, id).hash(&mut hasher);
            hasher.finish()
        };
        FlowName { key: (half(0) as i64, half(1) | IS_TEXT), space }
    }
}

/// The events of named flows.
#[derive(Debug)]
pub(super) struct NamedFlows {
    scratch: Scratch,
    events: Option<Sorter<(i64, u64)>>,
    record: Vec<u8>,
}

/// The number of a flow, and the space in which it is unique.
pub(super) type FlowNumber = (i64, u64);

impl NamedFlows {
    /// No events yet. Those that do not fit into memory go to `scratch`.
    pub fn new(scratch: &Scratch) -> Self {
        NamedFlows { scratch: scratch.clone(), events: None, record: Vec::new() }
    }

    /// Adds an event, which comes after all earlier ones and has a greater `order`: a step, or none if it only takes part in
    /// the numbering.
    pub fn add(&mut self, name: FlowName, order: u64, step: &[u8]) -> io::Result<()> {
        self.record.clear();
        Put(&mut self.record).natural(name.space).natural(order).rest(step);
        let scratch = &self.scratch;
        let events = self.events.get_or_insert_with(|| Sorter::new(scratch));
        events.push(name.key, &self.record)
    }

    /// Whether there is no event.
    pub fn is_empty(&self) -> bool {
        self.events.is_none()
    }

    /// Gives the steps of each flow with its number, in the order in which they were added.
    pub fn steps(
        self,
        mut each: impl FnMut(FlowNumber, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let Some(events) = self.events else { return Ok(()) };
        let mut by_first: Sorter<(i64, u64)> = Sorter::new(&self.scratch);
        let (mut last, mut first) = (None, 0);
        events.finish(|&key, record| {
            let mut take = Take(record);
            let (space, order) = (take.natural()?, take.natural()?);
            let is_first = last.replace(key) != Some(key);
            if is_first {
                first = order;
            }
            match is_first || !take.0.is_empty() {
                true => by_first.push((first as i64, space), take.0),
                false => Ok(()),
            }
        })?;
        let mut next: FxHashMap<u64, i64> = FxHashMap::default();
        let (mut last, mut number) = (None, 0);
        by_first.finish(|&key, step| {
            let (_, space) = key;
            if last.replace(key) != Some(key) {
                let next = next.entry(space).or_default();
                number = *next;
                *next += 1;
            }
            match step.is_empty() {
                true => Ok(()),
                false => each((number, space), step),
            }
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;

    use timebase_store::sort::Quota;

    use super::*;

    /// The events of flows in a random order: each with its space, kind and id, and whether it has a step.
    fn events(count: u64) -> Vec<(u64, u32, u64, bool)> {
        let mut state = 7_u64;
        let mut below = |most: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % most
        };
        let event = |_| (below(3), below(2) as u32, below(count / 3 + 1), below(4) > 0);
        (0..count).map(event).collect()
    }

    #[test]
    fn js23_flows_are_numbered_by_their_first_events() {
        let scratch = Scratch::new(&std::env::temp_dir(), &Quota::default());
        // In memory, and on disk.
        for count in [50, 60_000] {
            let mut flows = NamedFlows::new(&scratch);
            let mut numbers: BTreeMap<(u64, u32, u64), i64> = BTreeMap::new();
            let mut next: BTreeMap<u64, i64> = BTreeMap::new();
            let mut expected: BTreeMap<FlowNumber, Vec<u64>> = BTreeMap::new();
            for (order, (space, kind, id, has_step)) in (0..).zip(events(count)) {
                let number = *numbers.entry((space, kind, id)).or_insert_with(|| {
                    let next = next.entry(space).or_default();
                    *next += 1;
                    *next - 1
                });
                // Half of the ids are texts.
                let name = match id % 2 {
                    0 => FlowName::number(space, space as u32, kind, id),
                    _ => FlowName::text(space, space as u32, kind, &id.to_string()),
                };
                let bytes = u64::to_le_bytes(order);
                let step = if has_step { &bytes[..] } else { &[] };
                flows.add(name, order, step).unwrap();
                if has_step {
                    expected.entry((number, space)).or_default().push(order);
                }
            }
            let mut found: BTreeMap<FlowNumber, Vec<u64>> = BTreeMap::new();
            let each = |number, step: &[u8]| {
                let order = u64::from_le_bytes(*step.first_chunk().unwrap());
                found.entry(number).or_default().push(order);
                Ok(())
            };
            flows.steps(each).unwrap();
            assert!(found == expected, "{count}");
        }
    }
}
