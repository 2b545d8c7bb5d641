//! Random files in Chrome's JSON format. Times, ids and names are few, so ties, overlaps and equal keys
//! are frequent; each event is made of a number of its own, so a file that fails is made smaller event
//! by event.

use std::fmt;

use proptest::collection::vec;
use proptest::prelude::*;

/// A file.
#[derive(Clone)]
pub struct Case {
    pub text: String,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Files without bytes that are no JSON.
pub fn case() -> impl Strategy<Value = Case> {
    cases(false)
}

/// Files with damaged events.
pub fn damaged() -> impl Strategy<Value = Case> {
    cases(true)
}

fn cases(is_damaged: bool) -> impl Strategy<Value = Case> {
    let events = vec(any::<u64>(), 0..60);
    (any::<u64>(), events).prop_map(move |(world, events)| {
        let world = World::new(world, is_damaged);
        Case { text: world.file(&events) }
    })
}

/// Numbers that follow from a first one.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// One time in so many.
    fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    fn pick<'a>(&mut self, texts: &[&'a str]) -> &'a str {
        texts[self.below(texts.len() as u64) as usize]
    }
}

/// The form of a file, and what its events have in common.
struct World {
    seed: u64,
    is_damaged: bool,
    /// Added to times, in µs.
    base: &'static str,
    /// Whether there are complete events, on which the order of ties depends.
    has_x: bool,
    /// Whether ids and fields are odd.
    is_odd: bool,
    /// Most events have one of these.
    pids: [&'static str; 2],
    tids: [&'static str; 3],
    /// Between the parts of an object.
    spaces: [&'static str; 2],
}

/// The members of an event, as they are written.
type Members = Vec<(&'static str, String)>;

impl World {
    fn new(seed: u64, is_damaged: bool) -> World {
        let mut random = Random(seed);
        let is_odd = random.once_in(2);
        let pids: &[&str] = if is_odd { &PIDS } else { &PIDS[..4] };
        let tids: &[&str] = if is_odd { &TIDS } else { &TIDS[..5] };
        World {
            seed: random.next(),
            is_damaged,
            base: random.pick(&["", "", "", "", "5", "17000000000000", "-"]),
            has_x: !random.once_in(4),
            is_odd,
            pids: [(); 2].map(|()| random.pick(pids)),
            tids: [(); 3].map(|()| random.pick(tids)),
            spaces: [["", ""], [" ", " "], ["", "\n"], ["\t", "\r\n "]][random.below(4) as usize],
        }
    }

    fn file(&self, seeds: &[u64]) -> String {
        let mut random = Random(self.seed);
        let mut events = vec![r#"{"ph":"i","name":"first","pid":1,"tid":1,"ts":3}"#.to_owned()];
        if random.once_in(3) {
            events.push(self.first_of_a_profile());
        }
        events.extend(seeds.iter().map(|seed| self.item(&mut Random(*seed))));
        match random.below(8) {
            0 => events.join("\n"),
            1 => format!("\u{feff} \n[{}", events.join(",\n")),
            2 => format!("[{},]\n", events.join(", ,")),
            3 => {
                let (a, b) = events.split_at(1 + events.len() / 2);
                format!("[{}]\n[{}\n]", a.join(","), b.join(""))
            }
            4 => format!(" \0[{}]", events.join(",")),
            _ => self.outer(&mut random, &events),
        }
    }

    /// Without it the parts of a profile are unknown.
    fn first_of_a_profile(&self) -> String {
        let pid = self.pids[0];
        let pid = if pid.is_empty() { String::new() } else { format!("\"pid\":{pid},") };
        format!(
            "{{\"ph\":\"P\",\"ts\":0,{pid}\"tid\":1,\"id\":1,\"args\":{{\"data\":{{\"startTime\":2}}}}}}"
        )
    }

    /// The form with an outer object.
    fn outer(&self, random: &mut Random, events: &[String]) -> String {
        let mut members = Vec::new();
        let add = |members: &mut Vec<String>, random: &mut Random, most: u64| {
            for _ in 0..random.below(most) {
                let member = outer_member(random);
                // Of equal keys the last would count.
                let key = |member: &str| member.split(':').next().map(str::trim).map(str::to_owned);
                if members.iter().all(|other| key(other) != key(&member)) {
                    members.push(member);
                }
            }
        };
        add(&mut members, random, 4);
        let between = random.pick(&[",", ",\n", " , , "]);
        let cut = if random.once_in(4) { events.len() / 2 } else { events.len() };
        let (a, b) = events.split_at(cut.max(1));
        members.push(format!("\"traceEvents\":[{}]", a.join(between)));
        if !b.is_empty() || random.once_in(6) {
            add(&mut members, random, 2);
            members.push(format!("\"trace\\u0045vents\" : [{},]", b.join(between)));
        }
        add(&mut members, random, 4);
        let end = random.pick(&["}", "}", "}\n", ",}", "}\n\0", "} more {}"]);
        format!("{{{}{end}", members.join(","))
    }

    fn item(&self, random: &mut Random) -> String {
        if self.is_damaged && random.once_in(8) {
            return random.pick(&DAMAGE).to_owned();
        }
        if self.is_odd && random.once_in(40) {
            return random.pick(&["5", "\"x\"", "null", "true", "{}", "-1.5e3"]).to_owned();
        }
        let members = self.event(random);
        self.written(random, members)
    }

    fn event(&self, random: &mut Random) -> Members {
        let mut members: Members = Vec::new();
        let phases = [
            "X", "X", "X", "X", "X", "X", "X", "X", "B", "B", "B", "E", "E", "E", "i", "I", "R",
            "b", "b", "e", "e", "n", "S", "F", "T", "p", "s", "s", "t", "f", "f", "C", "C", "M",
            "M", "P", "P", "P", "T", "O",
        ];
        let mut phase = random.pick(&phases);
        if phase == "X" && !self.has_x {
            phase = "B";
        }
        self.common(random, phase, &mut members);
        match phase {
            "X" => self.durations(random, &mut members, 20),
            "T" => self.durations(random, &mut members, 2),
            "i" | "I" | "R" if random.once_in(2) => {
                members.push((
                    "s",
                    random.pick(&["\"g\"", "\"p\"", "\"t\"", "\"x\"", "5"]).to_owned(),
                ));
            }
            _ => {}
        }
        if matches!(phase, "X" | "B" | "b" | "n") && random.once_in(4) {
            bind(random, &mut members);
        }
        ids(random, phase, &mut members);
        self.arguments(random, phase, &mut members);
        if random.once_in(30) {
            let key = random.pick(&["sf", "cname", "scope"]);
            members.push((
                key,
                random.pick(&["7", "[\"0x1\",]", "null", "{\"ph\":\"X\"}"]).to_owned(),
            ));
        }
        members
    }

    /// Phase, name, category, ids of threads and time.
    fn common(&self, random: &mut Random, phase: &str, members: &mut Members) {
        let mut written = format!("\"{phase}\"");
        if self.is_odd && random.once_in(40) {
            written = random.pick(&["\"\"", "5", "null", "\"?\"", "\"Other\"", "\"O\""]).to_owned();
        }
        if !(self.is_odd && random.once_in(60)) {
            members.push(("ph", written));
        }
        if let Some(name) = self.name(random, phase) {
            members.push(("name", name));
        }
        if random.once_in(4) {
            members.push((
                "cat",
                random.pick(&["\"c\"", "\"c\"", "\"d,e\"", "\"\"", "null"]).to_owned(),
            ));
        }
        let is_rare = self.is_odd && random.once_in(12);
        let pid = random.pick(if is_rare { &PIDS } else { &self.pids });
        let tid = random.pick(if is_rare { &TIDS } else { &self.tids });
        let pid = if phase == "P" && !is_rare { self.pids[0] } else { pid };
        for (key, id) in [("pid", pid), ("tid", tid)] {
            if !id.is_empty() {
                members.push((key, id.to_owned()));
            }
        }
        let ts = self.time(random);
        if !(ts.is_empty() || phase == "M" && random.once_in(2)) {
            members.push(("ts", ts));
        }
    }

    fn name(&self, random: &mut Random, phase: &str) -> Option<String> {
        let names =
            ["\"a\"", "\"a\"", "\"b\"", "\"c\"", "\"\"", "null", "5", "\"\\ud83d\\ude00\"", ""];
        let name = match phase {
            "M" => random.pick(&[
                "\"process_name\"",
                "\"thread_name\"",
                "\"thread_name\"",
                "\"process_sort_index\"",
                "\"thread_sort_index\"",
                "\"process_labels\"",
            ]),
            "T" => random.pick(&["\"Running\"", "\"Running\"", "\"S\"", "\"a\"", ""]),
            "s" | "t" | "f" => random.pick(&["\"a\"", "\"a\"", "\"a\"", "\"b\"", ""]),
            _ => {
                let few = if random.once_in(3) { &names } else { &names[..4] };
                random.pick(few)
            }
        };
        (!name.is_empty()).then(|| name.to_owned())
    }

    /// A time in one of the forms that are one; at times none, which is empty.
    fn time(&self, random: &mut Random) -> String {
        if self.is_odd && random.once_in(25) {
            return random.pick(&ODD_TIMES).to_owned();
        }
        let whole = random.below(25);
        let fraction = random.pick(&[
            "",
            "",
            "",
            "",
            ".5",
            ".25",
            ".0005",
            ".0004999999999999999999",
            ".123456789",
            ".",
        ]);
        let time = match self.base {
            "-" => format!("-{whole}{fraction}"),
            base => format!("{base}{whole:02}{fraction}"),
        };
        let time =
            if self.base.is_empty() && !self.is_odd { format!("{whole}{fraction}") } else { time };
        match random.below(12) {
            0 => format!("\"{time}\""),
            1 if fraction.is_empty() => format!("{time}0e-1"),
            2 if fraction.is_empty() => format!("{time}E+0"),
            _ => time,
        }
    }

    fn durations(&self, random: &mut Random, members: &mut Members, missing: u64) {
        if !random.once_in(missing) {
            let odd = self.is_odd && random.once_in(12);
            let dur = if odd { random.pick(&ODD_DURATIONS) } else { random.pick(&DURATIONS) };
            members.push(("dur", dur.to_owned()));
        }
        for key in ["tts", "tdur"] {
            if random.once_in(4) {
                members.push((key, random.pick(&DURATIONS).to_owned()));
            }
        }
    }

    fn arguments(&self, random: &mut Random, phase: &str, members: &mut Members) {
        let args = match phase {
            "C" => counter(random),
            "M" => metadata(random),
            "P" => profile(random),
            "T" => format!(
                "{{\"cpu\":{},\"io_wait\":{},\"blocked_function\":{}}}",
                random.pick(&["0", "3", "\"3\"", "1.0", "null"]),
                random.pick(&["0", "1", "true", "null"]),
                random.pick(&["\"f\"", "\"\"", "5"])
            ),
            _ if random.once_in(2) => object(random, 3),
            _ => return,
        };
        let args = if self.is_odd && random.once_in(20) { "5".to_owned() } else { args };
        members.push(("args", args));
        if matches!(phase, "B" | "E" | "i") && random.once_in(4) {
            members.push(("tts", random.pick(&DURATIONS).to_owned()));
        }
    }

    /// The event's text; at times with a key that is there twice.
    fn written(&self, random: &mut Random, mut members: Members) -> String {
        if self.is_odd && random.once_in(10) {
            let place = random.below(members.len() as u64) as usize;
            let (key, value) = members[place].clone();
            let is_last_of_a_type = matches!(key, "pid" | "tid" | "ts" | "dur" | "id" | "args");
            let other = random.pick(&["null", "true", "false"]).to_owned();
            if is_last_of_a_type && !value.contains(['b', 'N', 'I']) {
                members.push((key, other));
            } else if key != "ph" {
                members.insert(0, (key, other));
            }
        }
        if random.once_in(5) {
            members.reverse();
        }
        let [before, after] = self.spaces;
        let comma = format!("{before},{after}");
        let member = |(key, value): &(&str, String)| format!("\"{key}\"{before}:{after}{value}");
        let members: Vec<String> = members.iter().map(member).collect();
        let end = if random.once_in(20) { "," } else { "" };
        format!("{{{before}{}{end}{after}}}", members.join(&comma))
    }
}

/// Texts that are no JSON, none of which has an event inside.
const DAMAGE: [&str; 8] = [
    r#"{"ph":"X","name":"broken,"pid":1,"tid":1,"ts":3,"dur":2}"#,
    r#"{"ph":"X","pid":1,"tid":1,"ts":3,"dur":2,"args":{"a":[}}}"#,
    r#"{"ph":"i",,"ts":1}"#,
    r#"{"ph" "i","ts":1}"#,
    r#"{"ph":"i","ts":1e}"#,
    r#"{"ph":"i","ts":01-2}"#,
    r#"{"ph":"B","args":{"deep":[{"er":[tru]}]}}"#,
    "#",
];

const PIDS: [&str; 14] = [
    "1",
    "1",
    "2",
    "\"1\"",
    "\"Spans\"",
    "\"Spans\"",
    "\"12x\"",
    "0",
    "-1",
    "4294967297",
    "1e30",
    "2.9",
    "true",
    "",
];

const TIDS: [&str; 15] = [
    "1",
    "1",
    "2",
    "7",
    "\"2\"",
    "\"worker\"",
    "\"worker\"",
    "0",
    "0",
    "-7",
    "140245123456789",
    "1.9",
    "99999999999999999999",
    "null",
    "",
];

const ODD_TIMES: [&str; 10] = [
    "null",
    "\"soon\"",
    "NaN",
    "1e300",
    "9223372036854775.807",
    "9223372036854775.808",
    "\"\"",
    "-3",
    "007",
    "",
];

const DURATIONS: [&str; 14] =
    ["0", "1", "2", "3", "5", "5", "8", "13", "20", "0.0005", "0.0004", "\"4\"", "1e1", "2.5"];

const ODD_DURATIONS: [&str; 7] = ["null", "-3", "\"x\"", "1e300", "NaN", "true", "+5"];

/// Ids of async events, objects, counters and flows.
fn ids(random: &mut Random, phase: &str, members: &mut Members) {
    let id = match phase {
        "b" | "e" | "n" | "S" | "F" | "T" | "p" => random
            .pick(&["1", "1", "2", "\"1\"", "\"0x1\"", "\"r\"", "id2", "id2", "1.5", "null", ""]),
        "s" | "t" | "f" => random.pick(&[
            "1", "1", "1", "\"0x1\"", "\"1\"", "\"word\"", "\"word\"", "\"\"", "2", "null", "",
        ]),
        "C" => random.pick(&["", "", "", "1", "\"c1\"", "\"\"", "null"]),
        "P" => random.pick(&["1", "1", "1", "1", "\"0x1\"", "\"0x1\"", "2", "\"word\"", ""]),
        _ => "",
    };
    match id {
        "" => {}
        "id2" => {
            let id2 = random.pick(&[
                "{\"local\":1}",
                "{\"local\":\"r\"}",
                "{\"global\":1}",
                "{\"local\":1,\"global\":\"r\"}",
                "{}",
                "5",
            ]);
            members.push(("id2", id2.to_owned()));
        }
        id => members.push(("id", id.to_owned())),
    }
    if phase == "f" && random.once_in(2) {
        members.push(("bp", random.pick(&["\"e\"", "\"e\"", "\"x\""]).to_owned()));
    }
}

/// A flow of version 2.
fn bind(random: &mut Random, members: &mut Members) {
    members.push((
        "bind_id",
        random.pick(&["1", "1", "1", "\"0x1\"", "\"word\"", "\"\"", "null"]).to_owned(),
    ));
    for key in ["flow_in", "flow_out"] {
        if random.once_in(2) {
            members.push((key, random.pick(&["true", "true", "true", "false", "1"]).to_owned()));
        }
    }
}

fn scalar(random: &mut Random) -> &'static str {
    random.pick(&[
        "1",
        "-5",
        "0",
        "1.5",
        "-0.0",
        "1e3",
        "1e-7",
        "9223372036854775807",
        "9223372036854775808",
        "1e999",
        "NaN",
        "-Infinity",
        "007",
        "+1",
        ".5",
        "5.",
        "true",
        "false",
        "null",
        "\"\"",
        "\"x\"",
        "\"\\ud83d\\ude00\"",
        "\"\\ud83d!\"",
        "\"C:\\dir\"",
        "\"a\\\"b\\\\c\\/\\n\\u0041\"",
        "\"\\u12\"",
        "\"tab\there\"",
        "\"ü\"",
    ])
}

fn value(random: &mut Random, depth: u64) -> String {
    match random.below(6) {
        0 if depth > 0 => object(random, depth - 1),
        1 if depth > 0 => {
            let entries: Vec<String> =
                (0..random.below(4)).map(|_| value(random, depth - 1)).collect();
            format!("[{}]", entries.join(", "))
        }
        _ => scalar(random).to_owned(),
    }
}

/// An object with different keys.
fn object(random: &mut Random, depth: u64) -> String {
    let keys = ["a", "b", "c.d", "e[x]", "\\u00fc", "", "f"];
    let first = random.below(keys.len() as u64) as usize;
    let members: Vec<String> = (0..random.below(4) as usize)
        .map(|place| {
            format!("\"{}\": {}", keys[(first + place) % keys.len()], value(random, depth))
        })
        .collect();
    format!("{{{}}}", members.join(","))
}

fn counter(random: &mut Random) -> String {
    let values = [
        "1",
        "2.5",
        "-3",
        "NaN",
        "Infinity",
        "18446744073709551616",
        "1e400",
        "\"2.5\"",
        "\"+10.5\"",
        "\".75\"",
        "\"050\"",
        "\"246.\"",
        "\"0x1f\"",
        "\"1e3\"",
        "\" 7\"",
        "\"7 \"",
        "\"inf\"",
        "\"nan\"",
        "\"\"",
        "\"x\"",
        "true",
        "null",
        "{}",
        "[1]",
    ];
    let keys = ["v", "w", "", "x y"];
    let first = random.below(4) as usize;
    let members: Vec<String> = (0..random.below(4) as usize)
        .map(|place| format!("\"{}\":{}", keys[(first + place) % 4], random.pick(&values)))
        .collect();
    let twice = if random.once_in(12) { ",\"v\":9" } else { "" };
    match members.is_empty() {
        true => random.pick(&["{}", "[]", "null", "5"]).to_owned(),
        false => format!("{{{}{twice}}}", members.join(",")),
    }
}

fn metadata(random: &mut Random) -> String {
    let names = ["\"p\"", "\"q\"", "\"q\"", "\"\\ud83d\\ude00\"", "\"\"", "5", "null"];
    let indexes = ["5", "-2", "10.0", "2.9", "1099511627779", "\"7\"", "\"x\"", "null", "true"];
    match random.below(5) {
        0 => "{}".to_owned(),
        1 | 2 => format!("{{\"name\":{}}}", random.pick(&names)),
        3 => format!("{{\"sort_index\":{}}}", random.pick(&indexes)),
        _ => {
            format!("{{\"name\":{},\"sort_index\":{}}}", random.pick(&names), random.pick(&indexes))
        }
    }
}

/// The beginning of a profile, or a part of one.
fn profile(random: &mut Random) -> String {
    if random.once_in(3) {
        return format!("{{\"data\":{{\"startTime\":{}}}}}", random.below(20));
    }
    let node = |random: &mut Random| {
        let id = 1 + random.below(6);
        let parent = match random.below(4) {
            0 | 1 => String::new(),
            2 => format!("\"parent\":{},", 1 + random.below(6)),
            _ => format!("\"children\":[{}],", 10 * id),
        };
        let url = random.pick(&["", ",\"url\":\"a.js\"", ",\"url\":\"\""]);
        let (id, name) = match random.below(4) {
            0 if !parent.contains("children") => (10 * id, "child"),
            _ => (id, random.pick(&["f", "g", "(root)", ""])),
        };
        format!("{{\"id\":{id},{parent}\"callFrame\":{{\"functionName\":\"{name}\"{url}}}}}")
    };
    let nodes: Vec<String> = (0..random.below(4)).map(|_| node(random)).collect();
    let numbers = |random: &mut Random, count: u64, bound: u64| {
        let numbers: Vec<String> = (0..count).map(|_| random.below(bound).to_string()).collect();
        numbers.join(",")
    };
    let count = random.below(4);
    let samples = numbers(random, count, 7);
    let count = if random.once_in(8) { count + 1 } else { count };
    let deltas = numbers(random, count, 10);
    format!(
        "{{\"data\":{{\"cpuProfile\":{{\"nodes\":[{}],\"samples\":[{samples}]}},\"timeDeltas\":[{deltas}]}}}}",
        nodes.join(",")
    )
}

fn outer_member(random: &mut Random) -> String {
    random
        .pick(&[
            "\"displayTimeUnit\":\"ms\"",
            "\"displayTimeUnit\" : 5",
            "\"metadata\":{\"a\":1,\"b\":10.0,\"c\":0.1234567891,\"d\":true,\"e\":false,\"f\":null}",
            "\"metadata\":{\"a\":\"x\",\"a\":{\"b\":[1, 2]},\"g\":[ ],\"h\":1e30,\"i\":18446744073709551616}",
            "\"metadata\":{\"clock-domain\":\"LINUX_CLOCK_MONOTONIC\"}",
            "\"metadata\":{\"clock-offset-since-epoch\":\"1763414587728000\"}",
            "\"metadata\":{\"clock-offset-since-epoch\":0}",
            "\"otherData\":{\"n\":NaN,\"version\":\"v\",\"l\":[1]}",
            "\"otherData\":{\"date\":\"2025-06-14T17:38:43.886276Z\",\"profile_start_ts\":1749922723886}",
            "\"otherData\":{\"date\":\"Tue Mar 07 12:00:00 CET 2023\",\"profile_finish_ts\":1678186800000}",
            "\"x\":1",
            "\"x\":\"tab\there\"",
            "\"y\":{\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"dur\":1}]}",
            "\"z\":[]",
            "\"beginningOfTime\":1700000000000000",
            "\"beginningOfTime\":\"soon\"",
            "\"baseTimeNanoseconds\":1759276800000000000",
            "\"baseTimeNanoseconds\":0",
            "\"viztracer_metadata\":{\"baseTimeNanoseconds\":1764263000000000000}",
            "\"systemTraceEvents\":{\"type\":\"fuchsia\",\"events\":[]}",
            "\"stackFrames\":{\"1\":{\"name\":\"f\"}}",
        ])
        .to_owned()
}
