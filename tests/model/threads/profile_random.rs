//! Random traces of profilers: an import must give the rows of the model.

use super::agreement::{all_agree, answers_as_recorded, differences};
use super::{profile_generate, profile_tables};
use crate::support::Imported;
use crate::support::statements::{Answered, answer, statements};
use std::convert::identity;
use timebase_lab::encode::{Message, trace_of};

const STATEMENTS: &str = "profiles/queries-profiles.sql";

/// The counters that the rules name, of which no machine is asked.
const STATS: &str = "SELECT name, idx, total(value) FROM (SELECT name, idx + (ifnull(machine_id, 0) << 40) AS idx, value FROM stats) WHERE (name GLOB 'stackprofile_*' OR name GLOB 'perf_*'
    OR name GLOB 'heapprofd_*' OR name GLOB 'smaps_*' OR name GLOB 'streaming_*' OR name = 'interned_data_tokenizer_errors'
    OR name = 'trace_sorter_negative_timestamp_dropped' AND value > 0 OR name GLOB 'symbolization_*') AND name <> 'perf_sample'
    GROUP BY name, idx";

/// The differences between an import and the model.
fn wrong(packets: &[Message]) -> Answered {
    let trace = trace_of(packets);
    let imported = Imported::of_bytes(&trace, &[]);
    let model = profile_tables(&trace);
    let mut all = statements(STATEMENTS);
    all.push(("stats".to_owned(), STATS.to_owned()));
    let has_bounds = answer(&model, "SELECT 1 FROM trace_bounds").unwrap().len() == 1;
    all.retain(|(name, _)| name != "trace_bounds" || has_bounds);
    differences(&imported.conn, &model, &all, identity)
}

#[test]
fn any_trace_of_profilers_gives_the_rows_of_the_model() {
    all_agree(128, profile_generate::trace, wrong);
}

#[test]
fn the_model_gives_the_rows_of_profilers_that_are_known() {
    let traces = (1..=40).filter(|number| *number != 22);
    answers_as_recorded("profiles", traces, &statements(STATEMENTS), profile_tables);
}
