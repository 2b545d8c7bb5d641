//! The comparison.

use crate::comparison::{Comparison, Counts};
use crate::error::Result;
use crate::settings::Settings;
use crate::values::Values;

/// Compares the runs before with those after.
///
/// ```
/// use timebase_compare::{Facts, Family, Line, Settings, Side, Stat, Value, Values, compare};
///
/// let mut values = Values::new();
/// let layout = Line::new(Family::SelfTime, "app", "layout");
/// let ms = [[100, 104, 96, 102, 98], [121, 125, 117, 119, 123]];
/// for (side, ms) in Side::BOTH.into_iter().zip(ms) {
///     for (number, ms) in ms.into_iter().enumerate() {
///         let run = values.run(&format!("{side:?}/{number}"), side, Facts::default())?;
///         values.add(run, &layout, Stat::Total, Value::sure(f64::from(ms) * 1e6))?;
///     }
/// }
/// let comparison = compare(&values, &Settings::default())?;
/// # Ok::<(), timebase_compare::Error>(())
/// ```
pub fn compare(values: &Values, settings: &Settings) -> Result<Comparison> {
    let _ = values;
    Ok(Comparison {
        settings: settings.clone(),
        runs: Vec::new(),
        pairs: Vec::new(),
        shift: None,
        lines: Vec::new(),
        rows: Vec::new(),
        names: Vec::new(),
        notes: Vec::new(),
        counts: Counts::default(),
    })
}
