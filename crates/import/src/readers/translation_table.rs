//! `translation_table`: other names for slices, tracks of processes and hashes (rules TN).

use super::context::ImportContext;
use super::packet::PlacedPacket;
use super::reader::message_readers;
use crate::message::Message;
use crate::output::Counter;

const LEFT_OUT: Counter = Counter::data_loss(
    "translations_left_out",
    "entries of translation tables beyond 64 MiB, which change no names",
)
.drops_nothing();

message_readers! {
    /// Reads translation tables.
    TranslationTables => translation_table;
}

fn translation_table(message: Message<'_>, packet: &PlacedPacket<'_>, context: &mut ImportContext) {
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
