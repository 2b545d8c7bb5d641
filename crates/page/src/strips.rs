//! The places of each clock's packets, compared with its snapshots.

use std::collections::HashMap;

use plotters::element::{PathElement, Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, ShapeStyle};
use rusqlite::Connection;

use crate::clocks::{Clock, Clocks, Key};
use crate::draw::{Area, Failure, SCALE, svg, text, tick};
use crate::error::{Error, Reading};
use crate::palette::{BAR, DOT, GRID, INK, MUTED};
use crate::text::{Unit, count, duration};
use crate::trail::distance;

/// The number of clocks with a strip.
const MOST: usize = 16;
/// The time is cut into this many parts.
const PARTS: usize = 220;

/// As wide as a phone, so the text of the axis is as large there as elsewhere.
const WIDTH: i32 = 344;
/// The height of a strip, of its bars and its ticks, in pixels.
const STRIP: i32 = 44;
const BARS: i32 = 26;
const TICKS: i32 = 9;
/// The height of the part below the strips.
const AXIS: i32 = 36;
const LEFT: i32 = 6;

/// The packets and snapshots of a clock along the trace.
#[derive(Debug)]
struct Strip<'a> {
    clock: &'a Clock,
    packets: Vec<u32>,
    snapshots: Vec<bool>,
    first: Option<i64>,
    last: Option<i64>,
    placed: u64,
    before: u64,
    after: u64,
    /// The distance of the farthest packet from the snapshots.
    farthest: f64,
}

/// The strip of a clock.
#[derive(Debug)]
pub struct Shown {
    pub label: String,
    pub said: String,
    pub svg: String,
}

/// The pictures, and their common axis.
#[derive(Debug)]
pub struct Strips {
    pub shown: Vec<Shown>,
    pub axis: String,
    /// The number of clocks without a strip, and the number of packets on them.
    pub left_out: u64,
    pub packets_left_out: u64,
}

/// Draws the strips; `None` if no packet has a time.
pub fn draw(
    database: &Connection,
    clocks: &Clocks,
    span: (i64, i64),
) -> Result<Option<Strips>, Error> {
    let used: Vec<_> = clocks.clocks.iter().filter(|clock| clock.packets > 0).collect();
    let (shown, others) = used.split_at(used.len().min(MOST));
    let mut places = HashMap::new();
    let mut strips: Vec<Strip<'_>> = Vec::new();
    for clock in shown {
        places.insert(clock.key, strips.len());
        strips.push(Strip::new(clock));
    }
    each(database, SNAPSHOTS, &places, &mut strips, |strip, ts| {
        strip.snapshot(ts, part(ts, span));
    })
    .reading("clock snapshots")?;
    // Packets come after the snapshots, because their distance from the snapshots is computed.
    each(database, &packets(), &places, &mut strips, |strip, ts| {
        strip.packet(ts, part(ts, span));
    })
    .reading("packets")?;
    if strips.iter().all(|strip| strip.placed == 0) {
        return Ok(None);
    }
    let mut shown = Vec::with_capacity(strips.len());
    for strip in &strips {
        shown.push(Shown {
            label: strip.clock.label.clone(),
            said: strip.said(),
            svg: svg("where packets lie", (WIDTH, STRIP), |area| paint(area, strip, span))?,
        });
    }
    let axis = svg("where packets lie", (WIDTH, AXIS), |area| paint_axis(area, span))?;
    let packets_left_out =
        others.iter().fold(0, |sum: u64, clock| sum.saturating_add(clock.packets));
    Ok(Some(Strips { shown, axis, left_out: others.len() as u64, packets_left_out }))
}

/// The part of the trace that contains a time.
fn part(ts: i64, (begin, end): (i64, i64)) -> usize {
    let share = distance(begin, ts) / distance(begin, end).max(1.0);
    // A negative share becomes 0 here.
    ((share * PARTS as f64) as usize).min(PARTS - 1)
}

/// Readings from snapshots, without assumptions and statements.
const SNAPSHOTS: &str = "SELECT machine_id, clock_id, seq_id, ts, trace_file_id FROM clock_snapshot
    WHERE ts IS NOT NULL AND source NOT IN ('causality', 'manifest', 'assumed', 'json')";

