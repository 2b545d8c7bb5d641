use std::fmt::Write;

/// The first texts of every table `string`, in the order of their numbers from 0: frequent states of threads.
///
/// Views look up texts by number, and a lookup takes SQLite 0.1 µs, mostly because it opens the table for each
/// row. So views of states compare the number with these first. The order is that of these comparisons.
///
/// ```
/// assert_eq!(timebase_schema::FIRST_TEXTS[..2], ["Running", "R"]);
/// ```
pub const FIRST_TEXTS: [&str; 6] = ["Running", "R", "S", "R+", "D", "I"];

/// The SQL of a file of this folder, with the text of a state's number in the places of `STATE(number)`.
pub(crate) fn with_states(sql: &str) -> String {
    let mut parts = sql.split("STATE(");
    let mut all = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let Some((number, rest)) = part.split_once(')') else {
            all += "STATE(";
            all += part;
            continue;
        };
        // Writing to a String does not fail. `Running` comes last: most of these rows have no number.
        let _ = write!(all, "CASE {number}");
        let mut texts: Vec<_> = FIRST_TEXTS.iter().enumerate().collect();
        texts.rotate_left(1);
        for (id, text) in texts {
            let _ = write!(all, " WHEN {id} THEN '{text}'");
        }
        let lookup = format_args!("(SELECT value FROM string WHERE string.id = {number})");
        let _ = write!(all, " ELSE {lookup} END{rest}");
    }
    all
}
