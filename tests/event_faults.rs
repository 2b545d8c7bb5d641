//! Events without a row, with the end of another slice, without an end, without a name (rules FE1 to FE4), and
//! the doubt about them (rules DT9, DT10): each report of tests/data/reports, each cause, and random spans
//! compared with the naive model.

use rusqlite::Connection;

use crate::support::events::*;
use crate::support::kernel::{self, bundle, new};
use crate::support::{Imported, Place, answer, data, import};
use timebase_lab::encode::{Message, trace_of};

/// Slices with their doubt, in the order of their begins.
const DOUBTS: &str = "SELECT name, ts, dur, depth, doubt FROM slice ORDER BY id";

/// The findings about events: check, events, the first packet.
const FOUND: &str = "SELECT check_name, events, packet_id FROM finding
    WHERE check_name IN ('events_dropped', 'end_misplaced', 'slice_never_ended', 'names_missing', 'state_lost')
    ORDER BY check_name, events";

fn report(name: &str) -> Imported {
    Imported::of(&data(&format!("reports/{name}")), &[])
}

/// The rows of a query, one line each.
fn lines(conn: &Connection, sql: &str) -> Vec<String> {
    kernel::lines(conn, sql)
}

/// The message and the advice of the findings of a check.
fn said(imported: &Imported, check: &str) -> Vec<(String, String)> {
    let sql = format!("SELECT message, advice FROM finding WHERE check_name = '{check}'");
    let rows = imported.rows(&sql).into_iter();
    rows.map(|row| <[String; 2]>::try_from(row).unwrap().into()).collect()
}

