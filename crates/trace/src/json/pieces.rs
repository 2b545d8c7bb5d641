//! The pieces of a trace, one after the other (rules JS2, JS4 and JS8).

use std::borrow::Cow;
use std::io::{self, Read};

use super::find::{Fail, Finder, Settled, Trial};
use super::input::{Input, Loss};
use super::scan::{Scan, Scanner, is_white};
use super::value::{Key, Value};

/// The largest size of an event, and of a member that is kept.
pub const LIMIT: usize = 32 << 20;

/// The number of bytes that values other than objects may be read in vain: so many for each byte of
/// the trace, and as many more at the beginning.
const VAIN_PER_BYTE: u64 = 8;
const VAIN: u64 = 64 << 20;

/// A piece of a trace.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece<'a> {
    /// A whole object in the list of events.
    Event {
        /// Its position.
        offset: u64,
        /// The object.
        value: Value<'a>,
    },
    /// A value in the list of events that is no object (rule JS4).
    NoEvent {
        /// Its position.
        offset: u64,
        /// Its text.
        text: &'a [u8],
    },
    /// Another member of the outer object (rule JS8).
    Member {
        /// The position of the key's quote.
        offset: u64,
        /// The number of bytes to the end of the value.
        size: u64,
        /// The key.
        key: Cow<'a, str>,
        /// The value, unless the member is larger than [`LIMIT`].
        value: Option<Value<'a>>,
        /// The text from the key's quote on, unless the member is larger than [`LIMIT`].
        text: Option<&'a [u8]>,
    },
    /// A region that cannot be read (rule JS4).
    Damage {
        /// Its position.
        offset: u64,
        /// Its size, which is 0 if only an end is missing.
        size: u64,
        /// Whether the trace was cut off here.
        is_cut: bool,
        /// The reason, as the end of a sentence about an event.
        why: &'static str,
    },
    /// Text after the end of the outer object (rule JS2).
    Trailing {
        /// The position of the first byte that is neither white space nor NUL.
        offset: u64,
        /// The number of bytes to the end.
        size: u64,
    },
}

/// Reads a trace piece by piece. The memory that it takes does not depend on the size of the trace.
pub struct JsonPieces<R> {
    input: Input<R>,
    /// The position of the next byte.
    at: u64,
    place: Place,
    is_array: bool,
    has_events: bool,
    scanner: Scanner,
    finder: Finder,
    /// The number of bytes of values other than objects that were read in vain.
    vain: u64,
    limit: usize,
    /// The key of a member that is too large.
    key: String,
    /// Whether a piece told of the damage of the compression.
    has_told_loss: bool,
}

/// The place between two pieces.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Begin,
    /// Between events of the form with `[`.
    Events,
    /// Between events in a list of the outer object.
    List,
    /// Before a key of the outer object, or its end.
    Members,
    /// After a member of the outer object.
    AfterMember,
    AfterEnd,
    End,
}

/// A piece by its positions.
enum Found {
    Event(u64),
    NoEvent(u64),
    Member { start: u64, key: u64, value: u64 },
    LargeMember { start: u64 },
    Damage { start: u64, size: u64, is_cut: bool, why: &'static str },
    Trailing { start: u64, size: u64 },
}

/// The end of a value, or the reason why it cannot be read.
type End = Result<u64, Fail>;

impl<R: Read> JsonPieces<R> {
    /// Reads the text of a trace, which is not compressed.
    pub fn new(input: R) -> JsonPieces<R> {
        JsonPieces::with_limit(input, LIMIT)
    }

    pub(super) fn with_limit(input: R, limit: usize) -> JsonPieces<R> {
        JsonPieces {
            input: Input::new(input),
            at: 0,
            place: Place::Begin,
            is_array: false,
            has_events: false,
            scanner: Scanner::new(),
            finder: Finder::new(limit),
            vain: 0,
            limit,
            key: String::new(),
            has_told_loss: false,
        }
    }

    /// Whether the trace has the form with `[`, or one object after the other (JSON lines).
    pub fn is_array(&self) -> bool {
        self.is_array
    }

    /// Whether there was a list of events: `traceEvents`, or the trace itself.
    pub fn has_events(&self) -> bool {
        self.has_events
    }

    /// The next piece.
    ///
    /// # Errors
    ///
    /// If the input cannot be read.
    #[allow(clippy::should_implement_trait)] // pieces borrow from the reader
    pub fn next(&mut self) -> io::Result<Option<Piece<'_>>> {
        let found = loop {
            self.input.release(self.at);
            match self.place {
                Place::Begin => self.begin()?,
                Place::End => match self.lost() {
                    Some(lost) => break lost,
                    None => return Ok(None),
                },
                _ => {}
            }
            let found = match self.place {
                Place::Begin | Place::End => None,
                Place::Events => self.between_events()?,
                Place::List => self.in_list()?,
                Place::Members => self.before_member()?,
                Place::AfterMember => self.after_member()?,
                Place::AfterEnd => self.after_end()?,
            };
            if let Some(found) = found {
                break found;
            }
        };
        Ok(Some(self.piece(found)))
    }

