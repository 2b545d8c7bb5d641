//! Values by the numbers of threads or uuids, for one part.
//!
//! # Design
//!
//! The numbers of an import's first part are small and mostly without gaps, so an array is fast. A later
//! part names few numbers, and they may be large: an array for each part would take memory for all parts
//! times all numbers. So a number that would leave most of the array empty has its value in a map, which
//! costs a few nanoseconds more.

use rustc_hash::FxHashMap;

use crate::pieces::Pieces;

/// The array takes any number below this.
const SMALL: usize = 64;

/// Values by number.
#[derive(Debug, Default)]
pub(crate) struct Numbered<T> {
    array: Pieces<T>,
    others: FxHashMap<u32, T>,
}

impl<T: Clone + Default> Numbered<T> {
    /// The value of a number, if it was set.
    #[inline]
    pub fn get(&self, number: u32) -> Option<&T> {
        match self.array.get(number as usize) {
            Some(value) => Some(value),
            None => self.others.get(&number),
        }
    }

    /// The value of a number, to be changed.
    #[inline]
    pub fn of(&mut self, number: u32) -> &mut T {
        let place = number as usize;
        match place < self.array.len() {
            true => &mut self.array[place],
            false => self.beyond(number),
        }
    }

    #[cold]
    fn beyond(&mut self, number: u32) -> &mut T {
        let place = number as usize;
        if place >= SMALL.max(2 * self.array.len()) {
            return self.others.entry(number).or_default();
        }
        while self.array.len() <= place {
            let next = self.array.len() as u32;
            let value = match self.others.is_empty() {
                true => None,
                false => self.others.remove(&next),
            };
            self.array.push(value.unwrap_or_default());
        }
        &mut self.array[place]
    }

    /// All values that were set, and others that are the default, by number.
    pub fn into_values(self) -> impl Iterator<Item = (u32, T)> {
        let mut others: Vec<_> = self.others.into_iter().collect();
        others.sort_unstable_by_key(|&(number, _)| number);
        (0..).zip(self.array).chain(others)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_number_has_the_value_that_was_set_last(
            sets in prop::collection::vec(
                (prop_oneof![0u32..200, 0u32..100_000, any::<u32>()], 1u64..9),
                0..300,
            )
        ) {
            let mut numbered = Numbered::default();
            let mut naive = BTreeMap::new();
            for (number, value) in sets {
                *numbered.of(number) = value;
                naive.insert(number, value);
            }
            for (number, value) in &naive {
                prop_assert_eq!(numbered.get(*number), Some(value));
            }
            prop_assert!(numbered.array.len() <= 2 * 100_000);
            let mut set: Vec<_> = numbered.into_values().collect();
            set.retain(|&(_, value)| value != 0);
            prop_assert_eq!(set, naive.into_iter().collect::<Vec<_>>());
        }
    }
}
