//! The pages above the leaves.

use crate::btree::database::Database;
use crate::btree::error::Error;
use crate::btree::page::{POINTER, Page, PageKind, PageSize};

/// An interior page that cannot be one; SQLite's smallest page has room for four of the widest
/// children.
const NO_ROOM: Error = Error::Unsuitable("an entry has no room in its pages");

/// The length of a child's number.
const CHILD: usize = 4;

/// A child, and the separator to the next child: for a table the last rowid, for an index the entry
/// between them, as its cell has it. The last child of all needs no separator.
#[derive(Debug)]
struct Child {
    page: u32,
    separator: Box<[u8]>,
}

impl Child {
    fn room(&self) -> usize {
        POINTER + CHILD + self.separator.len()
    }
}

/// The largest size of a child: a key of eight columns and a rowid have at most 100 bytes.
const WIDEST: usize = 128;

/// The children whose parent has not been written yet.
#[derive(Debug, Default)]
struct Level {
    children: Vec<Child>,
    room: usize,
}

/// The interior pages of a table or an index. They are written as soon as the remaining children
/// are certainly enough for another page, because SQLite makes no page with a single child.
#[derive(Debug)]
pub(crate) struct Tree {
    levels: Vec<Level>,
    page: Page,
    cell: Vec<u8>,
    /// The bytes of a page that are for cells.
    capacity: usize,
}

impl Tree {
    pub fn new(kind: PageKind, page_size: PageSize) -> Self {
        Tree {
            levels: Vec::new(),
            page: Page::new(kind, page_size),
            cell: Vec::new(),
            capacity: page_size.get() - kind.header(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.levels.is_empty()
    }

    /// Adds a leaf after the others.
    pub fn add(
        &mut self,
        database: &mut Database,
        page: u32,
        separator: &[u8],
    ) -> Result<(), Error> {
        let child = Child { page, separator: separator.into() };
        self.add_to(0, database, child)
    }

    fn add_to(&mut self, level: usize, database: &mut Database, child: Child) -> Result<(), Error> {
        if level == self.levels.len() {
            self.levels.push(Level::default());
        }
        let Level { children, room } = &mut self.levels[level];
        *room += child.room();
        children.push(child);
        if *room > 2 * (self.capacity - WIDEST) {
            let children = self.first_page(level);
            let parent = self.write(database, children)?;
            self.add_to(level + 1, database, parent)?;
        }
        Ok(())
    }

    /// Takes as many children of a level as fit into a page.
    fn first_page(&mut self, level: usize) -> Vec<Child> {
        let Level { children, room } = &mut self.levels[level];
        let mut taken = 0;
        let fits = |child: &&Child| {
            taken += child.room();
            taken <= self.capacity
        };
        let count = children.iter().take_while(fits).count();
        let taken: Vec<Child> = children.drain(..count).collect();
        *room -= taken.iter().map(Child::room).sum::<usize>();
        taken
    }

    /// Fills the page with children; returns the rightmost child, which has no cell.
    fn fill(&mut self, children: Vec<Child>) -> Result<Child, Error> {
        self.page.clear();
        let mut children = children.into_iter();
        let last = children.next_back();
        for child in children {
            self.cell.clear();
            self.cell.extend_from_slice(&child.page.to_be_bytes());
            self.cell.extend_from_slice(&child.separator);
            if !self.page.push(&self.cell) {
                return Err(NO_ROOM);
            }
        }
        last.ok_or(NO_ROOM)
    }

    /// Writes a page, and returns the data for its parent.
    fn write(&mut self, database: &mut Database, children: Vec<Child>) -> Result<Child, Error> {
        let last = self.fill(children)?;
        let page = database.append(self.page.finished(Some(last.page)))?;
        Ok(Child { page, separator: last.separator })
    }

    /// Writes the rest, with the topmost page as `root`.
    pub fn finish(mut self, database: &mut Database, root: u32) -> Result<(), Error> {
        let mut level = 0;
        while level < self.levels.len() {
            let mut children = std::mem::take(&mut self.levels[level].children);
            let topmost = level + 1 == self.levels.len();
            if self.levels[level].room <= self.capacity {
                if topmost {
                    let last = self.fill(children)?;
                    database.set_root(root, self.page.finished(Some(last.page)));
                    return Ok(());
                }
                let parent = self.write(database, children)?;
                self.add_to(level + 1, database, parent)?;
            } else {
                let half = self.levels[level].room / 2;
                let mut taken = 0;
                let is_left = |child: &&Child| {
                    taken += child.room();
                    taken <= half
                };
                let right = children.split_off(children.iter().take_while(is_left).count());
                for half in [children, right] {
                    let parent = self.write(database, half)?;
                    self.add_to(level + 1, database, parent)?;
                }
            }
            level += 1;
        }
        Ok(())
    }
}
