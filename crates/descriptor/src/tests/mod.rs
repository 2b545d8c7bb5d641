//! Tests the rules with messages of a small schema that has every kind of field.

mod depth;
mod everything;
mod extend;
mod json;
mod path;
mod properties;

use crate::{Pool, TRACE_PACKET};

#[test]
fn the_embedded_schema_is_perfettos() {
    let pool = Pool::perfetto();
    let event = pool.message("perfetto.protos.FtraceEvent").unwrap();
    let events = (1..2000).filter(|&number| pool.field(event, number).is_some());
    assert!(events.count() >= 590);
    let packet = pool.message(TRACE_PACKET).unwrap();
    assert_eq!(pool.field(packet, 11).unwrap().name, "track_event");
    assert_eq!(pool.message_name(packet), TRACE_PACKET);
}
