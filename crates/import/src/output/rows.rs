//! Collects new rows in batches, and hands over each full batch to be written.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender};

use rustc_hash::FxHashMap;
use timebase_schema::{Row, Table, tables};
use timebase_trace::Monitor;

use crate::subjects::{StateOf, Wanted};

use super::batch::{Batch, Cell, Complete, PacketRow};
use super::doubt::LateDoubt;

/// The channels for full batches, and for empty ones that come back.
pub(crate) struct Outlet<'a> {
    pub full: SyncSender<Batch>,
    pub emptied: Receiver<Batch>,
    pub monitor: &'a Monitor,
}

/// A switch of a CPU: whether it tells the thread that ran before, and its time. The last one that tells it counts.
pub(crate) type LastSwitch = (bool, i64);

/// Takes rows. It takes them even if nobody is left to write them, or if the user wants no more.
/// They are then dropped, and [`Rows::stopped`] tells the code that goes through the trace.
pub(crate) struct Rows<'a> {
    batch: Batch,
    outlet: Outlet<'a>,
    /// The number of rows of each table.
    counts: Vec<i64>,
    wanted: Wanted,
    stopped: bool,
    /// The file and the machine of the next messages in the log.
    here: (Option<u32>, Option<u32>),
    /// The last switch of each CPU before a window, if only the state at the begin of the window is wanted.
    switches: FxHashMap<u32, LastSwitch>,
}

impl<'a> Rows<'a> {
    pub fn new(outlet: Outlet<'a>, wanted: Wanted) -> Self {
        Rows {
            batch: Batch::default(),
            outlet,
            counts: vec![0; tables::ALL.len()],
            wanted,
            stopped: false,
            here: (None, None),
            switches: FxHashMap::default(),
        }
    }

    /// The window whose state at its begin is all that is wanted.
    #[inline]
    pub fn state_of(&self) -> Option<StateOf> {
        self.wanted.state_of()
    }

    /// Notes a switch of a CPU before the window. Many make no row of `sched` (rules O5, O6, Q3).
    pub fn switch_before(&mut self, ucpu: u32, switch: LastSwitch) {
        let last = self.switches.entry(ucpu).or_insert(switch);
        *last = switch.max(*last);
    }

    /// The last switches of CPUs before the window.
    pub fn take_switches(&mut self) -> FxHashMap<u32, LastSwitch> {
        std::mem::take(&mut self.switches)
    }

    /// The next messages are about this file and this machine, or about the whole trace without
    /// them.
    #[inline]
    pub fn at(&mut self, file: Option<u32>, machine: Option<u32>) {
        self.here = (file, machine);
    }

    /// The file and the machine of the next messages.
    pub fn here(&self) -> (Option<u32>, Option<u32>) {
        self.here
    }

    /// Adds a row of any table except `packet_record`, if the table is wanted. Its texts and bytes
    /// are the ones that were kept since the last row.
    #[inline]
    pub fn push<R: Row<Cell>>(&mut self, row: R) {
        self.push_like(R::TABLE, row);
    }

    /// Adds a row to a table with the columns of another table.
    #[inline]
    pub fn push_like<R: Row<Cell>>(&mut self, table: &'static Table, row: R) {
        debug_assert_eq!(table.columns, R::TABLE.columns);
        self.counts[table.number] += 1;
        if self.wanted.has(table) {
            self.batch.push(table, row.cells().as_ref());
        }
        self.make_room();
    }

    /// Adds a row of values in the order of the columns.
    pub fn push_cells(&mut self, table: &'static Table, cells: &[Cell]) {
        debug_assert_eq!(table.columns.len(), cells.len());
        self.counts[table.number] += 1;
        if self.wanted.has(table) {
            self.batch.push(table, cells);
        }
        self.make_room();
    }

    /// Adds a set of arguments in its compact form. Texts whose number is in it are in `texts` unless they were before.
    pub fn arg_set(&mut self, id: i64, args: &[u8], texts: &[Arc<str>]) {
        let table = &tables::arg_set::TABLE;
        self.counts[table.number] += 1;
        if self.wanted.has(table) {
            self.batch.push_set(id, args, texts);
        }
        self.make_room();
    }

