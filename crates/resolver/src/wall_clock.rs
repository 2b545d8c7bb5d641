//! The written form of a wall clock's time (rules K2, K3 and K5).
//!
//! # Design
//!
//! jiff reads texts and zones, so they have the meaning of RFC 3339 and RFC 9557. A time without
//! offset and zone is in UTC, which is also the output: with the user's zone, a query would return
//! other results on another machine.
//!
//! A zone's clock shows some times twice and skips others. jiff can take the earlier or the later
//! one; here that is an error, because timebase never converts a reading that may mean two times
//! (rule N5), and an offset resolves it.
//!
//! The zones are the system's (`/usr/share/zoneinfo`, or `TZDIR`), which are newer than those of a
//! program that was built some time ago. If there are none, as in small containers and on Windows,
//! jiff's own are used: 200 kB.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use jiff::civil::Time;
use jiff::fmt::temporal::DateTimeParser;
use jiff::tz::{Disambiguation, Offset, TimeZone};

/// A reading of a wall clock, to the nanosecond. As a text it is in UTC.
///
/// ```
/// use timebase_resolver::WallTime;
///
/// let read = |text: &str| text.parse::<WallTime>();
/// let time = read("2026-11-21T16:21:30.5")?;
/// assert_eq!(time.realtime(), 1_795_278_090_500_000_000);
/// assert_eq!(time.to_string(), "2026-11-21T16:21:30.500000000");
/// assert_eq!(read("2026-11-21T17:21:30.5+01:00")?, time);
/// assert_eq!(read("2026-11-21T17:21:30.5[Europe/Berlin]")?, time);
/// // Twice on that day:
/// assert!(read("2026-10-25T02:30[Europe/Berlin]").is_err());
/// assert!(read("2026-10-25T02:30+01:00[Europe/Berlin]").is_ok());
/// # Ok::<(), timebase_resolver::NotATime>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WallTime(i64);

impl WallTime {
    /// REALTIME, in nanoseconds since 1970 UTC.
    pub fn of_realtime(ns: i64) -> WallTime {
        WallTime(ns)
    }

    /// The reading of REALTIME, in nanoseconds since 1970 UTC.
    pub fn realtime(self) -> i64 {
        self.0
    }

    /// The time on a clock of the zone, and its offset (rule K3).
    ///
    /// ```
    /// use timebase_resolver::{WallTime, Zone};
    ///
    /// let zone: Zone = "Europe/Berlin".parse()?;
    /// let shown = WallTime::of_realtime(0).in_zone(&zone);
    /// assert_eq!(shown, "1970-01-01T01:00:00.000000000+01:00");
    /// # Ok::<(), timebase_resolver::NotAZone>(())
    /// ```
    pub fn in_zone(self, Zone(zone): &Zone) -> String {
        let (time, nanoseconds) = self.parts();
        let local = time.to_zoned(zone.clone());
        format!("{}.{nanoseconds:09}{}", local.strftime("%Y-%m-%dT%H:%M:%S"), local.strftime("%:z"))
    }

    /// Seconds, and the nanoseconds after them.
    fn parts(self) -> (Timestamp, i64) {
        let seconds = self.0.div_euclid(1_000_000_000);
        // Every 64-bit number of nanoseconds is in the years 1677 to 2262.
        let time = Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH);
        (time, self.0.rem_euclid(1_000_000_000))
    }
}

/// The time in UTC (rule K2).
impl fmt::Display for WallTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (time, nanoseconds) = self.parts();
        write!(f, "{}.{nanoseconds:09}", time.strftime("%Y-%m-%dT%H:%M:%S"))
    }
}

/// The time in a text (rule K5).
impl FromStr for WallTime {
    type Err = NotATime;

