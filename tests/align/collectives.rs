//! Collectives of invented ranks (rule AL3).

use std::fmt::Write;

use super::world::text;
use super::{alone, import, one};
use crate::support::Place;

/// A collective of a rank: its kernel's start and end in µs of true time, and more arguments.
pub struct Part {
    name: &'static str,
    pub start: i64,
    pub end: i64,
    args: String,
}

const AHEAD: [i64; 2] = [0, 40_000];

/// Writes the file of a rank, whose clock is some µs ahead. Each collective has an op, a launch and a kernel; the
/// profiler's steps are 100 ms long.
pub fn rank(place: &Place, rank: usize, parts: &[Part], names_kernels: bool) -> String {
    let mut events = String::new();
    let mut add = |event: String| {
        let _ = write!(events, "{}{event}", if events.is_empty() { "" } else { ",\n" });
    };
    let ahead = AHEAD[rank];
    for step in 0..30 {
        let ts = step * 100_000 + ahead;
        add(format!(
            r#"{{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{step}","pid":1,"tid":1,"ts":{ts}.000,"dur":99999}}"#
        ));
    }
    for step in 0..30 {
        // On a GPU a step is later than on the CPU, and on each rank by another time.
        let ts = step * 100_000 + ahead + 20_000 + 45_000 * rank as i64;
        add(format!(
            r#"{{"ph":"X","cat":"gpu_user_annotation","name":"ProfilerStep#{step}","pid":0,"tid":7,"ts":{ts}.000,"dur":99999}}"#
        ));
    }
    for (id, part) in (100..).zip(parts) {
        let Part { name, start, end, args } = part;
        let (launch, ts, dur) = (start - 50 + ahead, start + ahead, end - start);
        let group = format!(
            r#""Collective name":"{name}","Process Group Name":"0","Process Group Ranks":"[0, 1]","Group size":2,"dtype":"Float"{args}"#
        );
        let of_kernel = if names_kernels { format!(",{group}") } else { String::new() };
        add(format!(
            r#"{{"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":1,"tid":1,"ts":{launch}.500,"dur":30,"args":{{"External id":{id},{group}}}}}"#
        ));
        add(format!(
            r#"{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":{launch}.600,"dur":9,"args":{{"External id":{id},"correlation":{id}}}}}"#
        ));
        add(format!(
            r#"{{"ph":"X","cat":"kernel","name":"nccl","pid":0,"tid":7,"ts":{ts}.100,"dur":{dur},"args":{{"External id":{id},"correlation":{id}{of_kernel}}}}}"#
        ));
    }
    let json = format!(
        r#"{{"baseTimeNanoseconds":1761609600000000000,"distributedInfo":{{"rank":{rank},"world_size":2}},"traceEvents":[{events}]}}"#
    );
    text(place.write(&format!("rank{rank}.json"), json.as_bytes()))
}

/// A collective each 50 ms: rank 1 enters later, and both leave together. `args` may tell them apart.
pub fn parts(name: &'static str, rank: usize, args: impl Fn(i64) -> String) -> Vec<Part> {
    let part = |number: i64| {
        let start = 10_000 + number * 50_000 + rank as i64 * 300;
        Part { name, start, end: 11_000 + number * 50_000, args: args(number) }
    };
    (0..20).map(part).collect()
}

fn both(parts: impl Fn(usize) -> Vec<Part>, names_kernels: bool) -> rusqlite::Connection {
    let place = Place::new();
    let files = [0, 1].map(|number| rank(&place, number, &parts(number), names_kernels));
    import(&place, &files, &[])
}

fn seq(number: i64) -> String {
    format!(r#","Seq":{},"In msg nelems":64"#, 500 + number)
}

#[test]
fn al3_a_number_tells_collectives_apart() {
    let conn = both(|rank| parts("allreduce", rank, seq), true);
    let counts = alone(&conn, "evidence, messages_ab, messages_ba, violated, used");
    assert_eq!(counts, ["collectives", "20", "20", "0", "1"]);
    let off = one(&conn, "SELECT abs(offset - 40000000) FROM clock_alignment");
    assert!(off < 1_000_000, "{off}");
}

#[test]
fn al3_a_number_that_repeats_or_is_missing_gives_way_to_the_step_and_the_launch() {
    let without: [fn(i64) -> String; 2] =
        [|_| r#","Seq":0,"In msg nelems":64"#.to_owned(), |_| r#","In msg nelems":64"#.to_owned()];
    for args in without {
        let conn = both(|rank| parts("allreduce", rank, args), true);
        let counts = alone(&conn, "messages_ab, messages_ba, used");
        assert_eq!(counts, ["20", "20", "1"]);
    }
}

#[test]
fn al3_the_op_names_the_collective_if_the_kernel_does_not() {
    let conn = both(|rank| parts("reduce_scatter", rank, seq), false);
    assert_eq!(alone(&conn, "messages_ab, messages_ba, used"), ["20", "20", "1"]);
}

#[test]
fn al3_collectives_whose_ranks_disagree_do_not_count() {
    let conn = both(
        |rank| {
            parts("allgather", rank, |number| format!(r#","Seq":{number},"In msg nelems":{rank}"#))
        },
        true,
    );
    assert_eq!(one(&conn, "SELECT count(*) FROM clock_alignment"), 0);
    // In alltoall they may send different numbers, but not 0.
    let sizes = |rank: usize, sizes: &'static str| {
        parts("alltoallv", rank, move |number| {
            format!(r#","Seq":{number},"In msg nelems":{rank},"In split size":"{sizes}""#)
        })
    };
    let conn = both(|rank| sizes(rank, "[10, 20]"), true);
    assert_eq!(alone(&conn, "messages_ab"), ["20"]);
    let conn = both(|rank| sizes(rank, "[0, 20]"), true);
    assert_eq!(one(&conn, "SELECT count(*) FROM clock_alignment"), 0);
}

#[test]
fn al3_a_send_is_a_message_to_its_receiver() {
    let conn = both(
        |rank| {
            parts(["send", "send"][rank], rank, |number| {
                format!(r#","Seq":{number},"In msg nelems":64,"Src Rank":0,"Dst Rank":1"#)
            })
        },
        true,
    );
    assert_eq!(alone(&conn, "sides, messages_ab, messages_ba"), ["upper", "20", "0"]);
    let conn = both(|rank| parts("broadcast", rank, seq), true);
    // No argument names the root.
    assert_eq!(one(&conn, "SELECT count(*) FROM clock_alignment"), 0);
}
