//! Files whose rows another model of the rules computed: those of the random files, which have numbers,
//! are also trace processor's, except for times with fractions. The others show what it does not read, or
//! reads in another way.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::database::{difference, tables};
use super::model::{self, Tables};
use crate::merge::archive::members;
use crate::support::{Imported, data};

/// The files of an extension.
fn all(extension: &str) -> Vec<PathBuf> {
    let paths = fs::read_dir(data("json")).unwrap().map(|entry| entry.unwrap().path());
    let is_one = |path: &PathBuf| path.extension().is_some_and(|found| found == extension);
    let mut paths: Vec<PathBuf> = paths.filter(is_one).collect();
    paths.sort();
    paths
}

/// The rows that belong to a file.
fn expected(file: &Path) -> Tables {
    let mut tables = Tables::new();
    for line in fs::read_to_string(file.with_extension("jsonl")).unwrap().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let cells = line["row"].as_array().unwrap().iter();
        let row = cells.map(|cell| cell.as_str().unwrap().to_owned()).collect();
        tables.entry(line["table"].as_str().unwrap().to_owned()).or_default().push(row);
    }
    tables.values_mut().for_each(|rows| rows.sort());
    tables
}

/// Shows each file with its differences.
fn none_differs(rows: impl Fn(&Path) -> Tables) {
    let files = all("json");
    assert!(files.len() > 60);
    let mut said = String::new();
    for file in files {
        if let Some(difference) = difference(&rows(&file), &expected(&file)) {
            said += &format!("{}\n{difference}", file.display());
        }
    }
    assert!(said.is_empty(), "\n{said}");
}

#[test]
fn js1_to_js30_rows_of_the_model() {
    none_differs(|file| model::rows(&fs::read(file).unwrap()));
}

#[test]
fn js1_to_js33_js37_rows_of_files() {
    none_differs(|file| tables(&Imported::of(file, &[]).conn));
}

/// A row of merge.csv: file, number of the packet, name, time and machine.
type Row = [String; 5];

#[test]
fn js31_to_js35_js37_js38_times_of_several_files() {
    let mut expected: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    let mut reader = csv::Reader::from_path(data("json/merge.csv")).unwrap();
    for row in reader.records().map(Result::unwrap) {
        let cell = |at: usize| row[at].to_owned();
        let cells = [cell(1), cell(2), cell(3), cell(4), cell(5)];
        expected.entry(cell(0)).or_default().push(cells);
    }
    let files = all("zip");
    assert_eq!(files.len(), expected.len());
    let mut said = String::new();
    for file in files {
        let mut expected = expected.remove(file.file_stem().unwrap().to_str().unwrap()).unwrap();
        let mut rows = placed(&file);
        rows.sort();
        expected.sort();
        if rows != expected {
            said += &format!("{}\nfound {rows:#?}\nnot {expected:#?}\n", file.display());
        }
    }
    assert!(said.is_empty(), "\n{said}");
}

/// The events of an archive, their names from its text.
fn placed(file: &Path) -> Vec<Row> {
    let imported = Imported::of(file, &[]);
    let rows = imported.rows(
        "SELECT trace_file.name, number, offset, packet.size, ts, ifnull(machine.name, '')
         FROM packet JOIN trace_file ON trace_file.id = trace_file_id
         LEFT JOIN machine ON machine.id = machine_id
         WHERE type = 'json_event'",
    );
    let members = members(&fs::read(file).unwrap());
    let name = |row: &[String]| {
        let (offset, size): (usize, usize) = (row[2].parse().unwrap(), row[3].parse().unwrap());
        let member = members.iter().find(|member| member.name == row[0]).unwrap();
        let event: Value = serde_json::from_slice(&member.bytes[offset..offset + size]).unwrap();
        event["name"].as_str().unwrap().to_owned()
    };
    let cells = |row: &Vec<String>| {
        [row[0].clone(), row[1].clone(), name(row), row[4].clone(), row[5].clone()]
    };
    rows.iter().map(cells).collect()
}
