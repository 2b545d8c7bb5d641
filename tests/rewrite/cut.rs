//! `timebase rewrite --from --to`: what is cut out is imported as it was (rules CT).

mod tables;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use timebase_import::{
    Monitor, Options, RewriteTo, Rewritten, Source, Views, Window, cut, import, rewrite,
};
use timebase_lab::encode::{Message, trace_of};

use crate::model::threads::{
    frame_generate, generate, generate_events, generate_generic, generate_gpu, kernel_generate,
    profile_generate, small_generate,
};
use crate::support::{Place, answer, count, data, files, rows, run};
use tables::{differences, prepare, timed};

fn options() -> Options {
    let mut options = Options::default();
    options.views = Views::All;
    options.overwrite = true;
    options
}

/// A trace and its database.
struct Whole {
    place: Place,
    trace: PathBuf,
    database: Connection,
    /// Whether rows that CT1a excepts are not compared.
    has_exceptions: bool,
}

impl Whole {
    /// `None` if the trace cannot be imported.
    fn of(trace: &Path) -> Option<Whole> {
        let place = Place::new();
        let database = imported(trace, &place.path("a.db"))?;
        prepare(&database, None);
        Some(Whole { place, trace: trace.to_owned(), database, has_exceptions: false })
    }

    fn of_bytes(trace: &[u8], has_exceptions: bool) -> Option<Whole> {
        let place = Place::new();
        let trace = place.write("s.pftrace", trace);
        let database = imported(&trace, &place.path("a.db"))?;
        prepare(&database, has_exceptions.then_some(&database));
        Some(Whole { place, trace, database, has_exceptions })
    }

    fn cut(&self, trace: &Path, window: Window, to: &str) -> Rewritten {
        let (source, to) = (Source::File(trace.to_owned()), self.place.path(to));
        let to = RewriteTo::File(&to);
        cut(&[source], to, &options(), window, &Monitor::default()).unwrap()
    }

    /// The differences between the window in the trace and in what is cut out.
    fn differences(&self, window: Window) -> Vec<String> {
        self.cut(&self.trace, window, "o.pftrace");
        let o = self.place.path("o.pftrace");
        let b = imported(&o, &self.place.path("b.db")).expect("what is cut out is imported");
        prepare(&b, self.has_exceptions.then_some(&self.database));
        let mut found = differences(&self.database, &b, window);
        // CT6
        self.cut(&o, window, "oo.pftrace");
        if fs::read(&o).unwrap() != fs::read(self.place.path("oo.pftrace")).unwrap() {
            found.push("CT6: another trace".to_owned());
        }
        let again = self.place.path("again.pftrace");
        let to = RewriteTo::File(&again);
        rewrite(&[Source::File(o.clone())], to, &options(), &Monitor::default()).unwrap();
        if fs::read(&o).unwrap() != fs::read(again).unwrap() {
            found.push("RW10: another trace".to_owned());
        }
        found
    }

    /// Windows: in the middle, to the end, from the begin, at a packet's time, and a short one.
    fn windows(&self, seed: u64) -> Vec<Window> {
        let bounds = "SELECT start_ts, end_ts FROM trace_bounds";
        let bounds = self.database.query_row(bounds, [], |row| Ok((row.get(0)?, row.get(1)?)));
        let Ok((start, end)): Result<(i64, i64), _> = bounds else {
            return Vec::new();
        };
        // Times may be far apart.
        let all = end.saturating_sub(start).clamp(1, i64::MAX / 100);
        let at = format!(
            "SELECT ts FROM packet WHERE ts BETWEEN {start} AND {end} ORDER BY (id + 1) * {} % 7919 LIMIT 1",
            seed + 17
        );
        let packet = self.database.query_row(&at, [], |row| row.get(0)).unwrap_or(start);
        let short = start + all / 100 * (seed as i64 % 97);
        let windows = [
            (start + all * 2 / 5, start + all * 3 / 5 + 1),
            (start + all * 4 / 5, end + 1),
            (start, start + all / 4 + 1),
            (packet, packet + all / 7 + 1),
            (short, short + (all / 1000).max(1)),
        ];
        windows.map(|(from, to)| Window { from, to }).to_vec()
    }
}

