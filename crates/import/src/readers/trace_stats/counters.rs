//! The counters of the recorder's buffers and writers, with their field numbers (rules MD2 to MD4).

use super::field;
use crate::output::{Counter, recorded};
use crate::place::CAUSES;
use crate::summary::LossKind;

/// Fields of the whole service, and their counters.
pub(super) static SERVICE: [(u32, Counter); 12] = recorded! {
    2 => info("traced_producers_connected", "connected producers"),
    3 => info("traced_producers_seen", "producers since the start of the recorder"),
    4 => info("traced_data_sources_registered", "registered data sources"),
    5 => info("traced_data_sources_seen", "data sources since the start of the recorder"),
    6 => info("traced_tracing_sessions", "recordings at the same time"),
    7 => info("traced_total_buffers", "buffers of all recordings at the same time"),
    field::CHUNKS_DISCARDED => info("traced_chunks_discarded", "chunks for a buffer that does not exist"),
    field::PATCHES_DISCARDED => info("traced_patches_discarded", "completions of packets for a buffer that does not exist"),
    field::INVALID_PACKETS => data_loss("traced_invalid_packets", "packets that the recorder refused"),
    12 => info("traced_flushes_requested", "requests to producers to hand over their data"),
    13 => info("traced_flushes_succeeded", "flushes that succeeded"),
    field::FLUSHES_FAILED => data_loss("traced_flushes_failed", "flushes that failed"),
};

/// The fields of the service that are losses, and the kind of each.
pub(super) const SERVICE_LOSSES: [(u32, LossKind); 4] = [
    (field::CHUNKS_DISCARDED, LossKind::Buffer),
    (field::PATCHES_DISCARDED, LossKind::Buffer),
    (field::INVALID_PACKETS, LossKind::Writer),
    (field::FLUSHES_FAILED, LossKind::Writer),
];

/// The number of last flushes by outcome (`final_flush_outcome`).
pub(super) static FINAL_FLUSH: [(u32, Counter); 2] = recorded! {
    1 => info("traced_final_flush_succeeded", "last flushes that succeeded"),
    2 => data_loss("traced_final_flush_failed", "last flushes that failed"),
};

/// Fields of `FilterStats`.
pub(super) static FILTER: [(u32, Counter); 5] = recorded! {
    1 => info("filter_input_packets", "packets before the filter of the trace (TraceConfig.trace_filter)"),
    2 => info("filter_input_bytes", "bytes before the filter of the trace"),
    3 => info("filter_output_bytes", "bytes after the filter of the trace"),
    field::FILTER_ERRORS => error("filter_errors", "packets that the filter of the trace could not read"),
    5 => info("filter_time_taken_ns", "how long the filter of the trace took, in ns"),
};

/// `bytes_discarded_per_buffer`.
pub(super) static FILTERED_OUT: Counter = Counter::info(
    "traced_buf_bytes_filtered_out",
    "in buffer idx: bytes that the filter left out",
)
.recorded();

/// Fields of `BufferStats`.
pub(super) static BUFFER: [(u32, Counter); 20] = recorded! {
    "in buffer idx: ";
    1 => info("traced_buf_bytes_written", "bytes written"),
    2 => info("traced_buf_chunks_written", "chunks written"),
    field::CHUNKS_OVERWRITTEN => info("traced_buf_chunks_overwritten", "chunks overwritten before the recorder read them"),
    4 => info("traced_buf_write_wrap_count", "how often the buffer wrapped"),
    5 => info("traced_buf_patches_succeeded", "packets completed later"),
    6 => data_loss("traced_buf_patches_failed", "packets that could not be completed"),
    7 => info("traced_buf_readaheads_succeeded", "packets of several chunks that the recorder read completely"),
    8 => info("traced_buf_readaheads_failed", "packets of several chunks that lack one; a few are usual"),
    9 => data_loss("traced_buf_abi_violations", "chunks that a producer wrote wrongly"),
    10 => info("traced_buf_chunks_rewritten", "chunks written again, with more packets"),
    11 => info("traced_buf_chunks_committed_out_of_order", "chunks that arrived out of order"),
    12 => info("traced_buf_buffer_size", "its size in bytes"),
    13 => info("traced_buf_bytes_overwritten", "bytes overwritten before the recorder read them"),
    14 => info("traced_buf_bytes_read", "bytes read"),
    15 => info("traced_buf_padding_bytes_written", "bytes that fill gaps"),
    16 => info("traced_buf_padding_bytes_cleared", "bytes that fill gaps and were overwritten"),
    17 => info("traced_buf_chunks_read", "chunks read"),
    18 => info("traced_buf_chunks_discarded", "chunks discarded because the buffer was full and may not overwrite others"),
    19 => data_loss("traced_buf_trace_writer_packet_loss", "how often a producer had no room in its shared memory"),
    20 => info("traced_buf_chunks_relocated", "chunks that moved when a producer wrote them again"),
};

/// The fields of a buffer that are losses.
pub(super) const BUFFER_LOSSES: [u32; 6] = [field::CHUNKS_OVERWRITTEN, 6, 9, 11, 18, 19];

/// The losses of the writers into a buffer, according to their packets.
pub(super) static SEQUENCE_PACKET_LOSS: Counter = Counter::data_loss(
    "traced_buf_sequence_packet_loss",
    "in buffer idx: packets of its writers before which others were \
     lost",
);
pub(super) static SEQUENCES_DROPPED: Counter = Counter::data_loss(
    "traced_buf_incremental_sequences_dropped",
    "in buffer idx: writers whose packets all rely on lost state",
);

/// The causes of losses, by the bits of `previous_packet_dropped` from the second bit on.
pub(super) static CAUSE: [(u32, Counter); CAUSES] = recorded! {
    "losses of writers into buffer idx because ";
    1 => data_loss("traced_buf_data_loss_read_gap", "a chunk was missing when it was read"),
    2 => data_loss("traced_buf_data_loss_chunk_corrupted", "a chunk was corrupt"),
    3 => data_loss("traced_buf_data_loss_orphan_continuation", "the start of a packet was missing"),
    4 => data_loss("traced_buf_data_loss_reassembly_gap", "the middle of a packet was missing"),
    5 => data_loss("traced_buf_data_loss_reassembly_broken_chain", "the parts of a packet did not fit"),
    6 => data_loss("traced_buf_data_loss_overwrite", "a ring buffer wrapped before it was read"),
    7 => data_loss("traced_buf_data_loss_writer_abort", "the writer abandoned a packet"),
    8 => data_loss("traced_buf_data_loss_smb_full", "shared memory was full"),
};
