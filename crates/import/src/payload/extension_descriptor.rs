//! `extension_descriptor`: a part of the schema that the trace brings along, for
//! `packet_json`, `packet_field` and the arguments of events.

use std::io::Read;

use flate2::read::MultiGzDecoder;
use prost::Message;
use timebase_wire::proto::ExtensionDescriptor;

use super::{Halt, Importer, Packet};
use crate::decoder::Decoder;
use crate::descriptor;
use crate::rows::{Placement, Severity};

pub(super) static IMPORTER: Importer = Importer {
    import,
    finish: None,
    tables: &[&descriptor::TABLE],
};

/// No schema is as large; a gzip stream that is was made to fill the memory.
const LARGEST: u64 = 64 << 20;

fn import(decoder: &mut Decoder, packet: &Packet<'_>) -> Result<Placement, Halt> {
    let message = ExtensionDescriptor::decode(packet.payload)?;
    let mut sets = Vec::new();
    sets.extend(message.extension_set.map(Ok));
    sets.extend(message.extension_set_gzip.map(|gzip| inflate(&gzip)));
    for set in sets {
        let used = set.and_then(|set| {
            let extended = decoder.pool().extend(&set);
            extended
                .map(|()| set)
                .map_err(|error| format!("the descriptor cannot be used: {error}"))
        });
        match used {
            Ok(set) => {
                decoder.schema_changes += 1;
                decoder.descriptor("trace", Some(packet.id), &set);
            }
            Err(message) => {
                decoder.log(Severity::Warning, "descriptor_unusable", packet, message);
            }
        }
    }
    let sequence = decoder.sequences.get(packet.sequence);
    Ok(decoder.clocks.place(packet.header, sequence))
}

fn inflate(gzip: &[u8]) -> Result<Vec<u8>, String> {
    let mut set = Vec::new();
    let read = MultiGzDecoder::new(gzip)
        .take(LARGEST + 1)
        .read_to_end(&mut set);
    match read {
        Ok(_) if set.len() as u64 > LARGEST => {
            Err(format!("the descriptor is larger than {LARGEST} bytes"))
        }
        Ok(_) => Ok(set),
        Err(error) => Err(format!("the descriptor is damaged: {error}")),
    }
}
