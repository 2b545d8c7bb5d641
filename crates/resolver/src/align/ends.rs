//! Collectives whose participants end together (rule AL19).

use std::collections::BTreeMap;

use super::bins::Medians;

/// The end of each participation in an all-to-all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CollectiveEnds(
    /// The clock and its reading in ns.
    pub Vec<(usize, i64)>,
);

/// The collectives of one bin, about.
const BIN: usize = 8;

/// For each clock, the polygon through medians of how much later than the reference it ends, less
/// `base` of the clock; over the time of the reference less `start`.
pub(super) fn polygons(
    collectives: &[CollectiveEnds],
    reference: usize,
    start: i64,
    base: &[i128],
) -> Vec<Option<Medians>> {
    let mut values: BTreeMap<usize, Vec<(f64, f64)>> = BTreeMap::new();
    for CollectiveEnds(ends) in collectives {
        let at = ends.iter().find(|end| end.0 == reference);
        let Some(&(_, at)) = at else { continue };
        for &(clock, end) in ends {
            if let Some(base) = base.get(clock) {
                let later = i128::from(end) - i128::from(at) - base;
                let time = (i128::from(at) - i128::from(start)) as f64;
                values.entry(clock).or_default().push((time, later as f64));
            }
        }
    }
    let polygon = |clock| {
        let values = values.get_mut(&clock).filter(|values| values.len() >= BIN)?;
        values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        Some(Medians::in_bins(values, values.len() / BIN))
    };
    (0..base.len()).map(polygon).collect()
}
