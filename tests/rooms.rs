//! Checks the dependencies between packages, between the rooms of the import, and between files, by
//! the names in their sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::support::{files, repository};

/// The packages, each above those on which it may depend (ARCHITECTURE.md).
const PACKAGES: &[&str] = &[
    "lab",
    "cli",
    "extension",
    "timebase",
    "page",
    "compare",
    "export",
    "import",
    "resolver",
    "sql",
    "trace",
    "symbols",
    "store",
    "descriptor",
    "schema",
];

/// The rooms of the import, each below those on which it may depend.
const ROOMS: &[&str] = &[
    "place",
    "timeline",
    "evidence",
    "output",
    "definitions",
    "arguments",
    "world",
    "trackers",
    "readers",
    "files",
    "frame",
    "align",
    "formats",
    "pipeline",
    "import",
    "emit",
    "rewrite",
];

/// A module of a package: its path in it, and the names in it.
struct Module {
    path: Vec<String>,
    /// Paths that begin with `crate`, or with the name of another package.
    names: BTreeSet<Vec<String>>,
}

/// The modules of a package, without its tests.
fn modules(package: &str) -> Vec<Module> {
    let root = match package {
        "schema" => "schema/src".to_owned(),
        other => format!("crates/{other}/src"),
    };
    let mut modules = Vec::new();
    for file in files(&root, &["rs"]) {
        let inside = file.strip_prefix(repository().join(&root)).unwrap();
        let path = module_path(inside);
        if path.iter().any(|part| part == "tests" || part == "testing") {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        modules.push(Module { names: names(&text, &path), path });
    }
    modules
}

fn module_path(file: &Path) -> Vec<String> {
    let without = file.with_extension("");
    let mut path: Vec<String> =
        without.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
    if matches!(path.last().unwrap().as_str(), "mod" | "lib" | "main") {
        path.pop();
    }
    path
}

/// Without comments, and without the tests at the end.
fn code(text: &str) -> String {
    let text = text.split("\nmod tests {").next().unwrap();
    let lines = text.lines().map(|line| line.split("//").next().unwrap());
    lines.collect::<Vec<_>>().join("\n")
}

/// All paths in a module, with `super` and `self` resolved.
fn names(text: &str, module: &[String]) -> BTreeSet<Vec<String>> {
    let code = code(text);
    let mut found = Vec::new();
    let mut rest = code.as_str();
    // In `use`, there is a tree of paths.
    while let Some(at) = rest.find("use ") {
        let is_word = !rest[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        rest = &rest[at + 4..];
        if let Some(end) = rest.find(';').filter(|_| is_word) {
            expand(&mut Vec::new(), rest[..end].trim(), &mut found);
        }
    }
    // Elsewhere, there are single paths.
    for begin in ["crate::", "super::"] {
        for (at, _) in code.match_indices(begin) {
            if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            let path = code[at..].split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
            let path =
                path.take(1).flat_map(|path| path.split("::")).filter(|part| !part.is_empty());
            found.push(path.map(str::to_owned).collect());
        }
    }
    found.into_iter().map(|path: Vec<String>| resolved(path, module)).collect()
}

fn expand(before: &mut Vec<String>, tree: &str, found: &mut Vec<Vec<String>>) {
    let (path, group) = match tree.split_once('{') {
        Some((path, group)) => {
            let group = group.trim_end();
            (path, Some(group.strip_suffix('}').unwrap_or(group)))
        }
        None => (tree, None),
    };
    let path = path.split(" as ").next().unwrap();
    let parts = path.split("::").map(str::trim).filter(|part| !part.is_empty());
    let depth = before.len();
    before.extend(parts.map(str::to_owned));
    match group {
        None => found.push(before.clone()),
        Some(group) => {
            for tree in split(group) {
                expand(before, tree, found);
            }
        }
    }
    before.truncate(depth);
}

/// The trees of a group: split at its commas, but not at those inside them.
fn split(group: &str) -> Vec<&str> {
    let (mut depth, mut start) = (0, 0);
    let mut trees = Vec::new();
    for (at, c) in group.char_indices().chain([(group.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let tree = group[start..at].trim();
                trees.extend((!tree.is_empty()).then_some(tree));
                start = at + 1;
            }
            _ => {}
        }
    }
    trees
}

fn resolved(path: Vec<String>, module: &[String]) -> Vec<String> {
    let supers = path.iter().take_while(|part| *part == "super").count();
    let (up, rest) = match path.first().map(String::as_str) {
        Some("super") => (supers, &path[supers..]),
        Some("self") => (0, &path[1..]),
        _ => return path,
    };
    let around = &module[..module.len().saturating_sub(up)];
    let whole = ["crate".to_owned()].into_iter();
    whole.chain(around.iter().cloned()).chain(rest.iter().cloned()).collect()
}

fn place(order: &[&str], name: &str) -> Option<usize> {
    order.iter().position(|known| *known == name)
}

#[test]
fn no_package_knows_one_above_it() {
    let mut seen = 0;
    for (number, package) in PACKAGES.iter().enumerate() {
        for module in modules(package) {
            for name in &module.names {
                let known = match name[0].as_str() {
                    "timebase" => Some("timebase"),
                    other => other.strip_prefix("timebase_"),
                };
                // The program has the same name as the library next to it.
                let Some(known) = known.filter(|known| known != package) else {
                    continue;
                };
                let other =
                    place(PACKAGES, known).unwrap_or_else(|| panic!("{known} is no package"));
                assert!(other > number, "{package} knows {known}: {name:?} in {:?}", module.path);
                seen += 1;
            }
        }
    }
    assert!(seen > 100, "{seen}");
}

#[test]
fn no_room_of_the_import_knows_one_below_it() {
    let mut wrong = BTreeSet::new();
    let mut seen = 0;
    for module in modules("import") {
        let Some(room) = module.path.first().and_then(|room| place(ROOMS, room)) else {
            continue;
        };
        for name in module.names.iter().filter(|name| name[0] == "crate") {
            let other = name.get(1).and_then(|room| place(ROOMS, room));
            let Some(other) = other else { continue };
            seen += u32::from(other != room);
            if other > room {
                wrong.insert((ROOMS[room], ROOMS[other], module.path.join("/")));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(seen > 100, "{seen}");
}

#[test]
fn what_a_source_names_is_found() {
    let text = "use super::clocks::{Clocks, deep::{self, Made as Other}};\n\
                // use crate::comment;\n\
                fn f() -> crate::definitions::Names { super::super::output::g() }\n\
                #[cfg(test)]\n#[allow(lint)]\nmod tests {\n    use crate::only_tests;\n}\n";
    let module = ["place", "bridge"].map(str::to_owned);
    let found = names(text, &module).into_iter().map(|path| path.join("::"));
    assert_eq!(
        found.collect::<Vec<_>>(),
        [
            "crate::definitions::Names",
            "crate::output::g",
            "crate::place::clocks",
            "crate::place::clocks::Clocks",
            "crate::place::clocks::deep::Made",
            "crate::place::clocks::deep::self",
        ]
    );
}

#[test]
fn a_circle_is_found() {
    let known = BTreeMap::from([
        ("one", BTreeSet::from(["two"])),
        ("two", BTreeSet::from(["three"])),
        ("three", BTreeSet::from(["two"])),
    ]);
    assert!(reached(&known, "two").contains("two"));
    assert!(!reached(&known, "one").contains("one"));
}

/// For each folder, its files and folders that depend on each other.
#[test]
fn no_files_know_each_other_in_a_circle() {
    let mut circles = Vec::new();
    for package in PACKAGES {
        let modules = modules(package);
        let all: BTreeSet<&[String]> = modules
            .iter()
            .flat_map(|module| (0..=module.path.len()).map(|end| &module.path[..end]))
            .collect();
        // By folder: the dependencies inside it.
        let mut known: BTreeMap<&[String], BTreeMap<&str, BTreeSet<&str>>> = BTreeMap::new();
        for module in &modules {
            for name in module.names.iter().filter(|name| name[0] == "crate") {
                let mut end = name.len();
                while !all.contains(&name[1..end]) {
                    end -= 1;
                }
                let other = &name[1..end];
                let pairs = module.path.iter().zip(other);
                let common = pairs.take_while(|(one, other)| one == other).count();
                if let (Some(one), Some(other)) = (module.path.get(common), other.get(common)) {
                    let folder = known.entry(&module.path[..common]).or_default();
                    folder.entry(one).or_default().insert(other);
                }
            }
        }
        for (folder, known) in known {
            for one in known.keys() {
                if reached(&known, one).contains(one) {
                    circles.push(format!("{package}: {one} of {}", folder.join("/")));
                }
            }
        }
    }
    assert!(circles.is_empty(), "{circles:#?}");
}

/// Direct and indirect dependencies.
fn reached<'a>(known: &BTreeMap<&'a str, BTreeSet<&'a str>>, from: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&str> = known.get(from).into_iter().flatten().copied().collect();
    while let Some(one) = next.pop() {
        if reached.insert(one) {
            next.extend(known.get(one).into_iter().flatten());
        }
    }
    reached
}
