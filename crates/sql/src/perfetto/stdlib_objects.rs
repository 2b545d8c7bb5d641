//! `__intrinsic_stdlib_objects`: the modules of the packages, and what they declare, with their own comments.
//!
//! # Design
//!
//! The rows are read from the files in each query, as `timebase help` does, and no module runs. The alternative, to
//! read them with the first module, would show nothing before an INCLUDE, which is when people look for one.

use rusqlite::vtab::Filters;
use rusqlite::{Connection, ffi};
use timebase_descriptor::quote;

use super::declared::{Declared, DeclaredKind, DeclaredName, declared};
use super::engine::Engine;
use super::face::add_packages;
use super::package::find;
use crate::Result;
use crate::table_function::{self, TableFunction};

pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    table_function::register::<Objects>(conn)
}

struct Objects(*mut ffi::sqlite3);

/// An object: its id, the values of `exposed`, and the texts in the order of the columns.
struct Object {
    id: i64,
    is_exposed: bool,
    texts: [String; 12],
}

impl TableFunction for Objects {
    const NAME: &'static str = "__intrinsic_stdlib_objects";
    const COLUMNS: &'static [&'static str] = &[
        "id",
        "package",
        "module",
        "name",
        "qualified_name",
        "object_type",
        "exposed",
        "short_description",
        "summary",
        "description",
        "return_type",
        "return_description",
        "args",
        "cols",
    ];
    const ARGUMENTS: &'static [&'static str] = &[];
    const ESTIMATE: Option<(f64, i64)> = Some((1e6, 2000));
    const TEXTS: &'static [&'static str] = &[
        "package",
        "module",
        "name",
        "qualified_name",
        "object_type",
        "short_description",
        "summary",
        "description",
        "return_type",
        "return_description",
        "args",
        "cols",
    ];
    type Row = Object;

    unsafe fn new(conn: *mut ffi::sqlite3) -> Objects {
        Objects(conn)
    }

    fn rows(&self, _: &Filters<'_>) -> Result<Vec<Object>> {
        // SAFETY: the connection is open while its cursor is.
        let conn = unsafe { Connection::from_handle(self.0) }?;
        let engine = Engine::of(&conn)?;
        add_packages(&engine, None)?;
        let roots = engine.shared().roots();
        let mut modules = std::collections::BTreeSet::new();
        for root in &roots {
            modules.extend(root.modules(None)?);
        }
        let mut objects: Vec<Object> = Vec::new();
        for module in &modules {
            let Some((_, text)) = find(&roots, module)? else {
                continue;
            };
            let mut add = |told: &Told<'_>| {
                let id = i64::try_from(objects.len()).unwrap_or(i64::MAX);
                objects.push(Object { id, is_exposed: told.is_exposed, texts: told.texts(module) });
            };
            add(&Told::module(module));
            let found = declared(&text);
            let of = |kinds: &'static [DeclaredKind]| {
                found.iter().filter(|object| kinds.contains(&object.kind))
            };
            of(&[DeclaredKind::Table, DeclaredKind::View])
                .chain(of(&[DeclaredKind::Function]))
                .chain(of(&[DeclaredKind::Macro]))
                .for_each(|object| add(&Told::object(object)));
        }
        Ok(objects)
    }

    fn column(row: &Object, column: usize) -> Option<i64> {
        match column {
            0 => Some(row.id),
            6 => Some(row.is_exposed.into()),
            _ => None,
        }
    }

    fn text(row: &Object, column: usize) -> Option<&str> {
        // The columns but the first and `exposed`.
        let place = column.checked_sub(if column > 6 { 2 } else { 1 })?;
        row.texts.get(place).map(String::as_str)
    }
}

/// The words about a module or an object.
struct Told<'d> {
    /// Of a module, its own.
    name: &'d str,
    kind: &'static str,
    is_exposed: bool,
    description: String,
    returns: &'d str,
    returns_description: String,
    arguments: &'d [DeclaredName],
    columns: &'d [DeclaredName],
}

