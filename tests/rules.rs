//! Checks the rules of docs/rules and their citations: every cited rule exists, every rule has a
//! test, and texts for users do not need the names.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Place, answer, files, repository};

/// The rules by their names, each with its page.
fn rules() -> BTreeMap<String, PathBuf> {
    let mut rules = BTreeMap::new();
    for page in files("docs/rules", &["md"]) {
        for line in read(&page).lines() {
            let name = line.strip_prefix("| ").and_then(|row| row.split(' ').next());
            if let Some(name) = name.filter(|name| is_name(name)) {
                let before = rules.insert(name.to_owned(), page.clone());
                assert_eq!(before, None, "{name} is there twice");
            }
        }
    }
    rules
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap().replace("\r\n", "\n")
}

/// A word as its letters, one or two, and the rest.
fn letters(word: &str) -> Option<(&str, &str)> {
    let end = word.find(|c: char| !c.is_ascii_uppercase()).unwrap_or(word.len());
    (1..=2).contains(&end).then(|| word.split_at(end))
}

/// One or two letters, and a number.
fn is_name(word: &str) -> bool {
    letters(word).is_some_and(|(_, digits)| {
        (1..=2).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit())
    })
}

/// The rule, or all rules of a letter, at the beginning of `text`; and the rest.
fn one(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let is_letter = letters(word).is_some_and(|(_, digits)| digits.is_empty());
    (is_name(word) || is_letter).then_some((word, rest))
}

/// For `N1` and `N6`, these and all in between.
fn range(first: &str, last: &str) -> Vec<String> {
    let parts = |name| -> (&str, u8) {
        let (letter, number) = letters(name).unwrap();
        (letter, number.parse().unwrap())
    };
    let ((letter, first), (same, last)) = (parts(first), parts(last));
    assert_eq!(letter, same, "{first} to {last}");
    (first..=last).map(|n| format!("{letter}{n}")).collect()
}

/// The rules at the beginning of `text`, such as "C4–C6, S4 and T"; and the rest.
fn list(text: &str) -> (Vec<String>, &str) {
    let mut names = Vec::new();
    let mut rest = text;
    let mut next = text;
    while let Some((name, after)) = one(next) {
        rest = after;
        let to = ["–", "-", " to "].iter();
        let last = to
            .filter_map(|to| one(after.strip_prefix(to)?))
            .find(|(last, _)| is_name(name) && is_name(last));
        if let Some((last, after)) = last {
            names.extend(range(name, last));
            rest = after;
        } else {
            names.push(name.to_owned());
        }
        // The subject of a rule may come after it: "V3 (paths), V2".
        let gloss = rest.strip_prefix(" (").and_then(|g| g.split_once(')'));
        let between = gloss.map_or(rest, |(_, after)| after);
        let separators = [", and ", ", ", " and ", " or ", "/"];
        let Some(after) = separators.iter().find_map(|s| between.strip_prefix(s)) else {
            break;
        };
        next = after;
    }
    (names, rest)
}

/// The rules that `text` names as rules: "rule C4", "by rules V".
fn called_rules(text: &str) -> Vec<String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut found = Vec::new();
    for (word, several) in [("ule ", false), ("ules ", true)] {
        for (at, _) in text.match_indices(word) {
            let is_word = text[..at]
                .strip_suffix(['r', 'R'])
                .is_some_and(|before| !before.ends_with(|c: char| c.is_alphanumeric() || c == '_'));
            let (names, _) = list(text[at + word.len()..].trim_start_matches(['`', '[', '*']));
            if is_word && (several || names.first().is_some_and(|name| is_name(name))) {
                found.extend(names);
            }
        }
    }
    found
}

/// The rules in brackets, with nothing else in them: "(S1)", "(C6, T2)".
fn bracketed(text: &str) -> Vec<String> {
    let lists = text.split('(').skip(1).map(list);
    let alone = lists.filter(|(_, rest)| rest.starts_with(')'));
    alone.flat_map(|(names, _)| names).filter(|name| is_name(name)).collect()
}

/// The rules that a comment consists of or begins with: "S4", "N2: rejected".
fn labels(comment: &str) -> Vec<String> {
    let (names, rest) = list(comment.trim());
    let ends = rest.is_empty() || rest.starts_with([':', '.', ',', '\n']);
    let all_named = names.iter().all(|name| is_name(name));
    if ends && all_named { names } else { Vec::new() }
}

