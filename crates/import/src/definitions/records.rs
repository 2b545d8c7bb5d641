//! Statements of a recording about itself, in the order of time (rules MD1, MD6, MD8, MD10, MD12,
//! MD16): its configuration, Chrome's metadata, the losses of the log, and the first trigger.

use std::collections::BTreeMap;

use timebase_schema::fields::{
    android_log_packet_stats as stats, chrome_event_bundle as bundle, chrome_metadata as chrome,
    chrome_trigger, trace_config as config, trace_config_statsd_metadata as statsd,
    trace_packet as packet, trigger,
};

use crate::message::{Message, text};
use crate::output::{About, Counter, Counts, Fact, Facts};
use crate::timeline::PacketEvent;

static EMPTY: Counter =
    Counter::error("empty_chrome_metadata", "metadata of Chrome without a value").recorded();
static CLONE_TRIGGER: Counter = Counter::info(
    "traced_clone_trigger_timestamp_ns",
    "the time of the first trigger that cloned the recording; 0 if \
     there was none",
)
.recorded();

/// The fields of `AndroidLogPacket.Stats`, and their counters.
static LOG: [(u32, Counter); 3] = [
    (
        stats::NUM_TOTAL,
        Counter::info("android_log_num_total", "lines of the Android log that the recorder saw")
            .recorded(),
    ),
    (
        stats::NUM_FAILED,
        Counter::error(
            "android_log_num_failed",
            "lines of the Android log that the recorder could not read",
        )
        .recorded(),
    ),
    (
        stats::NUM_SKIPPED,
        Counter::info(
            "android_log_num_skipped",
            "lines of the Android log that the configuration filters out",
        )
        .recorded(),
    ),
];

/// The counters that every machine of a file has, even if they count nothing.
pub(crate) fn counters() -> impl Iterator<Item = &'static Counter> {
    let log = LOG.iter().map(|(_, counter)| counter);
    [&EMPTY, &CLONE_TRIGGER].into_iter().chain(log)
}

/// The facts and counters until now.
#[derive(Debug, Default)]
pub(crate) struct Records {
    pub facts: Facts,
    pub counts: Counts,
    files: BTreeMap<u32, OfFile>,
}

/// The statements of a file of which only one counts.
#[derive(Debug, Default)]
pub(crate) struct OfFile {
    /// The last configuration.
    pub config: Option<Box<[u8]>>,
    /// The name of the trace, from the first configuration that has one.
    pub uuid: Option<String>,
    /// Whether the trigger that counts cloned a snapshot.
    triggered: Option<bool>,
    /// The number of Chrome's packets with metadata, by machine.
    bundles: BTreeMap<u32, u32>,
}

impl Records {
    /// Reads a packet, or the part of it that is read here, at a time.
    pub fn packet(&mut self, ts: i64, record: &PacketEvent<'_>) {
        match record.field {
            packet::TRACE_CONFIG => self.config(record),
            packet::CHROME_EVENTS => self.chrome_events(record),
            packet::ANDROID_LOG => self.log(record),
            packet::TRIGGER => self.trigger(ts, record, false),
            packet::CLONE_SNAPSHOT_TRIGGER => self.trigger(ts, record, true),
            packet::CHROME_TRIGGER => {
                let hash =
                    record.message().natural(chrome_trigger::TRIGGER_NAME_HASH).unwrap_or(0) as u32;
                let name = "cr-triggered_rule_name_hash";
                self.facts.add(name, both(record), false, i64::from(hash));
            }
            _ => {}
        }
    }

    /// The statements of files of which only one counts.
    pub fn files(&mut self) -> impl Iterator<Item = (u32, OfFile)> {
        std::mem::take(&mut self.files).into_iter()
    }

