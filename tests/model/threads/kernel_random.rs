//! Random traces of kernel events: an import must give the rows of the model.

use super::{kernel_generate, kernel_tables};
use crate::support::statements::{Answered, answer, as_text, difference, recorded, statements};
use crate::support::{Imported, data};
use std::collections::BTreeSet;
use std::fs;
use timebase_lab::encode::{Message, trace_of};

const STATEMENTS: &str = "more/queries-more.sql";
const ANSWERS: [&str; 4] = ["kernel_slices", "kernel_counters", "kernel_flows", "counts"];

/// All slices with their flows, whatever their names.
const SLICES: &str = "WITH d AS (SELECT track.id, type, name, (SELECT group_concat(x, ' ') FROM (SELECT key || '=' || coalesce(string_value, CASE key WHEN 'utid' THEN (SELECT tid FROM thread WHERE utid = int_value) ELSE int_value END, '-') AS x FROM args WHERE arg_set_id = dimension_arg_set_id ORDER BY x)) AS dims FROM track),
  s AS (SELECT slice.id, ts || ' ' || dur || ' ' || depth || ' ' || ifnull(slice.name, '-') || ' ' || d.type || ' ' || ifnull(d.name, '-') || ' ' || ifnull(dims, '-') AS c FROM slice JOIN d ON d.id = track_id)
SELECT s.c, (SELECT group_concat(c, ' | ') FROM (SELECT into_.c FROM flow JOIN s AS into_ ON into_.id = slice_in WHERE slice_out = s.id ORDER BY into_.c)) FROM s";

/// The differences between an import and the model.
fn wrong(packets: &[Message]) -> Answered {
    let trace = trace_of(packets);
    let imported = Imported::of_bytes(&trace, &[]);
    let model = kernel_tables(&trace);
    let mut all = statements(STATEMENTS);
    all.retain(|(name, _)| ANSWERS.contains(&name.as_str()));
    assert_eq!(all.len(), ANSWERS.len());
    all.push(("slices".to_owned(), SLICES.to_owned()));
    let mut wrong = Answered::new();
    for (name, sql) in all {
        let expected = answer(&model, &sql).unwrap();
        let why = match answer(&imported.conn, &sql) {
            Ok(rows) => difference(&as_text(rows), &as_text(expected)),
            Err(error) => Some(error),
        };
        if let Some(why) = why {
            wrong.insert(name, why);
        }
    }
    wrong
}

/// The same with the fewest packets for which an answer differs.
fn smallest(mut packets: Vec<Message>, mut found: Answered) -> (Vec<Message>, Answered) {
    while let Some(smaller) = (0..packets.len()).rev().find_map(|left_out| {
        let mut fewer = packets.clone();
        fewer.remove(left_out);
        let wrong = wrong(&fewer);
        wrong
            .keys()
            .any(|name| found.contains_key(name))
            .then_some((fewer, wrong))
    }) {
        (packets, found) = smaller;
    }
    (packets, found)
}

/// PROPTEST_CASES asks for more of them.
fn cases() -> u64 {
    let asked = std::env::var("PROPTEST_CASES").ok();
    asked.and_then(|cases| cases.parse().ok()).unwrap_or(64)
}

#[test]
fn any_trace_of_kernel_events_gives_the_rows_of_the_model() {
    for seed in 0..cases() {
        let packets = kernel_generate::trace(seed);
        let found = wrong(&packets);
        if !found.is_empty() {
            let (packets, found) = smallest(packets, found);
            let trace: String = trace_of(&packets)
                .iter()
                .map(|b| format!("{b:02x}"))
                .collect();
            panic!("{found:#?}\nseed {seed}, as hex: {trace}");
        }
    }
}

#[test]
fn random_traces_of_kernel_events_leave_no_event_out() {
    let mut made = BTreeSet::new();
    for seed in 0..200 {
        let conn = kernel_tables(&trace_of(&kernel_generate::trace(seed)));
        let types = "SELECT type FROM slice JOIN track ON track.id = track_id UNION SELECT type FROM counter JOIN track ON track.id = track_id";
        for row in as_text(answer(&conn, types).unwrap()) {
            made.insert(format!("{row:?}"));
        }
    }
    assert_eq!(made.len(), KINDS_OF_TRACKS, "{made:#?}");
}

/// Those of the rules, `thread_execution` among them.
const KINDS_OF_TRACKS: usize = 43;

#[test]
fn the_model_gives_the_rows_of_kernel_events_that_are_known() {
    for trace in ["04", "11", "18", "25", "32", "39"] {
        let bytes = fs::read(data(&format!("more/{trace}.pftrace"))).unwrap();
        let model = kernel_tables(&bytes);
        let expected = recorded(&format!("more/{trace}.jsonl.zst"));
        for (name, sql) in statements(STATEMENTS) {
            if ANSWERS.contains(&name.as_str()) {
                let expected = expected.get(&name).cloned().unwrap_or_default();
                let found = answer(&model, &sql).unwrap();
                let why = difference(&as_text(found), &as_text(expected));
                assert_eq!(why, None, "{trace}, {name}");
            }
        }
    }
}
