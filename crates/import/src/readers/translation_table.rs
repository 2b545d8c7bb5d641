//! `translation_table`: other names for slices, tracks of processes and hashes (rules TN).

use super::context::ImportContext;
use super::packet::PlacedPacket;
use super::reader::Reader;
use super::retiming::Times;
use crate::message::Message;
use crate::output::{Counter, Rows};

const LEFT_OUT: Counter = Counter::data_loss(
    "translations_left_out",
    "entries of translation tables beyond 64 MiB, which change no names",
)
.drops_nothing();

/// Reads translation tables.
#[derive(Debug, Default)]
pub(crate) struct TranslationTables;

impl Reader for TranslationTables {
    type Payload<'a> = Message<'a>;

    const TIMES: Times = Times::OfPacket;

    fn read(
        &mut self,
        message: Message<'_>,
        packet: &PlacedPacket<'_>,
        context: &mut ImportContext,
        _rows: &mut Rows<'_>,
    ) {
        if packet.is_lost() {
            return;
        }
        let definitions = &mut context.definitions;
        let (names, room) = (&mut definitions.names, &mut definitions.translation_room);
        let of_part = definitions.parts.of(packet.part);
        let left_out = of_part.translations.read(message, names, room);
        if left_out > 0 {
            context.journal.count(LEFT_OUT, left_out);
        }
    }
}
