//! Failures of the machine in the middle of work: a killed process, a full disk, a disk with
//! errors, a directory that disappears. The destination is unchanged or completely new; and the
//! next process removes everything else.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::support::{PROGRAM, Place, Said, answer, count, data, import, run};

/// The number of tests that run the program at the same time.
const THREADS: usize = 3;

/// Pseudorandom numbers, which are the same in every run with the same seed.
struct Random(u64);

impl Random {
    /// The numbers for `TIMEBASE_SEED`, for this part of a test.
    fn new(part: usize) -> Random {
        let seed = seed().wrapping_mul(1000).wrapping_add(part as u64);
        Random(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

fn seed() -> u64 {
    number_of("TIMEBASE_SEED", 14)
}

fn number_of(variable: &str, else_it_is: u64) -> u64 {
    match std::env::var(variable) {
        Ok(number) => number.parse().unwrap(),
        Err(_) => else_it_is,
    }
}

/// A trace with events of all kinds, and the number of rows in its database.
struct Example {
    trace: PathBuf,
    rows: BTreeMap<String, i64>,
    /// A database of another trace.
    older: Vec<u8>,
    _place: Place,
}

fn example() -> &'static Example {
    static EXAMPLE: OnceLock<Example> = OnceLock::new();
    EXAMPLE.get_or_init(|| {
        let place = Place::new();
        let parts = ["app.pftrace", "sdk.pftrace"].map(|name| fs::read(data(name)).unwrap());
        let trace = place.write("trace.pftrace", &parts.concat());
        let (conn, _) = place.import(&trace, &[]);
        let rows = rows(&conn);
        assert!(rows["packet"] > 5000 && rows["slice"] > 1000, "{rows:?}");
        let older = place.path("older.db");
        assert_eq!(import(&data("late-frame.pftrace"), &older, &[]).code, Some(0));
        Example { older: fs::read(&older).unwrap(), trace, rows, _place: place }
    })
}

/// The number of rows in each table and view.
fn rows(conn: &Connection) -> BTreeMap<String, i64> {
    let sql = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') \
               AND name IN ('packet', 'slice', 'args', 'flow', 'thread', 'counter', 'clock', \
                            'clock_snapshot', 'clock_step', 'stats', 'fact', 'sequence', 'track')";
    let mut statement = conn.prepare(sql).unwrap();
    let names = statement.query_map([], |row| row.get::<_, String>(0));
    let names = names.unwrap().map(Result::unwrap);
    let counted = names.map(|name| {
        let rows = count(conn, &format!("SELECT count(*) FROM {name}"));
        (name, rows)
    });
    counted.collect()
}

/// Whether the new database has reached its place, where there may have been an older one. Any
/// other state fails the test.
fn has_come(database: &Path, older: Option<&[u8]>, what: &str) -> bool {
    match (fs::read(database), older) {
        (Err(_), None) => return false,
        (Err(error), Some(_)) => panic!("{what}: the older database is gone: {error}"),
        (Ok(found), Some(older)) if found == older => return false,
        (Ok(_), _) => {}
    }
    let conn = Connection::open(database).unwrap();
    let check: String = conn.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok", "{what}");
    assert_eq!(rows(&conn), example().rows, "{what}");
    true
}

/// Imports the example to `out.db`, perhaps over an older one.
fn importing(place: &Place, older: Option<&[u8]>) -> Command {
    let mut command = Command::new(PROGRAM);
    command
        .arg("import")
        .arg(&example().trace)
        .arg("-o")
        .arg(place.path("out.db"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        // Temporary files that SQLite itself uses for sorting.
        .env("TMPDIR", place.path(""));
    if older.is_some() {
        command.arg("--force");
    }
    command
}

fn prepare(place: &Place, older: Option<&[u8]>) {
    match older {
        Some(older) => drop(place.write("out.db", older)),
        None => drop(fs::remove_file(place.path("out.db"))),
    }
}

/// Asserts that the next import, to another file, removes the files of killed imports.
fn assert_cleared_by_the_next(place: &Place, what: &str) {
    let mut expected: Vec<String> = place.files();
    expected.retain(|name| !name.starts_with('.'));
    expected.push("next.db".to_owned());
    expected.sort();
    let said = import(&data("nearest.pftrace"), &place.path("next.db"), &[]);
    assert_eq!(said.code, Some(0), "{what}: {}", said.stderr);
    assert_eq!(place.files(), expected, "{what}");
    fs::remove_file(place.path("next.db")).unwrap();
}

/// Does `work` with each of some numbers, several at the same time.
fn each(numbers: &[usize], work: impl Fn(&Place, usize) + Sync) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let place = Place::new();
                while let Some(number) = numbers.get(next.fetch_add(1, Ordering::Relaxed)) {
                    work(&place, *number);
                }
                assert_cleared_by_the_next(&place, "at the end");
            });
        }
    });
}

