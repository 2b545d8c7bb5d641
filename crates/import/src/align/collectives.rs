//! Collectives of PyTorch's ranks: no rank leaves one before the last has entered it (rule AL3).

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use rusqlite::{Connection, Row};
use serde_json::{Map, Value};
use timebase_resolver::align::CollectiveEnds;

use super::clocks::AlignedClocks;
use super::packets::{Packets, READING};
use super::staged::{Kind, StagedPairs};
use crate::error::WriteError;
use crate::evidence::{Located, Role};

/// Collectives in which each rank waits for each.
const ALL_TO_ALL: [&str; 7] = [
    "allreduce",
    "allgather",
    "_allgather_base",
    "reduce_scatter",
    "_reduce_scatter_base",
    "barrier",
    "alltoall",
];
/// With more clocks than this, only pairs with the first ranks count.
const MANY: usize = 32;
const FIRST: usize = 8;

/// The part of a rank in a collective: its kernels.
#[derive(Debug, Clone)]
struct Participation {
    clock: usize,
    start: i64,
    end: i64,
    packet: i64,
    /// The number of its group.
    group: usize,
    /// The number of its statements about the data.
    data: usize,
    seq: Option<i64>,
    /// The ranks that the arguments name.
    source: Option<i64>,
    destination: Option<i64>,
    root: Option<i64>,
    /// The launch of its first kernel.
    launch: Option<i64>,
}

/// Values, each with a number: many collectives say the same.
#[derive(Debug)]
struct Numbered<T> {
    numbers: BTreeMap<T, usize>,
    all: Vec<T>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Numbered { numbers: BTreeMap::new(), all: Vec::new() }
    }
}

impl<T: Ord + Clone> Numbered<T> {
    fn number(&mut self, value: T) -> usize {
        if let Some(&number) = self.numbers.get(&value) {
            return number;
        }
        let number = self.all.len();
        self.all.push(value.clone());
        self.numbers.insert(value, number);
        number
    }
}

/// The statements of a rank about its data in a collective.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Said {
    elements: String,
    dtype: String,
    /// Whether a rank sends or gets nothing of some other one.
    has_empty_split: bool,
}

/// The participations by the files' ids, their groups and what they say.
#[derive(Debug, Default)]
struct Participations {
    of_files: BTreeMap<i64, Vec<Participation>>,
    groups: Numbered<Group>,
    said: Numbered<Said>,
}

/// The group and the name of a collective.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Group([String; 4]);

/// The difference of a collective to the others of its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Which {
    Seq(i64),
    /// The step of the profiler, and the place of the launch in it.
    Step(i64, usize),
}

