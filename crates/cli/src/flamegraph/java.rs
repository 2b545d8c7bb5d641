//! Dumps of Java heaps as stacks of classes, along the tree of dominators.
//!
//! # Design
//!
//! An object is below the object that keeps it alive alone. So the width of a frame is the memory that would be free
//! without it. The alternative was the shortest path from a root: there the width depends on which of two owners is
//! nearer.
//!
//! A list of 100,000 elements is 100,000 objects deep. So a class directly below itself stays in its frame, and what is
//! deeper than [`DEEPEST`] frames counts for the last of them.

use std::collections::{BTreeMap, HashMap};

use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};

/// The most frames of a stack.
const DEEPEST: u32 = 200;

/// The number and the bytes of objects, by the number of their stack.
pub type Sums = BTreeMap<i64, (i64, i64)>;

/// A class below other classes.
#[derive(Debug)]
struct Frame {
    above: Option<usize>,
    class: usize,
    depth: u32,
}

/// The stacks of dumps, by numbers.
#[derive(Debug, Default)]
pub struct Stacks {
    frames: Vec<Frame>,
    classes: Vec<String>,
    known: HashMap<(Option<usize>, usize), usize>,
    class_numbers: HashMap<String, usize>,
    /// The number of dumps that were read.
    dumps: usize,
}

/// The objects of a dump, an owner before what it keeps alive.
const OBJECTS: &str = "SELECT d.object_id, d.dominator_id, max(o.self_size, 0), o.native_size,
      coalesce(c.deobfuscated_name, c.name, '[unknown]')
    FROM heap_graph_dominator(?1, ?2) AS d
    CROSS JOIN heap_graph_object_record AS o ON o.id = d.object_id
    LEFT JOIN heap_graph_class AS c ON c.id = o.type_id";

impl Stacks {
    /// Reads one dump of each process: the last one, or the first one. `conditions` select from `heap_graph`.
    pub fn read(
        database: &Connection,
        (conditions, values): (&str, Vec<Value>),
        is_first: bool,
    ) -> rusqlite::Result<(Stacks, Sums)> {
        let (mut stacks, mut weights) = (Stacks::default(), Sums::new());
        let which = if is_first { "min" } else { "max" };
        let sql = format!("SELECT upid, {which}(ts) FROM heap_graph{conditions} GROUP BY upid");
        let mut dumps = database.prepare(&sql)?;
        let mut dumps = dumps.query(params_from_iter(values))?;
        while let Some(dump) = dumps.next()? {
            stacks.dumps = stacks.dumps.saturating_add(1);
            let (upid, ts): (i64, i64) = (dump.get(0)?, dump.get(1)?);
            stacks.dump(database, (upid, ts), &mut weights)?;
        }
        Ok((stacks, weights))
    }

    fn dump(
        &mut self,
        database: &Connection,
        (upid, ts): (i64, i64),
        weights: &mut Sums,
    ) -> rusqlite::Result<()> {
        let mut frame_of: HashMap<i64, usize> = HashMap::new();
        let mut objects = database.prepare(OBJECTS)?;
        let mut objects = objects.query(params![upid, ts])?;
        while let Some(object) = objects.next()? {
            let above: Option<i64> = object.get(1)?;
            let above = above.and_then(|above| frame_of.get(&above).copied());
            let class = object.get_ref(4)?.as_str().unwrap_or_default();
            let frame = self.frame(above, class);
            frame_of.insert(object.get(0)?, frame);
            let mut count = |frame: usize, size: i64| {
                let sums = weights.entry(frame as i64).or_default();
                *sums = (sums.0.saturating_add(1), sums.1.saturating_add(size));
            };
            count(frame, object.get(2)?);
            let native: i64 = object.get(3)?;
            if native > 0 {
                let frame = self.frame(Some(frame), "[native]");
                count(frame, native);
            }
        }
        Ok(())
    }

    /// The frame of a class below another frame.
    fn frame(&mut self, above: Option<usize>, class: &str) -> usize {
        let number = match self.class_numbers.get(class) {
            Some(&number) => number,
            None => {
                let number = self.classes.len();
                // A line cannot contain line feeds, and ; is between frames.
                self.classes.push(class.replace(['\n', '\r'], " ").replace(';', ":"));
                self.class_numbers.insert(class.to_owned(), number);
                number
            }
        };
        if let Some(place) = above
            && let Some(frame) = self.frames.get(place)
            && (frame.class == number || frame.depth >= DEEPEST)
        {
            return place;
        }
        let depth = above.and_then(|above| self.frames.get(above)).map_or(0, |frame| frame.depth);
        let frames = &mut self.frames;
        *self.known.entry((above, number)).or_insert_with(|| {
            frames.push(Frame { above, class: number, depth: depth.saturating_add(1) });
            frames.len().saturating_sub(1)
        })
    }

    /// Whether there was no dump.
    pub fn has_no_dump(&self) -> bool {
        self.dumps == 0
    }

    /// A stack as text, the outermost class first.
    pub fn text(&self, stack: i64) -> String {
        let mut classes = Vec::new();
        let mut at = usize::try_from(stack).ok();
        while let Some(frame) = at.and_then(|at| self.frames.get(at)) {
            classes.push(self.classes.get(frame.class).map_or("", String::as_str));
            at = frame.above;
        }
        classes.reverse();
        classes.join(";")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_below_itself_is_one_frame_and_deep_stacks_end() {
        let mut stacks = Stacks::default();
        let list = stacks.frame(None, "List");
        let mut node = stacks.frame(Some(list), "Node");
        for _ in 0..1000 {
            node = stacks.frame(Some(node), "Node");
        }
        assert_eq!(stacks.text(node as i64), "List;Node");
        for number in 0..1000 {
            node = stacks.frame(Some(node), if number % 2 == 0 { "a;b" } else { "c" });
        }
        let text = stacks.text(node as i64);
        assert!(text.starts_with("List;Node;a:b;c;a:b"), "{text}");
        assert_eq!(text.split(';').count(), DEEPEST as usize);
    }
}
