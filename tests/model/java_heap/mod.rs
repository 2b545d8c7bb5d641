//! Random dumps of Java heaps, compared with a naive model of rules HG.

mod flame;
mod generate;
mod graph;
mod paths;

use crate::model::threads::agreement::all_agree;
use crate::support::statements::{
    Answered, Answers, answer, as_text, difference, recorded, statements,
};
use crate::support::{Imported, data};
use graph::Model;
use timebase_lab::encode::{Message, trace_of};

const STATEMENTS: &str = "rest/queries-rest.sql";

/// The statements about Java heaps.
pub const NAMES: [&str; 6] =
    ["heap_graph", "heap_class", "heap_object", "heap_reference", "heap_flame", "heap_counts"];

/// The traces of trace processor's rows.
pub const TRACES: [&str; 7] = ["04", "08", "12", "16", "20", "24", "28"];

fn asked() -> Vec<(String, String)> {
    let mut all = statements(STATEMENTS);
    all.retain(|(name, _)| NAMES.contains(&&**name));
    assert_eq!(all.len(), NAMES.len());
    all
}

/// The differences between an import and these rows.
fn differences(imported: &Imported, expected: &Answers) -> Answered {
    timebase::sql::register(&imported.conn).unwrap();
    let differing = asked().into_iter().filter_map(|(name, sql)| {
        let expected = expected.get(&name).cloned().unwrap_or_default();
        let why = match answer(&imported.conn, &sql) {
            Ok(rows) => difference(&as_text(rows), &as_text(expected))?,
            Err(error) => error,
        };
        Some((name, why))
    });
    differing.collect()
}

fn wrong(packets: &[Message]) -> Answered {
    let trace = trace_of(packets);
    let imported = Imported::of_bytes(&trace, &[]);
    let mut wrong = differences(&imported, &Model::of(&trace).answers());
    wrong.extend(paths::wrong(&imported));
    wrong
}

#[test]
fn hg1_to_hg13_yr1_yr2_any_dump_gives_the_rows_of_the_model() {
    all_agree(64, generate::trace, wrong);
}

#[test]
#[ignore = "heavy"]
fn hg1_to_hg13_a_thousand_dumps_give_the_rows_of_the_model() {
    all_agree(1000, |seed| generate::trace(seed + 10_000), wrong);
}

#[test]
fn hg1_to_hg13_dumps_give_the_rows_of_trace_processor() {
    for trace in TRACES {
        let expected = recorded(&format!("rest/{trace}.jsonl.zst"));
        let imported = Imported::new(&format!("rest/{trace}.pftrace"), &[]);
        assert_eq!(differences(&imported, &expected), Answered::new(), "{trace}");
    }
}

#[test]
fn hg1_to_hg13_the_model_gives_the_rows_of_trace_processor() {
    for trace in TRACES {
        let expected = recorded(&format!("rest/{trace}.jsonl.zst"));
        let bytes = std::fs::read(data(&format!("rest/{trace}.pftrace"))).unwrap();
        let found = Model::of(&bytes).answers();
        for name in NAMES {
            let rows = |answers: &Answers| as_text(answers.get(name).cloned().unwrap_or_default());
            let why = difference(&rows(&found), &rows(&expected));
            assert_eq!(why, None, "{trace}, {name}");
        }
    }
}
