//! The program in a terminal: a pseudo-terminal of a given size, a user who types, and the contents
//! of the screen.
//!
//! A terminal emulator (`vt100`) reads the program's bytes, so a test checks what a person sees: a
//! line that was drawn and erased again is not on the screen. The alternative was to search for
//! texts in the bytes, but that cannot distinguish a line that is too long from one that fits.
//! Waiting has a deadline that only a hanging program misses; a test never sleeps to let something
//! happen.

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

/// The program in the repository, with an environment that does not depend on the user.
pub fn program(args: &[impl AsRef<OsStr>]) -> Command {
    let command =
        Command::new(PROGRAM).args(args).current_dir(repository()).env("TERM", "xterm-256color");
    ["COLUMNS", "LINES", "NO_COLOR"].iter().fold(command, |command, name| command.env_remove(name))
}

/// Keys that are not text.
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

/// The program's output so far.
struct Seen {
    emulator: vt100::Parser,
    raw: Vec<u8>,
    /// The screen after every piece of output that changed something.
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

/// A program that runs in a terminal. Dropping this kills it.
pub struct Terminal {
    pty: Arc<Pty>,
    child: Child,
    seen: Shared,
    reading: Option<JoinHandle<()>>,
    /// The shell's files of a session; removed with this.
    _state: TempDir,
}

/// The end of a program in a terminal.
#[derive(Debug)]
pub struct Ended {
    /// `None` if it was killed.
    pub code: Option<i32>,
    /// The contents of the terminal then.
    pub screen: String,
    /// Everything that was shown at some time, in order.
    pub screens: Vec<String>,
    /// All output, with the control codes.
    pub raw: String,
}

impl Terminal {
    /// Runs the program in a terminal with this many columns and 50 rows.
    pub fn run(columns: u16, args: &[impl AsRef<OsStr>]) -> Terminal {
        Terminal::of(columns, 50, program(args))
    }

    /// Runs a command in a terminal. Its input and output are the terminal unless the command says
    /// otherwise.
    pub fn of(columns: u16, rows: u16, command: Command) -> Terminal {
        let state = tempfile::tempdir().unwrap();
        let (pty, pts) = pty_process::blocking::open().unwrap();
        pty.resize(Size::new(rows, columns)).unwrap();
        let child = command.env("XDG_STATE_HOME", state.path()).spawn(pts).unwrap();
        let emulator = vt100::Parser::new(size(rows), size(columns), 0);
        let seen = Seen { emulator, raw: Vec::new(), screens: Vec::new(), ended: false };
        let seen: Shared = Arc::new((Mutex::new(seen), Condvar::new()));
        let pty = Arc::new(pty);
        let reading = thread::spawn({
            let (pty, seen) = (Arc::clone(&pty), Arc::clone(&seen));
            move || read(&pty, &seen)
        });
        Terminal { pty, child, seen, reading: Some(reading), _state: state }
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

    /// The contents of the terminal, without spaces at the ends of lines and empty lines below.
    pub fn screen(&self) -> String {
        self.seen().screen()
    }

    /// Waits until the terminal shows a text, which has no spaces at its end; returns the contents.
    pub fn wait_for(&self, text: &str) -> String {
        self.wait_until(&format!("{text:?}"), |screen| screen.contains(text))
    }

    /// Waits until the last line is only a prompt, without the space at its end; returns the
    /// contents. Keys typed before that may be lost: between two lines the terminal is not in the
    /// line editor's mode, and Ctrl-D has no meaning then. Wait for the answer first, because right
    /// after Enter the old prompt may still be the last line.
    pub fn wait_for_prompt(&self, prompt: &str) -> String {
        self.wait_until(&format!("the prompt {prompt:?}"), |screen| {
            screen.lines().last() == Some(prompt)
        })
    }

    /// Waits until the contents of the terminal satisfy a condition.
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
        // A program that has ended cannot be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A test that failed during this needs no second message.
fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

fn size(cells: u16) -> NonZeroU16 {
    NonZeroU16::new(cells).unwrap()
}

/// Reads until no process has the terminal any more: on Linux that is an error, not an end.
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
