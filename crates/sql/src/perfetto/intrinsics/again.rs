//! A function that is called again with the same values.
//!
//! If a query joins two table pointers, SQLite makes the inner one anew for each row of the outer
//! one: it runs the subqueries in the arguments once, but the function around them each time. The
//! cursor of the inner one still has the table of the last time. So the function returns that table
//! if its arguments are the very same values.

use std::sync::{Arc, Mutex, Weak};

use super::table::Table;

/// The last call of a function.
#[derive(Debug)]
pub struct Again<T>(Mutex<Option<Last<T>>>);

/// Weak references, so that nothing lives longer than its statement. While they exist, nothing else
/// has their addresses.
#[derive(Debug)]
struct Last<T> {
    values: Vec<Weak<T>>,
    rest: String,
    table: Weak<Table>,
}

impl<T> Again<T> {
    pub fn new() -> Again<T> {
        Again(Mutex::new(None))
    }

    /// The table of the last call if it had these arguments: values of other intrinsics, and a text
    /// of the rest. Otherwise that of `make`.
    pub fn table(
        &self,
        values: &[Arc<T>],
        rest: String,
        make: impl FnOnce() -> crate::Result<Table>,
    ) -> crate::Result<Arc<Table>> {
        if let Some(table) = self.last(values, &rest) {
            return Ok(table);
        }
        let table = Arc::new(make()?);
        if let Ok(mut last) = self.0.lock() {
            *last = Some(Last {
                values: values.iter().map(Arc::downgrade).collect(),
                rest,
                table: Arc::downgrade(&table),
            });
        }
        Ok(table)
    }

    fn last(&self, values: &[Arc<T>], rest: &str) -> Option<Arc<Table>> {
        let last = self.0.lock().ok()?;
        let last = last.as_ref().filter(|last| last.rest == rest)?;
        let is_same = last.values.len() == values.len()
            && (last.values.iter().zip(values))
                .all(|(last, value)| last.as_ptr() == Arc::as_ptr(value));
        last.table.upgrade().filter(|_| is_same)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn pq12_the_same_values_make_a_table_once_while_it_lives() {
        let again = Again::new();
        let (one, two) = (Arc::new(1), Arc::new(2));
        let made = std::cell::Cell::new(0);
        let table = |values: &[&Arc<i32>], rest: &str| {
            let values: Vec<Arc<i32>> = values.iter().map(|&value| Arc::clone(value)).collect();
            let make = || {
                made.set(made.get() + 1);
                Ok(Table::empty(&["ts"]))
            };
            again.table(&values, rest.to_owned(), make).unwrap()
        };
        let first = table(&[&one, &two], "(a)");
        assert!(Arc::ptr_eq(&first, &table(&[&one, &two], "(a)")));
        assert_eq!(made.get(), 1);
        // Other values, even equal ones, and another text make another table.
        let equal = Arc::new(2);
        let other = table(&[&one, &equal], "(a)");
        assert!(!Arc::ptr_eq(&first, &other));
        let (_by_text, _by_count) = (table(&[&one, &equal], "(b)"), table(&[&one], "(b)"));
        assert_eq!(made.get(), 4);
        // Nobody holds the table any more.
        drop(table(&[&two], ""));
        drop(table(&[&two], ""));
        assert_eq!(made.get(), 6);
    }
}
