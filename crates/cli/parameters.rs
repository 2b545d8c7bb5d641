//! Values of the parameters of statements: `--param name=value`.
//!
//! # Design
//!
//! A value is bound, never written into the SQL, so no value can be a part of a
//! statement. What it is follows from how it is written, as in SQL: a number, NULL,
//! text in single quotes. But text needs the quotes only where it looks like one
//! of these, since a shell takes quotes away and nearly all values are plain. A
//! type beside the name (`--param tag:text=1`) would have to be looked up.
//!
//! Names are checked before anything runs: a parameter that SQLite is not given
//! is NULL without a word, and one that no statement has is a slip of the pen.

use anyhow::{bail, ensure};
use rusqlite::Statement;
use rusqlite::types::Value;

use crate::script::{self, Script};

/// A parameter with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    pub name: String,
    pub value: Value,
}

/// Reads what stands after `--param`.
pub fn parse(text: &str) -> Result<Parameter, String> {
    let (name, value) = text
        .split_once('=')
        .ok_or("a name, '=' and a value are needed, as in top=20")?;
    if !script::is_name(name) {
        return Err(format!(
            "'{name}' is no name of a parameter; it is written without ':', as in top=20"
        ));
    }
    Ok(Parameter {
        name: name.to_owned(),
        value: value_of(value),
    })
}

/// What a value is, by how it is written.
fn value_of(text: &str) -> Value {
    if let Ok(integer) = text.parse() {
        return Value::Integer(integer);
    }
    // Words like 'inf' and 'nan' are floats to Rust, and names to SQL.
    let is_number = text.contains(|c: char| c.is_ascii_digit())
        && text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.'));
    if let (true, Ok(real)) = (is_number, text.parse()) {
        return Value::Real(real);
    }
    if text.eq_ignore_ascii_case("NULL") {
        return Value::Null;
    }
    let quoted = text.strip_prefix('\'').and_then(|t| t.strip_suffix('\''));
    Value::Text(quoted.map_or_else(|| text.to_owned(), |text| text.replace("''", "'")))
}

/// The values for a script: those that were given, and its own defaults.
#[derive(Debug, Default)]
pub struct Parameters(Vec<Parameter>);

impl Parameters {
    /// Checks that every parameter of the script has a value, and that no other
    /// was given.
    pub fn of(script: &Script<'_>, given: &[Parameter]) -> anyhow::Result<Parameters> {
        for (index, Parameter { name, .. }) in given.iter().enumerate() {
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
        }
        let mut values = given.to_vec();
        for default in &script.defaults {
            if given.iter().all(|given| given.name != default.name) {
                values.push(Parameter {
                    name: default.name.to_owned(),
                    value: value_of(default.value),
                });
            }
        }
        let several = script.statements.len() > 1;
        for (index, statement) in script.statements.iter().enumerate() {
            for name in &statement.parameters {
                if values.iter().all(|value| value.name != *name) {
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
        Ok(Parameters(values))
    }

    /// Gives the parameters of a statement their values.
    pub fn bind(&self, statement: &mut Statement<'_>) -> anyhow::Result<()> {
        for index in 1..=statement.parameter_count() {
            let name = statement.parameter_name(index).unwrap_or("?");
            ensure!(
                !name.starts_with('?'),
                "the parameter {name} has no name; write :name instead of it"
            );
            let value = self.0.iter().find(|value| value.name == name[1..]);
            let Some(Parameter { value, .. }) = value else {
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

/// Which parameters a script has, with their defaults.
fn known(script: &Script<'_>) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in script.statements.iter().flat_map(|s| &s.parameters) {
        if !names.contains(name) {
            names.push(name);
        }
    }
    if names.is_empty() {
        return "there are no parameters in it".to_owned();
    }
    let lines = names.into_iter().map(|name| {
        let default = script.defaults.iter().rev().find(|d| d.name == name);
        match default {
            None => format!("\n  {name}: needs a value"),
            Some(default) if default.description.is_empty() => {
                format!("\n  {name} = {}", default.value)
            }
            Some(default) => format!("\n  {name} = {}: {}", default.value, default.description),
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
            (
                "9223372036854775808",
                Value::Real(9_223_372_036_854_775_808.0),
            ),
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
        let given: Vec<_> = given
            .iter()
            .map(|text| parse(text).expect("is right"))
            .collect();
        Parameters::of(&Script::parse(sql), &given)
            .map(|parameters| parameters.0.into_iter().map(|p| p.name).collect())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_given_goes_before_the_default() {
        let script = Script::parse("-- param top = 20\nSELECT :top");
        let value = |given: &[Parameter]| {
            let parameters = Parameters::of(&script, given).expect("is right");
            parameters
                .0
                .into_iter()
                .map(|p| p.value)
                .collect::<Vec<_>>()
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
             its parameters are\n  top = 20: how many\n  tag: needs a value"
        );
        let unknown = names(sql, &["tag=1", "tpo=1"]).expect_err("is unknown");
        assert!(
            unknown.starts_with("--param tpo: no statement uses :tpo; its parameters are"),
            "{unknown}"
        );
        let double = names(sql, &["tag=1", "tag=2"]).expect_err("is double");
        assert_eq!(double, "--param tag is given twice");
        let none = names("SELECT 1", &["x=1"]).expect_err("is unknown");
        assert!(none.ends_with("there are no parameters in it"), "{none}");
    }
}
