//! How the tables call clocks and the files that they are of.

use timebase_resolver::{Clock, ClockId, FileTag, MachineId, SeqId};

/// What the tables of clocks are sorted by.
pub(crate) fn table_order(clock: &Clock) -> (MachineId, ClockId, SeqId, i64) {
    (clock.machine, clock.id, clock.seq, file_key(clock.file))
}

/// The file whose own a clock is, in the tables' keys: -1 if it is the machine's.
pub(crate) fn file_key(file: FileTag) -> i64 {
    match file {
        FileTag::SHARED => -1,
        own => own.id.into(),
    }
}

/// The file whose own a clock is, as users see it; `None` if it is the machine's.
pub(crate) fn file_id(file: FileTag) -> Option<u32> {
    (file != FileTag::SHARED).then_some(file.id)
}
