//! How the rows of a result are written.

mod csv;
mod json;
mod markdown;
mod table;
mod text;

use std::io::{self, Write};

use clap::ValueEnum;
use rusqlite::types::ValueRef;

/// A format of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For a person: aligned columns, long blobs abbreviated
    Table,
    /// A line with the columns' names, then one a row; NULL is empty
    Csv,
    /// An array of objects, one a row
    Json,
    /// An object a line, one a row
    Jsonl,
    /// A table to paste into a document
    Markdown,
}

/// Takes the rows of one result. All but the table write a row at once, so that
/// memory does not grow with the result.
pub trait Sink {
    /// Writes a row, or keeps it to be laid out with others.
    fn row(&mut self, values: &[ValueRef<'_>]) -> io::Result<()>;

    /// Writes what is left after the last row.
    fn finish(&mut self) -> io::Result<()>;
}

/// How many columns the terminal has that standard output is; None if it is none.
pub fn terminal_width() -> Option<u16> {
    comfy_table::Table::new().width()
}

/// A sink for a result with these columns. `terminal` is the width of the one
/// that it is written to, if it is.
pub fn sink<'out>(
    format: Format,
    columns: Vec<String>,
    terminal: Option<u16>,
    out: &'out mut dyn Write,
) -> io::Result<Box<dyn Sink + 'out>> {
    Ok(match format {
        Format::Table => Box::new(table::Table::new(columns, terminal, out)),
        Format::Csv => Box::new(csv::Csv::new(&columns, out)?),
        Format::Json => Box::new(json::Json::array(columns, out)?),
        Format::Jsonl => Box::new(json::Json::lines(columns, out)?),
        Format::Markdown => Box::new(markdown::Markdown::new(columns, out)),
    })
}

/// Whether the reader of our output went away, as `head` does: it has all it
/// wanted, so that is no failure.
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
        let mut sink = sink(format, columns, terminal, &mut out).expect("to memory");
        for row in rows {
            sink.row(row).expect("to memory");
        }
        sink.finish().expect("to memory");
        drop(sink);
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
    fn csv_quotes_what_has_to_be() {
        assert_eq!(
            written(Format::Csv, &["ts", "name", "data"], ROWS),
            "ts,name,data\n-9223372036854775808,\"a|b, \"\"c\"\"\",x'0AFF'\n,1.0,\n"
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
        assert_eq!(
            written(Format::Markdown, &columns, &[]),
            "| a | b |\n| --- | --- |\n"
        );
    }

    #[test]
    fn json_has_no_infinity_but_large_numbers() {
        assert_eq!(
            written(
                Format::Jsonl,
                &["up", "down"],
                &[&[
                    ValueRef::Real(f64::INFINITY),
                    ValueRef::Real(f64::NEG_INFINITY)
                ]]
            ),
            "{\"up\":1e999,\"down\":-1e999}\n"
        );
    }

    #[test]
    fn a_table_neither_hides_nor_obeys_control_characters() {
        let table = written(
            Format::Table,
            &["msg"],
            &[&[ValueRef::Text(b"\x1b[31mred\ttext")]],
        );
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
    fn text_is_wrapped_to_the_terminal() {
        let text = ValueRef::Text(b"one two three four five");
        assert_eq!(
            written_to(
                Some(20),
                Format::Table,
                &["n", "text"],
                &[&[ValueRef::Integer(1), text]]
            ),
            concat!(
                " n │ text           \n",
                "───┼────────────────\n",
                " 1 │ one two three  \n",
                "   │ four five      \n",
            )
        );
    }

    #[test]
    fn a_table_abbreviates_long_blobs() {
        let table = written(Format::Table, &["data"], &[&[ValueRef::Blob(&[7; 100])]]);
        assert!(
            table.contains("x'070707070707070707070707'… 100 bytes"),
            "{table}"
        );
    }
}