#[test]
fn the_recognizer_finds_rules_and_nothing_else() {
    for (text, found) in [
        ("by rule C4.", vec!["C4"]),
        ("Rule V3's order", vec!["V3"]),
        ("rules C4–C6, S4, T, D1", vec!["C4", "C5", "C6", "S4", "T", "D1"]),
        ("rules V1\n  to V3 and N5", vec!["V1", "V2", "V3", "N5"]),
        ("Rules V3 (paths), V2 (the nearest)", vec!["V3", "V2"]),
        ("see [rule D2](rules/clocks.md)", vec!["D2"]),
        ("all rules (V)", vec![]),
        ("rules GP1–GP2 and H", vec!["GP1", "GP2", "H"]),
        ("the rule A has", vec![]),
        ("a ferrule C4, the schedules T", vec![]),
        ("rules of clocks, rule by rule", vec![]),
    ] {
        assert_eq!(called_rules(text), found, "{text}");
    }
    for (text, found) in [
        ("kept (S1), or not (C6, T2)", vec!["S1", "C6", "T2"]),
        ("f(x), (A), (the rule), (X9y), (F16_)", vec![]),
    ] {
        assert_eq!(bracketed(text), found, "{text}");
    }
    for (text, found) in [
        (" S4", vec!["S4"]),
        (" V7, in the order", vec!["V7"]),
        (" S1, S2: whether", vec!["S1", "S2"]),
        (" C4, and before it C6", vec!["C4"]),
        (" A packet", vec![]),
        (" F16 is half", vec![]),
    ] {
        assert_eq!(labels(text), found, "{text}");
    }
    let source = r##"let a = '"'; // N1
        // goes on
        let b: &'static str = "x // \" y"; /* N2 */ let c = r#"z" // "#;"##;
    assert_eq!(parts(source).comments, [" N1\n goes on", " N2 "]);
    assert_eq!(parts(source).literals, ["x // \\\" y", "z\" // "]);
    assert_eq!(rules_of_test("n1_to_n3_d2_rows"), ["N1", "N2", "N3", "D2"]);
    assert!(rules_of_test("every_v2").is_empty());
}

/// The comments and strings of a source file.
#[derive(Default)]
struct Parts {
    /// Without comment markers; consecutive lines are one.
    comments: Vec<String>,
    literals: Vec<String>,
}

fn parts(source: &str) -> Parts {
    let mut parts = Parts::default();
    let mut rest = source;
    let mut follows_comment = false;
    while let Some(c) = rest.chars().next() {
        if rest.starts_with("//") {
            let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
            let text = line.trim_start_matches('/');
            let text = text.strip_prefix('!').unwrap_or(text);
            match parts.comments.last_mut() {
                Some(last) if follows_comment => *last += &format!("\n{text}"),
                _ => parts.comments.push(text.to_owned()),
            }
            rest = after;
            follows_comment = true;
            continue;
        }
        if let Some(inside) = rest.strip_prefix("/*") {
            let (text, after) = inside.split_once("*/").unwrap();
            parts.comments.push(text.to_owned());
            rest = after;
        } else if let Some(end) = raw_literal(rest) {
            let (literal, after) = rest.split_at(end);
            let literal = literal.trim_start_matches('r').trim_matches('#');
            parts.literals.push(literal[1..literal.len() - 1].to_owned());
            rest = after;
        } else if let Some(inside) = rest.strip_prefix('"') {
            let end = unescaped(inside, '"');
            parts.literals.push(inside[..end].to_owned());
            rest = &inside[end + 1..];
        } else if let Some(inside) = rest.strip_prefix('\'') {
            // A character, or the name of a lifetime.
            let is_char = inside.starts_with('\\') || inside.chars().nth(1) == Some('\'');
            rest = if is_char { &inside[unescaped(inside, '\'') + 1..] } else { inside };
        } else {
            let is_word = c.is_alphanumeric() || c == '_';
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
            rest = &rest[if is_word { end.unwrap_or(rest.len()) } else { c.len_utf8() }..];
            follows_comment &= c.is_whitespace();
            continue;
        }
        follows_comment = false;
    }
    parts
}

/// The end of the raw string at the beginning of `text`.
fn raw_literal(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('r')?;
    let hashes = inside.len() - inside.trim_start_matches('#').len();
    let inside = inside[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    Some(2 + hashes + inside.find(&end)? + end.len())
}

/// The position of the first `end` without a backslash in `text`.
fn unescaped(text: &str, end: char) -> usize {
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        if c == end {
            return at;
        }
        if c == '\\' {
            chars.next();
        }
    }
    panic!("a literal without an end: {text}");
}

/// Files other than Rust, as text in which a list of rules may continue in the next line of a
/// comment.
fn without_comment_marks(text: &str) -> String {
    let lines = text.lines().map(str::trim_start);
    let lines = lines.map(|line| line.trim_start_matches(['#', '-', '/']));
    lines.collect::<Vec<_>>().join("\n")
}

/// Types of Rust, with which names of tests may also begin.
const TYPES: [&str; 10] = ["U8", "U16", "U32", "U64", "I8", "I16", "I32", "I64", "F32", "F64"];

