//! The progress of an import, on standard error: as a bar for people, as lines for programs.
//!
//! # Design
//!
//! * **The line always fits.** It is made anew for the terminal's width each time it is drawn: the least
//!   important part is left out first, and the bar before the words. There was one template for all widths
//!   before. Below 75 columns its line wrapped, and every redraw left pieces of the previous one.
//! * **Two columns stay empty**, because a terminal shows Ctrl-C as `^C` behind the line. If that went to the next
//!   row, the line would stay on the screen.
//! * **A terminal that becomes narrower** while the bar is shown may break the current line into two, and the
//!   upper piece stays. Only the terminal knows whether it breaks the line, and erasing one row too many would
//!   remove another program's text.
//! * **A trace that is read twice** fills the bar twice, and the line says which reading it is. One bar for
//!   both would stop for a while, because nobody knows how long the second reading takes compared to the
//!   first.
//! * **Lines for programs** are objects of JSON, because a program that shows progress in its own way (a
//!   notebook, a server) needs numbers and no control codes. The lines come at intervals of time and not of
//!   bytes, so that a slow pipe is seen to be alive. If a program does not read them any more, it was killed.
//!   Then the import ends, too, because nobody needs it.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::ValueEnum;
use console::Term;
use indicatif::{
    HumanBytes, HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike,
};
use serde_json::json;
use timebase_import::{Monitor, Pass};

use crate::children::Children;
use crate::messages;

/// The interval between two displays: short enough to look alive.
const PERIOD: Duration = Duration::from_millis(100);

/// The most redraws in a second.
const REDRAWS: u8 = 20;

/// The time that statements may run before progress is shown.
const PATIENCE: Duration = Duration::from_secs(2);

/// The least width of a bar that is worth its room.
const SHORTEST_BAR: usize = 10;

/// The columns behind the line for `^C`.
const RESERVED: u16 = 2;

/// The display of progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Progress {
    /// A bar, if standard error is a terminal
    #[default]
    Auto,
    /// Nothing
    Never,
    /// For programs: about ten times a second, and at the end, a line of JSON on standard error
    Lines,
}

/// Does `work` while another thread shows the progress in `monitor`. `size` is the number of bytes to read,
/// if it is known.
pub fn shown<T>(
    progress: Progress,
    monitor: &Arc<Monitor>,
    size: Option<u64>,
    work: impl FnOnce() -> T,
) -> anyhow::Result<T> {
    let state = {
        let monitor = Arc::clone(monitor);
        move || State::of(&monitor, size)
    };
    match progress {
        Progress::Auto if io::stderr().is_terminal() => {
            let mut bar = Bar::new()?;
            Ok(during(work, move || bar.draw(&state())))
        }
        Progress::Auto | Progress::Never => Ok(work()),
        Progress::Lines => {
            let monitor = Arc::clone(monitor);
            Ok(during(work, move || {
                if messages::is_gone(state().json()) {
                    monitor.cancel.store(true, Ordering::Relaxed);
                }
            }))
        }
    }
}

/// Does `work`, an export of this number of tables, while another thread shows the progress in `monitor`.
pub fn shown_export<T>(
    progress: Progress,
    monitor: &Arc<timebase_export::Monitor>,
    of: usize,
    work: impl FnOnce() -> T,
) -> anyhow::Result<T> {
    let state = {
        let monitor = Arc::clone(monitor);
        move || {
            let rows = monitor.rows.load(Ordering::Relaxed);
            (monitor.tables.load(Ordering::Relaxed), rows)
        }
    };
    match progress {
        Progress::Auto if io::stderr().is_terminal() => {
            let mut bar = Bar::new()?;
            Ok(during(work, move || bar.draw_export(state(), of)))
        }
        Progress::Auto | Progress::Never => Ok(work()),
        Progress::Lines => {
            let monitor = Arc::clone(monitor);
            Ok(during(work, move || {
                let (tables, rows) = state();
                let line =
                    json!({ "tables": tables, "of": of, "rows": rows, "phase": "exporting" });
                if messages::is_gone(line) {
                    monitor.cancel.store(true, Ordering::Relaxed);
                }
            }))
        }
    }
}

