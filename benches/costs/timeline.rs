//! What it costs to have the scheduler's events of all CPUs in the order of time.

use crate::child::order_in_child;
use crate::pairs::Pairs;
use crate::table::{Row, Table, Target, grouped};
use crate::traces::Trace;
use crate::{Bench, Result, events, progress};

const MEMORY: Target = Target::Memory(64_000_000);

pub fn run(bench: &Bench, table: &mut Table) -> Result<()> {
    let trace = match &bench.events {
        Some(trace) => Trace::of_file(trace),
        None => Trace::generate(bench, "events", &events::settings(bench))?,
    };
    progress("putting events in the order of time");
    let mut pairs = Pairs::default();
    let (mut events, mut memory) = (0, 0);
    for _ in 0..bench.runs() {
        let order = order_in_child(&trace, bench.directory())?;
        pairs.ours.push(order.ordered);
        pairs.yardstick.push(order.unordered);
        events = order.events;
        memory = memory.max(order.peak_memory);
    }
    let what = format!("{} events of the scheduler, in order", grouped(events));
    table.add(
        Row::new(what)
            .pairs(&pairs, "reading the trace without")
            .count(events)
            .memory(memory)
            .target(MEMORY),
    );
    Ok(())
}
