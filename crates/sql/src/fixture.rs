//! A table, and functions with and without it, for tests.

use std::ops::ControlFlow;

use rusqlite::Connection;

use crate::{
    Answer, Arguments, Call, Database, Error, Function, Lookup, Result, Session, Table, ValueRef,
    unless_interrupted,
};

/// The sum of `numbers`; its version is in `numbers_version`.
pub struct Sum(pub i64);

impl Table for Sum {
    const NAME: &'static str = "numbers";
    type Version = i64;

    fn version<D: Database + ?Sized>(database: &D) -> Result<Option<i64>> {
        let mut version = None;
        let read = database.query("SELECT version FROM numbers_version", |row| {
            version = Some(row.integer(0, "version")?);
            Ok(ControlFlow::Break(()))
        });
        Ok(unless_interrupted(read)?.and(version))
    }

    fn load<D: Database + ?Sized>(function: &str, database: &D) -> Result<Self> {
        let mut sum = 0;
        let read = database.query("SELECT number FROM numbers", |row| {
            let number = row.integer(0, "number")?;
            assert!(number != 13, "on purpose");
            sum += number;
            Ok(ControlFlow::Continue(()))
        });
        read.map_err(|error| Error::new(format_args!("{function}(): {error}")))?;
        Ok(Sum(sum))
    }
}

/// `plus_sum(number)`: the number and the sum.
pub struct PlusSum(pub Session<Sum>);

impl Function for PlusSum {
    fn call<C: Call>(&self, call: &C) -> Result<Answer> {
        let number = Arguments::new("plus_sum", call).integer(0, "number")?;
        self.0.with("plus_sum", call, |sum| {
            let sum = sum.0;
            number.map(|number| number + sum).into()
        })
    }
}

/// `nth(rowid)`: one of the numbers.
pub struct Nth(pub Lookup);

impl Function for Nth {
    fn call<C: Call>(&self, call: &C) -> Result<Answer> {
        let rowid = Arguments::new("nth", call).integer(0, "rowid")?;
        let rowid = rowid.map_or(ValueRef::Null, ValueRef::Integer);
        self.0.value("nth", call, &[rowid])
    }
}

/// Returns its argument.
pub struct Same;

impl Function for Same {
    const JSON: bool = true;

    fn call<C: Call>(&self, call: &C) -> Result<Answer> {
        let arguments = Arguments::new("same", call);
        Ok(match arguments.get(0) {
            None | Some(ValueRef::Null) => Answer::Null,
            Some(ValueRef::Integer(value)) => Answer::Integer(value),
            Some(ValueRef::Real(value)) => Answer::Real(value),
            Some(ValueRef::Blob(bytes)) => Answer::Blob(bytes.to_vec()),
            Some(ValueRef::Text(_)) => {
                let text = arguments.text(0, "value")?.unwrap_or_default().to_owned();
                match text.starts_with('{') {
                    true => Answer::Json(text),
                    false => text.into(),
                }
            }
        })
    }
}

/// Panics.
pub struct Panics;

impl Function for Panics {
    fn call<C: Call>(&self, _: &C) -> Result<Answer> {
        panic!("on purpose")
    }
}

/// A connection with the table, which has the numbers 1 and 2, and without functions.
pub fn database() -> Connection {
    let conn = Connection::open_in_memory().unwrap();
    conn.execute_batch(
        "CREATE TABLE numbers_version (version); INSERT INTO numbers_version VALUES (1);
         CREATE TABLE numbers (number); INSERT INTO numbers VALUES (1), (2);
         CREATE TRIGGER added AFTER INSERT ON numbers BEGIN
           UPDATE numbers_version SET version = version + 1;
         END;
         CREATE TRIGGER removed AFTER DELETE ON numbers BEGIN
           UPDATE numbers_version SET version = version + 1;
         END;",
    )
    .unwrap();
    conn
}
