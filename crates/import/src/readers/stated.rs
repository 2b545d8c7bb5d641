//! Payloads whose statements hold for the whole trace and are rows of small tables (rules RT1 to RT4).

use timebase_trace::wire::packet::PacketType;

use super::context::ImportContext;
use super::packet::PlacedPacket;
use super::reader::Reader;
use super::records::of;
use super::retiming::Times;
use crate::definitions::{Definitions, Says, StatedBy, statement};
use crate::message::Message;
use crate::output::{Journal, Rows};
use crate::{definitions, output};

/// Makes rows of the payloads of a type, in file order.
#[derive(Debug, Default)]
pub(crate) struct Stated<const TYPE: u32>(definitions::Stated);

impl<const TYPE: u32> Reader for Stated<TYPE> {
    type Payload<'a> = Message<'a>;

    const TIMES: Times = Times::OfPacket;

    fn read(
        &mut self,
        message: Message<'_>,
        packet: &PlacedPacket<'_>,
        context: &mut ImportContext,
        rows: &mut Rows<'_>,
    ) {
        let Some(line) = statement(TYPE).filter(|_| !packet.is_lost()) else {
            return;
        };
        let by = StatedBy { machine: packet.machine, ts: 0 };
        self.0.read(line, message, by, rows);
        if TYPE == PacketType::PACKAGES_LIST.0 {
            let Definitions { packages, names, .. } = &mut context.definitions;
            packages.add(by.machine, message, |name| names.number(name));
        }
        for &(field, says, counter) in line.says {
            let number = message.number(field).unwrap_or(0);
            count(says, counter, number, of(packet, context), &mut context.journal);
        }
    }

    fn end(&mut self, _context: &mut ImportContext, rows: &mut Rows<'_>) {
        if let Some(line) = statement(TYPE) {
            self.0.end(line, rows);
        }
    }
}

/// Counts the recorder's own statement about an error.
fn count(
    says: Says,
    counter: &'static output::Counter,
    number: u64,
    of: (u32, u32),
    journal: &mut Journal,
) {
    match says {
        Says::IsSet => journal.set(counter, of, None, i64::from(number != 0)),
        Says::IsNegative if number.cast_signed() < 0 => journal.add(counter, of, None, 1),
        Says::IsNegative => {}
    }
}
