//! The tools of every decoder of arguments.

use std::borrow::Cow;

use timebase_descriptor::{MessageId, Pool};
use timebase_schema::fields::interned_string as entry;

use super::key::{Fault, KeyText, Labels};
use super::set::{ArgBuf, ArgValue, Position};
use crate::definitions::Names;
use crate::message::Message;
use crate::timeline::{Arguments, Name};

/// The bytes that an event's arguments may take in addition to its own size. A few bytes can repeat
/// long texts by their numbers.
const ROOM: usize = 16 << 20;

/// Deeper nesting is a fault.
const DEEPEST: u32 = 100;

/// The interned data that an event refers to, at the time of its packet.
pub(crate) trait Interning {
    /// The serialized entry of a field of `InternedData`.
    fn entry(&self, field: u32, iid: u64) -> Option<&[u8]>;

    /// The key that the caller noted for the name of an annotation (see [`EventArgs::keys`]). An entry without a
    /// note has none, and neither has a number without an entry.
    fn key(&self, _iid: u64) -> Option<Name> {
        None
    }
}

/// The arguments of an event, and the faults in them. It keeps the numbers of keys and types, so it
/// is for one [`Names`] and one schema.
#[derive(Debug, Default)]
pub(crate) struct EventArgs {
    /// In the order in which they count (rule A1).
    pub main: ArgBuf,
    /// The arguments of its log message, which count if the event has an owner thread (rule A8).
    /// They precede the others.
    pub log: ArgBuf,
    /// The number of faults, if the event makes a row.
    pub errors: u32,
    /// The number of faults in its log message, if the event has an owner thread. Each of them is
    /// also a number of interned data without an entry.
    pub log_errors: u32,
    /// Whether the event has a log message: without an owner thread that is an error.
    pub has_log: bool,
    /// The number of fields that the schema does not know (rule A9).
    pub unknown: u32,
    /// The number of references to interned data without an entry.
    pub missing_iids: u32,
    /// Whether the schema may know more of the event when all descriptors of the trace are known.
    /// Then the event has to be decoded again.
    pub needs_schema: bool,
    /// The keys of annotations that are new for a number of interned data, for the caller to note.
    pub keys: Vec<(u64, Name)>,
    /// The key that is being built.
    pub(super) key: KeyText,
    pub(super) types: Types,
    pub(super) labels: Labels,
}

impl EventArgs {
    /// The arguments in the form for the timeline.
    pub fn arguments(&self) -> Arguments<'_> {
        Arguments {
            main: self.main.as_bytes(),
            log: self.log.as_bytes(),
            has_log: self.has_log,
            errors: self.errors,
            log_errors: self.log_errors,
            unknown: self.unknown,
            undecoded: &[],
        }
    }

    pub(super) fn clear(&mut self) {
        self.main.clear();
        self.log.clear();
        self.key.clear();
        self.keys.clear();
        (self.errors, self.log_errors, self.unknown) = (0, 0, 0);
        self.missing_iids = 0;
        (self.has_log, self.needs_schema) = (false, false);
    }
}

/// Types that are looked up only once, because additions to a schema do not change them.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Types {
    pub track_event: Option<MessageId>,
    pub annotation: Option<MessageId>,
}

impl Types {
    pub fn fill(&mut self, pool: &Pool) {
        if self.track_event.is_none() {
            self.track_event = pool.message("perfetto.protos.TrackEvent");
            self.annotation = pool.message("perfetto.protos.DebugAnnotation");
        }
    }
}

/// The treatment of fields that the schema does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unknown {
    Counted,
    Ignored,
}

/// Decodes one event.
pub(super) struct Decoder<'d, I> {
    pub interned: &'d I,
    pub pool: &'d Pool,
    pub names: &'d mut Names,
    pub args: &'d mut EventArgs,
    room: usize,
    depth: u32,
}

impl<'d, I: Interning> Decoder<'d, I> {
    pub fn new(
        event: &[u8],
        interned: &'d I,
        pool: &'d Pool,
        names: &'d mut Names,
        args: &'d mut EventArgs,
    ) -> Self {
        Decoder {
            interned,
            pool,
            names,
            args,
            room: event.len().saturating_mul(4).saturating_add(ROOM),
            depth: 0,
        }
    }

    /// Adds an argument with the current key.
    pub fn push(&mut self, value: ArgValue<'_>) -> Result<(), Fault> {
        let size = match value {
            ArgValue::Text(text) => text.len(),
            _ => 0,
        };
        if !self.has_room(size) {
            return Err(Fault);
        }
        let (key, main) = (&self.args.key, &mut self.args.main);
        main.push_at(&key.flat, &key.positions, value, self.names);
        Ok(())
    }

    /// Decodes something whose key has one more step.
    pub fn within<T>(
        &mut self,
        go: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let mark = self.args.key.mark();
        self.depth += 1;
        let gone = match self.depth {
            0..=DEEPEST => go(self),
            _ => Err(Fault),
        };
        self.depth -= 1;
        self.args.key.back_to(mark);
        gone
    }

    /// Counts a fault, if there is one.
    pub(super) fn count(&mut self, result: Result<(), Fault>) {
        self.args.errors += u32::from(result.is_err());
    }

    /// The entry with a number of interned data.
    pub(super) fn entry(&mut self, field: u32, iid: u64) -> Result<Message<'d>, Fault> {
        let entry = self.interned.entry(field, iid);
        self.args.missing_iids += u32::from(entry.is_none());
        entry.map(Message).ok_or(Fault)
    }

    /// The text with a number of interned data; empty if the entry has no text.
    pub(super) fn text_of(&mut self, field: u32, iid: u64) -> Result<Cow<'d, str>, Fault> {
        Ok(self.entry(field, iid)?.text(entry::STR).unwrap_or_default())
    }
}

/// A list that is being read.
pub(super) struct List {
    /// The index of the next entry.
    pub next: u64,
    /// The size of all arguments after the last entry whose keys tell where the list continues;
    /// `None` if no keys tell it.
    told: Option<usize>,
}

/// Lists, and the positions of their entries (rule A5).
impl<I: Interning> Decoder<'_, I> {
    fn size(&self) -> usize {
        self.args.main.as_bytes().len()
    }

    pub fn begin_list(&mut self) -> List {
        List { next: self.args.key.list(), told: Some(self.size()) }
    }

    /// Decodes an entry, which counts only if it adds something.
    pub fn entry_of<E>(
        &mut self,
        list: &mut List,
        add: impl FnOnce(&mut Self) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let (mark, before) = (self.args.key.mark(), self.size());
        self.args.key.enter_entry(list.next, true);
        let added = add(self);
        self.args.key.back_to(mark);
        if let Ok(true) = added {
            list.next += 1;
            list.told = (self.size() > before).then(|| self.size());
        }
        added
    }

    /// Ends a list. If the keys of its entries do not tell where the list continues, an
    /// extra entry tells it.
    pub fn end_list(&mut self, list: &List) {
        let key = &mut self.args.key;
        key.set_list(list.next);
        let size = self.args.main.as_bytes().len();
        if list.told == Some(size) || key.size().saturating_add(size) > self.room {
            return;
        }
        key.positions.push(Position { at: key.flat.len(), index: list.next, goes_on: true });
        let main = &mut self.args.main;
        main.push_count(&key.flat, &key.positions, self.names);
        key.positions.pop();
    }

    /// Whether `more` bytes can be added.
    pub fn has_room(&self, more: usize) -> bool {
        let size = self.size().saturating_add(self.args.key.size());
        size.saturating_add(more) <= self.room
    }
}