fn imported(trace: &Path, to: &Path) -> Option<Connection> {
    let source = Source::File(trace.to_owned());
    import(&[source], to, &options(), &Monitor::default()).ok()?;
    Some(Connection::open(to).unwrap())
}

/// Checks five windows of a trace.
fn check(name: &str, whole: &Whole, seed: u64, wrong: &mut Vec<String>) -> usize {
    let windows = whole.windows(seed);
    let count = windows.len();
    for window in windows {
        let found = whole.differences(window);
        if !found.is_empty() {
            wrong.push(format!("{name}, {window:?}:\n{}", found.join("\n")));
        }
    }
    count
}

#[test]
fn ct1_ct6_rw10_windows_of_every_recorded_trace_are_imported_alike() {
    let (mut wrong, mut windows) = (Vec::new(), 0);
    // The folders inside have random traces, too, to which CT1a applies.
    let is_recorded = |trace: &PathBuf| trace.parent().is_some_and(|at| at.ends_with("data"));
    for trace in files("tests/data", &["pftrace"]).into_iter().filter(is_recorded) {
        if let Some(whole) = Whole::of(&trace) {
            windows += check(&trace.display().to_string(), &whole, 1, &mut wrong);
        }
    }
    assert!(wrong.is_empty(), "{} of {windows}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(windows >= 70, "{windows}");
}

/// A generator of random traces.
type Generator = fn(u64) -> Vec<Message>;

/// The generators, and the least share of their windows without a difference, in percent, of many traces. The rest
/// breaks rules in ways of which each is rare: a CPU's switches in both encodings before its buffer began, queues of
/// GPUs whose names change, keys of slices that begin twice.
const GENERATORS: [(&str, Generator, usize); 8] = [
    ("threads", generate::trace, 92),
    ("events", generate_events::trace, 91),
    ("generic", generate_generic::trace, 97),
    ("gpu", generate_gpu::sound_trace, 94),
    ("kernel", kernel_generate::trace, 91),
    ("frames", frame_generate::trace, 90),
    ("profiles", profile_generate::trace, 98),
    ("small", small_generate::trace_of_states, 90),
];

/// Checks windows of random traces. Each has to be cut alike, or the share of its generator.
fn check_random(seeds: std::ops::Range<u64>, is_each: bool) {
    let mut failed = Vec::new();
    for (name, trace, least) in GENERATORS {
        let (mut wrong, mut windows) = (Vec::new(), 0);
        for seed in seeds.clone() {
            let trace = trace_of(&timed(trace(seed)));
            if let Some(whole) = Whole::of_bytes(&trace, true) {
                windows += check(&format!("{name} {seed}"), &whole, seed, &mut wrong);
            }
        }
        println!("{name}: {} of {windows} windows differ", wrong.len());
        let is_other = |found: &&String| found.contains("CT6") || found.contains("RW10");
        failed.extend(wrong.iter().find(is_other).cloned());
        let least = if is_each { 100 } else { least };
        let alike = 100 * (windows - wrong.len()) / windows;
        if alike < least {
            failed.push(format!("{name}: {alike} %\n{}", wrong.join("\n")));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn ct1_ct6_rw10_windows_of_random_traces_are_imported_alike() {
    check_random(0..8, true);
}

#[test]
#[ignore = "heavy: minutes"]
fn ct1_ct6_rw10_windows_of_many_random_traces_are_mostly_imported_alike() {
    let seeds = std::env::var("TIMEBASE_SEEDS").ok().and_then(|seeds| seeds.parse().ok());
    check_random(0..seeds.unwrap_or(40), false);
}

#[test]
fn ct1_rw9_a_window_of_several_traces_is_imported_alike() {
    let place = Place::new();
    let mut archive = zip::ZipWriter::new(fs::File::create(place.path("both.zip")).unwrap());
    for name in ["desktop.pftrace", "nearest.pftrace"] {
        archive.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(&fs::read(data(name)).unwrap()).unwrap();
    }
    archive.finish().unwrap();
    let whole = Whole::of(&place.path("both.zip")).unwrap();
    let mut wrong = Vec::new();
    assert_eq!(check("both.zip", &whole, 1, &mut wrong), 5);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(fs::read(whole.place.path("o.pftrace")).unwrap().starts_with(b"PK"));
}

/// A packet without a timestamp has the greatest time before it, and gets it in the new trace.
#[test]
fn ct2_a_packet_without_a_timestamp_is_carried_at_its_time() {
    let (_, b) = window_of(&[
        snapshot(),
        Message::new().number(8, 1500).number(10, 7).message(45, Message::new()),
        Message::new().number(10, 7).message(53, Message::new().number(1, 1).number(2, 900)),
        Message::new().number(8, 1800).number(10, 7).message(45, Message::new()),
        at(2500, Message::new().number(9, 3).text(23, "x")),
    ]);
    let stages = "SELECT ts, dur FROM slice WHERE name GLOB 'render stage*'";
    assert_eq!(rows(&b, stages), [["1500", "900"]]);
}

#[test]
fn ct5_a_state_that_is_lost_before_the_window_still_has_its_names() {
    let interned = Message::new().message(2, Message::new().number(1, 1).text(2, "kept"));
    let state = Message::new().number(8, 1000).number(10, 7).number(13, CLEARED);
    let event = |time: u64, flags: u64| {
        let event = Message::new().number(9, 3).number(10, 1);
        Message::new().number(8, time).number(10, 7).number(13, flags).message(11, event)
    };
    let (_, b) = window_of(&[
        snapshot(),
        state.message(12, interned),
        Message::new().number(8, 1200).number(10, 7).number(42, 1),
        event(2500, 0),
        event(2600, NEEDED),
    ]);
    assert_eq!(rows(&b, "SELECT ts, name FROM slice"), [["2500", "kept"]]);
}

/// Interned data with this many names, functions, frames and callstacks. Callstack N has frame N, and is in function N.
fn many_names(count: u64) -> Message {
    let named = |iid: u64, text: &str| Message::new().number(1, iid).text(2, text);
    let path = named(1, "the library");
    let mapping = Message::new().number(1, 1).number(4, 4096).number(5, 8192).number(7, 1);
    let mut interned = Message::new().message(17, path).message(19, mapping);
    for iid in 1..=count {
        let frame = Message::new().number(1, iid).number(2, iid).number(3, 1).number(4, iid);
        interned = interned
            .message(2, named(iid, &format!("slice {iid} of many")))
            .message(29, named(iid, &format!("text {iid} of many")))
            .message(5, named(iid, &format!("function {iid} of many")))
            .message(6, frame)
            .message(7, Message::new().number(1, iid).number(2, iid));
    }
    interned
}

/// The numbers of the names, texts and functions that are in bytes.
fn names_in(bytes: &[u8], kind: &str) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let parts = text.split(" of many").filter_map(|part| part.rsplit_once(kind));
    parts.map(|(_, number)| number.to_owned()).filter(|number| number.len() < 4).collect()
}

/// A cut adds packets of the machine that the trace begins with, and no other machine.
#[test]
fn ct3_machines_have_their_order() {
    let of_guest = || Message::new().number(98, 77).number(10, 1);
    let (_, b) = window_of(&[
        of_guest().message(6, clocks()),
        of_guest().number(8, 2600).message(11, Message::new().number(9, 3).text(23, "x")),
    ]);
    assert_eq!(rows(&b, "SELECT id, raw_id FROM machine"), [["0", "77"]]);
}

#[test]
fn ct3_interned_names_and_stacks_that_nothing_uses_are_left_out() {
    let annotation = Message::new().text(10, "note").number(17, 7);
    let dictionary = Message::new().text(10, "all").message(11, annotation);
    let tick = Message::new().number(9, 3).number(10, 3).number(11, 5).message(4, dictionary);
    let sample = Message::new().number(1, 0).number(2, 30).number(3, 31).number(4, 8);
    let sampled = Message::new().number(8, 2600).number(10, 7).number(13, NEEDED);
    let (whole, b) = window_of(&[
        snapshot(),
        Message::new().number(10, 7).number(13, CLEARED).message(12, many_names(50)),
        at(1000, Message::new().number(9, 3).number(10, 2)),
        at(2500, tick),
        sampled.message(66, sample),
        at(3500, Message::new().number(9, 3).number(10, 4)),
    ]);
    let slices = "SELECT name, args ->> '$.\"debug.all.note\"' FROM slice";
    assert_eq!(rows(&b, slices), [["slice 3 of many", "text 7 of many"]]);
    let frames = "SELECT f.name, m.name FROM stack_profile_frame AS f JOIN stack_profile_mapping AS m ON m.id = f.mapping";
    assert_eq!(rows(&b, frames), [["function 8 of many", "/the library"]]);
    let o = fs::read(whole.place.path("o.pftrace")).unwrap();
    let found = ["slice ", "text ", "function "].map(|kind| names_in(&o, kind));
    assert_eq!(found, [["3"], ["7"], ["8"]]);
}

/// An entry that comes after a loss does not count, so all entries come before it.
#[test]
fn ct3_ct5_names_that_wait_are_there_after_a_loss() {
    let event = |time: u64, name: u64, flags: u64| {
        Message::new()
            .number(8, time)
            .number(10, 7)
            .number(13, flags)
            .message(11, Message::new().number(9, 3).number(10, name).number(11, 5))
    };
    let (_, b) = window_of(&[
        snapshot(),
        Message::new().number(10, 7).number(13, CLEARED).message(12, many_names(9)),
        event(2100, 2, NEEDED),
        event(2500, 3, 0).number(42, 1),
        event(2600, 4, 0),
    ]);
    let names = rows(&b, "SELECT name FROM slice ORDER BY ts");
    assert_eq!(names, [["slice 2 of many"], ["slice 3 of many"], ["slice 4 of many"]]);
}

const BOOTTIME: u64 = 6;
const CLEARED: u64 = 1;
const NEEDED: u64 = 2;

fn snapshot() -> Message {
    Message::new().number(10, 1).message(6, clocks())
}

/// Readings of BOOTTIME and MONOTONIC.
fn clocks() -> Message {
    [(BOOTTIME, 500), (3, 100)].iter().fold(Message::new(), |clocks, (id, reading)| {
        clocks.message(1, Message::new().number(1, *id).number(2, *reading))
    })
}

/// A track event of sequence 7.
fn at(time: u64, event: Message) -> Message {
    Message::new().number(8, time).number(10, 7).number(13, NEEDED).message(11, event)
}

/// The window from 2000 to 3000 of a trace, imported.
fn window_of(packets: &[Message]) -> (Whole, Connection) {
    let whole = Whole::of_bytes(&trace_of(packets), false).unwrap();
    let window = Window { from: 2000, to: 3000 };
    assert_eq!(whole.differences(window), Vec::<String>::new());
    let b = Connection::open(whole.place.path("b.db")).unwrap();
    (whole, b)
}

#[test]
fn ct2_ct5_open_slices_and_the_names_that_they_refer_to_stay() {
    let named = |iid: u64, name: &str| Message::new().number(1, iid).text(2, name);
    let interned = Message::new()
        .message(2, named(1, "work"))
        .message(2, named(2, "tick"))
        .message(2, named(3, "gone"));
    let defaults = Message::new().message(11, Message::new().number(11, 5));
    let track = Message::new().number(1, 5).message(4, Message::new().number(1, 30).number(2, 31));
    let state = Message::new()
        .number(10, 7)
        .number(13, CLEARED)
        .message(12, interned)
        .message(59, defaults)
        .message(60, track);
    let begin = |iid: u64| Message::new().number(9, 1).number(10, iid);
    let end = || Message::new().number(9, 2);
    let (_, b) = window_of(&[
        snapshot(),
        state,
        at(1100, begin(1)),
        at(1200, begin(3)),
        at(1300, end()),
        at(2500, Message::new().number(9, 3).number(10, 2)),
        at(3500, end()),
    ]);
    let slices = rows(&b, "SELECT ts, dur, name, depth FROM slice ORDER BY ts");
    assert_eq!(slices, [["1100", "-1", "work", "0"], ["2500", "0", "tick", "1"]]);
    assert_eq!(rows(&b, "SELECT tid FROM thread WHERE tid > 0"), [["30"], ["31"]]);
}

/// A counter whose parent is unknown has no track (U4), and the counter behind it has one.
#[test]
fn ct2_a_value_behind_one_whose_track_cannot_exist_is_carried() {
    let counter = |uuid: u64, name: &str| {
        Message::new().number(1, uuid).text(2, name).message(8, Message::new())
    };
    let descriptor = |track: Message| Message::new().number(10, 7).message(60, track);
    let both = Message::new().number(9, 3).text(23, "x");
    let both = both.number(31, 9).number(12, 5).number(31, 10).number(12, 6);
    let thread = Message::new().number(1, 5).message(4, Message::new().number(1, 30).number(2, 31));
    let (_, b) = window_of(&[
        snapshot(),
        Message::new().number(10, 7).number(13, CLEARED).message(60, thread),
        descriptor(counter(9, "lost").number(5, 77)),
        descriptor(counter(10, "kept").number(5, 5)),
        at(1500, both.number(11, 5)),
        at(2500, Message::new().number(9, 3).text(23, "y").number(11, 5)),
    ]);
    let values =
        "SELECT c.ts, k.name, value FROM counter AS c JOIN track AS k ON k.id = c.track_id";
    assert_eq!(rows(&b, values), [["1500", "kept", "Real(6.0)"]]);
}

#[test]
fn ct5_deltas_that_are_left_out_are_added_to_the_next_one() {
    let counter =
        Message::new().number(1, 9).text(2, "bytes").message(8, Message::new().number(5, 1));
    let value = |value: u64| Message::new().number(9, 4).number(11, 9).number(30, value);
    let (_, b) = window_of(&[
        snapshot(),
        Message::new().number(10, 7).number(13, CLEARED).message(60, counter),
        at(1000, value(5)),
        at(1200, value(1)),
        at(1500, value(7)),
        at(2500, value(2)),
        at(3500, value(8)),
    ]);
    let values = rows(&b, "SELECT ts, CAST(value AS INTEGER) FROM counter ORDER BY ts");
    assert_eq!(values, [["1500", "13"], ["2500", "15"]]);
}

#[test]
fn ct2k_the_thread_that_ran_at_the_begin_is_known() {
    let compact = Message::new()
        .text(5, "a")
        .text(5, "b")
        .packed(1, &[1000, 500, 500, 1000])
        .packed(2, &[1, 1, 1, 1])
        .packed(3, &[11, 12, 11, 12])
        .packed(4, &[120, 120, 120, 120])
        .packed(6, &[0, 1, 0, 1]);
    let bundle = Message::new().number(1, 0).message(4, compact);
    let (_, b) =
        window_of(&[snapshot(), Message::new().number(8, 3100).number(10, 2).message(1, bundle)]);
    let sched = "SELECT s.ts, s.dur, t.tid, t.name FROM sched AS s JOIN thread AS t USING (utid)";
    assert_eq!(rows(&b, sched), [["1500", "500", "12", "b"], ["2000", "-1", "11", "a"]]);
}

/// The wakeup at 1500 stands behind the switch at 1800 in the file, and the thread of that time woke it.
#[test]
fn ct2k_the_waker_of_a_carried_wakeup_is_known() {
    let switch = |at: u64, pid: u64| {
        let column = |of: Message| of.packed(2, &[1]).packed(4, &[120]).packed(6, &[0]);
        column(Message::new().text(5, "a").packed(1, &[at]).packed(3, &[pid]))
    };
    let waking = Message::new()
        .text(5, "w")
        .packed(7, &[1500])
        .packed(8, &[20])
        .packed(9, &[0])
        .packed(10, &[120])
        .packed(11, &[0]);
    let bundle = |columns: Message| {
        let bundle = Message::new().number(1, 0).message(4, columns);
        Message::new().number(8, 3100).number(10, 2).message(1, bundle)
    };
    let columns = [switch(1000, 11), switch(1800, 12), waking, switch(2500, 13)];
    let packets = [&[snapshot()][..], &columns.map(bundle)].concat();
    let (whole, b) = window_of(&packets);
    let woken = "SELECT s.ts, w.tid FROM thread_state AS s JOIN thread AS t USING (utid) JOIN thread AS w ON w.utid = waker_utid
                 WHERE t.tid = 20";
    assert_eq!(rows(&whole.database, woken), [["1500", "11"]]);
    assert_eq!(rows(&b, woken), [["1500", "11"]]);
}

#[test]
fn ct4_the_new_trace_says_where_it_is_from() {
    let (whole, b) = window_of(&[snapshot(), at(2500, Message::new().number(9, 3).text(23, "x"))]);
    let started = "SELECT value FROM fact WHERE name = 'all_data_source_started_ns'";
    assert_eq!(rows(&b, started), [["2000"]]);
    let own = "SELECT count(*) FROM packet WHERE type = 'trace_attributes' AND seq_id = 1668641841";
    assert_eq!(count(&b, own), 1);
    // Another window replaces it.
    whole.cut(&whole.place.path("o.pftrace"), Window { from: 2400, to: 2600 }, "other.pftrace");
    let other = imported(&whole.place.path("other.pftrace"), &whole.place.path("c.db")).unwrap();
    assert_eq!(rows(&other, started), [["2400"]]);
    assert_eq!(count(&other, own), 1);
}

#[test]
fn ct1_a_window_that_is_none_is_an_error_and_leaves_no_file() {
    let place = Place::new();
    let out = place.path("out.pftrace").display().to_string();
    let trace = data("desktop.pftrace").display().to_string();
    let wrong: [(&[&str], &str); 10] = [
        (&["--from", "5", "--to", "4"], "the window from 5 to 4 is empty"),
        (&["--to", "5"], "the window before 5 is outside of the trace, which lasts from 3084"),
        (&["--from", "9000000000000"], "the window from 9000000000000 on is outside of the trace"),
        (&["--during", "two\nlines"], "--during 'two␊lines': no slice has this name"),
        (&["--from", "5", "--to", "6"], "is outside of the trace, which lasts from 3084"),
        (&["--slice", "99999999"], "the trace has no such slice; the ids go from 0 to"),
        (&["--during", "fetch_1"], "no slice has this name; did you mean"),
        (&["--margin", "5ms"], "--margin widens a window"),
        (&["--slice", "1", "--margin", "5"], "must be a number and a unit"),
        (&["--slice", "1", "--during", "x"], "cannot be used with"),
    ];
    for (arguments, expected) in wrong {
        let said = run(&[&["rewrite", trace.as_str(), "-o", out.as_str()], arguments].concat());
        assert!(
            said.code != Some(0) && said.stderr.contains(expected),
            "{arguments:?}: {}",
            said.stderr
        );
        assert_eq!(place.files(), Vec::<String>::new());
    }
    fs::write(&out, "").unwrap();
    let said = run(&["rewrite", &trace, "-o", &out, "--slice", "1"]);
    assert!(said.stderr.contains("exists"), "{}", said.stderr);
}

#[test]
fn ct1_the_summary_says_what_was_cut_out() {
    let place = Place::new();
    let out = place.path("out.pftrace").display().to_string();
    let trace = data("desktop.pftrace").display().to_string();
    let second = ["--from", "3086000000000", "--to", "3087000000000"];
    let said = run(&[&["rewrite", trace.as_str(), "-o", out.as_str()], &second[..]].concat());
    assert!(said.stderr.contains("1.000 s of "), "{}", said.stderr);
    let others = [
        (["--from", "-5"], "all of 4.157 s, from -5 to 3088407344352"),
        (["--from", "3088407344000"], "351ns of 4.157 s"),
    ];
    for (window, expected) in others {
        let said = run(&[&["rewrite", trace.as_str(), "--dry-run"], &window[..]].concat());
        assert!(said.stderr.contains(expected), "{}", said.stderr);
        // What a cut adds was not read.
        let line = said.stderr.lines().find(|line| line.contains("would be written")).unwrap();
        let numbers = line.split_whitespace().filter_map(|word| word.parse::<u64>().ok());
        let [kept, read, added] = numbers.collect::<Vec<_>>()[..] else { panic!("{line}") };
        assert!(kept <= read && added > 0, "{line}");
    }
    let json = data("training.json").display().to_string();
    let said = run(&["rewrite", &json, "--dry-run", "--from", "221475219200000"]);
    assert!(said.stderr.contains("from 221475219200000 to"), "{}", said.stderr);
    let named = ["--during", "fetch *", "--margin", "50ms", "--dry-run", "--format", "json"];
    let summary = answer(&[&["rewrite", trace.as_str()], &named[..]].concat());
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    assert!(summary["cut"]["carried"].as_u64() > Some(0), "{summary}");
}
