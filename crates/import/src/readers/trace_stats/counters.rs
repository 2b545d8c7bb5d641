//! The counters of the recorder's buffers and writers, by the fields that they are in (rules MD2 to MD4).

use super::field;
use crate::output::Counter;
use crate::place::CAUSES;
use crate::summary::LossKind;

/// Fields of the whole service, and their counters.
pub(super) static SERVICE: [(u32, Counter); 12] = [
    (2, Counter::info("traced_producers_connected", "connected producers").recorded()),
    (
        3,
        Counter::info("traced_producers_seen", "producers since the start of the recorder")
            .recorded(),
    ),
    (4, Counter::info("traced_data_sources_registered", "registered data sources").recorded()),
    (
        5,
        Counter::info("traced_data_sources_seen", "data sources since the start of the recorder")
            .recorded(),
    ),
    (6, Counter::info("traced_tracing_sessions", "recordings at the same time").recorded()),
    (
        7,
        Counter::info("traced_total_buffers", "buffers of all recordings at the same time")
            .recorded(),
    ),
    (
        field::CHUNKS_DISCARDED,
        Counter::info("traced_chunks_discarded", "chunks for a buffer that does not exist")
            .recorded(),
    ),
    (
        field::PATCHES_DISCARDED,
        Counter::info(
            "traced_patches_discarded",
            "completions of packets for a buffer that does not exist",
        )
        .recorded(),
    ),
    (
        field::INVALID_PACKETS,
        Counter::data_loss("traced_invalid_packets", "packets that the recorder refused")
            .recorded(),
    ),
    (
        12,
        Counter::info("traced_flushes_requested", "requests to producers to hand over their data")
            .recorded(),
    ),
    (13, Counter::info("traced_flushes_succeeded", "flushes that succeeded").recorded()),
    (
        field::FLUSHES_FAILED,
        Counter::data_loss("traced_flushes_failed", "flushes that failed").recorded(),
    ),
];

/// Those of the service that are losses, and whose.
pub(super) const SERVICE_LOSSES: [(u32, LossKind); 4] = [
    (field::CHUNKS_DISCARDED, LossKind::Buffer),
    (field::PATCHES_DISCARDED, LossKind::Buffer),
    (field::INVALID_PACKETS, LossKind::Writer),
    (field::FLUSHES_FAILED, LossKind::Writer),
];

/// What became of the last flush, by `final_flush_outcome`: how often.
pub(super) static FINAL_FLUSH: [(u32, Counter); 2] = [
    (1, Counter::info("traced_final_flush_succeeded", "last flushes that succeeded").recorded()),
    (2, Counter::data_loss("traced_final_flush_failed", "last flushes that failed").recorded()),
];

/// Fields of `FilterStats`.
pub(super) static FILTER: [(u32, Counter); 5] = [
    (
        1,
        Counter::info(
            "filter_input_packets",
            "packets before the filter of the trace (TraceConfig.trace_filter)",
        )
        .recorded(),
    ),
    (2, Counter::info("filter_input_bytes", "bytes before the filter of the trace").recorded()),
    (3, Counter::info("filter_output_bytes", "bytes after the filter of the trace").recorded()),
    (
        field::FILTER_ERRORS,
        Counter::error("filter_errors", "packets that the filter of the trace could not read")
            .recorded(),
    ),
    (
        5,
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
    (1, Counter::info("traced_buf_bytes_written", "in buffer idx: bytes written").recorded()),
    (2, Counter::info("traced_buf_chunks_written", "in buffer idx: chunks written").recorded()),
    (
        field::CHUNKS_OVERWRITTEN,
        Counter::info(
            "traced_buf_chunks_overwritten",
            "in buffer idx: chunks overwritten before the recorder read them",
        )
        .recorded(),
    ),
    (
        4,
        Counter::info("traced_buf_write_wrap_count", "in buffer idx: how often the buffer wrapped")
            .recorded(),
    ),
    (
        5,
        Counter::info("traced_buf_patches_succeeded", "in buffer idx: packets completed later")
            .recorded(),
    ),
    (
        6,
        Counter::data_loss(
            "traced_buf_patches_failed",
            "in buffer idx: packets that could not be completed",
        )
        .recorded(),
    ),
    (
        7,
        Counter::info(
            "traced_buf_readaheads_succeeded",
            "in buffer idx: packets of several chunks that the recorder read \
             completely",
        )
        .recorded(),
    ),
    (
        8,
        Counter::info(
            "traced_buf_readaheads_failed",
            "in buffer idx: packets of several chunks that lack one; a few are \
             usual",
        )
        .recorded(),
    ),
    (
        9,
        Counter::data_loss(
            "traced_buf_abi_violations",
            "in buffer idx: chunks that a producer wrote wrongly",
        )
        .recorded(),
    ),
    (
        10,
        Counter::info(
            "traced_buf_chunks_rewritten",
            "in buffer idx: chunks written again, with more packets",
        )
        .recorded(),
    ),
    (
        11,
        Counter::info(
            "traced_buf_chunks_committed_out_of_order",
            "in buffer idx: chunks that arrived out of order",
        )
        .recorded(),
    ),
    (12, Counter::info("traced_buf_buffer_size", "in buffer idx: its size in bytes").recorded()),
    (
        13,
        Counter::info(
            "traced_buf_bytes_overwritten",
            "in buffer idx: bytes overwritten before the recorder read them",
        )
        .recorded(),
    ),
    (14, Counter::info("traced_buf_bytes_read", "in buffer idx: bytes read").recorded()),
    (
        15,
        Counter::info("traced_buf_padding_bytes_written", "in buffer idx: bytes that fill gaps")
            .recorded(),
    ),
    (
        16,
        Counter::info(
            "traced_buf_padding_bytes_cleared",
            "in buffer idx: bytes that fill gaps and were overwritten",
        )
        .recorded(),
    ),
    (17, Counter::info("traced_buf_chunks_read", "in buffer idx: chunks read").recorded()),
    (
        18,
        Counter::info(
            "traced_buf_chunks_discarded",
            "in buffer idx: chunks discarded because the buffer was full and \
             may not overwrite others",
        )
        .recorded(),
    ),
    (
        19,
        Counter::data_loss(
            "traced_buf_trace_writer_packet_loss",
            "in buffer idx: how often a producer had no room in its shared \
             memory",
        )
        .recorded(),
    ),
    (
        20,
        Counter::info(
            "traced_buf_chunks_relocated",
            "in buffer idx: chunks that moved when a producer wrote them again",
        )
        .recorded(),
    ),
];

/// Those of a buffer that are losses.
pub(super) const BUFFER_LOSSES: [u32; 6] = [field::CHUNKS_OVERWRITTEN, 6, 9, 11, 18, 19];

/// What the writers into a buffer lost, as their packets say.
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
