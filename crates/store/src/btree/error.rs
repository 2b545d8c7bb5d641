//! The errors of this module.

use std::io;

/// The reason why a table or an index cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Reading or writing a file failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// No page has this number of bytes.
    #[error("a page has a power of two from 512 to 65536 bytes, not {0}")]
    PageSize(u32),
    /// The file is not a database to which pages can be appended.
    #[error("pages cannot be appended to this file: {0}")]
    Unsuitable(&'static str),
    /// The root page does not belong to an empty table or index.
    #[error("page {root} is not the root of an empty table or index")]
    NotEmpty {
        /// Its number.
        root: u32,
    },
    /// Rows must come in the order of their rowids.
    #[error("row {rowid} does not come after the one before it")]
    Order {
        /// The rowid that is out of order.
        rowid: i64,
    },
    /// Rows must come in the order of their keys.
    #[error("a row does not come after the one before it")]
    KeyOrder,
    /// A row has at most about 100 columns, and less than 2 GiB.
    #[error("row {rowid} is too wide")]
    TooWide {
        /// The rowid of that row.
        rowid: i64,
    },
}
