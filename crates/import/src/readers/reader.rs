//! The interface of readers.

use timebase_descriptor::field::Fields;
use timebase_schema::Table;
use timebase_trace::Kept;
use timebase_trace::wire::packet::Header;

use super::context::ImportContext;
use super::corrupt::Corrupt;
use super::packet::PlacedPacket;
use super::retiming::{Retime, Retimed, Rewritten, Times};
use crate::message::Message;
use crate::output::Rows;
use crate::place::{CountsFor, SettledEvent, Snapshot};

/// Reads the payloads of one type of packets, in file order.
///
/// For each of its packets, these methods are called once, in this order:
///
/// 1. [`Reader::parse`], which is pure: it depends only on the bytes, and may fail. Then no other
///    method is called, and the packet is a row with its own header.
/// 2. [`Reader::snapshot`]: the clock readings in the payload. They are in force for the following
///    steps.
/// 3. The frame places the packet.
/// 4. [`Reader::read`], which has effects, mainly rows, and cannot fail: an oddity in the payload
///    is counted, logged, or becomes a row of its own. This step is left out if the user wants no
///    events and the reader makes nothing else.
///
/// At the end of the trace, [`Reader::settled`] is called for each event of the reader that could
/// not be placed when it was read, in file order. Then [`Reader::end`] is called once.
pub(crate) trait Reader {
    /// The parsed payload. It may borrow from the bytes.
    type Payload<'a>: Payload<'a>;

    /// [`Reader::read`] is called only if one of these tables, or any event of the timeline, is wanted; without tables, always.
    const TABLES: &'static [&'static Table] = &[];

    /// The large tables that nobody but this reader fills: they are complete after the last packet.
    const OWN_TABLES: &'static [&'static Table] = &[];

    /// The packets without a time for which the time of such a packet counts as seen (rule O2).
    const COUNTS_FOR: CountsFor = CountsFor::All;

    /// Whether somebody might miss a table of such packets. Nobody does if they are about the recording
    /// itself, so they do not count as read either.
    const IS_COUNTED: bool = true;

    /// The fields of `InternedData` that the reader, or the tracker of its events, looks up.
    const INTERNED: &'static [(u32, Kept)] = &[];

    /// Whether the payloads have times of their own (rule RW5).
    const TIMES: Times;

    /// Reads the payload.
    ///
    /// # Errors
    ///
    /// [`Corrupt`] if it is damaged.
    fn parse(payload: &[u8]) -> Result<Self::Payload<'_>, Corrupt> {
        Self::Payload::parse(payload)
    }

    /// The clock readings of one instant in the payload.
    fn snapshot(_payload: &Self::Payload<'_>, _header: &Header<'_>) -> Option<Snapshot> {
        None
    }

    /// Whether [`Reader::read`] attempts to convert a time. If `read` is left out, the attempt
    /// counts as if it was made (rule T1), so that trace time does not depend on the rows that the
    /// user wants.
    fn converts(_payload: &Self::Payload<'_>, _header: &Header<'_>) -> bool {
        false
    }

    /// Makes rows and events from the payload.
    fn read(
        &mut self,
        _payload: Self::Payload<'_>,
        _packet: &PlacedPacket<'_>,
        _context: &mut ImportContext,
        _rows: &mut Rows<'_>,
    ) {
    }

    /// Rewrites all times inside a payload, in the order in which [`Reader::read`] converts them,
    /// even if one of them fails. The bytes of the new payload go to `out`.
    fn retime(
        _payload: Self::Payload<'_>,
        _packet: &Retimed<'_>,
        _to: &mut impl Retime,
        _out: &mut Vec<u8>,
    ) -> Rewritten {
        Rewritten::Same
    }

    /// An event in one of the reader's tables has got its time, or its final reason for having
    /// none. Its columns `ts`, and `unresolved` or `timestamp`, are changed without the reader.
    fn settled(&mut self, _event: &SettledEvent<'_>, _rows: &mut Rows<'_>) {}

    /// The trace has no more packets, and no packet waits any more.
    fn end(&mut self, _context: &mut ImportContext, _rows: &mut Rows<'_>) {}
}

/// A parsed payload.
pub(crate) trait Payload<'a>: Sized {
    /// Parses it.
    ///
    /// # Errors
    ///
    /// [`Corrupt`] if it is damaged.
    fn parse(bytes: &'a [u8]) -> Result<Self, Corrupt>;
}

impl<'a> Payload<'a> for Message<'a> {
    /// Checks that the message can be read to its end. Its meaning is decided later.
    fn parse(bytes: &'a [u8]) -> Result<Self, Corrupt> {
        let mut fields = Fields::new(bytes);
        while fields.next()?.is_some() {}
        Ok(Message(bytes))
    }
}

/// Declares readers without state whose payload is a [`Message`] without times: the function that reads it, and constants.
macro_rules! message_readers {
    ($($(#[$comment:meta])* $reader:ident => $read:expr $(, { $($constants:tt)* })?;)*) => {$(
        $(#[$comment])*
        #[derive(Debug, Default)]
        pub(crate) struct $reader;

        impl $crate::readers::reader::Reader for $reader {
            type Payload<'a> = $crate::message::Message<'a>;

            const TIMES: $crate::readers::retiming::Times = $crate::readers::retiming::Times::OfPacket;

            $($($constants)*)?

            fn read(
                &mut self,
                message: $crate::message::Message<'_>,
                packet: &$crate::readers::PlacedPacket<'_>,
                context: &mut $crate::readers::ImportContext,
                _rows: &mut $crate::output::Rows<'_>,
            ) {
                $read(message, packet, context);
            }
        }
    )*};
}

pub(super) use message_readers;