/// The jobs that have ended, of all.
pub struct Counts {
    phase: &'static str,
    of: usize,
    done: AtomicUsize,
    failed: AtomicUsize,
}

impl Counts {
    /// No job of so many has ended. `phase` names the work.
    pub fn new(phase: &'static str, of: usize) -> Counts {
        Counts { phase, of, done: AtomicUsize::new(0), failed: AtomicUsize::new(0) }
    }

    /// Counts a job that has ended.
    pub fn one_more(&self, has_failed: bool) {
        self.done.fetch_add(1, Ordering::Relaxed);
        self.failed.fetch_add(usize::from(has_failed), Ordering::Relaxed);
    }

    fn done(&self) -> usize {
        self.done.load(Ordering::Relaxed)
    }

    fn failed(&self) -> usize {
        self.failed.load(Ordering::Relaxed)
    }
}

/// Does `work`, which runs jobs, while another thread shows how many have ended.
pub fn shown_jobs<T>(
    progress: Progress,
    counts: &Arc<Counts>,
    children: &Arc<Children>,
    work: impl FnOnce() -> T,
) -> anyhow::Result<T> {
    let shown = Arc::clone(counts);
    match progress {
        Progress::Auto if io::stderr().is_terminal() => {
            let mut bar = Bar::new()?;
            Ok(during(work, move || bar.draw_jobs(&shown)))
        }
        Progress::Auto | Progress::Never => Ok(work()),
        Progress::Lines => {
            let children = Arc::clone(children);
            Ok(during(work, move || {
                let (traces, failed) = (shown.done(), shown.failed());
                let line = json!({ "traces": traces, "of": shown.of, "failed": failed, "phase": shown.phase });
                if messages::is_gone(line) {
                    children.stop();
                }
            }))
        }
    }
}

/// Does `work`, which runs statements. If they take long and standard error is a terminal, another thread shows
/// the part that currently runs.
pub fn shown_running<T>(work: impl FnOnce(&Running) -> T) -> T {
    let running = Running::default();
    if !io::stderr().is_terminal() {
        return work(&running);
    }
    let begun = Instant::now();
    let shown = running.clone();
    let tell = move || {
        if begun.elapsed() >= PATIENCE {
            shown.draw();
        }
    };
    let result = during(|| work(&running), tell);
    running.end();
    result
}

/// The statement or report that currently runs.
#[derive(Clone, Default)]
pub struct Running(Arc<Shared>);

#[derive(Default)]
struct Shared {
    line: Mutex<Line>,
    /// The number of rows of results so far.
    rows: AtomicU64,
}

#[derive(Default)]
struct Line {
    what: String,
    /// The statement that runs, if there are several.
    step: Option<String>,
    bar: Option<Bar>,
    is_over: bool,
}

impl Running {
    fn line(&self) -> MutexGuard<'_, Line> {
        self.0.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the next part, which is named `what`.
    pub fn begin(&self, what: String) {
        let mut line = self.line();
        (line.what, line.step) = (what, None);
    }

    /// Starts a statement of this part.
    pub fn step(&self, number: usize, of: usize) {
        self.line().step = Some(format!("statement {number} of {of}"));
    }

    /// Counts a row of a result. Only one thread does.
    pub fn count_row(&self) {
        let rows = self.rows();
        self.0.rows.store(rows.wrapping_add(1), Ordering::Relaxed);
    }

    /// The number of rows of results so far.
    pub fn rows(&self) -> u64 {
        self.0.rows.load(Ordering::Relaxed)
    }

    /// Shows no progress any more, because results or messages follow.
    pub fn end(&self) {
        let mut line = self.line();
        line.is_over = true;
        line.bar = None;
    }

