//! For each check a trace that triggers only this check, or an archive of several.
//! tests/data/doctor has them as files, for the pages.

use crate::merge::archive::{self, File};
use timebase_lab::encode::{
    self, ClockSnapshot, INCREMENTAL_STATE_CLEARED, Message, NEEDS_INCREMENTAL_STATE, Packet,
    Reading, SyncedClocks,
};

const MS: u64 = 1_000_000;
const S: u64 = 1000 * MS;

const REALTIME: u32 = 1;
const MONOTONIC: u32 = 3;
const MONOTONIC_COARSE: u32 = 4;
const MONOTONIC_RAW: u32 = 5;
const BOOTTIME: u32 = 6;
/// com.example.gpu
const GPU: u32 = 2_468_715_150;

/// The time when all of these traces begin.
const START: u64 = 100 * S;

/// Added to readings, so that they are not those of a coarse clock.
const ODD: u64 = 123;

/// A snapshot of these clocks on a sequence. Sequence 1 is that of the tracing service.
fn snapshot(seq: u32, clocks: &[(u32, u64)]) -> Packet {
    let clocks =
        clocks.iter().map(|&(id, timestamp)| Reading { id, timestamp, ..Reading::default() });
    Packet {
        seq,
        clock_snapshot: Some(ClockSnapshot { clocks: clocks.collect(), primary: None }),
        ..Packet::default()
    }
}

/// The tracing service's readings, ten seconds after a suspend of ten seconds.
fn service(boottime: u64) -> Packet {
    snapshot(1, &[(MONOTONIC, boottime - 10 * S), (BOOTTIME, boottime)])
}

/// A packet with a reading of a clock.
fn packet(seq: u32, clock: u32, timestamp: u64) -> Packet {
    Packet { seq, timestamp: Some(timestamp), timestamp_clock_id: Some(clock), ..Packet::default() }
}

/// The same on BOOTTIME, on a sequence without its own clock.
fn placed(boottime: u64) -> Packet {
    packet(9, BOOTTIME, boottime)
}

fn incremental(seq: u32, boottime: u64) -> Packet {
    let mut packet = snapshot(seq, &[(64, boottime), (BOOTTIME, boottime)]);
    for reading in packet.clock_snapshot.iter_mut().flat_map(|s| &mut s.clocks) {
        reading.incremental = reading.id == 64;
    }
    packet
}

/// The same as packets of another machine.
fn guest(packet: Packet) -> Packet {
    Packet { machine_id: 7, ..packet }
}

/// The readings of a machine that asks the host for the time: alternately its own BOOTTIME and the
/// host's.
fn sync(rounds: &[(u64, u64)]) -> Packet {
    let reading = |value| snapshot(0, &[(BOOTTIME, value)]).clock_snapshot.unwrap_or_default();
    let synced = rounds
        .iter()
        .map(|&(client, host)| SyncedClocks { client: reading(client), host: reading(host) });
    guest(Packet { remote_clock_sync: Some(synced.collect()), ..Packet::default() })
}

/// A fast round, with the client ahead of the host by this much.
fn round(host: u64, ahead: u64) -> [(u64, u64); 2] {
    let read = |at| (at + ahead, at + 1000);
    [read(host), read(host + 3000)]
}

/// The service's snapshot with the wall clock, on a machine that was started at 1.7e18 ns.
fn with_realtime(boottime: u64) -> Packet {
    snapshot(1, &[(REALTIME, 1_700_000_000 * S + boottime), (BOOTTIME, boottime)])
}

/// An instant event of a track, on a clock or on the default one.
fn instant(seq: u32, clock: Option<u32>, timestamp: u64) -> Packet {
    let event = Message::new().number(9, 3).number(11, 1).text(23, "job");
    Packet {
        seq,
        timestamp: Some(timestamp),
        timestamp_clock_id: clock,
        payload: Some((TRACK_EVENT, event.0)),
        ..Packet::default()
    }
}

/// Fields of track events: a flow goes on, and a flow ends.
const FLOWS: u32 = 47;
const ENDING_FLOWS: u32 = 48;

/// An instant event of a flow.
fn of_flow(boottime: u64, field: u32, id: u64) -> Packet {
    let event = Message::new().number(9, 3).number(11, 1).text(23, "job").fixed64(field, id);
    Packet { payload: Some((TRACK_EVENT, event.0)), ..placed(boottime) }
}

/// The BOOTTIME of a server is so much ahead of that of its client.
const AHEAD: u64 = 4900 * S;

/// Requests every 10 ms and their answers, which take 100 µs: the events of the client, and those of the server,
/// which shows `more` than [`AHEAD`] for a message. Ids of messages are from `ids` on.
fn rounds(count: u64, ids: u64, more: impl Fn(u64) -> u64) -> [Vec<Packet>; 2] {
    let [mut client, mut server] = [Vec::new(), Vec::new()];
    for n in 0..count {
        let (sent, request) = (START + (n + 1) * 10 * MS, ids + 2 * n);
        let on_server = |after: u64| sent + after + AHEAD + more(n);
        client.push(of_flow(sent, FLOWS, request));
        server.push(of_flow(on_server(100_000), ENDING_FLOWS, request));
        server.push(of_flow(on_server(300_000), FLOWS, request + 1));
        client.push(of_flow(sent + 400_000, ENDING_FLOWS, request + 1));
    }
    [client, server]
}

