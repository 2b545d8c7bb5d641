//! The reports that come with the program.

use clap::ValueEnum;
use rusqlite::Connection;

use crate::parameters::Parameter;

/// A report. Its text is a file that can be copied, changed and run with
/// `query --file`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Report {
    /// The clocks: their paths, drift, jumps, and gaps between snapshots
    ClockHealth,
    /// Events without a known time, the reasons, and the remedies
    Unplaced,
    /// The time of CPUs, processes and threads, and events by name
    TimeSpent,
    /// The time that threads waited for a CPU, and the threads that ran instead
    SchedLatency,
    /// The durations of slices by name, and the slowest slices
    Slices,
    /// The slices before and after a slice, along flows
    Flows,
    /// Memory, CPU frequency and all other counters over the trace
    Counters,
    /// Samples of callstacks: the threads, functions and stacks with the most time
    CpuProfile,
    /// Heap profiles: the memory that functions allocated and did not free
    HeapProfile,
    /// Java heaps: what is alive, by class, and the objects that keep the most alive
    JavaHeap,
}

impl Report {
    /// The name of the report on the command line.
    pub fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// The columns that the lines `-- column NAME, NAME : description` at the top explain, with their descriptions.
    pub fn columns(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let lines = self.sql().lines().take_while(|line| line.starts_with("--"));
        lines.filter_map(|line| line.strip_prefix("-- column ")?.split_once(" : "))
    }

    /// Whether lines `-- # track NAME: SELECT …` state rows for a timeline.
    pub fn has_tracks(self) -> bool {
        self.sql().lines().any(|line| line.starts_with("-- # track "))
    }

    /// The description of the report, in a line.
    pub fn about(self) -> String {
        let value = self.to_possible_value();
        let help = value.as_ref().and_then(|value| value.get_help());
        help.map(ToString::to_string).unwrap_or_default()
    }

    /// The note if the trace lacks the subject of the report; `None` if it has the subject.
    ///
    /// Without the subject, the results are empty, as if there was nothing to find.
    pub fn lacks(self, database: &Connection) -> rusqlite::Result<Option<&'static str>> {
        let (table, lacks) = match self {
            Report::SchedLatency => (
                "sched_record",
                "there is no scheduling in this trace, so it is unknown how long threads waited for a CPU: record the \
                 kernel's sched_switch and sched_waking (data source linux.ftrace)",
            ),
            Report::CpuProfile => (
                "stack_sample_record",
                "there are no samples of callstacks in this trace: record them with Linux perf (data source linux.perf) \
                 or with Chrome's profiler; the report time-spent has the CPU time of threads",
            ),
            Report::HeapProfile => (
                "heap_profile_allocation_record",
                "there are no heap profiles in this trace: record them with heapprofd (data source android.heapprofd); the \
                 report counters has the memory of processes",
            ),
            Report::JavaHeap => (
                "heap_graph",
                "there are no dumps of a Java heap in this trace: record them with ART's profiler (data source \
                 android.java_hprof); the report counters has the memory of processes",
            ),
            _ => return Ok(None),
        };
        let sql = format!("SELECT EXISTS (SELECT * FROM {table})");
        let has_any: bool = database.query_row(&sql, [], |row| row.get(0))?;
        Ok((!has_any).then_some(lacks))
    }

    /// The process of the parameters, if the report takes patterns of names and pids, and no process of the trace has this one.
    pub fn unknown_process<'p>(
        self,
        given: &'p [Parameter],
        database: &Connection,
    ) -> rusqlite::Result<Option<&'p str>> {
        let takes_patterns =
            matches!(self, Report::CpuProfile | Report::HeapProfile | Report::JavaHeap);
        let process = given.iter().rev().find(|one| one.name == "process" && takes_patterns);
        let Some(process) = process.and_then(Parameter::plain_text) else {
            return Ok(None);
        };
        let sql = "SELECT EXISTS (SELECT * FROM process_record WHERE name GLOB ?1 OR CAST(pid AS TEXT) = ?1)";
        let is_known: bool = database.query_row(sql, [process], |row| row.get(0))?;
        Ok((!is_known).then_some(process))
    }

    /// Its statements.
    pub fn sql(self) -> &'static str {
        match self {
            Report::ClockHealth => include_str!("../reports/clock-health.sql"),
            Report::Unplaced => include_str!("../reports/unplaced.sql"),
            Report::TimeSpent => include_str!("../reports/time-spent.sql"),
            Report::SchedLatency => include_str!("../reports/sched-latency.sql"),
            Report::Slices => include_str!("../reports/slices.sql"),
            Report::Flows => include_str!("../reports/flows.sql"),
            Report::Counters => include_str!("../reports/counters.sql"),
            Report::CpuProfile => include_str!("../reports/cpu-profile.sql"),
            Report::HeapProfile => include_str!("../reports/heap-profile.sql"),
            Report::JavaHeap => include_str!("../reports/java-heap.sql"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::Parameters;
    use crate::script::Script;
    use timebase_schema::Events;

    #[test]
    fn what_is_unplaced_is_told_of_every_table_of_events() {
        let tables = timebase_schema::tables::ALL.iter();
        // The other tables are made of events that have their time.
        let recorded = tables.filter(|table| table.columns.contains(&"timestamp"));
        for table in recorded {
            let Some(Events::Rows { name, .. }) = table.events else {
                continue;
            };
            let is_counted = |name| {
                let counted = format!("count(*) FROM {name})");
                Report::Unplaced.sql().contains(&counted)
            };
            assert!(is_counted(table.name) || is_counted(name), "{name}");
        }
    }

    #[test]
    fn they_run_without_parameters_and_each_has_a_type_a_description_and_a_use() {
        for report in Report::value_variants() {
            let script = Script::parse(report.sql());
            assert!(Parameters::of(&script, &[]).is_ok(), "{report:?}");
            for declared in &script.declared {
                assert!(!declared.description.is_empty(), "{report:?} {declared:?}");
                assert!(declared.value_type.is_some(), "{report:?} {declared:?}");
                let mut statements = script.statements.iter();
                assert!(
                    statements.any(|statement| statement.parameters.contains(&declared.name)),
                    "{report:?} {declared:?}"
                );
            }
        }
    }
}
