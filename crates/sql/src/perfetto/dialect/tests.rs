//! Statements, without a database.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Action, Body, Column, Dropped, Macro, Returns, Statement, read};
use crate::perfetto::script::Statements;
use crate::perfetto::source::Source;
use crate::perfetto::types::Type;

fn try_read(text: &str) -> Result<Statement, String> {
    let source = Source::new(None, text);
    let raw = Statements::of(text).next().unwrap();
    let macros: HashMap<String, Arc<Macro>> = HashMap::new();
    read(&source, raw, &macros).map_err(|error| error.to_string())
}

fn action(text: &str) -> Action {
    try_read(text).unwrap().action
}

fn column(name: &str, declared: Type) -> Column {
    Column { name: name.into(), declared, is_variadic: false }
}

#[test]
fn pq3_a_table_with_a_schema_is_read() {
    let text = "create or replace perfetto table \"a b\" using dataframe (\n id ID, -- the id\n ts TIMESTAMP, utid JOINID(thread.id), value DOUBLE) AS\nSELECT 1 AS id";
    let statement = try_read(text).unwrap();
    assert!(statement.is_replacing);
    let Action::Table { name, schema, select } = statement.action else {
        panic!();
    };
    assert_eq!(name, "a b");
    let expected = [
        column("id", Type::Id),
        column("ts", Type::Long),
        column("utid", Type::Long),
        column("value", Type::Double),
    ];
    assert_eq!(schema, expected);
    assert_eq!(select.text, "SELECT 1 AS id");
}

#[test]
fn pq5_functions_with_and_without_arguments_are_read() {
    let Action::Function(function) = action("CREATE PERFETTO FUNCTION f() RETURNS INT AS SELECT 1")
    else {
        panic!();
    };
    assert!(function.arguments.is_empty() && matches!(function.returns, Returns::Value));
    let text = "CREATE PERFETTO FUNCTION f(a LONG, module STRING) RETURNS TABLE(x ID(slice.id), y ANY) AS SELECT $a";
    let Action::Function(function) = action(text) else {
        panic!();
    };
    assert_eq!(function.arguments, [column("a", Type::Long), column("module", Type::String)]);
    let Returns::Rows(columns) = function.returns else {
        panic!();
    };
    assert_eq!(columns, [column("x", Type::Id), column("y", Type::Any)]);
    let text = "CREATE PERFETTO FUNCTION f(a ANY...) RETURNS STRING DELEGATES TO g";
    let Action::Function(function) = action(text) else {
        panic!();
    };
    assert!(function.arguments[0].is_variadic);
    assert!(matches!(function.body, Body::Delegates(to) if to == "g"));
}

#[test]
fn pq1_other_statements_of_the_dialect_are_read() {
    for (text, expected) in [
        ("INCLUDE PERFETTO MODULE slices.with_context", "slices.with_context"),
        ("include perfetto module a . b . *", "a.b.*"),
        ("INCLUDE PERFETTO MODULE *", "*"),
    ] {
        assert!(matches!(action(text), Action::Include(module) if module == expected), "{text}");
    }
    let Action::Index(index) = action("CREATE PERFETTO INDEX i ON t(a, \"b\")") else {
        panic!();
    };
    assert_eq!((index.name.as_str(), index.table.as_str()), ("i", "t"));
    assert_eq!(index.columns, ["a", "b"]);
    for (text, expected) in [
        ("DROP PERFETTO INDEX i ON t", Dropped::Index),
        ("DROP PERFETTO TABLE i", Dropped::Table),
        ("DROP PERFETTO MACRO i", Dropped::Macro),
    ] {
        assert!(
            matches!(action(text), Action::Drop(kind, name) if kind == expected && name == "i")
        );
    }
    let text = "CREATE PERFETTO MACRO m(x Expr, t TableOrSubquery) RETURNS Expr AS -- why\n(SELECT n!($x) FROM $t) -- end";
    let Action::Macro(made) = action(text) else {
        panic!();
    };
    assert_eq!(made.parameters, ["x", "t"]);
    assert_eq!(super::Sql::of(&made.body).text, "(SELECT n!($x) FROM $t)");
}

