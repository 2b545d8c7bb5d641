//! Finds the next event after damage (rule JS4).
//!
//! # Design
//!
//! Every `{` may begin the next event. One attempt to read an object settles all objects inside it:
//! they end or fail where they would if they were read alone. Only a `{` in a string of that attempt
//! is not settled, so another attempt begins there. While both run, one of them is inside a string
//! and the other one is not: a quote changes both, and a backslash ends the one outside. So there
//! are never more than two, and the work is linear without any budget.
//!
//! An object that was looked into stays settled: the finder keeps the places of objects that failed
//! and of events that it has passed. The reader asks for them before it reads an object there.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io::{self, Read};

use memchr::{memchr, memchr3};

use super::input::Input;
use super::scan::{Scan, Scanner, State, is_white};
use super::value::Key;

/// The reason why a value cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fail {
    Invalid,
    /// The text ends before the value does.
    Cut,
    TooLarge,
}

/// The state of the search. It only moves forward.
pub(super) struct Finder {
    /// The largest size of an event.
    limit: u64,
    /// The position of the next byte to look at.
    at: u64,
    /// Objects before this position do not matter any more.
    floor: u64,
    /// The running attempts: at most two.
    trials: Vec<Trial>,
    /// The begins of whole objects with a string `ph`.
    events: BinaryHeap<Reverse<u64>>,
    /// The begins of other objects, which cannot be read.
    failed: BinaryHeap<Reverse<Failed>>,
}

impl Finder {
    pub fn new(limit: usize) -> Finder {
        Finder {
            limit: limit as u64,
            at: 0,
            floor: 0,
            trials: Vec::new(),
            events: BinaryHeap::new(),
            failed: BinaryHeap::new(),
        }
    }

    #[cfg(test)]
    pub fn memory(&self) -> usize {
        let frames = self.trials.iter().map(|trial| trial.frames.capacity()).sum::<usize>();
        frames * size_of::<Frame>()
            + self.events.capacity() * size_of::<u64>()
            + self.failed.capacity() * size_of::<Failed>()
    }

    /// The place of the next event, at a position or after it. If an object at the position itself
    /// was damaged, it does not count.
    pub fn find<R: Read>(
        &mut self,
        from: u64,
        is_damaged: bool,
        input: &mut Input<R>,
    ) -> io::Result<Option<u64>> {
        self.begin(from);
        loop {
            while is_damaged && self.events.peek() == Some(&Reverse(from)) {
                self.events.pop();
            }
            self.forget(input);
            let next = self.decided();
            if next.is_some() || !self.go_on(input)? {
                return Ok(next.or_else(|| self.decided()));
            }
        }
    }

    /// The reason why the object at a position cannot be read, if the finder has looked into it.
    pub fn settle<R: Read>(
        &mut self,
        start: u64,
        input: &mut Input<R>,
    ) -> io::Result<Option<Fail>> {
        if start >= self.at {
            return Ok(None);
        }
        self.begin(start);
        while self.trials.iter().any(|trial| trial.first() == Some(start)) {
            if !self.go_on(input)? {
                break;
            }
        }
        let failed = self.failed.peek().filter(|failed| failed.0.start() == start);
        Ok(failed.map(|failed| failed.0.fail()))
    }

    fn begin(&mut self, from: u64) {
        if from >= self.at {
            self.at = from;
            self.trials.clear();
            self.events.clear();
            self.failed.clear();
        }
        self.floor = from;
        while self.events.peek().is_some_and(|event| event.0 < from) {
            self.events.pop();
        }
        self.forget_failed(from);
        self.expire();
    }

    /// The first open object.
    fn open(&self) -> Option<u64> {
        self.trials.iter().filter_map(Trial::first).min()
    }

    /// The place of the first event, if no object before it is open.
    fn decided(&self) -> Option<u64> {
        let event = self.events.peek()?.0;
        self.open().is_none_or(|open| event < open).then_some(event)
    }

    /// Forgets text and objects before which no event can be any more.
    fn forget<R: Read>(&mut self, input: &mut Input<R>) {
        let event = self.events.peek().map_or(self.at, |event| event.0);
        let needed = event.min(self.open().unwrap_or(self.at));
        self.forget_failed(needed);
        input.release(needed);
    }

