//! The reference, `docs/reference.md`, as data: the descriptions of tables, columns and functions,
//! for people who ask the program and not the web.
//!
//! # Design
//!
//! The page is the only place that describes tables, columns and functions, and the program
//! contains it. The text below a heading describes the thing that the heading names. A table whose
//! header begins with `column` has its columns. If a column is *as in* another table, the reader of
//! the page follows a link, and the reader of a terminal gets the other table's text.
//!
//! The alternative was a data file that generates both the page and the program's text. Then prose,
//! examples and tables without columns would have to fit the file's form. Also, people link to the
//! page, and edit it.

use std::sync::LazyLock;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag};

const PAGE: &str = include_str!("../docs/reference.md");
const GUIDE: &str = include_str!("../docs/coming-from-trace-processor.md");

/// The group of the tables that are not meant for queries.
const STORAGE: &str = "Tables behind the views";
/// The group of the functions.
const FUNCTIONS: &str = "SQL functions";

/// The page.
pub struct Reference {
    /// The sections in the order of the page. A group of tables or functions comes before its
    /// members.
    pub sections: Vec<Section>,
}

/// A heading and the text below it.
#[derive(Debug)]
pub struct Section {
    /// The name of a table or a function, or else the heading.
    pub name: String,
    pub kind: SectionKind,
    /// For a table or a function, the heading of its group.
    pub group: Option<String>,
    pub blocks: Vec<Block>,
}

/// The subject of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectionKind {
    /// A table or view for queries.
    Table,
    /// A table behind the views.
    Storage,
    /// An SQL function, table-valued or not.
    Function,
    /// Tables, or functions, that belong together.
    Group,
    /// Anything else.
    Topic,
}

/// A part of a section. Texts have code between backticks, and no other markup: a link is only its
/// text.
#[derive(Debug, PartialEq, Eq)]
pub enum Block {
    Paragraph(String),
    List(Vec<String>),
    /// The first row is the header.
    Table(Vec<Vec<String>>),
    /// Lines as they are: signatures, commands.
    Lines(String),
    /// Statements, the trace that they query, and their output.
    Example {
        trace: String,
        sql: String,
        output: String,
    },
}

/// A column of a table.
#[derive(Debug, PartialEq, Eq)]
pub struct Column<'a> {
    pub name: &'a str,
    /// `integer, ns`
    pub kind: &'a str,
    pub text: &'a str,
}

/// The reference of this version.
pub fn reference() -> &'static Reference {
    static REFERENCE: LazyLock<Reference> = LazyLock::new(|| Reference::of(PAGE));
    &REFERENCE
}

/// The page for users of trace processor.
pub fn guide() -> &'static Reference {
    static GUIDE_PAGE: LazyLock<Reference> = LazyLock::new(|| Reference::of(GUIDE));
    &GUIDE_PAGE
}

impl Reference {
    fn of(page: &str) -> Reference {
        let mut sections: Vec<Section> = Vec::new();
        let mut events = Parser::new_ext(page, Options::ENABLE_TABLES);
        let mut group = None;
        while let Some(event) = events.next() {
            let Event::Start(tag) = event else { continue };
            if let Tag::Heading { level, .. } = tag {
                let name = text(&mut events).replace('`', "");
                let is_member = level == HeadingLevel::H3;
                if !is_member {
                    group = Some(name.clone());
                }
                let kind = match group.as_deref() {
                    _ if !is_member => SectionKind::Topic,
                    Some(STORAGE) => SectionKind::Storage,
                    Some(FUNCTIONS) => SectionKind::Function,
                    _ => SectionKind::Table,
                };
                if is_member {
                    let head = sections.iter_mut().rev().find(|head| head.group.is_none());
                    if let Some(head) = head {
                        head.kind = SectionKind::Group;
                    }
                }
                sections.push(Section {
                    name,
                    kind,
                    group: group.clone().filter(|_| is_member),
                    blocks: Vec::new(),
                });
            } else if let Some(section) = sections.last_mut() {
                section.add(tag, &mut events);
            }
        }
        Reference { sections }
    }

    /// The table, function, group or topic with a name, in any case.
    pub fn section(&self, name: &str) -> Option<&Section> {
        let of = |name: &str| {
            self.sections.iter().find(|section| section.name.eq_ignore_ascii_case(name))
        };
        of(name).or_else(|| of(name.strip_prefix("__intrinsic_")?))
    }

    /// The tables or functions of a group.
    pub fn members(&self, group: &str) -> impl Iterator<Item = &Section> {
        let group = group.to_owned();
        let sections = self.sections.iter();
        sections.filter(move |section| section.group.as_ref() == Some(&group))
    }

