//! The solved clock graph: the tables that the views `clock_mapping` and
//! `clock_mapping_linear` read, and the tables about hops.
//!
//! # Design
//!
//! A clock of several hops has a row for every step of every clock on its path, so 10,000 clocks
//! over a MONOTONIC of 1,000 snapshots would have ten million rows. If there are too many rows
//! together, the clocks of several hops get only the steps and lines that readings of their packets
//! fall in. The steps of one hop are complete, unless it is by lines (rule AL20), whose steps are of
//! 1 ns. Rows of lines are wider, and there are two lines for a step, so the lines of one hop are
//! limited too. The alternative was a view that composes the hops in SQL; but every JOIN would
//! compose them again.
//!
//! Rows are written as they are found, clock by clock in the order of the tables.

use rusqlite::{Connection, Statement, params_from_iter};
use rustc_hash::{FxHashMap, FxHashSet};
use timebase_resolver::{
    Clock, ClockId, ClockNs, EstimateCache, Estimates, FileTag, Fit, Line, MachineId, OffLine,
    OwnClocks, Scope, SeqId, Source, Step,
};
use timebase_schema::{Row, tables};
use timebase_store::btree::Value;

use super::sink::{SolvedSink, StepRow};
use super::writer::owned;
use crate::error::WriteError;
use crate::place::{Place, file_id, file_key, shared, table_order};

/// The limit for the steps of clocks of several hops together, and for the lines of all clocks.
const WHOLE_ROWS: usize = 1 << 20;

/// Estimates of more bytes are kept only as long as the next clock needs a hop that earlier clocks had, and never
/// more than this and the most that one clock needs.
const KEPT: usize = 4 << 20;

/// The mappings that are still incomplete when SQLite opens the database again.
pub(crate) struct Solved {
    partial: Vec<Partial>,
}

/// Clocks whose complete mappings would have too many rows.
struct Partial {
    from: Vec<PartialClock>,
    to: Clock,
}

struct PartialClock {
    clock: Clock,
    route: i64,
    lacks_steps: bool,
    lacks_lines: bool,
}

/// The conversions while they are written.
struct Solver<'a, S> {
    writer: &'a mut S,
    estimates: &'a Estimates,
    cache: EstimateCache,
    routes: i64,
    /// The written hops, by the numbers of their clocks in the graph.
    hops: FxHashSet<(u32, u32)>,
    readings: i64,
    /// The most bytes of estimates that one clock needs.
    largest: usize,
}

/// The completeness of the mappings to a clock: for the steps of clocks of several hops, the lines of
/// all clocks, and the lines of clocks of one hop.
struct Whole {
    steps: bool,
    lines: bool,
    near_lines: bool,
}

