//! `stats`, `metadata` and triggers, written as plainly as possible from the rules MD.

use super::packets::{Packets, Read};
use super::wire::{Field, Message, text};
use rusqlite::types::Value;
use rusqlite::{Connection, params};
use std::collections::{BTreeMap, BTreeSet};

const SCHEMA: &str = "
CREATE TABLE metadata (name, key_type, int_value, str_value, machine_id, trace_id);
CREATE TABLE stats (name, idx, severity, source, value, machine_id, trace_id);
CREATE TABLE track (id, type, name);
INSERT INTO track VALUES (0, 'triggers', 'Trace Triggers');
CREATE TABLE slice (id, ts, dur, depth, name, track_id, arg_set_id);
CREATE TABLE args (arg_set_id, key, value_type, int_value, string_value, real_value);
";

/// The subject of a row.
#[derive(Clone, Copy, PartialEq)]
enum About {
    Trace,
    Machine(i64),
    Both(i64),
}

/// Name, type of key, value, machine and trace.
type Fact = (String, &'static str, Value, Option<i64>, Option<i64>);

/// Name, idx and machine.
type Counter = (String, Option<i64>, i64);

#[derive(Default)]
struct Model {
    metadata: Vec<Fact>,
    stats: BTreeMap<Counter, (&'static str, &'static str, i64)>,
    triggers: Vec<Trigger>,
}

struct Trigger {
    ts: i64,
    machine: i64,
    name: Option<String>,
    args: Vec<(&'static str, &'static str, Value)>,
}

/// An unsigned number in the form of the column.
fn int(number: u64) -> Value {
    Value::Integer(number.cast_signed())
}

fn int32(number: u64) -> Value {
    Value::Integer((number as i32).into())
}

impl Model {
    fn row(&mut self, name: &str, key_type: &'static str, about: About, value: Value) {
        let (machine, trace) = match about {
            About::Trace => (None, Some(0)),
            About::Machine(machine) => (Some(machine), None),
            About::Both(machine) => (Some(machine), Some(0)),
        };
        self.metadata.push((name.to_owned(), key_type, value, machine, trace));
    }

    /// A fact with one value. The last value wins.
    fn single(&mut self, name: &str, about: About, value: Value) {
        let before = self.metadata.len();
        self.row(name, "single", about, value);
        let (.., machine, trace) = self.metadata[before].clone();
        let mut place = 0;
        self.metadata.retain(|(other, _, _, m, t)| {
            place += 1;
            place > before || other != name || (*m, *t) != (machine, trace)
        });
    }

    fn text(&mut self, name: &str, about: About, message: &Message, field: u32) {
        if let Some(text) = message.text(field) {
            self.single(name, about, Value::Text(text));
        }
    }

    fn set(
        &mut self,
        name: &str,
        idx: Option<i64>,
        machine: i64,
        (severity, source): (&'static str, &'static str),
        value: i64,
    ) {
        let key = (name.to_owned(), idx, machine);
        self.stats.insert(key, (severity, source, value));
    }

    fn add(
        &mut self,
        name: &str,
        idx: Option<i64>,
        machine: i64,
        (severity, source): (&'static str, &'static str),
        more: i64,
    ) {
        let key = (name.to_owned(), idx, machine);
        let entry = self.stats.entry(key).or_insert((severity, source, 0));
        entry.2 += more;
    }

    fn value(&self, name: &str, idx: Option<i64>, machine: i64) -> Option<i64> {
        let entry = self.stats.get(&(name.to_owned(), idx, machine));
        entry.map(|(.., value)| *value)
    }
}

const INFO: (&str, &str) = ("info", "trace");
const LOSS: (&str, &str) = ("data_loss", "trace");
const ERROR: (&str, &str) = ("error", "trace");

/// MD2
const SERVICE: [(u32, &str, (&str, &str)); 11] = [
    (2, "producers_connected", INFO),
    (3, "producers_seen", INFO),
    (4, "data_sources_registered", INFO),
    (5, "data_sources_seen", INFO),
    (6, "tracing_sessions", INFO),
    (7, "total_buffers", INFO),
    (8, "chunks_discarded", INFO),
    (9, "patches_discarded", INFO),
    (12, "flushes_requested", INFO),
    (13, "flushes_succeeded", INFO),
    (14, "flushes_failed", LOSS),
];

/// MD3
const BUFFER: [(u32, &str, (&str, &str)); 20] = [
    (1, "bytes_written", INFO),
    (2, "chunks_written", INFO),
    (3, "chunks_overwritten", INFO),
    (4, "write_wrap_count", INFO),
    (5, "patches_succeeded", INFO),
    (6, "patches_failed", LOSS),
    (7, "readaheads_succeeded", INFO),
    (8, "readaheads_failed", INFO),
    (9, "abi_violations", LOSS),
    (10, "chunks_rewritten", INFO),
    (11, "chunks_committed_out_of_order", INFO),
    (12, "buffer_size", INFO),
    (13, "bytes_overwritten", INFO),
    (14, "bytes_read", INFO),
    (15, "padding_bytes_written", INFO),
    (16, "padding_bytes_cleared", INFO),
    (17, "chunks_read", INFO),
    (18, "chunks_discarded", INFO),
    (19, "trace_writer_packet_loss", LOSS),
    (20, "chunks_relocated", INFO),
];

/// MD4
const CAUSES: [(u32, &str); 8] = [
    (2, "read_gap"),
    (4, "chunk_corrupted"),
    (8, "orphan_continuation"),
    (16, "reassembly_gap"),
    (32, "reassembly_broken_chain"),
    (64, "overwrite"),
    (128, "writer_abort"),
    (256, "smb_full"),
];

/// The tables of a trace without compression.
pub fn tables(trace: &[u8]) -> Connection {
    let packets = Packets::read(trace);
    let raw: Vec<Message> = Message::parse(trace)
        .unwrap_or_default()
        .messages(1)
        .into_iter()
        .filter(|message| message.fields().next().is_some())
        .collect();
    let mut model = Model::default();
    let mut machines: Vec<u32> = Vec::new();
    let mut chrome: BTreeMap<i64, u8> = BTreeMap::new();
    let mut told: BTreeSet<(u32, u32)> = BTreeSet::new();
    let mut last_config: BTreeMap<i64, Message> = BTreeMap::new();
    for (index, packet) in packets.all.iter().enumerate() {
        if !machines.contains(&packet.machine) {
            machines.push(packet.machine);
        }
        let machine = row_of(&machines, packet.machine);
        let Some((field, payload)) = &packet.payload else {
            continue;
        };
        match field {
            126 => attributes(&mut model, payload, machine),
            35 => trace_stats(&mut model, payload, machine, &raw[..=index], &packets),
            69 => service_event(&mut model, payload, machine, packet.timestamp),
            _ if packet.distrusted => {}
            34 => ftrace_stats(&mut model, payload, machine, packet, &mut told),
            1 if payload.unsigned(3) != 0 => {
                let cpu = Some(payload.id(1));
                model.set("ftrace_cpu_has_data_loss", cpu, machine, LOSS, 1);
            }
            33 => {
                config_in_file(&mut model, payload, machine);
                last_config.insert(machine, payload.clone());
            }
            45 => system_info(&mut model, payload, machine),
            51 => {
                let count = chrome.entry(machine).or_default();
                let letter = char::from(b'a' + *count);
                *count = (*count + 1) % 26;
                chrome_metadata(&mut model, payload, machine, letter);
            }
            48 => benchmark(&mut model, payload),
            78 => {
                let bytes = raw[index].bytes(78).unwrap_or_default();
                model.single("ui_state", About::Trace, Value::Text(base64(bytes)));
            }
            89 => {
                if let Some(uuid) = uuid(payload.unsigned(1), payload.unsigned(2)) {
                    model.single("trace_uuid", About::Trace, Value::Text(uuid));
                }
            }
            90 => match payload.number(1) {
                Some(start) => {
                    let name = "range_of_interest_start_us";
                    model.single(name, About::Trace, int(start));
                }
                None => {
                    let name = "track_event_range_of_interest_missing_start_us";
                    model.add(name, None, machine, ("error", "analysis"), 1);
                }
            },
            86 => properties(&mut model, payload),
            _ => {}
        }
    }
    for (machine, config) in last_config {
        no_flush(&mut model, &config, machine);
    }
    in_time_order(&mut model, &packets, &raw, &machines);
    model.single("trace_type", About::Trace, Value::Text("proto".into()));
    model.single("trace_size_bytes", About::Trace, int(trace.len() as u64));
    model.tables()
}

fn row_of(machines: &[u32], machine: u32) -> i64 {
    machines.iter().position(|m| *m == machine).unwrap() as i64
}

/// MD11
fn attributes(model: &mut Model, payload: &Message, machine: i64) {
    for attribute in payload.messages(1) {
        let name = format!("trace_attribute.{}", attribute.text(1).unwrap_or_default());
        let number = attribute.number(2).map(int);
        if let Some(value) = number.or(attribute.text(3).map(Value::Text)) {
            model.single(&name, About::Both(machine), value);
        }
    }
}

/// MD2, MD3
fn trace_stats(
    model: &mut Model,
    payload: &Message,
    machine: i64,
    until: &[Message],
    packets: &Packets,
) {
    for (field, name, kind) in SERVICE {
        let name = format!("traced_{name}");
        model.set(&name, None, machine, kind, payload.signed(field));
    }
    match payload.unsigned(15) {
        1 => model.add("traced_final_flush_succeeded", None, machine, INFO, 1),
        2 => model.add("traced_final_flush_failed", None, machine, LOSS, 1),
        _ => {}
    }
    if let Some(filter) = payload.message(11) {
        for (field, name, kind) in [
            (1, "filter_input_packets", INFO),
            (2, "filter_input_bytes", INFO),
            (3, "filter_output_bytes", INFO),
            (4, "filter_errors", ERROR),
            (5, "filter_time_taken_ns", INFO),
        ] {
            model.set(name, None, machine, kind, filter.signed(field));
        }
        for (buffer, bytes) in filter.numbers(20).into_iter().enumerate() {
            let (name, idx) = ("traced_buf_bytes_filtered_out", Some(buffer as i64));
            model.set(name, idx, machine, INFO, bytes.cast_signed());
        }
    }
    for (buffer, stats) in payload.messages(1).into_iter().enumerate() {
        for (field, name, kind) in BUFFER {
            let (name, idx) = (format!("traced_buf_{name}"), Some(buffer as i64));
            model.set(&name, idx, machine, kind, stats.signed(field));
        }
    }
    losses(model, payload, machine, until, packets);
}

/// MD4
fn losses(
    model: &mut Model,
    payload: &Message,
    machine: i64,
    until: &[Message],
    packets: &Packets,
) {
    let raw_machine = packets.all[until.len() - 1].machine;
    let mut sums: BTreeMap<(String, i64), i64> = BTreeMap::new();
    for writer in payload.messages(18) {
        let (sequence, buffer) = (writer.id(1), writer.id(4));
        let of_it: Vec<usize> = (0..until.len())
            .filter(|&at| packets.all[at].machine == raw_machine)
            .filter(|&at| packets.all[at].is_of_sequence)
            .filter(|&at| i64::from(packets.all[at].sequence) == sequence)
            .collect();
        if of_it.is_empty() || sequence == 0 {
            continue;
        }
        let lost = |at: &&usize| until[**at].unsigned(42) as u32 != 0;
        let lost: Vec<usize> = of_it[1..].iter().filter(lost).copied().collect();
        let mut add = |name: &str, more: usize| {
            let name = format!("traced_buf_{name}");
            *sums.entry((name, buffer)).or_default() += more as i64;
        };
        add("sequence_packet_loss", lost.len());
        for (bit, word) in CAUSES {
            let of_bit = |at: &&usize| until[**at].unsigned(42) as u32 & bit != 0;
            add(&format!("data_loss_{word}"), lost.iter().filter(of_bit).count());
        }
        // Packets that are read in any state do not count, the statistics themselves included.
        let counts = |at: &usize| {
            let is_read = [6, 69, 72, 107].iter().any(|field| until[*at].has(*field));
            !is_read && *at + 1 != until.len()
        };
        let of_it: Vec<usize> = of_it.into_iter().filter(counts).collect();
        let needs = |at: &&usize| until[**at].unsigned(13) & 2 != 0;
        let needing = of_it.iter().filter(needs).count();
        let distrusted = |at: &&usize| packets.all[**at].distrusted;
        let distrusted = of_it.iter().filter(distrusted).count();
        let dropped = distrusted > 0 && distrusted == needing;
        add("incremental_sequences_dropped", usize::from(dropped));
    }
    for ((name, buffer), sum) in sums {
        let source = if name.contains("data_loss") { "trace" } else { "analysis" };
        model.set(&name, Some(buffer), machine, ("data_loss", source), sum);
    }
}

/// MD7
fn service_event(model: &mut Model, payload: &Message, machine: i64, timestamp: Option<u64>) {
    let (about, ts) = (About::Both(machine), timestamp.unwrap_or(0));
    for (field, name) in
        [(2, "tracing_started_ns"), (1, "all_data_source_started_ns"), (5, "tracing_disabled_ns")]
    {
        if payload.unsigned(field) != 0 {
            model.single(name, about, int(ts));
        }
    }
    if payload.unsigned(3) != 0 {
        model.row("all_data_source_flushed_ns", "multi", about, int(ts));
    }
    for source in payload.message(7).unwrap_or_default().messages(1) {
        let [producer, source] = [1, 2].map(|field| source.text(field).unwrap_or_default());
        let text = Value::Text(format!("{producer} {source}"));
        model.row("slow_start_data_source", "multi", about, text);
    }
    if payload.has(10) {
        let name = "traced_clone_started_timestamp_ns";
        model.set(name, None, machine, INFO, ts.cast_signed());
    }
    if let Some(buffer) = payload.number(11) {
        let (name, idx) = ("traced_buf_clone_done_timestamp_ns", Some(buffer as i64));
        model.set(name, idx, machine, INFO, ts.cast_signed());
    }
}

/// MD5
fn ftrace_stats(
    model: &mut Model,
    payload: &Message,
    machine: i64,
    packet: &Read,
    told: &mut BTreeSet<(u32, u32)>,
) {
    let phase = match payload.unsigned(1) {
        1 => "begin",
        2 => "end",
        _ => return,
    };
    for stats in payload.messages(2) {
        let cpu = Some(stats.id(1));
        for (field, name) in [
            (2, "entries"),
            (3, "overrun"),
            (4, "commit_overrun"),
            (5, "bytes"),
            (8, "dropped_events"),
            (9, "read_events"),
        ] {
            let value = stats.signed(field);
            model.set(&format!("ftrace_cpu_{name}_{phase}"), cpu, machine, INFO, value);
            let begin = model.value(&format!("ftrace_cpu_{name}_begin"), cpu, machine);
            if let (Some(begin), "end") = (begin, phase) {
                let kind = match field {
                    4 | 8 => ERROR,
                    _ => INFO,
                };
                let name = format!("ftrace_cpu_{name}_delta");
                model.set(&name, cpu, machine, kind, value.wrapping_sub(begin));
            }
        }
        for (field, name) in [(7, "now_ts"), (6, "oldest_event_ts")] {
            let seconds = f64::from_bits(stats.unsigned(field));
            let name = format!("ftrace_cpu_{name}_{phase}");
            model.set(&name, cpu, machine, INFO, (seconds * 1e9) as i64);
        }
    }
    let kprobes = payload.message(10).unwrap_or_default();
    for (field, name, kind) in [(1, "hits", INFO), (2, "misses", LOSS)] {
        let value = kprobes.signed(field);
        model.set(&format!("ftrace_kprobe_{name}_{phase}"), None, machine, INFO, value);
        let begin = model.value(&format!("ftrace_kprobe_{name}_begin"), None, machine);
        if let (Some(begin), "end") = (begin.filter(|begin| *begin != 0), phase) {
            let name = format!("ftrace_kprobe_{name}_delta");
            model.set(&name, None, machine, kind, value.wrapping_sub(begin));
        }
    }
    let texts = [5, 13].map(|field| payload.text(field).is_some_and(|text| !text.is_empty()));
    let errors = payload.texts(7).len()
        + payload.texts(6).len()
        + texts.into_iter().filter(|there| *there).count();
    if phase == "begin" && errors > 0 && told.insert((packet.machine, packet.sequence)) {
        let kind = ("notice", "trace");
        model.add("ftrace_setup_errors", None, machine, kind, errors as i64);
    }
}

/// MD9, and the attributes of a configuration.
fn config_in_file(model: &mut Model, payload: &Message, machine: i64) {
    for (buffer, config) in payload.messages(1).into_iter().enumerate() {
        if payload.unsigned(8) != 0 && config.unsigned(4) == 2 {
            let (name, idx) = ("config_write_into_file_discard", Some(buffer as i64));
            model.add(name, idx, machine, LOSS, 1);
        }
    }
    attributes(model, &payload.message(48).unwrap_or_default(), machine);
}

/// MD9
fn no_flush(model: &mut Model, config: &Message, machine: i64) {
    let version = model
        .metadata
        .iter()
        .find(|(name, .., of, _)| name == "tracing_service_version" && *of == Some(machine));
    let major = match version {
        Some((_, _, Value::Text(version), ..)) => version
            .strip_prefix("Perfetto v")
            .and_then(|rest| rest.split_once(['.', '-']))
            .and_then(|(major, _)| major.parse::<u32>().ok()),
        _ => None,
    };
    if config.unsigned(8) != 0 && config.unsigned(13) as u32 == 0 && major.is_none_or(|n| n < 54) {
        model.set("config_write_into_file_no_flush", None, machine, ERROR, 1);
    }
}

/// MD14
fn system_info(model: &mut Model, payload: &Message, machine: i64) {
    let about = About::Machine(machine);
    if let Some(utsname) = payload.message(1) {
        for (field, name) in [
            (1, "system_name"),
            (2, "system_version"),
            (3, "system_release"),
            (4, "system_machine"),
        ] {
            let value = utsname.text(field).map_or(Value::Null, Value::Text);
            model.single(name, about, value);
        }
    }
    for (field, name) in [
        (2, "android_build_fingerprint"),
        (4, "tracing_service_version"),
        (9, "android_soc_model"),
        (10, "android_hardware_revision"),
        (11, "android_storage_model"),
        (12, "android_ram_model"),
        (13, "android_guest_soc_model"),
        (14, "android_device_manufacturer"),
        (15, "android_serial_console"),
    ] {
        model.text(name, about, payload, field);
    }
    if let Some(minutes) = payload.number(7) {
        model.single("timezone_off_mins", about, int32(minutes));
    }
    if let Some(bytes) = payload.number(16) {
        model.single("system_ram_bytes", about, int(bytes));
        let rounded = (u128::from(bytes) + 500_000_000) / 1_000_000_000;
        model.single("system_ram_gb", about, int(rounded as u64));
    }
    let fingerprint = payload.text(2).unwrap_or_default();
    let parts: Option<(&str, &str)> = (|| {
        let colon = fingerprint.find(':')? + 1;
        let release = colon + fingerprint[colon..].find('/')?;
        let id = release + 1 + fingerprint[release + 1..].find('/')?;
        let end = id + fingerprint[id..].find(':')?;
        Some((&fingerprint[colon..release], &fingerprint[id + 1..end]))
    })();
    if let Some((_, incremental)) = parts {
        let value = Value::Text(incremental.to_owned());
        model.single("android_incremental_build", about, value);
    }
    let by_version = parts.and_then(|(version, _)| {
        let known = [
            ("12", 31),
            ("11", 30),
            ("10", 29),
            ("9", 28),
            ("8.1", 27),
            ("8.0", 26),
            ("7.1", 25),
            ("7.0", 24),
            ("6.0", 23),
            ("5.1", 22),
            ("5.1.1", 22),
            ("5.0", 21),
            ("5.0.1", 21),
            ("5.0.2", 21),
        ];
        let known = known.iter().find(|(name, _)| *name == version);
        let preliminary = version.starts_with('S') || version.starts_with('T');
        known.map(|(_, level)| *level).or(preliminary.then_some(31))
    });
    if let Some(level) = payload.number(5).or(by_version) {
        model.single("android_sdk_version", about, int(level));
    }
}

/// MD12
fn chrome_metadata(model: &mut Model, payload: &Message, machine: i64, letter: char) {
    let about = About::Both(machine);
    let mut row = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            model.row(name, "single", about, value);
        }
    };
    let name = |name: &str| format!("cr-{letter}-{name}");
    row(&name("playstore_version_code"), payload.number(2).map(int32));
    for (field, word) in
        [(6, "product-version"), (8, "os-name"), (5, "package-name"), (3, "enabled_categories")]
    {
        row(&name(word), payload.text(field).map(Value::Text));
    }
    let channel = payload.has(7).then(|| Value::Integer(payload.id(7)));
    row(&name("channel"), channel);
    let hashes = payload.messages(4);
    let hash = |hash: &Message| format!("{{ name: {}, group: {} }} ", hash.id(1), hash.id(2));
    let lines: Vec<String> = hashes.chunks(2).map(|two| two.iter().map(hash).collect()).collect();
    let all = (!lines.is_empty()).then(|| Value::Text(lines.join("\n")));
    row(&name("field_trial_hashes"), all);
    if let Some(background) = payload.bytes(1) {
        let bytes = Value::Text(base64(background));
        row("cr-background_tracing_metadata", Some(bytes));
        let background = Message::parse(background).unwrap_or_default();
        row("cr-scenario_name_hash", background.number(3).map(int));
    }
}

