//! Text laid out for a terminal.
//!
//! # Design
//!
//! The content is already blocks and not Markdown. So a renderer of Markdown (termimad was looked
//! at) would need the marks again that were just removed when the reference was read. Its tables
//! also have lines around cells, which a person reads as prose. So these 340 lines lay out only
//! paragraphs, lists, tables and code: pulldown-cmark parses the Markdown, and textwrap breaks
//! lines, because it knows how wide characters are.

use std::fmt::Write;

use clap::builder::StyledStr;
use textwrap::core::display_width;

use crate::reference::{Block, names};

/// The width of text without a terminal, and the largest width in a terminal: longer lines are hard
/// to read.
const WIDTH: usize = 100;
/// With less width than this beside the other columns, text goes below them.
const LEAST: usize = 40;
/// If several names together are wider than this, each gets its own line.
const NAMES: usize = 26;
/// The spaces before the cells of a row, and between them.
const INDENT: usize = 2;
const GAP: usize = 3;

/// A row of a table.
struct TableRow {
    /// The lines of each cell except the last.
    short: Vec<Vec<String>>,
    text: String,
}

impl TableRow {
    fn of(cells: &[String]) -> TableRow {
        let (text, short) = cells.split_last().map_or(("", &[][..]), |(text, short)| (text, short));
        TableRow { short: short.iter().map(|cell| lines_of(cell)).collect(), text: text.to_owned() }
    }

    fn width(&self, index: usize) -> usize {
        let lines = self.short.get(index).map_or(&[][..], Vec::as_slice);
        lines.iter().map(|line| display_width(line)).max().unwrap_or_default()
    }
}

/// A row whose first cell has its names without the backticks that they have in text.
pub fn with_bare_names(row: &[String]) -> Vec<String> {
    let mut row = row.to_vec();
    if let Some(first) = row.first_mut() {
        *first = names(first).collect::<Vec<_>>().join(", ");
    }
    row
}

/// A cell, or the names in it with one on each line.
fn lines_of(cell: &str) -> Vec<String> {
    let names: Vec<&str> = cell.split_inclusive(", ").map(str::trim_end).collect();
    let are_names = names.iter().all(|name| !name.contains(' '));
    if are_names && display_width(cell) > NAMES {
        names.into_iter().map(str::to_owned).collect()
    } else {
        vec![cell.to_owned()]
    }
}

fn wrapping<'a>(width: usize) -> textwrap::Options<'a> {
    textwrap::Options::new(width)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .break_words(false)
}

pub struct Page {
    text: String,
    /// The columns of the terminal, if it is one.
    terminal: Option<usize>,
}

impl Page {
    pub fn new(terminal: Option<u16>) -> Page {
        Page { text: String::new(), terminal: terminal.map(usize::from) }
    }

    pub fn into_text(self) -> String {
        self.text
    }

