//! `clock_path`: a conversion as rows, one a hop.

use std::borrow::Cow;
use std::ffi::{CStr, c_int};
use std::marker::PhantomData;

use rusqlite::types::{Value, ValueRef};
use rusqlite::vtab::{
    Context, Filters, IndexConstraintOp, IndexInfo, Module, VTab, VTabConfig, VTabConnection,
    VTabCursor,
};
use rusqlite::{Connection, Error, Result, ffi};

use timebase_sqlfn::{Arguments, Session, caught};

use super::arguments::{ClockArguments, TO};
use super::snapshots::Snapshots;
use crate::clock::Clock;
use crate::graph::Hop;

const NAME: &str = "clock_path";

const DECLARATION: &CStr = c"CREATE TABLE clock_path (
  step INTEGER, from_clock TEXT, to_clock TEXT, snapshot_id INTEGER, from_value INTEGER,
  to_value INTEGER, value_in INTEGER, value_out INTEGER,
  clock_id HIDDEN, seq_id HIDDEN, ts HIDDEN, to_clock_id HIDDEN, to_seq_id HIDDEN,
  machine_id HIDDEN)";

/// The hidden columns, which are the arguments.
const ARGUMENT_NAMES: [&str; ARGUMENTS] = [
    "clock_id",
    "seq_id",
    "ts",
    "to_clock_id",
    "to_seq_id",
    "machine_id",
];

/// The first of the hidden columns, which are the arguments.
const FIRST_ARGUMENT: c_int = 8;
const ARGUMENTS: usize = 6;
/// `clock_id`, `seq_id` and `ts` must be given.
const NEEDED: c_int = 0b111;

pub(super) fn register(conn: &Connection, session: &Session<Snapshots>) -> Result<()> {
    const MODULE: Module<'_, ClockPath> = Module::eponymous_only_module();
    conn.create_module(c"clock_path", &MODULE, Some(session.clone()))
}

#[repr(C)]
struct ClockPath {
    /// SQLite's part; it must come first.
    base: ffi::sqlite3_vtab,
    db: *mut ffi::sqlite3,
    session: Session<Snapshots>,
}

// SAFETY: the struct is `repr(C)` and begins with `sqlite3_vtab`, as SQLite
// wants it.
unsafe impl<'vtab> VTab<'vtab> for ClockPath {
    type Aux = Session<Snapshots>;
    type Cursor = Cursor<'vtab>;

    fn connect(
        db: &mut VTabConnection,
        session: Option<&Session<Snapshots>>,
        _module_name: &[u8],
        _database_name: &[u8],
        _table_name: &[u8],
        _args: &[&[u8]],
    ) -> Result<(Cow<'static, CStr>, Self)> {
        db.config(VTabConfig::Innocuous)?;
        let vtab = ClockPath {
            base: ffi::sqlite3_vtab::default(),
            // SAFETY: a virtual table never outlives its connection.
            db: unsafe { db.handle() },
            session: session.cloned().unwrap_or_default(),
        };
        Ok((Cow::Borrowed(DECLARATION), vtab))
    }

    fn best_index(&self, info: &mut IndexInfo) -> Result<bool> {
        caught(|| plan(info))
    }

