//! Frames: when SurfaceFlinger expected them, and when they were presented (rules FT).
//!
//! # Design
//!
//! Frames are slices on lanes of their processes. The other values of a frame are arguments of its
//! slice. The tables of frames are views that read these arguments. The alternative was to have
//! separate tables, which would repeat each text and number of the arguments. A view costs more
//! when it is read, because it parses the JSON of a frame for each column in the query. Measured
//! with 100,000 actual frames of 20 processes, in SQLite 3.40: all columns of all frames take
//! 0.5 s, one column takes 0.2 s, and a frame by its id 0.1 ms. A copy of the view as a table
//! returns three columns of all frames in 0.03 s.
//!
//! The open frames limit the tracker's memory: cookies without an end, and surface frames that no
//! display has shown. Only the tokens of expected surface frames (FT4) stay to the end. They are
//! consecutive numbers, so each takes a bit of a word.

mod args;
mod words;

use rustc_hash::FxHashMap;

use self::args::{Start, Writer};
use self::words::FrameKind;
use super::tracker::TrackerContext;
use crate::arguments::ArgBuf;
use crate::message::Message;
use crate::output::{Counter, Fault};
use crate::timeline::{Label, PacketEvent};
use crate::world::{EndOfSlice, NewSlice, NewTrack, Owner, SetId, SliceId, Upid};

pub(super) const PARSER_ERROR: Fault = Fault::new(
    Counter::info(
        "frame_timeline_event_parser_errors",
        "an event of a frame timeline lacks what it needs, or has an \
     unknown value, which is left out",
    )
    .drops_some(),
);
pub(super) const UNPAIRED: Fault = Fault::new(
    Counter::info(
        "frame_timeline_unpaired_end_event",
        "the end of a frame that has not begun is left out",
    )
    .drops_nothing(),
);

/// Frames from this time on have no row, because trace processor adds this to times.
const LATEST: i64 = i64::MAX - 10_000_000_000;

/// Fields of `FrameTimelineEvent`.
mod member {
    pub const EXPECTED_DISPLAY: u32 = 1;
    pub const ACTUAL_DISPLAY: u32 = 2;
    pub const EXPECTED_SURFACE: u32 = 3;
    pub const FRAME_END: u32 = 5;
}

/// The two frames of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Expected,
    Actual,
}

impl Kind {
    /// The type and the name of its tracks.
    fn track(self) -> (&'static str, &'static str) {
        match self {
            Kind::Expected => ("android_expected_frame_timeline", "Expected Timeline"),
            Kind::Actual => ("android_actual_frame_timeline", "Actual Timeline"),
        }
    }
}

/// Follows frames.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    /// The meaning of the cookies of a machine.
    cookies: FxHashMap<(u32, i64), (Upid, Kind)>,
    /// The expected surface frames so far.
    expected: Tokens,
    /// The surface frames that wait for a display, by machine and the display's token.
    waiting: FxHashMap<(u32, i64), Vec<SliceId>>,
    args: ArgBuf,
    text: String,
}

/// Tokens of processes, 64 in a word.
#[derive(Debug, Default)]
struct Tokens(FxHashMap<(Upid, i64), u64>);

impl Tokens {
    /// Adds a token; returns whether it was there before.
    fn has(&mut self, upid: Upid, token: i64) -> bool {
        const BITS: u32 = u64::BITS;
        let bit = 1 << token.rem_euclid(BITS.into());
        let word = self.0.entry((upid, token.div_euclid(BITS.into())));
        let word = word.or_default();
        let was_there = *word & bit != 0;
        *word |= bit;
        was_there
    }
}

impl Frames {
    /// Takes an event (rule FT1).
    pub fn packet(&mut self, ts: i64, packet: &PacketEvent<'_>, at: &mut TrackerContext<'_, '_>) {
        let done = match ts {
            LATEST.. => Err(PARSER_ERROR),
            ts => self.event(ts, packet, at),
        };
        if let Err(fault) = done {
            at.world.faults.add(fault, packet.id);
        }
    }

    fn event(
        &mut self,
        ts: i64,
        packet: &PacketEvent<'_>,
        at: &mut TrackerContext<'_, '_>,
    ) -> Result<(), Fault> {
        let event = Message(packet.payload);
        let members = member::EXPECTED_DISPLAY..=member::FRAME_END;
        let mut members = members.filter_map(|field| Some((field, Message(event.bytes(field)?))));
        let (field, message) = members.next().ok_or(PARSER_ERROR)?;
        let (of, kind) = match field {
            member::EXPECTED_DISPLAY => (FrameKind::Display, Kind::Expected),
            member::ACTUAL_DISPLAY => (FrameKind::Display, Kind::Actual),
            member::EXPECTED_SURFACE => (FrameKind::Surface, Kind::Expected),
            member::FRAME_END => return self.end(ts, packet.machine, message, at),
            _ => (FrameKind::Surface, Kind::Actual),
        };
        self.start(ts, packet, (of, kind, message), at)
    }

