//! `timebase compare` from the outside: runs whose values are known, in every form of input.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use proptest::prelude::*;
use rusqlite::Connection;
use serde_json::Value as Json;
use timebase_compare::{METRICS, TABLES};

use crate::support::random::Random;
use crate::support::{Place, Said, data, files, run};

/// The worked example of the rules: the durations of one slice each, in ms, before and after.
const BY_HAND: [(&str, [[i64; 5]; 2]); 4] = [
    ("layout", [[100, 104, 96, 102, 98], [121, 125, 117, 119, 123]]),
    ("draw", [[50, 52, 48, 51, 49], [51, 49, 50, 52, 48]]),
    ("decode", [[10, 30, 20, 15, 25], [15, 25, 35, 20, 30]]),
    ("upload", [[8; 5]; 2]),
];

/// A JSON trace with these slices of one thread, one after the other: name and duration in µs.
fn trace(slices: &[(&str, i64)]) -> String {
    let mut text =
        String::from(r#"[{"ph":"M","name":"process_name","pid":7,"tid":7,"args":{"name":"app"}}"#);
    let mut ts = 0;
    for (name, dur) in slices {
        let _ =
            write!(text, r#",{{"ph":"X","pid":7,"tid":7,"name":"{name}","ts":{ts},"dur":{dur}}}"#);
        ts += dur + 10;
    }
    text.push(']');
    text
}

/// The folders `old` and `new` with the runs of the worked example.
fn by_hand(place: &Place) {
    for (side, folder) in ["old", "new"].into_iter().enumerate() {
        fs::create_dir(place.path(folder)).unwrap();
        for number in 0..5 {
            let slices = BY_HAND.map(|(name, ms)| (name, ms[side][number] * 1000));
            fs::write(place.path(format!("{folder}/{number}.json")), trace(&slices)).unwrap();
        }
    }
}

fn compare(place: &Place, arguments: &[&str]) -> Said {
    let arguments: Vec<String> = arguments
        .iter()
        .map(|argument| match argument.strip_prefix("./") {
            Some(name) => place.path(name).to_str().unwrap().to_owned(),
            None => (*argument).to_owned(),
        })
        .collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    run(&[&["compare"], arguments.as_slice()].concat())
}

/// A comparison as JSON.
fn document(said: &Said) -> Json {
    serde_json::from_str(&said.stdout).unwrap()
}

/// The rows of a comparison, by line and statistic.
fn rows(said: &Said) -> BTreeMap<(String, String), Json> {
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let rows = document(said)["rows"].as_array().unwrap().clone();
    let key = |row: &Json| {
        (row["line"].as_str().unwrap().to_owned(), row["stat"].as_str().unwrap().to_owned())
    };
    rows.into_iter().map(|row| (key(&row), row)).collect()
}

fn number(row: &Json, column: &str) -> f64 {
    row[column].as_f64().unwrap_or_else(|| panic!("{column} of {row}"))
}

#[test]
fn cm1_cm13_the_worked_example_has_its_printed_digits() {
    let place = Place::new();
    by_hand(&place);
    let rows = rows(&compare(&place, &["./old", "--with", "./new", "-F", "json"]));
    let total = |name: &str| &rows[&(format!("self:app/{name}"), "total".to_owned())];
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    for (name, ratio, low95, high95) in [
        ("layout", 21.02, 16.0, 26.3),
        ("draw", 0.0, -4.5, 4.7),
        ("decode", 28.47, -27.0, 127.0),
        ("upload", 0.0, -0.3, 0.3),
    ] {
        let row = total(name);
        assert!((percent(number(row, "ratio")) - ratio).abs() < 0.006, "{row}");
        let within = |column: &str, expected: f64| {
            let tolerance = if expected.abs() > 26.5 { 0.6 } else { 0.06 };
            (percent(number(row, column)) - expected).abs() < tolerance
        };
        assert!(within("low95", low95) && within("high95", high95), "{row}");
        assert_eq!(row["called"], Json::from(i64::from(name == "layout")), "{row}");
        let (before, after) = (number(row, "n_before"), number(row, "n_after"));
        assert_eq!((before, after), (5.0, 5.0));
    }
    assert!((number(total("layout"), "p") - 0.00001).abs() < 0.000_005);
    assert!((number(total("decode"), "p") - 0.338).abs() < 0.000_5);
}

#[test]
fn cm15_one_slower_slice_among_2000_is_the_first_line_and_no_other_is_called() {
    let place = Place::new();
    let mut random = Random(7);
    let names: Vec<String> = (0..2_000).map(|n| format!("w{n}")).collect();
    for (folder, slower) in [("old", 1.0), ("new", 1.1)] {
        fs::create_dir(place.path(folder)).unwrap();
        for number in 0..10 {
            // The sum of twelve is nearly normal; its deviation is 3 %.
            let mut noisy = |usual: f64| {
                let sum: f64 = (0..12).map(|_| random.below(1_000_001) as f64 / 1e6).sum();
                (usual * (1.0 + 0.03 * (sum - 6.0))).round() as i64
            };
            let slices: Vec<(&str, i64)> = names
                .iter()
                .enumerate()
                .map(|(at, name)| {
                    let usual = 10_000.0 + 10.0 * (at % 100) as f64;
                    (name.as_str(), noisy(if at == 1234 { usual * slower } else { usual }))
                })
                .collect();
            fs::write(place.path(format!("{folder}/{number}.json")), trace(&slices)).unwrap();
        }
    }
    let said = compare(&place, &["./old", "--with", "./new", "--min-share", "0", "-F", "json"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let rows = document(&said)["rows"].as_array().unwrap().clone();
    assert_eq!(rows[0]["line"], "all together");
    assert_eq!(rows[1]["line"], "self:app/w1234");
    let called = rows.iter().filter(|row| row["called"] == 1);
    let called: Vec<&str> = called.map(|row| row["name"].as_str().unwrap()).collect();
    assert!(!called.is_empty() && called.iter().all(|name| *name == "w1234"), "{called:?}");
}

#[test]
fn cm22_the_text_has_the_line_that_changed_and_says_how_sure_the_rest_is() {
    let place = Place::new();
    by_hand(&place);
    let said = compare(&place, &["./old", "--with", "./new"]);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
    let lines: Vec<&str> = said.stdout.lines().collect();
    assert!(
        lines[0].starts_with("5 runs before, 5 after: 4 lines tested, 1 changed"),
        "{lines:#?}"
    );
    let changed: Vec<&&str> = lines.iter().filter(|line| line.contains("app/")).collect();
    assert_eq!(changed.len(), 1, "{lines:#?}");
    assert!(changed[0].contains("+21.0") && changed[0].contains("app/layout"), "{changed:?}");
    assert!(
        lines.iter().any(|line| line.starts_with("3 lines: no change seen; for half of them +"))
    );
}

#[test]
fn cm2_cm23_traces_databases_folders_patterns_archives_tables_and_values_give_equal_rows() {
    let place = Place::new();
    by_hand(&place);
    let path = |name: &str| place.path(name).to_str().unwrap().to_owned();
    let folders = rows(&compare(&place, &["./old", "--with", "./new", "-F", "json"]));
    assert!(folders.len() > 20);
    let mut databases = [Vec::new(), Vec::new()];
    for (side, folder) in ["old", "new"].into_iter().enumerate() {
        for number in 0..5 {
            let (trace, database) =
                (path(&format!("{folder}/{number}.json")), path(&format!("{folder}-{number}.db")));
            assert_eq!(run(&["import", &trace, "-o", &database]).code, Some(0));
            databases[side].push(database);
        }
    }
    let [before, after] = databases;
    let before: Vec<&str> = before.iter().map(String::as_str).collect();
    let after: Vec<&str> = after.iter().map(String::as_str).collect();
    let json = ["-F", "json"];
    let of_databases = run(&[&["compare"], before.as_slice(), &["--with"], &after, &json].concat());
    assert_eq!(rows(&of_databases), folders, "databases");
    let patterns = compare(&place, &["./old/*.json", "--with", "./new/[0-4].json", "-F", "json"]);
    assert_eq!(rows(&patterns), folders, "patterns");

    let tables = path("tables");
    for folder in ["old", "new"] {
        let label = format!("build={folder}");
        let said = run(&["export", &path(folder), "-o", &tables, "--label", &label]);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
    }
    let of = |build: &str| format!("{tables},build={build}");
    let of_tables = run(&["compare", &of("old"), "--with", &of("new"), "-F", "json"]);
    assert_eq!(rows(&of_tables), folders, "tables");

    for ending in ["csv", "parquet"] {
        let values = path(&format!("values.{ending}"));
        let said = compare(&place, &["./old", "--with", "./new", "--values", &values]);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        let of = |side: &str| format!("{values},side={side}");
        let of_values = run(&["compare", &of("before"), "--with", &of("after"), "-F", "json"]);
        assert_eq!(rows(&of_values), folders, "{ending}");
    }
}

#[test]
fn cm2_a_run_on_both_sides_is_refused_and_one_that_cannot_be_read_is_left_out() {
    let place = Place::new();
    by_hand(&place);
    let said = compare(&place, &["./old", "--with", "./new", "./old/3.json"]);
    assert_eq!(said.code, Some(1));
    assert!(said.stderr.contains("old/3.json is on both sides: name it once"), "{}", said.stderr);
    fs::write(place.path("new/5.json"), "no trace").unwrap();
    let said = compare(&place, &["./old", "--with", "./new"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_eq!(said.stderr.lines().count(), 1, "{}", said.stderr);
    assert!(said.stderr.contains("warning: left out: ") && said.stderr.contains("new/5.json"));
    assert!(said.stdout.starts_with("5 runs before, 5 after: "));
    let said = compare(&place, &["./old", "--with", "./new", "--strict"]);
    assert_eq!(said.code, Some(1));
    assert!(said.stderr.contains("new/5.json") && said.stderr.contains("without --strict"));
    let said = compare(&place, &["./old", "--with", "./new/5.json"]);
    assert!(said.stderr.contains("no run after could be read"), "{}", said.stderr);
}

/// The values of one run, by the program.
fn values(place: &Place, trace: &Path) -> BTreeMap<[String; 4], [String; 2]> {
    let file = place.path("values.csv");
    let arguments = ["compare", trace.to_str().unwrap(), "-f", "--values", file.to_str().unwrap()];
    let said = run(&arguments);
    assert_eq!(said.code, Some(0), "{}: {}", trace.display(), said.stderr);
    let mut reader = csv::Reader::from_path(file).unwrap();
    let rows = reader.records().map(|row| {
        let row = row.unwrap();
        let text = |at: usize| row[at].to_owned();
        ([text(2), text(3), text(4), text(5)], [text(6), text(7)])
    });
    rows.filter(|(key, _)| key[0] != "run").collect()
}

#[test]
fn cm4_cm25_one_statement_gives_the_values_of_the_program() {
    let place = Place::new();
    let mut compared = 0;
    // All recorded traces, and some of the others.
    let chosen =
        files("tests/data", &["pftrace", "json"]).into_iter().zip(0..).filter(|(trace, at)| {
            at % 8 == 0 || trace.parent().is_some_and(|folder| folder.ends_with("data"))
        });
    for (trace, _) in chosen {
        let database = place.path("trace.db");
        let arguments = ["import", trace.to_str().unwrap(), "-f", "-o", database.to_str().unwrap()];
        if run(&arguments).code != Some(0) {
            continue;
        }
        let said = run(&["query", database.to_str().unwrap(), METRICS, "-F", "csv"]);
        assert_eq!(said.code, Some(0), "{}: {}", trace.display(), said.stderr);
        let parquet = place.path("values.parquet");
        let arguments =
            ["query", database.to_str().unwrap(), METRICS, "-o", parquet.to_str().unwrap()];
        let to_parquet = run(&arguments);
        assert_eq!(to_parquet.code, Some(0), "{}: {}", trace.display(), to_parquet.stderr);
        let mut reader = csv::Reader::from_reader(said.stdout.as_bytes());
        let mut expected = BTreeMap::new();
        for row in reader.records() {
            let row = row.unwrap();
            let text = |at: usize| row[at].to_owned();
            if &row[0] != "run" && !(row[4].is_empty() && row[5].is_empty()) {
                expected.insert([text(0), text(1), text(2), text(3)], [text(4), text(5)]);
            }
        }
        let found = values(&place, &trace);
        assert_eq!(
            found.keys().collect::<Vec<_>>(),
            expected.keys().collect::<Vec<_>>(),
            "{}",
            trace.display()
        );
        for (key, [sure, all]) in &expected {
            let [found_sure, found_all] = &found[key];
            let same = |a: &str, b: &str| match (a.parse::<f64>(), b.parse::<f64>()) {
                (Ok(a), Ok(b)) => (a - b).abs() <= 1e-9 * b.abs(),
                _ => a == b,
            };
            let is_same = same(found_sure, sure) && (same(found_all, all) || all.is_empty());
            assert!(
                is_same,
                "{}: {key:?} {:?} is not {:?}",
                trace.display(),
                found[key],
                expected[key]
            );
        }
        compared += expected.len();
    }
    assert!(compared > 1000, "{compared}");
}

/// Slices of a thread, each within the one before or behind it.
#[derive(Clone, Debug)]
struct Nested {
    name: u8,
    dur: i64,
    inner: Vec<Nested>,
}

fn nested() -> impl Strategy<Value = Nested> {
    let leaf = (0_u8..5, 1_i64..50).prop_map(|(name, dur)| Nested { name, dur, inner: Vec::new() });
    leaf.prop_recursive(3, 12, 3, |inner| {
        (0_u8..5, 1_i64..50, prop::collection::vec(inner, 0..3)).prop_map(|(name, rest, inner)| {
            let dur = rest + inner.iter().map(|inner| inner.dur + 1).sum::<i64>();
            Nested { name, dur, inner }
        })
    })
}

impl Nested {
    /// Writes the slice and those within, and notes the durations, and the times without inner ones. All names have
    /// one pattern.
    fn put(&self, ts: i64, text: &mut String, of: &mut BTreeMap<&'static str, Vec<i64>>) {
        let Nested { name, dur, inner } = self;
        let _ = write!(
            text,
            r#",{{"ph":"X","pid":7,"tid":7,"name":"n {name}x","ts":{ts},"dur":{dur}}}"#
        );
        of.entry("slice").or_default().push(dur * 1000);
        let without = dur - inner.iter().map(|inner| inner.dur).sum::<i64>();
        of.entry("self").or_default().push(without * 1000);
        let mut at = ts;
        for inner in inner {
            inner.put(at, text, of);
            at += inner.dur + 1;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, ..ProptestConfig::default() })]

    #[test]
    fn cm4_values_are_those_of_a_plain_count(slices in prop::collection::vec(nested(), 1..8)) {
        let mut text = String::from(
            r#"[{"ph":"M","name":"process_name","pid":7,"tid":7,"args":{"name":"app 12"}}"#,
        );
        let mut of = BTreeMap::new();
        let mut ts = 0;
        for slice in &slices {
            slice.put(ts, &mut text, &mut of);
            ts += slice.dur + 1;
        }
        text.push(']');
        let place = Place::new();
        fs::write(place.path("a.json"), text).unwrap();
        let found = values(&place, &place.path("a.json"));
        for (family, mut durs) in of {
            durs.sort_unstable();
            let n = durs.len();
            let rank = |percent: usize| durs[(percent * n).div_ceil(100) - 1];
            for (stat, value) in [
                ("count", n as i64),
                ("total", durs.iter().sum()),
                ("p50", rank(50)),
                ("p90", rank(90)),
                ("p99", rank(99)),
                ("max", durs[n - 1]),
            ] {
                let key = [family, "app #", "n #x", stat].map(str::to_owned);
                let [sure, all] = &found[&key];
                prop_assert_eq!(sure, all);
                prop_assert_eq!(sure.parse::<f64>().unwrap(), value as f64, "{:?}", key);
            }
        }
    }
}

#[test]
fn cm4_the_tables_are_those_that_the_statements_read() {
    let place = Place::new();
    let database = place.path("app.db");
    let trace = data("app.pftrace");
    let arguments = ["import", trace.to_str().unwrap(), "-o", database.to_str().unwrap()];
    assert_eq!(run(&arguments).code, Some(0));
    let conn = Connection::open(&database).unwrap();
    for table in TABLES {
        conn.prepare(&format!("SELECT * FROM {table}")).unwrap();
        // A name as a word, or what a function reads.
        let is_read = METRICS.contains(table)
            || ["clock_snapshot", "finding", "stack_profile_mapping"].contains(&table);
        assert!(is_read, "{table}");
    }
}

#[test]
fn cm6_metrics_of_the_user_are_lines_and_errors_name_run_and_metric() {
    let place = Place::new();
    by_hand(&place);
    let metric = |sql: &str| {
        let metric = format!("startup={sql}");
        compare(&place, &["./old", "--with", "./new", "-F", "json", "--metric", &metric])
    };
    let one = rows(&metric("SELECT dur FROM slice WHERE name = 'layout'"));
    let row = &one[&("metric:startup".to_owned(), "value".to_owned())];
    assert_eq!(number(row, "mean_before"), 100e6);
    let several = rows(&metric("SELECT name, dur AS value FROM slice"));
    for (name, _) in BY_HAND {
        assert!(several.contains_key(&(format!("metric:startup/{name}"), "value".to_owned())));
    }
    for (sql, expected) in [
        ("SELECT name FROM slice LIMIT 1", "the metric startup: the text 'layout' is no number"),
        ("SELECT 'a' AS name, 1 AS value UNION ALL SELECT 'a', 2", "it gives 'a' twice"),
        ("SELECT 1, 2", "it must have one column, or the columns name and value"),
        ("SELECT dur FROM slice", "it has several rows"),
        ("SELECT durr FROM slice", "no such column: durr"),
        ("DELETE FROM string", "metric startup"),
    ] {
        let said = metric(sql);
        assert!(said.stderr.contains(expected), "{sql}: {}", said.stderr);
        assert!(said.stderr.contains("old/0.json"), "{sql}: {}", said.stderr);
    }
    // NULL is no value.
    let none = metric("SELECT NULL");
    assert!(!rows(&none).contains_key(&("metric:startup".to_owned(), "value".to_owned())));
    fs::write(
        place.path("m.sql"),
        "-- # layout time\nSELECT dur FROM slice WHERE name = 'layout';\n-- # slices\nSELECT count(*) FROM slice;\n",
    )
    .unwrap();
    let file = format!("@{}", place.path("m.sql").display());
    let of_file =
        rows(&compare(&place, &["./old", "--with", "./new", "-F", "json", "--metric", &file]));
    assert!(of_file.contains_key(&("metric:layout time".to_owned(), "value".to_owned())));
    assert!(of_file.contains_key(&("metric:slices".to_owned(), "value".to_owned())));
}

#[test]
fn cm21_the_exit_code_tells_the_outcome_of_conditions() {
    let place = Place::new();
    by_hand(&place);
    for (condition, code, said) in [
        ("self:app/layout total > +5 %", 1, "fails: "),
        ("self:app/layout total > +30 %", 0, "passes: "),
        ("self:app/decode total > +5 %", 3, "undecided: "),
        ("self:app/layout total > +5 ms", 1, "fails: "),
        ("self:app/nothing total > +5 %", 2, "unknown: "),
        ("any > +5 %", 1, "fails: "),
    ] {
        let outcome = compare(&place, &["./old", "--with", "./new", "--fail-on", condition]);
        assert_eq!(outcome.code, Some(code), "{condition}: {}", outcome.stderr);
        assert!(outcome.stderr.starts_with(said), "{condition}: {}", outcome.stderr);
    }
    let undecided = ["--fail-on", "self:app/decode total > +5 %", "--undecided", "pass"];
    let passes = compare(&place, &[&["./old", "--with", "./new"], undecided.as_slice()].concat());
    assert_eq!(passes.code, Some(0));
    // 1 would say that it fails.
    let wrong = compare(&place, &["./old", "--with", "./new", "--fail-on", "layout"]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.stderr.contains("\"layout\" is no condition: write for example"));
    let misspelt = ["--fail-on", "self:app/layuot total > +5 %", "--fail-on", "any > +500 %"];
    let said = compare(&place, &[&["./old", "--with", "./new"], misspelt.as_slice()].concat());
    assert_eq!(said.code, Some(2));
    assert!(said.stderr.contains("did you mean self:app/layout total?\npasses: any"), "{said:?}");
}

#[test]
fn cm21_a_metric_is_named_by_its_name_and_has_limits_in_time() {
    let place = Place::new();
    by_hand(&place);
    let metric = "layout time=SELECT dur FROM slice WHERE name = 'layout'";
    for (condition, code) in [
        ("layout time > +5 %", 1),
        ("layout time > +5 ms", 1),
        ("layout time > +50 ms", 0),
        ("layout time > +5000000", 1),
        ("metric:layout time > +30 %", 0),
        ("layout tme > +5 %", 2),
    ] {
        let said = compare(
            &place,
            &["./old", "--with", "./new", "--metric", metric, "--fail-on", condition],
        );
        assert_eq!(said.code, Some(code), "{condition}: {}", said.stderr);
        if code == 2 {
            assert!(said.stderr.ends_with("did you mean layout time?\n"), "{}", said.stderr);
        }
    }
}

fn number_of_metric(rows: &BTreeMap<(String, String), Json>) -> f64 {
    number(&rows[&("metric:one".to_owned(), "value".to_owned())], "mean_after")
}

#[test]
fn cm23_a_result_replaces_no_input_and_values_are_not_written_twice() {
    let place = Place::new();
    by_hand(&place);
    let values = compare(&place, &["./old", "./new", "--values", "./v.csv"]);
    assert_eq!(values.code, Some(0), "{}", values.stderr);
    assert!(values.stderr.starts_with("the values of 10 runs are in "), "{}", values.stderr);
    let of = |side: &str| {
        format!("{},run={}/0.json", place.path("v.csv").display(), place.path(side).display())
    };
    let (old, new) = (of("old"), of("new"));
    let replacing = compare(&place, &[&old, "--with", &new, "-f", "-o", "./v.csv"]);
    assert!(replacing.stderr.contains("v.csv is an input"), "{}", replacing.stderr);
    let twice = compare(&place, &[&old, "--with", &new, "--values", "./w.csv"]);
    assert!(twice.stderr.contains("v.csv has values already"), "{}", twice.stderr);
}

#[test]
fn cm3_a_cache_keeps_the_values_of_each_trace() {
    let place = Place::new();
    by_hand(&place);
    let compared = || {
        rows(&compare(&place, &["./old", "--with", "./new", "-F", "json", "--cache", "./cache"]))
    };
    let first = compared();
    assert_eq!(fs::read_dir(place.path("cache")).unwrap().count(), 10);
    assert_eq!(compared(), first);
    assert_eq!(fs::read_dir(place.path("cache")).unwrap().count(), 10);
    // A file of metrics that changed is another way to measure.
    let metrics = place.path("m.sql");
    let with = format!("@{}", metrics.display());
    let mut means = Vec::new();
    for number in [1, 2] {
        fs::write(&metrics, format!("-- # one\nSELECT {number};")).unwrap();
        let arguments =
            ["./old", "--with", "./new", "-F", "json", "--cache", "./other", "--metric", &with];
        let rows = rows(&compare(&place, &arguments));
        means.push(number_of_metric(&rows));
    }
    assert_eq!(means, [1.0, 2.0]);
    // A file that is damaged is made again.
    let kept = fs::read_dir(place.path("cache")).unwrap().next().unwrap().unwrap().path();
    fs::write(kept, "damaged").unwrap();
    assert_eq!(compared(), first);
    // Another trace of the same name is measured.
    fs::write(place.path("old/0.json"), trace(&[("layout", 500_000)])).unwrap();
    assert_ne!(compared(), first);
    assert_eq!(fs::read_dir(place.path("cache")).unwrap().count(), 11);
}

#[test]
fn cm5_a_line_shows_the_names_around_it() {
    let place = Place::new();
    for (folder, dur) in [("old", 100), ("new", 200)] {
        fs::create_dir(place.path(folder)).unwrap();
        for number in 0..5 {
            let inner = dur + number;
            let text = format!(
                r#"[{{"ph":"X","pid":7,"tid":7,"name":"frame","ts":0,"dur":1000}},
                    {{"ph":"X","pid":7,"tid":7,"name":"work","ts":1,"dur":500}},
                    {{"ph":"X","pid":7,"tid":7,"name":"layout","ts":2,"dur":{inner}}}]"#
            );
            fs::write(place.path(format!("{folder}/{number}.json")), text).unwrap();
        }
    }
    let said = compare(&place, &["./old", "--with", "./new"]);
    assert!(said.stdout.contains("frame › work › layout"), "{}", said.stdout);
}

#[test]
fn cm23_the_document_has_the_runs_and_the_notes_beside_the_rows() {
    let place = Place::new();
    by_hand(&place);
    let leave_out = place.path("new/4.json");
    let leave_out = leave_out.to_str().unwrap();
    let document = document(&compare(
        &place,
        &["./old", "--with", "./new", "-F", "json", "--leave-out", leave_out],
    ));
    assert_eq!(document.as_object().unwrap().len(), 3, "runs, notes and rows");
    assert!(!document["rows"].as_array().unwrap().is_empty());
    let runs = document["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 10);
    let sides = runs.iter().map(|run| run["side"].as_str().unwrap());
    assert!(sides.eq(["before"; 5].into_iter().chain(["after"; 5])));
    for run in runs {
        let is_unused = run["run"] == leave_out;
        let unused = if is_unused { Json::from("left_out") } else { Json::Null };
        assert_eq!(run["unused"], unused, "{run}");
        assert!(number(run, "length") > 150e6 && run["errors"] == 0 && run["marks"].is_null());
    }
    let notes = document["notes"].as_array().unwrap();
    let names: Vec<&str> = notes.iter().map(|note| note["note"].as_str().unwrap()).collect();
    assert_eq!(names, ["lengths_differ", "few_runs"]);
    let text = compare(&place, &["./old", "--with", "./new", "--leave-out", leave_out]).stdout;
    for note in notes {
        assert!(text.contains(note["text"].as_str().unwrap()), "{text}");
    }
}

#[test]
fn cm2_equal_names_in_two_files_of_values_are_two_runs() {
    let place = Place::new();
    by_hand(&place);
    let direct = compare(&place, &["./old", "--with", "./new"]).stdout;
    for side in ["old", "new"] {
        // As two machines write them, each in a folder of its own.
        fs::rename(place.path(side), place.path("runs")).unwrap();
        let file = format!("./{side}.csv");
        assert_eq!(compare(&place, &["./runs", "--values", &file]).code, Some(0));
        fs::rename(place.path("runs"), place.path(side)).unwrap();
    }
    let said = compare(&place, &["./old.csv", "--with", "./new.csv"]);
    // Remarks have the names of runs.
    let lines = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !line.starts_with('!')).map(str::to_owned).collect()
    };
    assert_eq!((lines(&said.stdout), said.stderr.as_str()), (lines(&direct), ""));
    // A file is no other run of itself.
    let said = compare(&place, &["./old.csv", "--with", "./old.csv"]);
    assert!(said.stderr.contains("is on both sides: name it once"), "{}", said.stderr);
}

#[test]
fn cm2_flags_that_would_change_nothing_are_refused() {
    let place = Place::new();
    by_hand(&place);
    assert_eq!(compare(&place, &["./old", "--values", "./old.csv"]).code, Some(0));
    assert_eq!(compare(&place, &["./new", "--values", "./new.csv"]).code, Some(0));
    let (old, tables) = (place.path("old"), place.path("tables"));
    let exported = run(&["export", old.to_str().unwrap(), "-o", tables.to_str().unwrap()]);
    assert_eq!(exported.code, Some(0), "{}", exported.stderr);
    let of_a_trace =
        [["--during", "layout"], ["--from", "0"], ["--to", "9"], ["--conversion", "linear"]];
    for [flag, value] in of_a_trace {
        let said = compare(&place, &["./tables", "--with", "./new", flag, value]);
        let expected = format!("{flag}: {} has tables of traces, without", tables.display());
        assert!(said.stderr.contains(&expected), "{}", said.stderr);
    }
    for [flag, value] in
        of_a_trace.into_iter().chain([["--metric", "x=SELECT 1"], ["--name", "a=b"]])
    {
        let said = compare(&place, &["./old.csv", "--with", "./new.csv", flag, value]);
        assert!(said.stderr.contains("old.csv has values that are measured already"), "{said:?}");
        // The values of a file may have been measured in the same way.
        if flag != "--during" && flag != "--to" {
            let said = compare(&place, &["./old.csv", "--with", "./new", flag, value]);
            assert_eq!(said.code, Some(0), "{flag}: {}", said.stderr);
        }
    }
    // Without a table, lines would seem to be of another family.
    fs::remove_dir_all(place.path("tables/thread_track")).unwrap();
    let said = compare(&place, &["./tables", "--with", "./new"]);
    assert_eq!(said.code, Some(1));
    assert!(
        said.stderr.contains("has no table thread_track, from which values come"),
        "{}",
        said.stderr
    );
    assert!(said.stderr.contains("(and 4 more for this reason)"), "{}", said.stderr);
}

#[test]
fn cm2_what_holds_for_many_runs_is_told_once() {
    let place = Place::new();
    by_hand(&place);
    for number in [1, 3] {
        let path = place.path(format!("new/{number}.json"));
        let text = fs::read_to_string(&path).unwrap();
        fs::write(path, text.trim_end_matches("}]")).unwrap();
    }
    let damaged = compare(&place, &["./old", "--with", "./new"]);
    assert_eq!(damaged.code, Some(0));
    assert_eq!(damaged.stderr.lines().count(), 1, "{}", damaged.stderr);
    assert!(damaged.stderr.starts_with("timebase: warning: "), "{}", damaged.stderr);
    assert!(damaged.stderr.contains("new/1.json"), "{}", damaged.stderr);
    assert!(damaged.stderr.contains("(and 1 more for this reason)"), "{}", damaged.stderr);
    for (flag, value, expected) in [
        ("--metric", "x=SELEC 1", "the metric x: near \"SELEC\": syntax error (and 9 more"),
        ("--during", "nothing", "no slice has this name"),
        ("--name", "layout", "it has no =; write REGEX=TEXT"),
        ("--name", "(=x", "\"(=x\" is no replacement of names: unclosed group"),
    ] {
        let said = compare(&place, &["./old", "--with", "./new", flag, value]);
        assert_eq!(said.code, Some(1));
        let errors = said.stderr.lines().filter(|line| !line.starts_with("timebase: warning: "));
        assert_eq!(errors.count(), 1, "{}", said.stderr);
        assert!(said.stderr.contains(expected), "{}", said.stderr);
        assert!(!said.stderr.contains("left out"), "{}", said.stderr);
    }
}

#[test]
fn cm17_cm18_a_side_without_runs_is_an_error() {
    let place = Place::new();
    by_hand(&place);
    for (flag, value) in [("--skip-first", "5"), ("--pair-by", "nothing")] {
        let said = compare(&place, &["./old", "--with", "./new", flag, value]);
        assert_eq!(said.code, Some(1), "{}", said.stdout);
        let expected = format!("no run before is left, because all 5 are left out by {flag}");
        assert!(said.stderr.contains(&expected), "{}", said.stderr);
    }
    let both = compare(&place, &["./old", "--with", "./new", "--paired", "--pair-by", "x"]);
    assert_eq!(both.code, Some(2), "{}", both.stderr);
    let one = compare(&place, &["./old", "--with", "./new/1.json", "--pair-by", "[0-9]+.json"]);
    assert_eq!(one.stdout.matches("without a partner").count(), 1, "{}", one.stdout);
    for labels in [",", "same,same", "one", "a,b,c"] {
        let said = compare(&place, &["./old", "--with", "./new", "--labels", labels]);
        assert!(said.stderr.contains("--labels takes two names"), "{}", said.stderr);
    }
}

#[test]
fn cm19_names_of_one_side_are_told_with_few_runs_too() {
    let place = Place::new();
    for (folder, name) in [("old", "parse"), ("new", "retry")] {
        fs::create_dir(place.path(folder)).unwrap();
        for number in 0..3 {
            let slices = [("layout", 100), (name, 50 + number)];
            fs::write(place.path(format!("{folder}/{number}.json")), trace(&slices)).unwrap();
        }
    }
    let of = |runs: &[&str]| {
        let sides = ["old", "new"].map(|side| -> Vec<String> {
            runs.iter().map(|run| format!("./{side}/{run}.json")).collect()
        });
        let mut all: Vec<&str> = sides[0].iter().map(String::as_str).collect();
        all.push("--with");
        all.extend(sides[1].iter().map(String::as_str));
        compare(&place, &all).stdout
    };
    let one = of(&["0"]);
    assert!(one.contains("new: self:app/retry (1 of 1 runs, 0.050 ms)"), "{one}");
    assert!(one.contains("gone: self:app/parse (1 of 1 runs, 0.050 ms)"), "{one}");
    assert!(one.contains("count =  per call ="), "{one}");
    let two = of(&["0", "1"]);
    assert!(two.starts_with("2 runs before, 2 after: 1 line, without verdicts"), "{two}");
    assert!(two.contains("new: self:app/retry (2 of 2 runs"), "{two}");
    let three = of(&["0", "1", "2"]);
    assert!(three.contains("perhaps new: self:app/retry (3 of 3 runs"), "{three}");
    for number in 0..3 {
        fs::write(place.path(format!("new/{number}.json")), trace(&[("other", 5)])).unwrap();
    }
    let other = of(&["0", "1", "2"]);
    assert!(other.contains("! no line is on both sides"), "{other}");
}

#[test]
fn cm11_marks_that_differ_in_their_numbers_are_one_sentence() {
    let place = Place::new();
    let mut text = String::from("run,side,family,process,name,stat,value,value_all\n");
    for side in ["before", "after"] {
        for number in 0..5 {
            let run = format!("{side}/{number}");
            let _ = writeln!(text, "{run},{side},self,app,layout,total,{},", 100 + number);
            let _ = writeln!(text, "{run},{side},run,,left_out,wait,0.8{number},");
            // Losses that overlap are no more than all.
            let _ = writeln!(text, "{run},{side},run,,lost,share,{number}.5,");
            if side == "after" {
                let _ = writeln!(text, "{run},{side},counter,app,heat,mean,7000000,");
            }
        }
    }
    let values = place.path("v.csv");
    fs::write(&values, text).unwrap();
    let of = |side: &str| format!("{},side={side}", values.display());
    let said = run(&["compare", &of("before"), "--with", &of("after")]).stdout;
    let names = "before/0, before/1, before/2 and 7 more";
    let wait = format!("! {names}: up to 84 % of the family wait may be wrong, and is left out\n");
    assert!(said.contains(&wait), "{said}");
    assert!(said.contains(&format!("! {names}: up to 100 % of the time is lost\n")), "{said}");
    assert!(said.contains("new: counter:app/heat (5 of 5 runs, 7000000)"), "{said}");
    let none = run(&["compare", &of("before"), "--with", &of("after"), "--top", "0"]).stdout;
    assert!(!none.contains("new:") && !none.contains('Δ'), "{none}");
    let nothing = run(&["compare", &of("nothing"), "--with", &of("after")]).stderr;
    assert!(nothing.ends_with("no row has side=nothing\n"), "{nothing}");
}
