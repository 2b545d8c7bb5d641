//! Numbers of 128 bits as floating point and back.
//!
//! Differences of readings may have 65 bits, and nearly none has more than 53. Conversions of 128
//! bits are calls of a function with loops, and took a sixth of the time of 1.6 million lines; so
//! what fits 64 bits takes the way of the processor, to the same result. The other way is a function that is never
//! inlined: the compiler would call the conversion for all numbers, and drop its result for most.

/// The nearest number.
#[inline]
pub(crate) fn real(number: i128) -> f64 {
    match i64::try_from(number) {
        Ok(number) => number as f64,
        Err(_) => real_of_many(number),
    }
}

#[cold]
#[inline(never)]
fn real_of_many(number: i128) -> f64 {
    number as f64
}

/// The number without its fraction, as `as` does it.
#[inline]
pub(crate) fn truncated(number: f64) -> i128 {
    const FITS: f64 = (1u64 << 63) as f64;
    match number.abs() < FITS {
        true => i128::from(number as i64),
        false => many_of_real(number),
    }
}

#[cold]
#[inline(never)]
fn many_of_real(number: f64) -> i128 {
    number as i128
}

/// The nearest integer; that away from zero if two are equally near.
#[inline]
pub(super) fn rounded(number: f64) -> i128 {
    // From here on there are no fractions.
    const WHOLE: f64 = (1u64 << 52) as f64;
    if number.abs() >= WHOLE || number.is_nan() {
        return truncated(number);
    }
    let whole = number as i64;
    let rest = number - whole as f64;
    let more = i64::from(rest >= 0.5) - i64::from(rest <= -0.5);
    i128::from(whole + more)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn number() -> impl Strategy<Value = f64> {
        let near = prop_oneof![Just(0i32), Just(52), Just(53), Just(63), Just(64), Just(127)];
        let near = (near, -9i64..9, any::<bool>()).prop_map(|(power, more, is_negative)| {
            let number = 2f64.powi(power) + more as f64 / 4.0;
            if is_negative { -number } else { number }
        });
        prop_oneof![
            near,
            any::<f64>(),
            -1e6..1e6,
            (-40i64..40).prop_map(|quarters| quarters as f64 / 4.0),
            Just(0.499_999_999_999_999_94),
            Just(-0.499_999_999_999_999_94),
            Just(f64::NAN),
            Just(f64::INFINITY),
        ]
    }

    proptest! {
        #[test]
        fn they_are_those_of_the_standard_library(
            float in number(),
            integer in prop_oneof![any::<i128>(), any::<i64>().prop_map(i128::from), -9i128..9],
            shift in 0u32..128,
        ) {
            prop_assert_eq!(truncated(float), float as i128);
            prop_assert_eq!(rounded(float), float.round() as i128);
            let integer = integer >> shift;
            prop_assert_eq!(real(integer).to_bits(), (integer as f64).to_bits());
        }
    }
}
