//! Selects samples, and counts them by callstack.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Context, ensure};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::java::Stacks;
use crate::flags::{FlameOf, FlamegraphArguments, TsArgument};

/// The filters of the command line. A process and a thread are names, or the kernel's numbers.
#[derive(Clone)]
pub struct Query {
    of: FlameOf,
    process: Option<String>,
    thread: Option<String>,
    /// Trace time.
    from: Option<i64>,
    to: Option<i64>,
    during: Option<String>,
    /// Whether the first dump of a Java heap counts instead of the last one.
    is_first: bool,
}

/// The number of samples of a callstack, or the memory that it allocated.
#[derive(Clone, Copy, Debug, Default)]
pub struct Weight {
    pub count: i64,
    /// In bytes.
    pub size: i64,
}

impl Weight {
    /// The number that a graph adds up.
    pub fn value(self, of: FlameOf) -> i64 {
        match of {
            FlameOf::Cpu | FlameOf::Slices => self.count,
            FlameOf::Heap | FlameOf::Allocations | FlameOf::Java => self.size,
        }
    }

    fn add(&mut self, count: i64, size: i64) {
        self.count = self.count.saturating_add(count);
        self.size = self.size.saturating_add(size);
    }
}

/// The samples that were selected.
pub struct Samples {
    pub of: FlameOf,
    /// By callsite, or by the number of a stack of classes.
    pub weights: BTreeMap<i64, Weight>,
    /// The stacks of classes of a Java heap.
    pub classes: Option<Stacks>,
    pub without_stack: i64,
    /// The number of losses of samples in the recording.
    pub lost: i64,
}

impl FlameOf {
    /// The unit of a weight.
    pub fn unit(self) -> &'static str {
        match self {
            FlameOf::Cpu => "samples",
            FlameOf::Slices => "events",
            FlameOf::Heap | FlameOf::Allocations | FlameOf::Java => "bytes",
        }
    }

    fn about(self) -> &'static str {
        match self {
            FlameOf::Cpu => "CPU samples",
            FlameOf::Heap => "Memory that was not freed",
            FlameOf::Allocations => "Allocated memory",
            FlameOf::Slices => "Callstacks of events",
            FlameOf::Java => "Retained memory of the Java heap",
        }
    }

    /// The kind with the most rows.
    fn most(database: &Connection) -> anyhow::Result<FlameOf> {
        let tables = [
            (FlameOf::Cpu, "stack_sample"),
            (FlameOf::Heap, "heap_profile_allocation"),
            (FlameOf::Slices, "track_event_callstack"),
        ];
        let mut most = None;
        for (of, table) in tables {
            let sql = format!("SELECT count(*) FROM {table}");
            let rows: i64 = database.query_row(&sql, [], |row| row.get(0))?;
            if rows > most.map_or(0, |(rows, _)| rows) {
                most = Some((rows, of));
            }
        }
        let sql = "SELECT EXISTS (SELECT * FROM heap_graph)";
        let has_java: bool = database.query_row(sql, [], |row| row.get(0))?;
        let java = || has_java.then_some(FlameOf::Java);
        most.map(|(_, of)| of).or_else(java).context(
            "there are no callstacks: neither samples (data source linux.perf, Chrome's profiler) nor heap profiles \
             (android.heapprofd) nor track events with callstacks nor dumps of a Java heap (android.java_hprof)",
        )
    }
}

impl Query {
    pub fn of(arguments: &FlamegraphArguments, database: &Connection) -> anyhow::Result<Query> {
        let of = match arguments.of {
            Some(of) => of,
            None => FlameOf::most(database)?,
        };
        if matches!(of, FlameOf::Heap | FlameOf::Allocations | FlameOf::Java) {
            let heaps = "heaps are of whole processes; use --process";
            ensure!(arguments.thread.is_none(), "--thread: {heaps}");
            ensure!(arguments.during.is_none(), "--during: {heaps}");
        }
        Ok(Query {
            of,
            process: arguments.process.clone(),
            thread: arguments.thread.clone(),
            from: time(database, "--from", arguments.from.as_ref())?,
            to: time(database, "--to", arguments.to.as_ref())?,
            during: arguments.during.clone(),
            is_first: false,
        })
    }

