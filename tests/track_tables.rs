//! The descriptions of tracks (rules TK), through the real program: random traces, and the rows
//! that Perfetto's trace processor has for the statements of queries-more.sql.

use crate::support::Imported;
use crate::support::kernel::{
    PROCESS_STATS, RENDER_STAGE, SYS_STATS, bundle, event, gives, imported, new, packet,
};
use crate::support::statements::answers_as_recorded;
use timebase_lab::encode::Message;

const POWER_RAILS: u32 = 40;

#[test]
fn tk1_tk2_tk3_known_rows() {
    let traces = ["03", "10", "17", "24", "31", "38"];
    answers_as_recorded(&traces, &["track_args"], &[]);
}

const TRACKS: &str = "SELECT k.type, k.name, c.unit, c.description, \
     (SELECT group_concat(a.key || '=' || coalesce(a.string_value, a.int_value, 'NULL')) FROM (SELECT * FROM args ORDER BY key) AS a \
      WHERE a.arg_set_id = k.dimension_arg_set_id), \
     (SELECT group_concat(a.key || '=' || coalesce(a.string_value, a.int_value, 'NULL')) FROM args AS a \
      WHERE a.arg_set_id = k.source_arg_set_id) \
     FROM track AS k LEFT JOIN counter_track AS c USING (id)";

/// The tracks of the given types have the expected descriptions.
fn say(trace: &Imported, types: &str, expected: &[&str]) {
    let sql = format!("{TRACKS} WHERE k.type IN ({types}) ORDER BY k.id");
    gives(trace, &sql, expected);
}

#[test]
fn tk2_tk3_worked_example() {
    let stat = event(1, 5, 335, new().number(2, 4096).number(3, 4096));
    let grow = event(2, 5, 315, new().text(1, "").number(2, 1).number(3, 1));
    let rail = |index, name: &str| new().number(1, index).text(2, name);
    let energy = |index| new().number(1, index).number(3, 9);
    let rails = new()
        .message(1, rail(0, "S2M_VDD_INT").text(3, "soc"))
        .message(1, rail(1, "L3"))
        .message(2, energy(0))
        .message(2, energy(1))
        .number(3, 7);
    let trace = imported(&[bundle(0, &[stat, grow]), packet(3, POWER_RAILS, rails)]);
    say(
        &trace,
        "'ion', 'power_rails'",
        &[
            "power_rails power.rails.system.fabric - - name=S2M_VDD_INT,session_uuid=7 \
             raw_name=S2M_VDD_INT,subsystem_name=soc",
            "power_rails power.L3_uws - - name=L3,session_uuid=7 raw_name=L3",
            "ion mem.ion - - heap_name=NULL -",
        ],
    );
    let values = "SELECT ts, value FROM counter AS c JOIN track AS k ON k.id = c.track_id WHERE k.type = 'ion'";
    gives(&trace, values, &["1 4096", "2 2"]);
    let packet_ts = "SELECT c.ts, a.key, a.value_type, a.int_value FROM counter AS c \
         JOIN track AS k ON k.id = c.track_id JOIN args AS a USING (arg_set_id) WHERE k.type = 'power_rails'";
    gives(&trace, packet_ts, &["3 packet_ts uint 3", "3 packet_ts uint 3"]);
}

#[test]
fn tk1_memory_of_a_process_is_described_and_that_of_a_thread_is_not() {
    let rss = |time, tid| event(time, tid, 313, new().number(1, 1).number(2, 4096));
    let thread = new().number(1, 11);
    let stats = new().message(1, new().number(1, 10).message(11, thread).number(4, 1));
    let trace = imported(&[bundle(0, &[rss(1, 11), rss(2, 12)]), packet(3, PROCESS_STATS, stats)]);
    let said = "SELECT k.type, c.description IS NOT NULL, c.description = s.string_value, d.string_value, \
         (SELECT count(*) FROM counter WHERE track_id = k.id) \
         FROM track AS k JOIN counter_track AS c USING (id) \
         LEFT JOIN args AS s ON s.arg_set_id = k.source_arg_set_id AND s.key = 'description' \
         JOIN args AS d ON d.arg_set_id = k.dimension_arg_set_id AND d.key = 'process_memory_key' ORDER BY k.id";
    gives(
        &trace,
        said,
        &["process_memory 1 1 rss.anon 2", "process_memory_thread_fallback 0 - rss.anon 1"],
    );
}

