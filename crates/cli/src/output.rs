//! Writes the rows of a result.

mod csv;
pub mod file;
mod json;
mod markdown;
pub mod stream;
mod table;
mod text;
mod whole;

use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::mem;

use clap::ValueEnum;
use rusqlite::types::ValueRef;

pub use whole::Whole;

/// A format of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Aligned columns, for people; abbreviates long blobs
    Table,
    /// A line with the names of the columns, then a line for each row; NULL is empty
    Csv,
    /// An array with an object for each row
    Json,
    /// A line with an object for each row
    Jsonl,
    /// A table for a document
    #[value(alias = "md")]
    Markdown,
    /// A line for each value, for narrow terminals
    Line,
}

impl Format {
    /// Whether a reader of a pipe may see the rows while more rows follow: each row is complete by itself, or the
    /// reader notices that the end is missing.
    pub fn can_stream(self) -> bool {
        match self {
            Format::Csv | Format::Json | Format::Jsonl => true,
            Format::Table | Format::Markdown | Format::Line => false,
        }
    }
}

/// A writer whose errors name its destination.
pub struct Named<W> {
    name: String,
    out: W,
}

impl<W: Write> Named<W> {
    pub fn new(name: impl Display, out: W) -> Named<W> {
        let name = name.to_string();
        Named { name, out }
    }

    fn named<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|error| match error.kind() {
            // An interrupted call is tried again.
            io::ErrorKind::Interrupted => error,
            kind => io::Error::new(kind, format!("cannot write {}: {error}", self.name)),
        })
    }
}

impl Named<Stdout> {
    /// Standard output.
    pub fn standard() -> Named<Stdout> {
        Named::new("the result", io::stdout())
    }
}

impl<W: Write> Write for Named<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes);
        self.named(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.out.flush();
        self.named(flushed)
    }
}

/// Standard output, as a command uses it.
pub enum Out {
    /// A terminal, where a person sees output at once.
    Terminal(BufWriter<Named<Stdout>>),
    /// A pipe or file, which gets the output when the command has succeeded.
    Held(Whole),
}

impl Out {
    /// Standard output of this process.
    pub fn standard() -> Out {
        if io::stdout().is_terminal() {
            Out::Terminal(BufWriter::new(Named::standard()))
        } else {
            Out::Held(Whole::new())
        }
    }

    /// Writes the output that was held back, unless the command failed.
    pub fn finish(self, has_succeeded: bool) -> io::Result<()> {
        match self {
            Out::Terminal(mut out) => out.flush(),
            Out::Held(whole) if has_succeeded => whole.finish(&mut Named::standard()),
            Out::Held(_) => Ok(()),
        }
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Out::Terminal(out) => out.write(bytes),
            Out::Held(whole) => whole.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Out::Terminal(out) => out.flush(),
            Out::Held(whole) => whole.flush(),
        }
    }
}

/// Takes the rows of one result. All sinks except the table write a row at once, so that memory
/// does not grow with the result.
pub trait Sink {
    /// Writes a row, or keeps it to lay it out with others.
    fn row(&mut self, values: &[ValueRef<'_>]) -> io::Result<()>;

    /// Passes the rows so far on, if they are not laid out with later ones.
    fn show(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Writes the rest after the last row.
    fn finish(&mut self) -> io::Result<()>;
}

/// Whether standard output is a regular file, as after `>` in a shell.
pub fn is_to_file() -> bool {
    #[cfg(unix)]
    let handle = std::os::fd::AsFd::as_fd(&io::stdout()).try_clone_to_owned();
    #[cfg(windows)]
    let handle = std::os::windows::io::AsHandle::as_handle(&io::stdout()).try_clone_to_owned();
    let metadata = handle.map(File::from).and_then(|file| file.metadata());
    metadata.is_ok_and(|metadata| metadata.is_file())
}

/// The number of columns of the terminal, if standard output is a terminal.
pub fn terminal_width() -> Option<u16> {
    comfy_table::Table::new().width()
}

/// The relation of several results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Each result is written as if it was the only one.
    Alone,
    /// The results are one document, and have titles.
    Together,
}

/// The destination of results, which are written one after another.
///
/// # Design
///
/// JSON has one value for each document, so results of one document are an array of objects with
/// `title` and `rows`. An object with the titles as keys would make shorter queries, but titles may
/// be missing or equal. A line of JSON lines has its result's title beside its `row`, so that a
/// line is complete by itself. CSV has no place for titles, and its readers expect only one table.
/// So an empty line comes before each result except the first, followed by `# Title` if there is a
/// title. No row is an empty line, because a single NULL is `""`, and a reader of CSV distinguishes
/// the two: Python's returns `[]` for an empty line. The alternative was another column with the
/// number of the result, but results have columns of their own.
pub struct Results<'out> {
    format: Format,
    layout: Layout,
    /// The width of the terminal for output, if it is a terminal.
    terminal: Option<u16>,
    out: &'out mut dyn Write,
    is_empty: bool,
    /// Whether each row is shown before the next one.
    is_streamed: bool,
}

impl<'out> Results<'out> {
    /// The same with a call of `flush` after each row.
    pub fn streamed(self, is_streamed: bool) -> Results<'out> {
        Results { is_streamed, ..self }
    }

