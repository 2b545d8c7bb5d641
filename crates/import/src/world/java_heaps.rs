//! The dumps of Java heaps: rows of `heap_graph` (rule RT9).

use timebase_schema::tables::heap_graph;

use crate::output::{Cell, Rows};

/// A dump of the Java heap of a process.
#[derive(Debug)]
pub(crate) struct JavaHeap {
    upid: u32,
    ts: i64,
    dump_reason: Option<&'static str>,
}

/// All dumps, in the order in which they became known.
#[derive(Debug, Default)]
pub(crate) struct JavaHeaps {
    all: Vec<JavaHeap>,
}

impl JavaHeaps {
    /// Adds a dump, even if the process has another one at that time. Returns its row.
    pub fn add(&mut self, upid: u32, ts: i64, dump_reason: Option<&'static str>) -> i64 {
        let place = self.all.len();
        self.all.push(JavaHeap { upid, ts, dump_reason });
        place as i64
    }

    /// Writes the rows.
    pub fn end(self, rows: &mut Rows<'_>) {
        for (id, dump) in (0i64..).zip(self.all) {
            let dump_reason = rows.optional_text(dump.dump_reason);
            rows.push(heap_graph::Row {
                id: Cell::from(id),
                ts: Cell::from(dump.ts),
                upid: Cell::from(dump.upid),
                dump_reason,
                heap_size: Cell::Null,
                truncated: Cell::from(false),
            });
        }
    }
}
