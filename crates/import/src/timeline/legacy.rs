//! The parts of a legacy event that tracks, slices and flows need, besides its phase (rules L3 to L7, G5, G6).

use std::io;

use crate::compact::{Put, Take, cut};

/// A legacy event, as Chrome's JSON and the `LegacyEvent` of a track event have them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct LegacyEvent<'a> {
    /// The duration of the slice and the time that its thread spent in it, in nanoseconds (rule L4).
    pub dur: i64,
    pub thread_dur: i64,
    /// The instructions that the thread spent in the slice.
    pub instructions: i64,
    pub id: Option<LegacyId>,
    /// The scope of the id, if the event names one.
    pub scope: Option<&'a str>,
    /// A flow that the event's slice is bound to, and its direction if it is known (rule G5).
    pub bind: Option<(u64, Option<FlowDirection>)>,
    /// Whether the end of a flow is bound to the slice around it, and not to the next slice (rule G6).
    pub binds_enclosing: bool,
    pub instant: InstantScope,
}

/// The id of an async event, of a flow or of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LegacyId {
    /// Without a statement about who shares it.
    Unscoped(u64),
    /// Shared by all processes.
    Global(u64),
    /// Inside its process.
    Local(u64),
}

/// Where an instant belongs (rule L7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum InstantScope {
    #[default]
    Thread,
    Process,
    Global,
}

/// The direction of a flow through a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FlowDirection {
    In,
    Out,
    InOut,
}

/// A bit for each part that only some legacy events have.
mod has {
    pub const DUR: u64 = 1 << 0;
    pub const THREAD_DUR: u64 = 1 << 1;
    pub const INSTRUCTIONS: u64 = 1 << 2;
    pub const ID: u64 = 1 << 3;
    pub const SCOPE: u64 = 1 << 4;
    pub const BIND: u64 = 1 << 5;
    pub const BINDS_ENCLOSING: u64 = 1 << 6;
    pub const INSTANT: u64 = 1 << 7;
}

impl LegacyId {
    pub fn number(self) -> u64 {
        match self {
            LegacyId::Unscoped(id) | LegacyId::Global(id) | LegacyId::Local(id) => id,
        }
    }
}

impl<'a> LegacyEvent<'a> {
    fn parts(&self) -> u64 {
        let parts = [
            (has::DUR, self.dur != 0),
            (has::THREAD_DUR, self.thread_dur != 0),
            (has::INSTRUCTIONS, self.instructions != 0),
            (has::ID, self.id.is_some()),
            (has::SCOPE, self.scope.is_some()),
            (has::BIND, self.bind.is_some()),
            (has::BINDS_ENCLOSING, self.binds_enclosing),
            (has::INSTANT, self.instant != InstantScope::Thread),
        ];
        let parts = parts.into_iter().filter(|(_, is_there)| *is_there);
        parts.map(|(part, _)| part).sum()
    }

    pub(super) fn put(&self, put: &mut Put<'_>) {
        let parts = self.parts();
        put.natural(parts);
        for (part, value) in [
            (has::DUR, self.dur),
            (has::THREAD_DUR, self.thread_dur),
            (has::INSTRUCTIONS, self.instructions),
        ] {
            if parts & part != 0 {
                put.integer(value);
            }
        }
        match self.id {
            None => {}
            Some(LegacyId::Unscoped(id)) => _ = put.natural(0).natural(id),
            Some(LegacyId::Global(id)) => _ = put.natural(1).natural(id),
            Some(LegacyId::Local(id)) => _ = put.natural(2).natural(id),
        }
        if let Some(scope) = self.scope {
            put.bytes(scope.as_bytes());
        }
        if let Some((id, direction)) = self.bind {
            put.natural(id).natural(match direction {
                None => 0,
                Some(FlowDirection::In) => 1,
                Some(FlowDirection::Out) => 2,
                Some(FlowDirection::InOut) => 3,
            });
        }
        match self.instant {
            InstantScope::Thread => {}
            InstantScope::Process => _ = put.natural(0),
            InstantScope::Global => _ = put.natural(1),
        }
    }

    pub(super) fn take(take: &mut Take<'a>) -> io::Result<Self> {
        let parts = take.natural()?;
        let has = |part| parts & part != 0;
        let mut event = LegacyEvent::default();
        for (part, value) in [
            (has::DUR, &mut event.dur),
            (has::THREAD_DUR, &mut event.thread_dur),
            (has::INSTRUCTIONS, &mut event.instructions),
        ] {
            if has(part) {
                *value = take.integer()?;
            }
        }
        if has(has::ID) {
            let kind = match take.natural()? {
                0 => LegacyId::Unscoped,
                1 => LegacyId::Global,
                2 => LegacyId::Local,
                _ => return Err(cut()),
            };
            event.id = Some(kind(take.natural()?));
        }
        if has(has::SCOPE) {
            event.scope = Some(std::str::from_utf8(take.bytes()?).map_err(|_| cut())?);
        }
        if has(has::BIND) {
            let id = take.natural()?;
            let direction = match take.natural()? {
                0 => None,
                1 => Some(FlowDirection::In),
                2 => Some(FlowDirection::Out),
                3 => Some(FlowDirection::InOut),
                _ => return Err(cut()),
            };
            event.bind = Some((id, direction));
        }
        event.binds_enclosing = has(has::BINDS_ENCLOSING);
        if has(has::INSTANT) {
            event.instant = match take.natural()? {
                0 => InstantScope::Process,
                1 => InstantScope::Global,
                _ => return Err(cut()),
            };
        }
        Ok(event)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_record_of_a_legacy_event_is_read_back() {
        let full = LegacyEvent {
            dur: i64::MAX,
            thread_dur: -1,
            instructions: 7,
            id: Some(LegacyId::Unscoped(u64::MAX)),
            scope: Some(""),
            bind: Some((3, None)),
            binds_enclosing: true,
            instant: InstantScope::Process,
        };
        let ids = [LegacyId::Global(1), LegacyId::Local(2)].map(|id| LegacyEvent {
            id: Some(id),
            instant: InstantScope::Global,
            ..LegacyEvent::default()
        });
        let directions = [FlowDirection::In, FlowDirection::Out, FlowDirection::InOut];
        let binds = directions.map(|direction| LegacyEvent {
            bind: Some((0, Some(direction))),
            ..LegacyEvent::default()
        });
        for event in [LegacyEvent::default(), full].into_iter().chain(ids).chain(binds) {
            let mut record = Vec::new();
            event.put(&mut Put(&mut record));
            let mut take = Take(&record);
            assert_eq!(LegacyEvent::take(&mut take).unwrap(), event);
            assert!(take.rest().is_empty());
        }
        assert!(LegacyEvent::take(&mut Take(&[])).is_err());
    }
}