    /// Of several configurations, the last counts. But each of these facts comes from the last
    /// configuration that has it (rule MD8).
    fn config(&mut self, record: &PacketEvent<'_>) {
        let config = record.message();
        let about = About::trace(record.file);
        let file = self.files.entry(record.file).or_default();
        file.config = Some(config.0.into());
        if file.uuid.is_none() {
            let uuid_fields = [config::TRACE_UUID_MSB, config::TRACE_UUID_LSB];
            let [high, low] = uuid_fields.map(|field| config.number(field).unwrap_or(0));
            file.uuid = uuid(high, low);
        }
        if let Some(name) = config.text(config::UNIQUE_SESSION_NAME) {
            let name = name.into_owned();
            self.facts.set("unique_session_name", about, name);
        }
        let statsd = config.bytes(config::STATSD_METADATA).map(Message);
        let id = statsd.and_then(|statsd| statsd.number(statsd::TRIGGERING_SUBSCRIPTION_ID));
        if let Some(id) = id {
            let name = "statsd_triggering_subscription_id";
            self.facts.set(name, about, id.cast_signed());
        }
    }

    /// Adds Chrome's metadata as facts, with a number from the second packet of a machine on
    /// (rule MD12).
    fn chrome_events(&mut self, record: &PacketEvent<'_>) {
        let mut all = record.message().messages(bundle::METADATA).peekable();
        if all.peek().is_none() {
            return;
        }
        let file = self.files.entry(record.file).or_default();
        let bundle = file.bundles.entry(record.machine).or_default();
        *bundle = bundle.saturating_add(1);
        let prefix = match *bundle {
            1 => "cr-".to_owned(),
            number => format!("cr-{number}-"),
        };
        for metadata in all {
            let Some(value) = chrome_value(metadata) else {
                let of = (record.file, record.machine);
                self.counts.add(&EMPTY, of, None, 1);
                continue;
            };
            let name = metadata.text(chrome::NAME).unwrap_or_default();
            let name = format!("{prefix}{name}");
            self.facts.add(name, both(record), false, value);
        }
    }

    /// Counts lines of the log; `record` has the packet's statistics (rule MD6).
    fn log(&mut self, record: &PacketEvent<'_>) {
        for (field, counter) in &LOG {
            if let Some(value) = record.message().number(*field) {
                let of = (record.file, record.machine);
                self.counts.set(counter, of, None, value.cast_signed());
            }
        }
    }

    /// The first trigger that cloned a snapshot counts, or else the first trigger (rule MD16).
    fn trigger(&mut self, ts: i64, record: &PacketEvent<'_>, is_clone: bool) {
        let file = self.files.entry(record.file).or_default();
        if file.triggered.is_some_and(|was_clone| was_clone || !is_clone) {
            return;
        }
        file.triggered = Some(is_clone);
        let about = About::trace(record.file);
        self.facts.set_text("trace_trigger", about, record.message().text(trigger::TRIGGER_NAME));
        if is_clone {
            let of = (record.file, record.machine);
            self.counts.set(&CLONE_TRIGGER, of, None, ts);
        }
    }
}

fn both(record: &PacketEvent<'_>) -> About {
    About::both(record.file, record.machine)
}

/// The value of a `ChromeMetadata`.
fn chrome_value(metadata: Message<'_>) -> Option<Fact> {
    let text = |field| metadata.bytes(field).map(|bytes| text(bytes).into_owned());
    let number = |field| metadata.number(field);
    let string = text(chrome::STRING_VALUE).map(Fact::Text);
    string
        .or_else(|| number(chrome::INT_VALUE).map(|number| Fact::Integer(number.cast_signed())))
        .or_else(|| number(chrome::BOOL_VALUE).map(|flag| Fact::Integer((flag != 0).into())))
        .or_else(|| text(chrome::JSON_VALUE).map(Fact::Text))
}

/// A trace's own name as text, with the most significant half first (rule MD10); `None` if both
/// halves are 0.
pub(crate) fn uuid(high: u64, low: u64) -> Option<String> {
    if high == 0 && low == 0 {
        return None;
    }
    let (high, low) = (format!("{high:016x}"), format!("{low:016x}"));
    let (a, b) = high.split_at(8);
    let (b, c) = b.split_at(4);
    let (d, e) = low.split_at(4);
    Some(format!("{a}-{b}-{c}-{d}-{e}"))
}
