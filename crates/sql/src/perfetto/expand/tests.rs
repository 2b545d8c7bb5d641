//! Macros, without a database.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Macro, Macros, Sql, expand, pieces, trimmed};
use crate::perfetto::source::Source;

impl Macros for HashMap<String, Arc<Macro>> {
    fn find(&self, name: &str) -> Option<Arc<Macro>> {
        self.get(name).cloned()
    }
}

/// Macros by their name, parameters and body.
fn macros(list: &[(&str, &[&str], &str)]) -> HashMap<String, Arc<Macro>> {
    let made = list.iter().map(|(name, parameters, body)| {
        let source = Source::new(Some(format!("module.{name}")), body);
        let found = Macro {
            name: (*name).to_owned(),
            parameters: parameters.iter().map(|name| (*name).to_owned()).collect(),
            body: trimmed(&pieces(&source, 0, body.len())).to_vec(),
        };
        ((*name).to_owned(), Arc::new(found))
    });
    made.collect()
}

fn try_expand(list: &[(&str, &[&str], &str)], text: &str) -> Result<Sql, String> {
    let source = Source::new(None, text);
    let expanded = expand(pieces(&source, 0, text.len()), &macros(list));
    let expanded = expanded.map_err(|error| error.to_string())?;
    Ok(Sql::of(&expanded))
}

fn expanded(list: &[(&str, &[&str], &str)], text: &str) -> String {
    try_expand(list, text).unwrap().text
}

#[test]
fn pq7_arguments_stand_for_their_tokens() {
    let list: &[(&str, &[&str], &str)] = &[("pair", &["a", "b"], "($a, $b + $c)")];
    assert_eq!(
        expanded(list, "SELECT pair!((1, 2), f(x, 'a,b'))"),
        "SELECT ((1, 2), f(x, 'a,b') + $c)"
    );
    // Tokens that stand side by side do not become one.
    let list: &[(&str, &[&str], &str)] = &[("minus", &["a"], "-$a")];
    assert_eq!(expanded(list, "minus!(x) minus!(-)"), "-x - -");
    let list: &[(&str, &[&str], &str)] = &[("column", &["t", "c"], "$t.$c")];
    assert_eq!(expanded(list, "column!(x, y)"), "x.y");
}

#[test]
fn pq10_blanks_and_comments_around_a_call_and_its_arguments_have_no_meaning() {
    let list: &[(&str, &[&str], &str)] = &[("same", &["x"], "$x"), ("none", &[], "1")];
    for text in [
        "same!(a)",
        "same !(a)",
        "same! (a)",
        "same /* c */ ! -- d\n ( a )",
        "same!(-- before\n a -- after\n)",
    ] {
        assert_eq!(expanded(list, text), "a", "{text}");
    }
    assert_eq!(expanded(list, "none!( /* nothing */ )"), "1");
    assert_eq!(expanded(list, "same!(a -- in between\n+ b)"), "a -- in between\n+ b");
    // This is no call.
    assert_eq!(expanded(list, "same != (a), none!()"), "same != (a), 1");
}

#[test]
fn pq7_a_macro_makes_the_call_of_another_one() {
    let list: &[(&str, &[&str], &str)] =
        &[("inner", &["x"], "<$x>"), ("outer", &["m", "x"], "$m!(a) inner!($x) $m!($x)")];
    assert_eq!(expanded(list, "outer!(inner, inner!(y))"), "<a> < <y> > < <y> >");
}

#[test]
fn pq7_recursion_and_growth_have_an_end() {
    let list: &[(&str, &[&str], &str)] = &[("again", &["x"], "again!($x)")];
    let error = try_expand(list, "SELECT\n again!(1)").unwrap_err();
    assert_eq!(
        error,
        "the macro again! is called more than 1000 deep, perhaps by itself\n  line 2, column 2: again!(1)"
    );
    let doubled: Vec<(String, String)> = (0..40)
        .map(|level| (format!("m{level}"), format!("m{0}!() m{0}!()", level + 1)))
        .chain([("m40".into(), "a_long_name".into())])
        .collect();
    let list: Vec<(&str, &[&str], &str)> =
        doubled.iter().map(|(name, body)| (name.as_str(), &[] as &[&str], body.as_str())).collect();
    let error = try_expand(&list, "m0!()").unwrap_err();
    assert!(error.starts_with("the macros make a statement of more than 16 MiB"), "{error}");
    let mut list = list;
    list.pop();
    list.push(("m40", &[], ""));
    let error = try_expand(&list, "m0!()").unwrap_err();
    assert!(error.contains("makes too many calls"), "{error}");
}

