//! Properties of Android that are counters (rule M13).

use timebase_schema::fields::{
    android_system_property as list, android_system_property_property_value as property,
    initial_display_state as display,
};

use super::series::{CounterSample, CounterType};
use crate::message::{Message, integer};

const SCREEN_STATE: CounterType = CounterType::new("screen_state");
const BATTERY_STATS: CounterType = CounterType::new("battery_stats");
const PROPERTY: CounterType = CounterType::new("sysprop_counter");

/// The prefix of the properties' names.
const PREFIX: &str = "debug.tracing.";

/// Takes the values of an `AndroidSystemProperty`.
pub(super) fn packet(message: Message<'_>, sample: &mut CounterSample<'_, '_, '_>) {
    for property in message.messages(list::VALUES) {
        let whole = property.text(property::NAME).unwrap_or_default();
        let value = property.bytes(property::VALUE).unwrap_or_default();
        let (Some(name), Some(value)) = (whole.strip_prefix(PREFIX), integer(value)) else {
            continue;
        };
        let of_property = Some(("sysprop_name", &*whole));
        let (counter, which, name) = match name {
            "screen_state" => (&SCREEN_STATE, None, "ScreenState"),
            "mcc" | "mnc" | "desktop_mode_visible_tasks" => (&PROPERTY, of_property, name),
            "battery_status" => (&PROPERTY, of_property, "BatteryStatus"),
            "plug_type" => (&PROPERTY, of_property, "PlugType"),
            _ if name.starts_with("battery_stats.") => {
                (&BATTERY_STATS, Some(("counter_key", name)), name)
            }
            _ => continue,
        };
        let which = which.map(|(key, of)| (key, of.into()));
        sample.put_global(counter, which.as_slice(), format_args!("{name}"), value.into());
    }
}

/// Takes the value of an `InitialDisplayState`.
pub(super) fn display_state(message: Message<'_>, sample: &mut CounterSample<'_, '_, '_>) {
    let name = "ScreenState";
    let state = f64::from(message.small(display::DISPLAY_STATE).unwrap_or(0) as i32);
    sample.put_global(&SCREEN_STATE, &[], format_args!("{name}"), state);
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