/// An archive of a client and a server. The wall clock of the server is so many milliseconds behind.
pub fn client_and_server([client, server]: [Vec<Packet>; 2], behind: u64) -> Vec<u8> {
    const MANIFEST: &[u8] = br#"{"perfetto_manifest": {"version": 1, "files": [
  {"path": "client.pftrace", "machine": {"name": "client"}},
  {"path": "server.pftrace", "machine": {"name": "server"}}]}}
"#;
    let wall_clock = 1_700_000_000 * S + START - behind * MS;
    let on_server = snapshot(1, &[(REALTIME, wall_clock), (BOOTTIME, START + AHEAD)]);
    let client = [vec![with_realtime(START)], client].concat();
    let server = [vec![on_server], server].concat();
    archive(
        &[("client.pftrace", &client), ("server.pftrace", &server)],
        &[("machines.json", MANIFEST)],
    )
}

/// The wall clock of the server is 3 ms behind. Ids are from `ids` on, and one of the messages is a wrong pair: it
/// arrives a second before it is sent.
pub fn contradicted(count: u64, ids: u64) -> Vec<u8> {
    let [mut client, mut server] = rounds(count, ids, |_| 0);
    client.push(of_flow(START + 2 * S, FLOWS, ids + 2 * count));
    server.push(of_flow(START + S + AHEAD, ENDING_FLOWS, ids + 2 * count));
    client_and_server([client, server], 3)
}

/// Leaves out the answers.
fn every_other(events: &mut Vec<Packet>) {
    let mut place = 0;
    events.retain(|_| {
        place += 1;
        place % 2 == 1
    });
}

/// A host and a machine that asks it for the time, which is [`AHEAD`].
fn synchronized([host, asking]: [Vec<Packet>; 2]) -> Vec<Packet> {
    let ask = sync([round(START, AHEAD), round(START + 60 * S, AHEAD)].as_flattened());
    let asking = asking.into_iter().map(guest);
    [service(START), ask].into_iter().chain(host).chain(asking).collect()
}

/// A bundle of a CPU with fields, and with an event of thread 10 at each of these times.
fn bundle(cpu: u64, fields: &[(u32, u64)], times: &[u64]) -> Packet {
    let bundle = fields
        .iter()
        .fold(Message::new().number(1, cpu), |bundle, &(field, value)| bundle.number(field, value));
    let bundle = times
        .iter()
        .fold(bundle, |bundle, &at| bundle.message(2, Message::new().number(1, at).number(2, 10)));
    stats(FTRACE_EVENTS, bundle)
}

/// Fields of packets.
const TRACK_EVENT: u32 = 11;
const FTRACE_EVENTS: u32 = 1;
const FTRACE_STATS: u32 = 34;
const TRACE_STATS: u32 = 35;

/// The recorder's data about itself.
fn stats(field: u32, message: Message) -> Packet {
    Packet { seq: 1, payload: Some((field, message.0)), ..Packet::default() }
}

/// In a phase, fields of CPU 1.
fn ftrace_stats(phase: u64, fields: &[(u32, u64)]) -> Message {
    let cpu = Message::new().number(1, 1);
    let cpu = fields.iter().fold(cpu, |cpu, &(field, value)| cpu.number(field, value));
    Message::new().number(1, phase).message(2, cpu)
}

/// The input that triggers a check.
#[derive(Debug)]
pub struct Case {
    /// The name of the file.
    pub extension: &'static str,
    pub bytes: Vec<u8>,
}

/// An archive of traces, by their names, and of other files.
fn archive(traces: &[(&str, &[Packet])], others: &[(&str, &[u8])]) -> Vec<u8> {
    let traces = traces.iter().map(|(name, packets)| File::new(name, encode::trace(packets)));
    let others = others.iter().map(|(name, bytes)| File::new(name, *bytes));
    archive::tar(&traces.chain(others).collect::<Vec<_>>())
}

/// The inputs for all checks.
pub fn of(check: &str) -> Option<Case> {
    let case = |extension, bytes| Case { extension, bytes };
    match (archive_of(check), json_of(check)) {
        (Some(bytes), _) => Some(case("tar", bytes)),
        (_, Some(text)) => Some(case("json", text.into_bytes())),
        _ => trace_of(check).map(|bytes| case("pftrace", bytes)),
    }
}