/// This many different numbers from 1 to `most`; all of them if there are no more.
fn some(numbers: usize, most: usize, random: &mut Random) -> Vec<usize> {
    let mut all: Vec<usize> = (1..=most).collect();
    while all.len() > numbers {
        all.swap_remove(random.below(all.len()));
    }
    all
}

/// `TIMEBASE_KILLS` sets the number.
#[test]
#[ignore = "heavy"]
fn kill_9_at_random_moments_leaves_what_was_there_or_all_of_the_new() {
    let kills = number_of("TIMEBASE_KILLS", 200) as usize;
    let place = Place::new();
    let begun = Instant::now();
    assert!(importing(&place, None).status().unwrap().success());
    // The time of the last import that reached its end.
    let whole = AtomicU64::new(begun.elapsed().as_micros() as u64);
    let killed = AtomicUsize::new(0);
    let all: Vec<usize> = (1..=kills).collect();
    each(&all, |place, number| {
        let mut random = Random::new(number);
        let moment = Duration::from_micros(random.next() % whole.load(Ordering::Relaxed).max(1));
        let what = format!("seed {}, kill {number}, after {moment:?}", seed());
        let older = (number % 2 == 1).then_some(&example().older[..]);
        prepare(place, older);
        let begun = Instant::now();
        let mut child = importing(place, older).spawn().unwrap();
        thread::sleep(moment);
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        let has_come = has_come(&place.path("out.db"), older, &what);
        if output.status.signal() == Some(9) {
            killed.fetch_add(1, Ordering::Relaxed);
        } else {
            assert!(output.status.success() && has_come, "{what}: {output:?}");
            whole.store(begun.elapsed().as_micros() as u64, Ordering::Relaxed);
        }
        if random.below(10) == 0 {
            assert_cleared_by_the_next(place, &what);
        }
    });
    let killed = killed.load(Ordering::Relaxed);
    assert!(killed * 4 >= kills, "{killed} of {kills} were killed in time");
}

