//! New and gone names (rule CM19).

use std::collections::HashMap;

use crate::comparison::{Appearance, Call, NameResult};
use crate::correct::fisher;
use crate::estimate::mean;
use crate::line::{Family, Stat};
use crate::rows;
use crate::table::{ENOUGH, Large, Table, Which};

/// Whether too few runs of a side have the line for a ratio.
pub(crate) fn is_name(large: &Large, n: [usize; 2]) -> bool {
    large.runs.into_iter().zip(n).any(|(runs, n)| runs < if n < ENOUGH { 1 } else { ENOUGH })
}

/// The result of a name that too few runs have.
pub(crate) fn name(table: &Table<'_>, large: &Large) -> NameResult {
    let line = table.values.line(large.line);
    let runs = large.runs.map(|runs| u32::try_from(runs).unwrap_or(u32::MAX));
    let n = table.n.map(|n| u32::try_from(n).unwrap_or(u32::MAX));
    let (stat, mean) = size(table, large.line, line.family);
    NameResult {
        unit: rows::unit(line.family, stat),
        mean,
        appearance: match runs {
            [0, _] => Appearance::New,
            [_, 0] => Appearance::Gone,
            _ => Appearance::Seldom,
        },
        runs,
        of: n,
        p: table.n.iter().all(|&n| n >= ENOUGH).then(|| fisher(runs, n)),
        call: Call::No,
        renamed: None,
        line,
    }
}

/// The statistic that shows how large a line is, and its mean over the runs that have it.
fn size(table: &Table<'_>, line: u32, family: Family) -> (Stat, f64) {
    let columns = table.columns(line);
    let wanted = family.weight().unwrap_or(Stat::Count);
    let column = columns.iter().find(|column| column.stat == wanted).or(columns.first());
    let Some(column) = column else { return (wanted, f64::NAN) };
    let mut values = table.all_of(column, Which::All);
    values.sort_unstable_by(f64::total_cmp);
    (column.stat, mean(&values))
}

/// Connects new names with gone ones below the same parent.
pub(crate) fn connect(table: &Table<'_>, lines: &[u32], names: &mut [NameResult]) {
    let mut places: HashMap<(Family, String, &str), [Option<usize>; 2]> = HashMap::new();
    for (at, (&line, name)) in lines.iter().zip(names.iter()).enumerate() {
        let side = match name.appearance {
            Appearance::New => 0,
            Appearance::Gone => 1,
            Appearance::Seldom => continue,
        };
        if let Some(parent) = table.values.parent_of(line) {
            let key = (name.line.family, name.line.process.clone(), parent);
            places.entry(key).or_default()[side].get_or_insert(at);
        }
    }
    for [new, gone] in places.into_values() {
        if let (Some(new), Some(gone)) = (new, gone) {
            for (one, other) in [(new, gone), (gone, new)] {
                if let Some(name) = names.get_mut(one) {
                    name.renamed = Some(other);
                }
            }
        }
    }
}
