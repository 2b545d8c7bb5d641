//! The faults of dumps of Java heaps, with trace processor's counters.

use crate::output::{Counter, Fault};

pub(super) static MISSING_PACKET: Fault = Fault::new(
    Counter::error("heap_graph_missing_packet", "a packet of a dump of a Java heap is missing")
        .recorded(),
)
.counted();
pub(super) static MALFORMED: Fault = Fault::new(
    Counter::error(
        "heap_graph_malformed_packet",
        "a dump of a Java heap has numbers that cannot be read, or names no class or field for a reference",
    )
    .recorded(),
)
.counted();
pub(super) static INVALID_STRING: Fault = Fault::new(
    Counter::error(
        "heap_graph_invalid_string_id",
        "a class in a dump of a Java heap is in a file without a name",
    )
    .recorded(),
)
.counted();
pub(super) const NOT_FINALIZED: Fault = Fault::new(
    Counter::data_loss(
        "heap_graph_non_finalized_graph",
        "a dump of a Java heap has no last packet, or has objects of another dump, which are dropped",
    )
    .recorded(),
);
pub(super) const UNKNOWN_PACKAGE: Fault = Fault::new(
    Counter::error(
        "deobfuscate_location_parse_error",
        "the path of a class in a Java heap names no package",
    )
    .recorded(),
);