impl Solved {
    /// Fills the tables, but for clocks that need [`Solved::insert_used`].
    /// Ends early if `is_cancelled` says so.
    pub fn write(
        writer: &mut impl SolvedSink,
        place: &mut Place,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Solved, WriteError> {
        let trace_time = place.trace_time();
        let boottime = shared(trace_time.machine, ClockId::BOOTTIME);
        let mut targets = vec![boottime, trace_time];
        targets.sort_unstable();
        targets.dedup();
        let all = place.all_clocks();
        let partial = place.with_estimates(|_, estimates, _| {
            let mut solver = Solver {
                writer,
                estimates,
                cache: EstimateCache::new(),
                routes: 0,
                hops: FxHashSet::default(),
                readings: 0,
                largest: 0,
            };
            solver.write_all(&all, &targets, is_cancelled)
        });
        Ok(Solved { partial: partial? })
    }

    /// Whether some mappings lack steps, and whether some lack lines.
    pub fn lacks(&self) -> (bool, bool) {
        let mut clocks = self.partial.iter().flat_map(|partial| &partial.from);
        let steps = clocks.clone().any(|clock| clock.lacks_steps);
        (steps, clocks.any(|clock| clock.lacks_lines))
    }

    /// Adds the steps and lines that readings of packets fall in.
    ///
    /// Packets are read in file order, in which the readings of a clock stay in one step
    /// for a while. The alternative was a query that returns each step once: SQLite sorts all
    /// packets for it, which took longer than their import.
    pub fn insert_used(&self, conn: &Connection, place: &mut Place) -> rusqlite::Result<()> {
        place.with_estimates(|_, estimates, _| {
            let mut partial = self.partial.iter();
            partial.try_for_each(|partial| partial.insert_used(conn, estimates))
        })
    }
}

impl<S: SolvedSink> Solver<'_, S> {
    fn write_all(
        &mut self,
        all: &[Clock],
        targets: &[Clock],
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Vec<Partial>, WriteError> {
        let none = |&to: &Clock| Partial { from: Vec::new(), to };
        let mut partial: Vec<Partial> = targets.iter().map(none).collect();
        let whole: Vec<Whole> = targets.iter().map(|&to| self.whole(all, to)).collect();
        for (number, &from) in all.iter().enumerate() {
            if is_cancelled() {
                break;
            }
            let before = self.cache.kept();
            for (partial, whole) in partial.iter_mut().zip(&whole) {
                let is_far = self.is_far(from, partial.to);
                let steps = (whole.steps || !is_far) && !self.is_by_lines(from, partial.to);
                let lines = whole.lines || whole.near_lines && !is_far;
                let route = self.write_route(from, partial.to, steps, lines)?;
                if !(steps && lines) {
                    partial.from.push(PartialClock {
                        clock: from,
                        route,
                        lacks_steps: !steps,
                        lacks_lines: !lines,
                    });
                }
            }
            self.largest = self.largest.max(self.cache.kept().saturating_sub(before));
            self.forget_if_large(all.get(number + 1), targets);
        }
        partial.retain(|partial| !partial.from.is_empty());
        Ok(partial)
    }

    /// Forgets estimates that are large, unless the next clock has hops of earlier clocks.
    fn forget_if_large(&mut self, next: Option<&Clock>, targets: &[Clock]) {
        let kept = self.cache.kept();
        if kept <= KEPT {
            return;
        }
        let graph = self.estimates.graph();
        let number = |clock: Clock| graph.number(clock).map_or(u32::MAX, |number| number as u32);
        let is_known = |hop: &[Clock]| self.hops.contains(&(number(hop[0]), number(hop[1])));
        let shares = next.is_some_and(|&next| {
            targets.iter().any(|&to| {
                let path = graph.path(next, to, self.cache.conversions());
                path.is_ok_and(|path| path.windows(2).any(is_known))
            })
        });
        if !shares || kept > KEPT + self.largest {
            self.cache.forget();
        }
    }

    /// Finds out which mappings have few enough rows.
    fn whole(&mut self, all: &[Clock], to: Clock) -> Whole {
        let (mut near, mut far) = (0, 0);
        for &from in all {
            let lines = self.estimates.lines_at_most(from, to, &mut self.cache).unwrap_or(0);
            *if self.is_far(from, to) { &mut far } else { &mut near } += lines;
        }
        Whole {
            steps: self.fit(all, to),
            lines: near + far <= WHOLE_ROWS,
            near_lines: near <= WHOLE_ROWS,
        }
    }

    /// Whether there are several hops from one clock to another.
    fn is_far(&mut self, from: Clock, to: Clock) -> bool {
        let graph = self.estimates.graph();
        let path = graph.path(from, to, self.cache.conversions());
        path.is_ok_and(|path| path.len() > 2)
    }

    /// Whether a hop from one clock to another is by lines (rule AL20): then its steps are of 1 ns,
    /// and far too many.
    fn is_by_lines(&mut self, from: Clock, to: Clock) -> bool {
        let graph = self.estimates.graph();
        let mapping = graph.mapping(from, to, self.cache.conversions());
        mapping.is_ok_and(|mapping| mapping.is_by_lines())
    }

    /// Whether the mappings of the clocks of several hops have few enough rows.
    fn fit(&mut self, all: &[Clock], to: Clock) -> bool {
        let mut room = WHOLE_ROWS;
        all.iter().all(|&from| {
            if !self.is_far(from, to) || self.is_by_lines(from, to) {
                return true;
            }
            let graph = self.estimates.graph();
            let mapping = graph.mapping(from, to, self.cache.conversions());
            let steps =
                mapping.map_or(0, |mapping| mapping.steps().take(room.saturating_add(1)).count());
            let fits = steps <= room;
            room = room.saturating_sub(steps);
            fits
        })
    }

    /// Writes the route of a clock with its hops, and its steps and lines if they are to be
    /// complete.
    fn write_route(
        &mut self,
        from: Clock,
        to: Clock,
        steps: bool,
        lines: bool,
    ) -> Result<i64, WriteError> {
        let graph = self.estimates.graph();
        let Ok(path) = graph.path(from, to, self.cache.conversions()) else {
            return Ok(0);
        };
        let id = self.routes;
        self.routes += 1;
        self.writer.route(tables::clock_route::Row {
            machine_id: Some(from.machine.0.into()),
            clock_id: Some(from.id.get().into()),
            seq_id: Some(from.seq.0.into()),
            file: Some(file_key(from.file)),
            to_clock_id: Some(to.id.get().into()),
            id: Some(id),
        })?;
        if steps && let Ok(mapping) = graph.mapping(from, to, self.cache.conversions()) {
            for row in mapping.steps().filter_map(|step| step_row(from, to, step)) {
                self.writer.step(row)?;
            }
        }
        if lines && let Ok(lines) = self.estimates.lines(from, to, &mut self.cache) {
            for line in lines {
                if let Some(row) = line_row(id, &line) {
                    self.writer.line(row)?;
                }
            }
        }
        self.write_hops(from, to, &path)?;
        Ok(id)
    }

    /// Writes the hops of a path that no earlier path had.
    fn write_hops(&mut self, from: Clock, to: Clock, path: &[Clock]) -> Result<(), WriteError> {
        let graph = self.estimates.graph();
        let number = |clock: Clock| graph.number(clock).map_or(u32::MAX, |number| number as u32);
        let is_new = |hop: &[Clock]| !self.hops.contains(&(number(hop[0]), number(hop[1])));
        if !path.windows(2).any(is_new) {
            return Ok(());
        }
        let Ok(fits) = self.estimates.fits(from, to, &mut self.cache) else {
            return Ok(());
        };
        for (from, to, source, fit) in fits {
            let id = self.hops.len() as i64;
            if !self.hops.insert((number(from), number(to))) {
                continue;
            }
            let names = [from, to].map(|clock| clock.to_string());
            let row = hop_row([from, to], &names, source, fit);
            self.writer.hop(id, row)?;
            let kinds = [("outlier", &fit.outliers), ("step", &fit.steps)];
            for (kind, readings) in kinds {
                for reading in readings {
                    let row = reading_row(id, kind, reading);
                    self.writer.reading(self.readings, row)?;
                    self.readings += 1;
                }
            }
        }
        Ok(())
    }
}

impl Partial {
    fn insert_used(&self, conn: &Connection, estimates: &Estimates) -> rusqlite::Result<()> {
        let Partial { from, to } = self;
        let mut cache = EstimateCache::in_order();
        // The step and the line of each clock's last reading.
        let mut last: Vec<(Option<Step>, Option<Line>)> = vec![(None, None); from.len()];
        // Each step and line may be found more than once.
        let insert = |table: &timebase_schema::Table| {
            conn.prepare(&table.insert().replacen("INSERT", "INSERT OR IGNORE", 1))
        };
        let mut insert_step = insert(&tables::clock_step::TABLE)?;
        let mut insert_line = insert(&tables::clock_line::TABLE)?;
        let readings = PacketReadings::new(conn)?;
        let mut select = readings.select(conn)?;
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            let Some((clock, ticks)) = readings.read(row)? else {
                continue;
            };
            let key = table_order(&clock);
            let Ok(index) = from.binary_search_by_key(&key, |from| table_order(&from.clock)) else {
                continue;
            };
            let clock = from[index].clock;
            let unit = estimates.graph().unit(clock);
            let Some(value) = ticks.checked_mul(unit.map_or(1, |unit| unit.ns)) else {
                continue;
            };
            let of_clock = &from[index];
            let (last_step, last_line) = &mut last[index];
            if of_clock.lacks_steps
                && !last_step.is_some_and(|step| step.holds(value))
                && let graph = estimates.graph()
                && let Ok(mapping) = graph.mapping(clock, *to, cache.conversions())
            {
                let step = mapping.at(value);
                *last_step = Some(step);
                if let Some(row) = step_row(clock, *to, step) {
                    insert_step.execute(row.cells())?;
                }
            }
            if of_clock.lacks_lines
                && !last_line.is_some_and(|line| line.holds(value))
                && let Ok(line) = estimates.line(clock, ClockNs(value), *to, &mut cache)
            {
                *last_line = Some(line);
                if let Some(row) = line_row(of_clock.route, &line) {
                    insert_line.execute(params_from_iter(row.cells().map(owned)))?;
                }
            }
        }
        Ok(())
    }
}

