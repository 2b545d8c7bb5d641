//! How people write what a wall clock showed (rules K2, K3 and K5).
//!
//! # Design
//!
//! Texts and zones are read by jiff, so that they mean what RFC 3339 and RFC 9557 say.
//! Without offset and zone a time is in UTC, as it is printed: the zone of whoever asks
//! would make a query answer otherwise on another machine.
//!
//! A zone's clock shows some times twice and leaves some out. jiff can take the earlier
//! or the later one by itself; here that is an error, as a reading that may mean two
//! times is not converted anywhere else (rule N5), and an offset says which is meant.
//!
//! Zones are those of the system (`/usr/share/zoneinfo`, or `TZDIR`), which are newer
//! than a program that was built some time ago. Where there are none, as in small
//! containers and on Windows, those that jiff brings along are used: 200 kB.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use jiff::civil::Time;
use jiff::fmt::temporal::DateTimeParser;
use jiff::tz::{Disambiguation, Offset, TimeZone};

/// What a wall clock showed, to the nanosecond. As a text it is in UTC.
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
    /// What REALTIME showed, in nanoseconds since 1970 UTC.
    pub fn of_realtime(ns: i64) -> WallTime {
        WallTime(ns)
    }

    /// The reading of REALTIME, in nanoseconds since 1970 UTC.
    pub fn realtime(self) -> i64 {
        self.0
    }

    /// What a clock of the zone showed, and its offset (rule K3).
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
        format!(
            "{}.{nanoseconds:09}{}",
            local.strftime("%Y-%m-%dT%H:%M:%S"),
            local.strftime("%:z")
        )
    }

    /// Seconds, and nanoseconds of the next one.
    fn parts(self) -> (Timestamp, i64) {
        let seconds = self.0.div_euclid(1_000_000_000);
        // Every 64-bit number of nanoseconds is in the years 1677 to 2262.
        let time = Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH);
        (time, self.0.rem_euclid(1_000_000_000))
    }
}

/// Rule K2.
impl fmt::Display for WallTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (time, nanoseconds) = self.parts();
        write!(f, "{}.{nanoseconds:09}", time.strftime("%Y-%m-%dT%H:%M:%S"))
    }
}

/// Rule K5.
impl FromStr for WallTime {
    type Err = NotATime;

    fn from_str(text: &str) -> Result<WallTime, NotATime> {
        const PARSER: DateTimeParser = DateTimeParser::new().disambiguation(Disambiguation::Reject);
        let pieces = PARSER.parse_pieces(text).map_err(|_| NotATime::Form)?;
        let time = if pieces.time_zone_annotation().is_some() {
            let zoned = PARSER.parse_zoned(text);
            zoned
                .map_err(|error| NotATime::Zone(error.to_string()))?
                .timestamp()
        } else {
            let shown = pieces
                .date()
                .to_datetime(pieces.time().unwrap_or(Time::midnight()));
            let offset = pieces.to_numeric_offset().unwrap_or(Offset::UTC);
            offset.to_timestamp(shown).map_err(|_| NotATime::Range)?
        };
        let ns = i64::try_from(time.as_nanosecond()).map_err(|_| NotATime::Range)?;
        Ok(WallTime(ns))
    }
}

/// Why a text is no time (rule K5).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotATime {
    /// It is not written like one.
    Form,
    /// The zone is not known, is at another offset then, or shows this time twice or
    /// not at all: what jiff says of it.
    Zone(String),
    /// It does not fit 64 bits in nanoseconds.
    Range,
}

impl NotATime {
    /// What the text must be, as a sentence about it goes on.
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

    /// What is wrong with this one, if there is more to say.
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

/// That a text is no time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAZone;

impl NotAZone {
    /// What the text must be, as a sentence about it goes on.
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
        assert_eq!(
            shown(1_652_903_999_999_999_995),
            "2022-05-18T19:59:59.999999995"
        );
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
        for text in [
            "2262-04-11T23:47:16.854775808",
            "1677-09-21T00:12:43.145224191",
            "0001-01-01",
        ] {
            assert_eq!(read(text), Err(NotATime::Range), "{text}");
        }
    }

    #[test]
    fn k3_a_zone_has_a_name_or_is_an_offset() {
        let shown = |zone: &str| {
            let zone: Zone = zone.parse().unwrap();
            WallTime::of_realtime(1_652_903_999_999_999_995).in_zone(&zone)
        };
        assert_eq!(
            shown("Europe/Berlin"),
            "2022-05-18T21:59:59.999999995+02:00"
        );
        assert_eq!(
            shown("europe/berlin"),
            "2022-05-18T21:59:59.999999995+02:00"
        );
        assert_eq!(shown("-05:30"), "2022-05-18T14:29:59.999999995-05:30");
        assert_eq!(shown("UTC"), "2022-05-18T19:59:59.999999995+00:00");
        for wrong in [
            "",
            "Berlin",
            "Europe/Atlantis",
            "+99:00",
            "../etc/passwd",
            "UTC\0",
        ] {
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