/// Adds the messages of all collectives of clocks with these ranks, and returns the ends of those in which all ranks wait for all.
///
/// # Errors
///
/// If the database or a temporary file cannot be read or written.
pub(super) fn add(
    conn: &Connection,
    clocks: &mut AlignedClocks<'_>,
    (packets, ranks): (&Packets<'_>, &BTreeMap<usize, i64>),
    staged: &mut StagedPairs,
) -> Result<Vec<CollectiveEnds>, WriteError> {
    let mut launches = Launches::default();
    launches.read_ops(conn, clocks, packets)?;
    let mut found = Participations::read(conn, clocks, packets, &launches)?;
    let mut steps = Steps::default();
    if found.of_files.values().any(|of_file| needs_steps(of_file)) {
        launches.read(conn, clocks, packets)?;
        found = Participations::read(conn, clocks, packets, &launches)?;
        steps = Steps::read(conn, clocks, packets)?;
    }
    let Participations { of_files, groups, said } = found;
    let mut all: BTreeMap<(usize, Which), Vec<Participation>> = BTreeMap::new();
    let mut lost = Lost::default();
    for (file, of_file) in of_files {
        of_file.iter().for_each(|of| lost.count(of, 1));
        for (key, participation) in identify(file, of_file, &steps) {
            lost.count(&participation, -1);
            all.entry(key).or_default().push(participation);
        }
    }
    lost.add_to(staged);
    let known: BTreeSet<usize> = all.values().flatten().map(|of| of.clock).collect();
    let first: BTreeSet<usize> = match known.len() > MANY {
        true => known.iter().copied().take(FIRST).collect(),
        false => known,
    };
    let mut ends = Vec::new();
    for ((group, _), members) in all {
        let Some(Group([.., name])) = groups.all.get(group) else { continue };
        if !agree(name, &members) {
            continue;
        }
        let of_data = |of: &Participation| said.all.get(of.data);
        let has_empty_split = members.iter().filter_map(of_data).any(|said| said.has_empty_split);
        let is_all_to_all = is_all_to_all(name, has_empty_split);
        let counts = |one: usize, other: usize| first.contains(&one) || first.contains(&other);
        messages((name, is_all_to_all), &members, ranks, |out, into| {
            match counts(out.clock, into.clock) {
                true => staged.add(Kind::Collectives, &out.starts(), &into.ends()),
                false => Ok(()),
            }
        })?;
        if is_all_to_all {
            ends.push(CollectiveEnds(members.iter().map(|of| (of.clock, of.end)).collect()));
        }
    }
    Ok(ends)
}

impl Participation {
    fn starts(&self) -> Located {
        Located { clock: self.clock, at: self.start, role: Role::Start, packet: self.packet }
    }

    fn ends(&self) -> Located {
        Located { clock: self.clock, at: self.end, role: Role::End, packet: self.packet }
    }
}

impl Group {
    fn of(args: &Map<String, Value>) -> Group {
        let names = ["Process Group Name", "Process Group Ranks", "Group size", "Collective name"];
        Group(names.map(|name| text(args, name)))
    }
}

impl Said {
    fn of(args: &Map<String, Value>) -> Said {
        let splits = ["In split size", "Out split size"].map(|name| text(args, name)).concat();
        let mut sizes = splits.split(|c: char| !c.is_ascii_digit());
        Said {
            elements: text(args, "In msg nelems"),
            dtype: text(args, "dtype"),
            has_empty_split: sizes.any(|size| size == "0"),
        }
    }
}

fn text(args: &Map<String, Value>, name: &str) -> String {
    match args.get(&format!("args.{name}")) {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => String::new(),
    }
}

fn number(args: &Map<String, Value>, name: &str) -> Option<i64> {
    args.get(&format!("args.{name}"))?.as_i64()
}

/// Participations that nothing tells apart from others of their group, by group and clock.
#[derive(Debug, Default)]
struct Lost(BTreeMap<usize, BTreeMap<usize, i64>>);

impl Lost {
    fn count(&mut self, of: &Participation, by: i64) {
        *self.0.entry(of.group).or_default().entry(of.clock).or_default() += by;
    }

    /// Counts them for each two clocks that may have been in the same collectives. Of many clocks, only pairs with the first
    /// ones count.
    fn add_to(mut self, staged: &mut StagedPairs) {
        for counts in self.0.values_mut() {
            counts.retain(|_, count| *count > 0);
            let first = if counts.len() > MANY { FIRST } else { counts.len() };
            for (place, (&one, &count)) in counts.iter().enumerate().take(first) {
                for (&other, &of_other) in counts.iter().skip(place + 1) {
                    let both = count.min(of_other);
                    staged.add_unpaired(Kind::Collectives, (one, other), both);
                }
            }
        }
    }
}

/// Whether all ranks of a collective say the same of their data.
fn agree(name: &str, members: &[Participation]) -> bool {
    let clocks: BTreeSet<usize> = members.iter().map(|of| of.clock).collect();
    let said: BTreeSet<usize> = members.iter().map(|of| of.data).collect();
    clocks.len() == members.len() && (said.len() == 1 || name.starts_with("alltoall"))
}

fn is_all_to_all(name: &str, has_empty_split: bool) -> bool {
    let is_alltoall = name.starts_with("alltoall");
    (is_alltoall || ALL_TO_ALL.contains(&name)) && !(is_alltoall && has_empty_split)
}

/// Gives each start and the end that comes after it.
fn messages(
    (name, is_all_to_all): (&str, bool),
    members: &[Participation],
    ranks: &BTreeMap<usize, i64>,
    mut each: impl FnMut(&Participation, &Participation) -> io::Result<()>,
) -> io::Result<()> {
    let mut between = |is_message: &dyn Fn(&Participation, &Participation) -> bool| {
        for out in members {
            for into in members.iter().filter(|into| into.clock != out.clock) {
                if is_message(out, into) {
                    each(out, into)?;
                }
            }
        }
        Ok(())
    };
    let rank = |of: &Participation| ranks.get(&of.clock).copied();
    let is = |of: &Participation, named: Option<i64>| named.is_some() && rank(of) == named;
    match name {
        _ if is_all_to_all => between(&|_, _| true),
        "broadcast" | "scatter" => between(&|out, _| is(out, out.root)),
        "reduce" | "gather" => between(&|_, into| is(into, into.root)),
        "send" | "recv" => between(&|out, into| is(out, out.source) && is(into, into.destination)),
        _ => Ok(()),
    }
}

/// The groups of a file in which a number repeats.
fn repeats(of_file: &[Participation]) -> BTreeSet<usize> {
    let mut seen = BTreeSet::new();
    let has_number = of_file.iter().filter_map(|of| Some((of.group, of.seq?)));
    has_number.filter(|key| !seen.insert(*key)).map(|(group, _)| group).collect()
}

/// Whether numbers do not tell the collectives of a file apart.
fn needs_steps(of_file: &[Participation]) -> bool {
    of_file.iter().any(|of| of.seq.is_none()) || !repeats(of_file).is_empty()
}

/// Finds the collective of each participation of a file.
fn identify(
    file: i64,
    mut of_file: Vec<Participation>,
    steps: &Steps,
) -> Vec<((usize, Which), Participation)> {
    of_file.sort_by_key(|of| (of.launch, of.start));
    let repeats = repeats(&of_file);
    let mut launched: BTreeMap<(usize, i64), usize> = BTreeMap::new();
    let which = |of: Participation| {
        let group = of.group;
        let seq = of.seq.filter(|_| !repeats.contains(&group));
        let which = match seq {
            Some(seq) => Which::Seq(seq),
            None => {
                let step = steps.around(file, of.launch?)?;
                let count = launched.entry((group, step)).or_default();
                *count += 1;
                Which::Step(step, *count)
            }
        };
        Some(((group, which), of))
    };
    of_file.into_iter().filter_map(which).collect()
}

/// The steps of the profiler: by files, their begins, ends and numbers.
#[derive(Debug, Default)]
struct Steps(BTreeMap<i64, Vec<(i64, i64, i64)>>);

impl Steps {
    fn read(
        conn: &Connection,
        clocks: &mut AlignedClocks<'_>,
        packets: &Packets<'_>,
    ) -> Result<Steps, WriteError> {
        let mut steps = Steps::default();
        let sql = format!(
            "SELECT {READING}, s.dur, n.value FROM slice_record AS s \
             JOIN string AS n ON n.id = s.name AND n.value LIKE 'ProfilerStep#%' \
             JOIN packet AS p ON p.id = s.packet_id WHERE s.dur >= 0 \
               AND s.category IS NOT (SELECT id FROM string WHERE value = 'gpu_user_annotation')"
        );
        each(conn, &sql, |row| {
            let Some((_, start)) = packets.read(row, clocks)? else { return Ok(()) };
            let (dur, name): (i64, String) = (row.get("dur")?, row.get("value")?);
            let number = name.rsplit('#').next().and_then(|number| number.parse().ok());
            if let Some(number) = number {
                let of_file = steps.0.entry(row.get("trace_file_id")?).or_default();
                of_file.push((start, start.saturating_add(dur), number));
            }
            Ok(())
        })?;
        steps.0.values_mut().for_each(|of_file| of_file.sort_unstable());
        Ok(steps)
    }

    /// The number of the last step that begins before a launch, if the launch is in it.
    fn around(&self, file: i64, at: i64) -> Option<i64> {
        let of_file = self.0.get(&file)?;
        let begun = of_file.partition_point(|(start, ..)| *start <= at);
        let (_, end, number) = of_file.get(begun.checked_sub(1)?)?;
        (at < *end).then_some(*number)
    }
}

fn each(
    conn: &Connection,
    sql: &str,
    mut each: impl FnMut(&Row<'_>) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let mut statement = conn.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        each(row)?;
    }
    Ok(())
}

/// Slices of a category with an argument.
fn slices(category: &str, condition: &str) -> String {
    format!(
        "SELECT {READING}, s.dur, s.packet_id, a.args FROM slice_record AS s \
         JOIN arg_set AS a ON a.id = s.arg_set_id JOIN packet AS p ON p.id = s.packet_id \
         WHERE s.category IN (SELECT id FROM string WHERE value = '{category}') \
           AND s.dur >= 0 AND {condition}"
    )
}

fn args(row: &Row<'_>) -> rusqlite::Result<Map<String, Value>> {
    let text: String = row.get("args")?;
    Ok(serde_json::from_str(&text).unwrap_or_default())
}

impl Participations {
    fn read(
        conn: &Connection,
        clocks: &mut AlignedClocks<'_>,
        packets: &Packets<'_>,
        launches: &Launches,
    ) -> Result<Participations, WriteError> {
        let mut found = Participations::default();
        let mut places: BTreeMap<(i64, bool, i64), usize> = BTreeMap::new();
        let condition = match launches.ops.is_empty() {
            true => "instr(a.args, '\"args.Collective name\"') > 0",
            // Kernels that do not name their collective get the name from the op that launched them.
            false => "instr(a.args, '\"args.correlation\"') > 0",
        };
        each(conn, &slices("kernel", condition), |row| {
            let file: i64 = row.get("trace_file_id")?;
            let mut args = args(row)?;
            let correlation = number(&args, "correlation");
            let launch = correlation.and_then(|of| launches.all.get(&(file, of)));
            if !args.contains_key("args.Collective name") {
                let op = launch.and_then(|(op, _)| launches.ops.get(&(file, (*op)?)));
                let Some(op) = op else { return Ok(()) };
                args.extend(op.clone());
            }
            let Some((clock, start)) = packets.read(row, clocks)? else { return Ok(()) };
            let packet: i64 = row.get("packet_id")?;
            let kernel = Participation {
                clock,
                start,
                end: start.saturating_add(row.get("dur")?),
                packet,
                group: found.groups.number(Group::of(&args)),
                data: found.said.number(Said::of(&args)),
                seq: number(&args, "Seq"),
                source: number(&args, "Src Rank"),
                destination: number(&args, "Dst Rank"),
                root: number(&args, "Root Rank"),
                launch: launch.map(|(_, at)| *at),
            };
            let of_file = found.of_files.entry(file).or_default();
            let op = number(&args, "External id").map(|id| (true, id));
            let (has_op, id) =
                op.or(correlation.map(|id| (false, id))).unwrap_or((false, -packet - 1));
            let place = *places.entry((file, has_op, id)).or_insert(of_file.len());
            match of_file.get_mut(place) {
                None => of_file.push(kernel),
                Some(earlier) => {
                    earlier.start = earlier.start.min(kernel.start);
                    earlier.end = earlier.end.max(kernel.end);
                    earlier.launch = [earlier.launch, kernel.launch].into_iter().flatten().min();
                }
            }
            Ok(())
        })?;
        Ok(found)
    }
}

/// The launches of kernels.
#[derive(Debug, Default)]
struct Launches {
    /// By file and correlation: the op that launched, and when.
    all: BTreeMap<(i64, i64), (Option<i64>, i64)>,
    /// The arguments of ops that name a collective, by file and id, if kernels do not name it.
    ops: BTreeMap<(i64, i64), Map<String, Value>>,
}

impl Launches {
    /// Reads the ops that name a collective, and the launches by them, if no kernel names one.
    fn read_ops(
        &mut self,
        conn: &Connection,
        clocks: &mut AlignedClocks<'_>,
        packets: &Packets<'_>,
    ) -> Result<(), WriteError> {
        let names = "instr(a.args, '\"args.Collective name\"') > 0";
        let has = |category: &str| {
            let sql = format!("SELECT EXISTS ({})", slices(category, names));
            conn.query_row(&sql, [], |row| row.get::<_, bool>(0))
        };
        if has("kernel")? || !has("cpu_op")? {
            return Ok(());
        }
        each(conn, &slices("cpu_op", names), |row| {
            let args = args(row)?;
            if let Some(id) = number(&args, "External id") {
                self.ops.insert((row.get("trace_file_id")?, id), args);
            }
            Ok(())
        })?;
        self.read(conn, clocks, packets)
    }

    /// Reads all launches.
    fn read(
        &mut self,
        conn: &Connection,
        clocks: &mut AlignedClocks<'_>,
        packets: &Packets<'_>,
    ) -> Result<(), WriteError> {
        let condition = "instr(a.args, '\"args.correlation\"') > 0";
        each(conn, &slices("cuda_runtime", condition), |row| {
            let args = args(row)?;
            let reading = packets.read(row, clocks)?;
            if let (Some(id), Some((_, at))) = (number(&args, "correlation"), reading) {
                let op = number(&args, "External id");
                self.all.insert((row.get("trace_file_id")?, id), (op, at));
            }
            Ok(())
        })?;
        Ok(())
    }
}