    fn draw(&self) {
        let mut line = self.line();
        if line.is_over {
            return;
        }
        if line.bar.is_none() {
            line.bar = Bar::new().ok();
        }
        let (what, step) = (line.what.clone(), line.step.clone());
        if let Some(bar) = &mut line.bar {
            bar.draw_running(what, step, self.rows());
        }
    }

    /// Writes to `out`. After the first byte, no progress is shown, because both may go to one terminal.
    pub fn before<'o>(&self, out: &'o mut dyn Write) -> impl Write + use<'o> {
        Results { running: Some(self.clone()), out }
    }
}

/// The results of statements.
struct Results<'o> {
    /// The statements whose progress is still shown.
    running: Option<Running>,
    out: &'o mut dyn Write,
}

impl Write for Results<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(running) = self.running.take() {
            running.end();
        }
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Does `work` while another thread calls `tell` at intervals, and once more at the end.
fn during<T>(work: impl FnOnce() -> T, mut tell: impl FnMut() + Send + 'static) -> T {
    let (stop, stopped) = mpsc::channel::<()>();
    let telling = thread::spawn(move || {
        while stopped.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
            tell();
        }
        tell();
    });
    let result = work();
    drop(stop);
    // The other thread has to end before anything else is written.
    let _ = telling.join();
    result
}

/// The progress of an import.
struct State {
    bytes: u64,
    /// The number of bytes in all, if it is known.
    of: Option<u64>,
    packets: u64,
    pass: Pass,
    is_read: bool,
}

impl State {
    fn of(monitor: &Monitor, size: Option<u64>) -> State {
        State {
            bytes: monitor.bytes_read.load(Ordering::Relaxed),
            // The size of a pipe is known after the pipe was copied.
            of: monitor.of().or(size),
            packets: monitor.packets.load(Ordering::Relaxed),
            pass: monitor.pass(),
            is_read: monitor.is_read.load(Ordering::Relaxed),
        }
    }

    fn json(&self) -> String {
        let phase = match self.pass {
            _ if self.is_read => "writing",
            Pass::Copy => "copying",
            Pass::First => "surveying",
            Pass::Only | Pass::Second => "reading",
        };
        let State { bytes, of, packets, .. } = self;
        format!(r#"{{"bytes":{bytes},"of":{},"packets":{packets},"phase":"{phase}"}}"#, json!(of))
    }

    /// The current reading, if there are several.
    fn doing(&self) -> Option<Part> {
        let doing = match self.pass {
            Pass::Only => return None,
            Pass::Copy => "copying",
            Pass::First => "1 of 2: snapshots",
            Pass::Second => "2 of 2",
        };
        Some(part(2, doing.to_owned()))
    }

    fn percent(&self) -> Option<u64> {
        let of = self.of.filter(|of| *of > 0)?;
        let percent = u128::from(self.bytes.min(of)) * 100 / u128::from(of);
        u64::try_from(percent).ok()
    }
}

/// A part of the line.
struct Part {
    /// Without room, the part with the least weight is left out first.
    weight: u8,
    text: String,
}

fn part(weight: u8, text: String) -> Part {
    Part { weight, text }
}

/// The parts with the largest weights that fit in a line, and at least one.
fn fitting(mut parts: Vec<Part>, width: usize) -> String {
    loop {
        let texts: Vec<&str> = parts.iter().map(|part| part.text.as_str()).collect();
        let line = texts.join(", ");
        if line.chars().count() <= width || parts.len() <= 1 {
            return line;
        }
        let lightest = parts.iter().map(|part| part.weight).min();
        parts.retain(|part| Some(part.weight) != lightest);
    }
}

struct Bar {
    bar: ProgressBar,
    terminal: NarrowTerm,
    pass: Pass,
    with_bar: ProgressStyle,
    with_spinner: ProgressStyle,
    text_only: ProgressStyle,
}

impl Bar {
    fn new() -> anyhow::Result<Bar> {
        // A part that does not fit even alone is cut.
        let text_only = style("{wide_msg}")?;
        let line = Box::new(NarrowTerm(Term::buffered_stderr()));
        let target = ProgressDrawTarget::term_like_with_hz(line, REDRAWS);
        Ok(Bar {
            // It may be drawn before it gets another style.
            bar: ProgressBar::with_draw_target(None, target).with_style(text_only.clone()),
            terminal: NarrowTerm(Term::stderr()),
            pass: Pass::default(),
            with_bar: style("{wide_bar:.cyan/dim} {msg}")?,
            with_spinner: style("{spinner} {wide_msg}")?,
            text_only,
        })
    }

