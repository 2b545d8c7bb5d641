//! The results as a table.

use comfy_table::presets::ASCII_MARKDOWN;

use super::{CompareCase, Compared};
use crate::reliability::percent;

const HEADER: [&str; 8] = [
    "runs compared",
    "comparisons",
    "any false call",
    "false among calls",
    "changed lines called",
    "95 % intervals with the truth",
    "of shifts",
    "goals",
];

/// The table of all cases.
pub fn compare_cases(all: &[(CompareCase, Compared)]) -> String {
    let mut table = comfy_table::Table::new();
    table.load_style(ASCII_MARKDOWN).set_header(HEADER);
    for (case, measured) in all {
        let of =
            |count: u64, share: f64| if count == 0 { "–".to_owned() } else { percent(share) };
        let goals = match (case.goals, case.missed(measured).as_slice()) {
            (None, _) => "–".to_owned(),
            (Some(_), []) => "met".to_owned(),
            (Some(_), missed) => format!("**{}**", missed.join(", ")),
        };
        table.add_row([
            case.name.to_owned(),
            measured.comparisons.to_string(),
            percent(measured.share_any_false()),
            of(measured.changed, measured.share_false().0),
            of(measured.changed, measured.power()),
            percent(measured.share_inside()),
            of(measured.shifts[0], measured.share_shifts_inside()),
            goals,
        ]);
    }
    table.to_string()
}
