//! Random traces with records of the recording: an import must give the rows of the model.

use super::agreement::{all_agree, answers_as_recorded, asked};
use super::{records, records_generate};
use crate::records::is_own;
use crate::support::Imported;
use crate::support::statements::{Answered, answer, difference};
use timebase_lab::encode::{Message, trace_of};

/// The statements about records, of more/queries-more.sql.
const STATEMENTS: [&str; 3] = ["metadata", "recorded", "triggers"];

/// The differences between an import and the model.
fn wrong(packets: &[Message]) -> Answered {
    let trace = trace_of(packets);
    let imported = Imported::of_bytes(&trace, &[]);
    let model = records::tables(&trace);
    let mut wrong = Answered::new();
    for (name, sql) in asked("more/queries-more.sql", &STATEMENTS) {
        let mut found = answer(&imported.conn, &sql).unwrap();
        found.retain(|row| name != "metadata" || !is_own(row));
        let expected = answer(&model, &sql).unwrap();
        if let Some(why) = difference(&found, &expected) {
            wrong.insert(name, why);
        }
    }
    wrong
}

#[test]
fn any_trace_of_records_gives_the_rows_of_the_model() {
    all_agree(128, records_generate::trace, wrong);
}

#[test]
fn md1_to_md16_the_model_gives_the_rows_that_are_known() {
    let asked = asked("more/queries-more.sql", &STATEMENTS);
    answers_as_recorded("more", [2, 9, 16, 23, 30, 37], &asked, records::tables);
}
