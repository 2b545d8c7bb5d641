//! The rules of GPUs that are known from trace processor's sources alone, one by one, on small
//! traces made by hand.

use crate::support::kernel::{gives, imported, new, packet};
use timebase_lab::encode::Message;

const GPU_COUNTERS: u32 = 52;

const INTERNED_DATA: u32 = 12;

/// A packet whose sequence begins with it.
fn first(time: u64, field: u32, payload: Message, interned: Message) -> Message {
    let first = packet(time, field, payload).number(13, 1);
    first.message(INTERNED_DATA, interned)
}

const GROUPS: &str = "SELECT k.name, g.group_id, g.name, g.description FROM gpu_counter_group AS g \
     JOIN gpu_counter_track AS k ON k.id = g.track_id ORDER BY g.id";

#[test]
fn m14_counters_are_in_groups() {
    let spec = |id, name: &str| new().number(1, id).text(2, name);
    let group = |id, name: &str| new().number(1, id).text(2, name);
    let fragments = group(3, "Fragments").number(4, 1);
    let descriptor = |spec| new().message(1, spec).message(6, fragments.clone());
    let own = descriptor(spec(1, "busy").number(10, 3));
    let own = own.message(1, spec(2, "idle"));
    let again = descriptor(spec(1, "late").number(10, 4));
    let named = group(9, "Own").text(3, "more").number(4, 5).number(4, 6);
    let interned = new().message(1, spec(5, "heat").number(10, 5).number(10, 9));
    let interned = new().number(1, 1).message(2, interned.message(6, named));
    let interned = new().message(47, interned);
    let by_iid = |time| {
        let event = new().number(4, 1);
        first(time, GPU_COUNTERS, event, interned.clone())
    };
    let trace = imported(&[
        packet(1, GPU_COUNTERS, new().message(1, own)),
        packet(2, GPU_COUNTERS, new().message(1, again)),
        by_iid(3),
        by_iid(4),
    ]);
    gives(
        &trace,
        GROUPS,
        &[
            "busy 3 Fragments -",
            "idle 0 - -",
            "busy 3 Fragments -",
            "heat 5 - -",
            "heat 9 Own more",
            "heat 9 Own more",
        ],
    );
}
