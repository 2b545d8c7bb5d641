//! The definition of a span join: its tables, their partitions and columns.

use std::ops::ControlFlow;

use crate::query::quoted;
use crate::value::Values;
use crate::{Error, Queries, Result, ValueRef};

/// The kind of a join, which is its module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Inner,
    Left,
    Outer,
}

impl Kind {
    pub const ALL: [Kind; 3] = [Kind::Inner, Kind::Left, Kind::Outer];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Inner => "span_join",
            Kind::Left => "span_left_join",
            Kind::Outer => "span_outer_join",
        }
    }

    /// Whether the gaps of a table, the first one (0) or the second, take part.
    fn has_gaps(self, table: usize) -> bool {
        match self {
            Kind::Inner => false,
            Kind::Left => table == 1,
            Kind::Outer => true,
        }
    }
}

/// One of the two tables.
#[derive(Debug)]
pub struct Input {
    /// Its name in errors.
    pub name: String,
    /// Its name in queries.
    pub quoted: String,
    pub partition: Option<String>,
    pub columns: Vec<Column>,
    pub ts: usize,
    pub dur: Option<usize>,
    /// The place of the partition column.
    pub partition_at: Option<usize>,
    /// Whether times without a span take part.
    pub has_gaps: bool,
}

#[derive(Debug)]
pub struct Column {
    pub name: String,
    pub affinity: &'static str,
}

/// The source of a column of the join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Ts,
    Dur,
    Partition,
    /// A column of a table.
    Of(usize, usize),
}

/// The tables that have partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Partitioning {
    None,
    Same,
    /// Only this table has partitions.
    Only(usize),
}

#[derive(Debug)]
pub struct Definition {
    pub kind: Kind,
    pub inputs: [Input; 2],
    pub partitioning: Partitioning,
    places: Vec<Place>,
}

impl Definition {
    /// Reads the arguments `table [PARTITIONED column]`, and the columns of the tables.
    pub fn read(kind: Kind, args: &[&[u8]], queries: &mut Queries) -> Result<Definition> {
        let error =
            |what: &dyn std::fmt::Display| Error::new(format_args!("{}: {what}", kind.name()));
        let [first, second] = args else {
            return Err(error(&format_args!(
                "it joins two tables, not {}: USING {}(a PARTITIONED p, b PARTITIONED p)",
                args.len(),
                kind.name()
            )));
        };
        let mut input = |table: usize, argument: &[u8]| {
            let argument = String::from_utf8_lossy(argument);
            Input::read(&argument, kind.has_gaps(table), queries).map_err(|failure| {
                match failure.is_interrupt() {
                    true => failure,
                    false => error(&failure),
                }
            })
        };
        let inputs = [input(0, first)?, input(1, second)?];
        let partitioning = partitioning(&inputs).map_err(|what| error(&what))?;
        let mut definition = Definition { kind, inputs, partitioning, places: Vec::new() };
        definition.check().map_err(|what| error(&what))?;
        definition.places = definition.all_places();
        Ok(definition)
    }

    fn all_places(&self) -> Vec<Place> {
        let mut places = vec![Place::Ts, Place::Dur];
        if self.partitioning != Partitioning::None {
            places.push(Place::Partition);
        }
        for (table, input) in self.inputs.iter().enumerate() {
            places.extend(input.others().map(|(column, _)| Place::Of(table, column)));
        }
        places
    }

    fn check(&self) -> Result<(), String> {
        let [a, b] = &self.inputs;
        if a.dur.is_none() && b.dur.is_none() {
            return Err(format!(
                "neither {} nor {} has the column dur; one of them must have it",
                a.name, b.name
            ));
        }
        let mut seen: Vec<(&str, &str)> = vec![("ts", "the join"), ("dur", "the join")];
        seen.extend(self.partition().map(|name| (name, "the join")));
        for input in &self.inputs {
            for (_, column) in input.others() {
                let same = |&&(name, _): &&(&str, &str)| name.eq_ignore_ascii_case(&column.name);
                if let Some((_, of)) = seen.iter().find(same) {
                    return Err(format!(
                        "the column {} of {} is also one of {of}; rename one of them, for \
                         example in a view",
                        column.name, input.name
                    ));
                }
                seen.push((&column.name, &input.name));
            }
        }
        Ok(())
    }

    /// The name of the partition column.
    fn partition(&self) -> Option<&str> {
        self.inputs.iter().find_map(|input| input.partition.as_deref())
    }

    /// The source of a column of the join.
    pub fn place(&self, column: usize) -> Place {
        self.places.get(column).copied().unwrap_or(Place::Ts)
    }

    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// The declaration for SQLite.
    pub fn declaration(&self) -> String {
        let columns = self.places.iter().map(|place| match *place {
            Place::Ts => "ts INTEGER".to_owned(),
            Place::Dur => "dur INTEGER".to_owned(),
            Place::Partition => format!("{} INTEGER", quoted(self.partition().unwrap_or("p"))),
            Place::Of(table, column) => {
                let column = self.inputs.get(table).and_then(|input| input.columns.get(column));
                column.map_or_else(String::new, |c| format!("{} {}", quoted(&c.name), c.affinity))
            }
        });
        format!("CREATE TABLE x ({})", columns.collect::<Vec<_>>().join(", "))
    }
}