    fn draw(&mut self, state: &State) {
        if self.pass != state.pass {
            self.pass = state.pass;
            // The duration of one pass does not predict the next.
            self.bar.reset_eta();
        }
        self.bar.set_position(state.bytes);
        // This is read each time, because the terminal may change its width.
        let width = self.terminal.width();
        let width = usize::from(width);
        let packets = HumanCount(state.packets);
        let bytes = HumanBytes(state.bytes);
        let rate = HumanBytes(self.bar.per_sec() as u64);
        let elapsed = HumanDuration(self.bar.elapsed());
        match (state.percent(), state.of) {
            _ if state.is_read => {
                let parts = vec![
                    part(0, format!("{packets} packets read")),
                    part(2, "writing indexes".to_owned()),
                    part(1, format!("{elapsed:#}")),
                ];
                self.bar.set_style(self.with_spinner.clone());
                self.bar.set_message(fitting(parts, width.saturating_sub(2)));
            }
            (Some(percent), Some(of)) => {
                self.bar.set_length(of);
                let eta = self.bar.eta();
                let mut parts = Vec::from_iter(state.doing());
                parts.extend([
                    part(4, format!("{percent} %")),
                    part(1, format!("{bytes} of {}", HumanBytes(of))),
                    part(0, format!("{rate}/s")),
                    part(2, format!("{packets} packets")),
                ]);
                // At first, nothing is known about the time left.
                if !eta.is_zero() {
                    parts.push(part(3, format!("{:#} left", HumanDuration(eta))));
                }
                let bar = SHORTEST_BAR + 1;
                let has_bar = width >= 3 * bar;
                let room = if has_bar { width - bar } else { width };
                let style = if has_bar { &self.with_bar } else { &self.text_only };
                self.bar.set_style(style.clone());
                self.bar.set_message(fitting(parts, room));
            }
            _ => {
                let mut parts = Vec::from_iter(state.doing());
                parts.extend([part(2, bytes.to_string()), part(0, format!("{rate}/s"))]);
                if state.pass != Pass::Copy {
                    parts.push(part(3, format!("{packets} packets")));
                }
                parts.push(part(1, format!("{elapsed:#}")));
                self.bar.set_style(self.with_spinner.clone());
                self.bar.set_message(fitting(parts, width.saturating_sub(2)));
            }
        }
        self.bar.tick();
    }

    fn draw_export(&mut self, (tables, rows): (usize, u64), of: usize) {
        let width = self.terminal.width();
        let elapsed = HumanDuration(self.bar.elapsed());
        let parts = vec![
            part(2, format!("{tables} of {of} tables")),
            part(1, format!("{} rows", HumanCount(rows))),
            part(0, format!("{elapsed:#}")),
        ];
        let room = usize::from(width).saturating_sub(2);
        self.bar.set_style(self.with_spinner.clone());
        self.bar.set_message(fitting(parts, room));
        self.bar.tick();
    }

    fn draw_jobs(&mut self, counts: &Counts) {
        let width = usize::from(self.terminal.width());
        self.bar.set_length(u64::try_from(counts.of).unwrap_or(u64::MAX));
        self.bar.set_position(u64::try_from(counts.done()).unwrap_or(u64::MAX));
        let mut parts = vec![part(3, format!("{} of {} traces", counts.done(), counts.of))];
        if counts.failed() > 0 {
            parts.push(part(2, format!("{} failed", counts.failed())));
        }
        let eta = self.bar.eta();
        if !eta.is_zero() {
            parts.push(part(1, format!("{:#} left", HumanDuration(eta))));
        }
        parts.push(part(0, format!("{:#}", HumanDuration(self.bar.elapsed()))));
        let bar = SHORTEST_BAR + 1;
        let has_bar = width >= 3 * bar;
        let room = if has_bar { width - bar } else { width };
        let style = if has_bar { &self.with_bar } else { &self.text_only };
        self.bar.set_style(style.clone());
        self.bar.set_message(fitting(parts, room));
        self.bar.tick();
    }

