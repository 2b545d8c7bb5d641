//! Transitions between windows (rules WS10, WS11).

use rustc_hash::FxHashMap;
use timebase_schema::WinscopeTable;
use timebase_schema::fields::{
    shell_handler_mappings as mappings, shell_transition as transition,
    shell_transition_target as target,
};

use super::TRANSITIONS_ERROR;
use super::geometry::Rect;
use super::table::{Made, Named, Out, Statement};
use crate::message::Message;
use crate::trackers::tracker::TrackerContext;

const PROTOS: usize = WinscopeTable::number("window_manager_shell_transition_protos");
const TRANSITIONS: usize = WinscopeTable::number("window_manager_shell_transitions");
const PARTICIPANTS: usize = WinscopeTable::number("window_manager_shell_transition_participants");
const HANDLERS: usize = WinscopeTable::number("window_manager_shell_transition_handlers");

/// The fields of all packets of a transition: the last of each counts.
#[derive(Debug, Default)]
struct Transition {
    ts: i64,
    /// The values of fields 2 to 16, by their numbers.
    values: FxHashMap<u32, i64>,
    args: Vec<u8>,
}

/// The transitions of a part.
#[derive(Debug, Default)]
pub(super) struct Transitions {
    all: FxHashMap<i32, Transition>,
    /// In the order in which they were met.
    order: Vec<i32>,
}

/// The fields that are columns.
const FIELDS: [u32; 12] = [
    transition::CREATE_TIME_NS,
    transition::SEND_TIME_NS,
    transition::DISPATCH_TIME_NS,
    transition::MERGE_TIME_NS,
    transition::SHELL_ABORT_TIME_NS,
    transition::WM_ABORT_TIME_NS,
    transition::FINISH_TIME_NS,
    transition::START_TRANSACTION_ID,
    transition::FINISH_TRANSACTION_ID,
    transition::HANDLER,
    transition::TYPE,
    transition::FLAGS,
];

impl Transitions {
    /// Takes a `ShellTransition`.
    pub fn packet(
        &mut self,
        bytes: &[u8],
        statement: &Statement<'_>,
        out: &mut Out,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let message = Message(bytes);
        let is_whole = out.arguments(PROTOS, bytes, at);
        if !is_whole {
            at.world.faults.add(TRANSITIONS_ERROR, statement.packet);
        }
        let id = message.small(transition::ID).unwrap_or(0).cast_signed();
        let known = self.all.entry(id).or_insert_with(|| {
            self.order.push(id);
            Transition::default()
        });
        known.args.extend_from_slice(out.args.args.as_bytes());
        for field in FIELDS {
            let value = message.number(field).map(|value| match field {
                transition::TYPE | transition::FLAGS => i64::from(value as u32),
                transition::HANDLER => i64::from((value as u32).cast_signed()),
                _ => value.cast_signed(),
            });
            if let Some(value) = value {
                known.values.insert(field, value);
            }
        }
        if let Some(sent) = message.number(transition::SEND_TIME_NS) {
            known.ts = sent.cast_signed();
        }
        if let Some(dispatched) = message.number(transition::DISPATCH_TIME_NS)
            && known.ts == 0
        {
            known.ts = dispatched.cast_signed();
        }
        out.written((PROTOS, bytes), (statement, None), &[], at);
        for change in message.each(transition::CHANGES) {
            let rect =
                |field| Message(change).bytes(field).map(|rect| Rect::of_numbers(Message(rect)));
            let rects = [target::START_ABSOLUTE_BOUNDS, target::END_ABSOLUTE_BOUNDS].map(rect);
            let [start, end] = rects.map(|rect| rect.map(|rect| out.rect(rect, at)));
            let made = [Made::Int(id.into()), Made::maybe(start), Made::maybe(end)];
            out.row((PARTICIPANTS, change), Named::default(), &made, at);
        }
    }

    /// Writes all transitions.
    pub fn end(self, out: &mut Out, at: &mut TrackerContext<'_, '_>) {
        for id in self.order {
            let Some(of) = self.all.get(&id) else {
                continue;
            };
            let arg_set = at.world.arg_set(&of.args, at.rows);
            let value = |field| of.values.get(&field).copied();
            let time = |field| value(field).filter(|time| *time > 0);
            let merged = time(transition::MERGE_TIME_NS);
            let dispatched = time(transition::DISPATCH_TIME_NS);
            let finished = time(transition::FINISH_TIME_NS);
            let aborted =
                time(transition::SHELL_ABORT_TIME_NS).or(time(transition::WM_ABORT_TIME_NS));
            let (status, duration) = match (merged, dispatched, finished, aborted) {
                (Some(_), ..) => (Some("merged"), None),
                (None, Some(from), Some(to), _) => (Some("played"), to.checked_sub(from)),
                (None, None, _, Some(_)) => (Some("aborted"), None),
                _ => (None, None),
            };
            let maybe = |field| Made::maybe(value(field));
            let made = [
                Made::Int(of.ts),
                Made::Int(id.into()),
                maybe(transition::TYPE),
                maybe(transition::SEND_TIME_NS),
                maybe(transition::DISPATCH_TIME_NS),
                Made::maybe(duration),
                maybe(transition::FINISH_TIME_NS),
                maybe(transition::SHELL_ABORT_TIME_NS),
                maybe(transition::WM_ABORT_TIME_NS),
                maybe(transition::MERGE_TIME_NS),
                maybe(transition::CREATE_TIME_NS),
                maybe(transition::HANDLER),
                Made::text(status),
                maybe(transition::FLAGS),
                maybe(transition::START_TRANSACTION_ID),
                maybe(transition::FINISH_TRANSACTION_ID),
            ];
            let named = Named { arg_set, ..Named::default() };
            out.row((TRANSITIONS, &[]), named, &made, at);
        }
    }
}

/// Writes the names of handlers.
pub(super) fn handlers(
    bytes: &[u8],
    statement: &Statement<'_>,
    out: &mut Out,
    at: &mut TrackerContext<'_, '_>,
) {
    for mapping in Message(bytes).each(mappings::MAPPING) {
        let proto = out.proto(HANDLERS, bytes, (statement, None), at);
        let named = Named { proto: Some(proto), ..Named::default() };
        out.row((HANDLERS, mapping), named, &[], at);
    }
}
