//! The keys of clocks and of their files in the tables.

use timebase_resolver::{Clock, ClockId, FileTag, MachineId, SeqId};

/// The sort key of the tables of clocks.
pub(crate) fn table_order(clock: &Clock) -> (MachineId, ClockId, SeqId, i64) {
    (clock.machine, clock.id, clock.seq, file_key(clock.file))
}

/// The file that owns a clock, as a key of the tables: -1 if all files of the machine share it.
pub(crate) fn file_key(file: FileTag) -> i64 {
    match file {
        FileTag::SHARED => -1,
        own => own.id.into(),
    }
}

/// The file that owns a clock, as users see it; `None` if all files of the machine share it.
pub(crate) fn file_id(file: FileTag) -> Option<u32> {
    (file != FileTag::SHARED).then_some(file.id)
}
