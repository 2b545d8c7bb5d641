//! The table-valued functions: `clock_path` and `clock_path_linear` return a conversion, one row
//! for each hop; `boottime_interval` returns one row with the range of a reading's possible times.

use std::ffi::c_int;

use rusqlite::types::{Value, ValueRef};
use rusqlite::vtab::{Context, Filters, IndexConstraintOp, IndexInfo};
use rusqlite::{Connection, Error, Result, ffi};

use timebase_sql::module::{self, Connecting, VirtualTable};
use timebase_sql::{Arguments, Session};

use super::arguments::{ClockArguments, FROM, Owner, TO};
use super::snapshots::{Cache, Loaded, Snapshots};
use crate::graph::{Hop, SnapshotId};
use crate::linear::{Estimate, LinearHop};

/// A table-valued function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    ClockPath,
    ClockPathLinear,
    BoottimeInterval,
}

/// `clock_id`, `seq_id` and `ts` must be given.
const NEEDED: c_int = 0b111;

impl Which {
    const ALL: [Which; 3] = [Which::ClockPath, Which::ClockPathLinear, Which::BoottimeInterval];

    fn name(self) -> &'static str {
        match self {
            Which::ClockPath => "clock_path",
            Which::ClockPathLinear => "clock_path_linear",
            Which::BoottimeInterval => "boottime_interval",
        }
    }

    /// Its columns; the hidden ones are the arguments.
    fn declaration(self) -> &'static str {
        match self {
            Which::ClockPath => {
                "CREATE TABLE clock_path (
  step INTEGER, from_clock TEXT, to_clock TEXT, snapshot_id INTEGER, from_value INTEGER,
  to_value INTEGER, value_in INTEGER, value_out INTEGER,
  clock_id HIDDEN, seq_id HIDDEN, ts HIDDEN, to_clock_id HIDDEN, to_seq_id HIDDEN,
  machine_id HIDDEN, trace_file_id HIDDEN)"
            }
            Which::ClockPathLinear => {
                "CREATE TABLE clock_path_linear (
  step INTEGER, from_clock TEXT, to_clock TEXT, kind TEXT,
  before_snapshot_id INTEGER, before_from_value INTEGER, before_to_value INTEGER,
  after_snapshot_id INTEGER, after_from_value INTEGER, after_to_value INTEGER,
  rate REAL, error_ns REAL, value_in INTEGER, value_out INTEGER,
  clock_id HIDDEN, seq_id HIDDEN, ts HIDDEN, to_clock_id HIDDEN, to_seq_id HIDDEN,
  machine_id HIDDEN, trace_file_id HIDDEN)"
            }
            Which::BoottimeInterval => {
                "CREATE TABLE boottime_interval (
  earliest INTEGER, estimate INTEGER, latest INTEGER, kind TEXT,
  clock_id HIDDEN, seq_id HIDDEN, ts HIDDEN, machine_id HIDDEN,
  trace_file_id HIDDEN)"
            }
        }
    }

    /// The arguments, in order.
    fn arguments(self) -> &'static [&'static str] {
        match self {
            Which::ClockPath | Which::ClockPathLinear => &[
                "clock_id",
                "seq_id",
                "ts",
                "to_clock_id",
                "to_seq_id",
                "machine_id",
                "trace_file_id",
            ],
            Which::BoottimeInterval => &["clock_id", "seq_id", "ts", "machine_id", "trace_file_id"],
        }
    }

    /// The first of the hidden columns.
    fn first_argument(self) -> usize {
        match self {
            Which::ClockPath => 8,
            Which::ClockPathLinear => 14,
            Which::BoottimeInterval => 4,
        }
    }
}

type Rows = Vec<Vec<Value>>;

pub(super) fn register(conn: &Connection, session: &Session<Loaded>) -> Result<()> {
    for which in Which::ALL {
        module::register_function::<ClockTable>(
            conn,
            which.name(),
            Some((which, session.clone())),
        )?;
    }
    Ok(())
}

struct ClockTable {
    db: *mut ffi::sqlite3,
    which: Which,
    session: Session<Loaded>,
}

/// The arguments of a call, and its rows.
#[derive(Default)]
struct Answered {
    arguments: Vec<Option<Value>>,
    rows: Rows,
}

impl VirtualTable for ClockTable {
    type Aux = (Which, Session<Loaded>);
    type Cursor = Answered;

    fn connect(call: &Connecting<'_, Self::Aux>) -> Result<(String, ClockTable)> {
        let (which, session) = call.aux.cloned().unwrap_or((Which::ClockPath, Session::default()));
        Ok((which.declaration().to_owned(), ClockTable { db: call.conn, which, session }))
    }

