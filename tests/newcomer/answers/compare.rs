//! A statement, run on the database and on the witness.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Connection;
use rusqlite::types::Value;
use serde_json::Value as Json;

use super::pages::parameters;
use super::witness::{Said, ask};
use crate::support::statements::Row;
use crate::support::{Place, answer};

/// A compared statement.
pub struct Compared {
    /// The shown text.
    pub sql: String,
    pub outcome: Outcome,
    /// Timebase's answer, if the witness has one.
    pub rows: Vec<Json>,
}

/// The outcome of comparing a statement's answers.
#[derive(Debug)]
pub enum Outcome {
    /// They are equal, with this many rows.
    Same(usize),
    /// The witness does not know the table.
    Untold(String),
    Differs(String),
}

/// The first and the last time of each trace that an example may name.
pub type Bounds = BTreeMap<String, (i64, i64)>;

/// A database and its witness.
pub struct Pair<'a> {
    pub database: &'a str,
    pub witness: &'a Connection,
    pub trace: &'a str,
    pub bounds: &'a Bounds,
}

impl Pair<'_> {
    /// Runs the statements of a block, in order.
    pub fn compare(&self, shown: &[String]) -> Vec<Compared> {
        // Each block begins with an unchanged database.
        self.witness.execute_batch("SAVEPOINT block").unwrap();
        let statements: Vec<String> = shown.iter().map(|sql| self.moved(sql)).collect();
        let mut missing = BTreeMap::new();
        let mut answers = Vec::new();
        for sql in &statements {
            let said = match sql {
                sql if sql.contains("pragma_") => Said::Unknown("pragma_user_version".into()),
                // Only for this table, pages show that rows can be added.
                sql if !is_question(sql) => Said::Unknown("clock_snapshot".into()),
                sql => match self.given(sql) {
                    Ok(given) => ask(self.witness, &as_the_witness_asks(sql), &given),
                    Err(unknown) => Said::Unknown(unknown),
                },
            };
            if let (Said::Unknown(name), Some(made)) = (&said, made(sql)) {
                let name = missing.get(name).unwrap_or(name).clone();
                missing.insert(made, name);
            }
            answers.push(said);
        }
        self.witness.execute_batch("ROLLBACK TO block; RELEASE block").unwrap();
        let told = statements.iter().zip(&answers).enumerate();
        let told = told.filter(|(_, (_, said))| !matches!(said, Said::Unknown(_)));
        let told: Vec<(usize, &str)> =
            told.map(|(number, (sql, _))| (number, sql.as_str())).collect();
        let mut ours = self.ours(&told);
        let mut compared_all = Vec::new();
        for (number, (sql, said)) in shown.iter().zip(answers).enumerate() {
            let rows = ours.remove(&number).unwrap_or_default();
            let outcome = match said {
                Said::Nothing => continue,
                Said::Unknown(name) => Outcome::Untold(missing.get(&name).unwrap_or(&name).clone()),
                Said::Rows(columns, theirs) => compared(&rows, &columns, &theirs),
            };
            compared_all.push(Compared { sql: sql.clone(), outcome, rows });
        }
        compared_all
    }

    /// Compares the results of a report with the required ones, by `report: title`: with all rows,
    /// as in trace processor, and without those that may be wrong. An empty list may have a row
    /// that says so.
    pub fn compare_report(
        &self,
        report: &str,
        expected: &BTreeMap<String, String>,
    ) -> Vec<Compared> {
        if !HAS_DOUBTS.contains(&report) {
            return self.compare_results(report, &[], expected);
        }
        let all = ["--param", "doubtful=1"];
        let mut compared = self.compare_results(report, &all, expected);
        self.witness.execute_batch(SURE).unwrap();
        compared.extend(self.compare_results(report, &[], expected));
        self.witness.execute_batch(ALL).unwrap();
        compared
    }

    fn compare_results(
        &self,
        report: &str,
        more: &[&str],
        expected: &BTreeMap<String, String>,
    ) -> Vec<Compared> {
        let mut args = vec!["query", self.database, "--format", "json", "--report", report];
        for param in whole(report) {
            args.extend(["--param", param]);
        }
        args.extend(more);
        let results: Json = serde_json::from_str(&answer(&args)).unwrap();
        let mut outcomes = Vec::new();
        for result in results.as_array().unwrap() {
            let key = format!("{report}: {}", result["title"].as_str().unwrap());
            let mut rows = result["rows"].as_array().unwrap().clone();
            rows.retain(|row| !is_notice(row));
            let outcome = match expected.get(&key) {
                None => Outcome::Untold(key.clone()),
                Some(sql) => match ask(self.witness, sql, &[]) {
                    Said::Rows(columns, expected) => compared(&rows, &columns, &expected),
                    _ => panic!("{key} asks for nothing"),
                },
            };
            outcomes.push(Compared { sql: key, outcome, rows });
        }
        outcomes
    }

    /// The rows from the program, by the number of the statement.
    fn ours(&self, statements: &[(usize, &str)]) -> BTreeMap<usize, Vec<Json>> {
        if statements.is_empty() {
            return BTreeMap::new();
        }
        let titled = statements.iter();
        let script: String =
            titled.map(|(number, sql)| format!("-- # {number}\n{sql};\n")).collect();
        let place = Place::new();
        let file = place.write("script.sql", script.as_bytes());
        let names: BTreeSet<String> =
            statements.iter().flat_map(|(_, sql)| parameters(sql)).collect();
        let given = names.iter().map(|name| match self.parameter(name) {
            Some(Value::Integer(value)) => format!("{name}={value}"),
            Some(Value::Text(text)) => format!("{name}={text}"),
            other => panic!("{name}: {other:?}"),
        });
        let given: Vec<String> = given.collect();
        let mut args =
            vec!["query", self.database, "--format", "json", "--file", file.to_str().unwrap()];
        args.extend(given.iter().flat_map(|given| ["--param", given]));
        let results: Json = serde_json::from_str(&answer(&args)).unwrap();
        let results = results.as_array().unwrap().iter();
        results
            .map(|result| {
                let number = result["title"].as_str().unwrap().parse().unwrap();
                (number, result["rows"].as_array().unwrap().clone())
            })
            .collect()
    }

    /// The same statement for this trace: a time of the example's trace becomes the time at the
    /// same relative place in this one.
    ///
    /// The program has names for all parameters.
    fn moved(&self, sql: &str) -> String {
        let sql = sql.replace(" ?", " :value");
        let mut moved = String::new();
        let mut rest = sql.as_str();
        while let Some(begin) = rest.find(|char: char| char.is_ascii_digit()) {
            let digits = rest[begin..].find(|char: char| !char.is_ascii_digit());
            let end = digits.map_or(rest.len(), |digits| begin + digits);
            let number = rest[begin..end].parse().unwrap_or(0);
            moved += &rest[..begin];
            let of = self.bounds.values().find(|(first, last)| (*first..=*last).contains(&number));
            match of {
                Some((first, last)) => {
                    let (start, end) = self.bounds[self.trace];
                    let share = (number - first) as f64 / (last - first) as f64;
                    moved += &(start + (share * (end - start) as f64) as i64).to_string();
                }
                None => moved += &rest[begin..end],
            }
            rest = &rest[end..];
        }
        moved + rest
    }

    /// Values for the parameters of a statement, or the parameter that has none.
    fn given(&self, sql: &str) -> Result<Vec<(String, Value)>, String> {
        let names = parameters(sql).into_iter();
        names
            .map(|name| {
                let value = self.parameter(&name).ok_or_else(|| format!(":{name}"))?;
                Ok((name, value))
            })
            .collect()
    }

    /// A value for a parameter to which a page gives one.
    fn parameter(&self, name: &str) -> Option<Value> {
        let (start, end) = self.bounds[self.trace];
        let at = |percent: i64| Value::Integer(start + (end - start) / 100 * percent);
        let value = match name {
            "process" | "value" => Value::Text("*/compositor".into()),
            "name" => Value::Text("frame".into()),
            "counter" => Value::Text("temperature".into()),
            "thread" => Value::Text("compositor".into()),
            "cpu" => Value::Integer(0),
            "id" => Value::Integer(77),
            "ns" => Value::Integer(1_795_231_541_697_117_231),
            "top" => Value::Integer(3),
            "beside" => Value::Integer(1_500_000),
            "since" | "woken" | "from" => at(40),
            "ts" => at(50),
            "until" | "ran" | "to" => at(60),
            _ => return None,
        };
        Some(value)
    }
}

