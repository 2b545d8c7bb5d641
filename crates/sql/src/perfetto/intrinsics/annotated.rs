//! Callstacks of Android's runtime, with how each frame ran.
//!
//! | function | rows |
//! |---|---|
//! | `experimental_annotated_callstack(start_id)` | `id`, `depth`, `parent_id`, `frame_id`, `annotation`: a row of `stack_profile_callsite` and those above it, the innermost first. The annotation is `interp`, `jit` or `aot` for a frame of managed code, and `common-frame` or `common-frame-interp` for one of the runtime itself |

use std::cell::RefCell;
use std::ops::ControlFlow;

use rusqlite::vtab::Filters;
use rusqlite::{Connection, ffi};

use crate::table_function::{self, TableFunction};
use crate::value::Values;
use crate::{Arguments, Error, Queries, Result, ValueRef};

const ROW: &str = "SELECT c.depth, c.parent_id, c.frame_id, f.name, m.name \
     FROM stack_profile_callsite AS c LEFT JOIN stack_profile_frame AS f ON f.id = c.frame_id \
     LEFT JOIN stack_profile_mapping AS m ON m.id = f.mapping WHERE c.id = ?1";

/// The deepest stack. Unwinders stop at some hundred frames.
const DEEPEST: usize = 1 << 20;

/// The frame between managed code and a native function that it calls.
const TRAMPOLINE: &str = "art_jni_trampoline";

const COMMON: &str = "common-frame";

/// The functions of the interpreter begin like this.
const INTERPRETER: [&str; 5] =
    ["nterp_", "Nterp", "ExecuteNterp", "ExecuteSwitchImpl", "_ZN3art11interpreter"];

pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    table_function::register::<Annotated>(conn)
}

struct Annotated(RefCell<Queries>);

struct Frame {
    id: i64,
    depth: Option<i64>,
    parent: Option<i64>,
    frame: Option<i64>,
    function: String,
    mapping: String,
    annotation: Option<&'static str>,
}

impl TableFunction for Annotated {
    const NAME: &'static str = "experimental_annotated_callstack";
    const COLUMNS: &'static [&'static str] =
        &["id", "depth", "parent_id", "frame_id", "annotation"];
    const ARGUMENTS: &'static [&'static str] = &["start_id"];
    const ESTIMATE: Option<(f64, i64)> = Some((100.0, 25));
    const TEXTS: &'static [&'static str] = &["annotation"];
    type Row = Frame;

    unsafe fn new(conn: *mut ffi::sqlite3) -> Annotated {
        // SAFETY: by the contract of this function.
        Annotated(RefCell::new(unsafe { Queries::new(conn) }))
    }

    fn rows(&self, args: &Filters<'_>) -> Result<Vec<Frame>> {
        let start = table_function::argument::<Self>(args, 0)?;
        let values = [ValueRef::from(&start)];
        let arguments = Arguments::new(Self::NAME, &values[..]);
        let mut next = arguments.integer(0, "start_id")?;
        let mut frames: Vec<Frame> = Vec::new();
        while let Some(id) = next {
            let Some(frame) = self.read(id)? else {
                break;
            };
            if frames.len() == DEEPEST {
                return Err(Error::new(format_args!(
                    "{}(): the callers of {id} go in a circle",
                    Self::NAME
                )));
            }
            next = frame.parent;
            frames.push(frame);
        }
        if frames.is_empty() && next.is_some() {
            return Err(arguments.must_be(0, "start_id", "the id of a callsite"));
        }
        annotate(&mut frames);
        Ok(frames)
    }

    fn column(row: &Frame, column: usize) -> Option<i64> {
        match column {
            0 => Some(row.id),
            1 => row.depth,
            2 => row.parent,
            3 => row.frame,
            _ => None,
        }
    }

    fn text(row: &Frame, _column: usize) -> Option<&str> {
        row.annotation
    }
}