    /// The same query for the other side of a comparison. If both sides are one file, the other side is its first dump.
    pub fn before(&self, is_same_file: bool) -> Query {
        Query { is_first: is_same_file, ..self.clone() }
    }

    /// The data that exists instead, for a query without a result.
    pub fn told(&self, database: &Connection) -> anyhow::Result<String> {
        let table = self.table();
        let sql = format!("SELECT count(*), min(ts), max(ts) FROM {table}{}", self.with_stack());
        type Found = (i64, Option<i64>, Option<i64>);
        let (rows, first, last): Found =
            database.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let (Some(first), Some(last)) = (first, last) else {
            return Ok(format!("{table} has no rows"));
        };
        let sql = format!(
            "SELECT group_concat(name, ', ') FROM (
               SELECT coalesce(p.name, 'pid ' || p.pid) AS name, count(*) AS n
               FROM ({}) AS s JOIN process AS p USING (upid) GROUP BY upid ORDER BY n DESC LIMIT 5)",
            self.rows()
        );
        let processes: Option<String> = database.query_row(&sql, [], |row| row.get(0))?;
        let processes = processes.map_or_else(String::new, |names| format!(", of {names}"));
        let rows = if rows == 1 { "1 row".to_owned() } else { format!("{rows} rows") };
        Ok(format!("{table} has {rows} from {first} to {last} ns{processes}"))
    }

    /// The condition of rows that have a callstack.
    fn with_stack(&self) -> &'static str {
        match self.of {
            FlameOf::Java => "",
            _ => " WHERE callsite_id IS NOT NULL",
        }
    }

    fn table(&self) -> &'static str {
        match self.of {
            FlameOf::Java => "heap_graph",
            FlameOf::Cpu => "stack_sample",
            FlameOf::Heap | FlameOf::Allocations => "heap_profile_allocation",
            FlameOf::Slices => "track_event_callstack",
        }
    }

    /// A SELECT of `ts, upid, utid, callsite_id, count, size`.
    fn rows(&self) -> &'static str {
        match self.of {
            FlameOf::Cpu => {
                "SELECT s.ts, coalesce(t.upid, (SELECT upid FROM thread WHERE thread.utid = t.utid)) AS upid,
                        t.utid, s.callsite_id, 1 AS count, 0 AS size
                 FROM stack_sample AS s LEFT JOIN stack_sample_task_context AS t ON t.id = s.task_context_id"
            }
            FlameOf::Java => "SELECT ts, upid, NULL AS utid, NULL AS callsite_id, 0, 0 FROM heap_graph",
            FlameOf::Heap => {
                "SELECT ts, upid, NULL AS utid, callsite_id, count, size FROM heap_profile_allocation"
            }
            FlameOf::Allocations => {
                "SELECT ts, upid, NULL AS utid, callsite_id, count, size FROM heap_profile_allocation
                 WHERE count > 0 OR size > 0"
            }
            FlameOf::Slices => {
                "SELECT ts, (SELECT upid FROM thread WHERE thread.utid = c.utid) AS upid, utid, callsite_id,
                        1 AS count, 0 AS size
                 FROM track_event_callstack AS c"
            }
        }
    }

    /// The conditions, and the values of their parameters.
    fn conditions(&self, database: &Connection) -> anyhow::Result<(String, Vec<Value>)> {
        let mut conditions = Vec::new();
        let mut values = Vec::new();
        let times = [("ts >=", self.from), ("ts <", self.to)];
        for (condition, time) in times {
            if let Some(time) = time {
                values.push(Value::Integer(time));
                conditions.push(format!("{condition} ?{}", values.len()));
            }
        }
        let owners =
            [(&self.process, "process", "upid", "pid"), (&self.thread, "thread", "utid", "tid")];
        for (wanted, table, id, number) in owners {
            let Some(wanted) = wanted else { continue };
            let column = match wanted.parse::<i64>() {
                Ok(number_of) => {
                    values.push(Value::Integer(number_of));
                    format!("{number} =")
                }
                Err(_) => {
                    values.push(Value::Text(wanted.clone()));
                    "name GLOB".to_owned()
                }
            };
            let is_meant = format!("{column} ?{}", values.len());
            let known = format!("SELECT EXISTS (SELECT * FROM {table} WHERE {column} ?1)");
            let last: Vec<&Value> = values.last().into_iter().collect();
            let is_known: bool =
                database.query_row(&known, params_from_iter(last), |row| row.get(0))?;
            ensure!(
                is_known,
                "--{table} {wanted}: the trace has no such {table}; a name can be a pattern ('*'), or give its {number}"
            );
            conditions.push(format!("{id} IN (SELECT {id} FROM {table} WHERE {is_meant})"));
        }
        let conditions = match conditions.is_empty() {
            true => String::new(),
            false => format!(" WHERE {}", conditions.join(" AND ")),
        };
        Ok((conditions, values))
    }
}

