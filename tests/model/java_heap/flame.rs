//! The flame graph of a dump (rule HG13), written as plainly as possible.

use std::collections::BTreeMap;

use super::graph::{Model, NULL, root_type, row};
use crate::support::statements::Row;

/// The count and the size of each path of names.
type Paths = BTreeMap<Vec<String>, (i64, i64)>;

pub fn rows(model: &Model) -> Vec<Row> {
    let mut rows = Vec::new();
    for dump in &model.dumps {
        let paths = of_dump(model, dump.pid, dump.ts);
        for (path, (count, size)) in &paths {
            let below = paths.iter().filter(|(other, _)| other.starts_with(path));
            let (mut all, mut bytes) = (0, 0i64);
            for (_, (count, size)) in below {
                (all, bytes) = (all + count, bytes.saturating_add(*size));
            }
            let shown = path.join(">");
            let depth = path.len() - 1;
            rows.push(row([&dump.pid, &dump.ts, &shown, &depth, count, &all, size, &bytes]));
        }
    }
    rows
}

fn of_dump(model: &Model, pid: u64, ts: u64) -> Paths {
    let name = |object: usize| model.classes[model.objects[object].class].name.clone();
    let mut roots: Vec<usize> = (0..model.objects.len())
        .filter(|object| (model.objects[*object].pid, model.objects[*object].ts) == (pid, ts))
        .filter(|object| model.objects[*object].root.is_some())
        .collect();
    roots.sort_by_key(|object| (name(*object), *object));
    let mut paths = Paths::new();
    let mut taken = vec![false; model.objects.len()];
    for root in roots {
        add(model, root, &[], &mut taken, &mut paths);
    }
    paths
}

fn add(model: &Model, object: usize, above: &[String], taken: &mut [bool], paths: &mut Paths) {
    let of = &model.objects[object];
    let class = &model.classes[of.class];
    let name = class.deobfuscated.clone().or(class.name.clone());
    // A class without a name is an empty text before something.
    let name = match of.root {
        Some(root) => Some(format!("{} [{}]", name.unwrap_or_default(), root_type(root))),
        None => name,
    };
    let shown = name.clone().unwrap_or_else(|| NULL.to_owned());
    let path: Vec<String> = above.iter().cloned().chain([shown.clone()]).collect();
    let mut count = |path: &[String], size: i64| {
        let sums = paths.entry(path.to_vec()).or_default();
        *sums = (sums.0 + 1, sums.1.saturating_add(size));
    };
    count(&path, of.size);
    if of.native != 0 {
        let native = format!("[native] {}", name.unwrap_or_default());
        let path: Vec<String> = path.iter().cloned().chain([native]).collect();
        count(&path, of.native);
    }
    for child in model.children(object) {
        if model.objects[child].distance == of.distance + 1 && !taken[child] {
            taken[child] = true;
            add(model, child, &path, taken, paths);
        }
    }
}