    fn from_str(text: &str) -> Result<WallTime, NotATime> {
        const PARSER: DateTimeParser = DateTimeParser::new().disambiguation(Disambiguation::Reject);
        let pieces = PARSER.parse_pieces(text).map_err(|_| NotATime::Form)?;
        let time = if pieces.time_zone_annotation().is_some() {
            let zoned = PARSER.parse_zoned(text);
            zoned.map_err(|error| NotATime::Zone(error.to_string()))?.timestamp()
        } else {
            let shown = pieces.date().to_datetime(pieces.time().unwrap_or(Time::midnight()));
            let offset = pieces.to_numeric_offset().unwrap_or(Offset::UTC);
            offset.to_timestamp(shown).map_err(|_| NotATime::Range)?
        };
        let ns = i64::try_from(time.as_nanosecond()).map_err(|_| NotATime::Range)?;
        Ok(WallTime(ns))
    }
}

/// The reason why a text is no time (rule K5).
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotATime {
    /// It does not have the form of a time.
    Form,
    /// The zone is unknown, has another offset at that time, or shows this time twice or never,
    /// with jiff's message.
    Zone(String),
    /// It does not fit 64 bits in nanoseconds.
    Range,
}

/// As a sentence: a `main` that returns this error, and `unwrap`, write its Debug to the user.
impl fmt::Debug for NotATime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl NotATime {
    /// The required form, as the end of a sentence.
    pub fn expected(&self) -> &'static str {
        match self {
            NotATime::Form => {
                "a time such as 2026-11-21T16:21:30.5, which is UTC, or with Z, +01:00 or \
                 [Europe/Berlin] behind it"
            }
            NotATime::Zone(_) => "a time that there is once in its zone",
            NotATime::Range => "a time of the years 1677 to 2262, to fit 64 bits in nanoseconds",
        }
    }

    /// The problem of this text, if there is more to say.
    pub fn reason(&self) -> Option<&str> {
        match self {
            NotATime::Zone(reason) => Some(reason),
            NotATime::Form | NotATime::Range => None,
        }
    }
}

impl fmt::Display for NotATime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "must be {}", self.expected())?;
        match self.reason() {
            Some(reason) => write!(f, ": {reason}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for NotATime {}

/// A time zone (`Europe/Berlin`), or an offset to UTC (`+02:00`).
///
/// ```
/// use timebase_resolver::Zone;
///
/// assert!("Europe/Berlin".parse::<Zone>().is_ok());
/// assert!("-05:30".parse::<Zone>().is_ok());
/// assert!("Europe/Atlantis".parse::<Zone>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone(TimeZone);

impl FromStr for Zone {
    type Err = NotAZone;

    fn from_str(text: &str) -> Result<Zone, NotAZone> {
        let zone = DateTimeParser::new().parse_time_zone(text);
        zone.map(Zone).map_err(|_| NotAZone)
    }
}

/// The error for a text that is no time zone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct NotAZone;

/// As a sentence: a `main` that returns this error, and `unwrap`, write its Debug to the user.
impl fmt::Debug for NotAZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl NotAZone {
    /// The required form, as the end of a sentence.
    pub fn expected(self) -> &'static str {
        "a time zone such as Europe/Berlin or UTC, or an offset such as +02:00"
    }
}

impl fmt::Display for NotAZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "must be {}", self.expected())
    }
}

