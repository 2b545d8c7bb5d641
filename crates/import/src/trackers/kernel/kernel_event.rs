//! A kernel event on its way into rows, with the operations that all its readers share.

use std::borrow::Cow;
use std::fmt::Write;

use timebase_schema::fields::{interned_data as interned, interned_string as symbol};

use timebase_trace::Interval;

use crate::arguments::{ArgBuf, ArgValue};
use crate::message::{Message, text};
use crate::timeline::Label;
use crate::trackers::tracker::TrackerContext;
use crate::world::{EndOfSlice, MadeSlice, NewSlice, SliceId, TrackId, Utid};

/// An event of the kernel.
pub(super) struct KernelEvent<'a> {
    pub ts: i64,
    pub machine: u32,
    /// The CPU of its buffer.
    pub cpu: u32,
    /// The running thread.
    pub tid: u32,
    pub emitter: Utid,
    /// The event's field of `FtraceEvent`, and its message.
    pub field: u32,
    pub message: Message<'a>,
    /// The interval in which numbers of interned data have their meaning.
    pub interval: Interval,
}

/// The name of a slice, or of the slice that an end looks for.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Called<'a> {
    pub category: Option<&'a str>,
    pub name: Option<&'a str>,
}

impl<'a> Called<'a> {
    /// A name without a category.
    pub fn named(name: &'a str) -> Self {
        Called { category: None, name: Some(name) }
    }

    pub fn labels(self, at: &mut TrackerContext<'_, '_>) -> (Label<'a>, Label<'a>) {
        let names = &mut at.world.definitions.names;
        let mut label = |text: Option<&'a str>| text.map_or(Label::None, |text| names.label(text));
        (label(self.category), label(self.name))
    }
}

/// Any slice on top.
pub(super) const ANY: Called<'_> = Called { category: None, name: None };

impl<'a> KernelEvent<'a> {
    pub fn u32(&self, field: u32) -> u32 {
        self.message.small(field).unwrap_or(0)
    }

    pub fn i32(&self, field: u32) -> i32 {
        self.u32(field) as i32
    }

    pub fn u64(&self, field: u32) -> u64 {
        self.message.number(field).unwrap_or(0)
    }

    pub fn i64(&self, field: u32) -> i64 {
        self.u64(field) as i64
    }

    pub fn text(&self, field: u32) -> Option<Cow<'a, str>> {
        self.message.text(field)
    }

    /// The name of the function at an address, or else the address.
    pub fn symbol(&self, address: u64, at: &TrackerContext<'_, '_>) -> String {
        let entry = at.world.interned.get(self.interval, interned::KERNEL_SYMBOLS, address);
        let name = entry.and_then(|entry| Message(entry).text(symbol::STR));
        name.map_or_else(|| hex(address), Cow::into_owned)
    }

    /// The track of the running thread.
    pub fn thread(&self, at: &mut TrackerContext<'_, '_>) -> TrackId {
        at.world.tracks.of_thread(self.emitter)
    }

    pub fn begin(
        &self,
        track: TrackId,
        called: Called<'_>,
        args: &[u8],
        at: &mut TrackerContext<'_, '_>,
    ) -> Option<SliceId> {
        let slice = self.slice(track, called, at);
        at.world.begin_slice(slice, args, at.rows)
    }

    pub fn instant(
        &self,
        track: TrackId,
        called: Called<'_>,
        args: &[u8],
        at: &mut TrackerContext<'_, '_>,
    ) -> Option<SliceId> {
        let slice = self.slice(track, called, at);
        at.world.add_slice(slice, 0, args, at.rows)
    }

    /// A slice that begins here.
    pub fn slice<'n>(
        &self,
        track: TrackId,
        called: Called<'n>,
        at: &mut TrackerContext<'_, '_>,
    ) -> NewSlice<'n> {
        let (category, name) = called.labels(at);
        NewSlice { category, ..NewSlice::named(self.ts, track, name) }
    }

    pub fn end(
        &self,
        track: TrackId,
        called: Called<'_>,
        args: &[u8],
        at: &mut TrackerContext<'_, '_>,
    ) -> Option<MadeSlice> {
        let (category, name) = called.labels(at);
        let end = EndOfSlice { category, name, ..EndOfSlice::any(self.ts, track) };
        at.world.end_slice(end, args, at.rows)
    }

    /// The topmost open slice with this name and category gets arguments, if there is one.
    pub fn mark(
        &self,
        track: TrackId,
        called: Called<'_>,
        args: &[u8],
        at: &mut TrackerContext<'_, '_>,
    ) {
        let (category, name) = called.labels(at);
        at.world.mark_slice(track, category, name, args);
    }

    /// A value of a counter.
    pub fn value(&self, track: TrackId, value: f64, args: &[u8], at: &mut TrackerContext<'_, '_>) {
        let args = at.world.arg_set(args, at.rows);
        at.world.value(self.ts, track, value, args, at.rows);
    }
}

/// Replaces the arguments in the buffer.
pub(super) fn fill<'a>(
    buffer: &'a mut ArgBuf,
    args: &[(&str, ArgValue<'_>)],
    at: &mut TrackerContext<'_, '_>,
) -> &'a [u8] {
    buffer.clear();
    for &(key, value) in args {
        buffer.push(key, value, &mut at.world.definitions.names);
    }
    buffer.as_bytes()
}

/// A text as an argument.
pub(super) fn text_arg(text: Option<&str>) -> ArgValue<'_> {
    text.map_or(ArgValue::NoText, ArgValue::Text)
}

/// A number in hexadecimal digits; 0 has no prefix.
pub(super) fn hex(number: u64) -> String {
    match number {
        0 => "0".to_owned(),
        _ => format!("{number:#x}"),
    }
}

/// The first bytes of a text.
pub(super) fn first_bytes(whole: &str, count: usize) -> Cow<'_, str> {
    let bytes = whole.as_bytes();
    text(bytes.get(..count).unwrap_or(bytes))
}

/// The words of the bits that are set, joined.
pub(super) fn words_of_bits(bits: u32, words: &[(u32, &str)], between: &str) -> String {
    let mut all = String::new();
    for (_, word) in words.iter().filter(|(bit, _)| bits & bit != 0) {
        let between = if all.is_empty() { "" } else { between };
        // Writing a text to a String never fails.
        let _ = write!(all, "{between}{word}");
    }
    all
}
