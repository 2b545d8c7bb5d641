//! The counters of the recorder's buffers and writers, by the fields that they are in (rules MD2 to MD4).

use timebase_schema::fields::{
    trace_stats as stats, trace_stats_buffer_stats as buffer, trace_stats_filter_stats as filter,
};

use crate::output::Counter;
use crate::place::CAUSES;
use crate::summary::LossKind;

/// Fields of the whole service, and their counters.
pub(super) static SERVICE: [(u32, Counter); 12] = [
    (
        stats::PRODUCERS_CONNECTED,
        Counter::info("traced_producers_connected", "connected producers").recorded(),
    ),
    (
        stats::PRODUCERS_SEEN,
        Counter::info("traced_producers_seen", "producers since the start of the recorder")
            .recorded(),
    ),
    (
        stats::DATA_SOURCES_REGISTERED,
        Counter::info("traced_data_sources_registered", "registered data sources").recorded(),
    ),
    (
        stats::DATA_SOURCES_SEEN,
        Counter::info("traced_data_sources_seen", "data sources since the start of the recorder")
            .recorded(),
    ),
    (
        stats::TRACING_SESSIONS,
        Counter::info("traced_tracing_sessions", "recordings at the same time").recorded(),
    ),
    (
        stats::TOTAL_BUFFERS,
        Counter::info("traced_total_buffers", "buffers of all recordings at the same time")
            .recorded(),
    ),
    (
        stats::CHUNKS_DISCARDED,
        Counter::info("traced_chunks_discarded", "chunks for a buffer that does not exist")
            .recorded(),
    ),
    (
        stats::PATCHES_DISCARDED,
        Counter::info(
            "traced_patches_discarded",
            "completions of packets for a buffer that does not exist",
        )
        .recorded(),
    ),
    (
        stats::INVALID_PACKETS,
        Counter::data_loss("traced_invalid_packets", "packets that the recorder refused")
            .recorded(),
    ),
    (
        stats::FLUSHES_REQUESTED,
        Counter::info("traced_flushes_requested", "requests to producers to hand over their data")
            .recorded(),
    ),
    (
        stats::FLUSHES_SUCCEEDED,
        Counter::info("traced_flushes_succeeded", "flushes that succeeded").recorded(),
    ),
    (
        stats::FLUSHES_FAILED,
        Counter::data_loss("traced_flushes_failed", "flushes that failed").recorded(),
    ),
];

/// Those of the service that are losses, and whose.
pub(super) const SERVICE_LOSSES: [(u32, LossKind); 4] = [
    (stats::CHUNKS_DISCARDED, LossKind::Buffer),
    (stats::PATCHES_DISCARDED, LossKind::Buffer),
    (stats::INVALID_PACKETS, LossKind::Writer),
    (stats::FLUSHES_FAILED, LossKind::Writer),
];

/// The number of last flushes with each `final_flush_outcome`.
pub(super) static FINAL_FLUSH: [(u32, Counter); 2] = [
    (1, Counter::info("traced_final_flush_succeeded", "last flushes that succeeded").recorded()),
    (2, Counter::data_loss("traced_final_flush_failed", "last flushes that failed").recorded()),
];

/// Fields of `FilterStats`.
pub(super) static FILTER: [(u32, Counter); 5] = [
    (
        filter::INPUT_PACKETS,
        Counter::info(
            "filter_input_packets",
            "packets before the filter of the trace (TraceConfig.trace_filter)",
        )
        .recorded(),
    ),
    (
        filter::INPUT_BYTES,
        Counter::info("filter_input_bytes", "bytes before the filter of the trace").recorded(),
    ),
    (
        filter::OUTPUT_BYTES,
        Counter::info("filter_output_bytes", "bytes after the filter of the trace").recorded(),
    ),
    (
        filter::ERRORS,
        Counter::error("filter_errors", "packets that the filter of the trace could not read")
            .recorded(),
    ),
    (
        filter::TIME_TAKEN_NS,
        Counter::info("filter_time_taken_ns", "how long the filter of the trace took, in ns")
            .recorded(),
    ),
];

/// `bytes_discarded_per_buffer`.
pub(super) static FILTERED_OUT: Counter =
    Counter::info("traced_buf_bytes_filtered_out", "in buffer idx: bytes that the filter left out")
        .recorded();