/// The reports that leave out rows that may be wrong.
const HAS_DOUBTS: [&str; 4] = ["time-spent", "sched-latency", "slices", "flows"];

/// Rows that may be wrong have no duration.
const SURE: &str = "
    CREATE TEMP VIEW known_sched AS
    SELECT rowid, ts, iif(doubt IS NULL, dur, -1) AS dur, ucpu, utid, end_state, priority, doubt FROM main.known_sched;
    CREATE TEMP VIEW known_state AS
    SELECT id, ts, iif(doubt IS NULL, dur, -1) AS dur, ucpu, utid, state, io_wait, waker_utid, irq_context, doubt FROM main.known_state;";

const ALL: &str = "DROP VIEW temp.known_sched; DROP VIEW temp.known_state;";

/// The parameters that make a report's lists complete.
fn whole(report: &str) -> &'static [&'static str] {
    match report {
        "clock-health" | "unplaced" => &[],
        "slices" => &["top=1000000", "worst=1000000"],
        _ => &["top=1000000"],
    }
}

/// The row of an empty list: `no flows`.
fn is_notice(row: &Json) -> bool {
    let mut values = row.as_object().unwrap().values();
    let is_text = |value: &Json| value.as_str().is_some_and(|text| text.starts_with("no "));
    values.any(is_text)
        && row
            .as_object()
            .unwrap()
            .values()
            .all(|value| is_text(value) || value.is_null() || *value == 0)
}

