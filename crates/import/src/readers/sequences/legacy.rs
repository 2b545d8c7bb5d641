//! The legacy event of a track event as it is on the wire.

use std::borrow::Cow;

use timebase_descriptor::field::Value;
use timebase_schema::fields::track_event_legacy_event as field;

use super::NS_PER_US;
use crate::message::{Message, text};
use crate::timeline::{FlowDirection, InstantScope, LegacyEvent, LegacyId};

/// A `LegacyEvent`: the last value of each field.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RawLegacy<'a> {
    pub name_iid: Option<u64>,
    /// 0 without one.
    pub phase: u32,
    pub pid_override: Option<u32>,
    pub tid_override: Option<u32>,
    unscoped_id: Option<u64>,
    global_id: Option<u64>,
    local_id: Option<u64>,
    bind_id: Option<u64>,
    direction: Option<FlowDirection>,
    scope: Option<&'a [u8]>,
    /// The values that the message alone decides.
    event: LegacyEvent<'a>,
}

impl<'a> RawLegacy<'a> {
    pub fn read(message: Message<'a>) -> Self {
        let mut legacy = RawLegacy::default();
        for (number, value) in message.fields() {
            match value {
                Value::Varint(value) => legacy.number(number, value),
                Value::Bytes(bytes) if number == field::ID_SCOPE => legacy.scope = Some(bytes),
                _ => {}
            }
        }
        legacy
    }

    fn number(&mut self, number: u32, value: u64) {
        let ns = (value as i64).saturating_mul(NS_PER_US);
        match number {
            field::NAME_IID => self.name_iid = Some(value),
            field::PHASE => self.phase = value as u32,
            field::DURATION_US => self.event.dur = ns,
            field::THREAD_DURATION_US => self.event.thread_dur = ns,
            field::THREAD_INSTRUCTION_DELTA => self.event.instructions = value as i64,
            field::UNSCOPED_ID => self.unscoped_id = Some(value),
            field::GLOBAL_ID => self.global_id = Some(value),
            field::LOCAL_ID => self.local_id = Some(value),
            field::BIND_ID => self.bind_id = Some(value),
            field::BIND_TO_ENCLOSING => self.event.binds_enclosing = value != 0,
            field::FLOW_DIRECTION => {
                self.direction = match value {
                    1 => Some(FlowDirection::In),
                    2 => Some(FlowDirection::Out),
                    3 => Some(FlowDirection::InOut),
                    _ => None,
                }
            }
            field::INSTANT_EVENT_SCOPE => {
                self.event.instant = match value {
                    1 => InstantScope::Global,
                    2 => InstantScope::Process,
                    _ => InstantScope::Thread,
                }
            }
            field::PID_OVERRIDE => self.pid_override = Some(value as u32),
            field::TID_OVERRIDE => self.tid_override = Some(value as u32),
            _ => {}
        }
    }

    /// Its id: of several, the unscoped one, then the global one.
    pub fn id(&self) -> Option<LegacyId> {
        let unscoped = self.unscoped_id.map(LegacyId::Unscoped);
        let global = || self.global_id.map(LegacyId::Global);
        let local = || self.local_id.map(LegacyId::Local);
        unscoped.or_else(global).or_else(local)
    }

    /// The scope of its id.
    pub fn scope(&self) -> Option<Cow<'a, str>> {
        self.scope.map(text)
    }

    /// The event for the timeline, with this scope.
    pub fn event<'s>(&self, scope: Option<&'s str>) -> LegacyEvent<'s>
    where
        'a: 's,
    {
        LegacyEvent {
            id: self.id(),
            scope,
            bind: self.bind_id.map(|id| (id, self.direction)),
            ..self.event
        }
    }
}
