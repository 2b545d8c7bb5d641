//! What the events of a sequence have in common by default.

/// `TrackEventDefaults`.
#[derive(Debug, Default)]
pub(crate) struct Defaults {
    pub track_uuid: Option<u64>,
    pub more_uuids: Vec<u64>,
    pub more_double_uuids: Vec<u64>,
}
