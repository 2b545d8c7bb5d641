//! Sets of arguments (rules A2, A3, H6): equal sets are one, as far as the memory for them goes.
//!
//! # Design
//!
//! A set is one row with a JSON object, from key to value. JSON cannot express everything: some
//! types, and keys without the places in lists. These are the same for most sets of one kind of
//! event. So they are a row of their own, which sets refer to; most sets need none. The view `args`
//! makes a row of each argument.
//!
//! The thread that follows events gives a set its number, and remembers it in its compact form. The writing thread makes
//! its JSON.
//!
//! The alternative, and the layout before, was a row for each argument, with texts by their numbers
//! and an index by set. Measured with a million sets of four arguments (two numbers, a unique text,
//! and one of ten texts), in SQLite 3.40:
//!
//! | | a row a set | a row an argument |
//! |---|---|---|
//! | to write it | 1.1 s | 5.0 s, a fifth of it the index |
//! | on disk | 121 MB | 165 MB |
//! | one argument of all sets, from the table | 0.4 s | 0.2 s |
//! | the same by the view `args` | 1.3 s | 0.7 s |
//! | one argument of each set, by its number, from the table | 0.7 s | 1.0 s |
//! | the same by the view `args` | 1.2 s | 1.7 s |
//! | all arguments of each set as JSON | 0.1 s | 4.4 s |

use std::ops::Range;

use rustc_hash::FxHashMap;
use serde_json::to_writer;
use timebase_schema::tables::{arg_set, arg_type};

use crate::arguments::{ArgValue, Args, EntryContent};
use crate::definitions::{Names, Texts};
use crate::output::{Batch, Cell, Rows, SetRow};
use crate::seen::Seen;
use crate::timeline::Name;

/// The number of bytes that a generation may take: of sets, and of rows of types.
const SETS: usize = 2 << 20;
const TYPES: usize = 1 << 20;

/// Up to this number, each argument is compared with each.
const FEW: usize = 16;

/// The sets of the table `arg_set`.
#[derive(Debug)]
pub(crate) struct ArgSets {
    sets: Seen,
    /// The number of the next set.
    next: i64,
    /// The number of names that the writing thread has.
    names: usize,
}

impl Default for ArgSets {
    fn default() -> Self {
        ArgSets { sets: Seen::new(SETS), next: 0, names: 0 }
    }
}

impl ArgSets {
    /// The number of a set; `None` for an empty set.
    pub fn number(&mut self, args: &[u8], names: &Names, rows: &mut Rows<'_>) -> Option<i64> {
        if args.is_empty() {
            return None;
        }
        if let Some(id) = self.sets.get(args) {
            return Some(id);
        }
        if !Args::new(args).any(|arg| matches!(arg.what, EntryContent::Value(_))) {
            return None;
        }
        let set = self.next;
        // The sets of kernel events have the odd numbers.
        self.next += 2;
        self.sets.insert(args, set);
        let new = names.texts().from(self.names);
        self.names += new.len();
        rows.arg_set(set, args, new);
        Some(set)
    }
}

/// Makes the rows of sets, on the thread that writes.
#[derive(Debug)]
pub(crate) struct ArgRows {
    types: Seen,
    /// The number of rows of types.
    type_rows: i64,
    names: Texts,
    written: Written,
}

impl Default for ArgRows {
    fn default() -> Self {
        ArgRows {
            types: Seen::new(TYPES),
            type_rows: 0,
            names: Texts::default(),
            written: Written::default(),
        }
    }
}

impl ArgRows {
    /// Makes rows of the sets of a batch.
    pub fn write(&mut self, batch: &mut Batch) {
        let (sets, names) = batch.take_sets();
        self.names.add(names);
        for &SetRow { id, start, size } in &sets {
            self.written.write(batch.kept(start, size), &self.names);
            let type_id = Cell::or_null(self.type_id(batch));
            let args = text(&self.written.args, batch);
            batch.push_row(arg_set::Row { id: Cell::from(id), args, type_id });
        }
        batch.return_sets(sets);
    }

    /// The number of rows of types so far.
    pub fn types(&self) -> i64 {
        self.type_rows
    }

    /// The row of types and keys for the set that is written.
    fn type_id(&mut self, batch: &mut Batch) -> Option<i64> {
        let Written { types, flat_keys, both, .. } = &mut self.written;
        if types.is_empty() && flat_keys.is_empty() {
            return None;
        }
        both.clear();
        both.extend_from_slice(types);
        both.push(0);
        both.extend_from_slice(flat_keys);
        if let Some(id) = self.types.get(both) {
            return Some(id);
        }
        let id = self.type_rows;
        self.type_rows += 1;
        self.types.insert(both, id);
        let (types, flat_keys) = (text(types, batch), text(flat_keys, batch));
        batch.push_row(arg_type::Row { id: Cell::from(id), types, flat_keys });
        Some(id)
    }
}

