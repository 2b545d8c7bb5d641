//! What is true of paths and dominators in any dump.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::Imported;
use crate::support::statements::Answered;

/// The objects that roots lead to, if one object is left out; from the tables of the dump alone.
fn reached(edges: &[(i64, i64)], roots: &[i64], without: Option<i64>) -> BTreeSet<i64> {
    let mut found: BTreeSet<i64> = BTreeSet::new();
    let mut waiting: Vec<i64> = roots.to_vec();
    while let Some(object) = waiting.pop() {
        if Some(object) != without && found.insert(object) {
            let next = edges.iter().filter(|(owner, _)| *owner == object);
            waiting.extend(next.map(|(_, owned)| *owned));
        }
    }
    found
}

fn numbers(imported: &Imported, sql: &str) -> Vec<Vec<i64>> {
    let rows = imported.rows(sql).into_iter();
    rows.map(|row| row.iter().map(|cell| cell.parse().unwrap_or(-7)).collect()).collect()
}

const STRONG: &str = "SELECT r.owner_id, r.owned_id FROM heap_graph_object AS o
    JOIN heap_graph_reference AS r ON r.reference_set_id = o.reference_set_id AND r.owner_id = o.id
    JOIN heap_graph_class AS c ON c.id = o.type_id
    WHERE r.owned_id IS NOT NULL AND NOT (ifnull(r.field_name, '') = 'java.lang.ref.Reference.referent'
      AND ifnull(c.kind, '') IN ('KIND_WEAK_REFERENCE', 'KIND_FINALIZER_REFERENCE', 'KIND_PHANTOM_REFERENCE'))";

/// What is wrong with the paths and the dominators of an import.
pub fn wrong(imported: &Imported) -> Answered {
    let mut wrong = Answered::new();
    let edges: Vec<(i64, i64)> =
        numbers(imported, STRONG).into_iter().map(|row| (row[0], row[1])).collect();
    let all = "SELECT id, upid, graph_sample_ts, root_type IS NOT NULL, root_distance, max(self_size, -1) FROM heap_graph_object GROUP BY id";
    let objects = numbers(imported, all);
    let roots: Vec<i64> = objects.iter().filter(|row| row[3] == 1).map(|row| row[0]).collect();
    for row in &objects {
        let (id, distance) = (row[0], row[4]);
        let path =
            numbers(imported, &format!("SELECT distance, object_id FROM heap_graph_path({id})"));
        let is_right = path.len() as i64 == distance + 1
            && (0..).zip(&path).all(|(place, step)| step[0] == place)
            && path.first().is_none_or(|step| roots.contains(&step[1]))
            && path.last().is_none_or(|step| step[1] == id)
            && path.windows(2).all(|two| edges.contains(&(two[0][1], two[1][1])));
        if !is_right {
            wrong.insert("path".to_owned(), format!("of {id}: {path:?}"));
        }
    }
    let sizes: BTreeMap<i64, i64> = objects.iter().map(|row| (row[0], row[5])).collect();
    let alive = reached(&edges, &roots, None);
    let dumps: BTreeSet<(i64, i64)> = objects.iter().map(|row| (row[1], row[2])).collect();
    let mut told = BTreeSet::new();
    // Objects that came before their graph had a process are of another dump (HG2), without their owners.
    if dumps.iter().any(|(upid, _)| *upid == 0) {
        return wrong;
    }
    for (upid, ts) in dumps {
        let sql = format!(
            "SELECT object_id, dominated_obj_count, dominated_size_bytes FROM heap_graph_dominator({upid}, {ts})"
        );
        for row in numbers(imported, &sql) {
            told.insert(row[0]);
            let others = reached(&edges, &roots, Some(row[0]));
            let kept: Vec<&i64> = alive.difference(&others).collect();
            let size: i64 = kept.iter().map(|object| sizes[object]).fold(0, i64::saturating_add);
            if (row[1], row[2]) != (kept.len() as i64, size) {
                wrong.insert("dominator".to_owned(), format!("{row:?}: keeps {kept:?}"));
            }
        }
    }
    if told != alive {
        wrong.insert("dominated".to_owned(), format!("{told:?}, not {alive:?}"));
    }
    wrong
}
