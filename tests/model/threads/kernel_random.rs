//! Random traces of kernel events: an import must give the rows of the model.

use super::agreement::{all_agree, answers_as_recorded, asked, differences};
use super::{kernel_generate, kernel_tables};
use crate::support::Imported;
use crate::support::statements::{Answered, answer, as_text};
use std::collections::BTreeSet;
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
    let mut all = asked(STATEMENTS, &ANSWERS);
    all.push(("slices".to_owned(), SLICES.to_owned()));
    differences(&imported.conn, &kernel_tables(&trace), &all, as_text)
}

#[test]
fn any_trace_of_kernel_events_gives_the_rows_of_the_model() {
    all_agree(64, kernel_generate::trace, wrong);
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
    let traces = [4, 11, 18, 25, 32, 39];
    answers_as_recorded("more", traces, &asked(STATEMENTS, &ANSWERS), kernel_tables);
}