/// MD13
fn benchmark(model: &mut Model, payload: &Message) {
    let mut number = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            model.single(&format!("benchmark_{name}"), About::Trace, value);
        }
    };
    number("start_time_us", payload.number(1).map(int));
    number("story_run_time_us", payload.number(2).map(int));
    number("story_run_index", payload.number(8).map(int32));
    let failed = payload.number(9).map(|flag| int(u64::from(flag != 0)));
    number("had_failures", failed);
    for (field, name) in [(3, "name"), (4, "description"), (5, "label"), (6, "story_name")] {
        number(name, payload.text(field).map(Value::Text));
    }
    for tag in payload.texts(7) {
        let value = Value::Text(tag);
        model.row("benchmark_story_tags", "multi", About::Trace, value);
    }
}

/// MD13
fn properties(model: &mut Model, payload: &Message) {
    for property in payload.messages(1) {
        let [name, value] = [1, 2].map(|field| property.text(field).unwrap_or_default());
        let name = match name.strip_prefix("debug.tracing.") {
            Some("profile_boot_classpath") => "android_profile_boot_classpath",
            Some("profile_system_server") => "android_profile_system_server",
            _ => continue,
        };
        if let Ok(value) = value.trim_start().parse::<i32>() {
            model.single(name, About::Trace, Value::Integer(value.into()));
        }
    }
}

