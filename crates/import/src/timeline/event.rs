//! Events in their compact form.

use std::io;

use crate::compact::{Put, Take};

/// What kind of event it is: a field of `TracePacket` or of `FtraceEvent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct EventKind(u32);

impl EventKind {
    /// An event of the kernel, by its field of `FtraceEvent`.
    pub const fn ftrace(field: u32) -> EventKind {
        EventKind(field << 1 | 1)
    }
}

/// An event in its compact form.
pub(crate) trait Event<'a>: Sized {
    const KIND: EventKind;
    fn put(&self, put: &mut Put<'_>);
    /// # Errors
    ///
    /// If the bytes are none that `put` wrote.
    fn take(take: Take<'a>) -> io::Result<Self>;
}

/// The compact form of an event, with its kind.
pub(crate) fn write<'a, E: Event<'a>>(event: &E, record: &mut Vec<u8>) {
    record.clear();
    let mut put = Put(record);
    put.natural(E::KIND.0.into());
    event.put(&mut put);
}

/// Reads the kind of an event that [`write`] wrote; the rest is for [`Event::take`].
pub(super) fn read<'a>(record: &'a [u8]) -> io::Result<(EventKind, Take<'a>)> {
    let mut take = Take(record);
    Ok((EventKind(take.small()?), take))
}
