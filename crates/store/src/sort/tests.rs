//! The result must be the same as that of a stable sort in memory.
#![allow(clippy::unwrap_used)]

use std::io::{self, Seek, SeekFrom, Write};

use proptest::prelude::*;

use crate::sort::merge::merged;
use crate::sort::records::Records;
use crate::sort::runs::{Aside, Runs};
use crate::sort::{Key, LONGEST_NUMBER, Sorter, put_difference, take_difference};

type Record<K> = (K, Vec<u8>);

fn sorted<K: Key>(stretch: usize, records: &[Record<K>]) -> Vec<Record<K>> {
    let dir = tempfile::tempdir().unwrap();
    let mut sorter = Sorter::with_stretch(dir.path(), stretch);
    for (key, payload) in records {
        sorter.push(*key, payload.as_slice()).unwrap();
    }
    let mut out = Vec::new();
    sorter
        .finish(|key, payload| {
            out.push((*key, payload.to_vec()));
            io::Result::Ok(())
        })
        .unwrap();
    out
}

fn check<K: Key>(stretch: usize, records: &[Record<K>]) {
    let mut expected = records.to_vec();
    expected.sort_by_key(|record| record.0);
    assert!(sorted(stretch, records) == expected);
}

/// The payload is the position at which the record was pushed, which distinguishes equal keys.
fn with_payloads<K>(keys: Vec<K>, sizes: &[usize]) -> Vec<Record<K>> {
    let numbered = keys.into_iter().enumerate();
    numbered
        .map(|(i, key)| {
            let mut payload = (i as u32).to_le_bytes().to_vec();
            payload.resize(sizes[i % sizes.len()], i as u8);
            (key, payload)
        })
        .collect()
}

/// Empty payloads, a few bytes, and more than most stretches.
fn sizes() -> impl Strategy<Value = Vec<usize>> {
    let size = prop_oneof![
        10 => Just(4usize),
        10 => 0usize..40,
        2 => 100usize..5000,
    ];
    prop::collection::vec(size, 1..40)
}

/// From less than one record to many records.
fn stretches() -> impl Strategy<Value = usize> {
    prop_oneof![1 => 1usize..200, 4 => 200usize..5000, 1 => Just(1 << 20)]
}

/// The keys of some streams, each in order, with some records of each alternately.
fn in_turns(streams: &[Vec<i64>], turn: usize) -> Vec<i64> {
    let mut streams: Vec<_> = streams.iter().map(|stream| stream.chunks(turn)).collect();
    let mut keys = Vec::new();
    loop {
        let before = keys.len();
        for stream in &mut streams {
            keys.extend(stream.next().unwrap_or_default());
        }
        if keys.len() == before {
            return keys;
        }
    }
}

fn stream() -> impl Strategy<Value = Vec<i64>> {
    let steps = prop::collection::vec(0i64..5, 0..300);
    steps.prop_map(|steps| {
        let mut at = 0;
        let later = |step| {
            at += step;
            at
        };
        steps.into_iter().map(later).collect()
    })
}

/// A number and a time of a thread, for example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Pair {
    first: i64,
    second: i64,
}

impl Key for Pair {
    const FIRST: Self = Pair { first: 0, second: 0 };
    const LONGEST: usize = 2 * LONGEST_NUMBER;
    const RANKS: usize = 2;

    fn rank(&self, number: usize) -> i64 {
        [self.first, self.second][number]
    }

    fn put(&self, after: &Self, bytes: &mut [u8]) -> usize {
        let size = put_difference(after.first, self.first, bytes);
        size + put_difference(after.second, self.second, &mut bytes[size..])
    }

    fn take(after: &Self, bytes: &[u8]) -> Option<(Self, usize)> {
        let (first, size) = take_difference(after.first, bytes)?;
        let (second, more) = take_difference(after.second, bytes.get(size..)?)?;
        Some((Pair { first, second }, size + more))
    }
}

