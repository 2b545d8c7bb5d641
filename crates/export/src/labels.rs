//! Labels: columns with a single value in every table of a trace.

use crate::columns::Schema;
use crate::error::Error;

/// The partition.
const TRACE_ID: &str = "trace_id";

/// Refuses labels that collide with a column of a table, even of a table that is not
/// exported now: the folder may get it later. Readers of Parquet ignore the case of names.
///
/// # Errors
///
/// [`Error::Label`] names the first such label.
///
/// ```
/// use timebase_export::{Schema, check_labels};
/// let schema = Schema::new()?;
/// let label = |name: &str| (name.to_owned(), "7".to_owned());
/// check_labels(&[label("build"), label("device")], &schema)?;
/// let error = check_labels(&[label("Name")], &schema).unwrap_err();
/// assert_eq!(error.to_string(), "the label \"Name\" is called as a column of trace_file; give it another name");
/// # Ok::<(), timebase_export::Error>(())
/// ```
pub fn check_labels(labels: &[(String, String)], schema: &Schema) -> Result<(), Error> {
    for (index, (name, _)) in labels.iter().enumerate() {
        let refused = |why: String| {
            let name = name.clone();
            Err(Error::Label { name, why })
        };
        let is_same = |other: &str| other.eq_ignore_ascii_case(name);
        let mut before = labels.iter().take(index);
        if name.is_empty() {
            return refused("has no name; write name=value".to_owned());
        }
        if !is_name(name) {
            return refused(
                "has to be a name of letters, digits and underscores, as it becomes a column"
                    .to_owned(),
            );
        }
        if before.any(|(other, _)| is_same(other)) {
            return refused("is given twice".to_owned());
        }
        if is_same(TRACE_ID) {
            return refused("is what every trace has already; give it another name".to_owned());
        }
        let mut tables = schema.tables();
        let with = tables.find(|table| table.columns.iter().any(|column| is_same(&column.name)));
        if let Some(table) = with {
            let table = &table.name;
            return refused(format!("is called as a column of {table}; give it another name"));
        }
    }
    Ok(())
}

fn is_name(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !text.starts_with(|first: char| first.is_ascii_digit())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_label_that_cannot_be_a_column_is_told_with_the_reason() {
        let schema = Schema::new().unwrap();
        for (names, said) in [
            (&[""][..], "has no name"),
            (&["a b"], "letters, digits and underscores"),
            (&["1a"], "letters, digits and underscores"),
            (&["build", "BUILD"], "is given twice"),
            (&["trace_id"], "every trace has already"),
            (&["Dur"], "a column of"),
            (&["flow_trace_id"], "a column of flow"),
        ] {
            let labels: Vec<_> =
                names.iter().map(|name| ((*name).to_owned(), String::new())).collect();
            let error = check_labels(&labels, &schema).unwrap_err().to_string();
            assert!(error.contains(said), "{names:?}: {error}");
        }
    }
}
