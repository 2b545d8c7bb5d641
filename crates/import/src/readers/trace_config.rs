//! What a recording was asked to do: as much of a `TraceConfig` as says what its losses mean.

use super::context::ImportContext;
use super::corrupt::Corrupt;
use super::observed::well_formed;
use super::packet::PlacedPacket;
use super::reader::Reader;
use super::retiming::Times;
use crate::definitions::Config;
use crate::message::Message;
use crate::output::Rows;

/// Reads configurations; of several of a part the last counts.
#[derive(Debug, Default)]
pub(crate) struct TraceConfigs;

impl Reader for TraceConfigs {
    type Payload<'a> = Message<'a>;

    const TIMES: Times = Times::OfPacket;

    fn parse(payload: &[u8]) -> Result<Message<'_>, Corrupt> {
        well_formed(payload)?;
        Ok(Message(payload))
    }

    fn read(
        &mut self,
        config: Message<'_>,
        packet: &PlacedPacket<'_>,
        context: &mut ImportContext,
        _rows: &mut Rows<'_>,
    ) {
        const BUFFERS: u32 = 1;
        const FILL_POLICY: u32 = 4;
        const DISCARD: u64 = 2;
        /// The field of a `DataSource`, and of its configuration.
        const DATA_SOURCES: u32 = 2;
        const CONFIG: u32 = 1;
        const FTRACE_CONFIG: u32 = 100;
        const SYMBOLIZE_KSYMS: u32 = 13;

        if packet.is_lost() {
            return;
        }
        let buffers = config.messages(BUFFERS);
        let sources = config.messages(DATA_SOURCES);
        let mut ftrace = sources
            .flat_map(|source| source.messages(CONFIG))
            .flat_map(|config| config.messages(FTRACE_CONFIG));
        let config = Config {
            discards: buffers
                .map(|buffer| buffer.number(FILL_POLICY) == Some(DISCARD))
                .collect(),
            wants_symbols: ftrace.any(|ftrace| ftrace.flag(SYMBOLIZE_KSYMS)),
        };
        context.definitions.configs.insert(packet.part, config);
    }
}