impl<'d> Told<'d> {
    fn module(module: &'d str) -> Told<'d> {
        Told {
            name: module,
            kind: "MODULE",
            is_exposed: true,
            description: String::new(),
            returns: "",
            returns_description: String::new(),
            arguments: &[],
            columns: &[],
        }
    }

    fn object(object: &'d Declared) -> Told<'d> {
        let has_rows = object.returns.eq_ignore_ascii_case("TABLE");
        Told {
            name: &object.name,
            kind: match object.kind {
                DeclaredKind::Table => "TABLE",
                DeclaredKind::View => "VIEW",
                DeclaredKind::Function if has_rows => "TABLE_FUNCTION",
                DeclaredKind::Function => "FUNCTION",
                DeclaredKind::Macro => "MACRO",
            },
            is_exposed: !object.is_internal(),
            description: on_one_line(&object.comment),
            returns: &object.returns,
            returns_description: on_one_line(&object.returns_comment),
            arguments: &object.arguments,
            columns: &object.columns,
        }
    }

    fn is_module(&self) -> bool {
        self.kind == "MODULE"
    }

    /// The texts of its row, in the order of the columns.
    fn texts(&self, module: &str) -> [String; 12] {
        let package = module.split('.').next().unwrap_or_default();
        let qualified_name = match self.is_module() {
            true => module.to_owned(),
            false => format!("{module}.{}", self.name),
        };
        let summary = self.summary(package, module, &qualified_name);
        [
            package.to_owned(),
            module.to_owned(),
            self.name.to_owned(),
            qualified_name,
            self.kind.to_owned(),
            shortened(&self.description).to_owned(),
            summary,
            self.description.clone(),
            self.returns.to_owned(),
            self.returns_description.clone(),
            json(self.arguments),
            json(self.columns),
        ]
    }

    /// A text for people who search.
    fn summary(&self, package: &str, module: &str, qualified_name: &str) -> String {
        let mut lines = vec![format!("Package: {package}"), format!("Module: {module}")];
        let mut aliases = format!("{package} {module}");
        if !self.is_module() {
            lines.push(format!("Name: {}", self.name));
            aliases += &format!(" {}", self.name);
        }
        lines.push(format!("Qualified name: {qualified_name}"));
        lines.push(format!("Search aliases: {}", aliases.replace(['.', '_'], " ")));
        let exposed = if self.is_exposed { "public" } else { "internal" };
        lines.push(format!("Kind: {exposed} {}", self.kind));
        if !self.description.is_empty() {
            lines.push(format!("Description: {}", self.description));
        }
        lines.extend(listed("Arguments", self.arguments));
        match (self.returns, self.returns_description.as_str()) {
            ("", _) => {}
            (returns, "") => lines.push(format!("Returns: {returns}")),
            (returns, description) => lines.push(format!("Returns: {returns}: {description}")),
        }
        lines.extend(listed("Columns", self.columns));
        lines.join("\n")
    }
}

/// The lines about arguments or columns, if there are any.
fn listed(heading: &str, names: &[DeclaredName]) -> Vec<String> {
    let line = |name: &DeclaredName| {
        let line = format!("- {} ({})", name.name, name.declared);
        match on_one_line(&name.comment) {
            description if description.is_empty() => line,
            description => format!("{line}: {description}"),
        }
    };
    let heading = (!names.is_empty()).then(|| format!("{heading}:"));
    heading.into_iter().chain(names.iter().map(line)).collect()
}

/// The lines of a comment, joined by blanks.
fn on_one_line(comment: &str) -> String {
    let lines = comment.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(" ")
}

/// The first 160 bytes, without a part of a character.
fn shortened(description: &str) -> &str {
    const MOST: usize = 160;
    let ends = (0..=MOST.min(description.len())).rev();
    let mut whole = ends.filter(|end| description.is_char_boundary(*end));
    description.get(..whole.next().unwrap_or_default()).unwrap_or_default()
}

/// Names, types and descriptions as a list in JSON, in ASCII.
fn json(names: &[DeclaredName]) -> String {
    let mut json = String::from("[");
    for (at, name) in names.iter().enumerate() {
        let description = on_one_line(&name.comment);
        let members =
            [("name", &name.name), ("type", &name.declared), ("description", &description)];
        for (place, (member, text)) in members.into_iter().enumerate() {
            json += match (at, place) {
                (0, 0) => "{\"",
                (_, 0) => ",{\"",
                _ => ",\"",
            };
            json += member;
            json += "\":";
            quote(text.as_bytes(), &mut json);
        }
        json.push('}');
    }
    json.push(']');
    let mut ascii = String::with_capacity(json.len());
    for c in json.chars() {
        match c.is_ascii() {
            true => ascii.push(c),
            false => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    ascii += &format!("\\u{unit:04x}");
                }
            }
        }
    }
    ascii
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::super::tests::{connect, folder, try_rows};
    use super::{json, shortened};
    use crate::perfetto::DeclaredName;

