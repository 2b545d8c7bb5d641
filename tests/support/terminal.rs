//! The program in a terminal: a pseudo-terminal of a given size, someone who types,
//! and what the screen then shows.
//!
//! The program's bytes go through a terminal emulator (`vt100`), so that a test speaks
//! of what a person sees: a line that was drawn and wiped again is not on the screen.
//! To look for texts in the bytes was the alternative; it cannot tell a line that is
//! too long from one that fits. What is waited for has a deadline that only a
//! program that hangs misses; a test never sleeps to let something happen.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::process::Child;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use pty_process::Size;
use pty_process::blocking::{Command, Pty};
use tempfile::TempDir;

use super::{PROGRAM, repository};

/// Debug builds on a busy machine are slow.
const DEADLINE: Duration = Duration::from_secs(60);

/// The program in the repository, with an environment that does not depend on who runs
/// the test.
pub fn program(args: &[impl AsRef<OsStr>]) -> Command {
    let command = Command::new(PROGRAM)
        .args(args)
        .current_dir(repository())
        .env("TERM", "xterm-256color");
    ["COLUMNS", "LINES", "NO_COLOR"]
        .iter()
        .fold(command, |command, name| command.env_remove(name))
}

/// What can be typed that is no text.
#[derive(Clone, Copy, Debug)]
pub enum Key {
    Enter,
    Tab,
    Up,
    Down,
    Left,
    Right,
    CtrlC,
    CtrlD,
}

impl Key {
    fn bytes(self) -> &'static [u8] {
        match self {
            Key::Enter => b"\r",
            Key::Tab => b"\t",
            Key::Up => b"\x1b[A",
            Key::Down => b"\x1b[B",
            Key::Right => b"\x1b[C",
            Key::Left => b"\x1b[D",
            Key::CtrlC => b"\x03",
            Key::CtrlD => b"\x04",
        }
    }
}

/// What came from the program until now.
struct Seen {
    emulator: vt100::Parser,
    raw: Vec<u8>,
    /// The screen after every piece of it that changed something.
    screens: Vec<String>,
    ended: bool,
}

impl Seen {
    fn screen(&self) -> String {
        let screen = self.emulator.screen();
        let (_, columns) = screen.size();
        let rows = screen.rows(0, columns.get());
        let rows: Vec<String> = rows.map(|row| row.trim_end().to_owned()).collect();
        rows.join("\n").trim_end().to_owned()
    }

    fn take(&mut self, bytes: &[u8]) {
        self.raw.extend_from_slice(bytes);
        self.emulator.process(bytes);
        let screen = self.screen();
        if self.screens.last() != Some(&screen) {
            self.screens.push(screen);
        }
    }
}

type Shared = Arc<(Mutex<Seen>, Condvar)>;

/// A program that runs in a terminal. It is killed when this is dropped.
pub struct Terminal {
    pty: Arc<Pty>,
    child: Child,
    seen: Shared,
    reading: Option<JoinHandle<()>>,
    /// What the shell keeps of a session; gone when this is.
    _state: TempDir,
}

/// How a program in a terminal ended.
#[derive(Debug)]
pub struct Ended {
    /// `None` if it was killed.
    pub code: Option<i32>,
    /// What the terminal shows then.
    pub screen: String,
    /// Everything that was shown at some time, in order.
    pub screens: Vec<String>,
    /// Everything that was written, with the control codes.
    pub raw: String,
}

impl Terminal {
    /// Runs the program in a terminal of so many columns, with 50 rows.
    pub fn run(columns: u16, args: &[impl AsRef<OsStr>]) -> Terminal {
        Terminal::of(columns, 50, program(args))
    }

