//! Packets in which a recording describes itself: facts (rules MD7, MD10 to MD13), and packets that
//! must be read in the order of time (rule MD1).

use std::collections::BTreeMap;

use timebase_schema::fields::{
    background_tracing_metadata as background, chrome_benchmark_metadata as benchmark,
    chrome_metadata_packet as chrome, chrome_metadata_packet_finch_hash as hash,
    trace_attributes as list, trace_attributes_attribute as attribute, trace_uuid as uuid,
    track_event_range_of_interest as range,
};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use timebase_trace::wire::packet::PacketType;

use super::context::ImportContext;
use super::observed::packet_event;
use super::packet::PlacedPacket;
use super::reader::{Reader, message_readers};
use super::retiming::Times;
use crate::definitions::uuid;
use crate::message::Message;
use crate::output::{About, Counter, Facts, Rows};
use crate::place::PartIx;
use crate::timeline::Event;

static MISSING_START: Counter = Counter::error(
    "track_event_range_of_interest_missing_start_us",
    "ranges of interest without a start",
)
.drops_nothing();

/// The counters that every machine of a file has, even if nothing was counted.
pub(super) fn counters() -> impl Iterator<Item = &'static Counter> {
    std::iter::once(&MISSING_START)
}

/// Reads packets of a type in the order of time.
#[derive(Debug, Default)]
pub(crate) struct Ordered<const TYPE: u32>;

impl<const TYPE: u32> Reader for Ordered<TYPE> {
    type Payload<'a> = Message<'a>;

    const TIMES: Times = Times::OfPacket;

    fn read(
        &mut self,
        message: Message<'_>,
        packet: &PlacedPacket<'_>,
        context: &mut ImportContext,
        _rows: &mut Rows<'_>,
    ) {
        ordered(PacketType(TYPE), message, packet, context);
    }
}

/// Reads `chrome_metadata`.
#[derive(Debug, Default)]
pub(crate) struct ChromeMetadata {
    /// The number of packets of each part.
    counts: BTreeMap<PartIx, u32>,
}

impl Reader for ChromeMetadata {
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
        let (file, machine) = of(packet, context);
        let count = self.counts.entry(packet.part).or_default();
        chrome_metadata(message, *count, About::both(file, machine), &mut context.journal.facts);
        *count = count.wrapping_add(1);
    }
}

message_readers! {
    /// Reads `trigger`.
    Triggers => trigger, {
        const IS_COUNTED: bool = false;
    };
    /// Reads `trace_attributes`.
    TraceAttributes => trace_attributes;
    /// Reads `chrome_benchmark_metadata`.
    BenchmarkMetadata => benchmark_metadata;
    /// Reads `ui_state`.
    UiStates => ui_state;
    /// Reads `trace_uuid`.
    TraceUuids => trace_uuid;
    /// Reads `track_event_range_of_interest`.
    RangesOfInterest => range_of_interest;
}

fn trigger(message: Message<'_>, packet: &PlacedPacket<'_>, context: &mut ImportContext) {
    ordered(PacketType::TRIGGER, message, packet, context);
}

fn trace_attributes(message: Message<'_>, packet: &PlacedPacket<'_>, context: &mut ImportContext) {
    let (file, machine) = of(packet, context);
    attributes(message, About::both(file, machine), &mut context.journal.facts);
}

fn benchmark_metadata(
    message: Message<'_>,
    packet: &PlacedPacket<'_>,
    context: &mut ImportContext,
) {
    if let Some((about, facts)) = facts_of_trace(packet, context) {
        benchmark(message, about, facts);
    }
}

fn ui_state(message: Message<'_>, packet: &PlacedPacket<'_>, context: &mut ImportContext) {
    if let Some((about, facts)) = facts_of_trace(packet, context) {
        facts.set("ui_state", about, STANDARD.encode(message.0));
    }
}

fn trace_uuid(message: Message<'_>, packet: &PlacedPacket<'_>, context: &mut ImportContext) {
    let [high, low] = [uuid::MSB, uuid::LSB].map(|field| message.number(field).unwrap_or(0));
    if let (Some(uuid), Some((about, facts))) = (uuid(high, low), facts_of_trace(packet, context)) {
        facts.set("trace_uuid", about, uuid);
    }
}

fn range_of_interest(message: Message<'_>, packet: &PlacedPacket<'_>, context: &mut ImportContext) {
    let of = of(packet, context);
    match (message.number(range::START_US), facts_of_trace(packet, context)) {
        (Some(start), Some((about, facts))) => {
            facts.set("range_of_interest_start_us", about, start.cast_signed());
        }
        (None, Some(_)) => context.journal.add(&MISSING_START, of, None, 1),
        (_, None) => {}
    }
}

/// The facts about a packet's file; `None` if the packet relies on lost state.
fn facts_of_trace<'a>(
    packet: &PlacedPacket<'_>,
    context: &'a mut ImportContext,
) -> Option<(About, &'a mut Facts)> {
    let (file, _) = of(packet, context);
    let facts = &mut context.journal.facts;
    (!packet.is_lost()).then_some((About::trace(file), facts))
}

/// The file and the machine of a packet.
pub(super) fn of(packet: &PlacedPacket<'_>, context: &ImportContext) -> (u32, u32) {
    let part = &context.place.clocks.parts[packet.part];
    (part.file.id, packet.machine)
}

