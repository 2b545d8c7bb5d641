//! The defaults of the track events of a sequence.

/// `TrackEventDefaults`.
#[derive(Debug, Default)]
pub(crate) struct Defaults {
    pub track_uuid: Option<u64>,
    pub more_uuids: Vec<u64>,
    pub more_double_uuids: Vec<u64>,
}
