//! The defaults of the track events of a sequence.

use timebase_schema::fields::track_event as field;

use crate::message::Message;

/// `TrackEventDefaults`, in 16 bytes.
#[derive(Debug)]
pub(crate) struct Defaults {
    /// The track, or [`NO_TRACK`] if there is none, or if `more` has it.
    track: u64,
    more: Option<Box<MoreUuids>>,
}

/// A number that hardly any uuid has.
const NO_TRACK: u64 = 0x6e6f_2074_7261_636b;

impl Default for Defaults {
    fn default() -> Self {
        Defaults { track: NO_TRACK, more: None }
    }
}

/// The uuids of the values that events have in addition to their own.
#[derive(Debug, Default)]
struct MoreUuids {
    /// Whether the track is the one with the number [`NO_TRACK`].
    has_track: bool,
    of_integers: Vec<u64>,
    of_doubles: Vec<u64>,
}

impl Defaults {
    /// Reads the defaults of a message.
    pub fn read(defaults: Message<'_>) -> Defaults {
        let track = defaults.number(field::TRACK_UUID);
        let more = MoreUuids {
            has_track: track == Some(NO_TRACK),
            of_integers: defaults.numbers(field::EXTRA_COUNTER_TRACK_UUIDS).collect(),
            of_doubles: defaults.numbers(field::EXTRA_DOUBLE_COUNTER_TRACK_UUIDS).collect(),
        };
        let has_more =
            more.has_track || !more.of_integers.is_empty() || !more.of_doubles.is_empty();
        Defaults { track: track.unwrap_or(NO_TRACK), more: has_more.then(|| more.into()) }
    }

    /// The uuid of the events' track.
    #[inline]
    pub fn track_uuid(&self) -> Option<u64> {
        let is_there = || self.more.as_ref().is_some_and(|more| more.has_track);
        (self.track != NO_TRACK || is_there()).then_some(self.track)
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
