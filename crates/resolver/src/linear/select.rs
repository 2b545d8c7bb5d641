//! Numbers at places in the order of all, such as a median.
//!
//! # Design
//!
//! Up to a limit, an array has the numbers. A search in more of them goes through them twice. The first pass
//! takes a sample (every second, fourth … number), which shows a narrow range around the wanted
//! place. The second pass collects the numbers in this range, and counts the ones before it. So the result is
//! exact, and memory hardly grows. If the wanted place is not in the range, an array gets all numbers after all.
//!
//! One alternative was to keep all numbers: 8 bytes for each reading. Another was to count them in 65,536 ranges,
//! then in as many parts of one range, and so on. It depends on no sample, but needs four passes or more.

use std::cmp::Ordering;

use super::knot::middles;

/// The largest number of numbers in an array.
const MOST: usize = if cfg!(test) { 16 } else { 1 << 17 };
/// The range begins this part of a sample before the wanted place, and ends as much behind it. That is six
/// times the uncertainty of a place in a sample of chance.
const ASIDE: f64 = if cfg!(test) { 0.25 } else { 0.01 };

/// The number in the middle, or the mean of the two in the middle; `None` without numbers.
pub(super) fn median<I: Iterator<Item = f64>>(numbers: impl Fn() -> I) -> Option<f64> {
    let [lower, upper] = medians(numbers)?;
    Some(lower + (upper - lower) / 2.0)
}

/// The two numbers in the middle, which are equal for an odd count.
pub(super) fn medians<I: Iterator<Item = f64>>(numbers: impl Fn() -> I) -> Option<[f64; 2]> {
    let mut sample = Sample::of(numbers());
    if sample.is_all() {
        return middles(&mut sample.numbers);
    }
    sample.places(numbers, |count| [(count - 1) / 2, count / 2], f64::total_cmp)
}

/// The numbers at two places in the order of all, the lower one first; `None` without numbers.
pub(super) fn places<T: Copy, I: Iterator<Item = T>>(
    numbers: impl Fn() -> I,
    of_count: impl Fn(usize) -> [usize; 2],
    order: impl Fn(&T, &T) -> Ordering + Copy,
) -> Option<[T; 2]> {
    Sample::of(numbers()).places(numbers, of_count, order)
}

/// The number at half of all weight. Each number is in the middle of its own weight; between two,
/// the median is on the straight line.
pub(super) fn weighted_median<I: Iterator<Item = (f64, f64)>>(
    numbers: impl Fn() -> I,
) -> Option<f64> {
    let mut sample = Sample::of(numbers());
    if !sample.is_all() {
        if let Some(found) = sample.weighted_median(&numbers) {
            return Some(found);
        }
        sample.numbers = numbers().collect();
    }
    let mut all = sample.numbers;
    all.sort_unstable_by(by_number);
    let half = weight(all.iter().copied()) / 2.0;
    let mut walk = Walk::default();
    let found = all.into_iter().find_map(|number| walk.pass(number, half));
    found.or(walk.before.map(|(number, _)| number))
}

fn by_number((one, _): &(f64, f64), (other, _): &(f64, f64)) -> Ordering {
    one.total_cmp(other)
}

fn weight(numbers: impl Iterator<Item = (f64, f64)>) -> f64 {
    numbers.map(|(_, weight)| weight).sum()
}

/// All numbers, or every so many of them.
struct Sample<T> {
    numbers: Vec<T>,
    /// The distance of two of them, a power of two.
    every: usize,
    /// The number of all numbers.
    count: usize,
}

impl<T: Copy> Sample<T> {
    fn of(all: impl Iterator<Item = T>) -> Sample<T> {
        let mut sample = Sample { numbers: Vec::new(), every: 1, count: 0 };
        all.for_each(|number| {
            if sample.count & (sample.every - 1) == 0 {
                if sample.numbers.len() == MOST {
                    let mut is_odd = true;
                    sample.numbers.retain(|_| {
                        is_odd = !is_odd;
                        !is_odd
                    });
                    sample.every *= 2;
                }
                // If half of them were dropped, this one is also the next of the rest.
                sample.numbers.push(number);
            }
            sample.count += 1;
        });
        sample
    }

    fn is_all(&self) -> bool {
        self.every == 1
    }

