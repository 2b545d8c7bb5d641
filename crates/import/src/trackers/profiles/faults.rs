//! The faults of profiles, with trace processor's counters.

use crate::output::{Cause, Counter, Fault};

pub(super) const INVALID_STRING: Fault = Fault::new(
    Counter::error("stackprofile_invalid_string_id", "a text of a callstack has no entry")
        .recorded(),
);
pub(super) const INVALID_MAPPING: Fault = Fault::new(
    Counter::error(
        "stackprofile_invalid_mapping_id",
        "a mapping of a callstack, or one that symbols are for, is not \
         there",
    )
    .recorded(),
);
pub(super) const INVALID_FRAME: Fault = Fault::new(
    Counter::error(
        "stackprofile_invalid_frame_id",
        "a frame of a callstack, or one that symbols are for, is not there",
    )
    .recorded(),
);
pub(super) const INVALID_CALLSTACK: Fault = Fault::new(
    Counter::error("stackprofile_invalid_callstack_id", "a sample's callstack has no entry")
        .recorded(),
);
pub(super) const EMPTY_CALLSTACK: Fault = Fault::new(
    Counter::error("stackprofile_empty_callstack", "a callstack has no frames").recorded(),
);
pub(super) const TMP_WITHOUT_BUILD_ID: Fault = Fault::new(
    Counter::error(
        "symbolization_tmp_build_id_not_found",
        "a mapping of /data/local/tmp has no build id, so it has no symbols",
    )
    .drops_nothing(),
);
pub(super) const SMAPS: Fault = Fault::new(
    Counter::error(
        "smaps_parser_errors",
        "the columns of packed smaps differ in length, or name no text",
    )
    .drops(Cause::Incomplete),
);

pub(super) const SKIPPED: Fault = Fault::new(
    Counter::info("perf_samples_skipped", "the profiler skipped the callstack of a sample")
        .recorded(),
);
pub(super) const SKIPPED_DATALOSS: Fault = Fault::new(
    Counter::data_loss(
        "perf_samples_skipped_dataloss",
        "the profiler dropped the callstack of a sample because it was too \
         slow",
    )
    .recorded(),
);
pub(super) static LOST_RECORDS: Counter =
    Counter::data_loss("perf_cpu_lost_records", "samples that the kernel lost on the CPU idx")
        .recorded();
pub(super) static SHARD_COUNT: Counter = Counter::info(
    "perf_process_shard_count",
    "in how many parts the profiler of session idx divides processes",
)
.recorded();
pub(super) static CHOSEN_SHARD: Counter = Counter::info(
    "perf_chosen_process_shard",
    "the part of the processes that the profiler of session idx \
     profiles",
)
.recorded();
pub(super) static GUARDRAIL_STOP: Counter = Counter::data_loss(
    "perf_guardrail_stop_ts",
    "when the profiler of session idx stopped, because it used too much",
)
.recorded();

pub(super) const MISSING_PACKET: Fault = Fault::new(
    Counter::error("heapprofd_missing_packet", "a packet of a heap profile is missing").recorded(),
);
pub(super) static MALFORMED_PACKET: Counter = MALFORMED.counter();
pub(super) const MALFORMED: Fault = Fault::new(
    Counter::error(
        "heapprofd_malformed_packet",
        "a sum of a heap profile is less than the one before, and is left \
         out",
    )
    .recorded(),
)
.counted();
pub(super) const DUMP_WITHOUT_TIME: Fault = Fault::new(
    Counter::error(
        "heap_profile_dump_without_time",
        "a dump of a heap profile whose time cannot be converted is left \
     out",
    )
    .drops(Cause::NoTime),
);
