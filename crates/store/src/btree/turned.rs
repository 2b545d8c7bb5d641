//! An index of two columns, from the sorted entries of the index of the same columns in the other
//! order.

use crate::sort::{Scratch, Sorter};

use crate::btree::database::Database;
use crate::btree::entry::Entry;
use crate::btree::error::Error;
use crate::btree::leaves::IndexLeaves;
use crate::btree::page::{Page, PageKind};
use crate::btree::record::Cell;

/// The values of the first column from 0 on that fill leaves of their own.
const GROUPS: usize = 256;

/// The index on (b, a), from the entries of the index on (a, b) in their order.
///
/// The entries of each b arrive in the order that they have here. So a b that is a small number
/// fills leaves of its own, which are written when they are full: nothing has to be sorted. Between
/// two leaves there must be an entry, so the first two entries of each b, and those after its last
/// full leaf, are *pieces*, and so is each full leaf with the entry after it. Pieces are sorted;
/// the entries of all other b are pieces, too.
#[derive(Debug)]
pub struct TurnedIndex {
    root: u32,
    groups: Vec<Option<Group>>,
    /// Their key is the entry and its rowid; instead of a rowid they have the page of the leaf
    /// before the entry, or [`NO_PAGE`].
    pieces: Sorter<Entry<3>, ()>,
    cell: Cell,
}

/// No leaf has this number: it is the page of the schema.
const NO_PAGE: i64 = 1;

impl TurnedIndex {
    /// Begins an index whose root is the page `root`. Pieces are in a temporary file in this
    /// directory until they are part of the database.
    pub fn new(scratch: impl Into<Scratch>, root: u32) -> Self {
        TurnedIndex { root, groups: Vec::new(), pieces: Sorter::new(scratch), cell: Cell::new() }
    }

    /// Adds the next entry of the other index.
    #[inline]
    pub(super) fn push(&mut self, database: &mut Database, entry: &Entry<2>) -> Result<(), Error> {
        let entry = entry.turned();
        let Some(number) = group(&entry) else {
            return Ok(self.pieces.push(piece(&entry, NO_PAGE), &())?);
        };
        if self.groups.len() <= number {
            self.groups.resize_with(number + 1, || None);
        }
        let group = self.groups[number].get_or_insert_with(|| Group::new(database));
        if group.begun < 2 {
            group.begun += 1;
            return Ok(self.pieces.push(piece(&entry, NO_PAGE), &())?);
        }
        entry.make(&mut self.cell, true);
        if group.is_full {
            // An entry follows, so the last one can be the one after the leaf.
            let page = database.append(group.leaf.finished(None))?;
            if let Some(last) = group.entries.last() {
                self.pieces.push(piece(last, page.into()), &())?;
            }
            group.clear();
        }
        group.is_full = !group.leaf.push(self.cell.bytes());
        group.entries.push(entry);
        Ok(())
    }

    /// Fills the index.
    pub(super) fn finish(mut self, database: &mut Database) -> Result<(), Error> {
        for group in self.groups.drain(..).flatten() {
            for entry in &group.entries {
                self.pieces.push(piece(entry, NO_PAGE), &())?;
            }
        }
        let mut leaves = IndexLeaves::new(database, self.root, true)?;
        let mut before: Option<Entry<2>> = None;
        self.pieces.finish(|piece, ()| {
            let (entry, page) = parts(piece);
            match page {
                None => match before.replace(entry) {
                    Some(before) => leaves.push(database, &before),
                    None => Ok(()),
                },
                Some(page) => {
                    if let Some(before) = before.take() {
                        leaves.cut(database, &before)?;
                    }
                    leaves.adopt(database, page, &entry)
                }
            }
        })?;
        if let Some(last) = before {
            leaves.push(database, &last)?;
        }
        leaves.finish(database)
    }
}

/// The entries of one value of the first column.
#[derive(Debug)]
struct Group {
    /// The number of its entries so far, up to two.
    begun: u8,
    leaf: Page,
    /// Whether the last entry had no room in the leaf.
    is_full: bool,
    /// Those in the leaf, and the one after a full leaf.
    entries: Vec<Entry<2>>,
}

impl Group {
    fn new(database: &Database) -> Self {
        Group {
            begun: 0,
            leaf: Page::new(PageKind::IndexLeaf, database.page_size()),
            is_full: false,
            entries: Vec::new(),
        }
    }

    fn clear(&mut self) {
        self.leaf.clear();
        self.entries.clear();
    }
}

/// The number of the group of an entry.
#[inline]
fn group(entry: &Entry<2>) -> Option<usize> {
    let number = usize::try_from(entry.key[0]).ok()?;
    (number < GROUPS).then_some(number)
}

const ROWID_IS_PRESENT: u8 = 4;

fn piece(entry: &Entry<2>, page: i64) -> Entry<3> {
    let [first, second] = entry.key;
    Entry {
        key: [first, second, entry.rowid],
        present: entry.present | ROWID_IS_PRESENT,
        rowid: page,
    }
}

/// The entry, and the leaf before it.
fn parts(piece: &Entry<3>) -> (Entry<2>, Option<u32>) {
    let [first, second, rowid] = piece.key;
    let entry = Entry { key: [first, second], present: piece.present & !ROWID_IS_PRESENT, rowid };
    let page = Some(piece.rowid).filter(|&page| page != NO_PAGE);
    (entry, page.and_then(|page| u32::try_from(page).ok()))
}
