//! Imports a JSON trace and the Perfetto trace that is made of it, and compares their rows (rule CV1).

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use timebase_import::{Monitor, Options, RewriteTo, Rewritten, Source, import, rewrite};

use std::cell::Cell;

use proptest::collection::vec;
use proptest::prelude::*;
use timebase_lab::encode::trace_of;

use crate::json::generate;
use crate::merge;
use crate::support::events::{BEGIN, END, described, event, named, thread, unnamed};
use crate::support::random::for_all;
use crate::support::{Imported, Place, data, rows, run};

/// Owners of rows by their numbers, where they keep them; of equal numbers by names. Numbers of processes that a
/// Perfetto trace cannot have become the greatest ones that are unused.
const OWNERS: &str = "
    p AS (SELECT upid, pid, name,
                 CASE WHEN pid BETWEEN 0 AND 2147483000 THEN pid ELSE '?' END || ' ' || ifnull(name, '') AS c
          FROM process
          WHERE pid IS NOT 0 OR EXISTS (SELECT * FROM process_counter_track AS x JOIN counter ON track_id = x.id WHERE x.upid = process.upid)
             OR EXISTS (SELECT * FROM process_track AS x JOIN slice ON track_id = x.id WHERE x.upid = process.upid)
             OR EXISTS (SELECT * FROM thread_track AS x JOIN slice ON track_id = x.id JOIN thread USING (utid) WHERE thread.upid = process.upid)),
    t AS (SELECT utid, p.c || '/' || CASE WHEN is_main_thread THEN 'main' WHEN tid IS NULL OR tid BETWEEN 2147483000 AND 2147483647 THEN '?' ELSE tid END
                 || CASE WHEN pid = 0 AND tid = 0 THEN '' ELSE ' ' || ifnull(thread.name, '') END AS c
          FROM thread JOIN p USING (upid)),
    k AS (SELECT track.id,
                 CASE type WHEN 'thread_execution' THEN 'thread' WHEN 'chrome_process_instant' THEN 'process instants'
                           WHEN 'legacy_chrome_global_instants' THEN 'instants' ELSE 'lane' END
                 || ' ' || coalesce((SELECT c FROM thread_track JOIN t USING (utid) WHERE thread_track.id = track.id),
                                    (SELECT c FROM process_track JOIN p USING (upid) WHERE process_track.id = track.id), 'all') AS c
          FROM track WHERE name IS NOT 'thread state'),
    s AS (SELECT slice.*, k.c || ' ' || ts || ' ' || dur || ' ' || depth || ' ' || ifnull(name, '') || ' ' || ifnull(category, '') AS c,
                 k.c AS owner
          FROM slice JOIN k ON k.id = track_id WHERE ts >= 0)";

const SLICES: &str = "
    SELECT s.c, ifnull(parent.c, ''), ifnull(s.thread_ts, ''),
           CASE WHEN s.thread_ts IS NULL THEN '' WHEN s.dur = 0 THEN 0 ELSE ifnull(nullif(s.thread_dur, 0), '') END,
           ifnull((SELECT group_concat(key || ' (' || flat_key || ') ' || value_type || '=' || ifnull(display_value, ''), char(31) ORDER BY key, value_type, display_value)
                   FROM args WHERE arg_set_id = s.arg_set_id AND key NOT GLOB '*utid'), '')
    FROM s LEFT JOIN s AS parent ON parent.id = s.parent_id ORDER BY 1, 2, 3, 4, 5";

const COUNTERS: &str = "
    SELECT p.c || ' ' || ifnull(x.name, '') || ' ' || ts || ' ' || ifnull(value, '')
    FROM counter JOIN process_counter_track AS x ON x.id = track_id JOIN p USING (upid) WHERE ts >= 0 ORDER BY 1";

const FLOWS: &str = "
    SELECT CASE WHEN o.ts = i.ts AND o.c > i.c THEN i.c || ' ' || o.c ELSE o.c || ' ' || i.c END,
           ifnull((SELECT group_concat(key || '=' || ifnull(string_value, ''), ' ' ORDER BY key) FROM args WHERE arg_set_id = f.arg_set_id), '')
    FROM flow AS f JOIN s AS o ON o.id = f.slice_out JOIN s AS i ON i.id = f.slice_in ORDER BY 1, 2";

