//! Replaces the numbers of machines and files by their names: the view has only numbers.

use std::collections::BTreeMap;

use rusqlite::Connection;

use crate::escape;

const NAMES: &str = include_str!("names.sql");

/// The names of machines and files. There are none if there is only one.
#[derive(Debug, Default)]
pub struct Names {
    machines: BTreeMap<i64, Option<String>>,
    files: BTreeMap<i64, Option<String>>,
}

impl Names {
    pub fn read(database: &Connection) -> rusqlite::Result<Names> {
        let mut names = Names::default();
        let mut statement = database.prepare(NAMES)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (kind, id, name): (String, i64, Option<String>) =
                (row.get(0)?, row.get(1)?, row.get(2)?);
            let name = name.map(|name| escape::printable(&name).replace('\n', " "));
            let of_kind = match kind.as_str() {
                "machine" => &mut names.machines,
                _ => &mut names.files,
            };
            of_kind.insert(id, name);
        }
        Ok(names)
    }

    /// A text of the view, with names for the numbers of machines and files.
    pub fn in_text(&self, text: &str) -> String {
        let text = named(text, "machine ", &self.machines);
        let text = named(&text, "file ", &self.files);
        named(&text, "File ", &self.files)
    }

    /// The name of a file, if there are several.
    pub fn file(&self, id: Option<i64>) -> Option<String> {
        called(&self.files, "file", id?)
    }

    /// The name of a machine, if there are several.
    pub fn machine(&self, id: Option<i64>) -> Option<String> {
        called(&self.machines, "machine", id?)
    }
}

fn called(names: &BTreeMap<i64, Option<String>>, kind: &str, id: i64) -> Option<String> {
    let name = names.get(&id)?.clone();
    Some(name.unwrap_or_else(|| format!("{kind} {id}")))
}

/// The text with a name in place of each `word` and number that has one.
fn named(text: &str, word: &str, names: &BTreeMap<i64, Option<String>>) -> String {
    let mut parts = text.split(word);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let after = part.trim_start_matches(|c: char| c.is_ascii_digit());
        let number = part.strip_suffix(after).unwrap_or_default();
        let is_word = !out.ends_with(char::is_alphanumeric);
        let name = number.parse().ok().and_then(|id| names.get(&id)?.as_deref());
        match name.filter(|_| is_word) {
            Some(name) => out.push_str(name),
            None => out.extend([word, number]),
        }
        out.push_str(after);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_machines_and_files_become_names() {
        let names = Names {
            machines: BTreeMap::from([(0, None), (1, Some("phone".to_owned()))]),
            files: BTreeMap::from([(2, Some("b.pftrace".to_owned()))]),
        };
        for (text, expected) in [
            ("64@3 of machine 1 in file 2", "64@3 of phone in b.pftrace"),
            ("File 2, machine 0 and machine 12", "b.pftrace, machine 0 and machine 12"),
            ("profile 2 of the machine file", "profile 2 of the machine file"),
            ("", ""),
        ] {
            assert_eq!(names.in_text(text), expected);
        }
        assert_eq!(names.file(Some(2)).as_deref(), Some("b.pftrace"));
        assert_eq!(names.machine(Some(0)).as_deref(), Some("machine 0"));
        assert_eq!((names.machine(None), names.machine(Some(5))), (None, None));
        assert_eq!(Names::default().in_text("of machine 1"), "of machine 1");
    }
}
