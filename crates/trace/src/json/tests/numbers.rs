//! Times against arithmetic of integers of any size.

use proptest::prelude::*;

use crate::json::{Integer, NoTime, Value, integer, nanoseconds};

/// An integer as its decimal digits, the last one first.
#[derive(Clone)]
struct Big(Vec<u8>);

impl Big {
    fn of(digits: &str) -> Big {
        Big(digits.bytes().rev().map(|digit| digit - b'0').collect())
    }

    fn power_of_ten(power: usize) -> Big {
        Big([vec![0; power], vec![1]].concat())
    }

    fn plus(&self, other: &Big) -> Big {
        let mut sum = Vec::new();
        let mut carry = 0;
        for place in 0..=self.0.len().max(other.0.len()) {
            let digit = |big: &Big| big.0.get(place).copied().unwrap_or(0);
            let all = digit(self) + digit(other) + carry;
            sum.push(all % 10);
            carry = all / 10;
        }
        Big(sum)
    }

    /// Divides by a power of ten, and rounds down.
    fn shifted(&self, power: usize) -> Big {
        Big(self.0.get(power..).unwrap_or(&[]).to_vec())
    }

    fn halved(&self) -> Big {
        let mut half = vec![0; self.0.len()];
        let mut rest = 0;
        for (place, digit) in self.0.iter().enumerate().rev() {
            half[place] = (rest * 10 + digit) / 2;
            rest = (rest * 10 + digit) % 2;
        }
        Big(half)
    }

    fn text(&self) -> String {
        let text: String = self.0.iter().rev().map(|digit| char::from(digit + b'0')).collect();
        let text = text.trim_start_matches('0');
        if text.is_empty() { "0".to_owned() } else { text.to_owned() }
    }
}

/// The number times ten to the power of `power`: its half and more, rounded down, or rounded down
/// alone.
fn scaled(digits: &str, power: i32, is_rounded: bool) -> String {
    let number = Big::of(digits);
    match usize::try_from(power) {
        Ok(power) => Big([vec![0; power], number.0].concat()).text(),
        Err(_) if is_rounded => {
            let power = power.unsigned_abs() as usize;
            let twice = number.plus(&number).plus(&Big::power_of_ten(power));
            twice.shifted(power).halved().text()
        }
        Err(_) => number.shifted(power.unsigned_abs() as usize).text(),
    }
}

fn sign() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["", "", "-", "+"])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5000, ..ProptestConfig::default() })]

    #[test]
    fn js9_js14_numbers_are_as_integers_of_any_size_say(
        sign in sign(),
        whole in "0{0,3}[0-9]{0,22}",
        fraction in "0{0,5}[0-9]{0,8}(49999|5|50|)",
        is_pointed: bool,
        exponent in prop::option::of(-30..30_i32),
        is_text: bool,
    ) {
        prop_assume!(!whole.is_empty() || is_pointed && !fraction.is_empty());
        let fraction = if is_pointed { fraction } else { String::new() };
        let point = if is_pointed { "." } else { "" };
        let end = exponent.map(|exponent| format!("e{exponent}")).unwrap_or_default();
        let text = format!("{sign}{whole}{point}{fraction}{end}");
        let digits = format!("{whole}{fraction}");
        let power = exponent.unwrap_or(0) - i32::try_from(fraction.len()).unwrap();
        let minus = if sign == "-" { "-" } else { "" };

        let expected = format!("{minus}{}", scaled(&digits, power + 3, true));
        let quoted = if is_text { format!("\"{text}\"") } else { text.clone() };
        let found = nanoseconds(Value::parsed(quoted.as_bytes()));
        prop_assert_eq!(found, expected.parse().map_err(|_| NoTime::Overflow), "{}", quoted);

        let expected = format!("{minus}{}", scaled(&digits, power, false));
        let expected = expected.parse().map_or(Integer::Text(text.as_str().into()), Integer::Number);
        prop_assert_eq!(integer(Value::parsed(text.as_bytes())), Some(expected), "{}", &text);
    }
}
