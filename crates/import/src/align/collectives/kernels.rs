//! The kernels of collectives, with their launches and operators.
//!
//! # Design
//!
//! Records that belong together are sorted by what they have in common, so that memory holds none of the maps that took 200 to
//! 670 MB for 400,000 kernels. A kernel finds its launch among records of both, and then the launch's operator likewise.

use std::collections::BTreeMap;

use rusqlite::{Connection, Row};
use timebase_store::sort::Sorter;

use super::Context;
use super::arguments::{Arguments, Group};
use super::participation::{Order, Participation};
use crate::align::packets::{COUNT, FILE, READING};
use crate::compact::{Compact, Put, Take, records};
use crate::error::WriteError;

/// The facts from other events that kernels need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NamedBy {
    /// Kernels name their collective and its number.
    Kernels,
    /// When they were launched tells collectives apart.
    Launches,
    /// Only the operators that launched them name their collective.
    Ops,
}

/// A kernel, or an operator.
#[derive(Debug, Clone, Copy)]
struct Kernel<'a> {
    file: i64,
    row: i64,
    clock: u64,
    start: i64,
    end: i64,
    packet: i64,
    launch: Option<i64>,
    args: &'a [u8],
}

records! {
    Kernel<'a> { file, row, clock, start, end, packet, launch, args }
}

/// The groups, each with its number and its first kernel.
#[derive(Debug, Default)]
pub(super) struct Groups {
    numbers: BTreeMap<Group, u64>,
    first: Vec<i64>,
    /// The last one, which is mostly the next one too.
    last: Option<(Group, u64)>,
}

impl Groups {
    fn number(&mut self, args: &Arguments<'_>, row: i64) -> u64 {
        let last = self.last.as_ref().filter(|last| last.0.is_of(args)).map(|last| last.1);
        let number = last.unwrap_or_else(|| {
            let (group, next) = (args.group(), self.first.len() as u64);
            let number = *self.numbers.entry(group.clone()).or_insert(next);
            self.last = Some((group, number));
            number
        });
        match usize::try_from(number).ok().and_then(|number| self.first.get_mut(number)) {
            Some(first) => *first = row.min(*first),
            None => self.first.push(row),
        }
        number
    }

    /// The groups in the order of their first kernels, and the place of each number in it.
    pub fn in_order(self) -> (Vec<Group>, Vec<u64>) {
        let mut groups: Vec<(i64, Group, u64)> = Vec::with_capacity(self.first.len());
        for (group, number) in self.numbers {
            let first = usize::try_from(number).ok().and_then(|number| self.first.get(number));
            groups.push((first.copied().unwrap_or_default(), group, number));
        }
        groups.sort_unstable();
        let mut places = vec![0; groups.len()];
        for (place, (.., number)) in (0..).zip(&groups) {
            if let Some(of) = usize::try_from(*number).ok().and_then(|n| places.get_mut(n)) {
                *of = place;
            }
        }
        (groups.into_iter().map(|(_, group, _)| group).collect(), places)
    }
}

/// The kernels of all collectives, by what makes them one participation.
pub(super) struct Kernels {
    pub sorted: Sorter<Order>,
    pub groups: Groups,
}

/// Calls `each` with each row of a query.
pub(super) fn each(
    conn: &Connection,
    sql: &str,
    mut each: impl FnMut(&Row<'_>) -> Result<(), WriteError>,
) -> Result<(), WriteError> {
    let mut statement = conn.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        each(row)?;
    }
    Ok(())
}

/// Slices of a category with arguments.
fn slices(category: &str) -> String {
    format!(
        "SELECT {READING}, s.dur, s.packet_id, a.args FROM slice_record AS s \
         JOIN arg_set AS a ON a.id = s.arg_set_id JOIN packet AS p ON p.id = s.packet_id \
         WHERE s.category IN (SELECT id FROM string WHERE value = '{category}') AND s.dur >= 0"
    )
}

/// The places of columns behind those of the reading.
const DUR: usize = COUNT;
const PACKET: usize = COUNT + 1;
const ARGS: usize = COUNT + 2;