/// The trace time of an argument.
pub fn time(
    database: &Connection,
    flag: &str,
    given: Option<&TsArgument>,
) -> anyhow::Result<Option<i64>> {
    match given {
        None => Ok(None),
        Some(TsArgument::Ticks(time)) => Ok(Some(*time)),
        Some(TsArgument::Shown(_, date)) => {
            let sql = "SELECT from_abs_time_str(?1)";
            let time: Option<i64> = database
                .query_row(sql, [date], |row| row.get(0))
                .with_context(|| format!("{flag} {date}"))?;
            let time = time.with_context(|| {
                format!(
                    "{flag} {date}: the time of day of this trace is unknown; give nanoseconds of trace time"
                )
            })?;
            Ok(Some(time))
        }
    }
}

impl Samples {
    pub fn select(database: &Connection, query: &Query) -> anyhow::Result<Samples> {
        let (conditions, values) = query.conditions(database)?;
        if query.of == FlameOf::Java {
            let (classes, sums) = Stacks::read(database, (&conditions, values), query.is_first)?;
            let sums = sums.into_iter();
            let weights = sums.map(|(stack, (count, size))| (stack, Weight { count, size }));
            let mut weights: BTreeMap<i64, Weight> = weights.collect();
            weights.retain(|_, weight| weight.size > 0);
            let lost = "SELECT count(*) FROM heap_graph WHERE truncated";
            return Ok(Samples {
                of: query.of,
                weights,
                classes: Some(classes),
                without_stack: 0,
                lost: database.query_row(lost, [], |row| row.get(0))?,
            });
        }
        let slices = match &query.during {
            None => None,
            Some(name) => Some(Slices::of(database, name)?),
        };
        let sql = format!("SELECT * FROM ({}){conditions}", query.rows());
        let mut statement = database.prepare(&sql)?;
        let mut rows = statement.query(params_from_iter(values))?;
        let mut weights: BTreeMap<i64, Weight> = BTreeMap::new();
        while let Some(row) = rows.next()? {
            if let Some(slices) = &slices
                && !slices.cover(row.get(2)?, row.get(0)?)
            {
                continue;
            }
            let weight = weights.entry(row.get(3)?).or_default();
            weight.add(row.get(4)?, row.get(5)?);
        }
        weights.retain(|_, weight| weight.value(query.of) > 0);
        let without_stack = match query.of {
            FlameOf::Cpu => "SELECT count(*) FROM stack_sample_record WHERE callsite_id IS NULL",
            _ => "SELECT 0",
        };
        let kind = match query.of {
            FlameOf::Cpu => "samples",
            FlameOf::Heap | FlameOf::Allocations => "heap",
            // A lost event is no sample of what the program does.
            FlameOf::Slices | FlameOf::Java => "",
        };
        Ok(Samples {
            of: query.of,
            weights,
            classes: None,
            without_stack: database.query_row(without_stack, [], |row| row.get(0))?,
            lost: database.query_row(
                "SELECT count(*) FROM loss WHERE kind = ?1",
                [kind],
                |row| row.get(0),
            )?,
        })
    }

