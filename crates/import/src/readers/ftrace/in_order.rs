//! The events of a bundle in the order of time, in either encoding.

use timebase_descriptor::field::Malformed;

use super::bundle::RawFtraceEvent;
use super::compact_sched::{Columns, Comms, CompactSwitch, CompactWaking};

/// The next event of a bundle.
pub(super) enum Next<'a> {
    Switch(CompactSwitch<'a>),
    Waking(CompactWaking<'a>),
    Full(&'a [u8], Result<RawFtraceEvent<'a>, Malformed>),
}

/// The events of a bundle in the order of time. At one time, switches come first, then wakings,
/// then others, as in trace processor.
pub(super) struct InOrder<'a, 'c, I> {
    columns: &'c Columns,
    comms: &'c Comms<'a>,
    switches: usize,
    switch: Option<CompactSwitch<'a>>,
    wakings: usize,
    waking: Option<CompactWaking<'a>>,
    events: I,
    full: Option<(&'a [u8], Result<RawFtraceEvent<'a>, Malformed>)>,
}

impl<'a, 'c, I: Iterator<Item = &'a [u8]>> InOrder<'a, 'c, I> {
    pub fn new(columns: &'c Columns, comms: &'c Comms<'a>, events: I) -> Self {
        let mut in_order = InOrder {
            columns,
            comms,
            switches: 0,
            switch: columns.switch(0, comms),
            wakings: 0,
            waking: columns.waking(0, comms),
            events,
            full: None,
        };
        in_order.read_full();
        in_order
    }

    fn read_full(&mut self) -> Option<Next<'a>> {
        let next = self.events.next().map(|bytes| (bytes, RawFtraceEvent::parse(bytes)));
        let (bytes, event) = std::mem::replace(&mut self.full, next)?;
        Some(Next::Full(bytes, event))
    }

    fn read_switch(&mut self) -> Option<Next<'a>> {
        self.switches += 1;
        let next = self.columns.switch(self.switches, self.comms);
        std::mem::replace(&mut self.switch, next).map(Next::Switch)
    }

    fn read_waking(&mut self) -> Option<Next<'a>> {
        self.wakings += 1;
        let next = self.columns.waking(self.wakings, self.comms);
        std::mem::replace(&mut self.waking, next).map(Next::Waking)
    }
}

impl<'a, I: Iterator<Item = &'a [u8]>> Iterator for InOrder<'a, '_, I> {
    type Item = Next<'a>;

    fn next(&mut self) -> Option<Next<'a>> {
        const NEVER: u128 = u128::MAX;
        let switch = self.switch.map_or(NEVER, |switch| switch.timestamp.into());
        let waking = self.waking.map_or(NEVER, |waking| waking.timestamp.into());
        let full = match &self.full {
            // An event without a time keeps its position.
            Some((_, event)) => event.map_or(0, |event| event.timestamp.unwrap_or(0).into()),
            None => NEVER,
        };
        if full < switch && full < waking {
            self.read_full()
        } else if waking < switch {
            self.read_waking()
        } else if switch != NEVER {
            self.read_switch()
        } else {
            None
        }
    }
}