    fn plan(&self, info: &mut IndexInfo) -> Result<bool> {
        plan(self.which, info)
    }

    fn open(&self) -> Answered {
        Answered::default()
    }

    fn begin(
        &self,
        answered: &mut Answered,
        given: c_int,
        _plan: &str,
        args: &Filters<'_>,
    ) -> Result<()> {
        if given & NEEDED != NEEDED {
            let name = self.which.name();
            let message = format!("{name}() needs the arguments (clock_id, seq_id, ts)");
            return Err(Error::ModuleError(message));
        }
        answered.rows.clear();
        answered.arguments = arguments(self.which, given, args)?;
        answered.rows = self.rows(&answered.arguments)?;
        Ok(())
    }

    fn is_end(&self, answered: &Answered, at: usize) -> bool {
        at >= answered.rows.len()
    }

    fn column(
        &self,
        answered: &Answered,
        at: usize,
        column: usize,
        ctx: &mut Context,
    ) -> Result<()> {
        let value = match column.checked_sub(self.which.first_argument()) {
            Some(argument) => answered.arguments.get(argument).and_then(Option::as_ref),
            None => answered.rows.get(at).and_then(|row| row.get(column)),
        };
        ctx.set_result(value)
    }
}

/// Requests the given arguments, and marks them in the index number. False if one is unusable.
fn plan(which: Which, info: &mut IndexInfo) -> Result<bool> {
    let mut given = vec![None; which.arguments().len()];
    let mut unusable = false;
    for (index, constraint) in info.constraints().enumerate() {
        let equal = constraint.operator() == IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_EQ;
        let column = usize::try_from(constraint.column()).ok();
        let position = column.and_then(|column| column.checked_sub(which.first_argument()));
        if let Some(slot) = position.and_then(|position| given.get_mut(position))
            && equal
        {
            unusable |= !constraint.is_usable();
            *slot = Some(index);
        }
    }
    if unusable {
        return Ok(false);
    }
    let mut mask = 0;
    let mut arguments = 0;
    for (position, constraint) in given.iter().enumerate() {
        if let Some(constraint) = constraint {
            mask |= 1 << position;
            arguments += 1;
            let mut usage = info.constraint_usage(*constraint);
            usage.set_argv_index(arguments);
            usage.set_omit(true);
        }
    }
    info.set_idx_num(mask);
    info.set_estimated_cost(10.0);
    info.set_estimated_rows(3);
    Ok(true)
}

impl ClockTable {
    /// The rows for the given arguments.
    fn rows(&self, arguments: &[Option<Value>]) -> Result<Rows> {
        let name = self.which.name();
        let values: Vec<Option<ValueRef<'_>>> =
            arguments.iter().map(|value| value.as_ref().map(ValueRef::from)).collect();
        match self.which {
            Which::ClockPath | Which::ClockPathLinear => self.hops(name, values),
            Which::BoottimeInterval => self.interval(&Arguments::new(name, &values[..])),
        }
    }

    fn hops(&self, name: &'static str, mut values: Vec<Option<ValueRef<'_>>>) -> Result<Rows> {
        // The target's sequence is optional.
        if let Some(seq) = values.get_mut(TO[1].0) {
            seq.get_or_insert(ValueRef::Integer(0));
        }
        let arguments = Arguments::new(name, &values[..]);
        let owner = Owner::OF_TWO;
        let mut named = false;
        let from = arguments.reading(owner, &mut named)?;
        let has_target = arguments.has(TO[0].0);
        let to = match has_target {
            false => None,
            true => arguments.clock(TO, owner, &mut named)?,
        };
        let names = named.then_some(has_target);
        self.asked(&arguments, names, |snapshots, cache| {
            let Some((from, ticks)) = from else {
                return Ok(Rows::new());
            };
            if has_target && to.is_none() {
                return Ok(Rows::new());
            }
            let from = arguments.found(FROM[0], owner, from, snapshots)?;
            let to = match to {
                None => snapshots.boottime(),
                Some(to) => arguments.found(TO[0], owner, to, snapshots)?,
            };
            if self.which == Which::ClockPathLinear {
                let hops = snapshots.explain_linear(from, ticks, to, cache).into_iter();
                let hops = hops.enumerate();
                return Ok(hops.map(|(step, hop)| linear_hop_row(step, &hop, snapshots)).collect());
            }
            let hops = snapshots.explain(from, ticks, to, cache).into_iter();
            let rows = hops.enumerate().map(|(step, hop)| {
                let snapshot = snapshots.snapshot_id(hop.snapshot);
                hop_row(step, &hop, snapshot)
            });
            Ok(rows.collect())
        })
    }