fn is_question(sql: &str) -> bool {
    let begin = ["SELECT", "WITH", "CREATE TEMP", "CREATE INDEX temp."];
    begin.iter().any(|begin| sql.starts_with(begin))
}

/// The table or view that a statement makes.
fn made(sql: &str) -> Option<String> {
    let name = sql.strip_prefix("CREATE TEMP ")?.split_whitespace().nth(1)?;
    Some(name.to_owned())
}

/// The functions of a statement, replaced by expressions on the witness's tables.
fn as_the_witness_asks(sql: &str) -> String {
    let lateral =
        ("ancestor_slice(s.id) AS root ON", "slice_ancestor AS root ON root.slice_id = s.id AND");
    let mut sql = sql.replace(lateral.0, lateral.1);
    for (name, stands_for) in FUNCTIONS {
        while let Some((begin, end)) = call(&sql, name) {
            let arguments: Vec<&str> =
                sql[begin + name.len() + 1..end - 1].splitn(2, ", ").collect();
            // Without an owner, the set of arguments is the process's.
            let first = match arguments[0] {
                "arg_set_id" => "process.arg_set_id",
                other => other,
            };
            let second = arguments.get(1).copied().unwrap_or_default();
            let text = stands_for.replace("?1", first).replace("?2", second);
            sql.replace_range(begin..end, &text);
        }
    }
    sql
}

const FUNCTIONS: [(&str, &str); 7] = [
    ("ancestor_slice", "(SELECT * FROM slice_ancestor WHERE slice_id = ?1)"),
    ("descendant_slice", "(SELECT * FROM slice_descendant WHERE slice_id = ?1)"),
    ("slice_is_ancestor", "EXISTS (SELECT * FROM lies_in WHERE lies_in.id = ?1 AND slice_id = ?2)"),
    (
        "extract_arg",
        "(SELECT coalesce(int_value, string_value, real_value) FROM args WHERE args.arg_set_id = ?1 AND key = ?2)",
    ),
    (
        "following_flow",
        "(WITH RECURSIVE at (id) AS (SELECT ?1 UNION SELECT slice_in FROM at JOIN known_flow ON slice_out = at.id
            OR slice_out IN (SELECT slice_id FROM lies_in WHERE lies_in.id = at.id))
          SELECT * FROM flow WHERE slice_out IN (SELECT id FROM at UNION SELECT slice_id FROM lies_in JOIN at USING (id)))",
    ),
    (
        "preceding_flow",
        "(WITH RECURSIVE at (id) AS (SELECT ?1 UNION SELECT slice_out FROM at JOIN known_flow ON slice_in = at.id
            OR slice_in IN (SELECT lies_in.id FROM lies_in WHERE slice_id = at.id))
          SELECT * FROM flow WHERE slice_in IN (SELECT id FROM at UNION SELECT l.id FROM lies_in AS l JOIN at ON at.id = slice_id))",
    ),
    (
        "directly_connected_flow",
        "(WITH RECURSIVE on_to (id) AS (SELECT ?1 UNION SELECT slice_in FROM on_to JOIN known_flow ON slice_out = on_to.id),
            back (id) AS (SELECT ?1 UNION SELECT slice_out FROM back JOIN known_flow ON slice_in = back.id)
          SELECT * FROM flow WHERE slice_out IN on_to OR slice_in IN back)",
    ),
];