#[test]
fn tk3_queues_of_gpus_have_the_description_of_their_specification() {
    let named = |name: &str, description: &str| new().text(1, name).text(2, description);
    let specify = |queue: Message| new().message(7, new().message(2, queue));
    let on = |event: Message, queue| event.number(1, 0).number(2, 10).number(3, queue);
    let spec = |iid, description: &str| new().number(1, iid).text(2, "q").text(3, description);
    let interned = new().message(24, spec(1, "by iid")).message(24, spec(2, ""));
    let stage = |time, event| packet(time, RENDER_STAGE, event);
    let by_iid = |iid| new().number(1, 0).number(13, iid);
    let trace = imported(&[
        stage(5, by_iid(1)).number(13, 1).message(12, interned),
        stage(6, by_iid(2)),
        // Before its name, after it, and of a name that changes.
        stage(10, on(new(), 0)),
        stage(20, on(specify(named("first", "renamed")), 0)),
        stage(30, on(specify(named("first", "later")), 0)),
        stage(31, on(new(), 0)),
        stage(40, on(specify(named("second", "")), 0)),
    ]);
    say(
        &trace,
        "'gpu_render_stage'",
        &[
            "gpu_render_stage q - - gpu=0,hwqueue_id=1,hwqueue_name=q,\
             render_stage_source=iid,track_compressor_idx=0,ugpu=0 description=by iid",
            "gpu_render_stage q - - gpu=0,hwqueue_id=2,hwqueue_name=q,\
             render_stage_source=iid,track_compressor_idx=0,ugpu=0 -",
            "gpu_render_stage first - - gpu=0,hwqueue_id=0,hwqueue_name=NULL,\
             render_stage_source=id,track_compressor_idx=0,ugpu=0 description=renamed",
            "gpu_render_stage first - - gpu=0,hwqueue_id=0,hwqueue_name=first,\
             render_stage_source=id,track_compressor_idx=0,ugpu=0 description=renamed",
            "gpu_render_stage first - - gpu=0,hwqueue_id=0,hwqueue_name=first,\
             render_stage_source=id,track_compressor_idx=1,ugpu=0 description=renamed",
            "gpu_render_stage second - - gpu=0,hwqueue_id=0,hwqueue_name=second,\
             render_stage_source=id,track_compressor_idx=0,ugpu=0 description=",
        ],
    );
}

#[test]
fn tk4_slabs_say_how_many_pages_they_have() {
    let slab = |name: &str| new().text(1, name);
    let full = slab("kmalloc").number(2, 3).number(3, u64::MAX);
    let stats = new().message(18, full).message(18, slab("none"));
    let trace = imported(&[packet(1, SYS_STATS, stats)]);
    let samples = "SELECT k.name, d.string_value, a.key, a.value_type, a.int_value \
         FROM counter AS c JOIN track AS k ON k.id = c.track_id JOIN args AS a USING (arg_set_id) \
         JOIN args AS d ON d.arg_set_id = k.dimension_arg_set_id ORDER BY c.id, a.key";
    gives(
        &trace,
        samples,
        &[
            "mem.slab.kmalloc kmalloc num_slabs uint -1",
            "mem.slab.kmalloc kmalloc pages_per_slab uint 3",
            "mem.slab.none none num_slabs uint 0",
            "mem.slab.none none pages_per_slab uint 0",
        ],
    );
}