const PROCESSES: &str = "
    SELECT p.c, ifnull((SELECT int_value FROM args JOIN process AS x USING (arg_set_id) WHERE x.upid = p.upid AND key = 'process_sort_index_hint'), '')
    FROM p ORDER BY 1, 2";

const THREADS: &str = "
    SELECT t.c, ifnull((SELECT int_value FROM args JOIN thread AS x USING (arg_set_id) WHERE x.utid = t.utid AND key = 'thread_sort_index_hint'), '')
    FROM t ORDER BY 1, 2";

/// Each sample with the functions of its callstack.
const SAMPLES: &str = "
    SELECT CAST(x.ts / 1000 AS INTEGER), t.c,
           (WITH RECURSIVE up (id, parent_id, frame_id) AS (
              SELECT id, parent_id, frame_id FROM stack_profile_callsite WHERE id = x.callsite_id
              UNION ALL
              SELECT c.id, c.parent_id, c.frame_id FROM up JOIN stack_profile_callsite AS c ON c.id = up.parent_id)
            SELECT group_concat(ifnull(f.name, '') || '@' || ifnull((SELECT source_file FROM stack_profile_symbol AS y WHERE y.symbol_set_id = f.symbol_set_id), ''), ' < ')
            FROM up JOIN stack_profile_frame AS f ON f.id = up.frame_id)
    FROM cpu_profile_stack_sample AS x JOIN t USING (utid) WHERE x.ts >= 0 ORDER BY 1, 2, 3";

const TABLES: [(&str, &str); 6] = [
    ("sample", SAMPLES),
    ("slice", SLICES),
    ("counter", COUNTERS),
    ("flow", FLOWS),
    ("process", PROCESSES),
    ("thread", THREADS),
];

/// The databases of a JSON trace and of its conversion.
pub struct Converted {
    a: Connection,
    b: Connection,
    told: Rewritten,
    _place: Place,
}

impl Converted {
    pub fn of(source: &Path) -> Converted {
        Converted::of_set(&[source.to_path_buf()], false).unwrap()
    }

    /// `None` if the import refuses the sources.
    pub fn of_set(sources: &[PathBuf], one_file: bool) -> Option<Converted> {
        let place = Place::new();
        let out = place.path("out.pftrace");
        let mut options = Options::default();
        options.one_file = one_file;
        let made = |from: &[PathBuf], to: &Path| {
            let sources: Vec<Source> = from.iter().cloned().map(Source::File).collect();
            import(&sources, to, &options, &Monitor::default()).ok()?;
            Some(Connection::open(to).unwrap())
        };
        let a = made(sources, &place.path("a.db"))?;
        let from: Vec<Source> = sources.iter().cloned().map(Source::File).collect();
        let told = rewrite(&from, RewriteTo::File(&out), &options, &Monitor::default());
        let told = told.unwrap();
        let b = made(&[out], &place.path("b.db")).unwrap();
        Some(Converted { a, b, told, _place: place })
    }

    /// The first rows that only one of the databases has.
    pub fn differences(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (table, sql) in TABLES {
            let mut sql = format!("WITH {OWNERS} {sql}");
            // A thread of several files has tracks of its own in one trace.
            if self.told.unlike.iter().any(|unlike| unlike.what[0].contains("name of its file")) {
                sql = sql
                    .replace("THEN 'thread' WHEN", "THEN 'lane' WHEN")
                    .replace("THEN 'process instants' WHEN", "THEN 'lane' WHEN");
            }
            let (a, b) = (rows(&self.a, &sql), rows(&self.b, &sql));
            let mut left = b.clone();
            let mut missing = Vec::new();
            for row in &a {
                match left.iter().position(|other| other == row) {
                    Some(at) => drop(left.remove(at)),
                    None => missing.push(row),
                }
            }
            found.extend(missing.iter().take(5).map(|row| format!("{table}: missing {row:?}")));
            found.extend(left.iter().take(5).map(|row| format!("{table}: extra {row:?}")));
        }
        found
    }