    fn open(&'vtab mut self) -> Result<Cursor<'vtab>> {
        Ok(Cursor {
            base: ffi::sqlite3_vtab_cursor::default(),
            db: self.db,
            session: self.session.clone(),
            arguments: Vec::new(),
            hops: Vec::new(),
            at: 0,
            phantom: PhantomData,
        })
    }
}

/// Which arguments are given.
fn plan(info: &mut IndexInfo) -> Result<bool> {
    let mut given = [None; ARGUMENTS];
    let mut unusable = false;
    for (index, constraint) in info.constraints().enumerate() {
        let equal = constraint.operator() == IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_EQ;
        let position = usize::try_from(constraint.column() - FIRST_ARGUMENT);
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
    session: Session<Snapshots>,
    arguments: Vec<Option<Value>>,
    hops: Vec<(Hop, Option<i64>)>,
    at: usize,
    phantom: PhantomData<&'vtab ClockPath>,
}

impl Cursor<'_> {
    /// The hops, and the `snapshot_id` that each used.
    fn hops(&self) -> Result<Vec<(Hop, Option<i64>)>> {
        let mut values: Vec<Option<ValueRef<'_>>> = self
            .arguments
            .iter()
            .map(|value| value.as_ref().map(ValueRef::from))
            .collect();
        // The target's sequence need not be given.
        if let Some(seq) = values.get_mut(TO[1].0) {
            seq.get_or_insert(ValueRef::Integer(0));
        }
        let arguments = Arguments::new(NAME, &values[..]);
        let mut named = false;
        let from = arguments.reading(5, &mut named)?;
        let has_target = arguments.has(TO[0].0);
        let to = match has_target {
            false => Some(Clock::BOOTTIME),
            true => arguments.clock(TO, 5, &mut named)?,
        };
        // SAFETY: the connection is open while one of its statements runs.
        let conn = unsafe { Connection::from_handle(self.db) }?;
        if named {
            self.session.now(NAME, &conn, |snapshots| {
                arguments.check_names(has_target, snapshots)
            })??;
        }
        let (Some((from, ticks)), Some(to)) = (from, to) else {
            return Ok(Vec::new());
        };
        let hops = self.session.now(NAME, &conn, |snapshots| {
            let hops = snapshots.explain(from, ticks, to).into_iter();
            hops.map(|hop| (hop, snapshots.snapshot_id(hop.snapshot)))
                .collect()
        })?;
        Ok(hops)
    }

    fn set_column(&self, ctx: &mut Context, column: c_int) -> Result<()> {
        let Some(&(hop, snapshot_id)) = self.hops.get(self.at) else {
            return Ok(());
        };
        match column {
            0 => ctx.set_result(self.at as i64 + 1),
            1 => ctx.set_result(hop.from.to_string()),
            2 => ctx.set_result(hop.to.to_string()),
            3 => ctx.set_result(snapshot_id),
            4 => ctx.set_result(hop.from_value),
            5 => ctx.set_result(hop.to_value),
            6 => set_wide(ctx, hop.value_in),
            7 => set_wide(ctx, hop.value_out),
            argument => {
                let position = usize::try_from(argument - FIRST_ARGUMENT).unwrap_or(usize::MAX);
                ctx.set_result(self.arguments.get(position).cloned().flatten())
            }
        }
    }
}

// SAFETY: the struct is `repr(C)` and begins with `sqlite3_vtab_cursor`.
unsafe impl VTabCursor for Cursor<'_> {
    fn filter(&mut self, given: c_int, _idx_str: Option<&str>, args: &Filters<'_>) -> Result<()> {
        if given & NEEDED != NEEDED {
            let message = "clock_path() needs the arguments (clock_id, seq_id, ts)";
            return Err(Error::ModuleError(message.into()));
        }
        self.at = 0;
        self.hops.clear();
        caught(|| {
            self.arguments = arguments(given, args)?;
            self.hops = self.hops()?;
            Ok(())
        })
    }

    fn next(&mut self) -> Result<()> {
        self.at += 1;
        Ok(())
    }

    fn eof(&self) -> bool {
        self.at >= self.hops.len()
    }

    fn column(&self, ctx: &mut Context, column: c_int) -> Result<()> {
        caught(|| self.set_column(ctx, column))
    }

    fn rowid(&self) -> Result<i64> {
        Ok(self.at as i64)
    }
}

/// Those of the arguments that are given, each at its position.
fn arguments(given: c_int, args: &Filters<'_>) -> Result<Vec<Option<Value>>> {
    let mut next = 0;
    let mut arguments = Vec::with_capacity(ARGUMENTS);
    for (position, name) in ARGUMENT_NAMES.iter().enumerate() {
        let is_given = given & (1 << position) != 0;
        arguments.push(match is_given.then(|| args.get(next)) {
            None => None,
            Some(Ok(value)) => Some(value),
            Some(Err(_)) => {
                let number = position + 1;
                let message = format!("{NAME}(): argument {number} ({name}) must be UTF-8");
                return Err(timebase_sqlfn::Error::new(message).into());
            }
        });
        next += usize::from(is_given);
    }
    Ok(arguments)
}

/// A value between two hops may not fit; the nearest number says most.
fn set_wide(ctx: &mut Context, value: i128) -> Result<()> {
    match i64::try_from(value) {
        Ok(value) => ctx.set_result(value),
        Err(_) => ctx.set_result(value as f64),
    }
}
