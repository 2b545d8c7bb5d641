//! The messages around a hop that goes by them (rules AL16, AL20).

use std::collections::BTreeMap;

use rusqlite::{Connection, Row, params};
use timebase_resolver::WrittenClock;

use super::hops::LinearHop;
use super::note::Note;

/// A corner of the relation: the bounds of the offset of B when A shows `value`.
#[derive(Debug, Clone, Copy)]
struct Corner {
    value: i64,
    earliest: i64,
    latest: i64,
    /// Whether a clock was set or slept between this corner and the next one.
    is_step: bool,
}

/// The corner until a reading of A, the one after it, and how much the rate may change, as a ratio.
#[derive(Debug, Default)]
struct Around {
    before: Option<Corner>,
    after: Option<Corner>,
    wander: Option<f64>,
}

/// The messages around, and how much more the target shows than the source, with bounds around that. `readings` are what
/// both show.
pub fn note(
    database: &Connection,
    (from, to): (WrittenClock, WrittenClock),
    readings: Option<(i64, i64)>,
) -> anyhow::Result<Note> {
    let Some((shown, result)) = readings else {
        return Ok(vec!["by causality: messages relate them".to_owned()]);
    };
    // The table has the pair in one order.
    let (around, at, sign) = match Around::of(database, (from, to), shown)? {
        Some(around) => (around, shown, 1),
        None => match Around::of(database, (to, from), result)? {
            Some(around) => (around, result, -1),
            None => return Ok(vec!["by causality: messages relate them".to_owned()]),
        },
    };
    let ahead = i128::from(result) - i128::from(shown);
    let bounds = around.bounds(at).map(|(least, most)| match sign {
        1 => (least - ahead, most - ahead),
        _ => (-most - ahead, -least - ahead),
    });
    let mut note = vec![format!("by causality: {};", around.place(at))];
    match bounds {
        Some(bounds) => note.extend([format!("{} s,", in_seconds(ahead)), between(bounds)]),
        None => note.push(format!("{} s, with an unknown error", in_seconds(ahead))),
    }
    Ok(note)
}

/// Whether messages bound the error of hops between two clocks that are measured (rule AL18).
pub fn is_bounded(database: &Connection, hops: &[LinearHop]) -> anyhow::Result<bool> {
    let begins = hops.iter().map(|hop| (hop.from.as_str(), hop.value_in));
    let ends = hops.iter().map(|hop| (hop.to.as_str(), hop.value_out));
    let clock = |(clock, shown): (&str, Option<i64>)| {
        let clock: WrittenClock = clock.parse().ok()?;
        Some(((clock.clock().machine.0, clock.id().get(), clock.file()), shown?))
    };
    let clocks: BTreeMap<_, i64> = begins.chain(ends).filter_map(clock).collect();
    let mut statement = database.prepare(
        "SELECT a.machine_a, a.clock_a, a.file_a, a.machine_b, a.clock_b, a.file_b, min(k.value), max(k.value)
         FROM clock_alignment AS a JOIN clock_alignment_knot AS k ON k.alignment_id = a.id
         WHERE a.used AND a.relation = 'measured' GROUP BY a.id",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let key = |at: usize| anyhow::Ok((row.get(at)?, row.get(at + 1)?, row.get(at + 2)?));
        let range = row.get::<_, i64>(6)?..=row.get(7)?;
        let is_in = clocks.get(&key(0)?).is_some_and(|shown| range.contains(shown));
        if is_in && clocks.contains_key(&key(3)?) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A distance in time, in three digits.
fn short(ns: i128) -> String {
    let ns = ns as f64;
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "µs")];
    let Some((unit, name)) = units.into_iter().find(|(unit, _)| ns >= 0.1 * unit) else {
        return format!("{ns} ns");
    };
    let count = ns / unit;
    let digits = match count {
        _ if count >= 100.0 => 0,
        _ if count >= 10.0 => 1,
        _ => 2,
    };
    let text = format!("{count:.digits$}");
    let text = match digits {
        0 => text.as_str(),
        _ => text.trim_end_matches('0').trim_end_matches('.'),
    };
    format!("{text} {name}")
}

fn sign(number: i128) -> &'static str {
    if number < 0 { "−" } else { "+" }
}

/// Nanoseconds in seconds, to a microsecond.
fn in_seconds(ns: i128) -> String {
    let us = (ns.unsigned_abs() + 500) / 1000;
    format!("{}{}.{:06}", sign(ns), us / 1_000_000, us % 1_000_000)
}

/// Two distances from an estimate, rounded away from each other.
fn between((least, most): (i128, i128)) -> String {
    let largest = least.unsigned_abs().max(most.unsigned_abs());
    let (unit, name) = match largest {
        0..10_000 => (1, "ns"),
        10_000..10_000_000 => (1000, "µs"),
        _ => (1_000_000, "ms"),
    };
    let (least, most) = (least.div_euclid(unit), -(-most).div_euclid(unit));
    let text = |number: i128| format!("{}{}", sign(number), number.unsigned_abs());
    format!("{} to {} {name}", text(least), text(most))
}

