//! What a reader is.

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
use crate::place::{SettledEvent, Snapshot};

/// Reads the payloads of one type of packets, in file order.
///
/// For each of its packets these are called once, in this order:
///
/// 1. [`Reader::parse`], which is pure: it looks at nothing but the bytes, and may
///    fail. Then none of the others is called, and the packet is a row with its own
///    header.
/// 2. [`Reader::snapshot`]: what the payload says of clocks. It is in force for
///    what comes next.
/// 3. The frame places the packet.
/// 4. [`Reader::read`], which has effects, rows above all, and cannot fail: what
///    is odd in the payload is counted, said in the log, or a row of its own. It is
///    left out if the user wants no events and the reader makes nothing else.
///
/// When the trace is read to its end, [`Reader::settled`] is called for each of its
/// events that could not be placed when it was read, in file order, and then
/// [`Reader::end`], once.
pub(crate) trait Reader {
    /// What is parsed. It may borrow from the bytes.
    type Payload<'a>: Payload<'a>;

    /// The tables that it fills.
    const TABLES: &'static [&'static Table] = &[];

    /// The fields of `InternedData` that it, or the tracker of its events, looks up.
    const INTERNED: &'static [(u32, Kept)] = &[];

    /// Whether its payloads have times of their own (rule RW5).
    const TIMES: Times;

    /// Reads the payload.
    ///
    /// # Errors
    ///
    /// [`Corrupt`] if it is damaged.
    fn parse(payload: &[u8]) -> Result<Self::Payload<'_>, Corrupt> {
        Self::Payload::parse(payload)
    }

    /// What it says that clocks read at one instant.
    fn snapshot(_payload: &Self::Payload<'_>, _header: &Header<'_>) -> Option<Snapshot> {
        None
    }

    /// Whether [`Reader::read`] attempts to convert a time. Where it is left out, the
    /// attempt counts as if it was made (rule T1), so that trace time does not depend
    /// on what the user wants to see.
    fn converts(_payload: &Self::Payload<'_>, _header: &Header<'_>) -> bool {
        false
    }

    /// Makes of it what is to be made.
    fn read(
        &mut self,
        _payload: Self::Payload<'_>,
        _packet: &PlacedPacket<'_>,
        _context: &mut ImportContext,
        _rows: &mut Rows<'_>,
    ) {
    }

    /// Rewrites the times inside of a payload, in the order in which [`Reader::read`] converts them: all
    /// of them, whatever becomes of one. The bytes of the new payload go to `out`.
    fn retime(
        _payload: Self::Payload<'_>,
        _packet: &Retimed<'_>,
        _to: &mut impl Retime,
        _out: &mut Vec<u8>,
    ) -> Rewritten {
        Rewritten::Same
    }

    /// An event of one of its tables has its time, or its last reason. Its columns
    /// `ts`, and `unresolved` or `timestamp`, are changed without the reader.
    fn settled(&mut self, _event: &SettledEvent<'_>, _rows: &mut Rows<'_>) {}

    /// There are no more packets, and nothing waits any more.
    fn end(&mut self, _context: &mut ImportContext, _rows: &mut Rows<'_>) {}
}

/// What a payload is parsed to.
pub(crate) trait Payload<'a>: Sized {
    /// Parses it.
    ///
    /// # Errors
    ///
    /// [`Corrupt`] if it is damaged.
    fn parse(bytes: &'a [u8]) -> Result<Self, Corrupt>;
}

impl<'a> Payload<'a> for Message<'a> {
    /// A message that can be read to its end. What it means is decided later.
    fn parse(bytes: &'a [u8]) -> Result<Self, Corrupt> {
        let mut fields = Fields::new(bytes);
        while fields.next()?.is_some() {}
        Ok(Message(bytes))
    }
}