/// A cell with the text, or NULL if it is empty.
fn text(json: &[u8], batch: &mut Batch) -> Cell {
    let json = str::from_utf8(json).ok().filter(|json| !json.is_empty());
    json.map_or(Cell::Null, |json| batch.text(json))
}

/// A set in its written form: JSON objects, each of which is empty if there is nothing in it.
#[derive(Debug, Default)]
struct Written {
    args: Vec<u8>,
    types: Vec<u8>,
    flat_keys: Vec<u8>,
    /// The types and flat keys together, as a key to find them again.
    both: Vec<u8>,
    keys: Keys,
}

/// The keys of a set's entries.
#[derive(Debug, Default)]
struct Keys {
    /// The keys that have positions of lists, or no number, one after another.
    text: String,
    /// The key of each entry; `None` if the same key comes again later, or if the entry is no argument.
    all: Vec<Option<SetKey>>,
}

/// A key: its number, or its place among the texts. If a set has one key that is a text, all are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum SetKey {
    Number(Name),
    Text(Range<usize>),
}

impl Written {
    /// Writes a set.
    fn write(&mut self, args: &[u8], names: &Texts) {
        self.keys.find(args, names);
        for json in [&mut self.args, &mut self.types, &mut self.flat_keys] {
            json.clear();
        }
        for (arg, key) in Args::new(args).zip(&self.keys.all) {
            let key = key.as_ref().and_then(|key| self.keys.text_of(key, names));
            let (Some(key), EntryContent::Value(value)) = (key, arg.what) else {
                continue;
            };
            entry(&mut self.args, key, |json| put_value(json, value));
            if let Some(type_name) = type_name(value) {
                entry(&mut self.types, key, |json| put(json, type_name));
            }
            if !arg.key.is_flat() {
                let flat = arg.key.flat(names);
                entry(&mut self.flat_keys, key, |json| put(json, flat));
            }
        }
        for json in [&mut self.args, &mut self.types, &mut self.flat_keys] {
            if !json.is_empty() {
                json.push(b'}');
            }
        }
    }
}

impl Keys {
    /// Finds the keys. If several arguments have one key, the last one counts (rule A1).
    fn find(&mut self, args: &[u8], names: &Texts) {
        self.text.clear();
        self.all.clear();
        let numbers = Args::new(args).map(|arg| arg.key.number());
        self.all.extend(numbers.map(|number| number.map(SetKey::Number)));
        if self.all.contains(&None) {
            self.write(args, names);
        }
        match self.all.len() {
            0..=FEW => self.compare_all(),
            _ => self.compare_by_hash(),
        }
    }

    fn write(&mut self, args: &[u8], names: &Texts) {
        self.all.clear();
        for arg in Args::new(args) {
            let start = self.text.len();
            let key = (arg.what != EntryContent::Count).then(|| {
                arg.key.write(names, &mut self.text);
                SetKey::Text(start..self.text.len())
            });
            self.all.push(key);
        }
    }

    fn text_of<'a>(&'a self, key: &SetKey, names: &'a Texts) -> Option<&'a str> {
        match key {
            SetKey::Number(name) => Some(names.text(*name)),
            SetKey::Text(place) => self.text.get(place.clone()),
        }
    }

    fn compare_all(&mut self) {
        let text = &self.text;
        let is_equal = |one: &Option<SetKey>, other: &Option<SetKey>| match (one, other) {
            (Some(SetKey::Text(one)), Some(SetKey::Text(other))) => {
                text.get(one.clone()) == text.get(other.clone())
            }
            _ => one == other,
        };
        for at in 0..self.all.len() {
            let (until, behind) = self.all.split_at_mut(at + 1);
            let [.., key] = until else { continue };
            if behind.iter().any(|other| is_equal(other, key)) {
                *key = None;
            }
        }
    }

    fn compare_by_hash(&mut self) {
        let (mut numbers, mut texts) = (FxHashMap::default(), FxHashMap::default());
        for at in 0..self.all.len() {
            let before = match self.all[at].clone() {
                Some(SetKey::Number(name)) => numbers.insert(name, at),
                Some(SetKey::Text(place)) => {
                    self.text.get(place).and_then(|key| texts.insert(key, at))
                }
                None => None,
            };
            if let Some(before) = before {
                self.all[before] = None;
            }
        }
    }
}