impl Around {
    /// The corners of a pair; `None` if no conversion goes over messages from clock A to B.
    fn of(
        database: &Connection,
        (a, b): (WrittenClock, WrittenClock),
        at: i64,
    ) -> anyhow::Result<Option<Around>> {
        let mut statement = database.prepare(
            "SELECT a.rate_error_ppm, k.value, k.offset, k.earliest, k.latest, k.step
             FROM clock_alignment AS a JOIN clock_alignment_knot AS k ON k.alignment_id = a.id
             WHERE a.used AND k.offset IS NOT NULL
               AND a.machine_a = ?1 AND a.clock_a = ?2 AND a.file_a IS ?3
               AND a.machine_b = ?4 AND a.clock_b = ?5 AND a.file_b IS ?6
             ORDER BY k.value",
        )?;
        let [a, b] = [a, b].map(|clock| (clock.clock().machine.0, clock.id().get(), clock.file()));
        let mut rows = statement.query(params![a.0, a.1, a.2, b.0, b.1, b.2])?;
        let mut around: Option<Around> = None;
        while let Some(row) = rows.next()? {
            let around = around.get_or_insert_default();
            around.wander = row.get::<_, Option<f64>>(0)?.map(|ppm| ppm * 1e-6);
            let corner = Corner::of(row)?;
            if corner.value > at {
                around.after = Some(corner);
                break;
            }
            around.before = Some(corner);
        }
        Ok(around)
    }

    /// The messages around a reading.
    fn place(&self, at: i64) -> String {
        let away = |corner: Corner| short((i128::from(at) - i128::from(corner.value)).abs());
        match (self.before, self.after) {
            (Some(before), Some(after)) => format!(
                "{}between a message {} before and one {} after",
                if before.is_step { "in a step, " } else { "" },
                away(before),
                away(after)
            ),
            (Some(last), None) => format!("{} after the last message", away(last)),
            (None, Some(first)) => format!("{} before the first message", away(first)),
            (None, None) => "messages relate them".to_owned(),
        }
    }

    /// The least and the greatest offset at a reading: straight lines between the bounds of the corners, and what the rate
    /// may change in between.
    fn bounds(&self, at: i64) -> Option<(i128, i128)> {
        let wander = self.wander?;
        let distance = |corner: Corner| (i128::from(at) - i128::from(corner.value)).abs() as f64;
        let (least, most, widened) = match (self.before, self.after) {
            (Some(before), Some(after)) if before.is_step => (
                i128::from(before.earliest.min(after.earliest)),
                i128::from(before.latest.max(after.latest)),
                0.0,
            ),
            (Some(before), Some(after)) => {
                let (since, until) = (distance(before), distance(after));
                let share = since / (since + until);
                let rise = |a: i64, b: i64| (i128::from(b) - i128::from(a)) as f64 * share;
                let least = rise(before.earliest, after.earliest).floor() as i128;
                let most = rise(before.latest, after.latest).ceil() as i128;
                (
                    i128::from(before.earliest) + least,
                    i128::from(before.latest) + most,
                    share * until * wander,
                )
            }
            (Some(only), None) | (None, Some(only)) => {
                (only.earliest.into(), only.latest.into(), distance(only) * wander)
            }
            (None, None) => return None,
        };
        let widened = widened.ceil() as i128;
        Some((least - widened, most + widened))
    }
}

impl Corner {
    fn of(row: &Row<'_>) -> rusqlite::Result<Corner> {
        let offset: i64 = row.get(2)?;
        let or_offset = |bound: Option<i64>| bound.unwrap_or(offset);
        Ok(Corner {
            value: row.get(1)?,
            earliest: or_offset(row.get(3)?),
            latest: or_offset(row.get(4)?),
            is_step: row.get(5)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_and_offsets_are_as_short_as_they_are_exact() {
        let shown = [7, 120_000, 2_000_000, 12_340_000, 812_345_678, 61_000_000_000].map(short);
        assert_eq!(shown, ["7 ns", "0.12 ms", "2 ms", "12.3 ms", "0.81 s", "61 s"]);
        assert_eq!(in_seconds(-4_900_000_147_421), "−4900.000147");
        assert_eq!(in_seconds(3_600), "+0.000004");
        assert_eq!(between((-136_860, 130_534)), "−137 to +131 µs");
        assert_eq!(between((-20, 3)), "−20 to +3 ns");
        assert_eq!(between((5_000_001, 10_200_000)), "+5 to +11 ms");
    }

    #[test]
    fn al16_between_corners_the_bounds_are_lines_and_what_the_rate_may_change() {
        let corner = |value, earliest, latest, is_step| Corner { value, earliest, latest, is_step };
        let around = |before, after| Around { before, after, wander: Some(40e-6) };
        let (first, last) = (corner(0, -100, 100, false), corner(1_000_000_000, 300, 600, false));
        let between = around(Some(first), Some(last));
        // 40 ppm of a quarter of a second, at the middle.
        assert_eq!(between.bounds(500_000_000), Some((100 - 10_000, 350 + 10_000)));
        assert_eq!(between.bounds(0), Some((-100, 100)));
        assert_eq!(around(Some(last), None).bounds(1_001_000_000), Some((260, 640)));
        assert_eq!(around(None, Some(first)).bounds(-1_000_000), Some((-140, 140)));
        let step = corner(0, -100, 100, true);
        assert_eq!(around(Some(step), Some(last)).bounds(900), Some((-100, 600)));
        assert_eq!(Around { wander: None, ..between }.bounds(0), None);
    }
}
