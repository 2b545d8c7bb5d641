//! The table-valued functions: `clock_path` and `clock_path_linear` return a conversion, one row
//! for each hop; `boottime_interval` returns one row with the range of a reading's possible times.

use std::borrow::Cow;
use std::ffi::{CStr, c_int};
use std::marker::PhantomData;

use rusqlite::types::{Value, ValueRef};
use rusqlite::vtab::{
    Context, Filters, IndexConstraintOp, IndexInfo, Module, VTab, VTabConfig, VTabConnection,
    VTabCursor,
};
use rusqlite::{Connection, Error, Result, ffi};

use timebase_sql::{Arguments, Session, caught};

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
    fn declaration(self) -> &'static CStr {
        match self {
            Which::ClockPath => {
                c"CREATE TABLE clock_path (
  step INTEGER, from_clock TEXT, to_clock TEXT, snapshot_id INTEGER, from_value INTEGER,
  to_value INTEGER, value_in INTEGER, value_out INTEGER,
  clock_id HIDDEN, seq_id HIDDEN, ts HIDDEN, to_clock_id HIDDEN, to_seq_id HIDDEN,
  machine_id HIDDEN, trace_file_id HIDDEN)"
            }
            Which::ClockPathLinear => {
                c"CREATE TABLE clock_path_linear (
  step INTEGER, from_clock TEXT, to_clock TEXT, kind TEXT,
  before_snapshot_id INTEGER, before_from_value INTEGER, before_to_value INTEGER,
  after_snapshot_id INTEGER, after_from_value INTEGER, after_to_value INTEGER,
  rate REAL, error_ns REAL, value_in INTEGER, value_out INTEGER,
  clock_id HIDDEN, seq_id HIDDEN, ts HIDDEN, to_clock_id HIDDEN, to_seq_id HIDDEN,
  machine_id HIDDEN, trace_file_id HIDDEN)"
            }
            Which::BoottimeInterval => {
                c"CREATE TABLE boottime_interval (
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
    fn first_argument(self) -> c_int {
        match self {
            Which::ClockPath => 8,
            Which::ClockPathLinear => 14,
            Which::BoottimeInterval => 4,
        }
    }
}

type Rows = Vec<Vec<Value>>;

pub(super) fn register(conn: &Connection, session: &Session<Loaded>) -> Result<()> {
    const MODULE: Module<'_, ClockTable> = Module::eponymous_only_module();
    for which in Which::ALL {
        conn.create_module(which.name(), &MODULE, Some((which, session.clone())))?;
    }
    Ok(())
}

#[repr(C)]
struct ClockTable {
    /// SQLite's part; it must come first.
    base: ffi::sqlite3_vtab,
    db: *mut ffi::sqlite3,
    which: Which,
    session: Session<Loaded>,
}

// SAFETY: the struct is `repr(C)` and begins with `sqlite3_vtab`, as SQLite requires.
unsafe impl<'vtab> VTab<'vtab> for ClockTable {
    type Aux = (Which, Session<Loaded>);
    type Cursor = Cursor<'vtab>;

    fn connect(
        db: &mut VTabConnection,
        aux: Option<&Self::Aux>,
        _module_name: &[u8],
        _database_name: &[u8],
        _table_name: &[u8],
        _args: &[&[u8]],
    ) -> Result<(Cow<'static, CStr>, Self)> {
        db.config(VTabConfig::Innocuous)?;
        let (which, session) = aux.cloned().unwrap_or((Which::ClockPath, Session::default()));
        let vtab = ClockTable {
            base: ffi::sqlite3_vtab::default(),
            // SAFETY: a virtual table never outlives its connection.
            db: unsafe { db.handle() },
            which,
            session,
        };
        Ok((Cow::Borrowed(which.declaration()), vtab))
    }

    fn best_index(&self, info: &mut IndexInfo) -> Result<bool> {
        caught(|| plan(self.which, info))
    }

    fn open(&'vtab mut self) -> Result<Cursor<'vtab>> {
        Ok(Cursor {
            base: ffi::sqlite3_vtab_cursor::default(),
            db: self.db,
            which: self.which,
            session: self.session.clone(),
            arguments: Vec::new(),
            rows: Vec::new(),
            at: 0,
            phantom: PhantomData,
        })
    }
}

/// Requests the given arguments, and marks them in the index number. False if one is unusable.
fn plan(which: Which, info: &mut IndexInfo) -> Result<bool> {
    let mut given = vec![None; which.arguments().len()];
    let mut unusable = false;
    for (index, constraint) in info.constraints().enumerate() {
        let equal = constraint.operator() == IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_EQ;
        let position = usize::try_from(constraint.column() - which.first_argument());
        if let Some(slot) = position.ok().and_then(|position| given.get_mut(position))
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

#[repr(C)]
struct Cursor<'vtab> {
    /// SQLite's part; it must come first.
    base: ffi::sqlite3_vtab_cursor,
    db: *mut ffi::sqlite3,
    which: Which,
    session: Session<Loaded>,
    arguments: Vec<Option<Value>>,
    rows: Rows,
    at: usize,
    phantom: PhantomData<&'vtab ClockTable>,
}

impl Cursor<'_> {
    /// The rows for the given arguments.
    fn rows(&self) -> Result<Rows> {
        let name = self.which.name();
        let values: Vec<Option<ValueRef<'_>>> =
            self.arguments.iter().map(|value| value.as_ref().map(ValueRef::from)).collect();
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

    fn set_column(&self, ctx: &mut Context, column: c_int) -> Result<()> {
        let argument = usize::try_from(column - self.which.first_argument());
        let value = match argument {
            Ok(argument) => self.arguments.get(argument).cloned().flatten(),
            Err(_) => {
                let row = self.rows.get(self.at);
                let column = usize::try_from(column).unwrap_or(usize::MAX);
                row.and_then(|row| row.get(column)).cloned()
            }
        };
        ctx.set_result(value)
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

// SAFETY: the struct is `repr(C)` and begins with `sqlite3_vtab_cursor`.
unsafe impl VTabCursor for Cursor<'_> {
    fn filter(&mut self, given: c_int, _idx_str: Option<&str>, args: &Filters<'_>) -> Result<()> {
        if given & NEEDED != NEEDED {
            let name = self.which.name();
            let message = format!("{name}() needs the arguments (clock_id, seq_id, ts)");
            return Err(Error::ModuleError(message));
        }
        self.at = 0;
        self.rows.clear();
        caught(|| {
            self.arguments = arguments(self.which, given, args)?;
            self.rows = self.rows()?;
            Ok(())
        })
    }

    fn next(&mut self) -> Result<()> {
        self.at += 1;
        Ok(())
    }

    fn eof(&self) -> bool {
        self.at >= self.rows.len()
    }

    fn column(&self, ctx: &mut Context, column: c_int) -> Result<()> {
        caught(|| self.set_column(ctx, column))
    }

    fn rowid(&self) -> Result<i64> {
        Ok(self.at as i64)
    }
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