    pub fn is_streamed(&self) -> bool {
        self.is_streamed
    }

    /// Writes results to `out`; `terminal` is the width of the terminal for `out`, if it is a
    /// terminal.
    pub fn new(
        format: Format,
        layout: Layout,
        terminal: Option<u16>,
        out: &'out mut dyn Write,
    ) -> Results<'out> {
        Results { format, layout, terminal, out, is_empty: true, is_streamed: false }
    }

    /// A sink for the next result, with these columns.
    pub fn begin(
        &mut self,
        title: Option<&str>,
        columns: Vec<String>,
    ) -> io::Result<Box<dyn Sink + '_>> {
        let is_first = mem::take(&mut self.is_empty);
        let is_together = self.layout == Layout::Together;
        if is_together {
            self.write_heading(title, is_first)?;
        }
        let out = &mut *self.out;
        Ok(match self.format {
            Format::Table => Box::new(table::Table::new(columns, self.terminal, out)),
            Format::Csv => Box::new(csv::Csv::new(&columns, out)?),
            Format::Json if is_together => Box::new(json::Json::titled_array(title, columns, out)?),
            Format::Json => Box::new(json::Json::array(columns, out)?),
            Format::Jsonl if is_together => {
                Box::new(json::Json::titled_lines(title, columns, out)?)
            }
            Format::Jsonl => Box::new(json::Json::lines(columns, out)?),
            Format::Markdown => Box::new(markdown::Markdown::new(columns, out)),
            Format::Line => Box::new(table::Table::upright(columns, out)),
        })
    }

    /// Writes the text between the results, and above each.
    fn write_heading(&mut self, title: Option<&str>, is_first: bool) -> io::Result<()> {
        let out = &mut *self.out;
        let is_apart = match self.format {
            Format::Table | Format::Markdown | Format::Line | Format::Csv => true,
            Format::Json | Format::Jsonl => false,
        };
        if is_apart && !is_first {
            out.write_all(b"\n")?;
        }
        match (self.format, title) {
            (Format::Json, _) => out.write_all(if is_first { b"[\n" } else { b",\n" }),
            // On a terminal a title is bold. Elsewhere the escape sequence would be visible.
            (Format::Table | Format::Line, Some(title)) if self.terminal.is_some() => {
                writeln!(out, "\x1b[1m{title}\x1b[0m")
            }
            (Format::Table | Format::Line, Some(title)) => writeln!(out, "{title}"),
            (Format::Csv, Some(title)) => writeln!(out, "# {title}"),
            (Format::Markdown, Some(title)) => writeln!(out, "## {title}\n"),
            (Format::Jsonl, _) | (_, None) => Ok(()),
        }
    }

    /// Writes the rest after the last result.
    pub fn finish(self) -> io::Result<()> {
        match (self.format, self.layout, self.is_empty) {
            (Format::Json, Layout::Together, true) => self.out.write_all(b"[]\n"),
            (Format::Json, Layout::Together, false) => self.out.write_all(b"\n]\n"),
            _ => Ok(()),
        }
    }
}

