//! Vectors that grow by a sixteenth instead of doubling.
//!
//! The data for each clock and each set of clocks is a few bytes, and there may be 100,000 of them:
//! doubling would allocate up to twice as much as needed. An element moves about 16 times instead
//! of once or twice; large vectors hardly ever move, because the allocator moves pages.

/// Makes room for `more` elements.
fn reserve<T>(vec: &mut Vec<T>, more: usize) {
    if vec.capacity() - vec.len() < more {
        vec.reserve_exact(more.max(vec.len() / 16).max(4));
    }
}

pub(crate) fn push<T>(vec: &mut Vec<T>, element: T) {
    reserve(vec, 1);
    vec.push(element);
}

/// Fills up to `len` elements; never shortens.
pub(crate) fn fill<T: Clone>(vec: &mut Vec<T>, len: usize, element: T) {
    let more = len.saturating_sub(vec.len());
    if more > 0 {
        reserve(vec, more);
        vec.resize(len, element);
    }
}