/// The arguments of a slice, if one of them has this key in quotes. A search here takes a tenth of one by SQL.
fn args<'r>(row: &'r Row<'_>, key: &str) -> rusqlite::Result<Option<&'r [u8]>> {
    let args = std::str::from_utf8(row.get_ref(ARGS)?.as_bytes()?).ok();
    Ok(args.filter(|args| args.contains(key)).map(str::as_bytes))
}

const NAME: &str = r#""args.Collective name""#;
const LAUNCH: &str = r#""args.correlation""#;
const CORRELATION: &str = "correlation";

impl NamedBy {
    /// Which events name collectives; `None` if none does.
    pub fn find(conn: &Connection) -> Result<Option<NamedBy>, WriteError> {
        let has = |category: &str| -> rusqlite::Result<bool> {
            // Mostly no event has the category, and no slice needs to be read.
            let sql = "SELECT EXISTS (SELECT 1 FROM string WHERE value = ?1)";
            if !conn.query_row(sql, [category], |row| row.get::<_, bool>(0))? {
                return Ok(false);
            }
            let mut statement = conn.prepare(&slices(category))?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                if args(row, NAME)?.is_some() {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        if has("kernel")? {
            return Ok(Some(NamedBy::Kernels));
        }
        Ok(has("cpu_op")?.then_some(NamedBy::Ops))
    }
}

impl Kernels {
    /// Reads all kernels of collectives.
    ///
    /// # Errors
    ///
    /// If the database or a temporary file cannot be read or written.
    pub fn read(context: &mut Context<'_, '_>, by: NamedBy) -> Result<Kernels, WriteError> {
        let sorted = Sorter::new(context.scratch);
        let mut kernels = Kernels { sorted, groups: Groups::default() };
        let mut launched = Sorter::new(context.scratch);
        let key = if by == NamedBy::Ops { LAUNCH } else { NAME };
        let (mut row, mut record) = (0, Vec::new());
        each(context.conn, &slices("kernel"), |of| {
            let Some(args) = args(of, key)? else { return Ok(()) };
            row += 1;
            let Some((clock, start)) = context.packets.read(of, context.clocks)? else {
                return Ok(());
            };
            let kernel = Kernel {
                file: of.get(FILE)?,
                row,
                clock: clock as u64,
                start,
                end: start.saturating_add(of.get(DUR)?),
                packet: of.get(PACKET)?,
                launch: None,
                args,
            };
            if by == NamedBy::Kernels {
                return kernels.add(&kernel, &Arguments::of(args));
            }
            match Arguments::of(args).number(CORRELATION) {
                Some(id) => push(&mut launched, [id, kernel.file, 1, row], &kernel, &mut record),
                None if by == NamedBy::Launches => kernels.add(&kernel, &Arguments::of(args)),
                None => Ok(()),
            }
        })?;
        match by {
            NamedBy::Kernels => {}
            NamedBy::Launches => {
                add_launches(context, &mut launched)?;
                joined(launched, |kernel, _: Option<Launch>| {
                    kernels.add(&kernel, &Arguments::of(kernel.args))
                })?;
            }
            NamedBy::Ops => kernels.read_ops(context, launched)?,
        }
        Ok(kernels)
    }

    /// Adds kernels by the operators that launched them.
    fn read_ops(
        &mut self,
        context: &mut Context<'_, '_>,
        mut launched: Sorter<Order>,
    ) -> Result<(), WriteError> {
        add_launches(context, &mut launched)?;
        let mut of_ops = Sorter::new(context.scratch);
        let (mut row, mut record) = (0, Vec::new());
        each(context.conn, &slices("cpu_op"), |of| {
            let Some(args) = args(of, NAME)? else { return Ok(()) };
            row += 1;
            match Arguments::of(args).number("External id") {
                Some(id) => Ok(of_ops.push(Order([id, of.get(FILE)?, 0, row]), args)?),
                None => Ok(()),
            }
        })?;
        joined(launched, |kernel, launch: Option<Launch>| {
            match launch.and_then(|launch| launch.op) {
                Some(op) => {
                    push(&mut of_ops, [op, kernel.file, 1, kernel.row], &kernel, &mut record)
                }
                None => Ok(()),
            }
        })?;
        let (mut last, mut op) = (None, Vec::new());
        of_ops.finish(|&Order([id, file, is_kernel, _]), record| {
            if is_kernel == 0 {
                last = Some((id, file));
                op.clear();
                op.extend_from_slice(record);
            } else if last == Some((id, file)) {
                let kernel = Kernel::take(&mut Take(record))?;
                let mut args = Arguments::of(kernel.args);
                args.extend(Arguments::of(&op));
                self.add(&kernel, &args)?;
            }
            Ok(())
        })
    }

    /// Adds a kernel with its arguments, or those of its operator.
    fn add(&mut self, kernel: &Kernel<'_>, args: &Arguments<'_>) -> Result<(), WriteError> {
        if !args.names_collective() {
            return Ok(());
        }
        let said = args.said();
        let participation = Participation {
            file: kernel.file,
            row: kernel.row,
            clock: kernel.clock,
            start: kernel.start,
            end: kernel.end,
            packet: kernel.packet,
            group: self.groups.number(args, kernel.row),
            data: said.hash,
            has_empty_split: said.has_empty_split,
            seq: args.number("Seq"),
            source: args.number("Src Rank"),
            destination: args.number("Dst Rank"),
            root: args.number("Root Rank"),
            launch: kernel.launch,
        };
        let op = args.number("External id").map(|id| (1, id));
        let op = op.or(args.number(CORRELATION).map(|id| (0, id)));
        let (has_op, id) = op.unwrap_or((0, kernel.packet.wrapping_neg().wrapping_sub(1)));
        let order = [kernel.file, has_op, id, kernel.row];
        push(&mut self.sorted, order, &participation, &mut Vec::new())
    }
}

/// Adds a record to those to be sorted.
pub(super) fn push<'a>(
    sorter: &mut Sorter<Order>,
    order: [i64; 4],
    of: &impl Compact<'a>,
    record: &mut Vec<u8>,
) -> Result<(), WriteError> {
    record.clear();
    of.put(&mut Put(record));
    Ok(sorter.push(Order(order), record)?)
}

/// The launch of kernels.
#[derive(Debug, Clone, Copy)]
struct Launch {
    op: Option<i64>,
    at: i64,
}

records! {
    Launch { op, at }
}

/// Adds all launches, by their correlation.
fn add_launches(
    context: &mut Context<'_, '_>,
    launched: &mut Sorter<Order>,
) -> Result<(), WriteError> {
    let (mut row, mut record) = (0, Vec::new());
    each(context.conn, &slices("cuda_runtime"), |of| {
        let Some(args) = args(of, LAUNCH)? else { return Ok(()) };
        row += 1;
        let args = Arguments::of(args);
        let reading = context.packets.read(of, context.clocks)?;
        let (Some(id), Some((_, at))) = (args.number(CORRELATION), reading) else { return Ok(()) };
        let launch = Launch { op: args.number("External id"), at };
        push(launched, [id, of.get(FILE)?, 0, row], &launch, &mut record)
    })
}

/// Gives each kernel with the last launch of its correlation.
fn joined(
    launched: Sorter<Order>,
    mut each: impl FnMut(Kernel<'_>, Option<Launch>) -> Result<(), WriteError>,
) -> Result<(), WriteError> {
    let mut last: Option<((i64, i64), Launch)> = None;
    launched.finish(|&Order([id, file, is_kernel, _]), record| {
        let mut take = Take(record);
        if is_kernel == 0 {
            last = Some(((id, file), Launch::take(&mut take)?));
            return Ok(());
        }
        let launch = last.filter(|last| last.0 == (id, file)).map(|last| last.1);
        let kernel = Kernel::take(&mut take)?;
        each(Kernel { launch: launch.map(|launch| launch.at), ..kernel }, launch)
    })
}
