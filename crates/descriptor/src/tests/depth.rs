use super::everything::{bytes, pool};
use crate::{Path, Unreadable};

/// A message that is inside `depth` others.
fn nested(depth: usize) -> Vec<u8> {
    (0..depth).fold(Vec::new(), |inner, _| bytes().bytes(17, inner).0)
}

fn json(depth: usize) -> Result<String, Unreadable> {
    let (pool, id) = pool();
    let mut out = String::new();
    pool.write_json(id, &nested(depth), &mut out).map(|()| out)
}

#[test]
fn a_hundred_messages_may_be_nested() {
    assert_eq!(json(100).unwrap().matches('{').count(), 101);
}

#[test]
fn more_are_an_error() {
    let error = json(101).unwrap_err().to_string();
    assert!(error.ends_with("inner.inner: messages are nested more than 100 deep"), "{error}");
    assert!(json(100_000).is_err());
}

#[test]
fn a_path_goes_as_deep() {
    let (pool, id) = pool();
    let path = |steps: usize| Path::parse(&pool, id, &vec!["inner"; steps].join("."));
    let hundred = path(100).unwrap();
    assert!(hundred.get(&pool, &nested(100)).unwrap().is_some());
    assert!(hundred.get(&pool, &nested(101)).is_err());
    assert!(hundred.get(&pool, &nested(99)).unwrap().is_none());
    assert_eq!(path(101).unwrap_err().to_string(), "the path has more than 100 steps");
}
