//! The layout of slices.

use std::collections::HashMap;

use proptest::prelude::*;
use rusqlite::Connection;

use super::super::testing::{connection, error, rows};

/// A slice: track, start, duration, depth, parent. Its id is its place.
type Slice = (i64, i64, i64, i64, Option<i64>);

fn with(slices: &[Slice]) -> Connection {
    let conn = connection();
    conn.execute_batch(
        "CREATE TABLE slice (id INTEGER PRIMARY KEY, track_id, ts, dur, depth, parent_id)",
    )
    .unwrap();
    let mut insert = conn.prepare("INSERT INTO slice VALUES (?1, ?2, ?3, ?4, ?5, ?6)").unwrap();
    for ((track, ts, dur, depth, parent), id) in slices.iter().zip(0i64..) {
        insert.execute((id, track, ts, dur, depth, parent)).unwrap();
    }
    drop(insert);
    conn
}

fn layout(slices: &[Slice], tracks: &str) -> Vec<String> {
    rows(&with(slices), &format!("SELECT * FROM experimental_slice_layout('{tracks}')"))
}

#[test]
fn pq18_the_deepest_boxes_take_the_first_free_rows() {
    let slices = [
        (1, 0, 100, 0, None),
        (2, 10, 20, 0, None),
        (2, 12, 5, 1, Some(1)),
        (2, 40, 5, 0, None),
        (3, 45, -1, 0, None),
        (1, 100, 5, 0, None),
        (4, 0, 5, 0, None),
    ];
    // The box of slice 1 is two deep, so it comes first.
    assert_eq!(layout(&slices, "1,2,3"), ["0 2", "1 0", "2 1", "3 0", "4 0", "5 1"]);
    assert_eq!(layout(&slices, "2"), ["1 0", "2 1", "3 0"]);
    assert_eq!(layout(&slices, " 4 , x,-1"), ["6 0"]);
    assert_eq!(layout(&slices, ""), [""; 0]);
}

#[test]
fn pq18_an_instant_needs_a_row_only_where_something_runs() {
    let slices = [(1, 0, 10, 0, None), (2, 0, 0, 0, None), (3, 5, 0, 0, None), (4, 10, 0, 0, None)];
    assert_eq!(layout(&slices, "1,2,3,4"), ["0 0", "1 0", "2 1", "3 0"]);
}

#[test]
fn pq18_wrong_arguments_are_told() {
    let conn = with(&[]);
    let message =
        |call: &str| error(&conn, &format!("SELECT * FROM experimental_slice_layout{call}"));
    assert_eq!(
        message("(5)"),
        "experimental_slice_layout(): argument 1 (filter_track_ids) must be a text, not 5"
    );
    assert!(message("").contains("needs (filter_track_ids)"));
    let deep = with(&[(1, 0, 1, 1 << 30, None)]);
    assert_eq!(
        error(&deep, "SELECT * FROM experimental_slice_layout('1')"),
        "experimental_slice_layout(): slice 0 has the depth 1073741824; the deepest that is drawn is 1048576"
    );
}

/// The naive model: a grid of rows and nanoseconds. A slice of the grid is drawn where no cell is taken.
fn model(slices: &[Slice]) -> Vec<String> {
    const END: i64 = 100;
    let root = |mut at: usize| {
        while let Some(parent) = slices[at].4 {
            at = usize::try_from(parent).unwrap();
        }
        at
    };
    let mut boxes: HashMap<usize, (i64, i64, i64)> = HashMap::new();
    for (at, (_, ts, dur, depth, _)) in slices.iter().enumerate() {
        let end = if *dur == -1 { END } else { ts + dur };
        let found = boxes.entry(root(at)).or_insert((*ts, end, 0));
        found.1 = found.1.max(end);
        found.2 = found.2.max(depth + 1);
    }
    let mut order: Vec<_> =
        boxes.iter().map(|(id, (ts, end, deep))| (-deep, *ts, *id, *end)).collect();
    order.sort_unstable();
    let mut taken = std::collections::HashSet::new();
    let mut row_of = HashMap::new();
    for (deep, ts, id, end) in order {
        let cells =
            |row: i64| (row..row - deep).flat_map(move |row| (ts..end).map(move |t| (row, t)));
        let row = (0..).find(|row| cells(*row).all(|cell| !taken.contains(&cell))).unwrap();
        taken.extend(cells(row));
        row_of.insert(id, row);
    }
    let line = |(at, slice): (usize, &Slice)| format!("{at} {}", row_of[&root(at)] + slice.3);
    slices.iter().enumerate().map(line).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn pq18_random_slices_are_where_the_model_draws_them(
        trees in prop::collection::vec(
            (0i64..4, 0i64..30, prop::collection::vec((0usize..4, 0i64..6, prop_oneof![1i64..15, Just(-1)]), 1..5)),
            0..12,
        )
    ) {
        let mut slices: Vec<Slice> = Vec::new();
        for (track, ts, members) in trees {
            let first = slices.len();
            for (parent, later, dur) in members {
                let parent = (slices.len() > first).then(|| first + parent % (slices.len() - first));
                let depth = parent.map_or(0, |parent| slices[parent].3 + 1);
                let ts = parent.map_or(ts, |parent| slices[parent].1 + later);
                slices.push((track, ts, dur, depth, parent.map(|parent| parent as i64)));
            }
        }
        prop_assert_eq!(layout(&slices, "0,1,2,3"), model(&slices));
    }
}