    fn interval(&self, arguments: &Arguments<'_, [Option<ValueRef<'_>>]>) -> Result<Rows> {
        let owner = Owner::OF_ONE;
        let mut named = false;
        let from = arguments.reading(owner, &mut named)?;
        self.asked(arguments, named.then_some(false), |snapshots, cache| {
            let Some((from, ticks)) = from else {
                return Ok(Rows::new());
            };
            let from = arguments.found(FROM[0], owner, from, snapshots)?;
            let estimate = snapshots.estimate(from, ticks, snapshots.boottime(), cache);
            Ok(estimate.iter().map(interval_row).collect())
        })
    }

    /// The data from the snapshots. `named` says whether names of clocks have to be checked, and
    /// whether one of them is the target.
    fn asked(
        &self,
        arguments: &Arguments<'_, [Option<ValueRef<'_>>]>,
        named: Option<bool>,
        ask: impl FnOnce(&Snapshots, &mut Cache) -> timebase_sql::Result<Rows>,
    ) -> Result<Rows> {
        // SAFETY: the connection is open while one of its statements runs.
        let conn = unsafe { Connection::from_handle(self.db) }?;
        let rows = self.session.now(self.which.name(), &conn, |loaded| {
            let Loaded { snapshots, cache } = loaded;
            if let Some(has_target) = named {
                arguments.check_names(has_target, snapshots)?;
            }
            ask(snapshots, cache)
        })?;
        Ok(rows?)
    }
}

fn hop_row(step: usize, hop: &Hop, snapshot_id: Option<i64>) -> Vec<Value> {
    vec![
        Value::Integer(step as i64 + 1),
        Value::Text(hop.from.to_string()),
        Value::Text(hop.to.to_string()),
        snapshot_id.into(),
        Value::Integer(hop.from_value),
        Value::Integer(hop.to_value),
        wide(hop.value_in),
        wide(hop.value_out),
    ]
}

fn linear_hop_row(step: usize, hop: &LinearHop, snapshots: &Snapshots) -> Vec<Value> {
    let reading = |around: Option<(Option<SnapshotId>, i64, i64)>| match around {
        Some((snapshot, from, to)) => [
            snapshot.and_then(|snapshot| snapshots.snapshot_id(snapshot)).into(),
            Value::Integer(from),
            Value::Integer(to),
        ],
        None => [Value::Null, Value::Null, Value::Null],
    };
    let mut row = vec![
        Value::Integer(step as i64 + 1),
        Value::Text(hop.from.to_string()),
        Value::Text(hop.to.to_string()),
        Value::Text(hop.kind.name().to_owned()),
    ];
    row.extend(reading(hop.before));
    row.extend(reading(hop.after));
    row.extend([
        Value::Real(hop.rate),
        match hop.error_ns.is_finite() {
            true => Value::Real(hop.error_ns),
            false => Value::Null,
        },
        wide(hop.value_in),
        wide(hop.value_out),
    ]);
    row
}

fn interval_row(estimate: &Estimate) -> Vec<Value> {
    let (earliest, latest) = estimate.interval().unzip();
    vec![
        earliest.into(),
        Value::Integer(estimate.value.0),
        latest.into(),
        Value::Text(estimate.kind.name().to_owned()),
    ]
}

/// The given arguments, each at its position.
fn arguments(which: Which, given: c_int, args: &Filters<'_>) -> Result<Vec<Option<Value>>> {
    let mut next = 0;
    let mut arguments = Vec::with_capacity(which.arguments().len());
    for (position, name) in which.arguments().iter().enumerate() {
        let is_given = given & (1 << position) != 0;
        arguments.push(match is_given.then(|| args.get(next)) {
            None => None,
            Some(Ok(value)) => Some(value),
            Some(Err(_)) => {
                let (function, number) = (which.name(), position + 1);
                let message = format!("{function}(): argument {number} ({name}) must be UTF-8");
                return Err(timebase_sql::Error::new(message).into());
            }
        });
        next += usize::from(is_given);
    }
    Ok(arguments)
}

/// A value between two hops may not fit; the nearest number is the best answer.
fn wide(value: i128) -> Value {
    match i64::try_from(value) {
        Ok(value) => Value::Integer(value),
        Err(_) => Value::Real(value as f64),
    }
}