/// A complete event of a JSON trace, on thread 2 of process 1.
fn complete(name: &str, ts: &str, dur: &str) -> String {
    format!(r#"{{"ph":"X","name":"{name}","ts":{ts},"dur":{dur},"pid":1,"tid":2}}"#)
}

/// A JSON trace whose producer says when its clock began.
fn json(events: &[String]) -> String {
    let events = events.join(",\n");
    format!("{{\"baseTimeNanoseconds\":1700000000000000000,\"traceEvents\":[\n{events}\n]}}\n")
}

fn json_of(check: &str) -> Option<String> {
    let one = |ph: char, name: &str, ts: u32| {
        format!(r#"{{"ph":"{ph}","name":"{name}","ts":{ts},"pid":1,"tid":2}}"#)
    };
    let events = match check {
        "json_end_unmatched" => {
            vec![one('B', "copy", 100), one('E', "copy done", 150), one('B', "send", 200)]
        }
        "json_overlap" => vec![
            complete("request 1", "100", "50"),
            complete("request 2", "120", "50"),
            complete("parse", "130", "5.5"),
        ],
        "json_unit" => vec![
            complete("step 1", "221475.219140", "0.000123"),
            complete("step 2", "221475.519140", "0.000456"),
            complete("step 3", "221475.719140", "0.5"),
        ],
        "json_clocks_mixed" => vec![
            complete("request", "1700000000000000", "500"),
            complete("request", "1700000000001000", "500"),
            complete("kernel", "221475219140", "20.5"),
        ],
        _ => return None,
    };
    Some(json(&events))
}

fn archive_of(check: &str) -> Option<Vec<u8>> {
    let bytes = match check {
        "json_clock_assumed" => {
            let events = format!("[{}]", complete("step", "100", "50"));
            archive(
                &[("a.pftrace", &[with_realtime(START), placed(START + MS)])],
                &[("b.json", events.as_bytes())],
            )
        }
        // Too few for the import to move the server.
        "wall_clocks_contradicted" => client_and_server(rounds(5, 100, |_| 0), 3),
        "alignment_one_sided" => {
            let mut requests = rounds(5, 100, |_| 0);
            requests.iter_mut().for_each(every_other);
            client_and_server(requests, 0)
        }
        // Nothing ends where it arrives.
        "flow_undirected" => {
            let [client, server] = [0, AHEAD + 100_000].map(|after| {
                let event = |n: u64| of_flow(START + n * 10 * MS + after, FLOWS, 100 + n);
                (1..6).map(event).collect()
            });
            client_and_server([client, server], 0)
        }
        "boot_assumed" => archive(
            &[
                ("a.pftrace", &[with_realtime(START), placed(START + MS)]),
                ("b.pftrace", &[service(START + S), placed(START + S + MS)]),
                (
                    "c.pftrace",
                    &[with_realtime(START + 2 * S), placed(START + 2 * S + MS)],
                ),
            ],
            &[],
        ),
        "boots_differ" => {
            let restarted = snapshot(
                1,
                &[
                    (REALTIME, 1_700_000_000 * S + START + 3600 * S),
                    (BOOTTIME, 5 * S),
                ],
            );
            archive(
                &[
                    ("a.pftrace", &[with_realtime(START), placed(START + MS)]),
                    ("b.pftrace", &[restarted, placed(5 * S + MS)]),
                ],
                &[],
            )
        }
        "clock_source_mixed" => {
            let ask = |host| sync([round(host, 50 * S), round(host + 60 * S, 50 * S)].as_flattened());
            let on_it = |at| guest(placed(at + 50 * S));
            archive(
                &[
                    (
                        "a.pftrace",
                        &[service(START), ask(START), on_it(START + MS)],
                    ),
                    (
                        "b.pftrace",
                        &[on_it(START + S), ask(START + S), on_it(START + S + MS)],
                    ),
                ],
                &[],
            )
        }
        // Both record CPU 0 for 8 ms.
        "recorded_twice" => {
            let of = |start: u64| bundle(0, &[], &[start, start + 10 * MS]);
            archive(
                &[
                    ("a.pftrace", &[with_realtime(START), of(START)]),
                    ("b.pftrace", &[of(START + 2 * MS)]),
                ],
                &[],
            )
        }
        "part_unplaced" => {
            let mut named = snapshot(1, &[(MONOTONIC, START)]);
            if let Some(snapshot) = &mut named.clock_snapshot {
                snapshot.primary = Some(3);
            }
            let other = snapshot(1, &[(BOOTTIME, START)]);
            archive(
                &[
                    ("a.pftrace", &[named, packet(2, MONOTONIC, START + MS)]),
                    ("b.pftrace", &[other, placed(START + MS)]),
                ],
                &[],
            )
        }
        "member_left_out" => archive(
            &[("a.pftrace", &[service(START), placed(START + MS)])],
            &[("notes.txt", b"what was recorded\n"), ("b.pftrace", b"\n\n")],
        ),
        "manifest_entry_unused" => archive(
            &[("a.pftrace", &[service(START), placed(START + MS)])],
            &[(
                "manifest.json",
                br#"{"perfetto_manifest": {"version": 1, "files": [{"path": "b.pftrace", "machine": {"name": "phone"}}]}}"#,
            )],
        ),
        _ => return None,
    };
    Some(bytes)
}

/// Two recordings of a writer, one after the other.
fn joined() -> Vec<u8> {
    let recording = |start: u64, name: &str| {
        let thread = Message::new().number(1, 10).number(2, 11);
        let described = Message::new().number(1, 1).text(2, name).message(4, thread);
        let event = |ts: u64, event: Message| {
            let packet = Message::new().number(8, ts).number(10, 2);
            packet.message(11, event.number(11, 1))
        };
        let clock = |id: u32, ts: u64| Message::new().number(1, id.into()).number(2, ts);
        let clocks =
            Message::new().message(1, clock(BOOTTIME, start)).message(1, clock(MONOTONIC, start));
        encode::trace_of(&[
            Message::new().number(10, 2).message(6, clocks),
            Message::new().number(10, 2).message(60, described),
            event(start + MS, Message::new().number(9, 1).text(23, "step")),
            event(start + 5 * MS, Message::new().number(9, 2)),
        ])
    };
    [recording(START, "rank 0"), recording(START + 2 * MS, "rank 1")].concat()
}

fn trace_of(check: &str) -> Option<Vec<u8>> {
    let trace = match check {
        // The machine shows a millisecond more than it says when it is asked.
        "causality_contradicts" => synchronized(rounds(5, 100, |_| MS)),
        // Some of its events have the time of something else.
        "alignment_contradictory" => synchronized(rounds(6, 100, |n| n % 3 * 5 * MS)),
        "sequence_clock_undefined" => vec![
            service(START),
            packet(3, 64, START + MS),
            packet(3, 64, START + 2 * MS),
            placed(START + 3 * MS),
        ],
        "sequence_clock_shared" => vec![
            service(START),
            snapshot(2, &[(64, 1000), (BOOTTIME, START + 1000)]),
            packet(2, 64, 2000),
            packet(3, 64, 3000),
            packet(4, 64, 4000),
            packet(4, 64, 5000),
        ],
        "sequence_clock_early" => vec![
            service(START),
            incremental(2, START + MS),
            packet(2, 64, 500),
            // These deltas have no base; the one after their snapshot has one.
            Packet { defaults: None, ..packet(3, 64, 100) },
            packet(3, 64, 100),
            incremental(3, START + 2 * MS),
            packet(3, 64, 100),
            // A reading instead of a delta: the later snapshot places it.
            packet(4, 65, 7000),
            snapshot(4, &[(65, 8000), (BOOTTIME, START + 3 * MS)]),
        ],
        "recordings_joined" => return Some(joined()),
        "sequence_missing" => vec![service(START), packet(0, 64, 1000), placed(START + MS)],
        "clock_undefined" => vec![
            service(START),
            packet(2, MONOTONIC_RAW, START),
            packet(2, GPU, 5000),
            packet(2, GPU, 6000),
        ],
        // BOOTTIME in milliseconds.
        "unit_of_trace_time" => {
            let mut taken = snapshot(1, &[(BOOTTIME, 5000)]);
            for reading in taken.clock_snapshot.iter_mut().flat_map(|s| &mut s.clocks) {
                reading.unit = MS;
            }
            vec![taken, instant(2, None, 5100), instant(2, None, 5200)]
        }
        // LOCAL, without a reading beside BOOTTIME.
        "kernel_clock_local" => {
            vec![service(START), bundle(0, &[(5, 3)], &[5000, 6000]), placed(START + MS)]
        }
        // Two hours after the boot, and at 0.
        "time_outlier" => {
            let now = 7200 * S;
            vec![
                service(now),
                instant(2, None, now + MS),
                instant(2, None, 0),
                instant(2, None, now + 2 * MS),
                service(now + S),
            ]
        }
        "snapshot_of_zeros" => vec![
            snapshot(1, &[(REALTIME, 0), (MONOTONIC, 0), (BOOTTIME, 0)]),
            instant(2, Some(REALTIME), 1_795_262_400 * S),
        ],
        "boottime_is_unix" => {
            vec![instant(2, None, 1_795_262_400 * S), instant(2, None, 1_795_262_401 * S)]
        }
        // The buffer of CPU 1 begins 5 ms later.
        "trace_before_all_cpus" => vec![
            service(START),
            bundle(0, &[], &[START, START + 10 * MS]),
            bundle(1, &[(10, START + 5 * MS)], &[START + 6 * MS]),
        ],
        "clock_unconnected" => vec![
            service(START),
            snapshot(2, &[(GPU, 1000)]),
            packet(2, GPU, 2000),
            packet(2, GPU, 3000),
        ],
        "machine_unconnected" => vec![
            service(START),
            guest(service(900 * S)),
            guest(packet(2, MONOTONIC, 891 * S)),
            guest(packet(2, BOOTTIME, 902 * S)),
            placed(START + MS),
        ],
        "wall_clock_only" => vec![
            with_realtime(START),
            guest(snapshot(1, &[(REALTIME, 1_700_000_000 * S + START + S), (BOOTTIME, 900 * S)])),
            guest(packet(2, BOOTTIME, 900 * S + MS)),
            placed(START + MS),
        ],
        // Two rounds 10 s apart: the time from the end of the first to the beginning of the second
        // is none.
        "sync_slow" => {
            let rounds = [round(START, 50 * S), round(START + 10 * S, 50 * S)];
            vec![service(START), sync(rounds.as_flattened()), guest(placed(START + 61 * S))]
        }
        "sync_out_of_order" => {
            let [(first, _), (second, _)] = round(START, 50 * S);
            vec![
                service(START),
                sync(&[(first, START + 4000), (second, START + 1000)]),
                guest(placed(START + 50 * S + MS)),
            ]
        }
        // 100 ppm in 60 s.
        "machine_drift" => {
            let rounds = [round(START, 50 * S), round(START + 60 * S, 50 * S + 6 * MS)];
            vec![
                service(START),
                sync(rounds.as_flattened()),
                guest(placed(START + 50 * S + MS)),
                guest(placed(START + 110 * S)),
            ]
        }
        "trace_time_undefined" => vec![
            snapshot(2, &[(GPU, 1000), (MONOTONIC, START)]),
            packet(2, GPU, 2000),
            packet(2, MONOTONIC, START + MS),
        ],
        "clock_backwards" => vec![
            service(START),
            snapshot(2, &[(GPU, 5 * S), (BOOTTIME, START)]),
            packet(2, GPU, 5 * S + MS),
            snapshot(2, &[(GPU, 6 * S), (BOOTTIME, START + S)]),
            // It was set back, which is neither a wrap nor a restart.
            snapshot(2, &[(GPU, 6 * S - 500 * MS), (BOOTTIME, START + 2 * S)]),
            packet(2, GPU, 6 * S - 500 * MS + MS),
            packet(2, GPU, 6 * S - 500 * MS + 2 * MS),
            snapshot(2, &[(GPU, 5 * S + 500 * MS), (BOOTTIME, START + 3 * S)]),
            // The only path from its clock to BOOTTIME uses that clock.
            snapshot(3, &[(64, 1000), (GPU, 5 * S)]),
            packet(3, 64, 2000),
        ],
        // A 32-bit counter: it wraps after 1.3 s, 5.6 s and 9.9 s, and is read at the beginning and
        // after 10 s.
        "clock_wrapped" => {
            let read = |at: u64| (at + (1 << 32) - 1300 * MS) % (1 << 32);
            let taken = |at| snapshot(2, &[(64, read(at)), (BOOTTIME, START + at)]);
            let mut trace = vec![service(START), taken(0)];
            trace.extend((1..50).map(|n| packet(2, 64, read(n * 200 * MS))));
            trace.push(taken(10 * S));
            trace.extend((51..56).map(|n| packet(2, 64, read(n * 200 * MS))));
            trace
        }
        // A device that is reset after 8 s.
        "clock_restarted" => {
            let read = |at: u64| if at < 8 * S { at + 60 * S } else { at - 8 * S };
            let taken = |at| snapshot(2, &[(64, read(at)), (BOOTTIME, START + at)]);
            let mut trace = vec![service(START), taken(0)];
            trace.extend((1..25).map(|n| packet(2, 64, read(n * 200 * MS))));
            trace.push(taken(5 * S));
            trace.extend((26..50).map(|n| packet(2, 64, read(n * 200 * MS))));
            trace.push(taken(10 * S));
            trace.extend((51..56).map(|n| packet(2, 64, read(n * 200 * MS))));
            trace
        }
        "time_overflow" => {
            let mut seconds = snapshot(2, &[(GPU, 50), (BOOTTIME, START)]);
            for reading in seconds.clock_snapshot.iter_mut().flat_map(|s| &mut s.clocks) {
                if reading.id == GPU {
                    reading.unit = S;
                }
            }
            vec![service(START), seconds, packet(2, GPU, 51), packet(2, GPU, 60 * S)]
        }
        "state_lost" => {
            let needs = |timestamp| Packet {
                flags: NEEDS_INCREMENTAL_STATE,
                ..packet(2, BOOTTIME, timestamp)
            };
            let cleared =
                Packet { flags: INCREMENTAL_STATE_CLEARED, ..packet(2, BOOTTIME, START + 3 * MS) };
            vec![
                service(START),
                needs(START + MS),
                needs(START + 2 * MS),
                cleared,
                needs(START + 4 * MS),
            ]
        }
        "data_lost" => vec![
            service(START),
            packet(2, BOOTTIME, START + MS),
            Packet { previous_packet_dropped: 1, ..packet(2, BOOTTIME, START + 2 * MS) },
        ],
        "kernel_buffer_overrun" => vec![
            service(START),
            placed(START + MS),
            stats(FTRACE_STATS, ftrace_stats(1, &[(3, 100)])),
            stats(FTRACE_STATS, ftrace_stats(2, &[(3, 10_099), (8, 555)])),
        ],
        "setup_failed" => {
            let failed = Message::new().number(1, 1).text(6, "sched/sched_blocked_reason");
            vec![
                service(START),
                placed(START + MS),
                stats(FTRACE_STATS, failed.text(7, "raw_syscalls/sys_enter")),
            ]
        }
        "buffer_lost" => {
            let buffer = Message::new().number(18, 777).number(19, 42);
            vec![
                service(START),
                placed(START + MS),
                stats(TRACE_STATS, Message::new().message(1, buffer)),
            ]
        }
        "profile_lost" => {
            let mut lost = placed(START + MS);
            lost.payload = Some((66, Message::new().number(1, 3).number(17, 250).0));
            vec![service(START), lost]
        }
        "buffer_wrapped" => {
            let buffer = Message::new().number(3, 12_345);
            vec![
                service(START),
                placed(START + MS),
                stats(TRACE_STATS, Message::new().message(1, buffer)),
            ]
        }
        // Its shared memory was full, and the last flush failed.
        "writer_lost" => {
            let writer = Message::new().number(1, 2).number(4, 1);
            vec![
                service(START),
                packet(2, BOOTTIME, START + MS),
                Packet { previous_packet_dropped: 256, ..packet(2, BOOTTIME, START + 2 * MS) },
                stats(TRACE_STATS, Message::new().message(18, writer).number(15, 2)),
            ]
        }
        "kernel_events_lost" => {
            let event = Message::new().number(1, START + MS).number(2, 0);
            let bundle = Message::new().number(1, 0).message(2, event).number(3, 1);
            vec![service(START), stats(FTRACE_EVENTS, bundle), placed(START + MS)]
        }
        // From 10 to 20, and from 30 to the idle thread.
        "switches_missed" => {
            let switch = |at, prev, next| {
                let switch = Message::new().number(2, prev).number(4, 1).number(6, next);
                let event = Message::new().number(1, at).number(2, prev).message(4, switch);
                let bundle = Message::new().number(1, 0).message(2, event);
                stats(FTRACE_EVENTS, bundle)
            };
            vec![service(START), switch(START + MS, 10, 20), switch(START + 2 * MS, 30, 0)]
        }
        // 10 sleeps twice, and is woken once.
        "rows_doubtful" => {
            let switch = |at, prev, next| {
                let switch = Message::new().number(2, prev).number(4, u64::from(prev > 0));
                (at, prev, 4, switch.number(6, next))
            };
            let events = [
                switch(1, 0, 10),
                switch(2, 10, 0),
                (3, 0, 20, Message::new().number(2, 10)),
                switch(4, 0, 10),
                switch(5, 10, 0),
                switch(8, 0, 10),
                switch(9, 10, 0),
            ];
            let bundle = events.into_iter().fold(
                Message::new().number(1, 0),
                |bundle, (ms, pid, kind, fields)| {
                    let event = Message::new().number(1, START + ms * MS).number(2, pid);
                    bundle.message(2, event.message(kind, fields))
                },
            );
            vec![service(START), stats(FTRACE_EVENTS, bundle)]
        }
        "trace_damaged" => {
            let mut bytes = encode::trace(&[service(START), placed(START + MS)]);
            bytes.truncate(bytes.len() - 3);
            return Some(bytes);
        }
        "snapshot_rejected" => vec![
            service(START),
            snapshot(2, &[(GPU, 1000), (GPU, 1000), (BOOTTIME, START)]),
            snapshot(2, &[(GPU, 2000), (GPU, 2000), (BOOTTIME, START + MS)]),
            snapshot(2, &[(0, 2000), (BOOTTIME, START + MS)]),
            placed(START + MS),
        ],
        "primary_clock_late" => {
            let mut named = service(START + S);
            if let Some(snapshot) = &mut named.clock_snapshot {
                snapshot.primary = Some(3);
            }
            vec![service(START), placed(START + MS), named, placed(START + S + MS)]
        }
        "global_clock_unnamed" => vec![
            service(START),
            snapshot(2, &[(128, 1000), (BOOTTIME, START)]),
            packet(2, 128, 2000),
            snapshot(3, &[(0x8000_0000, 1000), (BOOTTIME, START)]),
            packet(3, 0x8000_0000, 2000),
            // The number is the hash of this name.
            snapshot(4, &[(GPU, 1000), (BOOTTIME, START)]),
            packet(4, GPU, 2000),
        ],
        "coarse_clock" => vec![
            snapshot(1, &[(MONOTONIC_COARSE, START - 3 * MS), (BOOTTIME, START)]),
            packet(2, MONOTONIC_COARSE, START + MS),
            packet(2, MONOTONIC_COARSE, START + 5 * MS),
        ],
        "no_snapshot" => vec![
            Packet { timestamp_clock_id: None, ..placed(START) },
            Packet { timestamp_clock_id: None, ..placed(START + MS) },
        ],
        "wrong_clock" => {
            const NOW: u64 = 1_795_262_400 * S;
            let both = |after| snapshot(1, &[(REALTIME, NOW + after), (BOOTTIME, START + after)]);
            // It is REALTIME, but no name tells this.
            let read =
                |after| Packet { timestamp_clock_id: None, ..packet(2, BOOTTIME, NOW + after) };
            vec![both(0), read(MS), read(2 * MS), both(S), placed(START + S)]
        }
        "placed_early" => vec![
            snapshot(2, &[(GPU, S), (BOOTTIME, START)]),
            packet(2, GPU, 2 * S),
            // Its reading, 50 µs later than by the first snapshot.
            snapshot(2, &[(GPU, 2 * S), (BOOTTIME, START + S + 50_000)]),
        ],
        "clock_not_nanoseconds" => {
            // 19.2 MHz: 52.08 ns a tick.
            let ticks = |after: u64| 1000 + after * 12 / 625;
            let read = |s: u64| snapshot(2, &[(GPU, ticks(s * S)), (BOOTTIME, START + s * S)]);
            let on_it = (0..20).map(|n| packet(2, GPU, ticks(n * 200 * MS)));
            (0..5).map(read).chain(on_it).collect()
        }
        "drift" => {
            // 300 ppm too slow.
            let gpu = |after: u64| 5 * S + ODD + after - after * 3 / 10_000;
            let start = START + ODD;
            let mut trace = Vec::new();
            for n in 0..50 {
                let after = n * 100 * MS;
                if n % 10 == 0 {
                    trace.push(snapshot(2, &[(GPU, gpu(after)), (BOOTTIME, start + after)]));
                }
                trace.push(packet(2, GPU, gpu(after + 99_900_000)));
                // Just before it; nearest neighbour puts it earlier.
                trace.push(placed(start + after + 99_880_000));
            }
            trace.push(snapshot(2, &[(GPU, gpu(5 * S)), (BOOTTIME, start + 5 * S)]));
            trace
        }
        "snapshot_outlier" => {
            let mut trace = Vec::new();
            for n in 0..10 {
                let late = if n == 5 { 300_000 } else { 0 };
                trace.push(snapshot(
                    2,
                    &[(GPU, 5 * S + ODD + n * S), (BOOTTIME, START + ODD + n * S + late)],
                ));
                if n != 5 {
                    trace.push(packet(2, GPU, 5 * S + n * S + MS));
                }
            }
            trace
        }
        "clock_stepped" => {
            let mut trace = Vec::new();
            for n in 0..6 {
                let suspended = if n < 3 { 0 } else { 20 * S };
                let boottime = START + n * S + suspended;
                trace.push(snapshot(1, &[(MONOTONIC, START + n * S), (BOOTTIME, boottime)]));
                trace.push(packet(2, MONOTONIC, START + n * S + MS));
            }
            trace
        }
        "snapshot_repeated" => vec![
            service(START),
            service(START + S),
            service(START + S),
            // The clock was read once, and its value written again.
            snapshot(2, &[(GPU, 1000), (BOOTTIME, START)]),
            snapshot(2, &[(GPU, 1000), (BOOTTIME, START + 5000)]),
            snapshot(2, &[(GPU, S), (BOOTTIME, START + S)]),
            packet(2, GPU, S),
        ],
        "far_from_snapshot" => {
            let gpu = [0, S + 20_000, 2 * S + 20_000, 3 * S];
            let read = |(n, gpu): (u64, u64)| {
                snapshot(2, &[(GPU, 5 * S + gpu), (BOOTTIME, START + n * S)])
            };
            let mut trace: Vec<Packet> = (0..).zip(gpu).map(read).collect();
            trace.push(packet(2, GPU, 5 * S + 3 * S));
            trace.push(packet(2, GPU, 5 * S + 60 * S));
            trace
        }
        "single_snapshot" => vec![
            service(START),
            snapshot(2, &[(GPU, 1000), (BOOTTIME, START)]),
            packet(2, GPU, 2000),
            packet(2, GPU, 60 * S),
            service(START + 60 * S),
        ],
        "paths_disagree" => vec![
            service(START + ODD),
            service(START + ODD + S),
            // It reads MONOTONIC half a millisecond later.
            snapshot(
                2,
                &[
                    (MONOTONIC, START + ODD + S + 500 * MS - 10 * S + 500_000),
                    (BOOTTIME, START + ODD + S + 500 * MS),
                ],
            ),
            service(START + ODD + 2 * S),
            placed(START + S),
        ],
        "flow_backwards" => return Some(encode::trace_of(&flows())),
        // A value of a track that is no counter's, and a counter without a value.
        "events_dropped" => {
            return Some(of_events(&[
                (MS, field::track_event(4, 2, "").number(30, 7)),
                (2 * MS, field::track_event(4, 2, "").number(30, 8)),
                (3 * MS, field::track_event(4, 3, "")),
            ]));
        }
        // Nothing says what 5 is; 6 has an entry, but no packet clears the state.
        "names_missing" => {
            let entry = Message::new().number(1, 6).text(2, "draw");
            let entries = Message::new().message(2, entry);
            let mut trace = events(&[
                (MS, field::track_event(3, 1, "").number(10, 5)),
                (2 * MS, field::track_event(3, 1, "").number(10, 6)),
                (3 * MS, field::track_event(3, 1, "whole")),
            ]);
            let last = trace.len() - 2;
            trace[last] = std::mem::take(&mut trace[last]).message(12, entries);
            return Some(encode::trace_of(&trace));
        }
        // The first of two spans ends before the second one, which it contains.
        "end_misplaced" => {
            return Some(of_events(&[
                (MS, field::track_event(1, 1, "read")),
                (2 * MS, field::track_event(1, 1, "write")),
                (3 * MS, field::track_event(2, 1, "read")),
                (5 * MS, field::track_event(2, 1, "write")),
            ]));
        }
        // The parser forgets the end of what it reads: the end of a request is that of its reading.
        "slice_never_ended" => {
            let request = |start| {
                [
                    (start, field::track_event(1, 1, "request")),
                    (start + MS, field::track_event(1, 1, "read")),
                    (start + 2 * MS, field::track_event(2, 1, "")),
                ]
            };
            let requests: Vec<_> = (0..4).flat_map(|n| request(n * 20 * MS)).collect();
            return Some(of_events(&requests));
        }
        _ => return None,
    };
    Some(encode::trace(&trace))
}

/// The fields of packets and track events.
mod field {
    pub const TIMESTAMP: u32 = 8;
    pub const SEQ: u32 = 10;
    pub const TRACK_EVENT: u32 = 11;
    pub const CLOCK: u32 = 58;
    pub const TRACK_DESCRIPTOR: u32 = 60;
    pub const CLOCK_SNAPSHOT: u32 = 6;

    /// A track event of a type, on a uuid, with a name if there is one.
    pub fn track_event(kind: u64, uuid: u64, name: &str) -> super::Message {
        let event = super::Message::new().number(9, kind).number(11, uuid);
        match name {
            "" => event,
            name => event.text(23, name),
        }
    }
}

/// Track events of a thread (uuid 1), of a track below it (uuid 2) and of a counter (uuid 3), at times after
/// the start.
fn events(events: &[(u64, Message)]) -> Vec<Message> {
    let on = |seq| Message::new().number(field::SEQ, seq);
    let readings = [(MONOTONIC, START - 10 * S), (BOOTTIME, START)];
    let readings = readings.iter().fold(Message::new(), |snapshot, &(id, value)| {
        snapshot.message(1, Message::new().number(1, id.into()).number(2, value))
    });
    let described = |uuid, descriptor: Message| {
        let descriptor = Message::new().number(1, uuid).and(&descriptor);
        on(2).message(field::TRACK_DESCRIPTOR, descriptor)
    };
    let thread = Message::new().number(1, 10).number(2, 11).text(5, "worker");
    let mut trace = vec![
        on(1).message(field::CLOCK_SNAPSHOT, readings),
        described(1, Message::new().message(4, thread)),
        described(2, Message::new().text(2, "load").number(5, 1)),
        described(3, Message::new().text(2, "size").message(8, Message::new())),
    ];
    let at =
        |after| on(2).number(field::CLOCK, BOOTTIME.into()).number(field::TIMESTAMP, START + after);
    let events = events.iter();
    trace
        .extend(events.map(|(after, event)| at(*after).message(field::TRACK_EVENT, event.clone())));
    trace
}

fn of_events(all: &[(u64, Message)]) -> Vec<u8> {
    encode::trace_of(&events(all))
}

/// A server whose clock is a millisecond early ends the flows that its clients begin. And a flow
/// that was recorded in the wrong order on one clock.
fn flows() -> Vec<Message> {
    let on = |seq| Message::new().number(field::SEQ, seq);
    let snapshot = |seq, clocks: &[(u32, u64)]| {
        let readings = clocks.iter().fold(Message::new(), |snapshot, &(id, value)| {
            snapshot.message(1, Message::new().number(1, id.into()).number(2, value))
        });
        on(seq).message(field::CLOCK_SNAPSHOT, readings)
    };
    let process = |uuid, pid, name: &str| {
        let process = Message::new().number(1, pid).text(6, name);
        let descriptor = Message::new().number(1, uuid).message(3, process);
        on(2).message(field::TRACK_DESCRIPTOR, descriptor)
    };
    let slice = |seq, clock: u32, ts, uuid, flows: Message| {
        let begin = Message::new().number(9, 1).number(11, uuid).text(23, "call").and(&flows);
        let end = Message::new().number(9, 2).number(11, uuid);
        [(ts, begin), (ts + 1000, end)].map(|(ts, event)| {
            on(seq)
                .number(field::CLOCK, clock.into())
                .number(field::TIMESTAMP, ts)
                .message(field::TRACK_EVENT, event)
        })
    };
    let sends = |id| Message::new().fixed64(47, id);
    let receives = |id| Message::new().fixed64(48, id);
    let mut trace = vec![
        snapshot(1, &[(MONOTONIC, START - 10 * S), (BOOTTIME, START)]),
        snapshot(3, &[(65, 1000), (BOOTTIME, START - MS)]),
        process(1, 10, "client"),
        process(2, 20, "server"),
    ];
    for n in 1..4 {
        let sent = START + n * 10 * MS;
        trace.extend(slice(2, BOOTTIME, sent, 1, sends(n)));
        // Received 100 n µs later, in truth.
        trace.extend(slice(3, 65, 1000 + n * 10 * MS + n * 100_000, 2, receives(n)));
    }
    // One that arrives in time, and one with a reused number.
    trace.extend(slice(2, BOOTTIME, START + 50 * MS, 1, sends(7)));
    trace.extend(slice(2, BOOTTIME, START + 51 * MS, 2, receives(7)));
    trace.extend(slice(2, BOOTTIME, START + 60 * MS, 2, receives(8)));
    trace.extend(slice(2, BOOTTIME, START + 61 * MS, 1, sends(8)));
    trace.extend(slice(2, BOOTTIME, START + 62 * MS, 2, receives(8)));
    trace.extend(slice(2, BOOTTIME, START + 63 * MS, 1, sends(8)));
    // On one clock.
    trace.extend(slice(2, BOOTTIME, START + 70 * MS, 2, receives(9)));
    trace.extend(slice(2, BOOTTIME, START + 72 * MS, 1, sends(9)));
    trace
}