/// The summary of an import of a file.
fn summary(name: &str) -> String {
    let place = Place::new();
    let said = import(&data(&format!("reports/{name}")), &place.path("out.db"), &[]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    said.stderr
}

mod reports {
    use super::*;

    #[test]
    fn e11_crossing_spans_without_names_on_ends_look_like_nested_ones() {
        for (report, slices) in [
            ("01-overlap.pftrace", ["Event2 200000 150000 0 -", "Event3 280000 20000 1 -"]),
            (
                "31-skewed-child.pftrace",
                ["cudaLaunchKernel 9700 10300 0 -", "aten::mm 10000 2000 1 -"],
            ),
        ] {
            let imported = super::report(report);
            assert_eq!(lines(&imported.conn, DOUBTS), slices, "{report}");
            assert_eq!(lines(&imported.conn, FOUND), [""; 0], "{report}");
        }
        let help = answer(&["help", "slice"]);
        assert!(help.contains("cannot be told"), "{help}");
    }

    #[test]
    fn dt9_fe2_crossing_spans_with_names_on_ends_make_the_cut_one_doubtful() {
        let imported = report("01b-overlap-named.pftrace");
        let slices = ["Event2 200000 100000 0 -", "Event3 280000 20000 1 end_misplaced"];
        assert_eq!(lines(&imported.conn, DOUBTS), slices);
        assert_eq!(lines(&imported.conn, FOUND), ["end_misplaced 1 4"]);
        let found = said(&imported, "end_misplaced");
        let [(message, advice)] = found.as_slice() else {
            panic!("{found:?}");
        };
        for part in ["'Event3'", "'Event2'", "main (11)", "280000", "50 µs"] {
            assert!(message.contains(part), "{part}: {message}");
        }
        assert!(advice.contains("TrackEvent.track_uuid"), "{advice}");
        let summary = summary("01b-overlap-named.pftrace");
        assert!(summary.contains("\n  events      1 ended by another's end\n"), "{summary}");
    }

    #[test]
    fn fe4_names_of_a_sequence_that_never_begins_its_state_are_missing_and_nothing_is_lost() {
        let imported = report("02-interned-noflags.pftrace");
        let slices = ["- 5 10 0 -", "- 10 0 1 -", "- 20 5 0 -"];
        assert_eq!(lines(&imported.conn, DOUBTS), slices);
        let found = ["names_missing 1 2", "names_missing 2 3"];
        assert_eq!(lines(&imported.conn, FOUND), found);
        let said = said(&imported, "names_missing");
        let is_told = |part: &str| said.iter().any(|(_, advice)| advice.contains(part));
        assert!(is_told("SEQ_INCREMENTAL_STATE_CLEARED"), "{said:?}");
        assert!(is_told("from 1"), "{said:?}");
        let log = imported.rows("SELECT message FROM import_log");
        assert!(!log.is_empty());
        for line in log {
            assert!(!line[0].contains("lost"), "{line:?}");
        }
    }

    #[test]
    fn fe1_an_event_before_0_makes_no_row_and_is_told() {
        let imported = report("06-negative.pftrace");
        assert_eq!(lines(&imported.conn, DOUBTS), ["ok 10500 0 0 -"]);
        let packets = "SELECT id, ts FROM packet WHERE type = 'track_event' ORDER BY id";
        assert_eq!(lines(&imported.conn, packets), ["2 -4890000", "3 10500"]);
        assert_eq!(lines(&imported.conn, FOUND), ["events_dropped 1 2"]);
        let (message, _) = &said(&imported, "events_dropped")[0];
        assert!(message.contains("'early'") && message.contains("-4890000 ns"), "{message}");
        let summary = summary("06-negative.pftrace");
        assert!(summary.contains("\n  events      1 dropped (before zero)\n"), "{summary}");
        assert!(!summary.contains("100 %"), "{summary}");
    }

    #[test]
    fn fe1_a_manifest_that_moves_events_before_0_is_told_with_its_offset() {
        let imported = report("13-offset-negative.zip");
        let dropped = "SELECT cause, events, ts < 0 FROM event_fault";
        assert_eq!(lines(&imported.conn, dropped), ["before_zero 2 1"]);
        let file = "SELECT f.name FROM finding AS d JOIN trace_file AS f ON f.id = d.trace_file_id
            WHERE d.check_name = 'events_dropped'";
        assert_eq!(lines(&imported.conn, file), ["b.pftrace"]);
        let (_, advice) = &said(&imported, "events_dropped")[0];
        assert!(advice.contains("offset_ns") && advice.contains("manifest"), "{advice}");
        let summary = summary("13-offset-negative.zip");
        assert!(!summary.contains("100 %"), "{summary}");
        assert!(summary.contains("\n  events      2 dropped (before zero)\n"), "{summary}");
    }

    #[test]
    fn fe1_events_without_a_sequence_are_dropped() {
        let imported = report("17-no-seq.pftrace");
        assert_eq!(imported.count("SELECT count(*) FROM slice"), 0);
        assert_eq!(lines(&imported.conn, FOUND), ["events_dropped 3 1"]);
        let (message, advice) = &said(&imported, "events_dropped")[0];
        assert!(message.contains("'noseq'"), "{message}");
        assert!(advice.contains("trusted_packet_sequence_id"), "{advice}");
        let summary = summary("17-no-seq.pftrace");
        assert!(summary.contains("\n  events      3 dropped (no sequence id)\n"), "{summary}");
        assert!(summary.contains("3 of 3 on BOOTTIME") && !summary.contains("100 %"), "{summary}");
    }

    #[test]
    fn dt10_an_incremental_counter_is_doubtful_after_a_loss() {
        let imported = report("22-inc-counter-noflags.pftrace");
        let values = "SELECT ts, value, doubt FROM counter ORDER BY ts";
        assert_eq!(
            lines(&imported.conn, values),
            ["2000 100 -", "3000 110 -", "5000 10 packets_lost", "6000 20 packets_lost"]
        );
    }

    #[test]
    fn fe3_the_first_slice_that_stays_open_is_found() {
        let imported = report("24-missing-end.pftrace");
        let open = "SELECT ts, name FROM slice WHERE dur = -1 ORDER BY ts";
        let slices = ["10000 dispatch", "20000 dispatch", "30000 dispatch"];
        assert_eq!(lines(&imported.conn, open), slices);
        assert_eq!(lines(&imported.conn, FOUND), ["slice_never_ended 3 1"]);
        let (message, advice) = &said(&imported, "slice_never_ended")[0];
        for part in ["'dispatch'", "10000", "3 begins lack an end", "inside it"] {
            assert!(message.contains(part), "{part}: {message}");
        }
        assert!(advice.contains("atrace"), "{advice}");
    }

    #[test]
    fn fe1_values_of_a_track_that_is_no_counter_are_dropped() {
        let imported = report("producer-retrobus-counter-on-plain-track.pftrace");
        assert_eq!(imported.count("SELECT count(*) FROM counter"), 0);
        let found = "SELECT cause, events, name FROM event_fault";
        assert_eq!(lines(&imported.conn, found), ["not_a_counter 20 cycles (count)"]);
        let (message, advice) = &said(&imported, "events_dropped")[0];
        assert!(message.starts_with("20 events") && message.contains("process 1234"), "{message}");
        assert!(advice.contains("TrackDescriptor.counter"), "{advice}");
    }

    #[test]
    fn dt9_fe2_a_writers_own_example_cuts_a_slice() {
        let imported = report("producer-tracing-perfetto-misplaced-end.pftrace");
        let doubtful = "SELECT name, dur, doubt FROM slice WHERE doubt IS NOT NULL";
        assert_eq!(lines(&imported.conn, doubtful), ["write_response 9114 end_misplaced"]);
        // It lasted 1.053 ms.
        let owed =
            "SELECT m.end_ts - s.ts FROM misplaced_end AS m JOIN slice AS s ON s.id = m.slice_id";
        let owed = imported.count(owed);
        assert_eq!(owed / 1000, 1053, "{owed}");
        let summary = summary("producer-tracing-perfetto-misplaced-end.pftrace");
        assert!(summary.contains("1 ended by another's end"), "{summary}");
    }
}

mod ends {
    use super::*;

    /// Spans of O, A, B and perhaps a second B, with the names of those that have one on their ends.
    fn spans(named: &str, second: bool) -> Told {
        let end = |name: &str, at| match named.contains(name) {
            true => format!("E {name}@{at}"),
            false => format!("E@{at}"),
        };
        let mut story = vec!["B O@0".into(), "B A@1".into(), "B B@5".into(), end("A", 10)];
        if second {
            story.push("B B@12".to_owned());
        }
        story.push(end("B", 15));
        if second {
            story.push(end("B", 20));
        }
        story.push(end("O", 30));
        let story: Vec<&str> = story.iter().map(String::as_str).collect();
        super::story(&story)
    }

    fn doubtful(told: &Told) -> Vec<String> {
        told.gives_doubts();
        lines(
            &told.program.conn,
            "SELECT name, ts FROM slice WHERE doubt = 'end_misplaced' ORDER BY id",
        )
    }

    #[test]
    fn dt9_the_names_on_ends_decide_which_slices_are_doubtful() {
        assert_eq!(doubtful(&spans("OAB", false)), ["B 5"]);
        assert_eq!(doubtful(&spans("OAB", true)), ["B 5", "B 12"]);
        assert_eq!(doubtful(&spans("A", false)), ["O 0", "B 5"]);
        assert_eq!(doubtful(&spans("B", false)), ["A 1", "B 5"]);
        // Without names on ends, nothing tells crossing spans from nested ones.
        assert_eq!(doubtful(&spans("", false)), [""; 0]);
        assert_eq!(doubtful(&spans("", true)), [""; 0]);
    }

    #[test]
    fn dt9_without_the_end_that_is_owed_the_slices_since_are_right() {
        let story = ["B O@0", "B A@1", "B B@5", "E A@10", "B B@12", "E B@15", "E O@30"];
        assert_eq!(doubtful(&super::story(&story)), ["B 5"]);
        let owed = "SELECT reason, end_ts FROM misplaced_end";
        assert_eq!(lines(&super::story(&story).program.conn, owed), ["cut -"]);
    }

    #[test]
    fn dt9_a_complete_slice_that_is_cut_owes_nothing() {
        let told =
            story(&["B a@0", "X b@1000+100000", "B c@2000", "E a@5000", "B d@10000", "E b@20000"]);
        assert_eq!(doubtful(&told), ["b 1000", "c 2000"]);
    }

    #[test]
    fn dt9_ends_of_one_track_say_nothing_of_another() {
        let mut packets = vec![described(1, thread(10, 10)), described(2, thread(10, 11))];
        let story = ["B a@1", "B b@2", "E a@3", "B b@4 #2", "E b@5 #2", "E b@6 #2", "E b@7"];
        packets.extend(story.iter().map(|line| says(line)));
        assert_eq!(doubtful(&told(&packets)), ["b 2"]);
    }

    /// Many random spans, of few names, of which some have ends without names; the rows and their doubt are
    /// those of the model.
    #[test]
    fn dt9_random_ends_make_the_slices_of_the_model_doubtful() {
        let mut marked = 0;
        for seed in 0..60 {
            let mut packets = vec![described(1, thread(10, 10)), described(2, thread(10, 11))];
            let mut random = Random(seed * 7919 + 1);
            for time in 1..120 {
                let name = ["a", "b", "c", "-"][random.below(4)];
                let track = 1 + random.below(2);
                let line = match random.below(10) {
                    0..4 => format!("B {name}@{time}000 #{track}"),
                    4..9 => format!("E {name}@{time}000 #{track}"),
                    _ => format!("X {name}@{time}000+{}000 #{track}", random.below(9)),
                };
                packets.push(says(&line));
            }
            let told = told(&packets);
            told.gives_doubts();
            marked +=
                told.program.count("SELECT count(*) FROM slice WHERE doubt = 'end_misplaced'");
        }
        assert!(marked > 100, "{marked}");
    }

    /// A generator of numbers, for spans.
    struct Random(u64);

    impl Random {
        fn below(&mut self, limit: usize) -> usize {
            let Random(state) = self;
            *state ^= *state << 13;
            *state ^= *state >> 7;
            *state ^= *state << 17;
            (*state % limit as u64) as usize
        }
    }
}

impl Told {
    /// The program marks the slices that the model marks, and makes its rows.
    fn gives_doubts(&self) {
        let rows = "SELECT s.ts, s.dur, s.name, s.depth, k.type FROM slice AS s JOIN track AS k ON k.id = s.track_id
            ORDER BY s.id";
        let (program, model) = (&self.program.conn, self.model());
        assert_eq!(lines(program, rows), lines(model, rows));
        let marked = "SELECT DISTINCT s.ts, s.dur, s.name, s.depth FROM misplaced_end AS m
            JOIN slice AS s ON s.id = m.slice_id ORDER BY s.id";
        let expected = lines(model, marked);
        assert_eq!(lines(program, marked), expected);
        let doubt =
            "SELECT ts, dur, name, depth FROM slice WHERE doubt = 'end_misplaced' ORDER BY id";
        assert_eq!(lines(program, doubt), expected);
        let counted = "SELECT max(value) FROM stats WHERE name = 'slices_doubtful'";
        let count = i64::try_from(expected.len()).unwrap();
        assert_eq!(self.program.count(counted), count);
    }
}

mod open {
    use super::*;

    /// A thread with the slices that `story` has, and the findings about open ones.
    fn found(packets: &[Message]) -> Vec<String> {
        let imported = Imported::of_bytes(&trace_of(packets), &[]);
        let sql = "SELECT events, message FROM finding WHERE check_name = 'slice_never_ended'";
        lines(&imported.conn, sql)
    }

    fn thread_with(lines: impl Iterator<Item = String>) -> Vec<Message> {
        let mut packets = vec![described(UUID, thread(10, 10))];
        packets.extend(lines.map(|line| says(&line)));
        packets
    }

    #[test]
    fn fe3_a_recursion_when_the_trace_stops_is_not_found() {
        // f contains g and f, again and again; each next one begins soon.
        let recursion = (0..8).flat_map(|n| {
            let at = n * 100;
            [format!("B f@{at}"), format!("B g@{}", at + 10), format!("E@{}", at + 50)]
        });
        assert_eq!(found(&thread_with(recursion)), [""; 0]);
        // The same after many that ended, of which each contains others.
        let ended = (0..30).flat_map(|n| {
            let at = n * 100;
            [
                format!("B f@{at}"),
                format!("B f@{}", at + 10),
                format!("E@{}", at + 20),
                format!("E@{}", at + 30),
            ]
        });
        let recursion = (30..34).flat_map(|n| {
            let at = n * 100;
            [format!("B f@{at}"), format!("B g@{}", at + 10), format!("E@{}", at + 50)]
        });
        assert_eq!(found(&thread_with(ended.chain(recursion))), [""; 0]);
    }

    #[test]
    fn fe3_one_forgotten_end_of_a_usual_slice_is_found_by_its_name_without_numbers() {
        let usual = |from: u64, to: u64| {
            (from..to).flat_map(|n| {
                let at = n * 100;
                [
                    format!("B frame{n}@{at}"),
                    format!("B draw@{}", at + 10),
                    format!("E draw@{}", at + 40),
                    format!("E frame{n}@{}", at + 50),
                ]
            })
        };
        let trace = |before: u64| {
            let at = before * 100;
            let forgotten = [
                format!("B frame{before}@{at}"),
                format!("B draw@{}", at + 10),
                format!("E draw@{}", at + 40),
            ];
            let usual_before = usual(0, before).chain(forgotten);
            thread_with(usual_before.chain(usual(before + 1, before + 3)))
        };
        // One of a hundred that ended contains others: it is the one that lacks its end.
        let told = found(&trace(98));
        assert_eq!(told.len(), 1, "{told:?}");
        let expected =
            "1 'frame98', which begins at 9800 ns, is the first of its name that stays open";
        assert!(told[0].starts_with(expected), "{told:?}");
        assert!(told[0].ends_with("1 begin lacks an end, its own."), "{told:?}");
        assert_eq!(found(&trace(97)), [""; 0]);
    }

    #[test]
    fn fe3_what_is_open_when_the_trace_stops_is_not_found() {
        let loops = (0..40).flat_map(|n| {
            let at = n * 100;
            [format!("B task@{at}"), format!("E@{}", at + 50)]
        });
        let open = ["B task@5000", "B step@5010", "E@5020", "B step@5030"].map(str::to_owned);
        let whole = ["B loop@0".to_owned()].into_iter().chain(loops).chain(open);
        assert_eq!(found(&thread_with(whole)), [""; 0]);
    }

    /// Forgotten ends of sections of atrace, in the middle of a trace.
    #[test]
    fn fe3_sections_of_atrace_count_as_slices() {
        let print = |time: u64, text: &str| kernel::print(time, 10, text);
        let mut events = Vec::new();
        for n in 0..5 {
            let at = 1000 + n * 10_000;
            events.push(print(at, "B|10|loop"));
            events.push(print(at + 100, "B|10|work"));
            events.push(print(at + 200, "E|10"));
        }
        let found = found(&[bundle(0, &events)]);
        assert!(found[0].starts_with("5 'loop', which begins at 1000 ns"), "{found:?}");
    }
}

mod dropped {
    use super::*;

    /// Causes and numbers of events that make no row.
    fn faults(packets: &[Message]) -> Vec<String> {
        let imported = Imported::of_bytes(&trace_of(packets), &[]);
        let sql = "SELECT effect, cause, events FROM event_fault ORDER BY id";
        lines(&imported.conn, sql)
    }

    fn of_thread(event: Message) -> Vec<Message> {
        vec![described(UUID, thread(10, 10)), event]
    }

    #[test]
    fn fe1_each_cause_is_told() {
        let x = |duration: i64| phase(10, 'X', "x", UUID, new().signed(3, duration));
        let more = |values: &[u64], uuids: &[u64]| {
            let event = values
                .iter()
                .fold(named(INSTANT, "i", UUID), |event, value| event.number(12, *value));
            let event = uuids.iter().fold(event, |event, uuid| event.number(31, *uuid));
            of_thread(super::event(10, event))
        };
        let at = |fields: Message| new().number(8, 10).number(10, SEQUENCE).message(11, fields);
        let cases: Vec<(&str, Vec<Message>)> = vec![
            ("negative_duration 1", of_thread(x(-1))),
            (
                "overlap 1",
                [of_thread(x(10)), vec![phase(5_000, 'X', "y", UUID, new().number(3, 100))]]
                    .concat(),
            ),
            ("not_a_counter 1", of_thread(super::event(10, counts(UUID, 1)))),
            (
                "no_value 1",
                vec![described(2, counter(new())), super::event(10, unnamed(COUNTER, 2))],
            ),
            ("no_track_uuid 1", of_thread(at(new().number(9, COUNTER).number(30, 1)))),
            ("extra_values 1", more(&[1], &[])),
            ("extra_values 1", more(&[1], &[UUID])),
            (
                "no_time 1",
                of_thread(new().number(10, SEQUENCE).message(11, named(INSTANT, "i", UUID))),
            ),
            ("negative_time 1", of_thread(at(named(INSTANT, "i", UUID).signed(16, -1)))),
            ("no_reference 1", of_thread(at(named(INSTANT, "i", UUID).number(1, 1)))),
            ("unknown_type 1", of_thread(super::event(10, unnamed(9, UUID)))),
            ("unknown_type 1", of_thread(super::event(10, new().number(11, UUID)))),
            ("not_a_state 1", of_thread(super::event(10, named(STATE, "s", UUID)))),
            (
                "no_thread 1",
                vec![described(UUID, new().text(2, "t")), phase(10, 'B', "x", UUID, new())],
            ),
            ("no_id 1", of_thread(phase(10, 'b', "x", UUID, new()))),
            ("no_id 1", of_thread(phase(10, 's', "x", UUID, new()))),
            ("outside_slice 1", of_thread(phase(10, 's', "x", UUID, new().number(6, 1)))),
            (
                "no_track 1",
                vec![described(UUID, below(77)), super::event(10, named(INSTANT, "i", UUID))],
            ),
            ("incomplete 1", of_thread(phase(10, 'M', "thread_name", UUID, new()))),
        ];
        for (expected, packets) in cases {
            assert_eq!(faults(&packets), [format!("dropped {expected}")], "{packets:?}");
        }
    }

    #[test]
    fn fe1_a_stack_of_512_drops_what_is_deeper() {
        let begins = (0..514).map(|time| super::event(time, named(BEGIN, "deep", UUID)));
        let packets: Vec<Message> =
            [described(UUID, thread(10, 10))].into_iter().chain(begins).collect();
        let imported = Imported::of_bytes(&trace_of(&packets), &[]);
        let sql = "SELECT cause, events, packet_id, ts, name, pid, tid, seq_id FROM event_fault";
        assert_eq!(lines(&imported.conn, sql), ["too_deep 2 513 512 deep 10 10 2"]);
    }

    #[test]
    fn fe1_an_event_that_only_lacks_an_argument_is_not_dropped() {
        // An annotation without a name.
        let annotation = new().message(4, new().number(4, 7));
        let packets = of_thread(super::event(10, named(INSTANT, "i", UUID).and(&annotation)));
        let imported = Imported::of_bytes(&trace_of(&packets), &[]);
        assert_eq!(imported.count("SELECT count(*) FROM slice"), 1);
        assert_eq!(imported.count("SELECT count(*) FROM event_fault"), 0);
    }

    /// Events that need state: on a sequence that never begins it, and on one that lost it.
    #[test]
    fn fe1_state_that_never_begins_is_told_apart_from_lost_state() {
        let never = [described(UUID, thread(10, 10)), needs(event(10, named(INSTANT, "i", UUID)))];
        assert_eq!(faults(&never), ["dropped state_never_cleared 1"]);
        let imported = Imported::of_bytes(&trace_of(&never), &[]);
        assert_eq!(lines(&imported.conn, FOUND), ["events_dropped 1 1"]);
        let log = "SELECT count(*) FROM import_log WHERE message LIKE '%lost%'";
        assert_eq!(imported.count(log), 0);
        let lost = [
            clear(),
            described(UUID, thread(10, 10)),
            loss(),
            needs(event(10, named(INSTANT, "i", UUID))),
        ];
        assert_eq!(faults(&lost), ["dropped state_lost 1"]);
        let imported = Imported::of_bytes(&trace_of(&lost), &[]);
        assert_eq!(lines(&imported.conn, FOUND), ["state_lost 1 3"]);
    }
}

mod names {
    use super::*;

    fn faults(packets: &[Message]) -> Vec<String> {
        let mut trace = vec![described(UUID, thread(10, 10))];
        trace.extend_from_slice(packets);
        let imported = Imported::of_bytes(&trace_of(&trace), &[]);
        let sql =
            "SELECT cause, events, packet_id, ts, tid FROM event_fault WHERE effect = 'unnamed'";
        lines(&imported.conn, sql)
    }

    #[test]
    fn fe4_each_cause_of_a_missing_name_is_told() {
        let defined = |event: Message, iid| with(event, &[(EVENT_NAMES, iid, "a")]);
        let instant = |time, iid| event(time, called(INSTANT, iid));
        // Never defined.
        assert_eq!(faults(&[clear(), instant(10, 5), instant(11, 5)]), ["not_defined 2 2 10 10"]);
        assert_eq!(faults(&[instant(10, 5)]), ["not_defined 1 1 10 10"]);
        // 0, with an entry, and without one: an event that has no name.
        assert_eq!(faults(&[clear(), defined(instant(10, 0), 0)]), ["iid_zero 1 2 10 10"]);
        assert_eq!(faults(&[clear(), instant(10, 0)]), [""; 0]);
        // Defined, but the state never begins.
        assert_eq!(faults(&[defined(instant(10, 5), 5)]), ["state_never_cleared 1 1 10 10"]);
        // Before the state begins, and after a loss.
        assert_eq!(faults(&[defined(instant(10, 5), 5), clear()]), ["state_lost 1 1 10 10"]);
        assert_eq!(faults(&[instant(10, 5), clear()]), ["state_lost 1 1 10 10"]);
        assert_eq!(faults(&[clear(), loss(), instant(10, 5)]), ["state_lost 1 3 10 10"]);
        // Cleared again: an entry of before does not count.
        assert_eq!(
            faults(&[clear(), defined(instant(10, 5), 5), clear(), instant(20, 5)]),
            ["not_defined 1 4 20 10"]
        );
    }

    #[test]
    fn fe4_ends_and_values_need_no_name() {
        let ends = [
            clear(),
            event(10, named(BEGIN, "a", UUID)),
            event(20, called(END, 5)),
            described(2, counter(new())),
            event(30, counts(2, 7).number(10, 5)),
        ];
        assert_eq!(faults(&ends), [""; 0]);
    }
}

mod values {
    use super::*;

    const DOUBTFUL: &str = "SELECT c.ts, c.value, c.doubt FROM counter AS c
        JOIN counter_track AS k ON k.id = c.track_id ORDER BY c.ts, c.value";

    #[test]
    fn dt10_values_after_a_loss_are_doubtful_until_the_state_is_cleared() {
        let incremental = counter(new().number(5, 1));
        let trace = told(&[
            clear(),
            described(2, incremental),
            described(3, counter(new())),
            event(10, counts(2, 100)),
            loss(),
            event(20, counts(2, 5)),
            // A counter that is not incremental does not lack anything.
            event(30, counts(3, 5)),
            clear(),
            event(40, counts(2, 7)),
        ]);
        trace.gives(DOUBTFUL, &["10 100 -", "20 5 packets_lost", "30 5 -", "40 7 -"]);
        let counted = "SELECT max(value) FROM stats WHERE name = 'values_doubtful'";
        assert_eq!(trace.program.count(counted), 1);
    }

    #[test]
    fn dt10_extra_values_and_values_before_their_descriptor_are_doubtful_too() {
        let extra = named(INSTANT, "i", UUID).number(12, 3).number(31, 2);
        let trace = told(&[
            described(UUID, thread(10, 10)),
            event(10, counts(2, 100)),
            event(15, extra.clone()).number(42, 1),
            event(20, counts(2, 5)),
            described(2, counter(new().number(5, 1))),
        ]);
        trace.gives(DOUBTFUL, &["10 100 -", "15 3 packets_lost", "20 8 packets_lost"]);
    }

    /// The first packet of a sequence says that packets before it were lost, although there were none.
    #[test]
    fn dt10_the_first_packet_of_a_sequence_reports_no_loss() {
        let trace = told(&[
            event(10, counts(2, 100)).number(42, 1),
            described(2, counter(new().number(5, 1))),
            event(20, counts(2, 5)),
        ]);
        trace.gives(DOUBTFUL, &["10 100 -", "20 105 -"]);
    }
}
