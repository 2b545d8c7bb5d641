//! Values of the parameters of statements: `--param name=value`.
//!
//! # Design
//!
//! A value is bound, never written into the SQL, so no value can be a part of a statement. A script
//! may declare the type of a parameter, `-- param top integer = 20`. Then `--param top=all` is an
//! error before anything runs; SQLite would silently compare a number with a text, and find
//! nothing. If the script does not declare a type, the form of a value decides, as in SQL: a
//! number, NULL, text in single quotes. But text needs the quotes only if it looks like one of
//! these, because a shell removes quotes, and nearly all values are plain. A type on the command
//! line (`--param tag:text=1`) would have to be looked up by everybody who gives a value, and not
//! once by the author of the script.
//!
//! Names are also checked before anything runs: a parameter without a value is silently NULL in
//! SQLite, and a parameter that no statement has is a typing error.

use std::fmt::{self, Display, Formatter};

use anyhow::{Context, anyhow, bail, ensure};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Statement};
use timebase_resolver::{NotATime, WallTime};

use crate::script::{self, Declared, Script, Type};

/// Marks an error as the script's, and not the user's: the default of this parameter is wrong.
#[derive(Debug)]
pub struct WrongDefault(String);

impl Display for WrongDefault {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "the default of parameter {}", self.0)
    }
}

/// A parameter with its value, as given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Without `:`, `@` or `$` before it.
    pub name: String,
    /// A text; its type is decided later.
    pub value: String,
}

impl Parameter {
    /// Its text, if that is neither NULL nor in quotes.
    pub fn plain_text(&self) -> Option<&str> {
        Some(self.value.as_str()).filter(|text| !is_null(text) && !text.starts_with('\''))
    }
}

/// Reads the argument of `--param`.
pub fn parse(text: &str) -> Result<Parameter, String> {
    let (name, value) =
        text.split_once('=').ok_or("write a name, '=' and a value, as in top=20")?;
    if !script::is_name(name) {
        return Err(format!("'{name}' is not a valid name; write it without ':', as in top=20"));
    }
    Ok(Parameter { name: name.to_owned(), value: value.to_owned() })
}

/// A value, from its form.
fn value_of(text: &str) -> Value {
    if let Some(number) = integer(text).or_else(|| real(text)) {
        return number;
    }
    if is_null(text) {
        return Value::Null;
    }
    unquoted(text)
}

fn integer(text: &str) -> Option<Value> {
    text.parse().ok().map(Value::Integer)
}

fn real(text: &str) -> Option<Value> {
    // Words like 'inf' and 'nan' are floats to Rust, and names to SQL.
    let is_number = text.contains(|c: char| c.is_ascii_digit())
        && text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.'));
    let number = is_number.then(|| text.parse().ok())?;
    number.map(Value::Real)
}

fn is_null(text: &str) -> bool {
    text.eq_ignore_ascii_case("NULL")
}

fn unquoted(text: &str) -> Value {
    let quoted = text.strip_prefix('\'').and_then(|t| t.strip_suffix('\''));
    Value::Text(quoted.map_or_else(|| text.to_owned(), |text| text.replace("''", "'")))
}

/// The value of a parameter whose type may be declared.
fn value_for(declared: Option<&Declared<'_>>, text: &str) -> anyhow::Result<Value> {
    let Some((declared, value_type)) = declared.and_then(|d| Some((d, d.value_type?))) else {
        return Ok(value_of(text));
    };
    if is_null(text) && declared.default.is_some_and(is_null) {
        return Ok(Value::Null);
    }
    let read = match value_type {
        Type::Integer => integer(text).ok_or("must be an integer".to_owned()),
        Type::Real => real(text).ok_or("must be a number".to_owned()),
        Type::Text => Ok(unquoted(text)),
        Type::Time => time(text),
    };
    read.map_err(|why| match declared.description {
        "" => anyhow!("'{text}' {why}"),
        description => anyhow!("'{text}' {why} ({description})"),
    })
}

/// Trace time, or a text that stands for a trace time in a database.
fn time(text: &str) -> Result<Value, String> {
    match (integer(text), text.parse::<WallTime>()) {
        (Some(number), _) => Ok(number),
        (None, Ok(_)) => Ok(Value::Text(text.to_owned())),
        (None, Err(wrong @ NotATime::Form)) => {
            Err(format!("must be trace time in ns, or {}", wrong.expected()))
        }
        (None, Err(wrong)) => Err(wrong.to_string()),
    }
}

/// A parameter that a script uses, with its value.
#[derive(Debug)]
struct Bound {
    name: String,
    value: Value,
    /// Whether the value is a date as text, which stands for a time.
    is_time: bool,
}

/// The values for a script: the given ones, and the script's defaults.
#[derive(Debug, Default)]
pub struct Parameters(Vec<Bound>);

