//! The unit of durations.

use timebase_trace::json::{Kind, Value};

use super::fields::{Fields, real};
use crate::formats::FileSession;
use crate::output::{LogMessage, Severity};

/// The number of events of a file that are looked at.
const FIRST: u32 = 1000;

/// The durations of the first events of a file. If most are below a nanosecond, they have another unit than
/// microseconds, or they are nothing that a clock can measure.
#[derive(Debug, Default)]
pub(super) struct Durations {
    events: u32,
    positive: u32,
    tiny: u32,
    longest: f64,
}

impl Durations {
    /// Looks at an event.
    pub fn add(&mut self, event: Value<'_>, fields: &Fields<Value<'_>>) {
        if self.events == FIRST {
            return;
        }
        self.events += 1;
        match fields.dur.ns {
            Some(Ok(0 | 1)) => {}
            Some(Ok(ns)) if ns > 1 => {
                self.positive += 1;
                return;
            }
            _ => return,
        }
        let Some(dur) = micros(event).filter(|dur| *dur > 0.0) else {
            return;
        };
        self.positive += 1;
        if dur < 0.001 {
            self.tiny += 1;
            self.longest = self.longest.max(dur);
        }
    }

    /// Warns of another unit.
    pub fn tell(&self, session: &mut FileSession<'_, '_>) {
        if self.tiny > self.positive / 2 {
            let (events, longest, as_seconds) = (self.events, self.longest, self.longest * 1e6);
            let text = format!(
                "most durations of the first {events} events are below a nanosecond, as microseconds: the longest of these is {longest}; as seconds, it is {as_seconds:.1} us. Write dur in microseconds"
            );
            session.warn(LogMessage::new(Severity::Warning, "json_unit", text));
        }
    }
}

/// The duration of an event, as it is written.
fn micros(event: Value<'_>) -> Option<f64> {
    let (_, dur) = event.members().filter(|(key, _)| key.is("dur")).last()?;
    match dur.kind() {
        Kind::String => real(&dur.string()?),
        _ => real(std::str::from_utf8(dur.text()).ok()?),
    }
}
