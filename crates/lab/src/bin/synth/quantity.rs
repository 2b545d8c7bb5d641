//! Numbers in the form in which people type them: `2_000_000`, `2M`, `4GiB`, `30s`.

/// A number of bytes or other things: `k`, `M` and `G` are thousands, `Ki`, `Mi` and `Gi` are the
/// binary ones, times 1024. A `B` may follow.
pub fn count(text: &str) -> Result<u64, String> {
    let text = text.strip_suffix('B').unwrap_or(text);
    quantity(
        text,
        &[
            ("Ki", 1 << 10),
            ("Mi", 1 << 20),
            ("Gi", 1 << 30),
            ("k", 1000),
            ("M", 1_000_000),
            ("G", 1_000_000_000),
        ],
        "a number such as 2_000_000, 2M or 4GiB",
    )
}

/// A time, in nanoseconds unless it has a unit.
fn nanoseconds(text: &str) -> Result<u64, String> {
    quantity(
        text,
        &[
            ("ns", 1),
            ("us", 1000),
            ("ms", 1_000_000),
            ("s", 1_000_000_000),
            ("min", 60_000_000_000),
            ("h", 3_600_000_000_000),
        ],
        "a time such as 800ns, 5ms, 30s or 1h",
    )
}

/// A time that may be negative, in nanoseconds unless it has a unit.
pub fn signed_nanoseconds(text: &str) -> Result<i64, String> {
    let (text, is_negative) = match text.strip_prefix('-') {
        Some(text) => (text, true),
        None => (text, false),
    };
    let time = i64::try_from(nanoseconds(text)?).map_err(|error| error.to_string())?;
    Ok(if is_negative { -time } else { time })
}

fn quantity(text: &str, units: &[(&str, u64)], expected: &str) -> Result<u64, String> {
    let unit = units.iter().find_map(|&(unit, times)| {
        let number = text.strip_suffix(unit)?;
        number.ends_with(|c: char| c.is_ascii_digit()).then_some((number, times))
    });
    let (number, times) = unit.unwrap_or((text, 1));
    let number: Option<u64> = number.replace('_', "").parse().ok();
    number
        .and_then(|number| number.checked_mul(times))
        .ok_or_else(|| format!("expected {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_may_have_a_unit() {
        assert_eq!(count("2_000_000"), Ok(2_000_000));
        assert_eq!(count("2M"), Ok(2_000_000));
        assert_eq!(count("4GiB"), Ok(4 << 30));
        assert_eq!(count("100kB"), Ok(100_000));
        assert_eq!(nanoseconds("30s"), Ok(30_000_000_000));
        assert_eq!(nanoseconds("5ms"), Ok(5_000_000));
        assert_eq!(nanoseconds("800"), Ok(800));
        assert_eq!(signed_nanoseconds("100us"), Ok(100_000));
        assert_eq!(signed_nanoseconds("-2ms"), Ok(-2_000_000));
        assert!(signed_nanoseconds("--2ms").is_err());
    }

    #[test]
    fn what_is_no_number_or_too_large_is_refused() {
        for text in ["", "M", "two", "-1", "1.5M", "99999999999G"] {
            assert!(count(text).is_err(), "{text}");
        }
        assert!(nanoseconds("5 ms").is_err());
    }
}
