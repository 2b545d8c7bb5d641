//! Adds the names of hashes to arguments (rule TN3).

use super::set::{ArgBuf, ArgValue, Args, EntryContent};
use crate::definitions::{Hashes, Names};

/// The arguments with the names of the hashes among them; `None` if there is no name to add. A name
/// that the arguments already have counts if it comes after the hash.
pub(crate) fn with_names<'a>(
    args: &[u8],
    names: &Names,
    all: impl Iterator<Item = Hashes<'a>>,
) -> Option<Vec<u8>> {
    let mut more = ArgBuf::default();
    for hashes in all {
        let (mut first_hash, mut first_name) = (None, None);
        let mut hash = None;
        let flat = Args::new(args).enumerate();
        for (place, arg) in flat.filter(|(_, arg)| arg.key.is_flat()) {
            let key = arg.key.flat(names.texts());
            if key == hashes.key {
                first_hash = first_hash.or(Some(place));
                hash = match arg.what {
                    EntryContent::Value(ArgValue::Uint(hash)) => Some(hash),
                    _ => None,
                };
            } else if key == hashes.key_of_name {
                first_name = first_name.or(Some(place));
            }
        }
        let is_said = first_name > first_hash;
        if let Some(name) = hash.and_then(|hash| hashes.names.get(&hash))
            && !is_said
        {
            more.push_in_full(hashes.key_of_name, ArgValue::Text(name));
        }
    }
    let more = more.as_bytes();
    (!more.is_empty()).then(|| [args, more].concat())
}