/// Fields of `BufferStats`.
pub(super) static BUFFER: [(u32, Counter); 20] = [
    (
        buffer::BYTES_WRITTEN,
        Counter::info("traced_buf_bytes_written", "in buffer idx: bytes written").recorded(),
    ),
    (
        buffer::CHUNKS_WRITTEN,
        Counter::info("traced_buf_chunks_written", "in buffer idx: chunks written").recorded(),
    ),
    (
        buffer::CHUNKS_OVERWRITTEN,
        Counter::info(
            "traced_buf_chunks_overwritten",
            "in buffer idx: chunks overwritten before the recorder read them",
        )
        .recorded(),
    ),
    (
        buffer::WRITE_WRAP_COUNT,
        Counter::info("traced_buf_write_wrap_count", "in buffer idx: how often the buffer wrapped")
            .recorded(),
    ),
    (
        buffer::PATCHES_SUCCEEDED,
        Counter::info("traced_buf_patches_succeeded", "in buffer idx: packets completed later")
            .recorded(),
    ),
    (
        buffer::PATCHES_FAILED,
        Counter::data_loss(
            "traced_buf_patches_failed",
            "in buffer idx: packets that could not be completed",
        )
        .recorded(),
    ),
    (
        buffer::READAHEADS_SUCCEEDED,
        Counter::info(
            "traced_buf_readaheads_succeeded",
            "in buffer idx: packets of several chunks that the recorder read \
             completely",
        )
        .recorded(),
    ),
    (
        buffer::READAHEADS_FAILED,
        Counter::info(
            "traced_buf_readaheads_failed",
            "in buffer idx: packets of several chunks that lack one; a few are \
             usual",
        )
        .recorded(),
    ),
    (
        buffer::ABI_VIOLATIONS,
        Counter::data_loss(
            "traced_buf_abi_violations",
            "in buffer idx: chunks that a producer wrote wrongly",
        )
        .recorded(),
    ),
    (
        buffer::CHUNKS_REWRITTEN,
        Counter::info(
            "traced_buf_chunks_rewritten",
            "in buffer idx: chunks written again, with more packets",
        )
        .recorded(),
    ),
    (
        buffer::CHUNKS_COMMITTED_OUT_OF_ORDER,
        Counter::info(
            "traced_buf_chunks_committed_out_of_order",
            "in buffer idx: chunks that arrived out of order",
        )
        .recorded(),
    ),
    (
        buffer::BUFFER_SIZE,
        Counter::info("traced_buf_buffer_size", "in buffer idx: its size in bytes").recorded(),
    ),
    (
        buffer::BYTES_OVERWRITTEN,
        Counter::info(
            "traced_buf_bytes_overwritten",
            "in buffer idx: bytes overwritten before the recorder read them",
        )
        .recorded(),
    ),
    (
        buffer::BYTES_READ,
        Counter::info("traced_buf_bytes_read", "in buffer idx: bytes read").recorded(),
    ),
    (
        buffer::PADDING_BYTES_WRITTEN,
        Counter::info("traced_buf_padding_bytes_written", "in buffer idx: bytes that fill gaps")
            .recorded(),
    ),
    (
        buffer::PADDING_BYTES_CLEARED,
        Counter::info(
            "traced_buf_padding_bytes_cleared",
            "in buffer idx: bytes that fill gaps and were overwritten",
        )
        .recorded(),
    ),
    (
        buffer::CHUNKS_READ,
        Counter::info("traced_buf_chunks_read", "in buffer idx: chunks read").recorded(),
    ),
    (
        buffer::CHUNKS_DISCARDED,
        Counter::info(
            "traced_buf_chunks_discarded",
            "in buffer idx: chunks discarded because the buffer was full and \
             may not overwrite others",
        )
        .recorded(),
    ),
    (
        buffer::TRACE_WRITER_PACKET_LOSS,
        Counter::data_loss(
            "traced_buf_trace_writer_packet_loss",
            "in buffer idx: how often a producer had no room in its shared \
             memory",
        )
        .recorded(),
    ),
    (
        buffer::CHUNKS_RELOCATED,
        Counter::info(
            "traced_buf_chunks_relocated",
            "in buffer idx: chunks that moved when a producer wrote them again",
        )
        .recorded(),
    ),
];

/// Those of a buffer that are losses.
pub(super) const BUFFER_LOSSES: [u32; 6] = [
    buffer::CHUNKS_OVERWRITTEN,
    buffer::PATCHES_FAILED,
    buffer::ABI_VIOLATIONS,
    buffer::CHUNKS_COMMITTED_OUT_OF_ORDER,
    buffer::CHUNKS_DISCARDED,
    buffer::TRACE_WRITER_PACKET_LOSS,
];

/// The losses of the writers into a buffer, by their packets.
pub(super) static SEQUENCE_PACKET_LOSS: Counter = Counter::data_loss(
    "traced_buf_sequence_packet_loss",
    "in buffer idx: packets of its writers before which others were \
     lost",
)
.drops_nothing();
pub(super) static SEQUENCES_DROPPED: Counter = Counter::data_loss(
    "traced_buf_incremental_sequences_dropped",
    "in buffer idx: writers whose packets all rely on lost state",
)
.drops_nothing();

/// For which causes, by the bits of `previous_packet_dropped` from the second on.
pub(super) static CAUSE: [Counter; CAUSES] = [
    Counter::data_loss(
        "traced_buf_data_loss_read_gap",
        "losses of writers into buffer idx because a chunk was missing when \
         it was read",
    )
    .recorded(),
    Counter::data_loss(
        "traced_buf_data_loss_chunk_corrupted",
        "losses of writers into buffer idx because a chunk was corrupt",
    )
    .recorded(),
    Counter::data_loss(
        "traced_buf_data_loss_orphan_continuation",
        "losses of writers into buffer idx because the start of a packet \
         was missing",
    )
    .recorded(),
    Counter::data_loss(
        "traced_buf_data_loss_reassembly_gap",
        "losses of writers into buffer idx because the middle of a packet \
         was missing",
    )
    .recorded(),
    Counter::data_loss(
        "traced_buf_data_loss_reassembly_broken_chain",
        "losses of writers into buffer idx because the parts of a packet \
         did not fit",
    )
    .recorded(),
    Counter::data_loss(
        "traced_buf_data_loss_overwrite",
        "losses of writers into buffer idx because a ring buffer wrapped \
         before it was read",
    )
    .recorded(),
    Counter::data_loss(
        "traced_buf_data_loss_writer_abort",
        "losses of writers into buffer idx because the writer abandoned a \
         packet",
    )
    .recorded(),
    Counter::data_loss(
        "traced_buf_data_loss_smb_full",
        "losses of writers into buffer idx because shared memory was full",
    )
    .recorded(),
];
