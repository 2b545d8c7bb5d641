//! The anchors of one file for the model (JS32, JS33, JS37): readings of `clock_snapshot`, and the
//! codes of statements that are no anchors.

use super::event::{Time, time};
use super::outline::{Item, Outline};
use super::text::{Json, Node};

const REALTIME: u32 = 1;
const MONOTONIC: u32 = 3;
const TRACE_FILE: u32 = 11;

/// The years 2000 to 2099 in nanoseconds.
const THIS_CENTURY: std::ops::Range<i128> = 946_684_800_000_000_000..4_102_444_800_000_000_000;

/// The readings, and codes of `import_log`.
pub fn anchors(outline: &Outline) -> (Vec<(u32, i64)>, Vec<&'static str>) {
    let mut log = Vec::new();
    let mut realtimes = Vec::new();
    for (value, unit) in written(outline) {
        match value.and_then(|value| in_this_century(value, unit)) {
            Some(ns) => realtimes.push(ns),
            None => log.push("json_clock_invalid"),
        }
    }
    let metadata = member(outline, "metadata");
    let mut is_monotonic = metadata
        .and_then(|metadata| metadata.get("clock-domain"))
        .is_some_and(|domain| domain.text() == Some("LINUX_CLOCK_MONOTONIC"));
    if let Some(node) = metadata.and_then(|metadata| metadata.get("clock-offset-since-epoch")) {
        match integer(node).and_then(|value| in_this_century(value, 1000)) {
            Some(ns) => {
                realtimes.push(ns);
                is_monotonic = true;
            }
            None => log.push("json_clock_invalid"),
        }
    }
    let realtime = realtimes.first().copied();
    for other in realtimes.iter().skip(1) {
        if realtime.is_some_and(|first| first.abs_diff(*other) > 1_000_000_000) {
            log.push("json_clock_conflict");
        }
    }
    let mut readings = Vec::new();
    if realtime.is_some() || is_monotonic {
        readings.push((TRACE_FILE, 0));
        readings.extend(realtime.map(|value| (REALTIME, value)));
        readings.extend(is_monotonic.then_some((MONOTONIC, 0)));
    }
    if realtime.is_none() && is_of_the_epoch(outline) {
        readings.extend([(TRACE_FILE, 0), (REALTIME, 0)]);
    }
    (readings, log)
}

/// The values of the keys that say when TRACE_FILE is 0, and their units in ns.
fn written(outline: &Outline) -> Vec<(Option<i128>, i128)> {
    let mut values = Vec::new();
    let mut add = |node: Option<&Node>, unit| values.extend(node.map(|node| (integer(node), unit)));
    add(member(outline, "baseTimeNanoseconds"), 1);
    add(member(outline, "viztracer_metadata").and_then(|node| node.get("baseTimeNanoseconds")), 1);
    add(member(outline, "beginningOfTime"), 1000);
    add(first_process_name(outline), 1000);
    let other = member(outline, "otherData");
    let of = |key| other.and_then(|other| other.get(key));
    let (start, finish) = (of("profile_start_ts"), of("profile_finish_ts"));
    let date = of("date").and_then(|date| rfc_3339(date.text()?));
    if start.is_some() || finish.is_some() {
        values.extend(date.map(|ns| (Some(ns), 1)));
    }
    let mut add = |node: Option<&Node>| values.extend(node.map(|node| (integer(node), 1_000_000)));
    add(start);
    add(finish);
    values
}

/// The last of equal keys.
fn member<'a>(outline: &'a Outline, key: &str) -> Option<&'a Node> {
    outline.items.iter().rev().find_map(|item| match item {
        Item::Member(name, _, node) if name == key => Some(node),
        _ => None,
    })
}

fn events(outline: &Outline) -> impl Iterator<Item = &Node> {
    outline.items.iter().filter_map(|item| match item {
        Item::Event(node) => Some(node),
        _ => None,
    })
}

fn is_phase(event: &Node, phase: char) -> bool {
    event.get("ph").and_then(Node::text).is_some_and(|text| text.starts_with(phase))
}

fn first_process_name(outline: &Outline) -> Option<&Node> {
    events(outline)
        .filter(|event| is_phase(event, 'M'))
        .filter(|event| event.get("name").and_then(Node::text) == Some("process_name"))
        .find_map(|event| event.get("args")?.get("start_time_since_epoch_in_micros"))
}

fn integer(node: &Node) -> Option<i128> {
    match &node.value {
        Json::Number(_) => node.int().map(i128::from),
        Json::Text(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
        _ => None,
    }
}

fn in_this_century(value: i128, unit: i128) -> Option<i64> {
    let ns = value.checked_mul(unit).filter(|ns| THIS_CENTURY.contains(ns))?;
    i64::try_from(ns).ok()
}

/// JS37: the first `ts` that is not an `M`'s counts from the epoch.
fn is_of_the_epoch(outline: &Outline) -> bool {
    let times =
        events(outline).filter(|event| !is_phase(event, 'M')).filter_map(|event| {
            match time(event, "ts") {
                Time::At(ts) => Some(ts),
                _ => None,
            }
        });
    let first = times.map(i128::from).next();
    first.is_some_and(|ts| THIS_CENTURY.contains(&ts))
}

/// `2025-06-14T17:38:43.886276Z`
fn rfc_3339(text: &str) -> Option<i128> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let numbers = |text: &str, mark| -> Option<Vec<i128>> {
        text.split(mark).map(|part| part.parse().ok()).collect()
    };
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let ([year, month, day], [hours, minutes, seconds]) =
        (numbers(date, '-')?.try_into().ok()?, numbers(time, ':')?.try_into().ok()?);
    let _: i128 = year;
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    let days =
        year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 719_469;
    let seconds = ((days * 24 + hours) * 60 + minutes) * 60 + seconds;
    let fraction: i128 = format!("{fraction:0<9}").get(..9)?.parse().ok()?;
    Some(seconds * 1_000_000_000 + fraction)
}
