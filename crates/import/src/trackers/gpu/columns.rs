//! The columns of `gpu_slice` in addition to those of `slice`.

use timebase_schema::tables::gpu_slice_record;

use crate::output::Cell;
use crate::world::SliceId;

/// The row of a slice without any of these columns.
pub(super) fn none(slice: SliceId) -> gpu_slice_record::Row<Cell> {
    gpu_slice_record::Row {
        id: Cell::from(slice.0),
        context_id: Cell::Null,
        render_target: Cell::Null,
        render_target_name: Cell::Null,
        render_pass: Cell::Null,
        render_pass_name: Cell::Null,
        command_buffer: Cell::Null,
        command_buffer_name: Cell::Null,
        submission_id: Cell::Null,
        hw_queue_id: Cell::Null,
        upid: Cell::Null,
        render_subpasses: Cell::Null,
        render_stage_category: Cell::Null,
    }
}
