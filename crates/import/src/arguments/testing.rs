//! Arguments for tests.

use super::set::{ArgBuf, ArgValue, Position};
use crate::definitions::Names;

/// Parses a key with its lists: `a[#]` continues a list, `a[#!]` has a fixed place.
fn parse(key: &str) -> (String, Vec<Position>) {
    let (mut flat, mut positions) = (String::new(), Vec::new());
    for (i, part) in key.split(['[', ']']).enumerate() {
        if i % 2 == 0 {
            flat.push_str(part);
            continue;
        }
        let fixed = part.strip_suffix('!');
        positions.push(Position {
            at: flat.len(),
            index: fixed.unwrap_or(part).parse().unwrap(),
            goes_on: fixed.is_none(),
        });
    }
    (flat, positions)
}

/// Arguments with these keys, whose values count from 0; `+key` stores the next index of a list.
pub(crate) fn listed(keys: &[&str], names: &mut Names) -> Vec<u8> {
    let mut args = ArgBuf::default();
    for (value, key) in (0..).zip(keys) {
        match key.strip_prefix('+') {
            Some(key) => {
                let (flat, positions) = parse(key);
                args.push_count(&flat, &positions, names);
            }
            None => {
                let (flat, positions) = parse(key);
                args.push_at(&flat, &positions, ArgValue::Int(value), names);
            }
        }
    }
    args.as_bytes().to_vec()
}
