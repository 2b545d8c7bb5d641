//! Chrome's JSON format (rules JS).
//!
//! # Design
//!
//! `timebase_trace::json` finds the events and the members of a text. Here each of them becomes a row of
//! `packet`, and an event also becomes a compact record for the timeline (`timeline/json_event.rs`): numbers are
//! exact, names are numbers, arguments are in their compact form. So the text is parsed once, and the tracker
//! (`trackers/json`) knows no JSON.
//!
//! The alternative was to give events the form of track events, which have the phases of this format, too. But ids
//! that are texts, processes without a number, lanes for slices that overlap, and the order of events with equal times
//! are this format's own; each of them would be an exception in the tracker of track events.
//!
//! | question | where it is decided |
//! |---|---|
//! | the two threads that read a file | `ahead.rs` |
//! | the fields of an event, and what its phase makes of them (rules JS9 to JS29) | `event.rs`, `fields.rs` |
//! | the thread of an event (rules JS14, JS15) | `threads.rs` |
//! | V8's profiles (rule JS28) | `profile.rs` |
//! | facts of the whole trace (rule JS30) | `members.rs` |
//! | what the producer says of its clock (rules JS32 to JS36) | `anchors.rs` |
//! | whether durations have another unit | `unit.rs` |

mod ahead;
mod anchors;
mod event;
mod fields;
mod members;
mod profile;
mod threads;
mod unit;

use std::io::{self, Read};
use std::ops::ControlFlow;

use timebase_trace::json::{Piece, Recognized, recognizes};
use timebase_trace::{Damage, End, Region, TraceFormat};

use self::ahead::Batch;
use self::anchors::Anchors;
use self::event::Events;
use self::members::Unread;
use self::unit::Durations;
use super::{FileSession, Format};
use crate::frame::{Record, RecordTime};
use crate::output::{LogMessage, Severity};

/// Chrome's JSON format.
pub(super) struct Json;

static JSON: TraceFormat = TraceFormat::new("json", is_json).with_own_clock();

/// Whether a file begins as JSON. For a file that begins with a line feed, as a packet does, it is not enough that it may be.
fn is_json(begin: &[u8]) -> bool {
    match recognizes(begin) {
        Recognized::Yes => true,
        Recognized::Maybe => {
            let is_space = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0;
            begin.first() != Some(&b'\n') && !begin.iter().all(is_space)
        }
        Recognized::No => false,
    }
}

impl Format for Json {
    const FORMAT: &'static TraceFormat = &JSON;

    fn read(input: &mut (dyn Read + Send), session: &mut FileSession<'_, '_>) -> io::Result<End> {
        ahead::read(input, |batches| take(batches, session))
    }
}

/// Takes the pieces of a file.
fn take(
    batches: impl Iterator<Item = Batch>,
    session: &mut FileSession<'_, '_>,
) -> io::Result<End> {
    let (mut events, mut anchors) = (Events::default(), Anchors::default());
    let (mut durations, mut unread) = (Durations::default(), Unread::default());
    let mut is_empty = true;
    for batch in batches {
        for (piece, fields) in batch.pieces() {
            is_empty &= matches!(piece, Piece::Member { .. } | Piece::Trailing { .. });
            let goes_on = match (piece, fields) {
                (Piece::Event { offset, value }, Some(fields)) => {
                    let fields = fields.map(|place| value.part(place));
                    durations.add(value, &fields);
                    events.event((offset, value), &fields, &mut anchors, session)?
                }
                (piece, _) => other(piece, &mut anchors, &mut unread, session)?,
            };
            if goes_on.is_break() {
                return Ok(End::Stopped);
            }
        }
    }
    anchors.tell(session);
    durations.tell(session);
    if is_empty {
        let text = "the trace has no events".to_owned();
        session.warn(LogMessage::new(Severity::Warning, "no_events", text));
    }
    Ok(End::Complete)
}

/// Takes a piece that is no event.
fn other(
    piece: Piece<'_>,
    anchors: &mut Anchors,
    unread: &mut Unread,
    session: &mut FileSession<'_, '_>,
) -> io::Result<ControlFlow<()>> {
    match piece {
        Piece::NoEvent { offset, text } => {
            let code = "json_no_event";
            return session.corrupt(offset, text, code, "a value in traceEvents is no object");
        }
        Piece::Member { offset, size, key, value, text } => {
            members::member(&key, value, session);
            unread.member(&key, value, session);
            anchors.member(&key, value, session.next_record());
            return member(offset, size, text, session);
        }
        Piece::Damage { offset, size, is_cut, why } => {
            let why = Damage::Text { offset, why, is_cut };
            session.region(&Region { offset, size, why });
        }
        Piece::Trailing { offset, size } => {
            let text = format!("{size} bytes after the end of the JSON text are not read");
            let code = "json_trailing_data";
            session.say(offset, LogMessage::new(Severity::Warning, code, text));
        }
        Piece::Event { .. } => {}
    }
    Ok(ControlFlow::Continue(()))
}

/// Writes the row of a member of the outer object (rule JS8). Its text is missing if it is too large.
fn member(
    offset: u64,
    size: u64,
    text: Option<&[u8]>,
    session: &mut FileSession<'_, '_>,
) -> io::Result<ControlFlow<()>> {
    let record = Record {
        row_type: "json_member",
        offset,
        size,
        bytes: text.unwrap_or_default(),
        time: RecordTime::None,
    };
    session.record(&record, |_| {})
}
