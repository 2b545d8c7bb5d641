//! The lines of a family: a row for each, which opens if it has plots.

use maud::{Markup, html};

use super::model::{Change, Line, Plots, Run, Section};
use super::{dots, ecdf, forest};
use crate::text::{count, minus, shown, shown_up_to};

/// A longer text in a column of numbers is not measured.
const WIDEST: usize = 30;
/// The length of a name on the page.
const LONGEST: usize = 240;

/// The things that all plots share.
pub struct Shared<'a> {
    pub runs: &'a [Run],
    pub labels: &'a [String; 2],
    pub order: dots::Order,
}

/// A family. The first line of the page is open.
pub fn section(section: &Section, shared: &Shared<'_>, is_first: bool) -> Markup {
    html! {
        h3 { (section.name) @if !section.about.is_empty() { small { " – " (section.about) } } }
        div.lines style=(widths(section)) {
            div.row.head aria-hidden="true" { @for column in &section.columns { span { (column) } } }
            @for (index, line) in section.lines.iter().enumerate() {
                @match &line.plots {
                    Some(found) => details.line data-line=(shown_up_to(LONGEST, &line.name)) open[is_first && index == 0] {
                        summary.row { (cells(line, section)) }
                        (plots(found, shared))
                    },
                    None => div.line.row data-line=(shown_up_to(LONGEST, &line.name)) { (cells(line, section)) },
                }
            }
        }
        @if section.more > 0 { p.none { "… and " (count(section.more as u64)) " more." } }
    }
}

/// The widths of the columns with numbers, which are those of their longest texts.
fn widths(section: &Section) -> String {
    let width = |at: usize| {
        let cells = section.lines.iter().filter_map(|line| line.cells.get(at));
        let texts = section.columns.get(at).into_iter().chain(cells);
        texts.map(|text| text.chars().count()).max().unwrap_or_default().clamp(3, WIDEST)
    };
    let widths: Vec<String> = (0..5).map(|at| format!("{}ch", width(at) + 1)).collect();
    format!("--columns:{}", widths.join(" "))
}

fn cells(line: &Line, section: &Section) -> Markup {
    let (is_more, is_less) = (line.change == Change::More, line.change == Change::Less);
    html! {
        @for (index, (cell, column)) in line.cells.iter().zip(&section.columns).enumerate() {
            @match index {
                0 | 3 => span.number.more[is_more].less[is_less] data-label=(column) { (minus(cell)) },
                1 | 2 => span.number data-label=(column) { (minus(cell)) },
                4 => span.beyond data-label=(column) { (minus(cell)) },
                _ => span.what {
                    b { (shown_up_to(LONGEST, cell)) }
                    @if !line.remarks.is_empty() { " " small { (minus(&line.remarks)) } }
                },
            }
        }
    }
}

fn plots(found: &Plots, shared: &Shared<'_>) -> Markup {
    html! {
        div.plots {
            @if let Some(found) = &found.dots { (dots::draw(found, shared.runs, &shared.order, shared.labels)) }
            @for found in &found.forests { (forest::draw(found)) }
            @if let Some(found) = &found.distribution { (ecdf::draw(found)) }
        }
    }
}

/// The runs as a table.
pub fn runs(shared: &Shared<'_>) -> Markup {
    let has_factors = shared.runs.iter().any(|run| run.factor.is_some());
    html! {
        div.wide { table {
            thead { tr {
                th { "run" } th { "side" }
                @if has_factors { th { "factor" } }
                th { "remarks" }
            } }
            tbody { @for run in shared.runs { tr {
                td { (shown(&run.name)) }
                td { (shown(shared.labels.get(run.side).map_or("", String::as_str))) }
                @if has_factors {
                    td.number { @if let Some(factor) = run.factor { (dots::said(factor)) } @else { "–" } }
                }
                td { (remarks(run)) }
            } } }
        } }
    }
}

/// Marks of a run, with the reason why it is not used. The sentence about an odd run stands at the plot.
fn remarks(run: &Run) -> String {
    let odd = run.odd.as_ref().map(|_| "odd".to_owned());
    let all = run.unused.iter().chain(&odd).chain(&run.marks);
    all.map(|text| shown(text)).collect::<Vec<_>>().join("; ")
}