/// Whether the reader of our output has gone, as `head` does. It has everything that it wanted, so
/// this is no failure.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(format: Format, columns: &[&str], rows: &[&[ValueRef<'_>]]) -> String {
        written_to(None, format, columns, rows)
    }

    fn written_to(
        terminal: Option<u16>,
        format: Format,
        columns: &[&str],
        rows: &[&[ValueRef<'_>]],
    ) -> String {
        let mut out = Vec::new();
        let columns = columns.iter().map(ToString::to_string).collect();
        let mut results = Results::new(format, Layout::Alone, terminal, &mut out);
        let mut sink = results.begin(None, columns).expect("to memory");
        for row in rows {
            sink.row(row).expect("to memory");
        }
        sink.finish().expect("to memory");
        drop(sink);
        results.finish().expect("to memory");
        String::from_utf8(out).expect("UTF-8")
    }

    const ROWS: &[&[ValueRef<'static>]] = &[
        &[
            ValueRef::Integer(i64::MIN),
            ValueRef::Text(b"a|b, \"c\""),
            ValueRef::Blob(&[0x0a, 0xff]),
        ],
        &[ValueRef::Null, ValueRef::Real(1.0), ValueRef::Text(b"")],
    ];

    #[test]
    fn a_table_is_aligned_and_shows_null() {
        assert_eq!(
            written(Format::Table, &["ts", "name", "data"], ROWS),
            concat!(
                "                   ts │ name     │ data    \n",
                "──────────────────────┼──────────┼─────────\n",
                " -9223372036854775808 │ a|b, \"c\" │ x'0AFF' \n",
                "                 NULL │      1.0 │         \n",
            )
        );
    }

    #[test]
    fn a_line_a_value_is_upright_everywhere() {
        let lines =
            written(Format::Line, &["ts", "name"], &[&[ValueRef::Null, ValueRef::Text(b"x")]]);
        assert_eq!(lines, "── row 1 ──\n  ts │ NULL\nname │ x\n");
        assert_eq!(written(Format::Line, &["ts"], &[]), "");
    }

    #[test]
    fn csv_quotes_what_has_to_be() {
        assert_eq!(
            written(Format::Csv, &["ts", "name", "data"], ROWS),
            "ts,name,data\n-9223372036854775808,\"a|b, \"\"c\"\"\",0AFF\n,1.0,\n"
        );
    }

    #[test]
    fn json_has_numbers_of_64_bits() {
        assert_eq!(
            written(Format::Json, &["ts", "name", "data"], ROWS),
            concat!(
                "[\n",
                r#"{"ts":-9223372036854775808,"name":"a|b, \"c\"","data":"0AFF"},"#,
                "\n",
                r#"{"ts":null,"name":1.0,"data":""}"#,
                "\n]\n",
            )
        );
    }

    #[test]
    fn a_line_of_jsonl_is_an_object() {
        assert_eq!(
            written(Format::Jsonl, &["a", "a", "b"], ROWS),
            concat!(
                r#"{"a":-9223372036854775808,"a:1":"a|b, \"c\"","b":"0AFF"}"#,
                "\n",
                r#"{"a":null,"a:1":1.0,"b":""}"#,
                "\n",
            )
        );
    }

    #[test]
    fn markdown_escapes_its_own_signs() {
        assert_eq!(
            written(Format::Markdown, &["ts", "name", "data"], ROWS),
            concat!(
                "| ts | name | data |\n",
                "| ---: | --- | --- |\n",
                "| -9223372036854775808 | a\\|b, \"c\" | x'0AFF' |\n",
                "| NULL | 1.0 |  |\n",
            )
        );
    }

    #[test]
    fn a_result_without_rows_is_its_header() {
        let columns = ["a", "b"];
        assert_eq!(written(Format::Table, &columns, &[]), " a │ b \n───┼───\n");
        assert_eq!(written(Format::Csv, &columns, &[]), "a,b\n");
        assert_eq!(written(Format::Json, &columns, &[]), "[]\n");
        assert_eq!(written(Format::Jsonl, &columns, &[]), "");
        assert_eq!(written(Format::Markdown, &columns, &[]), "| a | b |\n| --- | --- |\n");
    }

    #[test]
    fn json_has_no_infinity_but_large_numbers() {
        assert_eq!(
            written(
                Format::Jsonl,
                &["up", "down"],
                &[&[ValueRef::Real(f64::INFINITY), ValueRef::Real(f64::NEG_INFINITY)]]
            ),
            "{\"up\":1e999,\"down\":-1e999}\n"
        );
    }

    #[test]
    fn a_table_neither_hides_nor_obeys_control_characters() {
        let table = written(Format::Table, &["msg"], &[&[ValueRef::Text(b"\x1b[31mred\ttext")]]);
        assert!(table.contains(" ␛[31mred␉text "), "{table}");
    }

    #[test]
    fn a_row_that_does_not_fit_the_terminal_is_written_upright() {
        assert_eq!(
            written_to(Some(30), Format::Table, &["ts", "name", "data"], ROWS),
            concat!(
                "── row 1 ──\n",
                "  ts │ -9223372036854775808\n",
                "name │ a|b, \"c\"\n",
                "data │ x'0AFF'\n",
                "── row 2 ──\n",
                "  ts │ NULL\n",
                "name │ 1.0\n",
                "data │ \n",
            )
        );
    }

    #[test]
    fn null_is_told_from_a_text_that_says_so() {
        let rows: &[&[ValueRef<'_>]] = &[&[ValueRef::Null, ValueRef::Text(b"NULL")]];
        let shown = |format| written(format, &["a", "b"], rows);
        assert!(shown(Format::Table).contains(" NULL │ 'NULL' "));
        assert!(shown(Format::Markdown).contains("| NULL | 'NULL' |"));
        assert_eq!(shown(Format::Csv), "a,b\n,NULL\n");
        assert_eq!(shown(Format::Jsonl), "{\"a\":null,\"b\":\"NULL\"}\n");
    }

    #[test]
    fn text_is_wrapped_to_the_terminal() {
        let text = ValueRef::Text(b"one two three four five");
        assert_eq!(
            written_to(Some(20), Format::Table, &["n", "text"], &[&[ValueRef::Integer(1), text]]),
            concat!(
                " n │ text           \n",
                "───┼────────────────\n",
                " 1 │ one two three  \n",
                "   │ four five      \n",
            )
        );
    }

    /// A result with a title, one without, and one without rows.
    fn together(format: Format, terminal: Option<u16>) -> String {
        let mut out = Vec::new();
        let mut results = Results::new(format, Layout::Together, terminal, &mut out);
        for (title, rows) in [(Some("A \"b\""), 2), (None, 1), (Some("C"), 0)] {
            let mut sink = results.begin(title, vec!["n".to_owned()]).expect("to memory");
            for n in 0..rows {
                sink.row(&[ValueRef::Integer(n)]).expect("to memory");
            }
            sink.finish().expect("to memory");
        }
        results.finish().expect("to memory");
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn results_together_have_titles() {
        assert_eq!(
            together(Format::Table, None),
            "A \"b\"\n n \n───\n 0 \n 1 \n\n n \n───\n 0 \n\nC\n n \n───\n"
        );
        assert!(together(Format::Table, Some(80)).starts_with("\x1b[1mA \"b\"\x1b[0m\n"));
        assert_eq!(
            together(Format::Markdown, None),
            "## A \"b\"\n\n| n |\n| ---: |\n| 0 |\n| 1 |\n\n| n |\n| ---: |\n| 0 |\n\n\
             ## C\n\n| n |\n| --- |\n"
        );
        assert_eq!(together(Format::Csv, None), "# A \"b\"\nn\n0\n1\n\nn\n0\n\n# C\nn\n");
    }

    #[test]
    fn results_together_are_one_json_value() {
        assert_eq!(
            together(Format::Json, None),
            concat!(
                "[\n",
                r#"{"title":"A \"b\"","rows":["#,
                "\n{\"n\":0},\n{\"n\":1}\n]},\n",
                r#"{"title":null,"rows":["#,
                "\n{\"n\":0}\n]},\n",
                r#"{"title":"C","rows":[]}"#,
                "\n]\n",
            )
        );
        assert_eq!(
            together(Format::Jsonl, None),
            concat!(
                r#"{"title":"A \"b\"","row":{"n":0}}"#,
                "\n",
                r#"{"title":"A \"b\"","row":{"n":1}}"#,
                "\n",
                r#"{"title":null,"row":{"n":0}}"#,
                "\n",
            )
        );
        let mut out = Vec::new();
        let none = Results::new(Format::Json, Layout::Together, None, &mut out);
        none.finish().expect("to memory");
        assert_eq!(out, b"[]\n");
    }

    #[test]
    fn a_table_abbreviates_long_blobs() {
        let table = written(Format::Table, &["data"], &[&[ValueRef::Blob(&[7; 100])]]);
        assert!(table.contains("x'070707070707070707070707'… 100 bytes"), "{table}");
    }
}
