//! What there is to say of a slice when it begins and when it ends.

use super::tracks::TrackId;
use crate::timeline::Label;

/// A row of `slice`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SliceId(pub i64);

/// A slice that begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewSlice<'a> {
    pub ts: i64,
    pub track: TrackId,
    pub category: Label<'a>,
    pub name: Label<'a>,
    /// The packet that begins it, where it is an event of its own.
    pub packet: Option<i64>,
    /// The sequence that has its end, too, where it is a track event.
    pub sequence: Option<u32>,
    pub time: Spent,
    pub instructions: Spent,
}

impl<'a> NewSlice<'a> {
    /// One that only has a name.
    pub fn named(ts: i64, track: TrackId, name: Label<'a>) -> Self {
        NewSlice {
            ts,
            track,
            category: Label::None,
            name,
            packet: None,
            sequence: None,
            time: Spent::default(),
            instructions: Spent::default(),
        }
    }
}

/// What a thread had spent when a slice began, and spends in it (rule E14).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    pub before: Option<i64>,
    pub within: Option<i64>,
}

/// The end of a slice.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EndOfSlice<'a> {
    pub ts: i64,
    pub track: TrackId,
    /// Those of the slice that ends, if there are some.
    pub category: Label<'a>,
    pub name: Label<'a>,
    /// What the thread has spent until now.
    pub time: Option<i64>,
    pub instructions: Option<i64>,
    /// Arguments that it gets unless it has some of the same keys.
    pub defaults: &'a [u8],
}

impl EndOfSlice<'_> {
    /// That of whatever is on top.
    pub fn any(ts: i64, track: TrackId) -> Self {
        EndOfSlice {
            ts,
            track,
            category: Label::None,
            name: Label::None,
            time: None,
            instructions: None,
            defaults: &[],
        }
    }
}

/// A slice that there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Made {
    pub id: SliceId,
    pub ts: i64,
}
