//! The times for which buffers of ion and of DMA heaps were allocated: slices (rule M2).

use timebase_schema::fields::{ftrace_event as event, ion_stat_ftrace_event as ion};

use super::events::Events;
use super::tracker::{Tracker, TrackerContext};
use crate::message::Message;
use crate::timeline::FtraceEvent;
use crate::world::{EndOfSlice, NewSlice, NewTrack, Owner, Utid};

/// Follows buffers.
#[derive(Debug, Default)]
pub(crate) struct Buffers;

impl Buffers {
    /// The kernel events that it takes.
    pub const EVENTS: Events = Events::new(&[event::ION_STAT, event::DMA_HEAP_STAT]);
}

impl Tracker for Buffers {
    fn ftrace(
        &mut self,
        ts: i64,
        event: &FtraceEvent<'_>,
        _emitter: Utid,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let (track_type, name) = match event.field {
            event::ION_STAT => ("android_ion_allocations", "mem.ion_buffer"),
            event::DMA_HEAP_STAT => ("android_dma_allocations", "mem.dma_buffer"),
            _ => return,
        };
        let message = Message(event.message);
        let cookie = message.number(ion::BUFFER_ID).unwrap_or(0) as i64;
        let size = message.number(ion::LEN).unwrap_or(0) as i64;
        let machine = event.machine;
        let world = &mut *at.world;
        let lanes = &mut world.lanes;
        let set = lanes.set(track_type, &[machine.into()], name, || {
            NewTrack::slices(machine, track_type, Some(name), Owner::None)
        });
        if size > 0 {
            if let Some(track) = lanes.begin(set, cookie, &mut world.tracks) {
                let name = format!("{} kB", size / 1024);
                let slice = NewSlice::named(ts, track, world.definitions.names.label(&name));
                world.begin_slice(slice, &[], at.rows);
            }
        } else if let Some((track, _)) = lanes.end(set, cookie, &mut world.tracks) {
            world.end_slice(EndOfSlice::any(ts, track), &[], at.rows);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Number, Trace};
    use super::*;

    #[test]
    fn m2_buffers_are_slices_from_when_they_are_allocated() {
        let trace = Trace::default()
            .ftrace(1, 5, event::ION_STAT, &[(1, Number(7)), (2, Number(2047))])
            .ftrace(2, 5, event::DMA_HEAP_STAT, &[(1, Number(7)), (2, Number(4096))])
            .ftrace(3, 5, event::ION_STAT, &[(1, Number(8)), (2, Number(1))])
            .ftrace(4, 5, event::ION_STAT, &[(1, Number(7)), (2, Number(u64::MAX))])
            .ftrace(5, 5, event::DMA_HEAP_STAT, &[(1, Number(9))]);
        assert_eq!(
            trace.slices(),
            [
                "1+3 0 1 kB, android_ion_allocations/mem.ion_buffer#0",
                "2+-1 0 4 kB, android_dma_allocations/mem.dma_buffer#3",
                "3+-1 0 0 kB, android_ion_allocations/mem.ion_buffer#6",
            ]
        );
    }
}
