//! The functions that only the other trace of a comparison has. A graph of this trace cannot show them, because their
//! width would be 0.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use super::{Before, Folded};
use crate::escape::html;

/// The number of functions that are listed.
const MOST: usize = 100;

/// A function of the other trace.
struct Vanished<'b> {
    name: &'b str,
    /// The weight of all callstacks with it.
    weight: i64,
    /// The callstack with the largest weight, and this weight.
    stack: (&'b str, i64),
}

/// The functions that `lines` do not have, the heaviest first.
fn vanished<'b>(lines: &'b Folded, before: &'b Folded) -> Vec<Vanished<'b>> {
    let present: HashSet<&str> = lines.keys().flat_map(|stack| stack.split(';')).collect();
    let mut found: HashMap<&str, Vanished<'b>> = HashMap::new();
    for (stack, weight) in before {
        // A recursive function counts once.
        let names: HashSet<&str> = stack.split(';').collect();
        for name in names.difference(&present) {
            let vanished =
                found.entry(name).or_insert(Vanished { name, weight: 0, stack: (stack, *weight) });
            vanished.weight = vanished.weight.saturating_add(*weight);
            if *weight > vanished.stack.1 {
                vanished.stack = (stack, *weight);
            }
        }
    }
    let mut found: Vec<Vanished<'b>> = found.into_values().collect();
    found.sort_by_key(|vanished| (Reverse(vanished.weight), vanished.name));
    found
}

/// A list for a page; empty if there is nothing to list.
pub fn list(lines: &Folded, before: &Before) -> String {
    let found = vanished(lines, &before.lines);
    if found.is_empty() {
        return String::new();
    }
    let all = before.lines.values().copied().fold(0, i64::saturating_add);
    let name = html(&before.name);
    let mut page = format!(
        "<h2>Only in {name}</h2>\n<p>These functions are in callstacks of {name}, and in none here.</p>\n\
         <table>\n<tr><th>share there</th><th>function</th><th>its heaviest callstack</th></tr>\n"
    );
    for vanished in found.iter().take(MOST) {
        // Writing to a String cannot fail.
        let _ = writeln!(
            page,
            "<tr><td>{:.2} %</td><td>{}</td><td>{}</td></tr>",
            100.0 * vanished.weight as f64 / all as f64,
            html(vanished.name),
            html(&vanished.stack.0.replace(';', "; "))
        );
    }
    page += "</table>\n";
    if let Some(more @ 1..) = found.len().checked_sub(MOST) {
        let _ = writeln!(page, "<p>And {more} more functions with smaller shares.</p>");
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(lines: &[(&str, i64)]) -> Folded {
        let lines = lines.iter().map(|(stack, weight)| ((*stack).to_owned(), *weight));
        lines.collect()
    }

    #[test]
    fn a_function_has_vanished_if_no_callstack_has_it() {
        let now = folded(&[("main;draw", 5), ("main;moved;x", 1)]);
        let before = folded(&[
            ("main;draw", 1),
            ("main;gone;gone;x", 2),
            ("main;draw;gone", 3),
            ("moved;leaf", 4),
        ]);
        let found: Vec<_> = vanished(&now, &before)
            .into_iter()
            .map(|vanished| (vanished.name, vanished.weight, vanished.stack.0))
            .collect();
        assert_eq!(found, [("gone", 5, "main;draw;gone"), ("leaf", 4, "moved;leaf")]);
    }

    #[test]
    fn a_long_list_is_cut_and_says_so() {
        let before: Vec<String> = (0..130).map(|number| format!("f<{number}>")).collect();
        let before: Vec<(&str, i64)> = before.iter().map(|name| (name.as_str(), 1)).collect();
        let before = Before { name: "old & slow".to_owned(), lines: folded(&before) };
        let html = list(&folded(&[("main", 1)]), &before);
        assert_eq!(html.matches("<td>0.77 %</td>").count(), MOST);
        assert!(html.contains("f&lt;0&gt;") && html.contains("<h2>Only in old &amp; slow</h2>"));
        assert!(html.contains("And 30 more functions"), "{html}");
        assert_eq!(
            list(&folded(&[("a", 1)]), &Before { name: String::new(), lines: folded(&[("a", 2)]) }),
            ""
        );
    }
}