    /// The number of bytes of memory, for tests.
    #[cfg(test)]
    pub(super) fn memory(&self) -> usize {
        self.input.memory().saturating_add(self.finder.memory())
    }

    fn piece(&self, found: Found) -> Piece<'_> {
        let text = |start| self.input.between(start, self.at);
        match found {
            Found::Event(offset) => Piece::Event { offset, value: Value::parsed(text(offset)) },
            Found::NoEvent(offset) => Piece::NoEvent { offset, text: text(offset) },
            Found::Member { start, key, value } => Piece::Member {
                offset: start,
                size: self.at.saturating_sub(start),
                key: Key::quoted(self.input.between(start, key)).text(),
                value: Some(Value::parsed(text(value))),
                text: Some(text(start)),
            },
            Found::LargeMember { start } => Piece::Member {
                offset: start,
                size: self.at.saturating_sub(start),
                key: Cow::Borrowed(&self.key),
                value: None,
                text: None,
            },
            Found::Damage { start, size, is_cut, why } => {
                Piece::Damage { offset: start, size, is_cut, why }
            }
            Found::Trailing { start, size } => Piece::Trailing { offset: start, size },
        }
    }

    /// Skips such bytes between pieces, and shows the next one.
    fn skip(&mut self, is_skipped: impl Fn(u8) -> bool) -> io::Result<Option<u8>> {
        loop {
            let bytes = self.input.from(self.at);
            let found = bytes.iter().position(|&byte| !is_skipped(byte));
            let next = found.and_then(|found| bytes.get(found).copied());
            self.at = self.at.saturating_add(found.unwrap_or(bytes.len()) as u64);
            self.input.release(self.at);
            if next.is_some() || !self.input.fill()? {
                return Ok(next);
            }
        }
    }

    /// Skips the mark and white space, and finds out the form (rule JS1).
    fn begin(&mut self) -> io::Result<()> {
        while self.input.from(0).len() < BOM.len() && self.input.fill()? {}
        if self.input.from(0).starts_with(&BOM) {
            self.at = BOM.len() as u64;
        }
        self.place = match self.skip(is_nothing)? {
            Some(b'{') if !self.is_lines()? => Place::Members,
            Some(_) => Place::Events,
            None => Place::End,
        };
        self.is_array = self.place == Place::Events;
        self.has_events = self.is_array;
        if self.place == Place::Members {
            self.at = self.at.saturating_add(1);
        }
        Ok(())
    }

    /// Whether the first object is an event, and so the trace is one object after the other.
    fn is_lines(&mut self) -> io::Result<bool> {
        let mut trial = Trial::new();
        let mut at = self.at;
        loop {
            if trial.has_list() || at.saturating_sub(self.at) >= self.limit as u64 {
                return Ok(false);
            }
            let Some(&byte) = self.input.from(at).first() else {
                match self.input.fill()? {
                    true => continue,
                    false => return Ok(false),
                }
            };
            match trial.step(byte, at, &self.input) {
                Settled::Whole(phase) if trial.is_over() => return Ok(phase.is_some()),
                Settled::Invalid => return Ok(false),
                _ => at = at.saturating_add(1),
            }
        }
    }

    fn between_events(&mut self) -> io::Result<Option<Found>> {
        let is_skipped = |byte| is_nothing(byte) || matches!(byte, b',' | b'[' | b']');
        match self.skip(is_skipped)? {
            Some(first) => self.item(first).map(Some),
            None => Ok(self.finish()),
        }
    }

    fn in_list(&mut self) -> io::Result<Option<Found>> {
        match self.skip(|byte| is_white(byte) || byte == b',')? {
            Some(b']') => {
                self.at = self.at.saturating_add(1);
                self.place = Place::AfterMember;
                Ok(None)
            }
            Some(first) => self.item(first).map(Some),
            None => Ok(Some(self.missing_end())),
        }
    }

    /// A value in the list of events.
    fn item(&mut self, first: u8) -> io::Result<Found> {
        let start = self.at;
        let read = match first {
            b'{' => self.object()?,
            _ => self.other()?,
        };
        match read {
            Err(fail) => self.damage(start, Some(fail)),
            Ok(end) => {
                self.at = end;
                Ok(if first == b'{' { Found::Event(start) } else { Found::NoEvent(start) })
            }
        }
    }

    fn object(&mut self) -> io::Result<End> {
        match self.finder.settle(self.at, &mut self.input)? {
            Some(fail) => Ok(Err(fail)),
            None => self.value_end(self.at, self.at),
        }
    }

    /// The end of a value other than an object. Nothing keeps the places where lists and members
    /// failed, so there is a budget for reading them in vain. A trace without many thousand faults
    /// does not exhaust it.
    fn other(&mut self) -> io::Result<End> {
        match self.may_read_in_vain() {
            true => self.value_end(self.at, self.at),
            false => Ok(Err(Fail::Invalid)),
        }
    }

    fn may_read_in_vain(&self) -> bool {
        self.vain <= self.at.saturating_mul(VAIN_PER_BYTE).saturating_add(VAIN)
    }

    /// The end of the value at a position. The text is kept from an earlier position on.
    fn value_end(&mut self, from: u64, kept: u64) -> io::Result<End> {
        self.scanner.reset();
        self.more_value(from, kept)
    }

    fn more_value(&mut self, mut at: u64, kept: u64) -> io::Result<End> {
        loop {
            let room = (self.limit as u64).saturating_sub(at.saturating_sub(kept));
            let bytes = self.input.from(at);
            let bytes = bytes.get(..room.min(bytes.len() as u64) as usize).unwrap_or(bytes);
            let scan = self.scanner.advance(bytes);
            let size = match scan {
                Scan::More => bytes.len(),
                Scan::End(size) | Scan::Bad(size) => size,
            };
            at = at.saturating_add(size as u64);
            let fail = match scan {
                Scan::End(_) => return Ok(Ok(at)),
                Scan::Bad(_) => Some(Fail::Invalid),
                Scan::More if room == size as u64 => Some(Fail::TooLarge),
                Scan::More if self.input.fill()? => None,
                Scan::More if self.scanner.may_end() => return Ok(Ok(at)),
                Scan::More => Some(Fail::Cut),
            };
            if let Some(fail) = fail {
                self.vain = self.vain.saturating_add(at.saturating_sub(kept));
                return Ok(Err(fail));
            }
        }
    }

    fn before_member(&mut self) -> io::Result<Option<Found>> {
        match self.skip(is_white)? {
            Some(b'"') => self.member(),
            Some(b'}') => {
                self.end_object();
                Ok(None)
            }
            Some(_) => self.damage(self.at, None).map(Some),
            None => Ok(Some(self.missing_end())),
        }
    }

    fn after_member(&mut self) -> io::Result<Option<Found>> {
        match self.skip(is_white)? {
            Some(b',') => {
                self.at = self.at.saturating_add(1);
                self.place = Place::Members;
                Ok(None)
            }
            Some(b'}') => {
                self.end_object();
                Ok(None)
            }
            Some(_) => self.damage(self.at, None).map(Some),
            None => Ok(Some(self.missing_end())),
        }
    }

    fn end_object(&mut self) {
        self.at = self.at.saturating_add(1);
        self.place = Place::AfterEnd;
    }

    fn member(&mut self) -> io::Result<Option<Found>> {
        let start = self.at;
        if !self.may_read_in_vain() {
            return self.damage(start, Some(Fail::Invalid)).map(Some);
        }
        match self.member_start(start)? {
            Err(fail) => self.damage(start, Some(fail)).map(Some),
            Ok((_, value, true)) => {
                self.at = value.saturating_add(1);
                self.place = Place::List;
                self.has_events = true;
                Ok(None)
            }
            Ok((key, value, false)) => self.member_value(start, key, value).map(Some),
        }
    }

    /// The end of the key, the beginning of the value, and whether it is the list of events.
    fn member_start(&mut self, start: u64) -> io::Result<Result<(u64, u64, bool), Fail>> {
        let key = match self.value_end(start, start)? {
            Ok(key) => key,
            Err(fail) => return Ok(Err(fail)),
        };
        let colon = match self.next_byte(key, start)? {
            Ok((colon, b':')) => colon.saturating_add(1),
            Ok(_) => return Ok(Err(Fail::Invalid)),
            Err(fail) => return Ok(Err(fail)),
        };
        Ok(self.next_byte(colon, start)?.map(|(value, first)| {
            let name = Key::quoted(self.input.between(start, key));
            (key, value, first == b'[' && name.is("traceEvents"))
        }))
    }

    fn member_value(&mut self, start: u64, key: u64, value: u64) -> io::Result<Found> {
        match self.value_end(value, start)? {
            Ok(end) => {
                self.at = end;
                self.place = Place::AfterMember;
                Ok(Found::Member { start, key, value })
            }
            Err(Fail::TooLarge) => {
                self.key = Key::quoted(self.input.between(start, key)).text().into_owned();
                self.large_member(start)
            }
            Err(fail) => self.damage(start, Some(fail)),
        }
    }

    /// Reads the rest of a member without keeping it.
    fn large_member(&mut self, start: u64) -> io::Result<Found> {
        let mut at = start.saturating_add(self.limit as u64);
        let read = loop {
            self.input.release(at);
            let size = self.input.from(at).len().min(self.limit);
            let bytes = self.input.from(at).get(..size).unwrap_or_default();
            match self.scanner.advance(bytes) {
                Scan::End(size) => break Ok(at.saturating_add(size as u64)),
                Scan::Bad(size) => {
                    at = at.saturating_add(size as u64);
                    break Err(Fail::Invalid);
                }
                Scan::More => at = at.saturating_add(size as u64),
            }
            if self.input.from(at).is_empty() && !self.input.fill()? {
                break if self.scanner.may_end() { Ok(at) } else { Err(Fail::Cut) };
            }
        };
        match read {
            Ok(end) => {
                self.at = end;
                self.place = Place::AfterMember;
                Ok(Found::LargeMember { start })
            }
            Err(fail) => self.damage_from(start, at, Some(fail)),
        }
    }

    /// The next byte that is no white space, inside a member.
    fn next_byte(&mut self, mut at: u64, kept: u64) -> io::Result<Result<(u64, u8), Fail>> {
        loop {
            let bytes = self.input.from(at);
            if let Some(found) = bytes.iter().position(|&byte| !is_white(byte)) {
                let place = at.saturating_add(found as u64);
                let is_near = place.saturating_sub(kept) < self.limit as u64;
                let next = bytes.get(found).filter(|_| is_near);
                return Ok(next.map(|&byte| (place, byte)).ok_or(Fail::TooLarge));
            }
            at = at.saturating_add(bytes.len() as u64);
            if at.saturating_sub(kept) >= self.limit as u64 {
                return Ok(Err(Fail::TooLarge));
            }
            if !self.input.fill()? {
                return Ok(Err(Fail::Cut));
            }
        }
    }

    /// The text after the outer object.
    fn after_end(&mut self) -> io::Result<Option<Found>> {
        let next = self.skip(is_nothing)?;
        let start = self.at;
        self.skip(|_| true)?;
        self.place = Place::End;
        Ok(next.map(|_| Found::Trailing { start, size: self.at.saturating_sub(start) }))
    }

    fn finish(&mut self) -> Option<Found> {
        self.place = Place::End;
        None
    }

    /// The damage of the compression, after all other pieces and unless a piece shows where the text ends.
    fn lost(&mut self) -> Option<Found> {
        let Loss { at: start, is_cut } = self.input.loss()?;
        let is_told = std::mem::replace(&mut self.has_told_loss, true);
        let why = if is_cut { COMPRESSION_CUT } else { COMPRESSION_DAMAGED };
        (!is_told).then_some(Found::Damage { start, size: 0, is_cut, why })
    }

    /// The text ends, but the outer object does not.
    fn missing_end(&mut self) -> Found {
        self.place = Place::End;
        self.has_told_loss |= self.input.loss().is_some_and(|loss| loss.is_cut);
        Found::Damage { start: self.at, size: 0, is_cut: true, why: ENDS_EARLY }
    }

    /// The region that begins here with a damaged value, or with a byte that begins none.
    fn damage(&mut self, start: u64, fail: Option<Fail>) -> io::Result<Found> {
        self.damage_from(start, start, fail)
    }

    /// The region, of which only a part can be searched for the next event.
    fn damage_from(&mut self, start: u64, from: u64, fail: Option<Fail>) -> io::Result<Found> {
        let next = self.finder.find(from, fail.is_some(), &mut self.input)?;
        let end = next.unwrap_or_else(|| self.input.end());
        self.at = end;
        self.place = match next {
            None => Place::End,
            Some(_) if self.is_array => Place::Events,
            Some(_) => Place::List,
        };
        self.has_events |= next.is_some();
        let is_cut = next.is_none() && fail == Some(Fail::Cut);
        self.has_told_loss |= is_cut && self.input.loss().is_some_and(|loss| loss.is_cut);
        let why = fail.map_or(INVALID, Fail::why);
        Ok(Found::Damage { start, size: end.saturating_sub(start), is_cut, why })
    }
}

/// The byte order mark of UTF-8.
const BOM: [u8; 3] = [0xef, 0xbb, 0xbf];

const INVALID: &str = "is no valid JSON";
const NOT_CLOSED: &str = "has no end";
const ENDS_EARLY: &str = "is missing, because the file ends early";
const COMPRESSION_CUT: &str = "is missing, because the compressed data ends early";
const COMPRESSION_DAMAGED: &str = "is damaged, as its compression shows";

impl Fail {
    fn why(self) -> &'static str {
        match self {
            Fail::Invalid => INVALID,
            Fail::Cut => NOT_CLOSED,
            Fail::TooLarge => "is larger than 32 MiB",
        }
    }
}

/// Whether a byte means nothing before and after a trace (rules JS1 and JS2).
fn is_nothing(byte: u8) -> bool {
    is_white(byte) || byte == 0
}