impl Parameters {
    /// Checks that every parameter of the script has a value of its type, and that there are no
    /// other values.
    pub fn of(script: &Script<'_>, given: &[Parameter]) -> anyhow::Result<Parameters> {
        let mut values = Parameters::default();
        for (index, Parameter { name, value }) in given.iter().enumerate() {
            ensure!(
                given[..index].iter().all(|earlier| earlier.name != *name),
                "--param {name} is given twice"
            );
            let is_used =
                |statement: &script::Statement<'_>| statement.parameters.contains(&name.as_str());
            ensure!(
                script.statements.iter().any(is_used),
                "--param {name}: no statement uses :{name}; {}",
                known(script)
            );
            values.add(script, name, value).with_context(|| format!("--param {name}={value}"))?;
        }
        for declared in &script.declared {
            let is_missing = values.0.iter().all(|value| value.name != declared.name);
            if let (true, Some(default)) = (is_missing, declared.default) {
                values
                    .add(script, declared.name, default)
                    .with_context(|| WrongDefault(declared.name.to_owned()))?;
            }
        }
        let several = script.statements.len() > 1;
        for (index, statement) in script.statements.iter().enumerate() {
            for name in &statement.parameters {
                if values.0.iter().all(|value| value.name != *name) {
                    let place = if several {
                        format!("{}: ", script::place(index, statement.title.as_deref()))
                    } else {
                        String::new()
                    };
                    bail!(
                        "{place}:{name} has no value; give it one with --param {name}=VALUE; {}",
                        known(script)
                    );
                }
            }
        }
        Ok(values)
    }

    fn add(&mut self, script: &Script<'_>, name: &str, text: &str) -> anyhow::Result<()> {
        let declared = declaration(script, name);
        self.0.push(Bound {
            name: name.to_owned(),
            value: value_for(declared, text)?,
            is_time: declared.is_some_and(|d| d.value_type == Some(Type::Time)),
        });
        Ok(())
    }

    /// Converts dates to trace time, which needs the clocks of the trace.
    pub fn resolve(&mut self, database: &Connection) -> anyhow::Result<()> {
        for Bound { name, value, .. } in self.0.iter_mut().filter(|known| known.is_time) {
            if let Value::Text(date) = value {
                let time: Option<i64> = database
                    .query_row("SELECT from_abs_time_str(?1)", [&*date], |row| row.get(0))
                    .with_context(|| format!("--param {name}={date}"))?;
                let time = time.with_context(|| {
                    format!(
                        "--param {name}={date}: the time of day of this trace is unknown; give nanoseconds of trace time"
                    )
                })?;
                *value = Value::Integer(time);
            }
        }
        Ok(())
    }

    /// All names and values.
    pub fn values(&self) -> Vec<(&str, ValueRef<'_>)> {
        let values = self.0.iter();
        values.map(|bound| (bound.name.as_str(), (&bound.value).into())).collect()
    }

    /// Binds the values to the parameters of a statement.
    pub fn bind(&self, statement: &mut Statement<'_>) -> anyhow::Result<()> {
        for index in 1..=statement.parameter_count() {
            let name = statement.parameter_name(index).unwrap_or("?");
            ensure!(
                !name.starts_with('?'),
                "the parameter {name} has no name; write :name instead of it"
            );
            let value = self.0.iter().find(|value| value.name == name[1..]);
            let Some(Bound { value, .. }) = value else {
                bail!(
                    "{name} has no value; 'timebase query' gives it one with --param {}=VALUE",
                    &name[1..]
                );
            };
            statement.raw_bind_parameter(index, value)?;
        }
        Ok(())
    }
}

/// The script's declaration of a parameter. If there are several lines, the last one counts.
fn declaration<'s, 'a>(script: &'s Script<'a>, name: &str) -> Option<&'s Declared<'a>> {
    script.declared.iter().rev().find(|d| d.name == name)
}

