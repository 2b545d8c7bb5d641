//! Names of symbols.
//!
//! | function | result |
//! |---|---|
//! | `__intrinsic_demangle(name)` | the name of a function as in its source, from a mangled name of C++ (`_Z…`) or Rust (`_R…`); NULL for other texts. `demangle` is the same |

use std::fmt::{self, Write};

use cpp_demangle::{DemangleOptions, Symbol};
use rusqlite::Connection;

use crate::{Answer, Arguments, Call, Function, Functions, Result};

/// The longest name. A mangled name of a kilobyte can stand for one of gigabytes, because it refers
/// to its own parts.
const LONGEST: usize = 1 << 20;

pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    let mut to = conn;
    to.add("__intrinsic_demangle", 1, Demangle)?;
    Ok(())
}

/// Adds the function under its public name.
pub fn add(to: &mut impl Functions) -> Result<()> {
    to.add("demangle", 1, Demangle)
}

struct Demangle;

impl Function for Demangle {
    fn call<C: Call>(&self, call: &C) -> Result<Answer> {
        let name = Arguments::new("demangle", call).text(0, "name")?;
        Ok(name.and_then(demangled).into())
    }
}

/// The name of a function as in its source, from a mangled name of C++ (`_Z…`) or Rust (`_R…`); `None` for other names.
///
/// ```
/// assert_eq!(timebase_sql::demangled("_ZN3foo3barEi").as_deref(), Some("foo::bar(int)"));
/// ```
pub fn demangled(name: &str) -> Option<String> {
    let is_itanium = ["_Z", "__Z", "___Z", "____Z"].iter().any(|start| name.starts_with(start));
    let mut out = Bounded(String::new());
    if is_itanium {
        let symbol = Symbol::new(name).ok()?;
        symbol.structured_demangle(&mut out, &DemangleOptions::new()).ok()?;
    } else if name.starts_with("_R") {
        let symbol = rustc_demangle::try_demangle(name).ok()?;
        // Without the hashes of crates.
        write!(out, "{symbol:#}").ok()?;
    } else {
        return None;
    }
    Some(out.0)
}

/// A text that does not become too long.
struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        if self.0.len().saturating_add(part.len()) > LONGEST {
            return Err(fmt::Error);
        }
        self.0.push_str(part);
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::super::testing::{connection, rows};
    use super::demangled;

    #[test]
    fn pq9_names_of_c_plus_plus_and_rust_are_as_in_the_source() {
        let conn = connection();
        let cases = [
            ("_ZN3foo3barEi", "foo::bar(int)"),
            ("__ZN3foo3barEi", "foo::bar(int)"),
            (
                "_ZNSt6vectorIiSaIiEE9push_backERKi",
                "std::vector<int, std::allocator<int> >::push_back(int const&)",
            ),
            ("_RNvCskwGfYPst2Cb_3foo16example_function", "foo::example_function"),
            ("main", "NULL"),
            ("_Znonsense", "NULL"),
            ("_R", "NULL"),
            ("i", "NULL"),
        ];
        for (name, expected) in cases {
            let sql = format!("SELECT __intrinsic_demangle('{name}')");
            assert_eq!(rows(&conn, &sql), [expected], "{name}");
        }
        assert_eq!(rows(&conn, "SELECT __intrinsic_demangle(NULL)"), ["NULL"]);
    }

    #[test]
    fn pq13_a_name_that_explodes_has_none() {
        // Each type is a pair of the one before it, by a reference.
        let mut name = "_Z1fI1pIiiE".to_owned();
        for digit in "0123456789ABCDEFGHIJKLMNOPQRST".chars() {
            name += &format!("1pIS{digit}_S{digit}_E");
        }
        name += "Evv";
        assert!(demangled(&name).is_none_or(|name| name.len() <= super::LONGEST));
        let deep = format!("_Z1f{}i", "P".repeat(100_000));
        assert!(demangled(&deep).is_none_or(|name| name.len() <= super::LONGEST));
    }
}
