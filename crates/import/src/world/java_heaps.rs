//! The dumps of Java heaps: rows of `heap_graph` (rules HG10, RT9).

use rustc_hash::FxHashMap;
use timebase_schema::tables::heap_graph;

use crate::output::{Cell, Rows};

/// A dump of the Java heap of a process.
#[derive(Debug)]
pub(crate) struct JavaHeap {
    upid: u32,
    ts: i64,
    dump_reason: Option<&'static str>,
    pub heap_size: Option<i64>,
    /// Whether packets of the dump are missing.
    pub is_truncated: bool,
}

/// All dumps, in the order in which they became known.
#[derive(Debug, Default)]
pub(crate) struct JavaHeaps {
    all: Vec<JavaHeap>,
    /// The first dump of a process and a time.
    first: FxHashMap<(u32, i64), usize>,
}

impl JavaHeaps {
    /// The dump of a process and a time, which may be new.
    pub fn dump(&mut self, upid: u32, ts: i64) -> &mut JavaHeap {
        let place = match self.first.get(&(upid, ts)) {
            Some(&place) => place,
            None => self.add(upid, ts, None),
        };
        &mut self.all[place]
    }

    /// Adds a dump, even if the process has another one at that time. Returns its row.
    pub fn add(&mut self, upid: u32, ts: i64, dump_reason: Option<&'static str>) -> usize {
        let place = self.all.len();
        self.first.entry((upid, ts)).or_insert(place);
        self.all.push(JavaHeap { upid, ts, dump_reason, heap_size: None, is_truncated: false });
        place
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
                heap_size: Cell::or_null(dump.heap_size),
                truncated: Cell::from(dump.is_truncated),
            });
        }
    }
}