/// Adds an entry to an object.
fn entry(json: &mut Vec<u8>, key: &str, value: impl FnOnce(&mut Vec<u8>)) {
    json.push(if json.is_empty() { b'{' } else { b',' });
    put(json, key);
    json.push(b':');
    value(json);
}

fn put(json: &mut Vec<u8>, value: impl serde_core::Serialize) {
    // Writing such values to memory cannot fail.
    let _ = to_writer(json, &value);
}

fn put_value(json: &mut Vec<u8>, value: ArgValue<'_>) {
    match value {
        ArgValue::Int(value) => put(json, value),
        ArgValue::Uint(value) | ArgValue::Pointer(value) => put(json, value),
        ArgValue::Bool(value) => put(json, value),
        // SQLite writes and reads them in this form.
        ArgValue::Real(f64::INFINITY) => json.extend_from_slice(b"9e999"),
        ArgValue::Real(f64::NEG_INFINITY) => json.extend_from_slice(b"-9e999"),
        // A NaN is null.
        ArgValue::Real(value) => put(json, value),
        ArgValue::Text(text) => put(json, text),
        ArgValue::NoText | ArgValue::Null => json.extend_from_slice(b"null"),
    }
}

/// The name of a value in `value_type`, if JSON does not tell it.
fn type_name(value: ArgValue<'_>) -> Option<&'static str> {
    match value {
        ArgValue::Uint(_) => Some("uint"),
        ArgValue::Pointer(_) => Some("pointer"),
        ArgValue::Real(value) if value.is_nan() => Some("real"),
        ArgValue::NoText => Some("string"),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rusqlite::{Connection, params};

    use super::*;
    use crate::arguments::{ArgBuf, merge};
    use crate::trackers::testing::WrittenRows;

    /// A database with sets of arguments.
    fn database(sets: &[&[u8]], names: &Names) -> Connection {
        let made = WrittenRows::by(|rows| {
            let mut args = ArgSets::default();
            for set in sets {
                args.number(set, names, rows);
            }
        });
        let conn = Connection::open_in_memory().unwrap();
        conn.execute_batch(timebase_schema::TABLES).unwrap();
        let cell = |text: &String| (text != "-").then(|| text.clone());
        for table in [&arg_set::TABLE, &arg_type::TABLE] {
            for row in made.rows(table) {
                let values = params![row[0], cell(&row[1]), cell(&row[2])];
                conn.execute(&table.insert(), values).unwrap();
            }
        }
        conn.execute_batch(&timebase_schema::finish()).unwrap();
        conn
    }

    fn rows(conn: &Connection, sql: &str) -> Vec<String> {
        let mut statement = conn.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    }

    /// `KEY TYPE int/string/real display` of all arguments.
    fn view(conn: &Connection) -> Vec<String> {
        rows(
            conn,
            "SELECT key || ' ' || value_type || ' ' || coalesce(int_value, '-') || '/' ||
               coalesce(quote(string_value), '-') || '/' || coalesce(real_value, '-') || ' ' ||
               coalesce(display_value, '-') FROM args ORDER BY id",
        )
    }

    fn set(args: &[(&str, ArgValue<'_>)], names: &mut Names) -> Vec<u8> {
        let mut set = ArgBuf::default();
        for &(key, value) in args {
            set.push(key, value, names);
        }
        set.as_bytes().to_vec()
    }

    #[test]
    fn a2_the_view_gives_back_what_was_said() {
        use ArgValue::{Bool, Int, NoText, Null, Pointer, Real, Text, Uint};
        let cases: &[(&str, ArgValue<'_>, &str)] = &[
            ("i", Int(i64::MIN), "int -9223372036854775808/NULL/- -9223372036854775808"),
            ("i.2", Int(i64::MAX), "int 9223372036854775807/NULL/- 9223372036854775807"),
            ("u", Uint(7), "uint 7/NULL/- 7"),
            ("u.2", Uint(1 << 63), "uint -9223372036854775808/NULL/- 9223372036854775808"),
            ("u.3", Uint((1 << 63) + 9), "uint -9223372036854775799/NULL/- 9223372036854775817"),
            ("u.4", Uint(u64::MAX), "uint -1/NULL/- 18446744073709551615"),
            ("p", Pointer(0xbeef), "pointer 48879/NULL/- 0xbeef"),
            ("p.2", Pointer(u64::MAX), "pointer -1/NULL/- 0xffffffffffffffff"),
            ("t", Bool(true), "bool 1/NULL/- true"),
            ("f", Bool(false), "bool 0/NULL/- false"),
            ("r", Real(1.0), "real -/NULL/1.0 1.0"),
            ("r.2", Real(-0.1), "real -/NULL/-0.1 -0.1"),
            ("r.3", Real(1e300), "real -/NULL/1.0e+300 1.0e+300"),
            ("r.4", Real(f64::INFINITY), "real -/NULL/Inf Inf"),
            ("r.5", Real(f64::NEG_INFINITY), "real -/NULL/-Inf -Inf"),
            ("r.6", Real(f64::NAN), "real -/NULL/- -"),
            ("s", Text(""), "string -/''/- "),
            ("s.2", Text("ä \"\\\n\u{1}"), "string -/'ä \"\\\n\u{1}'/- ä \"\\\n\u{1}"),
            ("s.3", NoText, "string -/NULL/- -"),
            ("n", Null, "null -/NULL/- -"),
            ("", Uint(1), "uint 1/NULL/- 1"),
            ("debug.7", Uint(2), "uint 2/NULL/- 2"),
            ("it's \"ä\" \\", Uint(3), "uint 3/NULL/- 3"),
            ("line\nfeed", Pointer(4), "pointer 4/NULL/- 0x4"),
            ("$[0]", Int(5), "int 5/NULL/- 5"),
        ];
        let mut names = Names::default();
        let args: Vec<_> = cases.iter().map(|&(key, value, _)| (key, value)).collect();
        let conn = database(&[&set(&args, &mut names)], &names);
        let expected = cases.iter().map(|(key, _, shown)| format!("{key} {shown}"));
        assert_eq!(view(&conn), expected.collect::<Vec<_>>());
        let columns = "SELECT group_concat(name, ' ') FROM pragma_table_info('args')";
        assert_eq!(
            rows(&conn, columns),
            [
                "id arg_set_id flat_key key int_value string_value real_value value_type display_value"
            ]
        );
    }

    #[test]
    fn a1_the_last_of_a_key_counts() {
        let mut names = Names::default();
        let few = [("a", ArgValue::Uint(1)), ("b", ArgValue::Int(2)), ("a", ArgValue::Int(3))];
        let keys: Vec<_> = (0..40).map(|key| format!("key {}", key % 30)).collect();
        let many = (0..).zip(&keys);
        let many: Vec<_> = many.map(|(at, key)| (key.as_str(), ArgValue::Int(at))).collect();
        let (few, many) = (set(&few, &mut names), set(&many, &mut names));
        let conn = database(&[&few, &many], &names);
        let sets = rows(&conn, "SELECT args FROM arg_set ORDER BY id");
        assert_eq!(sets[0], r#"{"b":2,"a":3}"#);
        assert_eq!(rows(&conn, "SELECT count(*) || '' FROM arg_type"), ["0"]);
        let many = "SELECT sum(int_value) || ' ' || count(*) FROM args WHERE arg_set_id = 2";
        assert_eq!(rows(&conn, many), [format!("{} 30", (10..40).sum::<i64>())]);
    }

    #[test]
    fn a3_flat_keys_are_those_without_places() {
        use crate::arguments::testing::listed;
        let mut names = Names::default();
        let mut begin = listed(&["debug.a[0]", "debug.a[1].b", "x"], &mut names);
        let end = listed(&["debug.a[0]"], &mut names);
        merge(&mut begin, &end, &names);
        let conn = database(&[&begin], &names);
        let keys = "SELECT key || ' ' || flat_key FROM args ORDER BY id";
        assert_eq!(
            rows(&conn, keys),
            ["debug.a[0] debug.a", "debug.a[1].b debug.a.b", "x x", "debug.a[2] debug.a"]
        );
    }

    #[test]
    fn h6_equal_sets_are_one_and_so_are_types() {
        let mut names = Names::default();
        let uint = |value| [("u", ArgValue::Uint(value))];
        let sets = [1, 2, 1].map(|value| set(&uint(value), &mut names));
        let conn = database(&sets.each_ref().map(Vec::as_slice), &names);
        let all = "SELECT id || args || type_id FROM arg_set ORDER BY id";
        assert_eq!(rows(&conn, all), [r#"0{"u":1}0"#, r#"2{"u":2}0"#]);
        assert_eq!(rows(&conn, "SELECT types FROM arg_type"), [r#"{"u":"uint"}"#]);
        // An entry that only says where a list continues is no argument.
        let nothing = crate::arguments::testing::listed(&["+a[1]"], &mut names);
        let conn = database(&[&nothing, b""], &names);
        assert!(rows(&conn, "SELECT args FROM arg_set").is_empty());
    }
}
