//! `extension_descriptor`: a part of the schema that the trace contains, for `packet_json`,
//! `packet_field` and the arguments of events.

use std::io::Read;

use flate2::read::MultiGzDecoder;
use prost::Message;
use timebase_schema::{Table, tables};
use timebase_trace::wire::proto::ExtensionDescriptor;

use super::context::ImportContext;
use super::corrupt::Corrupt;
use super::packet::PlacedPacket;
use super::reader::{Payload, Reader};
use super::retiming::Times;
use crate::output::{Rows, Severity};

/// The largest schema that is read, in bytes. No real schema is as large: Perfetto's own has a
/// tenth of it. A schema that is made to do so takes a hundred times its size in memory.
const LARGEST: u64 = 4 << 20;

/// The most descriptors of a trace that are used; recordings have one or two. Each costs as much as
/// the schema that it extends.
const MOST: u32 = 1000;

/// Reads additions to the schema.
#[derive(Debug, Default)]
pub(crate) struct Extensions {
    /// The number of descriptors so far.
    read: u32,
}

impl Payload<'_> for ExtensionDescriptor {
    fn parse(payload: &[u8]) -> Result<Self, Corrupt> {
        Ok(ExtensionDescriptor::decode(payload)?)
    }
}

impl Reader for Extensions {
    type Payload<'a> = ExtensionDescriptor;

    const TABLES: &'static [&'static Table] = &[&tables::descriptor::TABLE];

    const TIMES: Times = Times::OfPacket;

    fn read(
        &mut self,
        message: ExtensionDescriptor,
        packet: &PlacedPacket<'_>,
        context: &mut ImportContext,
        rows: &mut Rows<'_>,
    ) {
        let mut sets = Vec::new();
        sets.extend(message.extension_set.map(Ok));
        sets.extend(message.extension_set_gzip.map(|gzip| inflate(&gzip)));
        for set in sets {
            self.read = self.read.saturating_add(1);
            let room = match self.read {
                0..=MOST => Ok(()),
                _ => Err(format!("the trace has more than {MOST} of them")),
            };
            let used = room.and(set).and_then(fitting).and_then(|set| {
                let extended = context.schema.extend(rows, packet.id, &set);
                extended.map_err(|error| format!("the descriptor cannot be used: {error}"))
            });
            if let Err(text) = used {
                packet.say(Severity::Warning, "descriptor_unusable", text, rows);
            }
        }
    }
}

fn fitting(set: Vec<u8>) -> Result<Vec<u8>, String> {
    match set.len() as u64 {
        0..=LARGEST => Ok(set),
        _ => Err(format!("the descriptor is larger than {LARGEST} bytes")),
    }
}

fn inflate(gzip: &[u8]) -> Result<Vec<u8>, String> {
    let mut set = Vec::new();
    let read = MultiGzDecoder::new(gzip).take(LARGEST + 1).read_to_end(&mut set);
    match read {
        Ok(_) => Ok(set),
        Err(error) => Err(format!("the descriptor is damaged: {error}")),
    }
}