    fn draw_running(&mut self, what: String, step: Option<String>, rows: u64) {
        let width = self.terminal.width();
        // The bar starts only after some time.
        let elapsed = HumanDuration(self.bar.elapsed() + PATIENCE);
        let mut parts = vec![part(3, what)];
        parts.extend(step.map(|step| part(1, step)));
        if rows > 0 {
            parts.push(part(2, format!("{} rows", HumanCount(rows))));
        }
        parts.push(part(0, format!("{elapsed:#}")));
        let room = usize::from(width).saturating_sub(2);
        self.bar.set_style(self.with_spinner.clone());
        self.bar.set_message(fitting(parts, room));
        self.bar.tick();
    }
}

/// The terminal, without the columns that stay empty.
#[derive(Debug)]
struct NarrowTerm(Term);

impl TermLike for NarrowTerm {
    fn width(&self) -> u16 {
        self.0.width().saturating_sub(RESERVED)
    }

    fn height(&self) -> u16 {
        self.0.height()
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_up(n)
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_down(n)
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_right(n)
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_left(n)
    }

    fn write_line(&self, s: &str) -> io::Result<()> {
        self.0.write_line(s)
    }

    fn write_str(&self, s: &str) -> io::Result<()> {
        self.0.write_str(s)
    }

    fn clear_line(&self) -> io::Result<()> {
        self.0.clear_line()
    }

    fn flush(&self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn style(template: &str) -> anyhow::Result<ProgressStyle> {
    ProgressStyle::with_template(template).context("cannot draw a progress bar")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_shown_any_more_when_results_are() {
        let running = Running::default();
        let mut out = Vec::new();
        let mut results = running.before(&mut out);
        assert!(!running.line().is_over);
        results.write_all(b"rows").expect("memory takes all");
        assert!(running.line().is_over);
        running.draw();
        assert!(running.line().bar.is_none());
        drop(results);
        assert_eq!(out, b"rows");
    }

    #[test]
    fn what_matters_least_goes_first() {
        let parts = || {
            vec![
                part(2, "43 %".to_owned()),
                part(0, "12 MiB/s".to_owned()),
                part(1, "3s left".to_owned()),
            ]
        };
        assert_eq!(fitting(parts(), 80), "43 %, 12 MiB/s, 3s left");
        assert_eq!(fitting(parts(), 22), "43 %, 3s left");
        assert_eq!(fitting(parts(), 12), "43 %");
        assert_eq!(fitting(parts(), 1), "43 %");
    }

    #[test]
    fn a_line_for_programs_is_json() {
        let state = State { bytes: 5, of: None, packets: 7, pass: Pass::Only, is_read: false };
        let line: serde_json::Value = serde_json::from_str(&state.json()).expect("is JSON");
        assert_eq!(line, json!({"bytes": 5, "of": null, "packets": 7, "phase": "reading"}));
        assert_eq!(state.percent(), None);
        let of = |bytes, of| State { of: Some(of), bytes, ..state }.percent();
        assert_eq!(of(1, 3), Some(33));
        assert_eq!(of(4, 3), Some(100), "it grew meanwhile");
        assert_eq!(of(0, 0), None);
        for (pass, is_read, phase) in [
            (Pass::Copy, false, "copying"),
            (Pass::First, false, "surveying"),
            (Pass::Second, false, "reading"),
            (Pass::Second, true, "writing"),
        ] {
            let state = State { pass, is_read, ..state };
            assert!(state.json().ends_with(&format!(r#""phase":"{phase}"}}"#)));
        }
    }
}
