//! Texts that rows refer to by number.

use timebase_schema::FIRST_TEXTS;
use timebase_schema::tables::string;

use crate::definitions::Names;
use crate::output::{Cell, Rows};
use crate::seen::Seen;
use crate::timeline::Name;

/// The number of bytes that a generation of texts may take.
const GENERATION: usize = 4 << 20;

/// The number of `Running`, the first of [`FIRST_TEXTS`].
pub(crate) const RUNNING: i64 = 0;

/// The number of `R`, the second of them.
pub(crate) const RUNNABLE: i64 = 1;

/// The texts of the table `string`.
#[derive(Debug)]
pub(crate) struct Strings {
    seen: Seen,
    /// The numbers of the texts of names.
    names: Vec<Option<i64>>,
}

impl Strings {
    /// The table with its first texts, which views know by their numbers.
    pub fn new(rows: &mut Rows<'_>) -> Self {
        let mut strings = Strings { seen: Seen::new(GENERATION), names: Vec::new() };
        for text in FIRST_TEXTS {
            strings.number(text, rows);
        }
        strings
    }

    /// The number of the text of a name.
    #[inline]
    pub fn of_name(&mut self, name: Name, names: &Names, rows: &mut Rows<'_>) -> i64 {
        let place = name.0 as usize;
        if let Some(&Some(id)) = self.names.get(place) {
            return id;
        }
        let id = self.number(names.text(name), rows);
        if self.names.len() <= place {
            self.names.resize(place + 1, None);
        }
        self.names[place] = Some(id);
        id
    }

    /// The number of a text.
    pub fn number(&mut self, text: &str, rows: &mut Rows<'_>) -> i64 {
        if let Some(id) = self.seen.get(text.as_bytes()) {
            return id;
        }
        let id = rows.count(&string::TABLE);
        self.seen.insert(text.as_bytes(), id);
        let value = rows.text(text);
        rows.push(string::Row { id: Cell::from(id), value });
        id
    }
}
