//! Folded lines as text, as a graph, and as a page around it.

use std::io::Cursor;

use anyhow::Context;
use inferno::differential;
use inferno::flamegraph::color::{BackgroundColor, Color};
use inferno::flamegraph::{self, Direction, Options, TextTruncateDirection};

use super::samples::Samples;
use super::{Before, Folded, vanished};
use crate::escape::html;

const WHITE: Color = Color { r: 255, g: 255, b: 255 };

/// Lines `a;b;c 12`; if there is another trace, lines `a;b;c 10 12` with its weight first.
pub fn text(lines: &Folded, before: Option<&Before>) -> Vec<u8> {
    let Some(before) = before else {
        return plain(lines);
    };
    let before = &before.lines;
    let mut all: Vec<&String> = lines.keys().chain(before.keys()).collect();
    all.sort();
    all.dedup();
    let weight = |of: &Folded, stack: &String| of.get(stack).copied().unwrap_or_default();
    let text = all
        .into_iter()
        .map(|stack| format!("{stack} {} {}\n", weight(before, stack), weight(lines, stack)));
    text.collect::<String>().into_bytes()
}

fn plain(lines: &Folded) -> Vec<u8> {
    let text = lines.iter().map(|(stack, weight)| format!("{stack} {weight}\n"));
    text.collect::<String>().into_bytes()
}

/// The graph as SVG, for any width, with search and zoom.
pub fn svg(
    lines: &Folded,
    before: Option<&Before>,
    samples: &Samples,
    [title, subtitle]: &[String; 2],
) -> anyhow::Result<Vec<u8>> {
    let text = match before {
        None => plain(lines),
        Some(before) => {
            let mut text = Vec::new();
            let options = differential::Options {
                normalize: true, // recordings are not equally long
                ..Default::default()
            };
            let (before, after) = (Cursor::new(plain(&before.lines)), Cursor::new(plain(lines)));
            differential::from_readers(options, before, after, &mut text)
                .context("cannot compare the callstacks")?;
            text
        }
    };
    let mut options = Options::default();
    options.title.clone_from(title);
    options.subtitle = Some(subtitle.clone()).filter(|subtitle| !subtitle.is_empty());
    options.count_name = samples.of.unit().to_owned();
    options.font_type = "monospace".to_owned();
    options.direction = Direction::Inverted;
    options.bgcolors = Some(BackgroundColor::Flat(WHITE));
    options.text_truncate_direction = TextTruncateDirection::Right;
    // The same trace makes the same file.
    options.deterministic = true;
    let mut svg = Vec::new();
    flamegraph::from_reader(&mut options, Cursor::new(text), &mut svg)
        .context("cannot draw the callstacks")?;
    Ok(svg)
}

/// One HTML file that needs no network.
pub fn page(
    lines: &Folded,
    before: Option<&Before>,
    samples: &Samples,
    title: &[String; 2],
) -> anyhow::Result<Vec<u8>> {
    let [heading, subtitle] = title;
    // The page has a heading, so the graph needs no title.
    let svg = svg(lines, before, samples, &[String::new(), String::new()])?;
    let svg = String::from_utf8(svg).context("cannot draw the callstacks")?;
    // The text before the element is for files that are only SVG.
    let svg = svg.find("<svg").and_then(|at| svg.get(at..)).unwrap_or(&svg);
    let facts = [format!("{} {}", grouped(samples.total()), samples.of.unit()), subtitle.clone()];
    let facts: Vec<String> =
        facts.iter().filter(|fact| !fact.is_empty()).map(|fact| html(fact)).collect();
    let lost = match samples.lost {
        0 => String::new(),
        _ => {
            "<p class=\"lost\">The recording lost samples, so shares may be wrong.</p>\n".to_owned()
        }
    };
    let vanished = before.map_or_else(String::new, |before| vanished::list(lines, before));
    let heading = html(heading);
    let facts = facts.join(" · ");
    Ok(format!(
        "<!DOCTYPE html>
<html lang=\"en\">
<head>
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">
<title>{heading}</title>
<style>
body {{ margin: 0.5rem; font-family: system-ui, sans-serif; background: #fff; color: #1c1c1c; }}
h1 {{ font-size: 1.2rem; margin: 0.3rem 0; overflow-wrap: anywhere; }}
p {{ margin: 0.3rem 0; overflow-wrap: anywhere; }}
.lost {{ color: #a40000; }}
svg {{ display: block; width: 100%; }}
svg #search, svg #unzoom {{ opacity: 1; font-weight: bold; }}
h2 {{ font-size: 1rem; margin: 1rem 0 0.3rem; overflow-wrap: anywhere; }}
table {{ border-collapse: collapse; }}
th, td {{ padding: 0.1rem 0.6rem 0.1rem 0; text-align: left; vertical-align: top; overflow-wrap: anywhere; }}
td:first-child {{ text-align: right; white-space: nowrap; }}
</style>
</head>
<body>
<h1>{heading}</h1>
<p>{facts}</p>
{lost}<p>Click a function to zoom, and Search or Ctrl-F to find functions by a regular expression.</p>
{svg}
{vanished}</body>
</html>
"
    )
    .into_bytes())
}

/// A number with commas between thousands.
fn grouped(number: i64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        let left = digits.len().saturating_sub(index);
        if index > 0 && left % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
