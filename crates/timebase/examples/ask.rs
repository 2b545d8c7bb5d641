//! Imports a trace into memory and queries it: `cargo run -p timebase --example ask --
//! trace.pftrace`.

use std::error::Error;

use rusqlite::Connection;
use timebase::Import;

fn main() -> Result<(), Box<dyn Error>> {
    let trace = std::env::args().nth(1).ok_or("name a trace")?;
    for (thread, ms) in busiest(&trace)? {
        println!("{ms:>10.3} ms  {thread}");
    }
    Ok(())
}

/// The threads that ran longest, with their milliseconds.
fn busiest(trace: &str) -> Result<Vec<(String, f64)>, Box<dyn Error>> {
    let mut conn = Connection::open_in_memory()?;
    Import::new(trace).without_data().into_connection(&mut conn)?;
    let mut statement = conn.prepare(
        "SELECT coalesce(thread.name, 'tid ' || tid), sum(dur) / 1e6 FROM sched JOIN thread USING (utid)
         WHERE dur > 0 AND doubt IS NULL AND NOT is_idle GROUP BY utid ORDER BY 2 DESC LIMIT 5",
    )?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

#[test]
fn a_trace_in_memory_is_asked() -> Result<(), Box<dyn Error>> {
    let busiest = busiest("../../tests/data/desktop.pftrace")?;
    assert_eq!(busiest.len(), 5);
    assert!(busiest.is_sorted_by(|(_, one), (_, next)| one >= next));
    Ok(())
}
