//! Common code of the tests: it runs the program, makes places for its files, imports traces and
//! reads their rows, and reads other tools' results for the same traces.

pub mod events;
pub mod kernel;
pub mod profiles;
pub mod random;
pub mod statements;
#[cfg(unix)]
pub mod terminal;

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

use rusqlite::Connection;
use rusqlite::types::Value;
use tempfile::TempDir;

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_timebase");

pub fn repository() -> &'static Path {
    static REPOSITORY: LazyLock<PathBuf> = LazyLock::new(|| {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        package.join("../..").canonicalize().unwrap()
    });
    &REPOSITORY
}

/// A file of tests/data.
pub fn data(name: &str) -> PathBuf {
    repository().join("tests/data").join(name)
}

/// The files below a directory that have one of these extensions.
pub fn files(directory: &str, extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut places = vec![repository().join(directory)];
    while let Some(place) = places.pop() {
        for entry in fs::read_dir(place).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            let extension = path.extension().and_then(|extension| extension.to_str());
            if path.is_dir() {
                if !name.starts_with(['.', '_']) && name != "target" {
                    places.push(path);
                }
            } else if extension.is_some_and(|extension| extensions.contains(&extension)) {
                found.push(path);
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "{directory}");
    found
}

/// The end of a run of the program, and its output.
#[derive(Debug)]
pub struct Said {
    /// `None` if it was killed.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Said {
        Said {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// Runs the program in the repository.
pub fn run(args: &[&str]) -> Said {
    run_with_input(args, "")
}

pub fn run_with_input(args: &[&str], input: &str) -> Said {
    let mut child = Command::new(PROGRAM)
        .current_dir(repository())
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that does not read its input is not wrong.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap().into()
}

/// The program's output, if it succeeds.
pub fn answer(args: &[&str]) -> String {
    let said = run(args);
    assert_eq!(said.code, Some(0), "{args:?}\n{}", said.stderr);
    said.stdout
}

/// A directory that must only contain the files that a test expects.
pub struct Place(TempDir);

impl Place {
    pub fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        fs::write(self.path(name), bytes).unwrap();
        self.path(name)
    }

    pub fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Imports to `out.db`; the import must succeed.
    pub fn import(&self, trace: &Path, args: &[&str]) -> (Connection, String) {
        let out = self.path("out.db");
        let said = import(trace, &out, &[&["--force"], args].concat());
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        (Connection::open(out).unwrap(), said.stderr)
    }

    /// An import that must fail without leaving anything behind.
    pub fn refuse(&self, trace: &Path, args: &[&str]) -> String {
        let before = self.files();
        let said = import(trace, &self.path("new.db"), args);
        assert_eq!(said.code, Some(1), "{}", said.stderr);
        assert_eq!(self.files(), before, "a failed import leaves nothing behind");
        said.stderr
    }
}

pub fn import(trace: &Path, database: &Path, args: &[&str]) -> Said {
    let paths: [&OsStr; 4] = ["import".as_ref(), trace.as_ref(), "-o".as_ref(), database.as_ref()];
    let mut command = Command::new(PROGRAM);
    command.current_dir(repository()).args(paths).args(args);
    command.output().unwrap().into()
}

/// A trace as a database. It is gone when this is.
pub struct Imported {
    pub conn: Connection,
    /// The messages of the import.
    pub said: String,
    path: PathBuf,
    _place: Place,
}

impl Imported {
    /// A trace of tests/data.
    pub fn new(trace: &str, args: &[&str]) -> Imported {
        Imported::of(&data(trace), args)
    }

    pub fn of(trace: &Path, args: &[&str]) -> Imported {
        let place = Place::new();
        let path = place.path("out.db");
        let said = import(trace, &path, args);
        assert_eq!(said.code, Some(0), "{}: {}", trace.display(), said.stderr);
        Imported { conn: Connection::open(&path).unwrap(), said: said.stderr, path, _place: place }
    }

    pub fn of_bytes(trace: &[u8], args: &[&str]) -> Imported {
        let place = Place::new();
        Imported::of(&place.write("trace", trace), args)
    }

    pub fn path(&self) -> &str {
        self.path.to_str().unwrap()
    }

    pub fn count(&self, sql: &str) -> i64 {
        count(&self.conn, sql)
    }

    pub fn rows(&self, sql: &str) -> Vec<Vec<String>> {
        rows(&self.conn, sql)
    }
}

/// The one integer of a query.
pub fn count(conn: &Connection, sql: &str) -> i64 {
    conn.query_row(sql, [], |row| row.get(0)).unwrap()
}

/// The rows of a query as text.
pub fn rows(conn: &Connection, sql: &str) -> Vec<Vec<String>> {
    let mut statement = conn.prepare(sql).unwrap();
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| (0..columns).map(|i| row.get(i).map(text)).collect());
    rows.unwrap().map(Result::unwrap).collect()
}

/// A value in trace processor's form.
pub fn text(value: Value) -> String {
    match value {
        Value::Null => "[NULL]".to_owned(),
        Value::Integer(value) => value.to_string(),
        Value::Text(value) => value,
        other => format!("{other:?}"),
    }
}

/// The rows of one of trace processor's tables.
pub fn expected(name: &str) -> Vec<Vec<String>> {
    csv_rows(&fs::read(data("expected").join(name)).unwrap())
}

/// The same for a compressed file.
pub fn expected_compressed(name: &str) -> Vec<Vec<String>> {
    csv_rows(&decompressed(&format!("expected/{name}")))
}

fn csv_rows(text: &[u8]) -> Vec<Vec<String>> {
    let mut reader = csv::Reader::from_reader(text);
    let rows = reader.records().map(|row| row.unwrap().iter().map(String::from).collect());
    rows.collect()
}

fn decompressed(name: &str) -> Vec<u8> {
    zstd::decode_all(&fs::read(data(name)).unwrap()[..]).unwrap()
}

/// The lines of a compressed JSON file: the results of Perfetto's Python package.
pub fn fixture(name: &str) -> Vec<serde_json::Value> {
    let text = String::from_utf8(decompressed(name)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Without spaces at the ends of lines and empty lines around the text.
pub fn trimmed(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n").trim_matches('\n').to_owned()
}

/// Checks that an example's output is the one that a page shows. With TIMEBASE_WRITE, it writes the output to
/// the page instead, behind the last line of the example, for a review of the change.
pub fn is_shown(page: &str, example: &str, output: &str, shown: &str) {
    if output == shown || std::env::var_os("TIMEBASE_WRITE").is_none() {
        assert_eq!(output, shown, "{page}: {example}");
        return;
    }
    let path = repository().join(page);
    let text = std::fs::read_to_string(&path).unwrap();
    let last = example.lines().last().unwrap();
    let block = |text: &str, indent: &str| {
        let line = |line: &str| match line {
            "" => String::new(),
            line => format!("{indent}{line}"),
        };
        text.lines().map(line).collect::<Vec<_>>().join("\n")
    };
    for (at, _) in text.match_indices(last) {
        for indent in ["", "    "] {
            let (before, after) = text.split_at(at);
            let old = block(shown, indent);
            let near = after.find(&old).filter(|&near| near < 400 + last.len());
            if let Some(near) = near {
                let (between, rest) = after.split_at(near);
                let new = block(output, indent);
                let rest = &rest[old.len()..];
                std::fs::write(&path, format!("{before}{between}{new}{rest}")).unwrap();
                return;
            }
        }
    }
    panic!("{page} does not show this:\n{shown}\nof {example}");
}