    /// Takes the start of a frame (rules FT2 to FT4).
    fn start(
        &mut self,
        ts: i64,
        packet: &PacketEvent<'_>,
        (of, kind, message): (FrameKind, Kind, Message<'_>),
        at: &mut TrackerContext<'_, '_>,
    ) -> Result<(), Fault> {
        let number = |field| message.number(field).map(|number| number as i64);
        let (cookie, token) = (number(1), number(2));
        let (display_token, pid) = match of {
            FrameKind::Display => (token, message.small(3)),
            FrameKind::Surface => (number(3), message.small(4)),
        };
        let (Some(cookie), Some(token), Some(display_token), Some(pid)) =
            (cookie, token, display_token, pid)
        else {
            return Err(PARSER_ERROR);
        };
        let machine = packet.machine;
        let upid = at.world.threads.process(machine, pid.into());
        self.cookies.insert((machine, cookie), (upid, kind));
        let is_expected_surface = (of, kind) == (FrameKind::Surface, Kind::Expected);
        if is_expected_surface && self.expected.has(upid, token) {
            return Ok(());
        }
        let start = Start { of, kind, token, display_token, message, packet: packet.id };
        let made = self.slice(ts, (machine, upid, cookie), &start, at);
        if kind == Kind::Actual {
            self.flows(machine, &start, made, at);
        }
        Ok(())
    }

    /// Begins a slice on the lane of its cookie.
    fn slice(
        &mut self,
        ts: i64,
        (machine, upid, cookie): (u32, Upid, i64),
        start: &Start<'_>,
        at: &mut TrackerContext<'_, '_>,
    ) -> Option<SliceId> {
        let lanes = lanes(machine, upid, start.kind, at);
        let world = &mut *at.world;
        let track = world.lanes.begin(lanes, cookie, &mut world.tracks)?;
        let mut writer = Writer {
            args: &mut self.args,
            text: &mut self.text,
            names: &mut world.definitions.names,
            faults: &mut world.faults,
        };
        writer.write(start);
        let name = start.token.to_string();
        let slice = NewSlice {
            packet: Some(start.packet),
            // `Names` keeps texts to the end of the trace, and there are many tokens.
            ..NewSlice::named(ts, track, Label::Own(&name))
        };
        world.begin_slice(slice, self.args.as_bytes(), at.rows)
    }

    /// Links surface frames to the display frame that shows them (rule FT8).
    fn flows(
        &mut self,
        machine: u32,
        start: &Start<'_>,
        made: Option<SliceId>,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let key = (machine, start.display_token);
        match (start.of, made) {
            (FrameKind::Surface, None) => {}
            (FrameKind::Surface, Some(slice)) => self.waiting.entry(key).or_default().push(slice),
            (FrameKind::Display, made) => {
                let waiting = self.waiting.remove(&key).unwrap_or_default();
                if let Some(display) = made {
                    for surface in waiting {
                        at.world.flows.link(surface, display);
                    }
                }
            }
        }
    }

    /// Takes the end of a frame (rule FT7).
    fn end(
        &mut self,
        ts: i64,
        machine: u32,
        message: Message<'_>,
        at: &mut TrackerContext<'_, '_>,
    ) -> Result<(), Fault> {
        let cookie = message.number(1).ok_or(PARSER_ERROR)? as i64;
        let stood_for = self.cookies.remove(&(machine, cookie));
        let (upid, kind) = stood_for.ok_or(UNPAIRED)?;
        let lanes = lanes(machine, upid, kind, at);
        let world = &mut *at.world;
        if let Some((track, _)) = world.lanes.end(lanes, cookie, &mut world.tracks) {
            world.end_slice(EndOfSlice::any(ts, track), &[], at.rows);
        }
        Ok(())
    }
}

/// The lanes of a process's frames.
fn lanes(machine: u32, Upid(upid): Upid, kind: Kind, at: &mut TrackerContext<'_, '_>) -> SetId {
    let (track_type, name) = kind.track();
    let numbers = [machine.into(), upid.into()];
    at.world.lanes.set(track_type, &numbers, name, || {
        NewTrack::slices(machine, track_type, Some(name), Owner::Process(Upid(upid)))
    })
}