/// The range of the first call of a function.
fn call(sql: &str, name: &str) -> Option<(usize, usize)> {
    let open = format!("{name}(");
    let begins = sql.match_indices(&open).map(|(at, _)| at);
    let is_name = |char: char| char.is_ascii_alphanumeric() || char == '_';
    let begin = begins.into_iter().find(|at| !sql[..*at].ends_with(is_name))?;
    let mut depth = 0;
    for (at, char) in sql[begin..].char_indices() {
        depth += i32::from(char == '(') - i32::from(char == ')');
        if char == ')' && depth == 0 {
            return Some((begin, begin + at + 1));
        }
    }
    None
}

/// Row ids are timebase's own.
pub fn is_number_of_rows(column: &str) -> bool {
    let ids = ["id", "utid", "upid", "slice_out", "slice_in"];
    ids.contains(&column) || column.ends_with("_id")
}

/// Compares the columns that both have, without row ids.
pub fn compared(ours: &[Json], columns: &[String], theirs: &[Row]) -> Outcome {
    let has = |name: &String| ours.first().is_none_or(|row| row.get(name).is_some());
    let same: Vec<usize> = (0..columns.len())
        .filter(|at| !is_number_of_rows(&columns[*at]) && has(&columns[*at]))
        .collect();
    let mut counts: BTreeMap<String, i64> = BTreeMap::new();
    for row in ours {
        let values = same.iter().map(|at| plain(&row[&columns[*at]]));
        *counts.entry(values.collect::<Vec<_>>().join(" | ")).or_default() += 1;
    }
    for row in theirs {
        let values = same.iter().map(|at| plain(&json(&row[*at])));
        *counts.entry(values.collect::<Vec<_>>().join(" | ")).or_default() -= 1;
    }
    counts.retain(|_, count| *count != 0);
    if counts.is_empty() {
        return Outcome::Same(ours.len());
    }
    let told = counts.iter().take(8).map(|(row, count)| {
        let whose = if *count > 0 { "ours" } else { "theirs" };
        format!("\n    {whose} {}×: {row}", count.abs())
    });
    let names: Vec<&str> = same.iter().map(|at| columns[*at].as_str()).collect();
    Outcome::Differs(format!(
        "{} of {}{}",
        counts.len(),
        names.join(" | "),
        told.collect::<String>()
    ))
}

fn json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Integer(value) => Json::from(*value),
        Value::Real(value) => Json::from(*value),
        Value::Text(text) => Json::from(text.as_str()),
        Value::Blob(bytes) => Json::from(format!("{bytes:?}")),
    }
}

/// A value as text. The last digits of sums of reals depend on the order.
fn plain(value: &Json) -> String {
    match (value.as_i64(), value.as_f64()) {
        (Some(integer), _) => integer.to_string(),
        (None, Some(real)) if real.fract() == 0.0 && real.abs() < 1e15 => (real as i64).to_string(),
        (None, Some(real)) => format!("{real:.8e}"),
        // The order of an object's members in text does not matter.
        (None, None) => match value.as_str().map(serde_json::from_str::<Json>) {
            Some(Ok(object @ Json::Object(_))) => object.to_string(),
            _ => value.to_string(),
        },
    }
}