/// An import is killed while `query` or another import waits for it, or has its result.
#[test]
fn a_killed_query_of_a_trace_leaves_nothing_that_the_next_does_not_clear() {
    let (place, temporary) = (Place::new(), Place::new());
    let mut child = Command::new(PROGRAM)
        .args(["query", "-", "SELECT 1"])
        .env("TMPDIR", temporary.path(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let trace = fs::read(data("nearest.pftrace")).unwrap();
    child.stdin.as_mut().unwrap().write_all(&trace).unwrap();
    until(|| !temporary.files().is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(temporary.files().len(), 1);
    let result = place.path("result.csv");
    let said = Command::new(PROGRAM)
        .arg("query")
        .arg(data("nearest.pftrace"))
        .args(["SELECT count(*) AS n FROM packet", "-o"])
        .arg(&result)
        .env("TMPDIR", temporary.path(""))
        .output();
    let said = Said::from(said.unwrap());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(fs::read_to_string(result).unwrap().starts_with("n\n"));
    assert_eq!(temporary.files(), Vec::<String>::new());
}

fn until(is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60));
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_directory_that_goes_away_is_told() {
    for (removed, said) in [
        ("there", "there is no directory"),
        ("there/.", "another program removed the unfinished file of"),
    ] {
        let place = Place::new();
        fs::create_dir(place.path("there")).unwrap();
        let mut child = Command::new(PROGRAM)
            .args(["import", "-", "-o"])
            .arg(place.path("there/out.db"))
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let trace = fs::read(data("nearest.pftrace")).unwrap();
        child.stdin.as_mut().unwrap().write_all(&trace).unwrap();
        let there = place.path("there");
        until(|| fs::read_dir(&there).unwrap().next().is_some());
        let scratch = fs::read_dir(&there).unwrap().next().unwrap().unwrap().path();
        // Everything is made at the same time as the tables.
        until(|| fs::metadata(scratch.join("incomplete")).is_ok_and(|file| file.len() > 4096));
        let gone = if removed == "there" { &there } else { &scratch };
        fs::remove_dir_all(gone).unwrap();
        let output = Said::from(child.wait_with_output().unwrap());
        assert_eq!(output.code, Some(1), "{}", output.stderr);
        assert!(output.stderr.contains(said), "{}", output.stderr);
        assert!(!place.path("there/out.db").exists());
    }
}

/// Fails unless an import to this place says why it fails.
fn assert_refused(database: &Path, arguments: &[&str], why: &str) {
    let said = import(&data("nearest.pftrace"), database, arguments);
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    assert!(said.stderr.contains(why), "{}", said.stderr);
}

#[test]
fn a_symbolic_link_stays_and_what_it_points_to_is_whole() {
    use std::os::unix::fs::symlink;
    let place = Place::new();
    fs::create_dir(place.path("disk")).unwrap();
    symlink("disk/real.db", place.path("out.db")).unwrap();
    let trace = data("nearest.pftrace");
    for arguments in [&[][..], &["--force"]] {
        let said = import(&trace, &place.path("out.db"), arguments);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        assert!(place.path("out.db").is_symlink());
        assert_eq!(fs::read_dir(place.path("disk")).unwrap().count(), 1);
    }
    assert_refused(&place.path("out.db"), &[], "out.db exists");
    // A journal next to its database.
    place.write("disk/real.db-journal", b"unfinished");
    assert_refused(&place.path("out.db"), &["--force"], "real.db-journal exists");
}

#[test]
fn an_older_database_that_is_opened_meanwhile_is_not_replaced() {
    let place = Place::new();
    let older = place.write("out.db", &example().older);
    let mut child = Command::new(PROGRAM)
        .args(["import", "-", "--force", "-o"])
        .arg(&older)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let trace = fs::read(data("nearest.pftrace")).unwrap();
    child.stdin.as_mut().unwrap().write_all(&trace).unwrap();
    until(|| place.files().len() == 2);
    place.write("out.db-wal", b"unfinished");
    let said = Said::from(child.wait_with_output().unwrap());
    assert!(said.stderr.contains("is in use"), "{}", said.stderr);
    assert_eq!(fs::read(&older).unwrap(), example().older);
    assert_eq!(place.files(), ["out.db", "out.db-wal"]);
}

/// The output of a program that feeds an import: a size before each piece.
fn pieces(parts: &[&[u8]]) -> Vec<u8> {
    let pieces = parts.iter().flat_map(|part| {
        let size = u32::try_from(part.len()).unwrap().to_le_bytes();
        [&size, *part].concat()
    });
    pieces.collect()
}

#[test]
fn a_trace_in_pieces_is_whole_or_refused() {
    let place = Place::new();
    let trace = fs::read(data("nearest.pftrace")).unwrap();
    let (first, second) = trace.split_at(100);
    let whole = pieces(&[first, second, b""]);
    let import = |bytes: &[u8]| {
        let mut child = Command::new(PROGRAM)
            .args(["import", "--pieces", "-", "-o"])
            .arg(place.path("out.db"))
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(bytes).unwrap();
        Said::from(child.wait_with_output().unwrap())
    };
    // Without the last piece, inside its size, between pieces, and inside a piece.
    for length in [whole.len() - 4, whole.len() - 2, 104, 50] {
        let said = import(&whole[..length]);
        assert_eq!(said.code, Some(1), "{}", said.stderr);
        let expected = "bytes: the program that writes it ended before the trace did";
        assert!(said.stderr.contains(expected), "{}", said.stderr);
        assert_eq!(place.files(), Vec::<String>::new());
    }
    let said = import(&whole);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stderr.contains("428 B of trace"), "{}", said.stderr);
    let file = run(&["import", "tests/data/nearest.pftrace", "--pieces"]);
    assert_eq!(file.code, Some(2), "{}", file.stderr);
}

#[test]
fn an_import_whose_progress_nobody_reads_any_more_gives_up() {
    let place = Place::new();
    let mut child = Command::new(PROGRAM)
        .args(["import", "--progress", "lines", "-", "-o"])
        .arg(place.path("out.db"))
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let trace = fs::read(data("nearest.pftrace")).unwrap();
    child.stdin.as_mut().unwrap().write_all(&trace).unwrap();
    until(|| !place.files().is_empty());
    drop(child.stderr.take());
    // Its input is still open.
    until(|| place.files().is_empty());
    let input = child.stdin.take();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    drop(input);
}

/// Types statements into a shell whose history is in `state`; the history may be made to fail.
fn type_into_a_shell(state: &Path, faults: &str, statements: &[&str]) {
    use crate::support::terminal::Terminal;
    let script = format!(
        "{faults} XDG_STATE_HOME='{}' exec '{PROGRAM}' shell '{}'",
        state.display(),
        data("nearest.pftrace").display()
    );
    let command = pty_process::blocking::Command::new("bash").args(["-c", &script]);
    let terminal = Terminal::of(100, 50, command);
    terminal.wait_for_prompt("timebase>");
    for statement in statements {
        terminal.enter(&format!("SELECT '{statement}' || '!';"));
        terminal.wait_for(&format!("{statement}!"));
        terminal.wait_for_prompt("timebase>");
    }
    terminal.enter("exit");
    assert_eq!(terminal.end().code, Some(0));
}

#[test]
fn the_history_of_the_shell_is_whole() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let directory = place.path("timebase");
    let history = directory.join("history");
    type_into_a_shell(&place.path(""), "", &["one", "two"]);
    type_into_a_shell(&place.path(""), "", &["three"]);
    let text = fs::read_to_string(&history).unwrap();
    let found = ["one", "two", "exit", "three"].map(|word| text.find(word).unwrap());
    assert!(found.is_sorted() && text.starts_with("#V2\n"), "{text}");
    let mode = fs::metadata(&history).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    #[cfg(target_os = "linux")]
    {
        use crate::hostile::faults::{Calls, Fault, Faults};
        let faults = Faults::under(directory.to_str().unwrap(), Calls::Write);
        let mut command = Command::new(PROGRAM);
        faults.meet(&mut command, 4, Fault::Stays(nix::errno::Errno::ENOSPC as i32));
        let settings = command.get_envs().map(|(name, value)| {
            let (name, value) = (name.to_str().unwrap(), value.unwrap().to_str().unwrap());
            format!("{name}='{value}' ")
        });
        let settings: String = settings.collect();
        type_into_a_shell(&place.path(""), &settings, &["four"]);
        assert!(faults.failed().is_some(), "{:?}", faults.calls());
        assert_eq!(fs::read_to_string(&history).unwrap(), text);
    }
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
}