    /// The numbers at two places in the order of all.
    fn places<I: Iterator<Item = T>>(
        mut self,
        all: impl Fn() -> I,
        of_count: impl Fn(usize) -> [usize; 2],
        order: impl Fn(&T, &T) -> Ordering + Copy,
    ) -> Option<[T; 2]> {
        if self.count == 0 {
            return None;
        }
        let wanted = of_count(self.count);
        if self.is_all() {
            return at(&mut self.numbers, wanted, order);
        }
        self.numbers.sort_unstable_by(order);
        let place = wanted[0] / self.every;
        let range = self.range(place..=place, order);
        let (mut before, mut count, mut own) = (0, 0, Vec::new());
        all().for_each(|number| match range.place(&number, order) {
            Ordering::Less => before += 1,
            Ordering::Equal => {
                count += 1;
                if !range.is_one {
                    own.push(number);
                }
            }
            Ordering::Greater => {}
        });
        let places = wanted.map(|place| place.checked_sub(before).filter(|&place| place < count));
        match places {
            [Some(_), Some(_)] if range.is_one => range.first.map(|number| [number; 2]),
            [Some(lower), Some(upper)] => at(&mut own, [lower, upper], order),
            _ => at(&mut all().collect::<Vec<T>>(), wanted, order),
        }
    }

    /// The range around some places of the sample, which is in order.
    fn range(
        &self,
        places: std::ops::RangeInclusive<usize>,
        order: impl Fn(&T, &T) -> Ordering,
    ) -> InRange<T> {
        let aside = (self.numbers.len() as f64 * ASIDE) as usize + 1;
        let first = places.start().checked_sub(aside).and_then(|place| self.numbers.get(place));
        let last = self.numbers.get(places.end() + aside);
        let is_one = first.zip(last).is_some_and(|(first, last)| order(first, last).is_eq());
        InRange { first: first.copied(), last: last.copied(), is_one }
    }
}

/// The numbers at two places of an array.
fn at<T: Copy>(
    numbers: &mut [T],
    [lower, upper]: [usize; 2],
    order: impl Fn(&T, &T) -> Ordering + Copy,
) -> Option<[T; 2]> {
    if lower >= numbers.len() {
        return None;
    }
    let (_, &mut first, above) = numbers.select_nth_unstable_by(lower, order);
    let second = match upper.checked_sub(lower + 1) {
        Some(place) if place < above.len() => *above.select_nth_unstable_by(place, order).1,
        _ => first,
    };
    Some([first, second])
}

/// The numbers from the first to the last. `None` is no bound.
struct InRange<T> {
    first: Option<T>,
    last: Option<T>,
    /// Whether all of them are equal.
    is_one: bool,
}

impl<T> InRange<T> {
    /// Whether a number is before the range, in it, or after it.
    fn place(&self, number: &T, order: impl Fn(&T, &T) -> Ordering) -> Ordering {
        let is_before = |first: &T| order(number, first).is_lt();
        let is_after = |last: &T| order(number, last).is_gt();
        match (&self.first, &self.last) {
            (Some(first), _) if is_before(first) => Ordering::Less,
            (_, Some(last)) if is_after(last) => Ordering::Greater,
            _ => Ordering::Equal,
        }
    }
}

impl Sample<(f64, f64)> {
    /// The weighted median of all numbers; `None` if the sample does not lead to it.
    fn weighted_median<I: Iterator<Item = (f64, f64)>>(
        &mut self,
        all: impl Fn() -> I,
    ) -> Option<f64> {
        self.numbers.sort_unstable_by(by_number);
        let half = weight(self.numbers.iter().copied()) / 2.0;
        let mut walk = Walk::default();
        let place = self.numbers.iter().position(|&number| walk.pass(number, half).is_some())?;
        let range = self.range(place..=place, by_number);
        let half = weight(all()) / 2.0;
        let (mut before, mut own) = (0.0, Vec::new());
        // The first and the last weight of equal numbers, and the sum.
        let mut equal: Option<[f64; 3]> = None;
        all().for_each(|number| match range.place(&number, by_number) {
            Ordering::Less => before += number.1,
            Ordering::Equal if range.is_one => {
                let [first, _, sum] = equal.unwrap_or([number.1, 0.0, 0.0]);
                equal = Some([first, number.1, sum + number.1]);
            }
            Ordering::Equal => own.push(number),
            Ordering::Greater => {}
        });
        if let Some([first, last, sum]) = equal {
            let is_there = before + first / 2.0 < half && half <= before + sum - last / 2.0;
            return range.first.map(|(number, _)| number).filter(|_| is_there);
        }
        own.sort_by(by_number);
        let first = own.first()?;
        // The median may be between the first number and the one before the range.
        if range.first.is_some() && before + first.1 / 2.0 >= half {
            return None;
        }
        let mut walk = Walk { until: before, before: None };
        own.into_iter().find_map(|number| walk.pass(number, half))
    }
}