/// MD10
fn uuid(high: u64, low: u64) -> Option<String> {
    let digits = format!("{high:016x}{low:016x}");
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| digits[part].to_owned());
    (high != 0 || low != 0).then(|| parts.join("-"))
}

/// MD1: facts that are read in the order of time.
fn in_time_order(model: &mut Model, packets: &Packets, raw: &[Message], machines: &[u32]) {
    // O2: the greatest time of any packet that is an event, and of the packets of each machine.
    let mut of_events = 0;
    let mut of_packets: BTreeMap<u32, i64> = BTreeMap::new();
    let mut events = Vec::new();
    for (index, packet) in packets.all.iter().enumerate() {
        if packet.distrusted {
            continue;
        }
        let own = packets.time_of_packet(index);
        let stands_at = of_events.max(of_packets.get(&packet.machine).copied().unwrap_or(0));
        let time = match packet.timestamp {
            None => Some((stands_at, false)),
            Some(_) => own,
        };
        let field = packet.payload.as_ref().map_or(0, |(field, _)| *field);
        let is_no_event = matches!(field, Read::CLOCK_SNAPSHOT | Read::SERVICE_EVENT);
        if let Some((time, late)) = time.filter(|(time, _)| *time >= 0) {
            events.push((time, late, index));
            if !late && !is_no_event && !matches!(field, Read::ANDROID_LOG | Read::FTRACE) {
                of_events = of_events.max(time);
            }
        }
        if let Some((time, false)) = own.filter(|(time, _)| *time >= 0 && !is_no_event) {
            let latest = of_packets.entry(packet.machine).or_insert(time);
            *latest = time.max(*latest);
        }
    }
    // O3
    events.sort_unstable();
    let (mut bundles, mut trigger) = (BTreeMap::<i64, u32>::new(), None);
    let mut uuid_of_config = None;
    for (time, _, index) in events {
        let packet = &packets.all[index];
        let machine = row_of(machines, packet.machine);
        let Some((field, payload)) = &packet.payload else {
            continue;
        };
        match field {
            33 => {
                config(model, payload, raw[index].bytes(33).unwrap_or_default());
                let found = uuid(payload.unsigned(27), payload.unsigned(28));
                uuid_of_config = uuid_of_config.or(found);
            }
            5 => chrome_events(model, payload, machine, &mut bundles),
            39 => {
                let stats = payload.message(2).unwrap_or_default();
                for (field, name, kind) in [
                    (1, "android_log_num_total", INFO),
                    (2, "android_log_num_failed", ERROR),
                    (3, "android_log_num_skipped", INFO),
                ] {
                    if stats.has(field) {
                        model.set(name, None, machine, kind, stats.signed(field));
                    }
                }
            }
            46 | 113 => {
                let is_clone = *field == 113;
                if trigger.is_none_or(|was_clone: bool| is_clone && !was_clone) {
                    trigger = Some(is_clone);
                    let name = payload.text(1).map_or(Value::Null, Value::Text);
                    model.single("trace_trigger", About::Trace, name);
                    if is_clone {
                        let name = "traced_clone_trigger_timestamp_ns";
                        model.set(name, None, machine, INFO, time);
                    }
                }
                let producer = payload.text(2).map(Value::Text);
                let producer = producer.map(|text| ("producer_name", "string", text));
                let uid = payload.number(3).map(int32);
                let uid = uid.map(|uid| ("trusted_producer_uid", "int", uid));
                let args = producer.into_iter().chain(uid).collect();
                let name = payload.text(1);
                model.triggers.push(Trigger { ts: time, machine, name, args });
            }
            109 => {
                let (name, hash) = (payload.text(1), Value::Integer(payload.id(2)));
                let rule = "cr-triggered_rule_name_hash";
                model.row(rule, "single", About::Both(machine), hash.clone());
                let mut args = vec![("chrome_trigger.name_hash", "uint", hash)];
                if let Some(name) = name.clone() {
                    args.push(("chrome_trigger.name", "string", Value::Text(name)));
                }
                let name = name.unwrap_or("chrome_trigger".to_owned());
                model.triggers.push(Trigger { ts: time, machine, name: Some(name), args });
            }
            _ => {}
        }
    }
    let is_known = model.metadata.iter().any(|(name, ..)| name == "trace_uuid");
    if let (Some(uuid), false) = (uuid_of_config, is_known) {
        model.single("trace_uuid", About::Trace, Value::Text(uuid));
    }
}