/// The reader of a pipe may stop reading, which is no error; a failed write to a file is one.
#[test]
fn output_that_cannot_be_written_is_told_unless_nobody_reads_it() {
    let place = Place::new();
    place.import(&data("nearest.pftrace"), &[]);
    let database = place.path("out.db");
    let database = database.to_str().unwrap();
    let to = |device: &str, arguments: &[&str]| {
        let script = format!("'{PROGRAM}' \"$@\" {device}");
        let mut command = Command::new("bash");
        command.args(["-o", "pipefail", "-c", &script, "bash"]).args(arguments);
        Said::from(command.stdin(Stdio::null()).output().unwrap())
    };
    let sql = "SELECT * FROM packet, clock_snapshot";
    for arguments in [
        &["query", database, sql][..],
        &["query", database, sql, "--format", "json"],
        &["clocks", database],
        &["doctor", database, "--fail-on", "never"],
        &["explain", database, "--packet", "0"],
        &["datasette-metadata", database],
        &["help", "packet"],
        &["man"],
        &["completions", "bash"],
        &["clock-id", "x"],
        &["--help"],
        &["query", "--help"],
        &["--version"],
    ] {
        if cfg!(target_os = "linux") {
            let full = to("> /dev/full", arguments);
            assert_eq!(full.code, Some(1), "{arguments:?}: {}", full.stderr);
            assert!(
                full.stderr.starts_with("timebase: error: cannot write the "),
                "{}",
                full.stderr
            );
            assert!(full.stderr.contains("No space left"), "{arguments:?}: {}", full.stderr);
        }
        let enough = to("| true", arguments);
        assert_eq!((enough.code, enough.stderr.as_str()), (Some(0), ""), "{arguments:?}");
    }
    assert_refused(Path::new("/dev/null"), &["--force"], "is a device or a pipe");
}

