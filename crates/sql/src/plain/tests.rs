//! Functions that are called with plain values, and rows that the caller reads.

use std::cell::RefCell;
use std::ops::ControlFlow;

use rusqlite::params_from_iter;
use rusqlite::types::ToSqlOutput;

use super::{List, Rows, Statement};
use crate::fixture::{Nth, Panics, PlusSum, Same, database};
use crate::{Answer, Error, Functions, Lookup, Result, Session, ValueRef};

/// A connection whose rows are read like a caller's, and which records the queries.
struct Caller {
    conn: rusqlite::Connection,
    asked: RefCell<Vec<String>>,
}

impl Rows for Caller {
    fn read(
        &self,
        sql: &str,
        parameters: &[ValueRef<'_>],
        each: &mut dyn FnMut(&[ValueRef<'_>]) -> ControlFlow<()>,
    ) -> Result<()> {
        self.asked.borrow_mut().push(sql.into());
        let mut statement = self.conn.prepare(sql)?;
        let parameters = parameters.iter().copied().map(ToSqlOutput::Borrowed);
        let mut rows = statement.query(params_from_iter(parameters))?;
        while let Some(row) = rows.next()? {
            if each(&[row.get_ref(0)?]).is_break() {
                break;
            }
        }
        Ok(())
    }
}

fn caller() -> (Caller, List) {
    let mut list = List::default();
    list.add("plus_sum", 1, PlusSum(Session::default())).unwrap();
    list.add("same", 1, Same).unwrap();
    list.add("panics", 0, Panics).unwrap();
    let nth = Lookup::new("SELECT number FROM numbers WHERE rowid = ?1");
    list.add("nth", 1, Nth(nth)).unwrap();
    let caller = Caller { conn: database(), asked: RefCell::default() };
    (caller, list)
}

#[test]
fn a_statement_sees_one_version_and_asks_for_it_once() {
    let (caller, list) = caller();
    let call = |statement: &Statement| {
        let function = list.get(0).unwrap();
        function.call(&[ValueRef::Integer(1)], Some(statement), &caller)
    };
    let (first, second) = (Statement::default(), Statement::default());
    assert_eq!(call(&first), Ok(Answer::Integer(4)));
    caller.conn.execute_batch("INSERT INTO numbers VALUES (4)").unwrap();
    assert_eq!(call(&second), Ok(Answer::Integer(8)));
    assert_eq!(call(&first), Ok(Answer::Integer(4)));
    assert_eq!(call(&second), Ok(Answer::Integer(8)));
    let [version, numbers] = ["version FROM numbers_version", "number FROM numbers"];
    let expected = [version, numbers, version, numbers].map(|sql| format!("SELECT {sql}"));
    assert_eq!(*caller.asked.borrow(), expected);
}

#[test]
fn a_call_without_a_statement_is_one_of_its_own() {
    let (caller, list) = caller();
    for expected in [3, 7] {
        let answer = list.get(0).unwrap().call(&[ValueRef::Integer(0)], None, &caller);
        assert_eq!(answer, Ok(Answer::Integer(expected)));
        caller.conn.execute_batch("INSERT INTO numbers VALUES (4)").unwrap();
    }
}

#[test]
fn a_row_is_looked_up_as_it_is_now() {
    let (caller, list) = caller();
    let statement = Statement::default();
    let nth = |rowid| {
        let function = list.get(3).unwrap();
        function.call(&[ValueRef::Integer(rowid)], Some(&statement), &caller)
    };
    assert_eq!(nth(2), Ok(Answer::Integer(2)));
    assert_eq!(nth(3), Ok(Answer::Null));
    let add = "INSERT INTO numbers VALUES ('three')";
    caller.conn.execute_batch(add).unwrap();
    assert_eq!(nth(3), Ok(Answer::Text("three".into())));
    caller.conn.execute_batch("DROP TABLE numbers").unwrap();
    assert_eq!(nth(2).unwrap_err().to_string(), "no such table: numbers");
}

#[test]
fn what_goes_wrong_is_told() {
    let (caller, list) = caller();
    let statement = Statement::default();
    let call = |function: usize, arguments: &[ValueRef<'_>]| {
        let function = list.get(function).unwrap();
        let called = function.call(arguments, Some(&statement), &caller);
        called.unwrap_err().to_string()
    };
    assert_eq!(call(2, &[]), "unwinding panic");
    assert_eq!(call(1, &[]), "wrong number of arguments to function same()");
    assert_eq!(
        call(1, &[ValueRef::Text(b"a\0\xff")]),
        "same(): argument 1 (value) must be UTF-8, not the text 'a\\0\u{fffd}'"
    );
    let add = "INSERT INTO numbers VALUES ('five')";
    caller.conn.execute_batch(add).unwrap();
    assert_eq!(
        call(0, &[ValueRef::Integer(1)]),
        "plus_sum(): number must be an integer, not the text 'five'"
    );
    caller
        .conn
        .execute_batch("UPDATE numbers SET number = 13; DROP TABLE numbers_version")
        .unwrap();
    assert_eq!(call(0, &[ValueRef::Integer(1)]), "unwinding panic");
    caller.conn.execute_batch("DROP TABLE numbers").unwrap();
    assert_eq!(call(0, &[ValueRef::Integer(1)]), "plus_sum(): no such table: numbers");
}

#[test]
fn a_database_that_calls_while_it_is_read_is_told() {
    struct Calls<'a>(&'a List);

    impl Rows for Calls<'_> {
        fn read(
            &self,
            _: &str,
            _: &[ValueRef<'_>],
            _: &mut dyn FnMut(&[ValueRef<'_>]) -> ControlFlow<()>,
        ) -> Result<()> {
            let function = self.0.get(0).ok_or(Error::new("no function"))?;
            function.call(&[ValueRef::Null], None, self).map(drop)
        }
    }

    let (_, list) = caller();
    let called = list.get(0).unwrap().call(&[ValueRef::Null], None, &Calls(&list));
    assert_eq!(
        called.unwrap_err().to_string(),
        "plus_sum(): plus_sum(): numbers is defined by a call that reads numbers; define it without the call"
    );
}