    const TIMES: &str = "-- A licence.

INCLUDE PERFETTO MODULE own.other;

-- Late frames,
-- of any display.
CREATE PERFETTO TABLE late_frame(
  -- The slice.
  id JOINID(slice.id),
  dur LONG
) AS SELECT 1 AS id, 2 AS dur;

CREATE PERFETTO MACRO _twice(
  -- A number.
  x Expr,
  -- Another one.
  y Expr)
-- The double.
RETURNS Expr AS 2 * $x;

-- Slices of a thread.
CREATE PERFETTO FUNCTION slices_of(utid JOINID(thread.id)) RETURNS TABLE(
  -- From 0.
  i LONG) AS SELECT 0 AS i;

CREATE PERFETTO FUNCTION parent_of(id LONG)
-- Its parent.
RETURNS JOINID(slice.id) AS SELECT $id;
";

    #[test]
    fn pq17_objects_are_listed_with_their_own_comments() {
        let (_folder, packages) = folder(&[("own.times", TIMES), ("own.other", "")]);
        let rows = |sql: &str| try_rows(&connect(), sql, &packages).unwrap();
        assert_eq!(
            rows(
                "SELECT id, package, module, name, qualified_name, object_type, exposed FROM __intrinsic_stdlib_objects"
            ),
            "0 own own.other own.other own.other MODULE 1\n\
             1 own own.times own.times own.times MODULE 1\n\
             2 own own.times late_frame own.times.late_frame TABLE 1\n\
             3 own own.times slices_of own.times.slices_of TABLE_FUNCTION 1\n\
             4 own own.times parent_of own.times.parent_of FUNCTION 1\n\
             5 own own.times _twice own.times._twice MACRO 0"
        );
        assert_eq!(
            rows(
                "SELECT description, short_description, return_type, return_description, args, cols
                  FROM __intrinsic_stdlib_objects WHERE id IN (2, 4)"
            ),
            "Late frames, of any display. Late frames, of any display.   [] \
             [{\"name\":\"id\",\"type\":\"JOINID(slice.id)\",\"description\":\"The slice.\"},\
             {\"name\":\"dur\",\"type\":\"LONG\",\"description\":\"\"}]\n\
             \x20 JOINID(slice.id) Its parent. [{\"name\":\"id\",\"type\":\"LONG\",\"description\":\"\"}] []"
        );
        assert_eq!(
            rows("SELECT summary FROM __intrinsic_stdlib_objects WHERE id IN (1, 3, 5)"),
            "Package: own\nModule: own.times\nQualified name: own.times\nSearch aliases: own own times\n\
             Kind: public MODULE\n\
             Package: own\nModule: own.times\nName: slices_of\nQualified name: own.times.slices_of\n\
             Search aliases: own own times slices of\nKind: public TABLE_FUNCTION\nDescription: Slices of a thread.\n\
             Arguments:\n- utid (JOINID(thread.id))\nReturns: TABLE\nColumns:\n- i (LONG): From 0.\n\
             Package: own\nModule: own.times\nName: _twice\nQualified name: own.times._twice\n\
             Search aliases: own own times  twice\nKind: internal MACRO\n\
             Arguments:\n- x (Expr): A number.\n- y (Expr): Another one.\nReturns: Expr: The double."
        );
    }

    #[test]
    fn pq17_texts_are_short_and_ascii() {
        assert_eq!(shortened(&"é".repeat(100)).len(), 160);
        assert_eq!(shortened(&format!("a{}", "é".repeat(100))).len(), 159);
        assert_eq!(shortened("short"), "short");
        let name =
            DeclaredName {
                name: "é".into(), declared: "LONG".into(), comment: "a \"𝄞\"".into()
            };
        assert_eq!(
            json(&[name]),
            r#"[{"name":"\u00e9","type":"LONG","description":"a \"\ud834\udd1e\""}]"#
        );
    }
}