#[test]
fn results_and_manual_pages_that_are_replaced_keep_what_they_were() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let place = Place::new();
    fs::create_dir(place.path("disk")).unwrap();
    let real = place.write("disk/real.csv", b"older");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
    symlink("disk/real.csv", place.path("result.csv")).unwrap();
    let trace = data("nearest.pftrace");
    let query = |sql: &str| {
        let result = place.path("result.csv");
        run(&["query", trace.to_str().unwrap(), sql, "-o", result.to_str().unwrap()])
    };
    assert_eq!(query("SELECT nothing").code, Some(1));
    assert_eq!(fs::read(&real).unwrap(), b"older");
    assert_eq!(query("SELECT 1 AS x").code, Some(0));
    assert_eq!(fs::read(&real).unwrap(), b"x\n1\n");
    assert!(place.path("result.csv").is_symlink());
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
    let pages = place.path("man");
    answer(&["man", "--dir", pages.to_str().unwrap()]);
    let names: Vec<_> = fs::read_dir(&pages).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(names.len() > 5 && names.iter().all(|name| name.to_str().unwrap().ends_with(".1")));
    assert_eq!(place.files(), ["disk", "man", "result.csv"]);
}

#[cfg(target_os = "linux")]
mod with_faults {
    use std::io::Read;

    use nix::errno::Errno;

    use super::*;
    use crate::hostile::faults::{Calls, Fault, Faults};

    /// The prefix of the files in a place, and its own name.
    fn directory(place: &Place) -> String {
        let path = place.path("");
        path.to_str().unwrap().trim_end_matches('/').to_owned()
    }

    /// The calls of an import without a fault.
    fn calls_of_an_import(calls: Calls, older: Option<&[u8]>) -> Vec<(String, String)> {
        let place = Place::new();
        prepare(&place, older);
        let path = directory(&place);
        let faults = Faults::under(&path, calls);
        let mut command = importing(&place, older);
        faults.listen(&mut command);
        assert!(command.status().unwrap().success());
        faults.calls()
    }

    /// An import of the example with a fault. `None` if it reached its end before that.
    fn fails(place: &Place, calls: Calls, at: usize, fault: Fault, what: &str) -> Option<Said> {
        let older = at.is_multiple_of(2).then_some(&example().older[..]);
        prepare(place, older);
        let path = directory(place);
        let faults = Faults::under(&path, calls);
        let mut command = importing(place, older);
        faults.meet(&mut command, at, fault);
        let said = Said::from(command.output().unwrap());
        let has_come = has_come(&place.path("out.db"), older, what);
        if matches!(fault, Fault::Kill) {
            return Some(said);
        }
        let left: &[&str] = if has_come || older.is_some() { &["out.db"] } else { &[] };
        assert_eq!(place.files(), left, "{what}: {}", said.stderr);
        assert_eq!(has_come, said.code == Some(0), "{what}: {}", said.stderr);
        match faults.failed() {
            Some(call) => {
                let (code, said_so) = (said.code, &said.stderr);
                assert_eq!(code, Some(1), "{what}: {call} failed, and nobody noticed: {said_so}");
                Some(said)
            }
            None => None,
        }
    }

