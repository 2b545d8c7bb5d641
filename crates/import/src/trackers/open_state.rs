//! A state of a track that has not ended (rules ST and RT6).

use timebase_schema::tables::state_record;

use super::tracker::TrackerContext;
use crate::arguments::merge;
use crate::output::Cell;
use crate::timeline::{Label, OwnLabel};
use crate::world::TrackId;

/// The state of a track.
#[derive(Debug)]
pub(super) struct OpenState {
    id: i64,
    ts: i64,
    category: OwnLabel,
    value: OwnLabel,
    /// The arguments, in their compact form.
    args: Vec<u8>,
}

impl OpenState {
    /// Begins a state.
    pub fn begin(
        ts: i64,
        category: Label<'_>,
        value: Label<'_>,
        args: Vec<u8>,
        at: &mut TrackerContext<'_, '_>,
    ) -> Self {
        let id = at.world.states;
        at.world.states += 1;
        OpenState { id, ts, category: category.into(), value: value.into(), args }
    }

    /// Its number among all states.
    pub fn id(&self) -> i64 {
        self.id
    }

    /// Whether it has this value.
    pub fn is(&self, value: Label<'_>) -> bool {
        self.value.is(value)
    }

    /// Adds the arguments of an equal state (rule A1).
    pub fn add_args(&mut self, defaults: &[u8], args: &[u8], at: &mut TrackerContext<'_, '_>) {
        self.args.splice(..0, defaults.iter().copied());
        merge(&mut self.args, args, &at.world.definitions.names);
    }

    /// Writes the state as a row, with its end if it has one.
    pub fn push(self, track: TrackId, end: Option<i64>, at: &mut TrackerContext<'_, '_>) {
        let arg_set_id = at.world.arg_set(&self.args, at.rows);
        let dur = end.map_or(-1, |end| end.saturating_sub(self.ts));
        at.world.spans(&state_record::TABLE, self.ts, dur);
        let category = at.world.text(&self.category, at.rows);
        let value = at.world.text(&self.value, at.rows);
        at.rows.push(state_record::Row {
            id: Cell::from(self.id),
            ts: Cell::from(self.ts),
            dur: Cell::from(dur),
            track_id: Cell::from(track.0),
            category: Cell::or_null(category),
            value: Cell::or_null(value),
            arg_set_id: Cell::or_null(arg_set_id),
        });
    }
}
