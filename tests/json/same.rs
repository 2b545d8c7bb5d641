//! The same events as JSON and as track events of a Perfetto trace: they give the same rows.

use crate::support::events::{clear, described, event, legacy, thread_named};
use crate::support::kernel::new;
use crate::support::random::Random;
use crate::support::{Imported, rows};
use timebase_lab::encode::{Message, trace_of};

/// An event of thread 10 + `thread` of process 1, at a time in nanoseconds.
struct Event {
    phase: char,
    name: &'static str,
    ts: u64,
    thread: u64,
    /// In microseconds, of complete events.
    dur: u64,
    id: u64,
    /// An integer and a text.
    args: Option<(u64, &'static str)>,
}

const PHASES: [char; 11] = ['B', 'B', 'E', 'X', 'X', 'i', 'b', 'e', 'n', 's', 'f'];
const NAMES: [&str; 3] = ["read", "write", "größer"];

fn events(random: &mut Random) -> Vec<Event> {
    let mut ts = 1_000;
    let events = (0..60).map(|_| {
        // No two events have one time, and no complete event contains a part of another: JSON has rules of
        // its own for both (JS13, JS19).
        let gap = 1 + random.below(6_000);
        ts += gap;
        Event {
            phase: random.pick(&PHASES),
            name: random.pick(&NAMES),
            ts: ts - gap,
            thread: random.below(2),
            dur: random.below(gap.div_ceil(1_000)),
            id: 1 + random.below(3),
            args: (random.below(3) == 0).then(|| (random.below(9), random.pick(&NAMES))),
        }
    });
    events.collect()
}

impl Event {
    fn has_id(&self) -> bool {
        matches!(self.phase, 'b' | 'e' | 'n' | 's' | 'f')
    }

    fn json(&self) -> String {
        let Event { phase, name, ts, thread, .. } = self;
        let (us, ns) = (ts / 1000, ts % 1000);
        let mut text = format!(
            r#"{{"ph":"{phase}","name":"{name}","cat":"c","ts":{us}.{ns:03},"pid":1,"tid":{}"#,
            10 + thread
        );
        if *phase == 'X' {
            text += &format!(r#","dur":{}"#, self.dur);
        }
        if self.has_id() {
            text += &format!(r#","id":{}"#, self.id);
        }
        if *phase == 'f' {
            text += r#","bp":"e""#;
        }
        if let Some((number, string)) = self.args {
            text += &format!(r#","args":{{"number":{number},"text":"{string}"}}"#);
        }
        text + "}"
    }

    fn packet(&self) -> Message {
        let mut fields = new();
        if self.phase == 'X' {
            fields = fields.number(3, self.dur);
        }
        if self.has_id() {
            fields = fields.number(6, self.id);
        }
        if self.phase == 'f' {
            fields = fields.number(12, 1);
        }
        let mut payload = legacy(self.phase, fields).number(11, 1 + self.thread);
        payload = payload.text(22, "c").text(23, self.name);
        if let Some((number, string)) = self.args {
            payload = payload.message(4, new().text(10, "number").number(4, number));
            payload = payload.message(4, new().text(10, "text").text(6, string));
        }
        event(self.ts, payload)
    }
}

const SLICES: &str = "
    SELECT s.name, s.ts, s.dur, s.depth, s.category, k.type, k.name, t.tid, p.pid,
           (SELECT group_concat(replace(flat_key, 'debug.', 'args.') || '=' || display_value, ' ' ORDER BY replace(flat_key, 'debug.', 'args.')) FROM args
            WHERE arg_set_id = s.arg_set_id AND (flat_key GLOB 'debug.*' OR flat_key GLOB 'args.*'))
    FROM slice AS s JOIN track AS k ON k.id = s.track_id LEFT JOIN thread_track AS o ON o.id = k.id
    LEFT JOIN thread AS t USING (utid) LEFT JOIN process AS p ON p.upid = t.upid
    ORDER BY s.ts, s.depth, k.type";

const FLOWS: &str = "
    SELECT o.name, o.ts, i.name, i.ts FROM flow AS f JOIN slice AS o ON o.id = f.slice_out JOIN slice AS i ON i.id = f.slice_in
    ORDER BY 2, 4";

#[test]
fn js18_to_js25_events_give_the_rows_of_the_same_track_events() {
    let mut slices = 0;
    for seed in 1..=60 {
        let mut random = Random(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed));
        let events = events(&mut random);
        let list: Vec<String> = events.iter().map(Event::json).collect();
        let json = Imported::of_bytes(format!("[{}]", list.join(",\n")).as_bytes(), &[]);
        let mut packets = vec![clear()];
        packets.extend((0..2).map(|n| described(1 + n, thread_named(1, 10 + n as i64, ""))));
        packets.extend(events.iter().map(Event::packet));
        let track_events = Imported::of_bytes(&trace_of(&packets), &[]);
        for sql in [SLICES, FLOWS] {
            let (ours, theirs) = (rows(&json.conn, sql), rows(&track_events.conn, sql));
            assert_eq!(ours, theirs, "seed {seed}:\n{}", list.join("\n"));
            slices += ours.len();
        }
    }
    assert!(slices > 1_000, "{slices}");
}
