//! Conditions of `--fail-on` (rule CM21).

use std::str::FromStr;

use crate::error::{Error, Result};

/// The direction in which a change fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// `>`: more fails.
    Above,
    /// `<`: less fails.
    Below,
}

/// The unit of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitUnit {
    /// Percent of the value before.
    Percent,
    /// Points of a share: percent of 1.
    Points,
    /// Nanoseconds; `s`, `ms` and `us` are turned into them.
    Time,
    /// The unit of the values.
    Plain,
}

/// A condition: a change of some statistic that fails the comparison.
///
/// ```
/// use timebase_compare::{Direction, FailOn, LimitUnit};
///
/// let condition = FailOn::parse("self:app/layout total > +5 %")?;
/// assert_eq!(condition.metric.as_deref(), Some("self:app/layout total"));
/// assert_eq!((condition.direction, condition.limit, condition.unit), (Direction::Above, 5.0, LimitUnit::Percent));
/// assert_eq!(FailOn::parse("any > +2 ms")?.limit, 2e6);
/// assert!(FailOn::parse("any").is_err());
/// # Ok::<(), timebase_compare::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct FailOn {
    /// The condition as the user wrote it.
    pub text: String,
    /// A line and its statistic, or the name of a user's metric; `None` for any.
    pub metric: Option<String>,
    /// The direction.
    pub direction: Direction,
    /// The limit, with its sign.
    pub limit: f64,
    /// Its unit.
    pub unit: LimitUnit,
}

impl FailOn {
    /// Reads a condition.
    pub fn parse(text: &str) -> Result<FailOn> {
        let wrong = || Error::Condition { text: text.to_owned() };
        // A name may contain the signs, a limit does not.
        let at = text.rfind(['<', '>']).ok_or_else(wrong)?;
        let (metric, limit) = text.split_at(at);
        let direction = if limit.starts_with('>') { Direction::Above } else { Direction::Below };
        let limit = limit.get(1..).unwrap_or("").trim();
        let end = limit.find(|c: char| !(c.is_ascii_digit() || "+-.".contains(c)));
        let (number, unit) = limit.split_at(end.unwrap_or(limit.len()));
        let number = f64::from_str(number).ok().filter(|n| n.is_finite()).ok_or_else(wrong)?;
        let (unit, factor) = match unit.trim() {
            "%" => (LimitUnit::Percent, 1.0),
            "points" | "point" => (LimitUnit::Points, 0.01),
            "ns" => (LimitUnit::Time, 1.0),
            "us" | "µs" => (LimitUnit::Time, 1e3),
            "ms" => (LimitUnit::Time, 1e6),
            "s" => (LimitUnit::Time, 1e9),
            "" => (LimitUnit::Plain, 1.0),
            _ => return Err(wrong()),
        };
        let metric = metric.trim();
        // Nothing shrinks by more than all of it.
        let has_no_log = unit == LimitUnit::Percent && number <= -100.0;
        if metric.is_empty() || has_no_log {
            return Err(wrong());
        }
        Ok(FailOn {
            text: text.to_owned(),
            metric: (metric != "any").then(|| metric.to_owned()),
            direction,
            limit: number * factor,
            unit,
        })
    }
}
