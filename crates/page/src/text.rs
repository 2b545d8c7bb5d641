//! Numbers and untrusted texts, in the form of the page.

/// The length of a text on the page.
const LONGEST: usize = 160;

/// Shows a text from a trace or a database. Characters that would change the look of the text
/// around them (control characters, changes of the direction) become a symbol; the code that makes
/// HTML escapes the rest.
pub fn shown(text: &str) -> String {
    shown_up_to(LONGEST, text)
}

/// The same with at most this many characters.
pub fn shown_up_to(longest: usize, text: &str) -> String {
    let mut chars = text.chars();
    let mut shown: String = chars.by_ref().take(longest).map(sign).collect();
    if chars.next().is_some() {
        shown.push('…');
    }
    shown
}

fn sign(c: char) -> char {
    match c {
        '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(c)).unwrap_or(' '),
        '\x7f' => '␡',
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            char::REPLACEMENT_CHARACTER
        }
        c if c.is_control() => char::REPLACEMENT_CHARACTER,
        c => c,
    }
}

/// A number with a comma between thousands.
pub fn count(number: impl Into<i128>) -> String {
    let number: i128 = number.into();
    let digits = number.unsigned_abs().to_string();
    let mut grouped = String::from(if number < 0 { "−" } else { "" });
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A number and its noun.
pub fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// A unit of time for an axis or a sentence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    /// Its symbol.
    pub name: &'static str,
    /// Its length in nanoseconds.
    pub ns: f64,
}

const UNITS: [Unit; 7] = [
    Unit { name: "d", ns: 86_400e9 },
    Unit { name: "h", ns: 3_600e9 },
    Unit { name: "min", ns: 60e9 },
    Unit { name: "s", ns: 1e9 },
    Unit { name: "ms", ns: 1e6 },
    Unit { name: "µs", ns: 1e3 },
    Unit { name: "ns", ns: 1.0 },
];

impl Unit {
    /// The unit in which this many nanoseconds are an easily readable number.
    pub fn of(ns: f64) -> Unit {
        let fits = |unit: &&Unit| {
            // 90 s is easier to read than 1.5 min.
            let least = if unit.ns > 1e9 { 3.0 } else { 1.0 };
            ns.abs() >= least * unit.ns
        };
        let [.., least] = UNITS;
        UNITS.iter().find(fits).copied().unwrap_or(least)
    }
}

/// Nanoseconds with three significant digits and a unit.
pub fn duration(ns: f64) -> String {
    if !ns.is_finite() {
        return "without bound".to_owned();
    }
    let unit = Unit::of(ns);
    format!("{} {}", digits(ns / unit.ns), unit.name)
}

/// A number with three significant digits; a large number has more.
pub fn digits(number: f64) -> String {
    if number == 0.0 || !number.is_finite() {
        return "0".to_owned();
    }
    let magnitude = number.abs().log10().floor();
    if !(-9.0..=15.0).contains(&magnitude) {
        return signed(format!("{number:.2e}"));
    }
    // Between 0 and 11, so that it fits.
    let decimals = (2.0 - magnitude).max(0.0) as usize;
    let text = format!("{number:.decimals$}");
    signed(if decimals > 0 {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    })
}

/// With the minus sign that is as wide as a plus.
pub fn signed(text: String) -> String {
    match text.strip_prefix('-') {
        Some(rest) if rest.chars().all(|c| matches!(c, '0' | '.')) => rest.to_owned(),
        Some(rest) => format!("−{rest}"),
        None => text,
    }
}

/// The same of all numbers in a text: a hyphen before a digit is a minus, unless it is within a word.
pub fn minus(text: &str) -> String {
    let mut all = String::with_capacity(text.len());
    let mut last = ' ';
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let is_minus =
            c == '-' && !last.is_alphanumeric() && rest.peek().is_some_and(char::is_ascii_digit);
        all.push(if is_minus { '−' } else { c });
        last = c;
    }
    all
}

/// A share, which is 100 % only if nothing is missing.
pub fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "none".to_owned();
    }
    let percent = 100.0 * part as f64 / whole as f64;
    let (low, high) = (part > 0, part < whole);
    match percent {
        p if high && p > 99.99 => "over 99.99 %".to_owned(),
        p if low && p < 0.01 => "under 0.01 %".to_owned(),
        p => {
            let text = format!("{p:.2}");
            format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_easy_to_read() {
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(-100), "−100");
        assert_eq!(counted(1, "hop", "hops"), "1 hop");
        for (ns, text) in [
            (0.0, "0 ns"),
            (31.0, "31 ns"),
            (41_234.0, "41.2 µs"),
            (-2_894_773.0, "−2.89 ms"),
            (1_605_000_000.0, "1.6 s"),
            (90e9, "90 s"),
            (5.0 * 3_600e9, "5 h"),
            (f64::INFINITY, "without bound"),
        ] {
            assert_eq!(duration(ns), text);
        }
        assert_eq!(digits(12.345), "12.3");
        assert_eq!(digits(-0.012_345), "−0.0123");
        assert_eq!(digits(1e-12), "1.00e-12");
        assert_eq!(signed("-0.00".to_owned()), "0.00");
        assert_eq!(minus("a-1 -5 % [-1.0, -2.0]"), "a-1 −5 % [−1.0, −2.0]");
    }

    #[test]
    fn all_is_said_only_of_all() {
        assert_eq!(share(10, 10), "100 %");
        assert_eq!(share(99_999, 100_000), "over 99.99 %");
        assert_eq!(share(1, 100_000), "under 0.01 %");
        assert_eq!(share(1, 3), "33.33 %");
        assert_eq!(share(0, 3), "0 %");
        assert_eq!(share(1, 2), "50 %");
        assert_eq!(share(0, 0), "none");
    }

    #[test]
    fn a_strangers_text_changes_nothing_around_it() {
        assert_eq!(shown("a\0b\x1b[31m\u{202e}c"), "a␀b␛[31m\u{fffd}c");
        assert_eq!(shown(&"x".repeat(1000)).chars().count(), LONGEST + 1);
    }
}