/// The data to find the clock of a packet's reading. This is done for every packet, so small tables
/// are looked up here and not by SQL, and SQL only looks up other files of clocks if any packet has
/// one.
struct PacketReadings {
    /// By file and machine, the first packet from which the part uses the clocks of its own file,
    /// and whether the part is pinned.
    parts: FxHashMap<(u32, u32), (Option<i64>, bool)>,
    /// Whether any packet's clock belongs to another file than the clocks of its part.
    has_others: bool,
}

impl PacketReadings {
    fn new(conn: &Connection) -> rusqlite::Result<PacketReadings> {
        let parts = "SELECT trace_file_id, machine_id, own_from, is_pinned FROM part";
        let mut parts = conn.prepare(parts)?;
        let parts = parts
            .query_map([], |row| Ok(((row.get(0)?, row.get(1)?), (row.get(2)?, row.get(3)?))))?;
        let others = "SELECT EXISTS (SELECT * FROM packet_clock_record)";
        Ok(PacketReadings {
            parts: parts.collect::<rusqlite::Result<_>>()?,
            has_others: conn.query_row(others, [], |row| row.get(0))?,
        })
    }

    /// All packets with a reading, in file order.
    fn select<'c>(&self, conn: &'c Connection) -> rusqlite::Result<Statement<'c>> {
        let other = match self.has_others {
            true => "(SELECT x.file FROM packet_clock_record AS x WHERE x.packet_id = p.id)",
            false => "NULL",
        };
        conn.prepare(&format!(
            "SELECT c.machine_id, c.clock_id, c.seq_id, coalesce(p.ts + c.clock_offset, p.clock_ts), c.trace_file_id,
                    p.id, {other}
             FROM packet_record AS p CROSS JOIN packet_common AS c ON c.id = p.common_id
             WHERE coalesce(c.clock_offset, p.clock_ts) IS NOT NULL"
        ))
    }

    /// The clock and the reading of a row. The order of the clock's file is unknown, but the order
    /// of the tables does not depend on it.
    fn read(&self, row: &rusqlite::Row<'_>) -> rusqlite::Result<Option<(Clock, i64)>> {
        let (machine, file): (u32, u32) = (row.get(0)?, row.get(4)?);
        let Some(&(own_from, is_pinned)) = self.parts.get(&(file, machine)) else {
            return Ok(None);
        };
        let (id, seq) = (ClockId(row.get(1)?), SeqId(row.get(2)?));
        let packet: i64 = row.get(5)?;
        let all = own_from.is_some_and(|own_from| packet >= own_from);
        let own = OwnClocks { all, pin: is_pinned };
        let tag = FileTag { order: 1, id: file };
        let mut clock = Clock::in_file(MachineId(machine), id, seq, tag, own);
        if let Some(other) = row.get::<_, Option<i64>>(6)?
            && id.scope() != Scope::Sequence
        {
            let other = u32::try_from(other).map(|id| FileTag { order: 1, id });
            clock.file = other.unwrap_or(FileTag::SHARED);
        }
        Ok(Some((clock, row.get(3)?)))
    }
}

