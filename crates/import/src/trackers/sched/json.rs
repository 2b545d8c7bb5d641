//! The states of threads in JSON traces (rule JS27), which are complete: rows of `thread_state_record`, and of
//! `sched_record` for a thread that runs on a CPU.

use std::io;

use rustc_hash::FxHashMap;
use timebase_schema::tables::thread_state_record;

use super::numbers::FIRST;
use super::row::StateId;
use super::slices::{SchedSlice, SchedSliceId, SchedSlices};
use crate::output::Cell;
use crate::timeline::{JsonEvent, Label, OwnLabel, ThreadState};
use crate::trackers::tracker::TrackerContext;
use crate::world::{Utid, ucpu};

/// Makes rows of states.
#[derive(Debug, Default)]
pub(in crate::trackers) struct JsonStates {
    /// The first slice whose number the next row of a thread may take.
    next: FxHashMap<Utid, SchedSliceId>,
}

impl JsonStates {
    /// Adds a state.
    ///
    /// # Errors
    ///
    /// If a temporary file is damaged.
    pub fn state(
        &mut self,
        ts: i64,
        event: &JsonEvent<'_>,
        utid: Utid,
        slices: &mut SchedSlices,
        at: &mut TrackerContext<'_, '_>,
    ) -> io::Result<()> {
        let state = ThreadState::read(event.payload)?;
        let dur = event.dur.unwrap_or_default();
        let name = match event.name {
            Label::None => OwnLabel::Own("[No name]".into()),
            name => name.into(),
        };
        let runs = at.world.definitions.names.text_of(&name) == Some("Running");
        let machine = at.world.part.machine;
        let cpu = state.cpu.and_then(|cpu| ucpu(machine, u32::try_from(cpu).ok()?));
        let is_plain = state.io_wait.is_none() && state.blocked_function.is_none();
        let slice = cpu.filter(|_| runs).map(|cpu| {
            at.world.cpus.see(cpu);
            let slice =
                SchedSlice { dur, runs: false, ..SchedSlice::new(ts, cpu, utid, 0, is_plain) };
            slices.open(slice, at.rows)
        });
        if let Some(slice) = slice.filter(|_| is_plain) {
            self.next.insert(utid, slice);
            return Ok(());
        }
        let from = self.next.get(&utid).copied().unwrap_or(FIRST);
        let id = StateId::Alone(slices.numbers.take(slice.unwrap_or(from)));
        self.next.insert(utid, id.next());
        let name = at.world.text(&name, at.rows);
        let blocked = state.blocked_function.map(|text| OwnLabel::Own(text.into()));
        let blocked = blocked.and_then(|blocked| at.world.text(&blocked, at.rows));
        at.rows.count_states(1, 0);
        at.world.spans(&thread_state_record::TABLE, ts, dur);
        at.rows.push(thread_state_record::Row {
            id: Cell::from(id.number()),
            ts: Cell::from(ts),
            dur: Cell::from(dur),
            ucpu: Cell::or_null(cpu),
            utid: Cell::from(utid.0),
            state: Cell::or_null(name),
            io_wait: Cell::or_null(state.io_wait),
            blocked_function: Cell::or_null(blocked),
            waker_utid: Cell::Null,
            waker_id: Cell::Null,
            irq_context: Cell::Null,
            doubt: Cell::Null,
        });
        Ok(())
    }
}
