//! Sizes as people write them.

use std::fmt;
use std::str::FromStr;

/// A number of bytes, as people write it: `500M` and `500MB` are times 1000², `2GiB` is times
/// 1024³.
///
/// ```
/// use timebase_import::Size;
///
/// let size = |text: &str| text.parse::<Size>().map(|size| size.0);
/// assert_eq!(size("500M"), Ok(500_000_000));
/// assert_eq!(size("4GiB"), Ok(4 << 30));
/// assert_eq!(size("1_000_000"), Ok(1_000_000));
/// assert_eq!(Size(4 << 30).to_string(), "4GiB");
/// assert_eq!(Size(500_000_000).to_string(), "500MB");
/// assert_eq!(Size(1_234_567).to_string(), "1234567 bytes");
/// let error = "2 gigs".parse::<Size>().unwrap_err();
/// assert_eq!(error.to_string(), "a size is a number of bytes, or for example 500M, 2G or 4GiB");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

/// A text that is no [`Size`].
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a size is a number of bytes, or for example 500M, 2G or 4GiB")]
pub struct NotASize;

/// As a sentence: a `main` that returns this error, and `unwrap`, write its Debug to the user.
impl fmt::Debug for NotASize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

const UNITS: [(&str, u64); 8] = [
    ("TiB", 1 << 40),
    ("TB", 1_000_000_000_000),
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("KiB", 1 << 10),
    ("KB", 1000),
];

impl FromStr for Size {
    type Err = NotASize;

    fn from_str(text: &str) -> Result<Size, NotASize> {
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = text.get(digits.len()..).unwrap_or_default();
        let is_it = |name: &str| {
            unit.eq_ignore_ascii_case(name)
                || name.len() == 2 && name.get(..1).is_some_and(|k| unit.eq_ignore_ascii_case(k))
        };
        let scale = match unit {
            "" | "B" => 1,
            _ => {
                let known = UNITS.iter().find(|(name, _)| is_it(name));
                known.map(|(_, scale)| *scale).ok_or(NotASize)?
            }
        };
        if !digits.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(NotASize);
        }
        let number: u64 = digits.replace('_', "").parse().map_err(|_| NotASize)?;
        number.checked_mul(scale).map(Size).ok_or(NotASize)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = |(_, scale): &&(&str, u64)| self.0 > 0 && self.0.is_multiple_of(*scale);
        match UNITS.iter().find(whole) {
            Some((name, scale)) => write!(f, "{}{name}", self.0 / scale),
            None => write!(f, "{} bytes", self.0),
        }
    }
}