    /// The title of a graph, and a description of its samples.
    pub fn title(&self, name: &str, arguments: &FlamegraphArguments) -> [String; 2] {
        let mut parts = Vec::new();
        let named = [
            ("process", &arguments.process),
            ("thread", &arguments.thread),
            ("during", &arguments.during),
        ];
        for (what, value) in named {
            parts.extend(value.as_ref().map(|value| format!("{what} {value}")));
        }
        for (what, time) in [("from", &arguments.from), ("to", &arguments.to)] {
            parts.extend(time.as_ref().map(|time| format!("{what} {time}")));
        }
        if arguments.reverse {
            parts.push("callers below the functions that they call".to_owned());
        }
        if let Some(other) = &arguments.diff {
            parts.push(format!(
                "a function itself has a larger share in red and a smaller one in blue, compared with {}",
                crate::page::name(other)
            ));
        }
        [format!("{} of {name}", self.of.about()), parts.join(", ")]
    }

    /// The sum of all weights.
    pub fn total(&self) -> i64 {
        let values = self.weights.values().map(|weight| weight.value(self.of));
        values.fold(0, i64::saturating_add)
    }
}

/// The times of threads in slices whose name matches: intervals that do not overlap, in order.
struct Slices(HashMap<i64, Vec<(i64, i64)>>);

impl Slices {
    fn of(database: &Connection, name: &str) -> anyhow::Result<Slices> {
        let sql = "SELECT t.utid, s.ts, iif(s.dur < 0, 9223372036854775807, s.ts + s.dur)
            FROM slice AS s JOIN thread_track AS t ON t.id = s.track_id
            WHERE s.name = ?1 OR s.name GLOB ?1 ORDER BY t.utid, s.ts";
        let mut statement = database.prepare(sql)?;
        let mut rows = statement.query([name])?;
        let mut threads: HashMap<i64, Vec<(i64, i64)>> = HashMap::new();
        while let Some(row) = rows.next()? {
            let (start, end): (i64, i64) = (row.get(1)?, row.get(2)?);
            let intervals = threads.entry(row.get(0)?).or_default();
            match intervals.last_mut() {
                Some((_, last)) if start <= *last => *last = end.max(*last),
                _ => intervals.push((start, end)),
            }
        }
        ensure!(
            !threads.is_empty(),
            "--during '{name}': no thread has a slice with this name; it can be a pattern ('*')"
        );
        Ok(Slices(threads))
    }

    /// Whether a thread was in one of the slices at a time.
    fn cover(&self, utid: Option<i64>, ts: i64) -> bool {
        let intervals = utid.and_then(|utid| self.0.get(&utid));
        intervals.is_some_and(|intervals| {
            let after = intervals.partition_point(|(start, _)| *start <= ts);
            let last = after.checked_sub(1).and_then(|last| intervals.get(last));
            last.is_some_and(|(_, end)| ts < *end)
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn nested_and_touching_slices_are_one_interval() {
        let conn = Connection::open_in_memory().unwrap();
        conn.execute_batch(
            "CREATE TABLE thread_track (id, utid);
             INSERT INTO thread_track VALUES (1, 7), (2, 8);
             CREATE TABLE slice (ts, dur, track_id, name);
             INSERT INTO slice VALUES (10, 10, 1, 'a'), (12, 2, 1, 'a'), (20, 5, 1, 'a'), (40, -1, 1, 'a'),
               (0, 100, 1, 'b'), (50, 1, 2, 'a');",
        )
        .unwrap();
        let slices = Slices::of(&conn, "a").unwrap();
        assert_eq!(slices.0[&7], [(10, 25), (40, i64::MAX)]);
        let covered = |utid, ts| slices.cover(utid, ts);
        assert!(covered(Some(7), 10) && covered(Some(7), 24) && covered(Some(7), i64::MAX - 1));
        assert!(!covered(Some(7), 9) && !covered(Some(7), 25) && !covered(Some(8), 51));
        assert!(covered(Some(8), 50) && !covered(Some(9), 50) && !covered(None, 50));
        assert!(Slices::of(&conn, "c").is_err());
    }
}
