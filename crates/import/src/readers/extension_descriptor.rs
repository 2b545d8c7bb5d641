//! `extension_descriptor`: a part of the schema that the trace brings along, for
//! `packet_json`, `packet_field` and the arguments of events.

use std::io::Read;

use flate2::read::MultiGzDecoder;
use prost::Message;
use timebase_schema::{Table, tables};
use timebase_wire::proto::ExtensionDescriptor;

use super::reader::{Corrupt, Desk, Packet, Reader};
use crate::output::Severity;

/// No schema is as large; a gzip stream that is was made to fill the memory.
const LARGEST: u64 = 64 << 20;

/// Reads what the trace adds to the schema.
#[derive(Debug, Default)]
pub(crate) struct Extensions;

impl Reader for Extensions {
    type Payload<'a> = ExtensionDescriptor;

    const TABLES: &'static [&'static Table] = &[&tables::descriptor::TABLE];

    fn parse(payload: &[u8]) -> Result<ExtensionDescriptor, Corrupt> {
        Ok(ExtensionDescriptor::decode(payload)?)
    }

    fn read(&mut self, message: ExtensionDescriptor, packet: &Packet<'_>, desk: &mut Desk<'_, '_>) {
        let mut sets = Vec::new();
        sets.extend(message.extension_set.map(Ok));
        sets.extend(message.extension_set_gzip.map(|gzip| inflate(&gzip)));
        for set in sets {
            let used = set.and_then(|set| {
                let extended = desk.schema.extend(desk.rows, packet.id, &set);
                extended.map_err(|error| format!("the descriptor cannot be used: {error}"))
            });
            if let Err(text) = used {
                desk.say(Severity::Warning, "descriptor_unusable", packet, text);
            }
        }
    }
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