    fn width(&self) -> usize {
        self.terminal.map_or(WIDTH, |width| width.min(WIDTH))
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// An empty line between the earlier and the next text.
    fn apart(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }

    pub fn heading(&mut self, heading: &str) {
        self.apart();
        match self.terminal {
            Some(_) => self.line(&format!("\x1b[1m{heading}\x1b[0m")),
            None => self.line(heading),
        }
    }

    pub fn paragraph(&mut self, text: &str) {
        self.apart();
        self.wrapped(text, "", "");
    }

    /// Lines without a change.
    pub fn lines(&mut self, lines: &str) {
        self.apart();
        for line in lines.lines() {
            self.line(&format!("    {line}"));
        }
    }

    /// Text that clap has laid out.
    pub fn verbatim(&mut self, text: &StyledStr) {
        self.apart();
        let text = match self.terminal {
            Some(_) => text.ansi().to_string(),
            None => text.to_string(),
        };
        text.lines().for_each(|line| self.line(line));
    }

    /// Lines that may be cut at their ends without a loss.
    fn cut_lines(&mut self, lines: &str) {
        let room = self.terminal.unwrap_or(WIDTH).saturating_sub(4);
        self.apart();
        for line in lines.lines() {
            let line = line.trim_end();
            if display_width(line) <= room {
                self.line(&format!("    {line}"));
                continue;
            }
            let mut kept = String::new();
            for c in line.chars() {
                if display_width(&kept) + 1 >= room {
                    break;
                }
                kept.push(c);
            }
            self.line(&format!("    {kept}…"));
        }
    }

    fn wrapped(&mut self, text: &str, first: &str, others: &str) {
        let options = wrapping(self.width()).initial_indent(first).subsequent_indent(others);
        for line in textwrap::wrap(text, options) {
            self.line(&line);
        }
    }

    /// Rows whose last cell is text, and whose other cells are short, such as names. If they are
    /// not short, or the terminal is narrow, texts go below the names. If there are several texts,
    /// each has its name from `header`.
    pub fn rows(&mut self, header: &[&str], rows: &[Vec<String>]) {
        self.apart();
        let rows: Vec<TableRow> = rows.iter().map(|row| TableRow::of(row)).collect();
        let count = rows.iter().map(|row| row.short.len()).max().unwrap_or_default();
        let widths: Vec<usize> = (0..count)
            .map(|index| rows.iter().map(|row| row.width(index)).max())
            .map(Option::unwrap_or_default)
            .collect();
        let before = widths.iter().fold(INDENT, |sum, width| sum + width + GAP);
        if before + LEAST <= self.width() {
            for row in &rows {
                self.beside(row, &widths, before);
            }
        } else {
            // The first cell is the name of the row.
            let long: Vec<bool> =
                (0..).zip(&widths).map(|(index, width)| index > 0 && *width > LEAST).collect();
            for row in &rows {
                self.below(row, header, &long);
            }
        }
    }

    fn beside(&mut self, row: &TableRow, widths: &[usize], before: usize) {
        let text = textwrap::wrap(&row.text, wrapping(self.width() - before));
        let names = row.short.iter().map(Vec::len).max().unwrap_or_default();
        for index in 0..names.max(text.len()) {
            let mut line = " ".repeat(INDENT);
            for (column, width) in widths.iter().enumerate() {
                let cell = row.short.get(column).and_then(|lines| lines.get(index));
                let cell = cell.map_or("", String::as_str);
                let blanks = (width + GAP).saturating_sub(display_width(cell));
                // Writing to a String cannot fail.
                let _ = write!(line, "{cell}{:blanks$}", "");
            }
            line.push_str(text.get(index).map_or("", |text| text));
            self.line(&line);
        }
    }

    /// Cells that are `long` in any row are texts, too.
    fn below(&mut self, row: &TableRow, header: &[&str], long: &[bool]) {
        let is_long = |index: usize| long.get(index).copied().unwrap_or_default();
        let cells = row.short.iter().map(|lines| lines.join(" ")).enumerate();
        let (texts, names): (Vec<_>, Vec<_>) = cells.partition(|(index, _)| is_long(*index));
        let names: Vec<String> = names.into_iter().map(|(_, name)| name).collect();
        self.wrapped(names.join(&" ".repeat(GAP)).trim_end(), "  ", "  ");
        let are_several = !texts.is_empty();
        for (index, text) in texts.into_iter().chain([(row.short.len(), row.text.clone())]) {
            match header.get(index).filter(|name| are_several && !name.is_empty()) {
                Some(name) => self.wrapped(&format!("{name}: {text}"), "      ", "        "),
                None => self.wrapped(&text, "      ", "      "),
            }
        }
    }

    pub fn block(&mut self, block: &Block) {
        match block {
            Block::Paragraph(text) => self.paragraph(text),
            Block::List(items) => {
                self.apart();
                for item in items {
                    self.wrapped(item, "- ", "  ");
                }
            }
            Block::Table(rows) => {
                let (header, rows) =
                    rows.split_first().map_or((&[][..], &[][..]), |(h, r)| (&h[..], r));
                let header: Vec<&str> = header.iter().map(String::as_str).collect();
                let rows: Vec<Vec<String>> = rows.iter().map(|row| with_bare_names(row)).collect();
                self.rows(&header, &rows);
            }
            Block::Lines(lines) => self.lines(lines),
            Block::Example { trace, sql, output } => {
                self.paragraph(&format!("Example, on {trace}:"));
                self.lines(sql);
                self.cut_lines(output);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(terminal: u16) -> String {
        let mut page = Page::new(Some(terminal));
        let row = |name: &str, text: &str| vec![name.into(), "integer".into(), text.into()];
        page.rows(
            &["column", "type", ""],
            &[
                row("ts", "from when on, and that is rather a long time"),
                row("a_long_name", "größe"),
            ],
        );
        page.into_text()
    }

    #[test]
    fn text_beside_names_is_wrapped_in_its_column() {
        assert_eq!(
            rows(80),
            "  ts            integer   from when on, and that is rather a long time\n  \
             a_long_name   integer   größe\n"
        );
        assert!(
            rows(66).contains("that is rather a long\n                          time\n"),
            "{}",
            rows(66)
        );
    }

    #[test]
    fn text_without_room_beside_names_is_below_them() {
        assert_eq!(
            rows(36),
            "  ts   integer\n      from when on, and that is\n      rather a long time\n  \
             a_long_name   integer\n      größe\n"
        );
    }

    #[test]
    fn nothing_but_text_goes_to_a_pipe() {
        let mut page = Page::new(None);
        page.heading("One");
        page.paragraph(&"word ".repeat(30));
        let text = page.into_text();
        assert!(!text.contains('\x1b'));
        assert!(text.lines().all(|line| line.len() <= 100), "{text}");
        assert!(text.lines().any(|line| line.len() > 90), "{text}");
    }

    #[test]
    fn output_is_cut_and_statements_are_not() {
        let long = "x".repeat(200);
        let mut page = Page::new(Some(40));
        page.block(&Block::Example {
            trace: "a.pftrace".into(),
            sql: format!("SELECT '{long}'"),
            output: long.clone(),
        });
        let text = page.into_text();
        assert!(text.contains(&format!("SELECT '{long}'")));
        assert!(text.ends_with("x…\n"), "{text}");
        assert_eq!(text.lines().last().map(display_width), Some(40));
    }
}
