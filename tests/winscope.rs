//! Window tracing, through the real program: traces with trace processor's rows for the statements of
//! queries-rest.sql, and random layers and transitions against the rules as they stand.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::types::Value;

use crate::support::random::Random;
use crate::support::statements::{Row, answer, as_text, difference, recorded, statements};
use crate::support::{Imported, run};
use timebase_lab::encode::{self, Message};

/// The traces with window tracing.
const TRACES: [&str; 8] = ["01", "05", "09", "13", "17", "21", "25", "29"];

/// The statements that call functions of PerfettoSQL.
const OF_FUNCTIONS: [&str; 2] = ["ws_defaults", "ws_path"];

/// The rows of a statement that the program runs.
fn of_program(database: &Imported, sql: &str) -> Vec<Row> {
    let said = run(&["query", database.path(), sql, "--format", "csv"]);
    assert_eq!(said.code, Some(0), "{sql}\n{}", said.stderr);
    let mut reader = csv::Reader::from_reader(said.stdout.as_bytes());
    let text = |field: &str| Value::Text(field.to_owned());
    reader.records().map(|row| row.unwrap().iter().map(text).collect()).collect()
}

#[test]
fn ws1_to_ws3_ws5_to_ws20_yr3_known_rows() {
    let mut statements = statements("rest/queries-rest.sql");
    statements.retain(|(name, _)| name.starts_with("ws_"));
    assert_eq!(statements.len(), 23);
    let mut wrong: BTreeMap<&str, String> = BTreeMap::new();
    let mut met = BTreeSet::new();
    for trace in TRACES {
        let database = Imported::new(&format!("rest/{trace}.pftrace"), &[]);
        let expected = recorded(&format!("rest/{trace}.jsonl.zst"));
        met.extend(expected.keys().cloned());
        for (name, sql) in &statements {
            let expected = expected.get(name).cloned().unwrap_or_default();
            let found = match OF_FUNCTIONS.contains(&name.as_str()) {
                true => of_program(&database, sql),
                false => as_text(answer(&database.conn, sql).unwrap()),
            };
            if let Some(why) = difference(&found, &as_text(expected)) {
                *wrong.entry(name).or_default() += &format!("\n  {trace}: {why}");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(met.len(), 19, "{met:?}");
}

#[test]
fn ws2_each_table_has_two_names() {
    let database = Imported::new("rest/13.pftrace", &[]);
    let line = " rows of window tracing, see 'timebase help window-tracing'";
    assert!(database.said.contains(line), "{}", database.said);
    for table in timebase_schema::WINSCOPE {
        let count = |name: &str| database.count(&format!("SELECT count(*) FROM {name}"));
        assert_eq!(count(table.name), count(&format!("__intrinsic_{}", table.name)));
        let helps = ["", "__intrinsic_"].map(|prefix| {
            let said = run(&["help", &format!("{prefix}{}", table.name)]);
            assert_eq!(said.code, Some(0), "{prefix}{}: {}", table.name, said.stderr);
            said.stdout
        });
        assert!(helps[0] == helps[1] && helps[0].starts_with("The table "), "{}", helps[1]);
    }
}

#[test]
fn ws5_a_function_for_payloads_refuses_other_tables() {
    let database = Imported::new("rest/13.pftrace", &[]);
    for (argument, expected) in [
        (
            "'protolog'",
            "must be a table of payloads, such as 'viewcapture', not the text 'protolog'",
        ),
        ("'thread'", "must be a table of payloads"),
        ("7", "argument 1 (table_name) must be"),
    ] {
        let sql =
            format!("SELECT * FROM __intrinsic_winscope_proto_to_args_with_defaults({argument})");
        let said = run(&["query", database.path(), &sql]);
        assert_ne!(said.code, Some(0));
        assert!(said.stderr.contains(expected), "{}", said.stderr);
    }
    let sql =
        "SELECT count(*) FROM __intrinsic_winscope_proto_to_args_with_defaults('windowmanager')";
    for (flags, rows) in [(&[][..], "15"), (&["--compact"], "15"), (&["--no-data"], "0")] {
        let database = Imported::new("rest/21.pftrace", flags);
        assert_eq!(of_program(&database, sql), [[Value::Text(rows.into())]], "{flags:?}");
    }
}

fn new() -> Message {
    Message::new()
}

/// A packet of sequence 1 at a time of BOOTTIME.
fn packet(ts: u64, field: u32, payload: Message) -> Message {
    new().number(10, 1).number(8, ts).number(58, 6).message(field, payload)
}

/// A layer of the model. All layers have ids from 1.
#[derive(Debug, Clone)]
struct Layer {
    parent: Option<usize>,
    relative: Option<usize>,
    z: i64,
    stack: u64,
    is_hidden: bool,
    alpha: f32,
    is_opaque: bool,
    has_buffer: bool,
    /// Left, top, right, bottom.
    rect: [u64; 4],
}

impl Layer {
    fn random(place: usize, random: &mut Random) -> Layer {
        let (left, top) = (random.below(6), random.below(6));
        let one_of = |random: &mut Random| Some(random.below(place as u64) as usize);
        Layer {
            parent: if place > 0 && random.below(3) > 0 { one_of(random) } else { None },
            relative: if place > 0 && random.below(6) == 0 { one_of(random) } else { None },
            z: random.below(7) as i64 - 3,
            stack: random.below(2),
            is_hidden: random.below(8) == 0,
            alpha: random.pick(&[0.0, 0.5, 1.0, 1.0]),
            is_opaque: random.below(3) > 0,
            has_buffer: random.below(4) > 0,
            rect: [left, top, left + random.below(6), top + random.below(6)],
        }
    }

    fn message(&self, place: usize) -> Message {
        let rect = |of: [u64; 4]| {
            let sides = (1..).zip(of);
            sides.fold(new(), |rect, (side, value)| rect.float(side, value as f32))
        };
        let color = (1..4).fold(new(), |color, part| color.float(part, -1.0)).float(4, self.alpha);
        // A layer without a parent is at a place of its own on the screen.
        let mut layer = new()
            .number(1, place as u64 + 1)
            .number(9, self.stack)
            .signed(10, self.z)
            .number(16, self.is_opaque.into())
            .message(20, color)
            .number(22, self.is_hidden.into())
            .message(45, rect(self.rect))
            .message(46, rect(self.rect));
        if let Some(parent) = self.parent {
            layer = layer.number(25, parent as u64 + 1);
        }
        if let Some(relative) = self.relative {
            layer = layer.number(26, relative as u64 + 1);
        }
        match self.has_buffer {
            true => layer.message(27, new().number(1, 4).number(2, 4)),
            false => layer,
        }
    }

    fn contains(&self, other: &Layer) -> bool {
        let ([l, t, r, b], [left, top, right, bottom]) = (self.rect, other.rect);
        l <= left && t <= top && right <= r && bottom <= b
    }
}

/// Puts a layer and what hangs at it at the end, the lowest first.
fn draw(place: usize, layers: &[Layer], drawn: &mut Vec<usize>) {
    let hangs = |other: &&usize| layers[**other].relative.or(layers[**other].parent) == Some(place);
    let all: Vec<usize> = (0..layers.len()).collect();
    let mut children: Vec<usize> = all.iter().filter(hangs).copied().collect();
    children.sort_by_key(|child| (layers[*child].z, *child));
    let (below, above): (Vec<_>, Vec<_>) = children.into_iter().partition(|of| layers[*of].z < 0);
    below.into_iter().for_each(|child| draw(child, layers, drawn));
    drawn.push(place);
    above.into_iter().for_each(|child| draw(child, layers, drawn));
}

/// The visible layers by the rules WS17 and WS18.
fn visible(layers: &[Layer]) -> BTreeSet<usize> {
    let mut roots: Vec<usize> = (0..layers.len())
        .filter(|place| layers[*place].parent.is_none() && layers[*place].relative.is_none())
        .collect();
    roots.sort_by_key(|root| (layers[*root].z, *root));
    let mut drawn = Vec::new();
    roots.into_iter().for_each(|root| draw(root, layers, &mut drawn));
    let mut seen: BTreeSet<usize> = BTreeSet::new();
    for place in drawn.into_iter().rev() {
        let layer = &layers[place];
        let mut hidden = layer.is_hidden;
        let mut next = layer.parent;
        while let Some(parent) = next {
            hidden |= layers[parent].is_hidden;
            next = layers[parent].parent;
        }
        let [left, top, right, bottom] = layer.rect;
        let is_empty = left == right || top == bottom;
        let is_covered = seen.iter().any(|above| {
            let above = &layers[*above];
            above.stack == layer.stack
                && above.is_opaque
                && above.alpha >= 1.0
                && above.contains(layer)
        });
        if !hidden && !is_empty && layer.alpha > 0.0 && layer.has_buffer && !is_covered {
            seen.insert(place);
        }
    }
    seen
}

#[test]
fn ws17_ws18_random_layers_are_visible_as_the_rules_say() {
    let mut random = Random(41);
    let snapshots: Vec<Vec<Layer>> = (0..300)
        .map(|_| {
            let count = 1 + random.below(9) as usize;
            (0..count).map(|place| Layer::random(place, &mut random)).collect()
        })
        .collect();
    let packets = snapshots.iter().zip(1000..).map(|(layers, ts)| {
        let all = (0..)
            .zip(layers)
            .fold(new(), |all, (place, layer)| all.message(1, layer.message(place)));
        packet(ts, 93, new().message(3, all))
    });
    let packets: Vec<Message> = packets.collect();
    let database = Imported::of_bytes(&encode::trace_of(&packets), &[]);
    let mut found: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for row in
        database.rows("SELECT snapshot_id, layer_id - 1 FROM surfaceflinger_layer WHERE is_visible")
    {
        let [snapshot, layer] = [&row[0], &row[1]].map(|text| text.parse().unwrap());
        found.entry(snapshot).or_default().insert(layer);
    }
    let mut some = 0;
    for (number, layers) in snapshots.iter().enumerate() {
        let found = found.remove(&number).unwrap_or_default();
        assert_eq!(found, visible(layers), "{number}: {layers:#?}");
        some += found.len();
    }
    assert!(some > 300, "{some}");
}

/// The times of a transition by the fields of its packets.
const TIMES: [(u32, &str); 5] = [
    (3, "send_time_ns"),
    (4, "dispatch_time_ns"),
    (5, "merge_time_ns"),
    (7, "shell_abort_time_ns"),
    (8, "wm_abort_time_ns"),
];
const FINISH: u32 = 9;

/// A transition of the model: the last value of each field, and the time that its packets gave it.
#[derive(Debug, Default)]
struct Transition {
    fields: BTreeMap<u32, u64>,
    ts: u64,
}

impl Transition {
    /// A packet has been read. Only a send replaces a time that is known.
    fn read(&mut self, packet: &BTreeMap<u32, u64>) {
        if let Some(send) = packet.get(&3) {
            self.ts = *send;
        }
        if let (Some(dispatch), 0) = (packet.get(&4), self.ts) {
            self.ts = *dispatch;
        }
        self.fields.extend(packet);
    }

    /// `ts`, `duration_ns` and `status` by rule WS11.
    fn told(&self) -> String {
        let time = |field| self.fields.get(&field).copied().unwrap_or(0);
        let (dispatch, finish) = (time(4), time(FINISH));
        let is_aborted = time(7) > 0 || time(8) > 0;
        let (duration, status) = match (time(5) > 0, dispatch > 0 && finish > 0, dispatch == 0) {
            (true, ..) => ("-".to_owned(), "merged"),
            (_, true, _) => ((finish as i64 - dispatch as i64).to_string(), "played"),
            (_, _, true) if is_aborted => ("-".to_owned(), "aborted"),
            _ => ("-".to_owned(), "-"),
        };
        format!("{} {duration} {status}", self.ts)
    }
}

#[test]
fn ws10_ws11_packets_of_random_transitions_are_one_row_each() {
    let mut random = Random(43);
    let (mut packets, mut model) = (Vec::new(), BTreeMap::<u64, Transition>::new());
    for ts in 1000..1400 {
        let id = 1 + random.below(120);
        let (mut message, mut said) = (new().number(1, id), BTreeMap::new());
        for field in TIMES.map(|(field, _)| field).into_iter().chain([FINISH]) {
            if random.below(5) == 0 {
                let value = random.below(3) * (1 + random.below(1000));
                said.insert(field, value);
                message = message.number(field, value);
            }
        }
        model.entry(id).or_default().read(&said);
        packets.push(packet(ts, 96, message));
    }
    let database = Imported::of_bytes(&encode::trace_of(&packets), &[]);
    let sql =
        "SELECT transition_id, ts || ' ' || ifnull(duration_ns, '-') || ' ' || ifnull(status, '-')
        FROM window_manager_shell_transitions";
    let found: BTreeMap<u64, String> = database
        .rows(sql)
        .into_iter()
        .map(|row| (row[0].parse().unwrap(), row[1].clone()))
        .collect();
    let expected: BTreeMap<u64, String> = model.iter().map(|(id, of)| (*id, of.told())).collect();
    assert_eq!(found, expected);
    for (field, column) in TIMES {
        let sql = format!(
            "SELECT transition_id, ifnull({column}, 0) FROM window_manager_shell_transitions"
        );
        for row in database.rows(&sql) {
            let of = &model[&row[0].parse::<u64>().unwrap()].fields;
            assert_eq!(row[1], of.get(&field).unwrap_or(&0).to_string(), "{column} of {}", row[0]);
        }
    }
    let count = "SELECT count(*) FROM window_manager_shell_transition_protos";
    assert_eq!(database.count(count), 400);
}

#[test]
fn ws2_a_fault_ends_the_arguments_and_counts() {
    // A transaction in the second one is no message.
    let whole = new().number(1, 7).number(2, 8);
    let cut = new().number(1, 9).bytes(3, b"\xff").number(2, 10);
    let packets = [packet(1000, 94, whole), packet(2000, 94, cut)];
    let database = Imported::of_bytes(&encode::trace_of(&packets), &[]);
    let count = "SELECT value FROM stats WHERE name = 'winscope_sf_transactions_parse_errors'";
    assert_eq!(database.rows(count), [["1"]]);
    let args = "SELECT ts, flat_key, int_value FROM surfaceflinger_transactions JOIN args USING (arg_set_id)
        ORDER BY ts, flat_key";
    let found = database.rows(args).into_iter().map(|row| row.join(" "));
    assert_eq!(
        found.collect::<Vec<_>>(),
        ["1000 elapsed_realtime_nanos 7", "1000 vsync_id 8", "2000 elapsed_realtime_nanos 9"]
    );
}

#[test]
fn yr4_what_hangs_nowhere_or_in_a_circle_is_not_visible() {
    let color = (1..5).fold(new(), |color, part| color.float(part, 1.0));
    let rect = new().float(3, 10.0).float(4, 10.0);
    let layer = |id: u64| {
        let layer = new().number(1, id).message(20, color.clone());
        layer.message(27, new().number(1, 1)).message(45, rect.clone()).message(46, rect.clone())
    };
    let layers = [
        layer(1),
        layer(2).number(26, 99),
        layer(3).number(25, 4),
        layer(4).number(25, 3),
        layer(5).number(25, 5),
    ];
    let all = layers.into_iter().fold(new(), |all, layer| all.message(1, layer));
    let view = |id: u64, parent: i64| {
        new()
            .number(1, id)
            .signed(2, parent)
            .number(8, 5)
            .number(9, 5)
            .float(14, 1.0)
            .float(15, 1.0)
    };
    let views = [view(1, -1), view(2, 1), view(3, 4), view(4, 3), view(5, 77)];
    let capture = views.into_iter().fold(new(), |capture, view| capture.message(3, view));
    let packets =
        [packet(1000, 93, new().message(3, all)), packet(2000, 112, new().message(4, capture))];
    let database = Imported::of_bytes(&encode::trace_of(&packets), &[]);
    let of =
        |sql: &str| database.rows(sql).into_iter().map(|row| row.join(" ")).collect::<Vec<_>>();
    assert_eq!(
        of("SELECT layer_id, is_visible, layer_rect_id IS NULL FROM surfaceflinger_layer"),
        ["1 1 0", "2 0 1", "3 0 1", "4 0 1", "5 0 1"]
    );
    assert_eq!(
        of("SELECT node_id, is_visible, trace_rect_id IS NULL FROM viewcapture_view"),
        ["1 1 0", "2 1 0", "3 0 1", "4 0 1", "5 0 1"]
    );
}
