//! Properties of Android that are counters (rule M13).

use super::series::{CounterSample, CounterType, Which};
use crate::message::{Message, integer};

const SCREEN_STATE: CounterType = CounterType::new("screen_state");
const BATTERY_STATS: CounterType = CounterType::new("battery_stats");
const PROPERTY: CounterType = CounterType::new("sysprop_counter");

/// What the names of properties begin with.
const PREFIX: &str = "debug.tracing.";

/// The values of an `AndroidSystemProperty`.
pub(super) fn packet(message: Message<'_>, sample: &mut CounterSample<'_, '_, '_>) {
    for property in message.messages(1) {
        let name = property.text(1).unwrap_or_default();
        let value = property.bytes(2).unwrap_or_default();
        let (Some(name), Some(value)) = (name.strip_prefix(PREFIX), integer(value)) else {
            continue;
        };
        let (counter, name) = match name {
            "screen_state" => (&SCREEN_STATE, "ScreenState"),
            "mcc" | "mnc" | "desktop_mode_visible_tasks" => (&PROPERTY, name),
            "battery_status" => (&PROPERTY, "BatteryStatus"),
            "plug_type" => (&PROPERTY, "PlugType"),
            _ if name.starts_with("battery_stats.") => (&BATTERY_STATS, name),
            _ => continue,
        };
        let which = Which::Text(name.as_bytes());
        sample.put_global(counter, which, format_args!("{name}"), value.into());
    }
}

/// The value of an `InitialDisplayState`.
pub(super) fn display_state(message: Message<'_>, sample: &mut CounterSample<'_, '_, '_>) {
    let name = "ScreenState";
    let state = f64::from(message.small(1).unwrap_or(0) as i32);
    let which = Which::Text(name.as_bytes());
    sample.put_global(&SCREEN_STATE, which, format_args!("{name}"), state);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m13_a_value_is_an_integer_or_nothing() {
        for (text, value) in [
            ("1", Some(1)),
            (" \t+7", Some(7)),
            ("-3", Some(-3)),
            ("", None),
            ("1 ", None),
            ("1.5", None),
            ("-", None),
            ("on", None),
            ("2147483648", None),
        ] {
            assert_eq!(integer(text.as_bytes()), value, "{text:?}");
        }
    }
}