/// Numbers that differ in a few bits, in several digits, or in all 64 bits.
fn pairs() -> impl Strategy<Value = Vec<Pair>> {
    let number = || (0u32..64, any::<i64>());
    (number(), number()).prop_flat_map(|((width, first), (other, second))| {
        let pair = (any::<i64>(), any::<i64>()).prop_map(move |(a, b)| Pair {
            first: first.wrapping_add(a >> width),
            second: second.wrapping_add(b >> other),
        });
        prop::collection::vec(pair, 0..400)
    })
}

proptest! {
    #[test]
    fn any_keys(
        keys in prop::collection::vec((any::<i64>(), any::<u64>()), 0..400),
        sizes in sizes(),
        stretch in stretches(),
    ) {
        check(stretch, &with_payloads(keys, &sizes));
    }

    #[test]
    fn equal_keys_stay_in_their_order(
        keys in prop::collection::vec(0i64..5, 0..1000),
        sizes in sizes(),
        stretch in stretches(),
    ) {
        check(stretch, &with_payloads(keys, &sizes));
    }

    #[test]
    fn keys_of_two_ranks(
        keys in pairs(),
        sizes in sizes(),
        stretch in stretches(),
    ) {
        check(stretch, &with_payloads(keys, &sizes));
    }

    #[test]
    fn nearly_in_order(
        late in prop::collection::vec(0i64..20, 0..1000),
        sizes in sizes(),
        stretch in stretches(),
    ) {
        let keys = (0..).zip(late).map(|(i, late)| i - late).collect();
        check(stretch, &with_payloads(keys, &sizes));
    }

    #[test]
    fn streams_in_turns(
        streams in prop::collection::vec(stream(), 1..6),
        turn in 1usize..50,
        sizes in sizes(),
        stretch in stretches(),
    ) {
        check(stretch, &with_payloads(in_turns(&streams, turn), &sizes));
    }
}

/// The runs for some keys, in stretches of ten.
fn put_aside(keys: &[i64]) -> Runs<i64> {
    let dir = tempfile::tempdir().unwrap();
    let mut aside = Aside::<i64, [u8]>::new(&dir.path().into(), 1 << 10).unwrap();
    for stretch in keys.chunks(10) {
        let mut records = Records::new(1 << 10);
        for &key in stretch {
            records.push(key, b"payload");
        }
        aside.put(records).unwrap();
    }
    aside.end().unwrap()
}

#[test]
fn what_comes_in_order_is_one_run() {
    let keys: Vec<i64> = (0..1000).map(|i| i / 3).collect();
    assert_eq!(put_aside(&keys).runs.len(), 1);
}

#[test]
fn streams_in_turns_make_a_run_each() {
    let streams: Vec<Vec<i64>> = (0..4).map(|_| (0..1000).collect()).collect();
    for turn in [10, 20, 100, 1000] {
        assert_eq!(put_aside(&in_turns(&streams, turn)).runs.len(), 4, "{turn}");
    }
    // A stretch with the end of one turn and the beginning of another is as long as both.
    for turn in [1, 3, 7, 15, 33] {
        let runs = put_aside(&in_turns(&streams, turn)).runs.len();
        assert!(runs <= 8, "{runs} runs of turns of {turn}");
    }
}

#[test]
fn what_comes_backwards_makes_a_run_of_every_stretch() {
    let keys: Vec<i64> = (0..1000).rev().collect();
    assert_eq!(put_aside(&keys).runs.len(), 100);
}

/// If a stretch can follow two runs, it extends the run that ends last; the next stretch needs the
/// other one.
#[test]
fn a_stretch_follows_the_run_that_ends_nearest_before_it() {
    let mut keys: Vec<i64> = Vec::new();
    for start in [100, 0, 200, 50] {
        keys.extend(start..start + 10);
    }
    assert_eq!(put_aside(&keys).runs.len(), 2);
}