    /// Adds a packet, with its bytes if they are kept.
    #[inline]
    pub fn packet(&mut self, mut row: PacketRow, data: Option<&[u8]>) {
        let start = self.batch.bytes.len();
        self.batch.bytes.extend_from_slice(data.unwrap_or_default());
        row.data = start..self.batch.bytes.len();
        self.batch.packets.push(row);
        let packets = &mut self.counts[tables::packet_record::TABLE.number];
        *packets += 1;
        // This is set at once, because a slow pipe takes long to fill a batch.
        let packets = packets.unsigned_abs();
        self.outlet.monitor.packets.store(packets, Ordering::Relaxed);
        self.make_room();
    }

    /// Counts a packet that gets no row.
    #[inline]
    pub fn pass_over(&mut self) {
        let monitor = self.outlet.monitor;
        let packets = &mut self.counts[tables::packet_record::TABLE.number];
        *packets += 1;
        let packets = packets.unsigned_abs();
        monitor.packets.store(packets, Ordering::Relaxed);
        self.stopped |= monitor.cancel.load(Ordering::Relaxed);
    }

    /// Keeps a text for the next row.
    pub fn text(&mut self, text: &str) -> Cell {
        self.batch.text(text)
    }

    /// Keeps a text for the next row, if there is a text.
    pub fn optional_text(&mut self, text: Option<&str>) -> Cell {
        text.map_or(Cell::Null, |text| self.batch.text(text))
    }

    /// Keeps bytes for the next row.
    pub fn blob(&mut self, bytes: &[u8]) -> Cell {
        self.batch.blob(bytes)
    }

    /// Adds a doubt about a row of `sched_record` that was pushed before.
    pub fn doubt(&mut self, doubt: LateDoubt) {
        self.batch.doubts.push(doubt);
    }

    /// Gives a slice another number, at the end of the import.
    pub fn renumber(&mut self, old: i64, new: i64) {
        if self.wanted.has(&tables::slice_record::TABLE) {
            self.batch.renumbered.push((old, new));
        }
    }

    /// Tells that equal rectangles or transforms may have several rows (rule WS16).
    pub fn repeats(&mut self) {
        self.batch.has_repeats = true;
    }

    /// Counts the rows of `thread_state` that a row of `sched_record` stands for, or a row of
    /// `thread_state_record`.
    #[inline]
    pub fn count_states(&mut self, rows: u64, doubtful: u64) {
        if self.wanted.has(&tables::sched_record::TABLE) {
            self.batch.tallies.states.rows += rows;
            self.batch.tallies.states.doubtful += doubtful;
        }
    }

    /// Counts a slice.
    #[inline]
    pub fn count_slice(&mut self, is_doubtful: bool) {
        if self.wanted.has(&tables::slice_record::TABLE) {
            self.batch.tallies.slices.count(is_doubtful);
        }
    }

    /// Counts a value of a counter.
    #[inline]
    pub fn count_value(&mut self, is_doubtful: bool) {
        if self.wanted.has(&tables::counter_record::TABLE) {
            self.batch.tallies.values.count(is_doubtful);
        }
    }

    /// Tells that these tables get no more rows, so that their indexes can be written while other
    /// tables still get rows. `waiting` has the number of rows that wait for their time, by the
    /// table's number.
    pub fn complete(&mut self, tables: &[&'static Table], waiting: &[u64]) {
        let complete = tables.iter().map(|&table| Complete {
            table,
            waiting: waiting.get(table.number).copied().unwrap_or(0),
        });
        self.batch.complete.extend(complete);
        self.hand_over();
    }

    /// Whether a table gets rows.
    pub fn wants(&self, table: &Table) -> bool {
        self.wanted.has(table)
    }

    /// The number of rows of a table.
    #[inline]
    pub fn count(&self, table: &Table) -> i64 {
        self.counts[table.number]
    }

    /// The number of rows of each table, by the table's number.
    pub fn counts(self) -> Vec<i64> {
        self.counts
    }

    /// Stops: nobody wants more rows.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// Whether nobody wants more rows.
    #[inline]
    pub fn stopped(&self) -> bool {
        self.stopped
    }

    #[inline]
    fn make_room(&mut self) {
        if self.batch.is_full() {
            self.hand_over();
        }
    }

    /// Hands over the current batch.
    pub fn hand_over(&mut self) {
        let Outlet { full, emptied, monitor } = &self.outlet;
        self.stopped |= monitor.cancel.load(Ordering::Relaxed);
        if !self.stopped {
            let next = emptied.try_recv().unwrap_or_default();
            let batch = std::mem::replace(&mut self.batch, next);
            self.stopped = full.send(batch).is_err();
        }
        if self.stopped {
            self.batch.clear();
        }
    }
}
