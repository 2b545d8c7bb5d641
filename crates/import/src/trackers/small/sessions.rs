//! The other recordings that ran at the same time: states of tracks (rule RT6).

use rustc_hash::FxHashMap;
use timebase_schema::fields::concurrent_session_event as session;

use super::told::told;
use crate::arguments::{ArgBuf, ArgValue};
use crate::output::{Cause, Counter, Fault};
use crate::timeline::{Label, PacketEvent};
use crate::trackers::open_state::OpenState;
use crate::trackers::tracker::TrackerContext;
use crate::world::{NewTrack, Owner, TrackId};

pub(in crate::trackers) const UNKNOWN_STATE: Fault = Fault::new(
    Counter::error(
        "concurrent_session_event_unknown_state",
        "a concurrent recording has a state that is not known, which is left out",
    )
    .drops(Cause::Incomplete),
);

const TYPE: &str = "concurrent_tracing_sessions";

/// The state that ends at once.
const DISABLED: u32 = 1;
/// The state of a clone.
const CLONED: u32 = 5;

/// The states from 1 on.
const STATES: [&str; 5] =
    ["DISABLED", "CONFIGURED", "STARTED", "DISABLING_WAITING_STOP_ACKS", "CLONED_READ_ONLY"];

/// The tracks of sessions, and their states.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    tracks: FxHashMap<(u32, u64), TrackId>,
    open: FxHashMap<TrackId, OpenState>,
}

impl Sessions {
    /// Takes an event.
    pub fn packet(&mut self, ts: i64, packet: &PacketEvent<'_>, at: &mut TrackerContext<'_, '_>) {
        let message = packet.message();
        let state = message.small(session::STATE).unwrap_or(0);
        let place = state.checked_sub(1).and_then(|place| usize::try_from(place).ok());
        let Some(value) = place.and_then(|place| STATES.get(place)) else {
            at.world.faults.add(UNKNOWN_STATE, packet.id);
            let state = ArgValue::Int((state as i32).into());
            return told((ts, packet), &UNKNOWN_STATE.counter(), ("state", state), at);
        };
        let track = self.track(packet, state, at);
        let names = &mut at.world.definitions.names;
        let mut args = ArgBuf::default();
        let uid = message.number(session::CONSUMER_UID).unwrap_or(0) as i32;
        args.push("consumer_uid", ArgValue::Int(uid.into()), names);
        let sources = message.small(session::NUM_DATA_SOURCES).unwrap_or(0);
        args.push("num_data_sources", ArgValue::Int(sources.into()), names);
        let value = Label::Known(names.number(value.as_bytes()));
        match self.open.get_mut(&track) {
            Some(open) if open.is(value) => open.add_args(&[], args.as_bytes(), at),
            _ => {
                let args = args.as_bytes().to_vec();
                let begun = OpenState::begin(ts, Label::None, value, args, at);
                if let Some(before) = self.open.insert(track, begun) {
                    before.push(track, Some(ts), at);
                }
            }
        }
        if state == DISABLED
            && let Some(open) = self.open.remove(&track)
        {
            open.push(track, Some(ts), at);
        }
    }

    /// The track of a session, which has its name from the session's first event.
    fn track(
        &mut self,
        packet: &PacketEvent<'_>,
        state: u32,
        at: &mut TrackerContext<'_, '_>,
    ) -> TrackId {
        let message = packet.message();
        let id = message.number(session::SESSION_ID).unwrap_or(0);
        *self.tracks.entry((packet.machine, id)).or_insert_with(|| {
            let mut name = match message.text(session::SESSION_NAME) {
                Some(name) => name.into_owned(),
                None => format!("Session {id}"),
            };
            if state == CLONED {
                name.push_str(" (clone)");
            }
            let track = NewTrack::slices(packet.machine, TYPE, Some(&name), Owner::None);
            at.world.tracks.get(track.with("session_id", id.cast_signed()))
        })
    }

    /// Writes the open states without an end.
    pub fn end(&mut self, at: &mut TrackerContext<'_, '_>) {
        let mut open: Vec<_> = std::mem::take(&mut self.open).into_iter().collect();
        open.sort_unstable_by_key(|(_, state)| state.id());
        for (track, state) in open {
            state.push(track, None, at);
        }
    }
}
