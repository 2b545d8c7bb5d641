//! Texts that rows have by their numbers.

use timebase_schema::tables::string;

use crate::output::{Cell, Rows};
use crate::seen::Seen;

/// How many bytes a generation of texts may take.
const GENERATION: usize = 4 << 20;

/// The number of `Running`, which the table begins with.
pub(crate) const RUNNING: i64 = 0;

/// The number of `R`, which is next.
pub(crate) const RUNNABLE: i64 = 1;

/// The texts of the table `string`.
#[derive(Debug)]
pub(crate) struct Strings(Seen);

impl Strings {
    /// The table with those that it begins with.
    pub fn new(rows: &mut Rows<'_>) -> Self {
        let mut strings = Strings(Seen::new(GENERATION));
        for text in ["Running", "R"] {
            strings.number(text, rows);
        }
        strings
    }

    /// The number of a text.
    pub fn number(&mut self, text: &str, rows: &mut Rows<'_>) -> i64 {
        if let Some(id) = self.0.get(text.as_bytes()) {
            return id;
        }
        let id = rows.count(&string::TABLE);
        self.0.insert(text.as_bytes(), id);
        let value = rows.text(text);
        rows.push(string::Row {
            id: Cell::from(id),
            value,
        });
        id
    }
}
