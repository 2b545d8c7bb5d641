//! Tables that are built page by page. The crate `timebase_store::btree` explains the gain.

use std::collections::HashMap;

use rusqlite::Connection;
use timebase_schema::{Index, Order, Row, Table};
use timebase_store::btree::{
    ClusteredTableBuilder, Database, IndexBuilder, LateTableBuilder, TableBuilder, TurnedIndex,
    Value,
};
use timebase_store::sort::Scratch;

use crate::error::WriteError;

/// The largest number of columns of a table.
const MOST_COLUMNS: usize = 37;

/// The root pages of the tables and indexes of an empty database.
pub(crate) struct Roots(HashMap<String, u32>);

impl Roots {
    /// The root pages of a database that SQLite has open.
    pub fn read(conn: &Connection) -> rusqlite::Result<Roots> {
        let mut statement = conn.prepare("SELECT name, rootpage FROM sqlite_schema")?;
        let roots = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(Roots(roots.collect::<rusqlite::Result<_>>()?))
    }

    /// The root page of a table or an index; 0 if there is none.
    pub fn of(&self, name: &str) -> u32 {
        self.0.get(name).copied().unwrap_or_default()
    }
}

/// A table that is being filled, with its indexes.
pub(crate) struct BulkTable {
    pub declared: &'static Table,
    table: Builder,
    root: u32,
    indexes: Vec<BulkIndex>,
    rows: u64,
}

/// A builder of rows, by the order in which they come.
enum Builder {
    Rowid(TableBuilder),
    Key(ClusteredTableBuilder),
    Any(LateTableBuilder),
}

struct BulkIndex {
    declared: &'static Index,
    root: u32,
    entries: Entries,
}

enum Entries {
    One(IndexBuilder<1>),
    Two(IndexBuilder<2>),
    Four(IndexBuilder<4>),
    /// The entries of the index before it, with the columns in the other order.
    Turned(Scratch),
}

impl Entries {
    /// The entries of an index on `columns`; `before` is the index that is declared before it.
    fn new(columns: &[usize], before: Option<&Index>, scratch: &Scratch) -> Self {
        let is_turned = before
            .is_some_and(|before| before.only.is_none() && columns.iter().rev().eq(before.columns));
        match columns {
            [_] => Entries::One(IndexBuilder::new(scratch)),
            [_, _] if is_turned => Entries::Turned(scratch.clone()),
            [_, _] => Entries::Two(IndexBuilder::new(scratch)),
            _ => Entries::Four(IndexBuilder::new(scratch)),
        }
    }
}

impl BulkTable {
    /// A table that the database has, and that is empty there. Records that have to be sorted are
    /// stored in `scratch`.
    pub fn new(
        database: &mut Database,
        roots: &Roots,
        declared: &'static Table,
        scratch: &Scratch,
    ) -> Result<Self, WriteError> {
        // The database may have only some of them.
        let made = || declared.indexes.iter().filter(|index| roots.of(index.name) != 0);
        let before = std::iter::once(None).chain(made().map(Some));
        let indexes = made().zip(before);
        let indexes = indexes.map(|(index, before)| BulkIndex {
            declared: index,
            root: roots.of(index.name),
            entries: Entries::new(index.columns, before, scratch),
        });
        let root = roots.of(declared.name);
        Ok(BulkTable {
            declared,
            table: match declared.order {
                Order::Rowid | Order::None => Builder::Rowid(TableBuilder::new(database, root)?),
                Order::Key => Builder::Key(ClusteredTableBuilder::new(database, root)?),
                Order::Any => Builder::Any(LateTableBuilder::new(scratch)),
            },
            root,
            indexes: indexes.collect(),
            rows: 0,
        })
    }

    /// Adds a row whose columns have names. Its first column is the rowid, which is a separate
    /// argument.
    #[inline]
    pub fn push_row<'v, R: Row<Value<'v>>>(
        &mut self,
        database: &mut Database,
        rowid: i64,
        row: R,
    ) -> Result<bool, WriteError> {
        self.push(database, rowid, row.cells().as_ref())
    }

