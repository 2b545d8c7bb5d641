//! Callstacks of both sides as one graph: the width of a function is its mean share of the runs after, its colour
//! the change of that share. It is pale if the function's own line is not called.
//!
//! # Design
//!
//! The graph is drawn here: places are percentages, so it has the width of any screen with text of the same size,
//! and its colours follow the page. The alternative was `inferno`, which draws the graphs of `timebase flamegraph`. It
//! cannot make functions pale, has one colour scale for light pages, takes whole numbers for weights, and needs a
//! script that finds its parts by fixed names, so a page can have only one graph.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use maud::{Markup, html};

use super::plot::place;
use crate::text::{count, shown_up_to, signed};

/// The height of a function, in pixels.
const ROW: f64 = 19.0;
/// A narrower function is left out.
const LEAST: f64 = 0.001;
/// Callstacks are not kept deeper.
const DEEPEST: usize = 100;
/// The number of functions in a graph.
const MOST: usize = 1_500;
/// The number of rows in a table.
const ROWS: usize = 30;

/// Callstacks of both sides.
///
/// ```
/// use timebase_page::compare::Flame;
///
/// let mut flame = Flame::new();
/// flame.add(0, ["main", "draw"], 0.75); // the share of a run before
/// flame.add(1, ["main", "draw"], 0.5);
/// flame.divide([1.0, 1.0]); // by the number of runs
/// flame.title = "Samples".to_owned();
/// ```
#[derive(Clone, Debug)]
pub struct Flame {
    /// The word that links to it.
    pub id: String,
    /// The heading.
    pub title: String,
    /// A sentence about it.
    pub about: String,
    /// The functions whose lines are called.
    pub called: BTreeSet<String>,
    /// The functions, each behind the one around it; the first is around all.
    frames: Vec<Frame>,
}

/// A function below others.
#[derive(Clone, Debug)]
struct Frame {
    name: Rc<str>,
    around: usize,
    depth: usize,
    shares: [f64; 2],
    inner: BTreeMap<Rc<str>, usize>,
}

impl Frame {
    fn new(name: Rc<str>, around: usize, depth: usize) -> Frame {
        Frame { name, around, depth, shares: [0.0; 2], inner: BTreeMap::new() }
    }

    fn change(&self) -> f64 {
        self.shares[1] - self.shares[0]
    }
}

impl Default for Flame {
    fn default() -> Flame {
        Flame::new()
    }
}

impl Flame {
    /// Without callstacks.
    pub fn new() -> Flame {
        Flame {
            id: String::new(),
            title: String::new(),
            about: String::new(),
            called: BTreeSet::new(),
            frames: vec![Frame::new("all".into(), 0, 0)],
        }
    }

    /// Adds a callstack, outermost function first, with its share of a run of a side: 0 before, 1 after.
    pub fn add<'a>(&mut self, side: usize, stack: impl IntoIterator<Item = &'a str>, share: f64) {
        let mut at = 0;
        self.put(at, side, share);
        for (depth, name) in (1..DEEPEST).zip(stack) {
            let new = self.frames.len();
            let Some(frame) = self.frames.get_mut(at) else { return };
            at = match frame.inner.get(name) {
                Some(known) => *known,
                None => {
                    let name: Rc<str> = name.into();
                    frame.inner.insert(Rc::clone(&name), new);
                    self.frames.push(Frame::new(name, at, depth));
                    new
                }
            };
            self.put(at, side, share);
        }
    }

    fn put(&mut self, at: usize, side: usize, share: f64) {
        let frame = self.frames.get_mut(at);
        if let Some(sum) = frame.and_then(|frame| frame.shares.get_mut(side)) {
            *sum += share;
        }
    }

    /// Divides all sums by the numbers of runs.
    pub fn divide(&mut self, by: [f64; 2]) {
        for frame in &mut self.frames {
            frame.shares[0] /= by[0];
            frame.shares[1] /= by[1];
        }
    }

    /// The left ends of all functions: inner ones stand side by side, in the order of their names, from the left of
    /// the one around them.
    fn lefts(&self) -> Vec<f64> {
        let mut lefts = vec![0.0; self.frames.len()];
        for (at, frame) in self.frames.iter().enumerate() {
            let mut left = lefts.get(at).copied().unwrap_or_default();
            for &inner in frame.inner.values() {
                if let (Some(place), Some(frame)) = (lefts.get_mut(inner), self.frames.get(inner)) {
                    *place = left;
                    left += frame.shares[1];
                }
            }
        }
        lefts
    }
}

/// The graph with a table of its largest changes.
pub fn draw(flame: &Flame) -> Markup {
    let frames = &flame.frames;
    let whole = frames.first().map_or(0.0, |all| all.shares[1]);
    let mut wide: Vec<(&Frame, f64)> = frames.iter().zip(flame.lefts()).collect();
    wide.retain(|(frame, _)| whole > 0.0 && frame.shares[1] >= LEAST * whole);
    wide.sort_by(|(one, _), (other, _)| {
        other.shares[1].total_cmp(&one.shares[1]).then(one.depth.cmp(&other.depth))
    });
    wide.truncate(MOST);
    let narrow = frames.len().saturating_sub(wide.len());
    let deepest = wide.iter().map(|(frame, _)| frame.depth).max().unwrap_or_default();
    let largest = wide.iter().map(|(frame, _)| frame.change().abs()).fold(0.0, f64::max);
    let height = place(ROW * (deepest + 1) as f64);
    html! {
        p.about { (flame.about) }
        p.key.notes {
            span { i style="background:var(--outlier);opacity:.55" {} "larger share after" }
            span { i style="background:var(--dot);opacity:.55" {} "smaller share" }
            span { i style="background:var(--outlier);opacity:.12" {} "pale: the function's own line is not called" }
        }
        @if wide.is_empty() {
            p.none { "No run after has callstacks." }
        } @else {
            svg.flame role="img" aria-label=(flame.title) width="100%" height=(height) style=(format!("height:{height}px")) {
                @for (frame, left) in &wide { (drawn(frame, *left, [whole, largest], flame)) }
            }
        }
        @if narrow > 0 {
            p.notes { (count(narrow as u64)) " functions are too narrow to draw, or only in runs before." }
        }
        (table(flame))
    }
}

