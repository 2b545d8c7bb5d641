//! The reports that come with the program.

use clap::ValueEnum;

/// A report. Its text is a file that can be copied, changed and run with
/// `query --file`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Report {
    /// The clocks: their paths, drift, jumps, and gaps between snapshots
    ClockHealth,
    /// What could not be placed in time, why, and what can be done
    Unplaced,
    /// Where the time went: events by name, CPUs, processes, threads
    TimeSpent,
    /// How long threads waited for a CPU, and who ran instead
    SchedLatency,
    /// Memory, CPU frequency and all other counters over the trace
    Counters,
}

impl Report {
    /// What it is called on the command line.
    pub fn name(self) -> String {
        self.to_possible_value()
            .map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Its statements.
    pub fn sql(self) -> &'static str {
        match self {
            Report::ClockHealth => include_str!("reports/clock-health.sql"),
            Report::Unplaced => include_str!("reports/unplaced.sql"),
            Report::TimeSpent => include_str!("reports/time-spent.sql"),
            Report::SchedLatency => include_str!("reports/sched-latency.sql"),
            Report::Counters => include_str!("reports/counters.sql"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::Parameters;
    use crate::script::Script;

    #[test]
    fn what_is_unplaced_is_told_of_every_table_of_events() {
        let tables = timebase_schema::tables::ALL.iter();
        for table in tables.filter(|table| table.has_events()) {
            let counted = format!("count(*) FROM {})", table.name);
            assert!(Report::Unplaced.sql().contains(&counted), "{}", table.name);
        }
    }

    #[test]
    fn they_run_without_parameters_and_every_default_is_described_and_used() {
        for report in Report::value_variants() {
            let script = Script::parse(report.sql());
            assert!(Parameters::of(&script, &[]).is_ok(), "{report:?}");
            for default in &script.defaults {
                assert!(!default.description.is_empty(), "{report:?} {default:?}");
                let mut statements = script.statements.iter();
                assert!(
                    statements.any(|statement| statement.parameters.contains(&default.name)),
                    "{report:?} {default:?}"
                );
            }
        }
    }
}