    #[test]
    fn kill_9_at_each_step_leaves_what_was_there_or_all_of_the_new() {
        for older in [None, Some(&example().older[..])] {
            let calls = calls_of_an_import(Calls::Change, older);
            let is_write = |name: &str| name.ends_with("write") || name.ends_with("write64");
            let steps = (1..=calls.len()).filter(|at| !is_write(&calls[at - 1].0));
            let steps: Vec<usize> = steps.collect();
            assert!(steps.len() >= 7, "{calls:?}");
            each(&steps, |place, at| {
                let what = format!("killed at {:?}", calls[at - 1]);
                prepare(place, older);
                let path = directory(place);
                let faults = Faults::under(&path, Calls::Change);
                let mut command = importing(place, older);
                faults.meet(&mut command, at, Fault::Kill);
                let status = command.status().unwrap();
                assert_eq!(status.signal(), Some(9), "{what}");
                has_come(&place.path("out.db"), older, &what);
                assert_cleared_by_the_next(place, &what);
            });
        }
    }

    /// Data that must be on the disk is there, in the order that a crash of the machine requires.
    #[test]
    fn a_database_is_on_the_disk_before_it_has_its_name() {
        let calls = calls_of_an_import(Calls::Change, Some(&example().older));
        let last = |is_it: &dyn Fn(&str, &str) -> bool| {
            let found = calls.iter().rposition(|(name, file)| is_it(name, file));
            found.unwrap_or_else(|| panic!("{calls:?}"))
        };
        let written = last(&|name, _| name.contains("write"));
        let synced = last(&|name, file| name == "fsync" && file.ends_with("/incomplete"));
        let renamed = last(&|name, file| name == "rename" && file.ends_with("/out.db"));
        let kept = last(&|name, file| name == "fsync" && !file.ends_with("/incomplete"));
        assert!(written < synced && synced < renamed && renamed < kept, "{calls:?}");
    }

    #[test]
    fn a_disk_that_is_full_or_fails_is_told_and_leaves_what_was_there() {
        let most = calls_of_an_import(Calls::Write, Some(&example().older)).len();
        let mut random = Random::new(0);
        let full = |error: Errno| Fault::Stays(error as i32);
        for (fault, points, expected) in [
            (full(Errno::ENOSPC), 50, "no space left to write "),
            (full(Errno::EDQUOT), 10, "no space left to write "),
            (Fault::Once(Errno::EIO as i32), 50, ""),
        ] {
            each(&some(points, most, &mut random), |place, at| {
                let what = format!("seed {}, {fault:?} at call {at} of {most}", seed());
                // An import over another one makes one more call.
                let Some(said) = fails(place, Calls::Write, at, fault, &what) else {
                    assert!(at + 2 >= most, "{what}: it did not come to that");
                    return;
                };
                let message = said.stderr;
                assert!(message.starts_with("timebase: error: "), "{what}: {message}");
                assert_eq!(message.lines().count(), 1, "{what}: {message}");
                assert!(message.contains(expected), "{what}: {message}");
                assert!(message.contains("out.db"), "{what}: {message}");
                let is_clear = ["nothing was changed", "name another place with -o"];
                let is_clear = is_clear.iter().any(|clear| message.contains(clear));
                assert!(is_clear, "{what}: {message}");
            });
        }
    }

