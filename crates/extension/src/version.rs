//! `timebase_version()`.

use timebase_sql::{Answer, Call, Function, Functions, Result};

use crate::connections::Loaded;

/// Returns the version of timebase.
struct Version {
    /// The connection that has the functions, until it closes; `None` if no SQLite has loaded the
    /// library.
    _loaded: Option<Loaded>,
}

impl Function for Version {
    fn call<C: Call>(&self, _: &C) -> Result<Answer> {
        Ok(env!("CARGO_PKG_VERSION").into())
    }
}

/// Adds it to a connection, which then counts as having the functions, or to a list.
pub fn add(to: &mut impl Functions, loaded: Option<Loaded>) -> Result<()> {
    to.add("timebase_version", 0, Version { _loaded: loaded })
}