/// The weights up to a number.
#[derive(Debug, Clone, Copy, Default)]
struct Walk {
    until: f64,
    /// The last number, and the place of its middle.
    before: Option<(f64, f64)>,
}

impl Walk {
    /// Passes a number. Returns the median if it is up to there.
    fn pass(&mut self, (number, weight): (f64, f64), half: f64) -> Option<f64> {
        let place = self.until + weight / 2.0;
        if let Some((lower, from)) = self.before
            && place >= half
        {
            return Some(lower + (number - lower) * ((half - from) / (place - from)).min(1.0));
        }
        self.before = Some((number, place));
        self.until += weight;
        None
    }
}

/// Numbers that are needed several times: in an array, unless they are too many.
pub(super) struct Again<T, F> {
    few: Option<Vec<T>>,
    all: F,
}

impl<T: Copy, I: Iterator<Item = T>, F: Fn() -> I> Again<T, F> {
    pub fn new(all: F) -> Again<T, F> {
        let mut few: Vec<T> = Vec::new();
        let mut next = all();
        few.extend(next.by_ref().take(MOST));
        let is_all = next.next().is_none();
        Again { few: is_all.then_some(few), all }
    }

    pub fn iter(&self) -> impl Iterator<Item = T> {
        let many = self.few.is_none().then(|| (self.all)());
        self.few.iter().flatten().copied().chain(many.into_iter().flatten())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn number() -> impl Strategy<Value = f64> {
        prop_oneof![
            4 => (-9i32..9).prop_map(|number| f64::from(number) / 4.0),
            4 => -1e6..1e6,
            1 => any::<f64>().prop_filter("a number", |number| number.is_finite()),
            1 => Just(0.0),
            1 => Just(-0.0),
        ]
    }

    /// Numbers in any order, in their own order, and mostly equal ones.
    fn numbers() -> impl Strategy<Value = Vec<f64>> {
        let any = || prop::collection::vec(number(), 1..300);
        let sorted = any().prop_map(|mut numbers| {
            numbers.sort_unstable_by(f64::total_cmp);
            numbers
        });
        let equal = prop::collection::vec(prop_oneof![8 => Just(1.0), 1 => number()], 1..300);
        prop_oneof![any(), sorted, equal]
    }

    proptest! {
        #[test]
        fn r1_many_numbers_have_the_same_places_as_few(
            numbers in numbers(),
            parts in (0.0..1.0, 0.0..1.0),
        ) {
            let mut sorted = numbers.clone();
            sorted.sort_unstable_by(f64::total_cmp);
            let count = sorted.len();
            let place = |part: f64| ((part * count as f64) as usize).min(count - 1);
            let mut wanted = [place(parts.0), place(parts.1)];
            wanted.sort_unstable();
            let found = places(|| numbers.iter().copied(), |_| wanted, f64::total_cmp).unwrap();
            let expected = wanted.map(|place| sorted[place].to_bits());
            prop_assert_eq!(found.map(f64::to_bits), expected);
            let middles = [sorted[(count - 1) / 2], sorted[count / 2]];
            let found = medians(|| numbers.iter().copied()).unwrap();
            prop_assert_eq!(found.map(f64::to_bits), middles.map(f64::to_bits));
        }

        #[test]
        fn r33_the_weights_of_many_numbers_count_as_those_of_few(
            numbers in numbers(),
            weights in prop::collection::vec(1u32..9, 300),
        ) {
            // Equal numbers have equal weights here, so that they may come in any order.
            let weight = |number: f64| weights[(number.to_bits() % 299) as usize];
            let numbers = numbers.into_iter().map(|number| (number, f64::from(weight(number))));
            let numbers: Vec<(f64, f64)> = numbers.collect();
            let mut sorted = numbers.clone();
            sorted.sort_by(by_number);
            let half = sorted.iter().map(|of| of.1).sum::<f64>() / 2.0;
            let mut walk = Walk::default();
            let found = sorted.iter().find_map(|&number| walk.pass(number, half));
            let few = found.or(walk.before.map(|(number, _)| number));
            let many = weighted_median(|| numbers.iter().copied());
            prop_assert_eq!(few.map(f64::to_bits), many.map(f64::to_bits));
        }
    }
}