/// The packets with their clocks, as in the view packet_clock. The view would be computed again for
/// each packet.
fn packets() -> String {
    format!(
        "SELECT p.machine_id, p.clock_id, iif(p.clock_id BETWEEN 64 AND 127, p.seq_id, 0), p.ts,
                iif(p.clock_id BETWEEN 64 AND 127, p.trace_file_id, coalesce({}, -1))
         FROM packet AS p
         WHERE p.ts IS NOT NULL AND p.clock_id IS NOT NULL",
        timebase_schema::owner("p.id", "p")
    )
}

/// Gives the times of rows to the strips of their clocks.
fn each(
    database: &Connection,
    sql: &str,
    places: &HashMap<Key, usize>,
    strips: &mut [Strip<'_>],
    note: impl Fn(&mut Strip<'_>, i64),
) -> rusqlite::Result<()> {
    let mut statement = database.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let clock = Key::of_row(row, 0, 4)?;
        let place = places.get(&clock);
        let ts = row.get(3)?;
        if let Some(strip) = place.and_then(|place| strips.get_mut(*place)) {
            note(strip, ts);
        }
    }
    Ok(())
}

impl Strip<'_> {
    fn new(clock: &Clock) -> Strip<'_> {
        Strip {
            clock,
            packets: vec![0; PARTS],
            snapshots: vec![false; PARTS],
            first: None,
            last: None,
            placed: 0,
            before: 0,
            after: 0,
            farthest: 0.0,
        }
    }

    fn snapshot(&mut self, ts: i64, part: usize) {
        self.first = Some(self.first.map_or(ts, |first| first.min(ts)));
        self.last = Some(self.last.map_or(ts, |last| last.max(ts)));
        if let Some(has) = self.snapshots.get_mut(part) {
            *has = true;
        }
    }

    fn packet(&mut self, ts: i64, part: usize) {
        self.placed += 1;
        if let Some(packets) = self.packets.get_mut(part) {
            *packets = packets.saturating_add(1);
        }
        if let Some(first) = self.first.filter(|first| ts < *first) {
            self.before += 1;
            self.farthest = self.farthest.max(distance(ts, first));
        }
        if let Some(last) = self.last.filter(|last| ts > *last) {
            self.after += 1;
            self.farthest = self.farthest.max(distance(last, ts));
        }
    }

    /// The text above a strip, below its name.
    fn said(&self) -> String {
        let used = self.clock.packets;
        let mut said = self.clock.counted(used.max(self.placed));
        match used.saturating_sub(self.placed) {
            0 => {}
            _ if self.placed == 0 => said += ", none of them placed",
            unplaced => said += &format!(", {} not placed", count(i128::from(unplaced))),
        }
        // No snapshot reads the clock of a JSON trace.
        if self.first.is_none() && !self.clock.is_json {
            said += ", no snapshot";
        }
        let outside: Vec<String> =
            [(self.before, "before the first"), (self.after, "after the last")]
                .iter()
                .filter(|(packets, _)| *packets > 0)
                .map(|(packets, side)| format!("{} {side}", count(i128::from(*packets))))
                .collect();
        if !outside.is_empty() {
            said +=
                &format!("; {} snapshot, by up to {}", outside.join(", "), duration(self.farthest));
        }
        said
    }
}

/// The numbers of the axis, each with its place.
fn ticks((begin, end): (i64, i64)) -> (Unit, Vec<(f64, i32)>) {
    let length = distance(begin, end);
    let unit = Unit::of(length);
    let step = round_step(length / unit.ns / 5.0);
    let numbers = (0..=20).map(|index| step * f64::from(index));
    let places = numbers.map(|number| (number, number * unit.ns / length.max(1.0)));
    let room = f64::from((WIDTH - 2 * LEFT) * SCALE);
    let within = places.take_while(|(_, place)| *place <= 1.0);
    let ticks = within.map(|(number, place)| (number, LEFT * SCALE + (room * place) as i32));
    (unit, ticks.collect())
}

