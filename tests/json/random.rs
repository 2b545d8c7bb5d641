//! Random files: the rows of the program are those of the model.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use rusqlite::Connection;

use super::database::{difference, tables};
use super::generate::{self, Case};
use super::model;
use super::outline::{Item, Outline};
use crate::support::random::for_all;
use crate::support::{Place, import};

/// The file as it is, and as the program gets it. After a failure it stays where the message says.
fn agree(name: &str, text: &[u8], trace: &[u8]) -> Result<(), TestCaseError> {
    let outline = Outline::of(text);
    if !outline.items.iter().any(|item| matches!(item, Item::Event(_))) {
        return Ok(()); // refused, if it is damaged
    }
    let place = Place::new();
    let out = place.path("out.db");
    let said = import(&place.write("trace", trace), &out, &[]);
    let why = if said.code == Some(0) {
        difference(&tables(&Connection::open(out).unwrap()), &model::rows(text))
    } else {
        Some(said.stderr)
    };
    let Some(why) = why else { return Ok(()) };
    let kept = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.json"));
    fs::write(&kept, text).unwrap();
    Err(TestCaseError::fail(format!("{}\n{why}", kept.display())))
}

#[test]
fn js1_to_js30_rows_of_any_file() {
    let check = |case: &Case| agree("any", case.text.as_bytes(), case.text.as_bytes());
    for_all(4, generate::case(), check);
}

#[test]
fn js4_rows_of_any_damaged_file() {
    let check = |case: &Case| agree("damaged", case.text.as_bytes(), case.text.as_bytes());
    for_all(8, generate::damaged(), check);
}

#[test]
fn js8_rows_of_any_compressed_file() {
    for_all(16, generate::case(), |case| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(case.text.as_bytes()).unwrap();
        agree("compressed", case.text.as_bytes(), &encoder.finish().unwrap())
    });
}

#[test]
fn js4_rows_of_any_file_that_is_cut() {
    for_all(8, (generate::case(), any::<prop::sample::Index>()), |(case, end)| {
        let text = &case.text.as_bytes()[..end.index(case.text.len())];
        agree("cut", text, text)
    });
}
