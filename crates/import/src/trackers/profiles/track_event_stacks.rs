//! Callstacks of track events (rule FP4).

use timebase_schema::tables::track_event_callstack;

use super::callstacks::{CallsiteId, Callstacks};
use super::inline::InlineStacks;
use super::packet::KnownThen;
use super::stacks::KnownStacks;
use crate::message::Message;
use crate::output::{Cell, PARSER_ERROR};
use crate::timeline::{EventStack, StackFrames, TrackEvent};
use crate::trackers::track_events::Stacked;
use crate::trackers::tracker::TrackerContext;

/// A track event with a callstack, and the row that it has made.
#[derive(Debug)]
pub(super) struct Stack<'e> {
    pub ts: i64,
    pub event: &'e TrackEvent<'e>,
    pub stack: &'e EventStack<'e>,
    pub stacked: Stacked,
}

/// Writes callstacks of track events.
#[derive(Debug, Default)]
pub(super) struct TrackEventStacks(InlineStacks);

impl TrackEventStacks {
    /// Adds the callstack of an event. A callstack without frames adds nothing.
    pub fn add(
        &mut self,
        of: &Stack<'_>,
        (known, callstacks): (&mut KnownStacks, &mut Callstacks),
        at: &mut TrackerContext<'_, '_>,
    ) {
        let callsite = match of.stack.frames {
            StackFrames::Interned(iid) => {
                let then = KnownThen {
                    packet: of.event.packet,
                    machine: of.event.machine,
                    interval: of.stack.interval,
                    until: of.stack.until,
                };
                let used = (of.stacked.process, iid);
                let callsite = known.stack(used, then, callstacks, at);
                if callsite.is_none() {
                    at.world.faults.add(PARSER_ERROR, of.event.packet);
                }
                callsite
            }
            StackFrames::Inline(frames) => {
                let of = (of.event.machine, "track_event_inline");
                self.0.stack(Message(frames), of, callstacks, at)
            }
        };
        let Some(CallsiteId(callsite)) = callsite else {
            return;
        };
        let id = at.rows.count(&track_event_callstack::TABLE);
        let event = at.rows.text(of.stacked.part);
        at.rows.push(track_event_callstack::Row {
            id: Cell::from(id),
            ts: Cell::from(of.ts),
            utid: Cell::or_null(of.stacked.thread.map(|utid| utid.0)),
            slice_id: Cell::or_null(of.stacked.slice.map(|slice| slice.0)),
            event,
            callsite_id: Cell::from(callsite),
            weight: of.stack.weight.map_or(Cell::Null, Cell::number),
        });
    }
}