/// Equal keys at the end of one run and inside another.
#[test]
fn equal_keys_of_several_runs_stay_in_their_order() {
    let stretches = [[1, 2, 5], [3, 3, 4], [4, 5, 9], [5, 5, 10], [5, 5, 5]];
    check(3 * 40, &with_payloads(stretches.concat(), &[8]));
}

#[test]
fn records_without_a_payload() {
    let dir = tempfile::tempdir().unwrap();
    let mut sorter = Sorter::with_stretch(dir.path(), 1 << 10);
    for i in 0..10_000i64 {
        sorter.push(i * 7_919 % 10_007, &()).unwrap();
    }
    let mut keys = Vec::new();
    let each = |&key: &i64, (): &()| {
        keys.push(key);
        io::Result::Ok(())
    };
    sorter.finish(each).unwrap();
    assert_eq!(keys.len(), 10_000);
    assert!(keys.is_sorted_by(|before, after| before < after));
}

#[test]
fn no_records() {
    check::<i64>(1 << 10, &[]);
}

/// Larger than a stretch, a batch, and every single write or read.
#[test]
fn huge_payloads() {
    let sizes = [5 << 20, 3, 0, 300 << 10, 127 << 10, 2 << 20, 256 << 10, 9 << 20];
    for sizes in [&sizes[..], &sizes[..1]] {
        let payload = |(i, &size): (usize, &usize)| vec![i as u8; size];
        let payloads = sizes.iter().enumerate().map(payload);
        for descending in [-1, 0, 1] {
            let keys = (0..).map(|i: i64| i * descending);
            let records: Vec<Record<i64>> = keys.zip(payloads.clone()).collect();
            check(1 << 20, &records);
        }
    }
}

#[test]
fn an_error_of_the_callback_ends_it() {
    let dir = tempfile::tempdir().unwrap();
    for count in [1000, 500_000i64] {
        let mut sorter: Sorter<i64> = Sorter::new(dir.path());
        for key in 0..count {
            sorter.push(-key, b"payload").unwrap();
        }
        let mut left = 500;
        let result = sorter.finish(|_, _| {
            left -= 1;
            if left > 0 { Ok(()) } else { Err(io::ErrorKind::StorageFull.into()) }
        });
        let error: io::Error = result.unwrap_err();
        assert_eq!((error.kind(), left), (io::ErrorKind::StorageFull, 0));
    }
}

#[test]
fn a_directory_that_is_not_there_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let mut sorter: Sorter<i64> = Sorter::with_stretch(&dir.path().join("gone"), 100);
    sorter.push(0, &[0; 60]).unwrap();
    let error = sorter.push(1, &[0; 60]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}

/// Reads all runs; returns the number of records.
fn count(runs: Runs<i64>) -> io::Result<usize> {
    let mut count = 0;
    merged(runs, |_: &i64, _: &[u8]| {
        count += 1;
        io::Result::Ok(())
    })?;
    Ok(count)
}

#[test]
fn a_file_that_was_cut_is_an_error() {
    let keys: Vec<i64> = (0..100).map(|i| i * 37 % 100).collect();
    let size = put_aside(&keys).file.file.metadata().unwrap().len();
    assert_eq!(count(put_aside(&keys)).unwrap(), 100);
    for cut in 0..size {
        let runs = put_aside(&keys);
        runs.file.file.set_len(cut).unwrap();
        let error = count(runs).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{cut}");
    }
}

proptest! {
    /// The result is an error, or other records; but it ends.
    #[test]
    fn a_file_that_was_changed_does_no_harm(
        changes in prop::collection::vec((0u64..1000, any::<u8>()), 1..20),
    ) {
        let keys: Vec<i64> = (0..100).map(|i| i * 37 % 100).collect();
        let mut runs = put_aside(&keys);
        for (at, byte) in changes {
            runs.file.seek(SeekFrom::Start(at)).unwrap();
            runs.file.write_all(&[byte]).unwrap();
        }
        let _ = count(runs);
    }
}