    /// Adds a row. The first of `values` is NULL if it is the rowid's column. Returns whether it
    /// was added: a row that comes late to a table with a key has to be inserted.
    #[inline]
    fn push(
        &mut self,
        database: &mut Database,
        rowid: i64,
        values: &[Value<'_>],
    ) -> Result<bool, WriteError> {
        let record = values.get(usize::from(self.declared.rowid_is_last)..).unwrap_or_default();
        match &mut self.table {
            Builder::Rowid(table) => table.push(database, rowid, record)?,
            Builder::Any(table) => table.push(rowid, record)?,
            Builder::Key(table) => {
                if !table.push(database, values)? {
                    return Ok(false);
                }
            }
        }
        self.rows += 1;
        for index in &mut self.indexes {
            index.push(rowid, values)?;
        }
        Ok(true)
    }

    /// Adds a row of values. The first of them is the number of the row, or the second in a table
    /// with a key. Returns whether it was added.
    #[inline]
    pub fn push_values<'v>(
        &mut self,
        database: &mut Database,
        values: impl Iterator<Item = Value<'v>>,
    ) -> Result<bool, WriteError> {
        let mut row = [Value::Null; MOST_COLUMNS];
        for (place, value) in row.iter_mut().zip(values) {
            *place = value;
        }
        let row = row.get_mut(..self.declared.columns.len());
        let row = row.unwrap_or_default();
        let number = match self.declared.order {
            Order::Key => row.get(1).copied(),
            // The rowid is stored outside of the record.
            _ => row.first_mut().map(std::mem::take),
        };
        let number = match number {
            Some(Value::Integer(number)) => number,
            _ => 0,
        };
        self.push(database, number, row)
    }

    /// Writes the rest, and returns the indexes that are still empty. If many rows of a table wait
    /// for their time, SQLite makes these indexes afterwards, which is faster than changing their
    /// entries.
    pub fn finish(
        self,
        database: &mut Database,
        waiting: u64,
    ) -> Result<Vec<&'static str>, WriteError> {
        match self.table {
            Builder::Rowid(table) => table.finish(database)?,
            Builder::Key(table) => table.finish(database)?,
            Builder::Any(table) => table.write(database, self.root)?,
        }
        // Changing an entry takes about as long as making eight. An index of only some rows has no
        // column with a time.
        let are_late = waiting > self.rows / 8;
        let is_late = |index: &BulkIndex| are_late && index.declared.only.is_none();
        let (late, now): (Vec<_>, Vec<_>) = self.indexes.into_iter().partition(is_late);
        let mut now = now.into_iter().peekable();
        while let Some(index) = now.next() {
            match index.entries {
                Entries::One(entries) => entries.write(database, index.root)?,
                Entries::Four(entries) => entries.write(database, index.root)?,
                Entries::Two(entries) => match now.peek() {
                    Some(BulkIndex { root, entries: Entries::Turned(scratch), .. }) => {
                        let turned = TurnedIndex::new(scratch, *root);
                        entries.write_both(database, index.root, turned)?;
                    }
                    _ => entries.write(database, index.root)?,
                },
                Entries::Turned(_) => {}
            }
        }
        Ok(late.iter().map(|index| index.declared.name).collect())
    }
}

impl BulkIndex {
    #[inline]
    fn push(&mut self, rowid: i64, values: &[Value<'_>]) -> Result<(), WriteError> {
        let number = |column: usize| match values.get(column) {
            Some(Value::Integer(value)) => Some(*value),
            // The column of the rowid.
            _ if column == 0 => Some(rowid),
            _ => None,
        };
        if let Some(column) = self.declared.only
            && matches!(values.get(column), None | Some(Value::Null))
        {
            return Ok(());
        }
        match (&mut self.entries, self.declared.columns) {
            (Entries::One(entries), &[column, ..]) => entries.push([number(column)], rowid)?,
            (Entries::Two(entries), &[first, second, ..]) => {
                entries.push([number(first), number(second)], rowid)?;
            }
            (Entries::Four(entries), &[a, b, c, d]) => {
                entries.push([a, b, c, d].map(number), rowid)?;
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::MOST_COLUMNS;
    use timebase_schema::tables;

    #[test]
    fn what_is_declared_can_be_built() {
        for table in tables::ALL {
            assert!(table.columns.len() <= MOST_COLUMNS, "{}", table.name);
            for index in table.indexes {
                assert!([1, 2, 4].contains(&index.columns.len()), "{}", index.name);
            }
        }
    }
}
