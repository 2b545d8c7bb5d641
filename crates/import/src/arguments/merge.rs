//! Merges arguments with those of an earlier event.

use rustc_hash::FxHashMap;

use super::set::{Arg, Args, EntryContent, Position, push_index};
use crate::definitions::Names;

/// Adds arguments to those of a slice. A list continues the list with the same key (rule A5).
pub(crate) fn merge(onto: &mut Vec<u8>, more: &[u8], names: &Names) {
    let go_on = |arg: Arg<'_>| arg.key.positions().any(|position| position.goes_on);
    let next = match Args::new(more).any(go_on) {
        true => Next::of(onto, names),
        false => Next::default(),
    };
    if next.0.is_empty() {
        onto.extend_from_slice(more);
        return;
    }
    let mut positions = Vec::new();
    let mut list = String::new();
    for arg in Args::new(more) {
        if arg.key.is_flat() {
            arg.append_at(&[], onto);
            continue;
        }
        positions.clear();
        walk(&arg, names, &mut list, |list, mut position| {
            if position.goes_on {
                let from = next.0.get(list).copied().unwrap_or_default();
                position.index = position.index.saturating_add(from);
            }
            positions.push(position);
            position.index
        });
        arg.append_at(&positions, onto);
    }
}

/// Visits the positions of a key, each with the key of its list. The index that `each` returns
/// becomes part of the keys of inner lists.
fn walk(
    arg: &Arg<'_>,
    names: &Names,
    list: &mut String,
    mut each: impl FnMut(&str, Position) -> u64,
) {
    let flat = arg.key.flat(names.texts());
    let mut written = 0;
    list.clear();
    for position in arg.key.positions() {
        list.push_str(flat.get(written..position.at).unwrap_or_default());
        written = position.at;
        let index = each(list, position);
        push_index(index, list);
    }
}

/// The next index of each list, by the list's key.
#[derive(Default)]
struct Next(FxHashMap<Box<str>, u64>);

impl Next {
    fn of(args: &[u8], names: &Names) -> Self {
        let mut next = Next::default();
        let mut list = String::new();
        for arg in Args::new(args) {
            let mut left = arg.key.positions().count();
            walk(&arg, names, &mut list, |list, position| {
                left = left.saturating_sub(1);
                let is_count = left == 0 && arg.what == EntryContent::Count;
                if is_count {
                    next.is(list, position.index);
                } else if position.goes_on {
                    next.at_least(list, position.index.saturating_add(1));
                }
                position.index
            });
        }
        next
    }

    /// Notes that the list has an entry before this index.
    fn at_least(&mut self, list: &str, place: u64) {
        let known = self.0.get(list).copied();
        self.is(list, place.max(known.unwrap_or_default()));
    }

    /// Sets the next index. A stored index counts more than an entry that ended with a fault.
    fn is(&mut self, list: &str, place: u64) {
        match self.0.get_mut(list) {
            Some(next) => *next = place,
            None => {
                self.0.insert(list.into(), place);
            }
        }
    }
}