    /// Runs a command in a terminal. What the command does not say of its input and output
    /// is the terminal.
    pub fn of(columns: u16, rows: u16, command: Command) -> Terminal {
        let state = tempfile::tempdir().unwrap();
        let (pty, pts) = pty_process::blocking::open().unwrap();
        pty.resize(Size::new(rows, columns)).unwrap();
        let child = command
            .env("XDG_STATE_HOME", state.path())
            .spawn(pts)
            .unwrap();
        let emulator = vt100::Parser::new(size(rows), size(columns), 0);
        let seen = Seen {
            emulator,
            raw: Vec::new(),
            screens: Vec::new(),
            ended: false,
        };
        let seen: Shared = Arc::new((Mutex::new(seen), Condvar::new()));
        let pty = Arc::new(pty);
        let reading = thread::spawn({
            let (pty, seen) = (Arc::clone(&pty), Arc::clone(&seen));
            move || read(&pty, &seen)
        });
        Terminal {
            pty,
            child,
            seen,
            reading: Some(reading),
            _state: state,
        }
    }

    /// Types a text.
    pub fn write(&self, text: &str) {
        (&*self.pty).write_all(text.as_bytes()).unwrap();
    }

    /// Presses a key.
    pub fn press(&self, key: Key) {
        (&*self.pty).write_all(key.bytes()).unwrap();
    }

    /// Types a line and presses Enter.
    pub fn enter(&self, line: &str) {
        self.write(line);
        self.press(Key::Enter);
    }

    /// Makes the terminal wider or narrower.
    pub fn resize(&self, columns: u16, rows: u16) {
        let mut seen = self.seen();
        seen.emulator.set_size(size(rows), size(columns));
        self.pty.resize(Size::new(rows, columns)).unwrap();
    }

    /// What the terminal shows, without blanks at the ends of lines and empty lines below.
    pub fn screen(&self) -> String {
        self.seen().screen()
    }

    /// Waits until the terminal shows a text, which has no blanks at its end; returns what
    /// it shows.
    pub fn wait_for(&self, text: &str) -> String {
        self.wait_until(&format!("{text:?}"), |screen| screen.contains(text))
    }

    /// Waits until the last line is a prompt, of which the blank at its end does not count, and
    /// nothing else; returns what is shown. What is typed before may be lost: between two
    /// lines the terminal is not in the line editor's mode, and Ctrl-D means nothing then. Wait
    /// for the answer first: right after Enter the old prompt may still be the last line.
    pub fn wait_for_prompt(&self, prompt: &str) -> String {
        self.wait_until(&format!("the prompt {prompt:?}"), |screen| {
            screen.lines().last() == Some(prompt)
        })
    }

    /// Waits until what the terminal shows is as wanted.
    pub fn wait_until(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + DEADLINE;
        let mut seen = self.seen();
        loop {
            let screen = seen.screen();
            if wanted(&screen) {
                return screen;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "{what} did not come in time:\n{screen}");
            assert!(!seen.ended, "the program ended without {what}:\n{screen}");
            seen = self.seen.1.wait_timeout(seen, left).unwrap().0;
        }
    }

    /// Waits for the program to end.
    pub fn end(mut self) -> Ended {
        let deadline = Instant::now() + DEADLINE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < deadline, "no end:\n{}", self.screen());
            thread::sleep(Duration::from_millis(5));
        };
        if let Some(reading) = self.reading.take() {
            reading.join().unwrap();
        }
        let seen = self.seen();
        Ended {
            code: status.code(),
            screen: seen.screen(),
            screens: seen.screens.clone(),
            raw: String::from_utf8_lossy(&seen.raw).into_owned(),
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        lock(&self.seen.0)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // One who has ended cannot be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A test that failed while it looked is no reason for a second message.
fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

fn size(cells: u16) -> NonZeroU16 {
    NonZeroU16::new(cells).unwrap()
}

/// Reads until nobody has the terminal any more: that is an error, and not an end, on Linux.
fn read(pty: &Pty, (seen, changed): &(Mutex<Seen>, Condvar)) {
    let mut buffer = [0; 4096];
    let mut terminal = pty;
    while let Ok(count @ 1..) = terminal.read(&mut buffer) {
        lock(seen).take(&buffer[..count]);
        changed.notify_all();
    }
    lock(seen).ended = true;
    changed.notify_all();
}