/// MD12
fn chrome_events(
    model: &mut Model,
    payload: &Message,
    machine: i64,
    bundles: &mut BTreeMap<i64, u32>,
) {
    let all = payload.messages(2);
    if all.is_empty() {
        return;
    }
    let bundle = bundles.entry(machine).or_default();
    *bundle += 1;
    for metadata in all {
        let name = metadata.text(1).unwrap_or_default();
        let name = match *bundle {
            1 => format!("cr-{name}"),
            number => format!("cr-{number}-{name}"),
        };
        let value = (metadata.text(2).map(Value::Text))
            .or(metadata.number(4).map(int))
            .or(metadata.number(3).map(|flag| int(u64::from(flag != 0))))
            .or(metadata.text(5).map(Value::Text));
        match value {
            Some(value) => model.row(&name, "single", About::Both(machine), value),
            None => model.add("empty_chrome_metadata", None, machine, ERROR, 1),
        }
    }
}

/// MD8
fn config(model: &mut Model, payload: &Message, bytes: &[u8]) {
    let text = Value::Text(shown(bytes, "TraceConfig", 0).join("\n"));
    model.single("trace_config_pbtxt", About::Trace, text);
    model.text("unique_session_name", About::Trace, payload, 22);
    let statsd = payload.message(7).unwrap_or_default();
    if let Some(id) = statsd.number(4) {
        let name = "statsd_triggering_subscription_id";
        model.single(name, About::Trace, int(id));
    }
}

