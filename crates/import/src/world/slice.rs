//! The data of a slice when it begins and when it ends.

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
    /// The packet that begins the slice, if the begin is an event of its own.
    pub packet: Option<i64>,
    /// For a track event, the sequence, which has the end too.
    pub sequence: Option<u32>,
    pub time: Spent,
    pub instructions: Spent,
}

impl<'a> NewSlice<'a> {
    /// A slice that only has a name.
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

/// The amount (time or instructions) that a thread had spent when a slice began, and the amount
/// that it spends in the slice (rule E14).
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
    /// The category and the name of the slice that ends, if they are known.
    pub category: Label<'a>,
    pub name: Label<'a>,
    /// The time and the instructions that the thread has spent until now.
    pub time: Option<i64>,
    pub instructions: Option<i64>,
    /// Arguments that the slice gets, except for keys that it already has.
    pub defaults: &'a [u8],
}

impl EndOfSlice<'_> {
    /// The end of the topmost open slice, with any category and name.
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

/// A slice that was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MadeSlice {
    pub id: SliceId,
    pub ts: i64,
}
