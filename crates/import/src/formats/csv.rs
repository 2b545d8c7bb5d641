//! An example of a format, for tests: lines `ts,dur,tid,name` in nanoseconds of BOOTTIME, or `ts,,,name=value`.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::ControlFlow;

use timebase_trace::{Damage, End, Region, TraceFormat};

use super::{FileSession, Format};
use crate::definitions::{CounterTrack, Descriptor, TrackOwner};
use crate::frame::{Record, RecordTime};
use crate::timeline::{EventKind, LegacyEvent};

pub(super) struct Csv;

static CSV: TraceFormat = TraceFormat::new("csv", |begin| begin.starts_with(b"ts,dur,tid,name\n"));

/// BOOTTIME.
const CLOCK: u32 = 6;

impl Format for Csv {
    const FORMAT: &'static TraceFormat = &CSV;

    fn read(input: &mut (dyn Read + Send), session: &mut FileSession<'_, '_>) -> io::Result<End> {
        let mut lines = BufReader::new(input);
        let (mut line, mut offset) = (Vec::new(), 0);
        let mut counters = BTreeMap::new();
        while lines.read_until(b'\n', &mut line)? > 0 {
            let size = line.len() as u64;
            let text = std::str::from_utf8(&line).unwrap_or_default().trim_end();
            let fields: Vec<&str> = text.split(',').collect();
            let goes_on = match (fields.as_slice(), fields[0].parse().ok()) {
                _ if offset == 0 => ControlFlow::Continue(()), // the header
                (&[_, dur, tid, name], Some(ticks)) => {
                    let record = Record {
                        row_type: "csv_line",
                        offset,
                        size,
                        bytes: &line,
                        time: RecordTime::OfClock(CLOCK, ticks),
                    };
                    session.record(&record, |mut at| {
                        let mut event = at.event();
                        if let Some((counter, value)) = name.split_once('=') {
                            event.kind = EventKind::Counter;
                            let uuid = counters.entry(counter.to_owned()).or_insert_with(|| {
                                let owner = TrackOwner::Counter(CounterTrack::default().into());
                                at.track(Descriptor::new(owner, Some(counter.into())))
                            });
                            event.uuid = Some(*uuid);
                            event.value = value.parse().ok();
                        } else {
                            event.kind = EventKind::Phase(b'X');
                            event.thread = Some(at.thread(1, tid.parse().unwrap_or(0)));
                            event.name = at.label(name);
                            event.legacy = Some(LegacyEvent {
                                dur: dur.parse().unwrap_or(0),
                                ..LegacyEvent::default()
                            });
                        }
                        at.give(&event);
                    })?
                }
                _ => {
                    let why = Damage::Text {
                        offset,
                        why: "is no line of four fields that begins with a time",
                        is_cut: false,
                    };
                    session.region(&Region { offset, size, why });
                    ControlFlow::Continue(())
                }
            };
            if goes_on.is_break() {
                return Ok(End::Stopped);
            }
            offset += size;
            line.clear();
        }
        Ok(End::Complete)
    }
}