/// The parameters of a script, with their defaults.
fn known(script: &Script<'_>) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in script.statements.iter().flat_map(|s| &s.parameters) {
        if !names.contains(name) {
            names.push(name);
        }
    }
    if names.is_empty() {
        return "the statements have no parameters".to_owned();
    }
    let lines = names.into_iter().map(|name| {
        let declared = declaration(script, name);
        let value = match declared.and_then(|declared| declared.default) {
            Some(default) => format!(" = {default}"),
            None => ", which needs a value".to_owned(),
        };
        match declared.map_or("", |declared| declared.description) {
            "" => format!("\n  {name}{value}"),
            description => format!("\n  {name}{value}: {description}"),
        }
    });
    format!("its parameters are{}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_what_it_is_in_sql() {
        let text = |text: &str| Value::Text(text.to_owned());
        for (written, value) in [
            ("20", Value::Integer(20)),
            ("-9223372036854775808", Value::Integer(i64::MIN)),
            ("9223372036854775808", Value::Real(9_223_372_036_854_775_808.0)),
            ("1.5e3", Value::Real(1500.0)),
            ("-.5", Value::Real(-0.5)),
            ("NULL", Value::Null),
            ("null", Value::Null),
            ("", text("")),
            ("cpu_idle", text("cpu_idle")),
            ("inf", text("inf")),
            ("-nan", text("-nan")),
            ("0x10", text("0x10")),
            ("'20'", text("20")),
            ("'NULL'", text("NULL")),
            ("'it''s'", text("it's")),
            ("it's", text("it's")),
            ("'", text("'")),
            ("a=b", text("a=b")),
            ("1; DROP TABLE packet", text("1; DROP TABLE packet")),
        ] {
            assert_eq!(value_of(written), value, "{written}");
        }
    }

    #[test]
    fn a_name_comes_before_the_first_equals_sign() {
        let parameter = parse("tag=a=b").expect("is right");
        assert_eq!(parameter.name, "tag");
        for wrong in ["tag", "=1", ":tag=1", "a b=1", "a-b=1"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    fn names(sql: &str, given: &[&str]) -> Result<Vec<String>, String> {
        let given: Vec<_> = given.iter().map(|text| parse(text).expect("is right")).collect();
        Parameters::of(&Script::parse(sql), &given)
            .map(|parameters| parameters.0.into_iter().map(|p| p.name).collect())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_given_goes_before_the_default() {
        let script = Script::parse("-- param top = 20\nSELECT :top");
        let value = |given: &[Parameter]| {
            let parameters = Parameters::of(&script, given).expect("is right");
            let values = parameters.0.into_iter();
            values.map(|p| p.value).collect::<Vec<_>>()
        };
        assert_eq!(value(&[]), [Value::Integer(20)]);
        let given = parse("top=3").expect("is right");
        assert_eq!(value(&[given]), [Value::Integer(3)]);
    }

    #[test]
    fn a_parameter_that_is_missing_unknown_or_double_is_told() {
        let sql = "-- param top = 20 : how many\nSELECT :top;\n-- # Tags\nSELECT $tag;";
        assert_eq!(
            names(sql, &[]).expect_err("lacks one"),
            "statement 2 (Tags): :tag has no value; give it one with --param tag=VALUE; \
             its parameters are\n  top = 20: how many\n  tag, which needs a value"
        );
        let unknown = names(sql, &["tag=1", "tpo=1"]).expect_err("is unknown");
        assert!(
            unknown.starts_with("--param tpo: no statement uses :tpo; its parameters are"),
            "{unknown}"
        );
        let double = names(sql, &["tag=1", "tag=2"]).expect_err("is double");
        assert_eq!(double, "--param tag is given twice");
        let none = names("SELECT 1", &["x=1"]).expect_err("is unknown");
        assert!(none.ends_with("the statements have no parameters"), "{none}");
    }

    #[test]
    fn a_value_that_its_parameter_does_not_take_is_told_with_the_parameter() {
        let sql = "-- param top integer = 20 : how many rows\n-- param from time = NULL\n\
                   -- param share real = 0.5\n-- param tag text : whose lines\n\
                   SELECT :top, :from, :share, :tag";
        let script = Script::parse(sql);
        let values = |given: &[&str]| {
            let given = given.iter().map(|text| parse(text).expect("is right"));
            let given: Vec<_> = given.collect();
            let of = Parameters::of(&script, &given).map_err(|error| format!("{error:#}"))?;
            Ok::<_, String>(of.0.into_iter().map(|p| (p.name, p.value)).collect::<Vec<_>>())
        };
        let wrong = |given: &[&str]| values(given).expect_err("is wrong");
        assert_eq!(
            wrong(&["tag=a", "top=x"]),
            "--param top=x: 'x' must be an integer (how many rows)"
        );
        assert!(wrong(&["tag=a", "top=NULL"]).contains("must be an integer"));
        assert!(
            wrong(&["tag=a", "from=x"]).contains("'x' must be trace time in ns, or a time such as")
        );
        assert!(wrong(&["tag=a", "share=half"]).contains("must be a number"));
        assert!(wrong(&[]).ends_with("\n  tag, which needs a value: whose lines"));

        let pair = |name: &str, value| (name.to_owned(), value);
        let text = |text: &str| Value::Text(text.to_owned());
        assert_eq!(
            values(&["tag=123", "share=1", "from=null"]),
            Ok(vec![
                pair("tag", text("123")),
                pair("share", Value::Real(1.0)),
                pair("from", Value::Null),
                pair("top", Value::Integer(20)),
            ])
        );
        let date = "from=2026-11-21T16:21:30.5";
        assert!(values(&["tag=a", date]).is_ok());
    }

    #[test]
    fn a_default_that_its_parameter_does_not_take_is_told() {
        let error = names("-- param top integer = many\nSELECT :top", &[]).expect_err("is wrong");
        assert_eq!(error, "the default of parameter top");
    }
}