/// Gives a packet, or a part of it, to the timeline. If events are not followed, the packet is read
/// at its place in the file.
pub(super) fn ordered(
    packet_type: PacketType,
    message: Message<'_>,
    packet: &PlacedPacket<'_>,
    context: &mut ImportContext,
) {
    if packet.is_lost() {
        return;
    }
    let record = packet_event(packet_type, message, packet, context);
    if !context.events.timeline.is_wanted() {
        let ts = packet.placement.ts.unwrap_or(packet.latest).0;
        return context.definitions.records.packet(ts, &record);
    }
    match packet_type {
        // The packet itself is no event, but its lines are.
        PacketType::ANDROID_LOG => context.beside(packet, &Event::Recorded(record)),
        _ => context.packet(packet, &Event::Recorded(record)),
    }
}

/// `TraceAttributes` (rule MD11).
pub(super) fn attributes(message: Message<'_>, about: About, facts: &mut Facts) {
    for attribute in message.messages(list::ATTRIBUTE) {
        let key = attribute.text(attribute::KEY).unwrap_or_default();
        let name = format!("trace_attribute.{key}");
        if let Some(number) = attribute.number(attribute::LONG_VALUE) {
            facts.set(name, about, number.cast_signed());
        } else if let Some(text) = attribute.text(attribute::STRING_VALUE) {
            facts.set(name, about, text.into_owned());
        }
    }
}

/// `ChromeMetadataPacket` (rule MD12). `number` is the packet's number.
fn chrome_metadata(message: Message<'_>, number: u32, about: About, facts: &mut Facts) {
    const LETTERS: &[u8; 26] = b"abcdefghijklmnopqrstuvwxyz";
    let letter = LETTERS.get(number as usize % LETTERS.len()).copied();
    let letter = char::from(letter.unwrap_or(b'a'));
    if let Some(version) = message.small(chrome::CHROME_VERSION_CODE) {
        let name = format!("cr-{letter}-playstore_version_code");
        facts.add(name, about, false, i64::from(version.cast_signed()));
    }
    if let Some(channel) = message.small(chrome::CHANNEL) {
        let name = format!("cr-{letter}-channel");
        facts.add(name, about, false, i64::from(channel));
    }
    let mut text = |field, name: &str| {
        if let Some(value) = message.text(field) {
            let value = value.into_owned();
            facts.add(format!("cr-{letter}-{name}"), about, false, value);
        }
    };
    text(chrome::APP_VERSION, "product-version");
    text(chrome::OS_NAME, "os-name");
    text(chrome::APP_PACKAGE_NAME, "package-name");
    text(chrome::ENABLED_CATEGORIES, "enabled_categories");
    if let Some(trials) = field_trials(message) {
        let name = format!("cr-{letter}-field_trial_hashes");
        facts.add(name, about, false, trials);
    }
    if let Some(background) = message.bytes(chrome::BACKGROUND_TRACING_METADATA) {
        let name = "cr-background_tracing_metadata";
        facts.add(name, about, false, STANDARD.encode(background));
        if let Some(hash) = Message(background).natural(background::SCENARIO_NAME_HASH) {
            facts.add("cr-scenario_name_hash", about, false, i64::from(hash as u32));
        }
    }
}

/// Chrome's field trials, two in a line.
fn field_trials(message: Message<'_>) -> Option<String> {
    let mut trials = String::new();
    for (number, trial) in message.messages(chrome::FIELD_TRIAL_HASHES).enumerate() {
        if number > 0 && number % 2 == 0 {
            trials.push('\n');
        }
        let part = |field| trial.small(field).unwrap_or(0);
        let text = format!("{{ name: {}, group: {} }} ", part(hash::NAME), part(hash::GROUP));
        trials.push_str(&text);
    }
    (!trials.is_empty()).then_some(trials)
}

/// `ChromeBenchmarkMetadata` (rule MD13).
fn benchmark(message: Message<'_>, about: About, facts: &mut Facts) {
    for (field, name) in [
        (benchmark::BENCHMARK_START_TIME_US, "benchmark_start_time_us"),
        (benchmark::STORY_RUN_TIME_US, "benchmark_story_run_time_us"),
    ] {
        if let Some(value) = message.number(field) {
            facts.set(name, about, value.cast_signed());
        }
    }
    for (field, name) in [
        (benchmark::BENCHMARK_NAME, "benchmark_name"),
        (benchmark::BENCHMARK_DESCRIPTION, "benchmark_description"),
        (benchmark::LABEL, "benchmark_label"),
        (benchmark::STORY_NAME, "benchmark_story_name"),
    ] {
        if let Some(text) = message.text(field) {
            facts.set(name, about, text.into_owned());
        }
    }
    if let Some(index) = message.number(benchmark::STORY_RUN_INDEX) {
        // An int32.
        facts.set("benchmark_story_run_index", about, i64::from(index as i32));
    }
    if let Some(failed) = message.number(benchmark::HAD_FAILURES) {
        facts.set("benchmark_had_failures", about, i64::from(failed != 0));
    }
    for tag in message.each(benchmark::STORY_TAGS) {
        let tag = crate::message::text(tag).into_owned();
        facts.add("benchmark_story_tags", about, true, tag);
    }
}
