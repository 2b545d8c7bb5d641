//! Files with the values of runs: CSV or Parquet, with the columns run, side, family, process, name, stat, value and
//! value_all (rule CM23). Other columns are labels.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use rusqlite::Connection;
use rusqlite::types::Value as Sql;
use timebase_compare::{Facts, Family, Line, RunId, Stat, Value, Values};
use timebase_export::ParquetTable;

use super::gathered::{Gathered, grouped};
use super::inputs::ValueFile;
use super::run_file::RunFile;

/// The columns that a file must have.
const COLUMNS: [&str; 7] = ["run", "family", "process", "name", "stat", "value", "value_all"];

/// The family of rows that are facts of the run.
const FACTS: &str = "run";

/// The names of the runs in files of values, each with its file.
pub type Names = HashMap<String, PathBuf>;

/// Adds the runs of a file. It is read twice, because facts may come behind values.
pub fn read(
    file: &ValueFile,
    by: Option<&str>,
    names: &mut Names,
    values: &mut Values,
) -> anyhow::Result<()> {
    let mut facts: BTreeMap<String, Facts> = BTreeMap::new();
    let mut order = Vec::new();
    rows(file, by, |row| {
        let facts = facts.entry(row.run.to_owned()).or_insert_with(|| {
            order.push(row.run.to_owned());
            Facts::default()
        });
        if row.family == FACTS
            && let Some(value) = row.value.sure
        {
            match row.name {
                "start" => facts.start = Some(value as i64),
                _ => facts.put(row.name, row.stat, value),
            }
        }
        Ok(())
    })?;
    let place = fs::canonicalize(&file.path).unwrap_or_else(|_| file.path.clone());
    if order.is_empty() && file.conditions.is_empty() {
        bail!("{}: the file has no rows", file.path.display());
    }
    if order.is_empty() {
        let conditions: Vec<String> =
            file.conditions.iter().map(|(name, value)| format!("{name}={value}")).collect();
        bail!("{}: no row has {}", file.path.display(), conditions.join(" and "));
    }
    let mut ids: HashMap<String, RunId> = HashMap::new();
    for run in order {
        let facts = facts.remove(&run).unwrap_or_default();
        // CM2: two files may have been made in folders with files of the same names.
        let is_elsewhere = names.get(&run).is_some_and(|other| *other != place);
        let name =
            if is_elsewhere { format!("{}: {run}", file.path.display()) } else { run.clone() };
        let id = values.run(&name, file.side, facts)?;
        names.entry(name).or_insert_with(|| place.clone());
        ids.insert(run, id);
    }
    rows(file, by, |row| {
        let Some(id) = ids.get(row.run) else { return Ok(()) };
        if row.family == FACTS {
            return Ok(());
        }
        let family = Family::parse(row.family);
        let family = family.with_context(|| format!("there is no family {:?}", row.family))?;
        let stat = Stat::parse(row.stat);
        let stat = stat.with_context(|| format!("there is no statistic {:?}", row.stat))?;
        let line = grouped(&Line::new(family, row.process, row.name), row.group);
        Ok(values.add(*id, &line, stat, row.value)?)
    })
}

/// A row of the file.
struct Row<'a> {
    run: &'a str,
    family: &'a str,
    process: &'a str,
    name: &'a str,
    stat: &'a str,
    value: Value,
    group: Option<&'a str>,
}

/// Calls `each` with the rows that meet the conditions. Errors name the file and the row.
fn rows(
    file: &ValueFile,
    by: Option<&str>,
    mut each: impl FnMut(Row<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let path = &file.path;
    let mut number = 0_u64;
    let columns = |names: &[String]| Columns::of(names, file, by);
    let mut one = |columns: &Columns, values: &[Option<String>]| -> anyhow::Result<()> {
        number += 1;
        let row = columns.row(values).with_context(|| format!("row {number}"))?;
        match row {
            Some(row) => each(row).with_context(|| format!("row {number}")),
            None => Ok(()),
        }
    };
    if path.extension().is_some_and(|extension| extension == "csv") {
        let read = csv_rows(path, columns, &mut one);
        return read.with_context(|| path.display().to_string());
    }
    // The reader's errors name the file.
    let table = ParquetTable::open(path)?;
    let read =
        columns(table.columns()).and_then(|columns| parquet_rows(&table, &columns, &mut one));
    read.with_context(|| path.display().to_string())
}

type Each<'a> = dyn FnMut(&Columns, &[Option<String>]) -> anyhow::Result<()> + 'a;

fn csv_rows(
    path: &Path,
    columns: impl Fn(&[String]) -> anyhow::Result<Columns>,
    each: &mut Each<'_>,
) -> anyhow::Result<()> {
    let mut reader = csv::Reader::from_path(path).context("cannot read the file")?;
    let names: Vec<String> = reader.headers()?.iter().map(str::to_owned).collect();
    let columns = columns(&names)?;
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record)? {
        let values: Vec<Option<String>> =
            record.iter().map(|text| (!text.is_empty()).then(|| text.to_owned())).collect();
        each(&columns, &values)?;
    }
    Ok(())
}

