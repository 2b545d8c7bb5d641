//! Counters of packets, for `stats`.

use crate::output::{BEFORE_ZERO, Cause, Counter, Fault, Journal};

pub(crate) const PACKETS_WITHOUT_TIMESTAMP: Counter =
    Counter::info("packets_without_timestamp", "packets without a time to convert").drops_nothing();
pub(crate) const PACKETS_CORRUPT: Counter =
    Counter::error("packets_corrupt", "packets of the type corrupt").drops(Cause::Unreadable);
pub(crate) const PAYLOADS_CORRUPT: Counter =
    Counter::error("payloads_corrupt", "packets with their own type and an unreadable payload")
        .drops(Cause::Unreadable);
pub(crate) const PAYLOADS_TOO_LARGE: Counter = Counter::data_loss(
    "payloads_too_large",
    "packets with their own type and a payload that is too large to \
     read",
)
.drops(Cause::TooLarge);
pub(crate) const SNAPSHOTS_REJECTED: Counter =
    Counter::error("snapshots_rejected", "rejected snapshots").drops_nothing();
pub(crate) const DAMAGED_REGIONS: Counter = Counter::data_loss(
    "damaged_regions",
    "places without a packet: lines cut, damaged, json_cut and json_damaged of \
     import_log",
)
.drops_nothing();
pub(crate) const DAMAGED_BYTES: Counter =
    Counter::data_loss("damaged_bytes", "bytes without a packet: those of damaged_regions")
        .drops_nothing();
pub(crate) const FACTS_LEFT_OUT: Counter = Counter::data_loss(
    "metadata_left_out",
    "facts beyond 262,144, or 32 MiB of them, that metadata lacks",
)
.drops_nothing();
pub(crate) const UNSURE_PACKETS: Counter =
    Counter::data_loss("unsure_packets", "rows of packet_unsure").drops_nothing();

pub(crate) const INTERNED_SKIPPED: Fault = Fault::new(
    Counter::data_loss(
        "interned_data_skipped_incremental_state_invalid",
        "interned data of a sequence without valid state is left out",
    )
    .drops_nothing(),
);

/// A journal with all counters of packets at 0.
pub(super) fn journal() -> Journal {
    let mut journal = Journal::default();
    for counter in [
        PACKETS_WITHOUT_TIMESTAMP,
        PACKETS_CORRUPT,
        PAYLOADS_CORRUPT,
        PAYLOADS_TOO_LARGE,
        SNAPSHOTS_REJECTED,
        DAMAGED_REGIONS,
        DAMAGED_BYTES,
        UNSURE_PACKETS,
        BEFORE_ZERO.counter(),
    ] {
        journal.count(counter, 0);
    }
    journal
}