    /// The columns of a table, in the order of the page. A column that is *as in* another table has
    /// the other table's text.
    pub fn columns<'a>(&'a self, table: &'a Section) -> impl Iterator<Item = Column<'a>> {
        table.columns().map(|column| self.resolved(column))
    }

    fn resolved<'a>(&'a self, mut column: Column<'a>) -> Column<'a> {
        let mut at_most = self.sections.len();
        while let Some(there) = column.is_as_in().and_then(|table| self.section(table)) {
            let mut columns = there.columns();
            match columns.find(|other| other.name == column.name) {
                Some(found) if at_most > 0 => column = found,
                _ => break,
            }
            at_most -= 1;
        }
        column
    }
}

impl<'a> Column<'a> {
    /// The table whose text it has, if it has no text of its own.
    fn is_as_in(&self) -> Option<&'a str> {
        let table = self.text.strip_prefix("as in `")?.strip_suffix('`')?;
        // There may be more text: as in `this`, but not `that`.
        (!table.contains('`')).then_some(table)
    }
}

impl Section {
    fn add(&mut self, tag: Tag<'_>, events: &mut Parser<'_>) {
        match tag {
            Tag::Paragraph => self.blocks.push(Block::Paragraph(text(events))),
            Tag::List(_) => self.blocks.push(Block::List(Vec::new())),
            Tag::Item => {
                let item = text(events);
                if let Some(Block::List(items)) = self.blocks.last_mut() {
                    items.push(item);
                }
            }
            Tag::Table(_) => self.blocks.push(Block::Table(Vec::new())),
            Tag::TableHead | Tag::TableRow => {
                if let Some(Block::Table(rows)) = self.blocks.last_mut() {
                    rows.push(Vec::new());
                }
            }
            Tag::TableCell => {
                let cell = text(events);
                if let Some(Block::Table(rows)) = self.blocks.last_mut()
                    && let Some(row) = rows.last_mut()
                {
                    row.push(cell);
                }
            }
            Tag::CodeBlock(CodeBlockKind::Indented) => {
                let lines = text(events).trim_end().to_owned();
                self.blocks.push(Block::Lines(lines));
            }
            Tag::CodeBlock(CodeBlockKind::Fenced(language)) => {
                let code = text(events);
                match (language.as_ref(), self.blocks.last_mut()) {
                    ("text", Some(Block::Example { output, .. })) if output.is_empty() => {
                        *output = code.trim_end().to_owned();
                    }
                    ("sql", _) => {
                        let (first, rest) = code.split_once('\n').unwrap_or((&code, ""));
                        self.blocks.push(Block::Example {
                            trace: first.trim_start_matches("-- ").to_owned(),
                            sql: rest.trim_end().to_owned(),
                            output: String::new(),
                        });
                    }
                    _ => self.blocks.push(Block::Lines(code.trim_end().to_owned())),
                }
            }
            _ => {}
        }
    }