    /// Whether the summary names something that makes other rows: depths without what is before time 0, ends that
    /// readers give to others, and arguments that no annotation can hold.
    fn is_excepted(&self) -> bool {
        const EXCEPTED: [&str; 4] = ["before time 0", "ends before one", "fit 64 bits", "argument"];
        let mut told = self.told.unlike.iter();
        told.any(|unlike| EXCEPTED.iter().any(|what| unlike.what[0].contains(what)))
    }
}

#[test]
fn cv1_fixtures_have_the_same_rows() {
    let mut found = Vec::new();
    let mut compared = 0;
    for entry in fs::read_dir(data("json")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let converted = Converted::of(&path);
        let differences = converted.differences();
        if !differences.is_empty() && !converted.is_excepted() {
            found.push(format!("{}\n{}", path.display(), differences.join("\n")));
        }
        compared += 1;
    }
    assert!(compared > 60 && found.is_empty(), "{compared}\n{}", found.join("\n"));
}

#[test]
fn cv1_any_json_trace_has_the_same_rows() {
    let compared = Cell::new(0);
    let place = Place::new();
    for_all(2, generate::case(), |case| {
        let source = place.write("s.json", case.text.as_bytes());
        let made = import(
            &[Source::File(source.clone())],
            &place.path("try.db"),
            &{
                let mut options = Options::default();
                options.overwrite = true;
                options
            },
            &Monitor::default(),
        );
        if made.is_err() {
            return Ok(()); // there is no event in it
        }
        let converted = Converted::of(&source);
        if converted.is_excepted() {
            return Ok(());
        }
        compared.set(compared.get() + 1);
        let found = converted.differences();
        prop_assert!(found.is_empty(), "{:?}\n{}", converted.told.unlike, found.join("\n"));
        Ok(())
    });
    assert!(compared.get() > 60, "only {} compared", compared.get());
}