#[test]
fn every_rule_that_is_cited_is_there() {
    let rules = rules();
    let names = rules.keys();
    let letters: BTreeSet<&str> = names.filter_map(|name| Some(letters(name)?.0)).collect();
    let mut citations = 0;
    let mut unknown = Vec::new();
    let directories = ["benches", "crates", "docs", "schema", "tests"];
    let mut sources: Vec<PathBuf> = directories
        .iter()
        .flat_map(|directory| files(directory, &["rs", "sql", "proto", "md", "py"]))
        .collect();
    sources.extend(["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|p| repository().join(p)));
    for path in sources {
        let text = read(&path);
        let mut cited = Vec::new();
        if path.extension().is_some_and(|extension| extension == "rs") {
            for comment in parts(&text).comments {
                cited.extend(called_rules(&comment));
                cited.extend(bracketed(&comment));
                cited.extend(labels(&comment));
            }
            let of_tests = tests(&text).flat_map(|test| rules_of_test(&test));
            cited.extend(of_tests.filter(|name| !TYPES.contains(&name.as_str())));
        } else if path.starts_with(repository().join("docs/rules")) {
            // Rules cite each other without further words.
            let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
            cited.extend(words.filter(|word| is_name(word)).map(str::to_owned));
        } else {
            cited.extend(called_rules(&without_comment_marks(&text)));
        }
        citations += cited.len();
        cited.retain(|name| !rules.contains_key(name) && !letters.contains(name.as_str()));
        unknown.extend(cited.into_iter().map(|name| (name, path.clone())));
    }
    assert!(unknown.is_empty(), "no such rules: {unknown:#?}");
    assert!(citations > 400, "{citations}");
}

/// The names of the tests of a source file.
fn tests(source: &str) -> impl Iterator<Item = String> {
    let after = source.split("#[test]\n").skip(1);
    after.filter_map(|rest| {
        let (_, rest) = rest.split_once("fn ")?;
        Some(rest.split(['(', '<']).next()?.to_owned())
    })
}

/// The rules that the name of a test begins with: `n5_…`, `i1_d2_…`, `n1_to_n6_…`.
fn rules_of_test(name: &str) -> Vec<String> {
    let words: Vec<String> = name.split('_').map(str::to_uppercase).collect();
    let mut found = Vec::new();
    let mut words = words.as_slice();
    while let [word, rest @ ..] = words {
        if !is_name(word) {
            break;
        }
        words = match rest {
            [to, last, rest @ ..] if to == "TO" && is_name(last) => {
                found.extend(range(word, last));
                rest
            }
            _ => {
                found.push(word.clone());
                rest
            }
        };
    }
    found
}

#[test]
fn every_rule_has_a_test() {
    let sources = [files("crates", &["rs"]), files("tests", &["rs"])].concat();
    let mut tested: BTreeSet<String> = sources
        .iter()
        .flat_map(|path| tests(&read(path)).collect::<Vec<_>>())
        .flat_map(|test| rules_of_test(&test))
        .collect();
    for path in files("tests/python", &["py"]) {
        let source = read(&path);
        let names = source.lines().filter_map(|line| line.trim_start().strip_prefix("def test_"));
        tested.extend(names.flat_map(rules_of_test));
    }
    let rules = rules();
    assert!(rules.len() >= 37, "{rules:?}");
    let missing: Vec<&String> = rules.keys().filter(|name| !tested.contains(*name)).collect();
    assert!(missing.is_empty(), "no test has these in its name: {missing:?}");
}

#[test]
fn what_users_read_does_not_depend_on_the_names_of_rules() {
    let mut found = Vec::new();
    for path in [files("crates", &["rs"]), files("schema", &["rs"])].concat() {
        let is_test = path.iter().any(|part| part == "tests" || part == "tests.rs");
        let text = read(&path);
        let product = text.split("#[cfg(test)]\n").next().unwrap();
        for literal in parts(product).literals {
            let named = [called_rules(&literal), bracketed(&literal)].concat();
            if !is_test && !named.is_empty() {
                found.push(format!("{}: {literal:?}", path.display()));
            }
        }
    }
    // People copy reports, and see the schema through `.schema`.
    let pages = [files("docs", &["md"]), files("crates", &["sql"]), files("schema", &["sql"])];
    let rules = repository().join("docs/rules");
    let mut pages = pages.concat();
    pages.retain(|path| !path.starts_with(&rules));
    pages.extend(
        ["README.md", "CHANGELOG.md", "crates/python/README.md"].map(|p| repository().join(p)),
    );
    for path in pages {
        let text = without_comment_marks(&read(&path));
        for name in [called_rules(&text), bracketed(&text)].concat() {
            found.push(format!("{}: {name}", path.display()));
        }
    }
    // The help comes from comments.
    let place = Place::new();
    let directory = place.path("man");
    answer(&["man", "--dir", directory.to_str().unwrap()]);
    let manuals = fs::read_dir(directory).unwrap();
    let manuals: Vec<String> = manuals.map(|page| read(&page.unwrap().path())).collect();
    assert!(manuals.len() >= 10);
    for text in manuals {
        for name in [called_rules(&text), bracketed(&text)].concat() {
            found.push(format!("the help: {name}"));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}