#[test]
fn pq1_words_of_the_dialect_are_names_elsewhere() {
    for text in [
        "SELECT module, perfetto, function, macro, include FROM delegates",
        "CREATE TABLE perfetto (module, returns)",
        "DROP TABLE perfetto",
    ] {
        let Action::Sqlite(plain) = action(text) else {
            panic!("{text}");
        };
        assert_eq!(plain.sql.text, text);
    }
    let text = "CREATE PERFETTO TABLE module AS SELECT 1 AS include";
    assert!(matches!(action(text), Action::Table { name, .. } if name == "module"));
}

#[test]
fn pq1_what_sqlite_makes_can_go_to_the_temp_schema() {
    for (text, expected) in [
        ("CREATE TABLE t (x)", Some("CREATE TEMP TABLE t (x)")),
        (
            "CREATE VIEW IF NOT EXISTS v AS SELECT 1",
            Some("CREATE TEMP VIEW IF NOT EXISTS v AS SELECT 1"),
        ),
        ("CREATE VIRTUAL TABLE v USING m(a, b)", Some("CREATE VIRTUAL TABLE temp.v USING m(a, b)")),
        (
            "CREATE VIRTUAL TABLE IF NOT EXISTS v USING m",
            Some("CREATE VIRTUAL TABLE IF NOT EXISTS temp.v USING m"),
        ),
        ("CREATE TABLE main.t (x)", None),
        ("CREATE TEMP TABLE t (x)", None),
        ("CREATE INDEX i ON t (x)", None),
    ] {
        let Action::Sqlite(plain) = action(text) else {
            panic!("{text}");
        };
        assert_eq!(plain.temporary.map(|sql| sql.text).as_deref(), expected);
        assert!(!plain.is_span_join);
    }
    let Action::Sqlite(plain) = action("CREATE VIRTUAL TABLE v USING span_join(a, b)") else {
        panic!();
    };
    assert!(plain.is_span_join);
}

#[test]
fn pq1_an_error_says_where_and_what_is_expected() {
    for (text, expected) in [
        (
            "CREATE PERFETTO THING x",
            "near \"THING\": expected TABLE, VIEW, FUNCTION, MACRO or INDEX after CREATE PERFETTO\n  line 1, column 17: CREATE PERFETTO THING x",
        ),
        (
            "CREATE PERFETTO TABLE t(\n  a LONG b)",
            "near \"b\": expected a comma or a closing parenthesis\n  line 2, column 10: a LONG b)",
        ),
        (
            "CREATE PERFETTO VIEW v",
            "the statement is incomplete: expected AS\n  line 1, column 22: CREATE PERFETTO VIEW v",
        ),
        (
            "INCLUDE PERFETTO MODULE a.b c",
            "near \"c\": expected the end of the statement\n  line 1, column 29: INCLUDE PERFETTO MODULE a.b c",
        ),
    ] {
        assert_eq!(try_read(text).unwrap_err(), expected);
    }
    for (text, part) in [
        (
            "CREATE PERFETTO FUNCTION f(a NUMBER) RETURNS INT AS SELECT 1",
            "near \"NUMBER\": expected one of the types LONG",
        ),
        (
            "CREATE PERFETTO MACRO m(a Thing) RETURNS Expr AS $a",
            "near \"Thing\": expected one of the types of macros (ColumnNameList",
        ),
        (
            "CREATE PERFETTO FUNCTION f(a ANY...) RETURNS INT AS SELECT 1",
            "only the last argument of a function that delegates",
        ),
        (
            "CREATE PERFETTO FUNCTION f(a ANY..., b INT) RETURNS INT DELEGATES TO g",
            "only the last argument of a function that delegates",
        ),
    ] {
        let error = try_read(text).unwrap_err();
        assert!(error.starts_with(part), "{error}");
    }
}