fn paint_axis(area: &Area<'_>, span: (i64, i64)) -> Result<(), Failure> {
    let right = (WIDTH - LEFT) * SCALE;
    let (unit, ticks) = ticks(span);
    for (number, at) in ticks {
        let side = match at {
            at if at == LEFT * SCALE => HPos::Left,
            at if at > right * 19 / 20 => HPos::Right,
            _ => HPos::Center,
        };
        let style = text(INK).pos(Pos::new(side, VPos::Top));
        area.draw(&Text::new(tick(&number), (at, 2 * SCALE), style))?;
    }
    let title = format!("{} since the trace began", unit.name);
    let style = text(MUTED).pos(Pos::new(HPos::Center, VPos::Top));
    area.draw(&Text::new(title, (WIDTH * SCALE / 2, 19 * SCALE), style))
}

fn paint(area: &Area<'_>, strip: &Strip<'_>, span: (i64, i64)) -> Result<(), Failure> {
    let (left, right) = (LEFT * SCALE, (WIDTH - LEFT) * SCALE);
    let room = f64::from(right - left);
    let x = |part: usize| left + (room * part as f64 / PARTS as f64) as i32;
    for (_, at) in ticks(span).1 {
        let style = ShapeStyle::from(GRID).stroke_width(1);
        area.draw(&PathElement::new([(at, 0), (at, STRIP * SCALE)], style))?;
    }
    let floor = (4 + BARS) * SCALE;
    let most = strip.packets.iter().copied().max().unwrap_or(1).max(1);
    for (part, packets) in strip.packets.iter().enumerate() {
        if *packets > 0 {
            let share = f64::from(*packets) / f64::from(most);
            // A packet is always visible, however many packets there are elsewhere.
            let height = ((share * f64::from(BARS * SCALE)) as i32).max(2);
            let bar = [(x(part), floor - height), (x(part + 1), floor)];
            area.draw(&Rectangle::new(bar, BAR.filled()))?;
        }
    }
    let axis = [(left, floor), (right, floor)];
    area.draw(&PathElement::new(axis, ShapeStyle::from(MUTED).stroke_width(1)))?;
    for (part, _) in strip.snapshots.iter().enumerate().filter(|(_, has)| **has) {
        let at = (x(part) + x(part + 1)) / 2;
        let mark = [(at, floor + 2 * SCALE), (at, floor + TICKS * SCALE)];
        let style = ShapeStyle::from(DOT).stroke_width(3);
        area.draw(&PathElement::new(mark, style))?;
    }
    Ok(())
}

/// A round number that is at least another number: 1, 2 or 5, and zeros.
fn round_step(least: f64) -> f64 {
    if least <= 0.0 || !least.is_finite() {
        return 1.0;
    }
    let power = 10f64.powf(least.log10().floor());
    let found = [1.0, 2.0, 5.0].map(|digit| digit * power);
    found.into_iter().find(|step| *step >= least).unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_has_a_part() {
        let span = (-1_000, i64::MAX);
        assert_eq!(part(-1_000, span), 0);
        assert_eq!(part(i64::MAX, span), PARTS - 1);
        assert_eq!(part(i64::MIN, span), 0);
        assert_eq!(part(7, (7, 7)), 0);
    }

    #[test]
    fn steps_are_round() {
        for (least, step) in [(0.7, 1.0), (1.2, 2.0), (0.03, 0.05), (60.0, 100.0), (0.0, 1.0)] {
            assert!((round_step(least) - step).abs() < 1e-9, "{least}");
        }
    }

    #[test]
    fn packets_outside_of_the_snapshots_are_told() {
        let clock = |packets, is_json| Clock {
            key: Key { machine: 0, id: 3, sequence: 0, file: -1 },
            label: "3".to_owned(),
            snapshots: 0,
            packets,
            is_json,
            has_path: true,
            is_monotonic: true,
            turned: None,
            worst_turn_ns: None,
        };
        let of_packets = clock(5, false);
        let mut strip = Strip::new(&of_packets);
        strip.snapshot(1_000, 1);
        strip.snapshot(2_000, 2);
        for ts in [500, 1_500, 2_000, 32_000] {
            strip.packet(ts, 0);
        }
        assert_eq!(
            strip.said(),
            "5 packets, 1 not placed; 1 before the first, 1 after the last snapshot, by up to 30 µs"
        );
        let said = |clock: &Clock| Strip::new(clock).said();
        assert_eq!(said(&clock(1, false)), "1 packet, none of them placed, no snapshot");
        assert_eq!(said(&clock(2, true)), "2 events, none of them placed");
    }
}
