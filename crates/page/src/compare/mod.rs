//! The page of a comparison: the lines that changed, each with its runs, its intervals and its durations, the runs
//! themselves, and callstacks of both sides.
//!
//! # Design
//!
//! The page has no script. A line is a `<details>`, which opens by mouse and keyboard, and the browser finds text in
//! it. A drawing is SVG of our own: a dot has its run and value as attributes and a title, so that a reader and a test can
//! read the number, and classes give it the colours of a light or a dark page. The alternative was `plotters`, as for
//! clocks, which writes neither attributes nor titles nor classes.
//!
//! The caller passes sentences and numbers ([`Compared`]), because the text on a terminal says the same
//! sentences. It also decides how many lines have plots; a page grows by about 15 KB for each of them, and by 40
//! bytes for each run in it.
//!
//! | part | drawn in |
//! |---|---|
//! | the rows of lines, and the table of runs | `lines.rs` |
//! | dots of runs, and their factors | `dots.rs` |
//! | intervals of statistics | `forest.rs` |
//! | distributions of durations | `ecdf.rs` |
//! | callstacks | `flame.rs` |
//! | axes | `plot.rs` |

mod dots;
mod ecdf;
mod flame;
mod forest;
mod lines;
mod model;
mod plot;

use maud::{Markup, html};

pub use flame::Flame;
pub use model::{
    Change, Compared, Distribution, Dot, Dots, Forest, Interval, Line, Names, Plots, Run, Section,
    Together, Unseen,
};
pub use plot::Unit;

use crate::document;
use crate::text::{count, counted, minus, shown, shown_up_to};
use dots::Order;
use lines::Shared;

const STYLE: &str = include_str!("compare.css");

/// The number of names, of reasons, and of remarks in a list.
const LISTED: usize = 100;
/// The length of a sentence on the page.
const LONGEST: usize = 400;

/// Makes the page of a comparison: one self-contained HTML file.
///
/// ```
/// use timebase_page::compare::{Compared, html};
///
/// let compared = Compared {
///     labels: ["old".to_owned(), "new".to_owned()],
///     said: "1 run old, 1 new: ratios only".to_owned(),
///     ..Compared::default()
/// };
/// assert!(html(&compared).contains("<h1>old → new</h1>"));
/// ```
pub fn html(compared: &Compared) -> String {
    let [before, after] = compared.labels.each_ref().map(|label| shown(label));
    let shared = Shared {
        runs: &compared.runs,
        labels: &compared.labels,
        order: Order::of(&compared.runs, compared.is_by_time),
    };
    let body = html! {
        header { (head(compared, [&before, &after])) }
        main {
            (changed(compared, &shared))
            @for flame in &compared.flames {
                section id=(flame.id) { h2 { (flame.title) } (flame::draw(flame)) }
            }
            (names(compared))
            (runs(&shared))
            @if let Some(unseen) = &compared.unseen { (not_seen(unseen)) }
        }
        footer {
            @for text in &compared.left_out { (shown_up_to(LONGEST, text)) " " }
            "Made by timebase " (env!("CARGO_PKG_VERSION")) "."
        }
    };
    document::html(&format!("{before} → {after}"), &[STYLE], &body)
}

fn head(compared: &Compared, [before, after]: [&str; 2]) -> Markup {
    html! {
        h1 { (before) " → " (after) }
        p.said { (shown_up_to(LONGEST, &compared.said)) }
        @if let Some(together) = &compared.together {
            p.together {
                "all together " b { (minus(&together.change)) } " "
                @if let Some(interval) = &together.interval { (minus(interval)) " " }
                span.about { (together.meaning) }
            }
        }
        @if !compared.notes.is_empty() {
            ul.noted { @for note in compared.notes.iter().take(LISTED) { li { (shown_up_to(LONGEST, note)) } } }
            @if compared.notes.len() > LISTED { p.none { "… and " (count((compared.notes.len() - LISTED) as u64)) " more." } }
        }
    }
}

fn changed(compared: &Compared, shared: &Shared<'_>) -> Markup {
    let [before, after] = shared.labels.each_ref().map(|label| shown(label));
    let has_plots = compared
        .sections
        .iter()
        .flat_map(|section| &section.lines)
        .any(|line| line.plots.is_some());
    html! {
        section id="lines" {
            h2 { (compared.title) }
            @if compared.sections.is_empty() { p.none { "No line." } }
            @if has_plots {
                p.key.notes {
                    span { i.before {} (before) ", dashed" }
                    span { i.after {} (after) ", solid" }
                    span { "lines: means, with the interval of the change" }
                    span { i.more {} "more after" }
                    span { i.less {} "less" }
                    span { "bars: intervals at the level at which a change is judged" }
                }
            }
            @for (index, section) in compared.sections.iter().enumerate() {
                (lines::section(section, shared, index == 0))
            }
        }
    }
}

/// New and gone names, and changes that are not called.
fn names(compared: &Compared) -> Markup {
    html! {
        @if !compared.names.is_empty() {
            section id="names" {
                h2 { "New and gone names" }
                @for names in &compared.names {
                    h4 { (names.title) }
                    ul { @for item in &names.items { li { (shown_up_to(LONGEST, item)) } } }
                    @if names.more > 0 { p.none { "… and " (count(names.more as u64)) " more." } }
                }
            }
        }
        @if !compared.not_called.is_empty() {
            section id="not-called" {
                h2 { "Not called" }
                ul { @for item in compared.not_called.iter().take(LISTED) { li { (shown_up_to(LONGEST, item)) } } }
                @if compared.not_called.len() > LISTED {
                    p.none { "… and " (count((compared.not_called.len() - LISTED) as u64)) " more." }
                }
            }
        }
    }
}

fn runs(shared: &Shared<'_>) -> Markup {
    let unused: Vec<&Run> = shared.runs.iter().filter(|run| run.unused.is_some()).collect();
    let has_factors = shared.runs.iter().any(|run| run.factor.is_some());
    html! {
        section id="runs" {
            h2 { "Runs" }
            @if has_factors {
                div.plots { (dots::factors(shared.runs, &shared.order)) }
                @for odd in shared.runs.iter().filter_map(|run| run.odd.as_ref()) {
                    p.notes { (shown_up_to(LONGEST, odd)) "." }
                }
            }
            @if !unused.is_empty() {
                p.notes { "Not used: " @for (index, run) in unused.iter().enumerate() {
                    @if index > 0 { ", " }
                    (shown(&run.name)) " (" (shown(run.unused.as_deref().unwrap_or_default())) ")"
                } "." }
            }
            details {
                summary { (counted(shared.runs.len() as u64, "run", "runs")) " as a table" }
                (lines::runs(shared))
            }
        }
    }
}

fn not_seen(unseen: &Unseen) -> Markup {
    html! {
        section id="not-seen" {
            h2 { "No change seen" }
            details {
                summary { (shown_up_to(LONGEST, &unseen.said)) }
                div.wide { table {
                    thead { tr {
                        th { "line" } th { "statistic" } th { "before" } th { "after" } th { "change" } th { "would be seen" }
                    } }
                    tbody { @for row in &unseen.rows { tr {
                        @for (index, cell) in row.iter().enumerate() {
                            @if index < 2 { td { (shown_up_to(LONGEST, cell)) } } @else { td.number { (minus(cell)) } }
                        }
                    } } }
                } }
                @if unseen.more > 0 { p.none { "… and " (count(unseen.more as u64)) " more: -o diff.csv has all." } }
            }
        }
    }
}