/// A JSON trace of these events, as the program converts it.
fn made(events: &str) -> (Imported, String) {
    let place = Place::new();
    let source = place.write("s.json", format!("[{events}]").as_bytes());
    let out = place.path("o.pftrace");
    let said = run(&["rewrite", source.to_str().unwrap(), "-o", out.to_str().unwrap()]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    (Imported::of(&out, &[]), said.stderr)
}

#[test]
fn cv1_arguments_keep_their_keys_and_types() {
    let args =
        r#"{"a": [1, null, {"b": 2.5}], "c.d": "x", "e[0]": true, "f": [[], {}, 3], "": "empty"}"#;
    let event =
        format!(r#"{{"ph":"X","name":"n","ts":1,"dur":1.5,"pid":1,"tid":2,"args":{args}}}"#);
    let (b, _) = made(&event);
    let found = b.rows("SELECT key || ' ' || flat_key || ' ' || value_type || ' ' || display_value FROM args JOIN slice USING (arg_set_id) ORDER BY key");
    let found: Vec<&str> = found.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(
        found,
        [
            "args. args. string empty",
            "args.a[0] args.a int 1",
            "args.a[1].b args.a.b real 2.5",
            "args.c.d args.c.d string x",
            "args.e[0] args.e[0] bool true",
            "args.f[2] args.f int 3",
        ]
    );
}

#[test]
fn cv1_an_endless_slice_above_one_that_ended_is_told_if_something_follows() {
    let events = r#"{"ph":"X","name":"a","pid":1,"tid":7,"ts":1,"dur":8.5},{"ph":"X","name":"b","pid":1,"tid":7,"ts":2,"dur":5},
                    {"ph":"B","name":"c","pid":1,"tid":7,"ts":3}"#;
    let (b, said) = made(events);
    let durs = "SELECT dur FROM slice ORDER BY ts";
    assert_eq!(b.rows(durs), [["8500"], ["5000"], ["4000"]]);
    assert!(said.contains("1 slice that ends before one inside it"), "{said}");
    let (b, said) = made(&events.replace("8.5", "8"));
    assert_eq!(b.rows(durs), [["8000"], ["5000"], ["-1"]]);
    assert!(!said.contains("inside it"), "{said}");
}

#[test]
fn cv1_samples_of_profiles_keep_their_threads_and_callstacks() {
    let node = |id: u32, parent: u32, name: &str| {
        format!(
            r#"{{"id":{id},"parent":{parent},"callFrame":{{"functionName":"{name}","url":"{name}.js"}}}}"#
        )
    };
    let profile = |tid: u32, deltas: &str| {
        let nodes = [node(2, 1, "f"), node(3, 2, "g")].join(",");
        format!(
            r#"{{"ph":"P","id":"0x{tid}","pid":1,"tid":{tid},"ts":1,"args":{{"data":{{"startTime":100}}}}}},
               {{"ph":"P","id":"0x{tid}","pid":1,"tid":{tid},"ts":2,"args":{{"data":{{
                 "cpuProfile":{{"nodes":[{{"id":1,"callFrame":{{"functionName":"(root)"}}}},{nodes}],"samples":[2,3,1]}},"timeDeltas":{deltas}}}}}}}"#
        )
    };
    let (b, said) = made(&[profile(7, "[5,10,7]"), profile(8, "[6,10,7]")].join(","));
    let sampled = "SELECT x.ts, t.tid, f.name, y.source_file FROM cpu_profile_stack_sample AS x JOIN thread AS t USING (utid)
                   JOIN stack_profile_callsite AS c ON c.id = x.callsite_id JOIN stack_profile_frame AS f ON f.id = c.frame_id
                   LEFT JOIN stack_profile_symbol AS y ON y.symbol_set_id = f.symbol_set_id ORDER BY x.ts";
    let found = b.rows(sampled);
    assert_eq!(found.len(), 6, "{said}");
    assert_eq!(found[0], ["105000", "7", "f", "f.js"]);
    assert_eq!(found[2], ["115000", "7", "g", "g.js"]);
    assert_eq!(found[5][..3], ["123000", "8", "(root)"]);
    assert!(!said.contains("sample"), "{said}");
    // Another file moves them by 93 ns less than a microsecond.
    let place = Place::new();
    let base = |ns: u64, events: &str| {
        let text = format!(r#"{{"baseTimeNanoseconds":{ns},"traceEvents":[{events}]}}"#);
        place.write(&format!("{ns}.json"), text.as_bytes()).display().to_string()
    };
    let first =
        base(1_700_000_000_000_000_000, r#"{"ph":"X","name":"a","ts":1,"dur":1,"pid":9,"tid":9}"#);
    let second = base(1_700_000_000_000_000_907, &profile(7, "[5,10,7]"));
    let out = place.path("o.zip").display().to_string();
    let said = run(&["rewrite", &first, &second, "-o", &out]);
    let told = "3 samples of callstacks that are less than a microsecond too early";
    assert!(said.stderr.contains(told), "{}", said.stderr);
    assert_eq!(Imported::of(Path::new(&out), &[]).rows(sampled)[0][0], "105000");
}

#[test]
fn cv1_what_differs_is_told() {
    let (b, said) = made(
        r#"{"ph":"X","name":"a","ts":-5,"dur":2,"pid":1,"tid":1}, {"ph":"i","name":"b","ts":5,"pid":"Spans","tid":1},
           {"ph":"T","name":"Running","ts":6,"dur":2,"pid":1,"tid":1,"args":{"cpu":3}}"#,
    );
    assert!(said.contains("1 event before time 0, left out"), "{said}");
    let idle = r#"{"ph":"X","name":"a","ts":5,"dur":2,"tts":1,"pid":0,"tid":0}"#;
    let (_, told) = made(idle);
    assert!(told.contains("1 process with the pid 0"), "{told}");
    assert!(told.contains("1 thread with CPU times"), "{told}");
    assert!(said.contains("with another number") || said.contains("with other numbers"), "{said}");
    assert!(
        said.contains("1 state of a thread, which is a slice on a track 'thread state'"),
        "{said}"
    );
    let pids = "SELECT pid FROM process WHERE name = 'Spans'";
    assert_eq!(b.rows(pids), [["2147483647"]]);
    let states = "SELECT slice.name, ts, dur, track.name FROM slice JOIN track ON track.id = track_id WHERE track.name = 'thread state'";
    assert_eq!(b.rows(states), [["Running", "6000", "2000", "thread state"]]);
}

#[test]
fn cv2_several_json_traces_become_a_zip() {
    let place = Place::new();
    let names = ["training-rank1.json", "training-rank0.json"];
    let sources = names.map(|name| format!("tests/data/{name}"));
    let out = place.path("o.zip").display().to_string();
    let said = run(&["rewrite", &sources[0], &sources[1], "-o", &out]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let a = Imported::of(Path::new(&sources[0]), &[&sources[1]]);
    let b = Imported::of(Path::new(&out), &[]);
    let files = "SELECT name, trace_type FROM trace_file WHERE NOT is_container ORDER BY name";
    assert_eq!(
        b.rows(files),
        [
            ["perfetto_manifest.json", "perfetto_manifest"],
            ["training-rank0.pftrace", "proto"],
            ["training-rank1.pftrace", "proto"]
        ]
    );
    // Two of them: the same machines, and the same slices on them.
    let slices = "SELECT m.id, m.name, f.name GLOB '*rank0*', iif(t.tid < 1000000, t.tid, NULL), s.name, s.ts, s.dur FROM thread_slice AS s
                  JOIN track ON track.id = s.track_id JOIN trace_file AS f ON f.id = track.trace_file_id
                  JOIN thread AS t USING (utid) LEFT JOIN machine AS m ON m.id = t.machine_id ORDER BY 1, 6, 5, 4";
    let found = a.rows(slices);
    assert!(found.len() > 100 && found.iter().any(|row| row[1] == "rank 1"));
    assert_eq!(found, b.rows(slices));
}

#[test]
fn cv2_al20_messages_move_json_traces_as_in_an_import() {
    let place = Place::new();
    let ranks: Vec<String> =
        (0..4).map(|n| format!("tests/data/align/ranks/rank{n}.json")).collect();
    let ranks: Vec<&str> = ranks.iter().map(String::as_str).collect();
    let out = place.path("o.zip").display().to_string();
    let align = ["--align", "auto"];
    let said = run(&[&["rewrite", "-o", out.as_str()], ranks.as_slice(), &align].concat());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let a = Imported::of(Path::new(ranks[0]), &[&ranks[1..], &align].concat());
    let off = Imported::of(Path::new(ranks[0]), &[&ranks[1..], &["--align", "off"]].concat());
    let b = Imported::of(Path::new(&out), &[]);
    let slices = "SELECT m.name, s.name, s.ts FROM thread_slice AS s JOIN thread AS t USING (utid)
                  JOIN machine AS m ON m.id = t.machine_id ORDER BY 1, 3, 2";
    assert!(a.rows(slices) == b.rows(slices));
    assert!(a.rows(slices) != off.rows(slices));

    // A JSON trace among Perfetto's takes them no messages.
    let json = place.write("x.json", br#"[{"ph":"X","name":"x","ts":1,"dur":2,"pid":1,"tid":1}]"#);
    let pair = ["client", "server"].map(|name| format!("tests/data/align/pair/{name}.pftrace"));
    let given = [
        pair[0].as_str(),
        &pair[1],
        json.to_str().unwrap(),
        "--manifest",
        "tests/data/align/pair/machines.json",
    ];
    let said = run(&[&["rewrite", "-f", "-o", out.as_str()], given.as_slice(), &align].concat());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let a = Imported::of(Path::new(given[0]), &[&given[1..], &align].concat());
    let b = Imported::of(Path::new(&out), &[]);
    let slices = "SELECT name, ts FROM slice ORDER BY 2, 1";
    assert!(a.rows(slices).len() > 10 && a.rows(slices) == b.rows(slices));
}

#[test]
fn cv2_any_set_of_json_traces_has_the_same_rows() {
    let compared = Cell::new(0);
    let sets = (vec(generate::case(), 2..4), any::<bool>(), vec(0..3_u32, 3));
    for_all(2, sets, |(cases, one_file, ranks)| {
        let place = Place::new();
        let name = |at: usize| format!("{at}.json");
        let sources = cases.iter().zip(ranks).enumerate().map(|(at, (case, rank))| {
            // In half of the sets, files have ranks.
            let head = format!(r#"{{"distributedInfo":{{"rank":{rank}}},"#);
            let text = case.text.strip_prefix('{').filter(|_| ranks.iter().sum::<u32>() % 2 == 0);
            let text = text.map_or(case.text.clone(), |rest| head + rest);
            place.write(&name(at), text.as_bytes())
        });
        let sources: Vec<PathBuf> = sources.collect();
        let Some(converted) = Converted::of_set(&sources, *one_file) else {
            return Ok(()); // there is no event in them
        };
        if converted.is_excepted() {
            return Ok(());
        }
        compared.set(compared.get() + 1);
        let found = converted.differences();
        prop_assert!(found.is_empty(), "{:?}\n{}", converted.told.unlike, found.join("\n"));
        Ok(())
    });
    assert!(compared.get() > 20, "only {} compared", compared.get());
}

/// A JSON trace on the wall clock of `app.pftrace`, of two threads that this trace has and of one that it has not.
fn beside(place: &Place) -> PathBuf {
    let a = Imported::new("app.pftrace", &[]);
    let wall =
        "SELECT min(clock_value) + 100000000 FROM clock_snapshot WHERE clock_name = 'REALTIME'";
    let wall = a.rows(wall)[0][0].clone();
    let threads = "SELECT DISTINCT p.pid, t.tid FROM thread_slice JOIN thread AS t USING (utid)
                   JOIN process AS p USING (upid) WHERE p.pid > 0 ORDER BY 1, 2 LIMIT 2";
    let mut events = String::new();
    let threads = a.rows(threads);
    let own = [vec!["4711".to_owned(), "4712".to_owned()]];
    for row in threads.iter().chain(&own) {
        let [pid, tid] = [&row[0], &row[1]];
        events += &format!(
            r#"{{"ph":"X","name":"outer","ts":10,"dur":100,"pid":{pid},"tid":{tid},"args":{{"a":1}}}},
               {{"ph":"B","name":"inner","ts":20.5,"pid":{pid},"tid":{tid}}},{{"ph":"E","ts":30,"pid":{pid},"tid":{tid}}},
               {{"ph":"C","name":"load","ts":40,"pid":{pid},"args":{{"x":2.5}}}},
               {{"ph":"M","name":"thread_name","pid":{pid},"tid":{tid},"args":{{"name":"thread of JSON"}}}},"#
        );
    }
    let events = events.trim_end().trim_end_matches(',');
    let text = format!(r#"{{"baseTimeNanoseconds":{wall},"traceEvents":[{events}]}}"#);
    place.write("beside.json", text.as_bytes())
}

#[test]
fn cv2_a_json_trace_beside_a_perfetto_trace_has_the_same_rows() {
    let place = Place::new();
    let sources = [beside(&place), data("app.pftrace")];
    for one_file in [false, true] {
        let converted = Converted::of_set(&sources, one_file).unwrap();
        let found = converted.differences();
        assert!(found.is_empty(), "{one_file} {:?}\n{}", converted.told.unlike, found.join("\n"));
        let both = "SELECT count(*) FROM thread_slice AS j JOIN thread_slice AS p USING (utid)
                    WHERE j.name = 'inner' AND p.name NOT IN ('inner', 'outer')";
        assert!(rows(&converted.a, both) == rows(&converted.b, both), "{one_file}");
        // The packets of the Perfetto trace are at their times.
        let times = "SELECT type, ts FROM packet WHERE trace_file_id = (SELECT id FROM trace_file WHERE name GLOB '*app*')
                     ORDER BY id";
        if !one_file {
            assert_eq!(rows(&converted.a, times), rows(&converted.b, times));
        }
    }
}

/// The tracks of a thread that the Perfetto trace describes under two uuids have no owner, and are not those of several files.
#[test]
fn cv2_tracks_of_a_thread_described_twice_are_counted() {
    let place = Place::new();
    let perfetto = trace_of(&[
        described(1, thread(5, 6)),
        described(2, thread(5, 6)),
        event(2000, named(BEGIN, "outer", 1)),
        event(3000, named(BEGIN, "other", 2)),
        event(4000, unnamed(END, 2)),
        event(5000, unnamed(END, 1)),
    ]);
    let json = r#"[{"ph":"X","name":"a","ts":10,"dur":4,"pid":5,"tid":6},{"ph":"X","name":"b","ts":10,"dur":4,"pid":5,"tid":7}]"#;
    let sources = [place.write("a.json", json.as_bytes()), place.write("b.pftrace", &perfetto)];
    for one_file in [false, true] {
        let converted = Converted::of_set(&sources, one_file).unwrap();
        let told: Vec<_> = converted.told.unlike.iter().map(|of| (of.count, of.what[0])).collect();
        let of_track = "track of a thread or process that the Perfetto trace describes several times, which has no owner";
        assert_eq!(told, [(1, of_track)], "{one_file}");
        let of_slices = "SELECT s.name, thread.tid FROM slice AS s LEFT JOIN thread_track AS t ON t.id = s.track_id
                         LEFT JOIN thread USING (utid) WHERE s.name IN ('a', 'b') ORDER BY 1";
        assert_eq!(rows(&converted.a, of_slices), [["a", "6"], ["b", "7"]]);
        assert_eq!(rows(&converted.b, of_slices), [["a", "[NULL]"], ["b", "7"]]);
    }
}

/// Sets of Perfetto traces with JSON traces: their rows are alike, and so are the times of all packets of Perfetto's.
#[test]
fn cv2_any_set_of_json_and_perfetto_traces_has_the_same_rows() {
    let compared = Cell::new((0, 0));
    let sets = (merge::generate::case(), vec(generate::case(), 1..3), any::<bool>());
    for_all(2, sets, |(perfetto, json, one_file)| {
        let place = Place::new();
        let files = perfetto.files();
        let one_file = *one_file && files.len() == 1;
        let perfetto = files.iter().map(|file| place.write(&file.name, &file.bytes));
        let json = json.iter().enumerate();
        // Some come before Perfetto's in the order of processing, and some behind.
        let json =
            json.map(|(at, case)| place.write(["0.json", "z.json"][at % 2], case.text.as_bytes()));
        let sources: Vec<PathBuf> = perfetto.chain(json).collect();
        let Some(converted) = Converted::of_set(&sources, one_file) else {
            return Ok(()); // none of them is a trace
        };
        let is_proto = |c: &Connection| {
            let kinds =
                "SELECT DISTINCT trace_type FROM trace_file WHERE trace_type IN ('proto', 'json')";
            rows(c, kinds).len()
        };
        if converted.is_excepted() || !converted.told.unmet.is_empty() || is_proto(&converted.a) < 2
        {
            return Ok(());
        }
        let (zips, ones) = compared.get();
        compared.set((zips + i32::from(!one_file), ones + i32::from(one_file)));
        let mut found = converted.differences();
        // Whose thread one without rows is, is not known.
        let left_out = ["thread: missing", "process: missing", "sample: missing"];
        found.retain(|of| !left_out.iter().any(|left_out| of.starts_with(left_out)));
        let times =
            "SELECT f.name, p.ts FROM packet AS p JOIN trace_file AS f ON f.id = p.trace_file_id
                     WHERE f.trace_type = 'proto' AND f.name NOT IN ('0.pftrace', 'z.pftrace')
                     AND p.type IS NOT 'clock_snapshot' ORDER BY p.id";
        if !one_file && rows(&converted.a, times) != rows(&converted.b, times) {
            found.push("times".to_owned());
        }
        prop_assert!(found.is_empty(), "{:?}\n{}", converted.told.unlike, found.join("\n"));
        Ok(())
    });
    let (zips, ones) = compared.get();
    assert!(zips > 10 && ones > 1, "only {zips} and {ones} compared");
}

#[test]
fn cv2_several_json_traces_become_one_with_one_file() {
    let place = Place::new();
    let rank = |n: u32| {
        let text = format!(
            r#"{{"distributedInfo":{{"rank":{n}}},"baseTimeNanoseconds":1700000000000000000,
                "traceEvents":[{{"ph":"X","name":"r{n}","ts":{n}1.5,"dur":2,"pid":7,"tid":7}}]}}"#
        );
        place.write(&format!("{n}.json"), text.as_bytes())
    };
    let (one, two) = (rank(1), rank(2));
    let out = place.path("o.pftrace");
    let names = [&one, &two, &out].map(|path| path.to_str().unwrap());
    let said = run(&["rewrite", names[0], names[1], "-o", names[2], "--one-file"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let slices = "SELECT s.name, s.ts, s.dur, p.pid FROM slice AS s JOIN thread_track AS k ON k.id = s.track_id
                  JOIN thread USING (utid) JOIN process AS p USING (upid) ORDER BY s.ts";
    let found = Imported::of(&out, &[]);
    assert_eq!(found.rows(slices), [["r1", "11500", "2000", "7"], ["r2", "21500", "2000", "7"]]);
    assert_eq!(found.count("SELECT count(DISTINCT machine_id) FROM thread WHERE tid = 7"), 2);
    let track = "mine=SELECT ts + 1 AS ts, 5 AS dur, 'in ' || name AS name, utid FROM thread_slice";
    let said =
        run(&["rewrite", names[0], names[1], "-o", names[2], "--one-file", "-f", "--track", track]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let found = Imported::of(&out, &[]);
    let mine = "SELECT s.name, s.ts, m.raw_id IS NOT 0, t.tid FROM thread_slice AS s JOIN thread AS t USING (utid)
                JOIN machine AS m ON m.id = t.machine_id WHERE s.name GLOB 'in *' ORDER BY s.ts";
    assert_eq!(found.rows(mine), [["in r1", "11501", "0", "7"], ["in r2", "21501", "1", "7"]]);
    assert_eq!(found.count("SELECT count(*) FROM thread WHERE tid = 7"), 2);
}

#[test]
fn cv2_one_file_is_refused_of_other_traces() {
    let place = Place::new();
    let out = place.path("o.pftrace").display().to_string();
    let traces = ["training-rank0.json", "app.pftrace", "multihop.pftrace"]
        .map(|name| format!("tests/data/{name}"));
    for given in [&traces[..], &traces[1..]] {
        let given: Vec<&str> = given.iter().map(String::as_str).collect();
        let said =
            run(&[&["rewrite", "--one-file", "-o", out.as_str()], given.as_slice()].concat());
        assert_eq!(said.code, Some(1));
        let told = "is a trace of Perfetto, and --one-file makes one trace of JSON traces and at most one of Perfetto";
        assert!(said.stderr.contains(told), "{}", said.stderr);
    }
    let track = ["--track", "a=SELECT ts FROM slice"];
    let said =
        run(&["rewrite", "--one-file", "-o", &out, &traces[0], &traces[1], track[0], track[1]]);
    assert!(said.stderr.contains("write one trace first"), "{}", said.stderr);
    assert!(place.files().is_empty());
}

#[test]
fn cv3_json_is_not_written() {
    let place = Place::new();
    for name in ["o.json", "o.JSON.gz"] {
        let out = place.path(name);
        let said = run(&["rewrite", "tests/data/app.pftrace", "-o", out.to_str().unwrap()]);
        assert_eq!(said.code, Some(1));
        assert!(said.stderr.contains("does not write Chrome's JSON format"), "{}", said.stderr);
    }
    assert!(place.files().is_empty());
}
