//! The arguments of an event. They are decoded with the schema as it is known by then, or later if
//! the schema does not know all of them yet.
//!
//! A trace may describe extensions after the events that have them (rule A9). Such an event goes
//! through the timeline as it is. The interned data of its interval is kept, with the order of the
//! entries.

use timebase_descriptor::Pool;
use timebase_schema::fields::interned_data::DEBUG_ANNOTATION_NAMES as NAMES;

use crate::arguments::{EventArgs, Interning, decode};
use crate::compact::Put;
use crate::definitions::Names;
use crate::place::{Generation, Place};
use crate::readers::sequences::event::RawTrackEvent;
use crate::timeline::{Arguments, Name};

/// Decodes arguments.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    args: EventArgs,
    undecoded: Vec<u8>,
}

/// The interned data at the time when an event is read.
struct Now<'a> {
    place: &'a Place,
    generation: Generation,
}

impl Interning for Now<'_> {
    fn entry(&self, field: u32, iid: u64) -> Option<&[u8]> {
        self.place.interned.get(self.generation.interval, field, iid)
    }

    #[inline]
    fn key(&self, iid: u64) -> Option<Name> {
        let note = self.place.interned.note_of(self.generation.interval, NAMES, iid)?;
        note.checked_sub(1).map(Name)
    }
}

impl Decoder {
    /// Decodes the arguments of an event, and returns the number of references to interned data
    /// without an entry. An event that has to be decoded again gets the form that
    /// [`LateDecoder`](crate::arguments::LateDecoder) reads.
    pub fn decode(
        &mut self,
        event: &RawTrackEvent<'_>,
        generation: Generation,
        place: &mut Place,
        pool: &Pool,
        names: &mut Names,
    ) -> u32 {
        let bytes = event.message.0;
        decode(bytes, &Now { place, generation }, pool, names, &mut self.args);
        for &(iid, Name(key)) in &self.args.keys {
            if let Some(note) = key.checked_add(1) {
                place.interned.note(generation.interval, NAMES, iid, note);
            }
        }
        self.undecoded.clear();
        if !self.args.needs_schema {
            return self.args.missing_iids;
        }
        let until = place.interned.keep(generation.interval);
        Put(&mut self.undecoded)
            .natural(generation.interval.cleared.into())
            .natural(until)
            .rest(bytes);
        0
    }

    /// The arguments that were decoded last.
    pub fn arguments(&self) -> Arguments<'_> {
        if !self.undecoded.is_empty() {
            return Arguments { undecoded: &self.undecoded, ..Arguments::default() };
        }
        self.args.arguments()
    }
}