impl std::error::Error for NotAZone {}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<i64, NotATime> {
        text.parse().map(WallTime::realtime)
    }

    #[test]
    fn k2_utc_to_the_nanosecond() {
        let shown = |ns| WallTime::of_realtime(ns).to_string();
        assert_eq!(shown(1_652_903_999_999_999_995), "2022-05-18T19:59:59.999999995");
        assert_eq!(shown(-1), "1969-12-31T23:59:59.999999999");
        assert_eq!(shown(i64::MIN), "1677-09-21T00:12:43.145224192");
        assert_eq!(shown(i64::MAX), "2262-04-11T23:47:16.854775807");
    }

    #[test]
    fn k5_a_time_is_utc_unless_it_says_otherwise() {
        let noon = 1_795_262_400_000_000_000;
        for text in [
            "2026-11-21T12:00:00",
            "2026-11-21 12:00:00.000000000",
            "2026-11-21T12:00",
            "2026-11-21T12:00:00Z",
            "2026-11-21T13:00:00+01:00",
            "2026-11-21T06:30:00-05:30",
            "2026-11-21T13:00:00[Europe/Berlin]",
            "2026-11-21T13:00:00+01:00[Europe/Berlin]",
            "2026-11-21T12:00:00Z[Europe/Berlin]",
        ] {
            assert_eq!(read(text), Ok(noon), "{text}");
        }
        assert_eq!(read("2026-11-21"), Ok(noon - 12 * 3_600_000_000_000));
        assert_eq!(read("2026-11-21T12:00:00.000000007"), Ok(noon + 7));
    }

    #[test]
    fn k5_a_time_that_is_none_or_two_is_an_error() {
        for text in [
            "",
            "noon",
            "12:00",
            "2026-13-21T12:00:00",
            "2026-02-29T12:00:00",
            "2026-11-21T25:00:00",
            "2026-11-21T12:00:00.0000000001",
            "2026-11-21T12:00:00 ",
            "2026-11-21T12:00:00\0",
            "2026-11-21T12:00:00+1",
            "1795262400",
        ] {
            assert_eq!(read(text), Err(NotATime::Form), "{text:?}");
        }
        for (text, said) in [
            ("2026-10-25T02:30:00[Europe/Berlin]", "fold"),
            ("2026-03-29T02:30:00[Europe/Berlin]", "gap"),
            ("2026-11-21T12:00:00[Europe/Atlantis]", "Europe/Atlantis"),
            ("2026-11-21T12:00:00+05:00[Europe/Berlin]", "offset"),
        ] {
            let wrong = read(text).unwrap_err();
            assert!(matches!(wrong, NotATime::Zone(_)), "{text}: {wrong}");
            assert!(wrong.to_string().contains(said), "{text}: {wrong}");
        }
        for text in ["2262-04-11T23:47:16.854775808", "1677-09-21T00:12:43.145224191", "0001-01-01"]
        {
            assert_eq!(read(text), Err(NotATime::Range), "{text}");
        }
    }

    #[test]
    fn k3_a_zone_has_a_name_or_is_an_offset() {
        let shown = |zone: &str| {
            let zone: Zone = zone.parse().unwrap();
            WallTime::of_realtime(1_652_903_999_999_999_995).in_zone(&zone)
        };
        assert_eq!(shown("Europe/Berlin"), "2022-05-18T21:59:59.999999995+02:00");
        assert_eq!(shown("europe/berlin"), "2022-05-18T21:59:59.999999995+02:00");
        assert_eq!(shown("-05:30"), "2022-05-18T14:29:59.999999995-05:30");
        assert_eq!(shown("UTC"), "2022-05-18T19:59:59.999999995+00:00");
        for wrong in ["", "Berlin", "Europe/Atlantis", "+99:00", "../etc/passwd", "UTC\0"] {
            assert!(wrong.parse::<Zone>().is_err(), "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn k3_k5_what_is_shown_is_read_back(
            ns in any::<i64>(),
            // Offsets of whole hours, of half an hour, that change twice a year, and of
            // the local times before there were zones.
            zone in prop::sample::select(vec![
                "UTC", "Europe/Berlin", "Europe/Amsterdam", "Asia/Kolkata", "Australia/Lord_Howe",
                "America/Los_Angeles", "Africa/Monrovia", "+02:00", "-11:30",
            ]),
        ) {
            let time = WallTime::of_realtime(ns);
            prop_assert_eq!(read(&time.to_string()), Ok(ns));
            let local = time.in_zone(&zone.parse().unwrap());
            prop_assert_eq!(read(&local), Ok(ns), "{}", local);
        }
    }
}
