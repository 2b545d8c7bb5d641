//! Why an object is alive: a shortest path from a root.

use std::cell::RefCell;
use std::ops::ControlFlow;

use rusqlite::ffi;
use rusqlite::vtab::Filters;

use super::root_type;
use crate::table_function::{TableFunction, argument};
use crate::{Arguments, Error, Queries, Result, ValueRef, Values};

pub struct Path(RefCell<Queries>);

pub struct Step {
    distance: i64,
    object: i64,
    self_size: Option<i64>,
    /// The owner of the reference that leads here.
    owner: Option<i64>,
    root_type: Option<&'static str>,
    /// The field, and the class.
    texts: [Option<String>; 2],
}

const STEP: &str = "SELECT o.root_distance, o.self_size, r.owner_id, o.root_type,
      coalesce(f.deobfuscated_name, f.name), coalesce(c.deobfuscated_name, c.name)
    FROM heap_graph_object_record AS o
    LEFT JOIN heap_graph_reference_record AS r ON r.id = o.root_reference_id
    LEFT JOIN heap_graph_field AS f ON f.id = r.field_id
    LEFT JOIN heap_graph_class AS c ON c.id = o.type_id
    WHERE o.id = ?1 AND o.root_distance >= 0";

impl TableFunction for Path {
    const NAME: &'static str = "heap_graph_path";
    const COLUMNS: &'static [&'static str] =
        &["distance", "object_id", "field_name", "class_name", "self_size", "root_type"];
    const TEXTS: &'static [&'static str] = &["field_name", "class_name", "root_type"];
    const ARGUMENTS: &'static [&'static str] = &["object"];
    const ESTIMATE: Option<(f64, i64)> = Some((100.0, 10));
    type Row = Step;

    unsafe fn new(conn: *mut ffi::sqlite3) -> Path {
        // SAFETY: by the contract of this function.
        Path(RefCell::new(unsafe { Queries::new(conn) }))
    }

    fn rows(&self, args: &Filters<'_>) -> Result<Vec<Step>> {
        let start = argument::<Self>(args, 0)?;
        let values = [ValueRef::from(&start)];
        let arguments = Arguments::new(Self::NAME, &values[..]);
        let mut at = arguments.integer(0, "object")?;
        let Ok(mut queries) = self.0.try_borrow_mut() else {
            return Err(Error::new(format_args!(
                "{}() reads the tables of Java heaps, so a view of these must not call it",
                Self::NAME
            )));
        };
        let mut path: Vec<Step> = Vec::new();
        while let Some(object) = at.take() {
            let mut found = None;
            queries.each(STEP, &[ValueRef::Integer(object)], |row| {
                let text = |column| match row.value(column) {
                    Some(ValueRef::Text(text)) => Some(String::from_utf8_lossy(text).into_owned()),
                    _ => None,
                };
                found = Some(Step {
                    distance: row.integer(0, "root_distance")?,
                    object,
                    self_size: row.optional_integer(1, "self_size")?,
                    owner: row.optional_integer(2, "owner_id")?,
                    root_type: row.optional_integer(3, "root_type")?.and_then(root_type),
                    texts: [text(4), text(5)],
                });
                Ok(ControlFlow::Break(()))
            })?;
            // Each step is nearer to a root, unless someone changed the table.
            let Some(step) =
                found.filter(|step| path.last().is_none_or(|last| step.distance < last.distance))
            else {
                break;
            };
            at = step.owner;
            path.push(step);
        }
        path.reverse();
        Ok(path)
    }

    fn column(row: &Step, column: usize) -> Option<i64> {
        match column {
            0 => Some(row.distance),
            1 => Some(row.object),
            4 => row.self_size,
            _ => None,
        }
    }

    fn text(row: &Step, column: usize) -> Option<&str> {
        match column {
            2 => row.texts[0].as_deref(),
            3 => row.texts[1].as_deref(),
            _ => row.root_type,
        }
    }
}