    /// Data that was written for sorting is useless if it cannot be read again.
    #[test]
    fn what_is_put_aside_and_cannot_be_written_or_read_is_told() {
        let place = Place::new();
        let part = fs::read(data("system.pftrace")).unwrap();
        let trace = place.write("large.pftrace", &part.repeat(4));
        let path = place.path("there");
        fs::create_dir(&path).unwrap();
        let path = path.to_str().unwrap();
        let import = |calls: Calls, at: usize, fault: Fault| {
            let faults = Faults::under(path, calls);
            let mut command = Command::new(PROGRAM);
            command.arg("import").arg(&trace).arg("-o").arg(format!("{path}/out.db"));
            faults.meet(&mut command, at, fault);
            (Said::from(command.output().unwrap()), faults)
        };
        for calls in [Calls::Write, Calls::Read] {
            let (said, faults) = import(calls, 0, Fault::Kill);
            assert_eq!(said.code, Some(0), "{}", said.stderr);
            fs::remove_file(format!("{path}/out.db")).unwrap();
            let aside = faults.calls();
            let aside = aside.iter().map(|(name, file)| {
                // A call that opens the file's directory, to make the file without a name.
                file.ends_with(" (deleted)")
                    || name == "open64"
                        && file.rsplit('/').next().unwrap().starts_with(".timebase-")
            });
            let aside: Vec<usize> =
                (1..).zip(aside).filter(|(_, is_aside)| *is_aside).map(|(at, _)| at).collect();
            assert!(aside.len() >= 4, "{calls:?}: {:?}", faults.calls());
            for at in some(4, aside.len(), &mut Random::new(1)) {
                let (said, faults) = import(calls, aside[at - 1], Fault::Once(Errno::EIO as i32));
                assert_eq!(said.code, Some(1), "{:?}: {}", faults.failed(), said.stderr);
                assert!(
                    said.stderr.contains("out.db failed: Input/output error"),
                    "{}",
                    said.stderr
                );
                assert_eq!(fs::read_dir(path).unwrap().count(), 0);
            }
        }
    }

    #[test]
    fn a_database_in_the_making_that_cannot_be_read_again_is_told() {
        let most = calls_of_an_import(Calls::Read, None).len();
        assert!(most > 5);
        each(&some(20, most, &mut Random::new(2)), |place, at| {
            let what = format!("call {at} of {most}");
            if let Some(said) = fails(place, Calls::Read, at, Fault::Once(Errno::EIO as i32), &what)
            {
                assert!(said.stderr.contains("out.db"), "{what}: {}", said.stderr);
            }
        });
    }

    #[test]
    fn a_place_that_cannot_be_written_is_told_at_once() {
        for (error, expected) in [
            (Errno::EROFS, "read-only filesystem"),
            (Errno::EACCES, "permission denied"),
            (Errno::ENOSPC, "no space left to write"),
        ] {
            let place = Place::new();
            let said =
                fails(&place, Calls::Write, 1, Fault::Stays(error as i32), expected).unwrap();
            assert!(said.stderr.contains(expected), "{}", said.stderr);
            assert!(said.stderr.contains("with -o"), "{}", said.stderr);
        }
    }

