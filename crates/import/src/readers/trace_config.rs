//! The configuration of a recording. This reader takes the fields that explain losses (rule DT1),
//! and the settings that are known to lose data (rule MD9). The rest is read in the order of time
//! (rule MD8).

use timebase_schema::fields::{
    data_source_config as data, ftrace_config as ftrace, trace_config as config,
    trace_config_buffer_config as buffer, trace_config_data_source as source,
};
use timebase_trace::wire::packet::PacketType;

use super::context::ImportContext;
use super::packet::PlacedPacket;
use super::reader::Reader;
use super::records::{attributes, of, ordered};
use super::retiming::Times;
use crate::definitions::Config;
use crate::message::Message;
use crate::output::{About, Counter, Fact, Journal, Rows};

static DISCARDS: Counter = Counter::data_loss(
    "config_write_into_file_discard",
    "configurations that write into a file while buffer idx drops data \
     when it is full",
)
.recorded();
static NO_FLUSH: Counter = Counter::error(
    "config_write_into_file_no_flush",
    "1 if the last configuration writes into a file without flushes, \
     and the recorder does not flush by itself",
)
.recorded();

/// The counters that every machine of a file has, even if nothing was counted.
pub(super) fn counters() -> impl Iterator<Item = &'static Counter> {
    std::iter::once(&NO_FLUSH)
}

/// The first major version whose recorders flush by themselves.
const FLUSHES: u32 = 54;

/// Reads configurations. If a part has several, the last counts.
#[derive(Debug, Default)]
pub(crate) struct TraceConfigs;

impl Reader for TraceConfigs {
    type Payload<'a> = Message<'a>;

    const IS_COUNTED: bool = false;

    const TIMES: Times = Times::OfPacket;

    fn read(
        &mut self,
        config: Message<'_>,
        packet: &PlacedPacket<'_>,
        context: &mut ImportContext,
        _rows: &mut Rows<'_>,
    ) {
        const DISCARD: u64 = 2;
        if packet.is_lost() {
            return;
        }
        let buffers = config.messages(config::BUFFERS);
        let sources = config.messages(config::DATA_SOURCES);
        let mut ftrace = sources
            .flat_map(|source| source.messages(source::CONFIG))
            .flat_map(|config| config.messages(data::FTRACE_CONFIG));
        let buffers: Vec<bool> =
            buffers.map(|buffer| buffer.number(buffer::FILL_POLICY) == Some(DISCARD)).collect();
        let writes_file = config.flag(config::WRITE_INTO_FILE);
        let (file, machine) = of(packet, context);
        if writes_file {
            for (buffer, _) in (0..).zip(&buffers).filter(|(_, discards)| **discards) {
                let journal = &mut context.journal;
                journal.add(&DISCARDS, (file, machine), Some(buffer), 1);
            }
        }
        if let Some(said) = config.bytes(config::TRACE_ATTRIBUTES).map(Message) {
            let about = About::both(file, machine);
            attributes(said, about, &mut context.journal.facts);
        }
        let read = Config {
            discards: buffers,
            wants_symbols: ftrace.any(|ftrace| ftrace.flag(ftrace::SYMBOLIZE_KSYMS)),
            lacks_flushes: writes_file && config.small(config::FLUSH_PERIOD_MS).unwrap_or(0) == 0,
        };
        context.definitions.parts.of(packet.part).config = Some(read);
        ordered(PacketType::TRACE_CONFIG, config, packet, context);
    }

    fn end(&mut self, context: &mut ImportContext, _rows: &mut Rows<'_>) {
        for (part, statements) in context.definitions.parts.iter() {
            let config = statements.config.as_ref();
            if !config.is_some_and(|config| config.lacks_flushes) {
                continue;
            }
            let part = &context.place.clocks.parts[part];
            let (file, machine) = (part.file.id, part.machine.0);
            if !flushes_itself(machine, &context.journal) {
                let journal = &mut context.journal;
                journal.set(&NO_FLUSH, (file, machine), None, 1);
            }
        }
    }
}

/// Whether the recorder of a machine flushes without being told to, when it writes into a file.
fn flushes_itself(machine: u32, journal: &Journal) -> bool {
    let version = journal.facts.get("tracing_service_version", About::machine(machine));
    match version {
        Some(Fact::Text(version)) => major(version).is_some_and(|major| major >= FLUSHES),
        _ => false,
    }
}

/// The major version of a recorder.
fn major(version: &str) -> Option<u32> {
    let version = version.strip_prefix("Perfetto v")?;
    let (major, _) = version.split_once(['.', '-'])?;
    let is_number = major.bytes().all(|byte| byte.is_ascii_digit());
    major.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn md9_a_version_begins_with_its_major_number() {
        for (version, expected) in [
            ("Perfetto v54.1-abc (sha)", Some(54)),
            ("Perfetto v53-rc1", Some(53)),
            ("Perfetto v54", None),
            ("Perfetto v54 .1", None),
            ("Perfetto v+54.1", None),
            ("Perfetto v.1", None),
            ("Perfetto v4294967296.0", None),
            ("perfetto v54.1", None),
            ("", None),
        ] {
            assert_eq!(major(version), expected, "{version:?}");
        }
    }
}