fn drawn(frame: &Frame, left: f64, [whole, largest]: [f64; 2], flame: &Flame) -> Markup {
    let percent = |share: f64| format!("{:.3}%", 100.0 * share / whole);
    let is_called = flame.called.contains(&*frame.name);
    let part = if largest > 0.0 { frame.change().abs() / largest } else { 0.0 };
    let opacity = match (frame.depth, is_called) {
        (0, _) => 0.0,
        (_, true) => 0.2 + 0.35 * part,
        (_, false) => 0.14 * part,
    };
    let way = if frame.change() >= 0.0 { "more" } else { "less" };
    let called = if is_called { "called" } else { "pale" };
    html! {
        svg x=(percent(left)) y=(place(ROW * frame.depth as f64)) width=(percent(frame.shares[1])) height=(place(ROW - 1.0))
            data-frame=(shown_up_to(120, &frame.name)) data-before=(frame.shares[0]) data-after=(frame.shares[1]) {
            title { (shown_up_to(200, &frame.name)) ": " (said(frame)) @if !is_called && frame.depth > 0 { "; its own line is not called" } }
            rect.panel width="100%" height="100%" {}
            rect.(way).(called) width="100%" height="100%" fill-opacity=(format!("{opacity:.2}")) {}
            @if frame.shares[1] > 0.012 * whole { text x="3" y="13" { (shown_up_to(90, &frame.name)) } }
        }
    }
}

/// The shares of a function and their change.
fn said(frame: &Frame) -> String {
    let [before, after] = frame.shares.map(|share| format!("{:.2} %", share * 100.0));
    format!("{before} before, {after} after, {} points", points(frame.change()))
}

fn points(change: f64) -> String {
    let sign = if change > 0.0 { "+" } else { "" };
    format!("{sign}{}", signed(format!("{:.2}", change * 100.0)))
}

/// The functions whose shares changed most, for those who have no mouse.
fn table(flame: &Flame) -> Markup {
    let mut changed: Vec<&Frame> =
        flame.frames.iter().skip(1).filter(|frame| frame.change() != 0.0).collect();
    changed.sort_by(|one, other| other.change().abs().total_cmp(&one.change().abs()));
    if changed.is_empty() {
        return html! {};
    }
    html! {
        details {
            summary { "The largest changes as a table" }
            div.wide { table {
                thead { tr { th { "before" } th { "after" } th { "points" } th { "function" } th { "within" } } }
                tbody { @for frame in changed.iter().take(ROWS) { tr {
                    td.number { (format!("{:.2} %", frame.shares[0] * 100.0)) }
                    td.number { (format!("{:.2} %", frame.shares[1] * 100.0)) }
                    td.number { (points(frame.change())) }
                    td { @if flame.called.contains(&*frame.name) { b { (shown_up_to(120, &frame.name)) } } @else { (shown_up_to(120, &frame.name)) } }
                    td { (shown_up_to(120, flame.frames.get(frame.around).map_or("", |around| &around.name))) }
                } } }
            } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_stand_within_those_around_them() {
        let mut flame = Flame::new();
        for (stack, shares) in [
            (vec!["main", "draw"], [0.5, 0.25]),
            (vec!["main", "layout"], [0.25, 0.5]),
            (vec!["other"], [0.25, 0.25]),
        ] {
            flame.add(0, stack.iter().copied(), shares[0] * 2.0);
            flame.add(1, stack, shares[1]);
        }
        flame.divide([2.0, 1.0]);
        let frames = flame.frames.iter().zip(flame.lefts());
        let found: Vec<_> =
            frames.map(|(frame, left)| (&*frame.name, frame.depth, left, frame.shares)).collect();
        assert_eq!(
            found,
            [
                ("all", 0, 0.0, [1.0, 1.0]),
                ("main", 1, 0.0, [0.75, 0.75]),
                ("draw", 2, 0.0, [0.5, 0.25]),
                ("layout", 2, 0.25, [0.25, 0.5]),
                ("other", 1, 0.75, [0.25, 0.25]),
            ]
        );
    }

    #[test]
    fn a_deep_recursion_and_many_functions_are_bounded() {
        let mut flame = Flame::new();
        flame.add(1, std::iter::repeat_n("again", 100_000), 0.5);
        let names: Vec<String> = (0..5_000).map(|number| format!("f{number}")).collect();
        for name in &names {
            flame.add(1, [name.as_str()], 0.0001);
        }
        let drawn = draw(&flame).into_string();
        assert_eq!(drawn.matches("<svg x=").count(), DEEPEST);
        assert!(drawn.contains("5,000 functions are too narrow"));
    }
}