    #[test]
    fn a_trace_that_cannot_be_read_to_its_end_is_told() {
        let place = Place::new();
        let plain = fs::read(data("system.pftrace")).unwrap();
        let mut gzip = Vec::new();
        let level = flate2::Compression::fast();
        flate2::read::GzEncoder::new(&plain[..], level).read_to_end(&mut gzip).unwrap();
        let zstd = zstd::encode_all(&plain[..], 1).unwrap();
        for (name, bytes) in [("a.pftrace", &plain), ("b.gz", &gzip), ("c.zst", &zstd)] {
            let trace = place.write(name, bytes);
            let out = place.path("out.db");
            let from_file = || {
                let mut command = Command::new(PROGRAM);
                command.arg("import").arg(&trace).arg("-o").arg(&out);
                command
            };
            let faults = Faults::under(trace.to_str().unwrap(), Calls::Read);
            let mut command = from_file();
            faults.listen(&mut command);
            assert!(command.output().unwrap().status.success());
            let most = faults.calls().len();
            assert!(most >= 4, "{name}");
            let older = fs::read(&out).unwrap();
            // The first call looks at the file that is replaced. This is no reason to fail.
            for at in some(8, most - 1, &mut Random::new(3)).iter().map(|at| at + 1) {
                let faults = Faults::under(trace.to_str().unwrap(), Calls::Read);
                let mut command = from_file();
                command.arg("--force");
                faults.meet(&mut command, at, Fault::Once(Errno::EIO as i32));
                let said = Said::from(command.output().unwrap());
                let failed = format!("{name}: {at} of {most}: {}", said.stderr);
                assert!(faults.failed().is_some(), "{failed}");
                assert_eq!(said.code, Some(1), "{failed}");
                assert!(
                    said.stderr.contains(&format!("reading {} failed after ", trace.display())),
                    "{failed}"
                );
                assert!(said.stderr.contains(" bytes: Input/output error"), "{failed}");
                assert_eq!(fs::read(&out).unwrap(), older, "{failed}");
            }
            for at in [1, 2, 3] {
                let faults = Faults::under("pipe:", Calls::Read);
                let mut command = Command::new(PROGRAM);
                command.args(["import", "-", "--force", "-o"]).arg(&out);
                faults.meet(&mut command, at, Fault::Once(Errno::EIO as i32));
                let mut child =
                    command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
                // The program ends before it has all bytes.
                let _ = child.stdin.take().unwrap().write_all(bytes);
                let said = Said::from(child.wait_with_output().unwrap());
                assert_eq!(said.code, Some(1), "{name}: {at}: {}", said.stderr);
                assert!(
                    said.stderr.contains("reading standard input failed after "),
                    "{}",
                    said.stderr
                );
                assert_eq!(fs::read(&out).unwrap(), older);
            }
            assert_eq!(place.files().iter().filter(|name| name.starts_with('.')).count(), 0);
            fs::remove_file(&out).unwrap();
        }
    }

    #[test]
    fn a_result_on_a_full_disk_is_told_and_the_older_one_stays() {
        let place = Place::new();
        place.import(&data("nearest.pftrace"), &[]);
        let there = place.path("there");
        fs::create_dir(&there).unwrap();
        let result = there.join("result.json");
        let query = |at: usize, fault: Fault| {
            fs::write(&result, "older").unwrap();
            let faults = Faults::under(there.to_str().unwrap(), Calls::Write);
            let mut command = Command::new(PROGRAM);
            let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) SELECT i FROM n";
            command.arg("query").arg(place.path("out.db")).args([sql, "-o"]).arg(&result);
            faults.meet(&mut command, at, fault);
            (Said::from(command.output().unwrap()), faults)
        };
        let (said, faults) = query(0, Fault::Kill);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        let whole = fs::read(&result).unwrap();
        let most = faults.calls().len();
        assert!(most > 6, "{:?}", faults.calls());
        for at in 1..=most {
            let (said, faults) = query(at, Fault::Stays(Errno::ENOSPC as i32));
            let failed = format!("{:?}: {}", faults.failed(), said.stderr);
            assert_eq!(said.code, Some(1), "{failed}");
            let named = said.stderr.matches("cannot write ").count();
            assert_eq!(named, 1, "{failed}");
            assert!(said.stderr.contains("result.json: No space left"), "{failed}");
            assert_eq!(fs::read(&result).unwrap(), b"older", "{failed}");
            assert_eq!(fs::read_dir(&there).unwrap().count(), 1, "{failed}");
            let (said, _) = query(at, Fault::Kill);
            assert_eq!(said.code, None);
            let found = fs::read(&result).unwrap();
            assert!(found == b"older" || found == whole, "killed at {at} of {most}");
        }
        query(0, Fault::Kill);
        assert_eq!(fs::read_dir(&there).unwrap().count(), 1);
        let faults = Faults::under(there.to_str().unwrap(), Calls::Write);
        let mut command = Command::new(PROGRAM);
        command.args(["man", "--dir"]).arg(&there);
        faults.meet(&mut command, 6, Fault::Stays(Errno::ENOSPC as i32));
        let said = Said::from(command.output().unwrap());
        assert_eq!(said.code, Some(1));
        assert!(said.stderr.contains("cannot write manual pages to "), "{}", said.stderr);
        for entry in fs::read_dir(&there).unwrap() {
            let page = entry.unwrap().path();
            assert!(
                page == result || fs::read_to_string(&page).unwrap().contains(".SH"),
                "{page:?}"
            );
        }
    }
}