/// The row of a step; none if its values overflow (rule V6).
fn step_row(from: Clock, to: Clock, step: Step) -> Option<StepRow> {
    let offset = step.offset?;
    Some(tables::clock_step::Row {
        machine_id: Some(from.machine.0.into()),
        clock_id: Some(from.id.get().into()),
        seq_id: Some(from.seq.0.into()),
        file: Some(file_key(from.file)),
        to_clock_id: Some(to.id.get().into()),
        start_value: Some(step.start.unwrap_or(i64::MIN)),
        end_value: step.end,
        offset: Some(offset),
    })
}

/// The row of a line; none if its values overflow (rule R7).
fn line_row(route: i64, line: &Line) -> Option<tables::clock_line::Row<Value<'static>>> {
    let offset = line.offset?;
    let error = line.known_error();
    Some(tables::clock_line::Row {
        route_id: Value::Integer(route),
        start_value: Value::Integer(line.start.unwrap_or(i64::MIN)),
        end_value: line.end.into(),
        offset: Value::Integer(offset),
        slope: Value::Real(line.slope),
        error: error.map_or(Value::Null, |(error, _)| Value::Real(error)),
        error_slope: Value::Real(error.map_or(0.0, |(_, slope)| slope)),
        kind: Value::Text(line.kind.name()),
    })
}