fn parquet_rows(
    table: &ParquetTable,
    columns: &Columns,
    each: &mut Each<'_>,
) -> anyhow::Result<()> {
    enum Failed {
        Read(timebase_export::ReadError),
        Other(anyhow::Error),
    }
    impl From<timebase_export::ReadError> for Failed {
        fn from(error: timebase_export::ReadError) -> Failed {
            Failed::Read(error)
        }
    }
    let read = table.rows(|row| {
        let values: Vec<Option<String>> = row.iter().map(text).collect();
        each(columns, &values).map_err(Failed::Other)
    });
    read.map_err(|failed| match failed {
        Failed::Read(error) => error.into(),
        Failed::Other(error) => error,
    })
}

fn text(value: &Sql) -> Option<String> {
    match value {
        Sql::Null | Sql::Blob(_) => None,
        Sql::Integer(number) => Some(number.to_string()),
        Sql::Real(number) => Some(number.to_string()),
        Sql::Text(text) => Some(text.clone()),
    }
}

/// The places of columns.
struct Columns {
    of: [usize; COLUMNS.len()],
    conditions: Vec<(usize, String)>,
    by: Option<usize>,
}

impl Columns {
    fn of(names: &[String], file: &ValueFile, by: Option<&str>) -> anyhow::Result<Columns> {
        let place = |wanted: &str| {
            let place = names.iter().position(|name| name == wanted);
            place.with_context(|| {
                format!("there is no column {wanted}; the columns are {}", names.join(", "))
            })
        };
        let mut of = [0; COLUMNS.len()];
        for (slot, wanted) in of.iter_mut().zip(COLUMNS) {
            *slot = match wanted {
                // As Spark and a dataset name the trace.
                "run" => place("run").or_else(|error| place("trace_path").map_err(|_| error))?,
                wanted => place(wanted)?,
            };
        }
        let conditions = file.conditions.iter();
        let conditions = conditions.map(|(name, value)| Ok((place(name)?, value.clone())));
        Ok(Columns {
            of,
            conditions: conditions.collect::<anyhow::Result<_>>()?,
            by: by.map(place).transpose()?,
        })
    }

    /// The row of these values, if it meets the conditions.
    fn row<'a>(&self, values: &'a [Option<String>]) -> anyhow::Result<Option<Row<'a>>> {
        let get = |at: usize| values.get(at).and_then(Option::as_deref);
        if self.conditions.iter().any(|(at, value)| get(*at) != Some(value)) {
            return Ok(None);
        }
        let [run, family, process, name, stat, value, all] = self.of.map(get);
        let number = |text: Option<&str>| {
            let number =
                text.map(|text| text.parse::<f64>().map_err(|_| anyhow!("{text:?} is no number")));
            number.transpose()
        };
        Ok(Some(Row {
            run: run.context("the run has no name")?,
            family: family.unwrap_or_default(),
            process: process.unwrap_or_default(),
            name: name.unwrap_or_default(),
            stat: stat.unwrap_or_default(),
            value: Value { sure: number(value)?, all: number(all)? },
            group: self.by.and_then(get),
        }))
    }
}

/// Writes the values of all runs that were measured.
pub fn write(gathered: &Gathered, path: &Path, out: &mut dyn Write) -> anyhow::Result<()> {
    let conn = Connection::open("").context("cannot make a temporary database")?;
    conn.execute_batch(
        "CREATE TABLE value (run TEXT, side TEXT, family TEXT, process TEXT, name TEXT, stat TEXT, value REAL, value_all REAL)",
    )?;
    {
        let mut insert = conn.prepare("INSERT INTO value VALUES (?, ?, ?, ?, ?, ?, ?, ?)")?;
        for file in &gathered.files {
            let Some(run) = gathered.values.runs().get(file.run.index()) else { continue };
            let side = ["before", "after"][run.side.index()];
            let file = RunFile::open(&file.path)?;
            for (name, stat, value) in run.facts.rows() {
                insert.execute((&run.name, side, FACTS, "", name, stat, value, value))?;
            }
            file.values::<anyhow::Error>(|line, stat, value| {
                let Line { family, process, name } = line;
                let row = (&run.name, side, family.name(), process, name, stat.name());
                insert
                    .execute((row.0, row.1, row.2, row.3, row.4, row.5, value.sure, value.all))?;
                Ok(())
            })?;
        }
    }
    let sql = "SELECT * FROM value";
    if path.extension().is_some_and(|extension| extension == "parquet") {
        let types = timebase_export::declared_types(&conn, sql)?;
        timebase_export::write_result(&mut conn.prepare(sql)?, &types, out)?;
        return Ok(());
    }
    let database = crate::database::Database::from(conn);
    crate::statements::run(&database, sql, crate::output::Format::Csv, None, out)
}

/// Refuses a file of another form, before anything is measured.
pub fn check(path: &Path) -> anyhow::Result<()> {
    let is_known = path.extension().is_some_and(|ending| ending == "csv" || ending == "parquet");
    match is_known {
        true => Ok(()),
        false => bail!("--values {}: the name must end with .csv or .parquet", path.display()),
    }
}
