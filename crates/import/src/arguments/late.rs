//! Arguments of events that had to wait for the whole schema.

use timebase_descriptor::Pool;
use timebase_trace::{Interned, Interval};

use super::decode::decode;
use super::decoder::{EventArgs, Interning};
use crate::compact::Take;
use crate::definitions::Names;
use crate::timeline::{Arguments, TrackEvent};

/// Decodes the arguments of events that had to wait for the whole schema.
#[derive(Debug, Default)]
pub(crate) struct LateDecoder(EventArgs);

/// The interned data at the time when an event was read.
struct Then<'a> {
    interned: &'a Interned,
    interval: Interval,
    until: u64,
}

impl Interning for Then<'_> {
    fn entry(&self, field: u32, iid: u64) -> Option<&[u8]> {
        self.interned.get_until(self.interval, field, iid, self.until)
    }
}

impl LateDecoder {
    /// Decodes the arguments of an event. Also returns the number of references to interned data
    /// without an entry.
    pub fn decode<'a>(
        &'a mut self,
        event: &TrackEvent<'_>,
        interned: &Interned,
        pool: &Pool,
        names: &mut Names,
    ) -> (Arguments<'a>, u32) {
        let mut take = Take(event.arguments.undecoded);
        let (cleared, until) = (take.small(), take.natural());
        let (Ok(cleared), Ok(until)) = (cleared, until) else {
            return (Arguments::default(), 0);
        };
        let interval = Interval { sequence: event.sequence, cleared };
        let then = Then { interned, interval, until };
        decode(take.rest(), &then, pool, names, &mut self.0);
        (self.0.arguments(), self.0.missing_iids)
    }
}