#[test]
fn pq7_a_chain_of_999_macros_is_expanded() {
    let chain: Vec<(String, String)> = (0..998)
        .map(|level| (format!("m{level}"), format!("m{}!()", level + 1)))
        .chain([("m998".into(), "x".into())])
        .collect();
    let list: Vec<(&str, &[&str], &str)> =
        chain.iter().map(|(name, body)| (name.as_str(), &[] as &[&str], body.as_str())).collect();
    assert_eq!(expanded(&list, "m0!()"), "x");
}

#[test]
fn pq10_stringify_keeps_quotes_and_unknown_variables() {
    let list: &[(&str, &[&str], &str)] = &[("text", &["x"], "__intrinsic_stringify!($x)")];
    for (argument, expected) in [
        ("a.b", "'a.b'"),
        (" a + /* c */ b ", "'a + /* c */ b'"),
        ("$unknown", "'$unknown'"),
        ("\"q\"", "'\"q\"'"),
        ("text!(a)", "'text!(a)'"),
    ] {
        assert_eq!(expanded(list, &format!("text!({argument})")), expected);
    }
    // A quote ends the text, as it does in trace processor.
    assert_eq!(expanded(list, "text!('a')"), "''a''");
    assert_eq!(expanded(list, "__intrinsic_stringify_ignore_table!(t)"), "'t'");
    let error = try_expand(list, "__intrinsic_stringify!(a, b)").unwrap_err();
    assert!(error.starts_with("__intrinsic_stringify!() takes 1 arguments, not 2"), "{error}");
}

#[test]
fn pq10_token_apply_with_lists_of_unequal_length_and_empty_ones() {
    let list: &[(&str, &[&str], &str)] =
        &[("one", &["x"], "$x AS col_$x"), ("eq", &["a", "b"], "$a = $b"), ("id", &["a"], "$a")];
    for (call, expected) in [
        ("__intrinsic_token_apply!(id, (a, b, (c, d)))", "a, b, (c, d)"),
        ("__intrinsic_token_apply!(eq, (a, b, c), (x, y))", "a = x, b = y"),
        ("__intrinsic_token_apply_prefix!(id, (a, b))", ", a, b"),
        ("__intrinsic_token_apply_and!(eq, (a, b), (x, y))", "a = x AND b = y"),
        ("__intrinsic_token_apply_and_prefix!(id, (a))", " AND a"),
        ("__intrinsic_token_apply!(id, ())", ""),
        ("__intrinsic_token_apply_and_prefix!(eq, (a), ())", ""),
        ("__intrinsic_token_apply!(id, (a, ))", "a"),
    ] {
        assert_eq!(expanded(list, call), expected, "{call}");
    }
    for call in ["(id, a)", "(id, (,))", "(id, (a) b)", "(id)"] {
        let error = try_expand(list, &format!("__intrinsic_token_apply!{call}")).unwrap_err();
        assert!(error.starts_with("__intrinsic_token_apply!() takes"), "{error}");
    }
}

#[test]
fn pq7_an_error_names_the_macro_through_which_it_came() {
    let list: &[(&str, &[&str], &str)] =
        &[("outer", &["x"], "SELECT\n  inner!($x, 1)"), ("inner", &["x"], "$x")];
    let error = try_expand(list, "-- script\nouter!(a)").unwrap_err();
    assert_eq!(
        error,
        "inner!() takes 1 arguments, not 2\n  module.outer, line 2, column 3: inner!($x, 1)\n  \
         through the macro outer!, called at line 2, column 1"
    );
    let error = try_expand(list, "missing!()").unwrap_err();
    assert!(error.starts_with("no such macro: missing!"), "{error}");
    let error = try_expand(list, "outer!(a").unwrap_err();
    assert!(error.starts_with("the arguments of outer! have no end"), "{error}");
}

#[test]
fn pq7_a_place_in_the_result_is_found_again() {
    let list: &[(&str, &[&str], &str)] = &[("sum", &["x"], "1 + $x + wrong")];
    let sql = try_expand(list, "SELECT sum!(column) FROM t").unwrap();
    assert_eq!(sql.text, "SELECT 1 + column + wrong FROM t");
    let told = |word: &str| sql.place(sql.text.find(word).unwrap()).unwrap().told();
    assert_eq!(told("column"), "\n  line 1, column 13: SELECT sum!(column) FROM t");
    assert_eq!(
        told("wrong"),
        "\n  module.sum, line 1, column 10: 1 + $x + wrong\n  through the macro sum!, called at line 1, column 8"
    );
    assert_eq!(told("FROM"), "\n  line 1, column 21: SELECT sum!(column) FROM t");
}
