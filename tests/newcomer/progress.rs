//! The progress of an import: a line that fits the terminal, and lines for programs.

use std::fs;
use std::io::{self, Write};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::terminal::{Terminal, program};
use crate::support::{PROGRAM, Place, data, repository, run};

/// The width of the summary's longest line does not concern the progress line.
fn before_summary(screens: &[String]) -> impl Iterator<Item = &String> {
    screens.iter().filter(|screen| !screen.contains('→'))
}

/// The output while a trace comes slowly through a pipe, in a terminal of this width.
fn fed_slowly(columns: u16) -> Vec<String> {
    let place = Place::new();
    let out = place.path("out.db");
    let (input, mut feed) = io::pipe().unwrap();
    let command = program(&["import", "-", "-o", out.to_str().unwrap()]).stdin(Stdio::from(input));
    let terminal = Terminal::of(columns, 50, command);
    let trace = fs::read(data("sdk.pftrace")).unwrap();
    // A third of the trace, its output, and so on: nothing here depends on speed.
    let mut shown = String::new();
    for part in trace.chunks(trace.len() / 3 + 1) {
        feed.write_all(part).unwrap();
        shown = terminal.wait_until("progress", |screen| {
            screen.contains("packets") && screen != shown && !screen.ends_with(" 0 packets")
        });
    }
    drop(feed);
    let ended = terminal.end();
    assert_eq!(ended.code, Some(0), "{}", ended.screen);
    before_summary(&ended.screens).cloned().collect()
}

#[test]
fn a_slow_pipe_has_a_line_that_fits_in_any_terminal() {
    for columns in [20, 40, 60, 80, 200] {
        let screens = fed_slowly(columns);
        assert!(screens.len() >= 3, "{screens:?}");
        for screen in &screens {
            assert!(screen.lines().count() <= 1, "{columns} columns:\n{screen}");
        }
        let told = screens.concat();
        assert!(told.contains(" packets"), "{told}");
        assert_eq!(told.contains("KiB"), columns >= 40, "{told}");
    }
}

/// A trace that takes a while.
fn large(place: &Place) -> String {
    let trace = fs::read(data("app.pftrace")).unwrap().repeat(60);
    place.write("large.pftrace", &trace).to_str().unwrap().to_owned()
}

#[test]
fn a_file_has_a_bar_that_fits_in_any_terminal_and_is_gone_at_the_end() {
    let place = Place::new();
    let trace = large(&place);
    for columns in [20, 40, 60, 80, 200] {
        let terminal = Terminal::run(columns, &["import", &trace, "--force"]);
        let percent = terminal.wait_for(" %");
        assert_eq!(percent.contains(['█', '░']), columns >= 40, "{percent}");
        let ended = terminal.end();
        assert_eq!(ended.code, Some(0), "{}", ended.screen);
        for screen in before_summary(&ended.screens) {
            assert!(screen.lines().count() <= 1, "{columns} columns:\n{screen}");
        }
        let writes = |screen: &&String| screen.contains("writing indexes");
        let told = before_summary(&ended.screens).find(writes);
        assert!(told.is_some(), "{:?}", ended.screens);
        assert!(!ended.screen.contains('%') || ended.screen.contains("100 %"));
        assert!(!ended.screen.contains('█'), "{}", ended.screen);
    }
}

#[test]
fn a_terminal_made_narrower_gets_a_line_that_fits_it() {
    let place = Place::new();
    let out = place.path("out.db");
    let (input, mut feed) = io::pipe().unwrap();
    let command = program(&["import", "-", "-o", out.to_str().unwrap()]).stdin(Stdio::from(input));
    let terminal = Terminal::of(100, 20, command);
    feed.write_all(&fs::read(data("sdk.pftrace")).unwrap()).unwrap();
    terminal.wait_for("/s");
    terminal.resize(24, 20);
    // A line that was being written when the terminal changed may be broken; the next one fits.
    terminal.wait_until("a shorter line", |screen| {
        let last = screen.lines().last().unwrap_or_default();
        last.contains(" packets") && last.starts_with(|c: char| !c.is_ascii() && c != '█')
    });
    drop(feed);
    assert_eq!(terminal.end().code, Some(0));
}

#[test]
fn a_program_reads_progress_as_lines_of_json() {
    let place = Place::new();
    let trace = large(&place);
    let said = run(&["import", &trace, "--progress", "lines"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let lines: Vec<Value> = said
        .stderr
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let size = fs::metadata(&trace).unwrap().len();
    assert!(lines.len() > 3, "{}", said.stderr);
    assert!(lines.iter().all(|line| line["of"] == size), "{lines:?}");
    assert!(lines.is_sorted_by_key(|line| line["bytes"].as_u64()));
    let last = lines.last().unwrap();
    assert_eq!((&last["bytes"], &last["phase"]), (&size.into(), &"writing".into()));
    assert!(last["packets"].as_u64() > Some(1000), "{last}");
    assert!(said.stderr.contains("→"), "the summary comes behind it");

    // A pipe has no length, and a failed import still has its last line.
    let mut child = Command::new(PROGRAM)
        .args(["import", "-", "--progress", "lines", "-o"])
        .arg(place.path("new.db"))
        .current_dir(repository())
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"no trace").unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    let lines: Vec<&str> = said.lines().collect();
    let line: Value = serde_json::from_str(lines[lines.len() - 2]).unwrap();
    assert_eq!((&line["of"], &line["bytes"]), (&Value::Null, &8.into()));
    assert!(lines[lines.len() - 1].starts_with("timebase: error: "), "{said}");
}

#[test]
fn who_wants_no_progress_gets_none() {
    let place = Place::new();
    let trace = large(&place);
    let terminal = Terminal::run(80, &["import", &trace, "--progress", "never"]);
    let ended = terminal.end();
    assert_eq!(ended.code, Some(0), "{}", ended.screen);
    assert_eq!(before_summary(&ended.screens).count(), 0, "{:?}", ended.screens);
}