impl Annotated {
    fn read(&self, id: i64) -> Result<Option<Frame>> {
        // A view of callsites that calls this function would read itself.
        let Ok(mut queries) = self.0.try_borrow_mut() else {
            return Err(Error::new(format_args!(
                "{}() reads stack_profile_callsite, so this view must not call it",
                Self::NAME
            )));
        };
        let mut found = None;
        queries.each(ROW, &[ValueRef::Integer(id)], |row| {
            let text = |index| match row.value(index) {
                Some(ValueRef::Text(text)) => String::from_utf8_lossy(text).into_owned(),
                _ => String::new(),
            };
            found = Some(Frame {
                id,
                depth: row.optional_integer(0, "depth")?,
                parent: row.optional_integer(1, "parent_id")?,
                frame: row.optional_integer(2, "frame_id")?,
                function: text(3),
                mapping: text(4),
                annotation: None,
            });
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found)
    }
}

/// The kind of code in a mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Code {
    /// Managed, with the word for how it ran.
    Managed(&'static str),
    /// Of the runtime itself.
    Runtime,
    Other,
}

/// Annotates a callstack, whose last frame is the outermost.
fn annotate(frames: &mut [Frame]) {
    let mut is_managed = false;
    let mut is_after_trampoline = false;
    for frame in frames.iter_mut().rev() {
        if std::mem::take(&mut is_after_trampoline) {
            continue;
        }
        if frame.function == TRAMPOLINE {
            frame.annotation = Some(COMMON);
            (is_managed, is_after_trampoline) = (true, true);
            continue;
        }
        frame.annotation = match code_in(&frame.mapping) {
            Code::Managed(how) => {
                is_managed = true;
                Some(how)
            }
            Code::Runtime if is_managed => {
                let is_interpreter =
                    INTERPRETER.iter().any(|begin| frame.function.starts_with(begin));
                Some(if is_interpreter { "common-frame-interp" } else { COMMON })
            }
            Code::Runtime | Code::Other => None,
        };
    }
}

fn code_in(mapping: &str) -> Code {
    let begins = |text: &str, known: &[&str]| known.iter().any(|begin| text.starts_with(begin));
    if begins(mapping, &["/memfd:jit-cache", "/memfd:jit-zygote-cache"]) {
        return Code::Managed("jit");
    }
    let file = mapping.rsplit_once('/').map(|(_, file)| file);
    if file.is_some_and(|file| begins(file, &["libart.so", "libartd.so"])) {
        return Code::Runtime;
    }
    let Some((_, kind)) = mapping.rsplit_once('.') else {
        return Code::Other;
    };
    match kind {
        kind if begins(kind, &["so"]) => Code::Other,
        kind if begins(kind, &["dex", "vdex", "jar", "apk"]) => Code::Managed("interp"),
        kind if begins(kind, &["oat", "odex"]) => Code::Managed("aot"),
        _ => Code::Other,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::super::testing::{connection, error, rows};
    use super::{Code, code_in};

    #[test]
    fn pq19_the_mapping_tells_how_a_frame_ran() {
        for (mapping, expected) in [
            ("", Code::Other),
            ("[vdso]", Code::Other),
            ("/memfd:jit-cache (deleted)", Code::Managed("jit")),
            ("/memfd:jit-zygote-cache", Code::Managed("jit")),
            ("/apex/lib64/libart.so", Code::Runtime),
            ("/apex/lib64/libartd.so (deleted)", Code::Runtime),
            ("libart.so", Code::Other),
            ("/system/lib64/libc.so", Code::Other),
            ("/data/app/base.apk!libmonochrome_64.so", Code::Other),
            ("/data/app/base.apk", Code::Managed("interp")),
            ("/system/framework/framework.jar", Code::Managed("interp")),
            ("/data/x.vdex", Code::Managed("interp")),
            ("/data/x.apk@classes.dex", Code::Managed("interp")),
            ("/data/x.odex", Code::Managed("aot")),
            ("/data/x.oat (deleted)", Code::Managed("aot")),
            ("/data/x.art", Code::Other),
        ] {
            assert_eq!(code_in(mapping), expected, "{mapping}");
        }
    }

    #[test]
    fn pq19_frames_of_the_runtime_are_common_after_managed_ones() {
        let conn = connection();
        conn.execute_batch(
            "CREATE TABLE stack_profile_mapping (id INTEGER PRIMARY KEY, name);
             CREATE TABLE stack_profile_frame (id INTEGER PRIMARY KEY, name, mapping);
             CREATE TABLE stack_profile_callsite (id INTEGER PRIMARY KEY, depth, parent_id, frame_id);
             INSERT INTO stack_profile_mapping VALUES (0, '/lib64/libart.so'), (1, '/x.jar'), (2, '/lib64/libc.so'),
                (3, '/memfd:jit-cache');
             INSERT INTO stack_profile_frame VALUES (0, 'art::Run', 0), (1, 'a.b.f', 1), (2, 'nterp_op_iget', 0),
                (3, 'art_jni_trampoline', 1), (4, 'art::Method_invoke', 0), (5, 'malloc', 2), (6, NULL, 3), (7, 'f', NULL);
             INSERT INTO stack_profile_callsite VALUES (0, 0, NULL, 0), (1, 1, 0, 1), (2, 2, 1, 2), (3, 3, 2, 3),
                (4, 4, 3, 4), (5, 5, 4, 0), (6, 6, 5, 5), (7, 7, 6, 6), (8, 8, 7, 7);",
        )
        .unwrap();
        let of = |id: &str| {
            rows(
                &conn,
                &format!("SELECT id, annotation FROM experimental_annotated_callstack({id})"),
            )
        };
        assert_eq!(
            of("8"),
            [
                "8 NULL",
                "7 jit",
                "6 NULL",
                "5 common-frame",
                "4 NULL",
                "3 common-frame",
                "2 common-frame-interp",
                "1 interp",
                "0 NULL"
            ]
        );
        assert_eq!(of("NULL"), [""; 0]);
        assert_eq!(
            rows(&conn, "SELECT * FROM experimental_annotated_callstack(1)"),
            ["1 1 0 1 interp", "0 0 NULL 0 NULL"]
        );
        assert_eq!(
            error(&conn, "SELECT * FROM experimental_annotated_callstack(9)"),
            "experimental_annotated_callstack(): argument 1 (start_id) must be the id of a callsite, not 9"
        );
        conn.execute_batch("UPDATE stack_profile_callsite SET parent_id = 2 WHERE id = 0").unwrap();
        assert!(
            error(&conn, "SELECT * FROM experimental_annotated_callstack(1)")
                .contains("go in a circle")
        );
    }
}