/// The lines of a message in protobuf's text format, for the fields that the generator writes.
fn shown(bytes: &[u8], of: &str, depth: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let indent = "  ".repeat(depth);
    for (number, value) in Message::parse(bytes).unwrap_or_default().values() {
        let known = match (of, number) {
            ("TraceConfig", 1) => ("buffers", "BufferConfig"),
            ("TraceConfig", 2) => ("data_sources", "DataSource"),
            ("DataSource", 1) => ("config", "DataSourceConfig"),
            ("DataSourceConfig", 1) => ("name", "string"),
            ("DataSourceConfig", 2) => ("target_buffer", "uint"),
            ("TraceConfig", 3) => ("duration_ms", "uint"),
            ("TraceConfig", 7) => ("statsd_metadata", "StatsdMetadata"),
            ("TraceConfig", 8) => ("write_into_file", "bool"),
            ("TraceConfig", 13) => ("flush_period_ms", "uint"),
            ("TraceConfig", 17) => ("trigger_config", "TriggerConfig"),
            ("TraceConfig", 22) => ("unique_session_name", "string"),
            ("TraceConfig", 27) => ("trace_uuid_msb", "int"),
            ("TraceConfig", 28) => ("trace_uuid_lsb", "int"),
            ("TraceConfig", 48) => ("trace_attributes", "TraceAttributes"),
            ("TraceAttributes", 1) => ("attribute", "Attribute"),
            ("Attribute", 1) => ("key", "string"),
            ("Attribute", 2) => ("long_value", "int"),
            ("Attribute", 3) => ("string_value", "string"),
            ("BufferConfig", 1) => ("size_kb", "uint"),
            ("BufferConfig", 4) => ("fill_policy", "FillPolicy"),
            ("BufferConfig", 7) => ("name", "string"),
            ("StatsdMetadata", 1) => ("triggering_alert_id", "int"),
            ("StatsdMetadata", 4) => ("triggering_subscription_id", "int"),
            ("TriggerConfig", 2) => ("triggers", "Trigger"),
            ("Trigger", 1) => ("name", "string"),
            ("Trigger", 5) => ("skip_probability", "double"),
            _ => ("", ""),
        };
        let line = match (known, value) {
            ((name, "uint"), Field::Number(value)) => format!("{name}: {}", *value as u32),
            ((name, "int"), Field::Number(value)) => format!("{name}: {}", value.cast_signed()),
            ((name, "bool"), Field::Number(value)) => format!("{name}: {}", *value != 0),
            ((name, "double"), Field::Number(value)) => {
                format!("{name}: {:.6}", f64::from_bits(*value))
            }
            ((name, "FillPolicy"), Field::Number(value)) if *value < 3 => {
                let word = ["UNSPECIFIED", "RING_BUFFER", "DISCARD"][*value as usize];
                format!("{name}: {word}")
            }
            ((name, "string"), Field::Bytes(bytes)) => format!("{name}: {}", quoted(bytes)),
            ((name, message), Field::Bytes(bytes)) if !name.is_empty() => {
                lines.push(format!("{indent}{name} {{"));
                lines.extend(shown(bytes, message, depth + 1));
                "}".to_owned()
            }
            // Random traces contain no fixed-size field that is unknown.
            (_, Field::Number(value)) => format!("{number}: {}", value.cast_signed()),
            (_, Field::Bytes(bytes)) => format!("{number}: {}", quoted(bytes)),
        };
        lines.push(indent.clone() + &line);
    }
    lines
}

