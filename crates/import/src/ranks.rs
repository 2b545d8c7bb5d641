//! The ranks of files in JSON, each of which is a machine of its own (rule JS38).
//!
//! The machine of a file has to be known before its events are read, and the member that has the rank may be anywhere in
//! the file. So a first pass looks for it, and stops where it is. Mostly that is before the events.

use std::collections::BTreeSet;
use std::io::{self, Read};

use timebase_trace::json::{JsonPieces, Number, Piece, Value};

/// The rank of a file in JSON in a training job; `None` if the file has none, or is not readable.
///
/// ```
/// let trace = r#"{"traceEvents": [], "distributedInfo": {"rank": 3}}"#;
/// assert_eq!(timebase_import::rank(trace.as_bytes())?, Some(3));
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// If the file cannot be read.
pub fn rank(input: impl Read) -> io::Result<Option<i64>> {
    let mut pieces = JsonPieces::new(input);
    while let Some(piece) = pieces.next()? {
        if let Piece::Member { key, value: Some(value), .. } = piece
            && key == "distributedInfo"
            && let Some(rank) = rank_of(value)
        {
            return Ok(Some(rank));
        }
    }
    Ok(None)
}

fn rank_of(distributed: Value<'_>) -> Option<i64> {
    let rank = distributed.members().filter(|(key, _)| key.is("rank")).last();
    match rank?.1.number()? {
        Number::Int(rank) => Some(rank),
        Number::Real(_) => None,
    }
}

/// The ranks that are machines: all of them if there are two or more.
pub(crate) fn machines(ranks: impl IntoIterator<Item = i64>) -> Vec<i64> {
    let ranks: BTreeSet<i64> = ranks.into_iter().collect();
    match ranks.len() {
        0 | 1 => Vec::new(),
        _ => ranks.into_iter().collect(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn js38_the_rank_is_a_number_wherever_it_is() {
        let rank = |text: &str| rank(text.as_bytes()).unwrap();
        assert_eq!(rank(r#"{"traceEvents": [], "distributedInfo": {"rank": 3}}"#), Some(3));
        assert_eq!(rank(r#"{"distributedInfo": {"rank": "3"}, "traceEvents": []}"#), None);
        assert_eq!(rank(r#"[{"ph": "i"}]"#), None);
        assert_eq!(machines([8, 0, 8]), [0, 8]);
        assert!(machines([1, 1]).is_empty());
    }
}
