//! The defaults of the track events of a sequence.

use timebase_schema::fields::track_event as field;

use crate::message::Message;

/// `TrackEventDefaults`.
#[derive(Debug, Default)]
pub(crate) struct Defaults {
    pub track_uuid: Option<u64>,
    more: Option<Box<MoreUuids>>,
}

/// The uuids of the values that events have in addition to their own.
#[derive(Debug, Default)]
struct MoreUuids {
    of_integers: Vec<u64>,
    of_doubles: Vec<u64>,
}

impl Defaults {
    /// Reads the defaults of a message.
    pub fn read(defaults: Message<'_>) -> Defaults {
        let more = MoreUuids {
            of_integers: defaults.numbers(field::EXTRA_COUNTER_TRACK_UUIDS).collect(),
            of_doubles: defaults.numbers(field::EXTRA_DOUBLE_COUNTER_TRACK_UUIDS).collect(),
        };
        let has_more = !more.of_integers.is_empty() || !more.of_doubles.is_empty();
        Defaults {
            track_uuid: defaults.number(field::TRACK_UUID),
            more: has_more.then(|| more.into()),
        }
    }

    /// The uuids of further values that are integers.
    pub fn more_uuids(&self) -> &[u64] {
        self.more.as_ref().map_or(&[], |more| &more.of_integers)
    }

    /// The uuids of further values that are doubles.
    pub fn more_double_uuids(&self) -> &[u64] {
        self.more.as_ref().map_or(&[], |more| &more.of_doubles)
    }
}