fn quoted(bytes: &[u8]) -> String {
    let escaped = |byte: &u8| match *byte {
        byte @ (b'"' | b'\'' | b'\\') => format!("\\{}", char::from(byte)),
        b'\n' => "\\n".to_owned(),
        b'\r' => "\\r".to_owned(),
        b'\t' => "\\t".to_owned(),
        0x0b => "\\v".to_owned(),
        0x07 => "\\a".to_owned(),
        0x08 => "\\b".to_owned(),
        0x0c => "\\f".to_owned(),
        byte if (0x20..=0x7e).contains(&byte) => char::from(byte).to_string(),
        byte => format!("\\{}{}{}", byte >> 6, byte >> 3 & 7, byte & 7),
    };
    format!("\"{}\"", bytes.iter().map(escaped).collect::<String>())
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut written = Vec::new();
    for three in bytes.chunks(3) {
        let bits =
            (0..3).fold(0, |bits, at| bits << 8 | u32::from(three.get(at).copied().unwrap_or(0)));
        for at in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * at) & 63) as usize];
            written.push(if at > three.len() { b'=' } else { letter });
        }
    }
    text(&written)
}

impl Model {
    fn tables(self) -> Connection {
        let tables = Connection::open_in_memory().unwrap();
        tables.execute_batch(SCHEMA).unwrap();
        for (name, key_type, value, machine, trace) in self.metadata {
            let (int, text) = match value {
                Value::Integer(_) => (value, Value::Null),
                value => (Value::Null, value),
            };
            let sql = "INSERT INTO metadata VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
            let row = params![name, key_type, int, text, machine, trace];
            tables.execute(sql, row).unwrap();
        }
        for ((name, idx, machine), (severity, source, value)) in self.stats {
            let sql = "INSERT INTO stats VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0)";
            let row = params![name, idx, severity, source, value, machine];
            tables.execute(sql, row).unwrap();
        }
        for (id, trigger) in self.triggers.iter().enumerate() {
            // Instants of one time lie on each other (E9).
            let below = self.triggers[..id].iter();
            let below = below.filter(|t| (t.ts, t.machine) == (trigger.ts, trigger.machine));
            let sql = "INSERT INTO slice VALUES (?1, ?2, 0, ?3, ?4, 0, ?1)";
            let row = params![id as i64, trigger.ts, below.count() as i64, trigger.name];
            tables.execute(sql, row).unwrap();
            for (key, value_type, value) in trigger.args.clone() {
                let (int, text) = match value {
                    Value::Integer(_) => (value, Value::Null),
                    value => (Value::Null, value),
                };
                let sql = "INSERT INTO args VALUES (?1, ?2, ?3, ?4, ?5, NULL)";
                let row = params![id as i64, key, value_type, int, text];
                tables.execute(sql, row).unwrap();
            }
        }
        tables
    }
}
