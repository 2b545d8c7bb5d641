//! States of tracks (ST), and log messages of track events (OT1).

use super::args::Args;
use super::described::Stands;
use super::processes::Utid;
use super::track_events::Happening;
use super::tracks::TrackId;
use super::uuids::Place;
use super::world::World;

/// A row of `state`.
#[derive(Debug)]
pub struct State {
    pub time: i64,
    /// −1 while it is not over.
    pub duration: i64,
    pub track: TrackId,
    pub category: Option<String>,
    pub value: String,
    pub args: Args,
}

/// A line of the log.
#[derive(Debug)]
pub struct Line {
    pub time: i64,
    pub thread: Utid,
    pub prio: i64,
    pub tag: Option<String>,
    pub message: Option<String>,
}

#[derive(Debug, Default)]
pub struct States {
    pub all: Vec<State>,
    pub lines: Vec<Line>,
}

impl World<'_> {
    pub fn says_state(&mut self, happening: &Happening<'_>) {
        let place = self.place_of(happening);
        let uuid = happening.uuid;
        let descriptor = self.described.of(uuid.raw_id, uuid.number);
        let is_state = descriptor.is_some_and(|said| matches!(said.stands, Stands::State));
        // ST3
        let (Some(Place::Track(track)), true, false) = (place, is_state, happening.on_thread)
        else {
            return;
        };
        // ST4
        let event = happening.event;
        let value = match event.fields.number(10) {
            Some(iid) => event.interned(2, iid).and_then(|name| name.text(2)),
            None => event.fields.text(23),
        };
        let is_open = |state: &&mut State| state.track == track && state.duration < 0;
        let open = self.states.all.iter_mut().find(is_open);
        let Some(value) = value else {
            if let Some(open) = open {
                open.duration = happening.time - open.time;
            }
            return;
        };
        let mut args = Args::default();
        let mut is_same = false;
        if let Some(open) = open {
            is_same = open.value == value;
            if is_same {
                args = std::mem::take(&mut open.args);
            } else {
                open.duration = happening.time - open.time;
            }
        }
        self.arguments(happening, &mut args);
        self.logs(happening);
        self.stacked(happening, "state", None);
        if is_same {
            let open = self.states.all.iter_mut().find(is_open);
            open.unwrap().args = args;
        } else {
            self.states.all.push(State {
                time: happening.time,
                duration: -1,
                track,
                category: happening.category.clone(),
                value,
                args,
            });
        }
    }

    /// OT1
    pub fn logs(&mut self, happening: &Happening<'_>) {
        let event = happening.event;
        let (Some(thread), Some(log)) = (happening.thread, event.fields.message(21)) else {
            return;
        };
        let Some(body) = event.interned(20, log.unsigned(2)) else {
            return;
        };
        let mut tag = None;
        if let Some(iid) = log.number(1) {
            let Some(place) = event.interned(4, iid) else {
                return;
            };
            let file = place.text(2).unwrap_or_default();
            tag = Some(format!("{file}:{}", place.id(4)));
        }
        let prio = match log.number(3).map(|prio| prio as u32) {
            None => 4,
            Some(prio @ 0..=7) => prio.into(),
            Some(_) => 0,
        };
        self.states.lines.push(Line {
            time: happening.time,
            thread,
            prio,
            tag,
            message: body.text(2),
        });
    }
}