fn hop_row<'v>(
    [from, to]: [Clock; 2],
    names: &'v [String; 2],
    source: Option<Source>,
    fit: &Fit,
) -> tables::clock_hop::Row<Value<'v>> {
    let number = |number: u32| Value::Integer(number.into());
    let count = |count: usize| Value::Integer(count as i64);
    let file = |clock: Clock| file_id(clock.file).map_or(Value::Null, number);
    let real = |real: Option<f64>| match real {
        Some(real) if real.is_finite() => Value::Real(real),
        _ => Value::Null,
    };
    tables::clock_hop::Row {
        id: Value::Null,
        machine_id: number(from.machine.0),
        clock_id: number(from.id.get()),
        seq_id: number(from.seq.0),
        trace_file_id: file(from),
        to_machine_id: number(to.machine.0),
        to_clock_id: number(to.id.get()),
        to_seq_id: number(to.seq.0),
        to_trace_file_id: file(to),
        from_clock: Value::Text(&names[0]),
        to_clock: Value::Text(&names[1]),
        source: source.map_or(Value::Null, |source| Value::Text(source.name())),
        readings: count(fit.readings),
        kin: fit.kinship().map_or(Value::Null, |kin| Value::Text(kin.name())),
        nominal_rate: real(Some(fit.nominal_rate)),
        drift_ppm: real(fit.drift_ppm()),
        drift_error_ppm: real(fit.drift_error_ppm()),
        drift_spread_ppm: real(Some(fit.drift_spread_ppm())),
        noise_ns: real(Some(fit.noise_ns)),
        steps: count(fit.steps.len()),
        outliers: count(fit.outliers.len()),
        worst_error_ns: real(Some(fit.worst_error_ns)),
        worst_error_nearest_ns: real(Some(fit.worst_error_nearest_ns)),
        interval_for_1us_s: real(fit.interval_s(1000.0)),
    }
}

fn reading_row(
    hop: i64,
    kind: &'static str,
    reading: &OffLine,
) -> tables::clock_hop_reading::Row<Value<'static>> {
    tables::clock_hop_reading::Row {
        id: Value::Null,
        hop_id: Value::Integer(hop),
        snapshot_id: reading.snapshot.map(|snapshot| i64::from(snapshot.0)).into(),
        from_value: Value::Integer(reading.from_value),
        to_value: Value::Integer(reading.to_value),
        kind: Value::Text(kind),
        deviation_ns: Value::Real(reading.deviation_ns),
    }
}