    fn forget_failed(&mut self, before: u64) {
        while self.failed.peek().is_some_and(|failed| failed.0.start() < before) {
            self.failed.pop();
        }
    }

    /// Looks at further bytes until an object is settled or the bytes in memory end. At the end of
    /// the text the answer is `false`.
    fn go_on<R: Read>(&mut self, input: &mut Input<R>) -> io::Result<bool> {
        if input.from(self.at).is_empty() && !input.fill()? {
            self.fail_all(Fail::Cut);
            return Ok(false);
        }
        let bytes = input.from(self.at);
        let mut used = 0;
        loop {
            let rest = bytes.get(used..).unwrap_or_default();
            let skipped = self.without_meaning(rest);
            used += skipped;
            self.at = self.at.saturating_add(skipped as u64);
            let Some(&byte) = bytes.get(used) else { return Ok(true) };
            used += 1;
            if self.step(byte, input) {
                return Ok(true);
            }
        }
    }

    /// The number of bytes that change nothing.
    fn without_meaning(&self, bytes: &[u8]) -> usize {
        let found = match self.trials.as_slice() {
            [] => memchr(b'{', bytes),
            // An open object may exceed the limit at any byte.
            [trial] if self.events.is_empty() && trial.is_in_plain_text() => {
                let size = trial
                    .first()
                    .map_or(0, |first| self.limit.saturating_sub(self.at.saturating_sub(first)));
                let within = bytes.get(..size.min(bytes.len() as u64) as usize);
                return within.map_or(0, |within| {
                    memchr3(b'{', b'"', b'\\', within).unwrap_or(within.len())
                });
            }
            _ => return 0,
        };
        found.unwrap_or(bytes.len())
    }

    /// Looks at one byte. The answer is whether an object was settled.
    fn step<R: Read>(&mut self, byte: u8, input: &Input<R>) -> bool {
        let mut is_settled = self.expire();
        let at = self.at;
        let mut is_begin = byte == b'{';
        let mut index = 0;
        while let Some(trial) = self.trials.get_mut(index) {
            let settled = trial.step(byte, at, input);
            is_begin &= !matches!(settled, Settled::Opened);
            is_settled |= matches!(settled, Settled::Whole(_) | Settled::Invalid);
            match settled {
                Settled::Whole(Some(start)) if start >= self.floor => {
                    self.events.push(Reverse(start));
                }
                Settled::Invalid => {
                    self.fail(index, Fail::Invalid);
                    continue;
                }
                _ => {}
            }
            index += 1;
        }
        if is_begin {
            let mut trial = Trial::new();
            trial.step(byte, at, input);
            self.trials.push(trial);
        }
        self.trials.retain(|trial| !trial.is_over());
        self.at = self.at.saturating_add(1);
        is_settled
    }

    /// Ends objects that have become too large, and forgets those that do not matter.
    fn expire(&mut self) -> bool {
        let mut is_settled = false;
        for trial in &mut self.trials {
            while let Some(start) = trial.first() {
                let is_too_large = self.at.saturating_sub(start) >= self.limit;
                if start >= self.floor && !is_too_large {
                    break;
                }
                trial.frames.pop_front();
                if start >= self.floor {
                    self.failed.push(Reverse(Failed::new(start, Fail::TooLarge)));
                    is_settled = true;
                }
            }
        }
        self.trials.retain(|trial| !trial.is_over());
        is_settled
    }

    fn fail(&mut self, index: usize, fail: Fail) {
        let trial = self.trials.swap_remove(index);
        let failed = trial.frames.iter().map(|frame| Reverse(Failed::new(frame.start(), fail)));
        self.failed.extend(failed);
    }

    fn fail_all(&mut self, fail: Fail) {
        self.expire();
        while !self.trials.is_empty() {
            self.fail(0, fail);
        }
    }
}

/// An attempt to read objects. It lasts until none of its objects is open.
pub(super) struct Trial {
    scanner: Scanner,
    /// The open objects that matter.
    frames: VecDeque<Frame>,
    /// The begin of the key that is read.
    key: u64,
    /// The meaning of the last key.
    meaning: Meaning,
}