    /// The columns exactly as on the page.
    fn columns(&self) -> impl Iterator<Item = Column<'_>> {
        let rows = self.blocks.iter().flat_map(|block| match block {
            Block::Table(rows) if is_of_columns(rows) => rows.get(1..).unwrap_or_default(),
            _ => &[],
        });
        rows.flat_map(|row| {
            let cell = |index: usize| row.get(index).map_or("", String::as_str);
            names(cell(0)).map(move |name| Column { name, kind: cell(1), text: cell(2) })
        })
    }

    /// Its first sentence.
    pub fn summary(&self) -> &str {
        let text = self.paragraphs().next().unwrap_or_default();
        let end = text.find(". ").map_or(text.len(), |end| end + 1);
        &text[..end]
    }

    /// The paragraphs before the columns or, without columns, before the first example.
    pub fn paragraphs(&self) -> impl Iterator<Item = &str> {
        let mut blocks = self.blocks.iter();
        // The signatures of a function come first.
        if self.kind == SectionKind::Function {
            blocks.next();
        }
        blocks.map_while(|block| match block {
            Block::Paragraph(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// The calls of a function: a line for each number of arguments.
    pub fn signatures(&self) -> impl Iterator<Item = &str> {
        let lines = match self.blocks.first() {
            Some(Block::Lines(lines)) if self.kind == SectionKind::Function => lines.as_str(),
            _ => "",
        };
        lines.lines()
    }
}

/// Whether a table of the page lists columns.
pub fn is_of_columns(rows: &[Vec<String>]) -> bool {
    rows.first().and_then(|header| header.first()).is_some_and(|first| first == "column")
}

/// The names in a cell: `` `ts`, `dur` ``.
pub fn names(cell: &str) -> impl Iterator<Item = &str> {
    cell.split(", ").map(|name| name.trim_matches('`'))
}

/// The text up to the end of the current element.
fn text(events: &mut Parser<'_>) -> String {
    let mut text = String::new();
    let mut depth = 0;
    for event in events {
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) if depth == 0 => break,
            Event::End(_) => depth -= 1,
            Event::Text(part) => text += &part,
            Event::Code(part) => {
                text.push('`');
                text += &part;
                text.push('`');
            }
            Event::SoftBreak | Event::HardBreak => text.push(' '),
            _ => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "\
# Reference

Not a section of its own.

## Things

Some *things* and [a link](#a).

### `a`

A row is one `a`. It has
two lines.

| column | type | |
|---|---|---|
| `x`, `y` | integer, ns | of *it*: see [`b`](#b) |

```sql
-- some.pftrace
SELECT x
FROM a;
```

```text
 x
───
 1
```

### `b`

Another one.

| column | type | |
|---|---|---|
| `y` | | as in `a` |
| `z` | text | as in `a`, but longer |

## SQL functions

### `f`

    f(x) → integer
    f(x, y) → integer

Does something.

- one `x`
- two
";

    #[test]
    fn a_section_has_its_text_columns_and_examples() {
        let reference = Reference::of(SMALL);
        let a = reference.section("A").expect("there");
        assert_eq!((a.kind, a.group.as_deref()), (SectionKind::Table, Some("Things")));
        assert_eq!(a.summary(), "A row is one `a`.");
        let texts: Vec<&str> = a.paragraphs().collect();
        assert_eq!(texts, ["A row is one `a`. It has two lines."]);
        let column = |name| Column { name, kind: "integer, ns", text: "of it: see `b`" };
        let columns: Vec<Column<'_>> = reference.columns(a).collect();
        assert_eq!(columns, [column("x"), column("y")]);
        assert_eq!(
            a.blocks.last(),
            Some(&Block::Example {
                trace: "some.pftrace".into(),
                sql: "SELECT x\nFROM a;".into(),
                output: " x\n───\n 1".into(),
            })
        );
        assert_eq!(reference.section("things").map(|s| s.kind), Some(SectionKind::Group));
    }

    #[test]
    fn a_column_as_in_another_table_has_the_text_of_there() {
        let reference = Reference::of(SMALL);
        let b = reference.section("b").expect("there");
        let texts: Vec<&str> = reference.columns(b).map(|column| column.text).collect();
        assert_eq!(texts, ["of it: see `b`", "as in `a`, but longer"]);
    }

    #[test]
    fn a_function_has_signatures() {
        let reference = Reference::of(SMALL);
        let f = reference.section("f").expect("there");
        assert_eq!(f.kind, SectionKind::Function);
        assert_eq!(f.signatures().count(), 2);
        assert_eq!(f.summary(), "Does something.");
        let list = Block::List(vec!["one `x`".into(), "two".into()]);
        assert_eq!(f.blocks.last(), Some(&list));
    }

    #[test]
    fn every_table_and_column_of_a_database_has_a_text() {
        let connection = rusqlite::Connection::open_in_memory().expect("in memory");
        connection.execute_batch(timebase_schema::TABLES).expect("valid");
        connection.execute_batch(&timebase_schema::finish()).expect("valid");
        let mut statement = connection
            .prepare(
                "SELECT s.name, c.name FROM sqlite_schema AS s, pragma_table_xinfo(s.name) AS c
                 WHERE s.type IN ('table', 'view') AND s.name NOT LIKE 'sqlite_%'
                 ORDER BY s.rowid",
            )
            .expect("valid");
        let columns = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("valid");
        let mut count = 0;
        for column in columns {
            let (table, column): (String, String) = column.expect("a row");
            let section = reference().section(&table);
            let section = section.ok_or_else(|| table.clone()).expect("a section");
            assert!(matches!(section.kind, SectionKind::Table | SectionKind::Storage), "{table}");
            assert!(section.summary().ends_with('.'), "{table}: {}", section.summary());
            let mut columns = reference().columns(section);
            let found = columns.find(|found| found.name == column);
            let found = found.ok_or((&table, &column)).expect("a text");
            assert!(!found.text.is_empty() && !found.kind.is_empty(), "{table} {found:?}");
            assert_eq!(found.is_as_in(), None, "{table}.{column}");
            // The text is read without the text above and below it.
            assert!(!found.text.contains("see below"), "{table}.{column}");
            count += 1;
        }
        assert!(count > 500, "{count}");
    }

    #[test]
    fn every_function_has_a_signature_and_a_text() {
        let functions = reference().members(FUNCTIONS);
        let mut count = 0;
        for function in functions {
            assert!(function.signatures().count() > 0, "{}", function.name);
            assert!(function.summary().ends_with('.'), "{}", function.name);
            count += 1;
        }
        assert!(count >= 18, "{count}");
    }
}
