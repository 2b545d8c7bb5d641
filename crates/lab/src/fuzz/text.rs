//! Clocks and times in the form in which people write them.

use timebase_resolver::{Scope, UnknownName, WallTime, WrittenClock, Zone};

/// Reads a text as a clock, a time of day and a zone.
///
/// A text that is read and printed reads back as the same.
///
/// ```
/// timebase_lab::fuzz::text(b"64@3 of machine 2");
/// ```
pub fn text(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(written) = text.parse::<WrittenClock>() {
        let clock = written.clock();
        let again: WrittenClock = clock.to_string().parse().unwrap_or_else(|error| {
            // A clock of a sequence may be written without its sequence; then it is no clock by
            // itself.
            assert!(clock.id.scope() == Scope::Sequence && clock.lacks_sequence(), "{error}");
            written
        });
        assert_eq!(again.clock(), clock);
    }
    let unknown = UnknownName::of(&text);
    assert!(!unknown.to_string().is_empty());

    if let Ok(time) = text.parse::<WallTime>() {
        let again = time.to_string().parse::<WallTime>();
        assert_eq!(again.unwrap(), time);
    }
    let number =
        bytes.iter().fold(0i64, |number, &byte| number.wrapping_mul(131) ^ i64::from(byte));
    let time = WallTime::of_realtime(number);
    assert_eq!(time.to_string().parse::<WallTime>().unwrap(), time);
    if let Ok(zone) = text.parse::<Zone>() {
        let shown = time.in_zone(&zone);
        // Offsets of years before standard time have seconds, which are not printed.
        if let Ok(again) = shown.parse::<WallTime>() {
            assert!((again.realtime() - number).abs() < 60_000_000_000, "{shown}");
        }
    }
}