fn partitioning(inputs: &[Input; 2]) -> Result<Partitioning, String> {
    let [a, b] = inputs;
    match (&a.partition, &b.partition) {
        (None, None) => Ok(Partitioning::None),
        (Some(_), None) => Ok(Partitioning::Only(0)),
        (None, Some(_)) => Ok(Partitioning::Only(1)),
        (Some(of_a), Some(of_b)) if of_a.eq_ignore_ascii_case(of_b) => Ok(Partitioning::Same),
        (Some(of_a), Some(of_b)) => Err(format!(
            "{} is partitioned by {of_a}, but {} by {of_b}; both need the same name",
            a.name, b.name
        )),
    }
}

impl Input {
    fn read(argument: &str, has_gaps: bool, queries: &mut Queries) -> Result<Input> {
        let mut rest = argument;
        let name = word(&mut rest);
        let is_qualified = rest.starts_with('.');
        let (schema, name) = match (name, is_qualified) {
            (Some(schema), true) => {
                rest = rest.get(1..).unwrap_or_default();
                (Some(schema), word(&mut rest))
            }
            (name, _) => (None, name),
        };
        let Some(name) = name else {
            return Err(Error::new("the name of a table is missing"));
        };
        let partition = match (word(&mut rest), word(&mut rest), word(&mut rest)) {
            (None, ..) => None,
            (Some(by), Some(column), None) if by.eq_ignore_ascii_case("PARTITIONED") => {
                Some(column)
            }
            _ => {
                return Err(Error::new(format_args!(
                    "'{}' is not a table; write 'table', or 'table PARTITIONED column'",
                    argument.trim()
                )));
            }
        };
        let columns = columns(&name, schema.as_deref(), queries)?;
        let at = |name: &str| columns.iter().position(|c| c.name.eq_ignore_ascii_case(name));
        let Some(ts) = at("ts") else {
            return Err(Error::new(format_args!("{name} has no column ts")));
        };
        let partition_at = partition.as_deref().map(|column| {
            let missing =
                || Error::new(format_args!("{name} has no column {column} to partition it by"));
            let place = at(column).ok_or_else(missing)?;
            match column.eq_ignore_ascii_case("ts") || column.eq_ignore_ascii_case("dur") {
                true => Err(Error::new(format_args!("{name} cannot be partitioned by {column}"))),
                false => Ok(place),
            }
        });
        let schema = schema.map_or_else(String::new, |schema| format!("{}.", quoted(&schema)));
        Ok(Input {
            quoted: format!("{schema}{}", quoted(&name)),
            partition_at: partition_at.transpose()?,
            dur: at("dur"),
            ts,
            name,
            partition,
            columns,
            has_gaps,
        })
    }

    /// The columns that are passed on, with their places.
    pub fn others(&self) -> impl Iterator<Item = (usize, &Column)> {
        let special = [Some(self.ts), self.dur, self.partition_at];
        let columns = self.columns.iter().enumerate();
        columns.filter(move |(place, _)| !special.contains(&Some(*place)))
    }
}

/// Takes the next name, which may be in quotes.
fn word(rest: &mut &str) -> Option<String> {
    let text = rest.trim_start();
    let close = match text.chars().next()? {
        '"' => '"',
        '`' => '`',
        '[' => ']',
        '\'' => '\'',
        '.' => return None,
        _ => {
            let is_end = |c: char| c.is_whitespace() || c == '.';
            let end = text.find(is_end).unwrap_or(text.len());
            let (word, after) = text.split_at(end);
            *rest = after;
            return Some(word.to_owned());
        }
    };
    let mut word = String::new();
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c == close {
            // A quote is doubled inside of quotes.
            let is_doubled = |&(_, next): &(usize, char)| next == close && close != ']';
            if chars.next_if(is_doubled).is_none() {
                *rest = text.get(at + c.len_utf8()..).unwrap_or_default();
                return Some(word);
            }
        }
        word.push(c);
    }
    *rest = "";
    Some(word)
}

fn columns(table: &str, schema: Option<&str>, queries: &mut Queries) -> Result<Vec<Column>> {
    let sql = match schema {
        None => "SELECT name, type FROM pragma_table_info(?1) ORDER BY cid",
        Some(_) => "SELECT name, type FROM pragma_table_info(?1, ?2) ORDER BY cid",
    };
    let mut columns = Vec::new();
    let text = |text: &str| -> Box<[u8]> { text.as_bytes().into() };
    let names: Vec<Box<[u8]>> = std::iter::once(text(table)).chain(schema.map(text)).collect();
    let names: Vec<ValueRef<'_>> = names.iter().map(|name| ValueRef::Text(name)).collect();
    queries.each(sql, &names, |row| {
        let text = |index| match row.value(index) {
            Some(ValueRef::Text(text)) => String::from_utf8_lossy(text).into_owned(),
            _ => String::new(),
        };
        columns.push(Column { name: text(0), affinity: affinity(&text(1)) });
        Ok(ControlFlow::Continue(()))
    })?;
    match columns.is_empty() {
        false => Ok(columns),
        true => Err(Error::new(format_args!("there is no table or view {table}"))),
    }
}

/// The type with the affinity of a declared type, by SQLite's rules.
fn affinity(declared: &str) -> &'static str {
    let declared = declared.to_ascii_uppercase();
    let has = |parts: &[&str]| parts.iter().any(|part| declared.contains(part));
    match () {
        () if has(&["INT"]) => "INTEGER",
        () if has(&["CHAR", "CLOB", "TEXT"]) => "TEXT",
        () if has(&["BLOB"]) || declared.is_empty() => "",
        () if has(&["REAL", "FLOA", "DOUB"]) => "REAL",
        () => "NUMERIC",
    }
}