/// An open object in eight bytes, as there may be eight million: its position, and two bits.
struct Frame(u64);

impl Frame {
    const HAS_PHASE: u64 = 1;
    const HAS_LIST: u64 = 2;

    fn new(start: u64) -> Frame {
        Frame(start << 2)
    }

    fn start(&self) -> u64 {
        self.0 >> 2
    }

    fn has(&self, bit: u64) -> bool {
        self.0 & bit != 0
    }

    fn set(&mut self, bit: u64, is_set: bool) {
        self.0 = if is_set { self.0 | bit } else { self.0 & !bit };
    }
}

/// An object that cannot be read, in eight bytes: its position, and the reason.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Failed(u64);

impl Failed {
    fn new(start: u64, fail: Fail) -> Failed {
        Failed(start << 2 | fail as u64)
    }

    fn start(self) -> u64 {
        self.0 >> 2
    }

    fn fail(self) -> Fail {
        [Fail::Cut, Fail::TooLarge]
            .into_iter()
            .find(|&fail| fail as u64 == self.0 & 3)
            .unwrap_or(Fail::Invalid)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Meaning {
    Phase,
    Events,
    Other,
}

/// The result of looking at a byte.
pub(super) enum Settled {
    Nothing,
    /// An object begins.
    Opened,
    /// An object ends; its beginning, if it has a string `ph`.
    Whole(Option<u64>),
    /// No open object is valid.
    Invalid,
}

impl Trial {
    pub fn new() -> Trial {
        let (scanner, frames) = (Scanner::new(), VecDeque::new());
        Trial { scanner, frames, key: 0, meaning: Meaning::Other }
    }

    /// The beginning of the outermost open object that matters.
    fn first(&self) -> Option<u64> {
        self.frames.front().map(Frame::start)
    }

    /// Whether all objects have ended.
    pub fn is_over(&self) -> bool {
        self.frames.is_empty()
    }

    /// Whether the outermost object has a member `traceEvents` that is a list.
    pub fn has_list(&self) -> bool {
        self.frames.front().is_some_and(|frame| frame.has(Frame::HAS_LIST))
    }

    fn is_in_plain_text(&self) -> bool {
        matches!(self.scanner.state(), State::Text | State::Key)
    }

    /// Looks at one byte.
    pub fn step<R: Read>(&mut self, byte: u8, at: u64, input: &Input<R>) -> Settled {
        let (before, depth) = (self.scanner.state(), self.scanner.depth());
        if before == State::Value && self.scanner.is_in_object() {
            self.note_value(byte);
        }
        if let Scan::Bad(_) = self.scanner.advance(&[byte]) {
            return Settled::Invalid;
        }
        let state = self.scanner.state();
        if state == State::Key && before == State::KeyOrEnd {
            self.key = at.saturating_add(1);
        } else if state == State::Colon && before == State::Key {
            self.meaning = meaning(Key::new(input.between(self.key, at)));
        } else if byte == b'{' && self.scanner.depth() > depth {
            self.frames.push_back(Frame::new(at));
            return Settled::Opened;
        } else if byte == b'}' && self.scanner.depth() < depth {
            let frame = self.frames.pop_back().filter(|frame| frame.has(Frame::HAS_PHASE));
            return Settled::Whole(frame.map(|frame| frame.start()));
        }
        Settled::Nothing
    }

    /// Notes the type of the value that begins here, of the keys that matter. The last of equal keys
    /// counts (rule JS7).
    fn note_value(&mut self, first: u8) {
        let Some(frame) = self.frames.back_mut() else { return };
        match self.meaning {
            _ if is_white(first) => return,
            Meaning::Phase => frame.set(Frame::HAS_PHASE, first == b'"'),
            Meaning::Events if first == b'[' => frame.set(Frame::HAS_LIST, true),
            Meaning::Events | Meaning::Other => {}
        }
        self.meaning = Meaning::Other;
    }
}

fn meaning(key: Key<'_>) -> Meaning {
    match key {
        _ if key.is("ph") => Meaning::Phase,
        _ if key.is("traceEvents") => Meaning::Events,
        _ => Meaning::Other,
    }
}
