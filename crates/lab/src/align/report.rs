//! The results as a table.

use comfy_table::presets::ASCII_MARKDOWN;

use super::{AlignCase, Measured};
use crate::reliability::{grouped, percent};

/// The columns: errors are root mean squares, outside of steps; "then" is the error when the rules
/// were chosen, and "±" the mean distance to the farther bound.
const HEADER: [&str; 11] = [
    "clocks aligned by messages",
    "seeds",
    "wall clocks agree, µs",
    "these, µs",
    "then",
    "±, µs",
    "inside",
    "messages",
    "violated · suspect",
    "inverted · by wall clocks",
    "goals",
];

/// The table of all cases.
pub fn align_cases(all: &[(AlignCase, Measured)]) -> String {
    let mut table = comfy_table::Table::new();
    table.load_style(ASCII_MARKDOWN).set_header(HEADER);
    for (case, measured) in all {
        let is_refused = case.rms_us.is_none();
        let figure = |figure: String| if is_refused { "–".to_owned() } else { figure };
        let goals = match case.missed(measured).as_slice() {
            [] if is_refused => "refused".to_owned(),
            [] => "met".to_owned(),
            missed => format!("**{}**", missed.join(", ")),
        };
        let both = |these, others| format!("{} · {}", grouped(these), grouped(others));
        table.add_row([
            case.name.to_owned(),
            measured.seeds.to_string(),
            figure(format!("{:.0}", measured.wall_clocks_us())),
            figure(format!("{:.1}", measured.rms_us())),
            case.rms_us.map_or("–".to_owned(), |rms| rms.to_string()),
            figure(format!("{:.0}", measured.bar_us())),
            figure(percent(measured.share_inside())),
            grouped(measured.messages),
            both(measured.violated, measured.suspect),
            both(measured.inverted, measured.inverted_by_wall_clocks),
            goals,
        ]);
    }
    table.to_string()
}
