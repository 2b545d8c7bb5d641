//! V8's profiles, in track events (rule FP5) and in JSON traces (rule JS28): the tree of calls of each session. A node may
//! come after the samples in it, because the samples of a chunk are older than the chunk.

use rustc_hash::FxHashMap;
use timebase_trace::json::{Number, Value};

use crate::output::Fault;
use crate::place::PartIx;
use crate::timeline::Name;

use super::Names;

use self::fault::INVALID_CALLSITE;

/// The reasons to leave out a part of a profile, with trace processor's counters.
pub(crate) mod fault {
    use crate::output::{Counter, Fault};

    pub const INVALID_CALLSITE: Fault = Fault::new(
        Counter::error(
            "legacy_v8_cpu_profile_invalid_callsite",
            "a function call in a profile of V8 has no session or caller, or is there already",
        )
        .drops_nothing(),
    );
    pub const INVALID_SAMPLE: Fault = Fault::new(
        Counter::error(
            "legacy_v8_cpu_profile_invalid_sample",
            "samples in a profile of V8 have no session, time or function call, and are dropped",
        )
        .drops_nothing(),
    );
}

/// The sessions of all profiles.
#[derive(Debug, Default)]
pub(crate) struct V8Sessions {
    /// By part, id and pid.
    numbers: FxHashMap<(PartIx, u64, u32), u32>,
    all: Vec<V8Session>,
}

/// A session: one profile of one process.
#[derive(Debug)]
pub(crate) struct V8Session {
    pub machine: u32,
    /// The trace time of the last sample.
    pub time: i64,
    pub nodes: Vec<V8Node>,
    /// The place of each node by its id.
    places: FxHashMap<u32, u32>,
    /// The callers of nodes that name their callees.
    callers: FxHashMap<u32, u32>,
}

/// A function that was called in one way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct V8Node {
    /// The place of the caller, which is an earlier one.
    pub caller: Option<u32>,
    pub function: Option<Name>,
    pub url: Option<Name>,
}

/// A node as it is in the trace.
#[derive(Debug)]
pub(crate) struct WrittenNode {
    pub id: u32,
    pub parent: Option<u32>,
    pub children: Vec<u32>,
    pub function: Option<Name>,
    pub url: Option<Name>,
}

impl WrittenNode {
    /// A node of `cpuProfile.nodes`. `None` if it has no number.
    pub fn of(value: Value<'_>, names: &mut Names) -> Option<WrittenNode> {
        let frame = last(Some(value), "callFrame");
        let mut text = |name| {
            let text = last(frame, name).and_then(Value::string);
            // A function may have an empty name, but no file has.
            let text = text.filter(|text| name != "url" || !text.is_empty());
            text.map(|text| names.number(text.as_bytes()))
        };
        Some(WrittenNode {
            id: node_id(last(Some(value), "id")?)?,
            parent: last(Some(value), "parent").and_then(node_id),
            children: items(Some(value), "children").filter_map(node_id).collect(),
            function: text("functionName"),
            url: text("url"),
        })
    }
}

/// The number of a node.
pub(crate) fn node_id(value: Value<'_>) -> Option<u32> {
    match value.number() {
        Some(Number::Int(id)) => u32::try_from(id).ok(),
        _ => None,
    }
}

/// The last member with a name.
pub(crate) fn last<'a>(of: Option<Value<'a>>, name: &str) -> Option<Value<'a>> {
    let members = of.into_iter().flat_map(Value::members);
    members.filter(|(key, _)| key.is(name)).last().map(|(_, value)| value)
}

/// The entries of a list.
pub(crate) fn items<'a>(
    of: Option<Value<'a>>,
    name: &str,
) -> impl Iterator<Item = Value<'a>> + Clone {
    last(of, name).into_iter().flat_map(Value::items)
}

impl V8Sessions {
    /// A session begins, or begins to count its time anew.
    pub fn begin(&mut self, key: (PartIx, u64, u32), machine: u32, time: i64) {
        let all = &mut self.all;
        let number = *self.numbers.entry(key).or_insert_with(|| {
            all.push(V8Session {
                machine,
                time,
                nodes: Vec::new(),
                places: FxHashMap::default(),
                callers: FxHashMap::default(),
            });
            (all.len() - 1) as u32
        });
        if let Some(session) = self.all.get_mut(number as usize) {
            session.time = time;
        }
    }

    /// A session that has begun, and its number.
    pub fn of(&mut self, key: (PartIx, u64, u32)) -> Option<(u32, &mut V8Session)> {
        let number = *self.numbers.get(&key)?;
        Some((number, self.all.get_mut(number as usize)?))
    }

    pub fn get(&self, number: u32) -> Option<&V8Session> {
        self.all.get(number as usize)
    }

    pub fn len(&self) -> u32 {
        self.all.len() as u32
    }
}

impl V8Session {
    /// Adds a node under its parent, or under the earlier node that has it among its children.
    pub fn add(&mut self, node: &WrittenNode) -> Result<(), Fault> {
        let caller = match node.parent.or_else(|| self.callers.get(&node.id).copied()) {
            None => None,
            Some(id) => Some(*self.places.get(&id).ok_or(INVALID_CALLSITE)?),
        };
        if self.places.contains_key(&node.id) {
            return Err(INVALID_CALLSITE);
        }
        self.places.insert(node.id, self.nodes.len() as u32);
        self.nodes.push(V8Node { caller, function: node.function, url: node.url });
        let mut added = Ok(());
        for child in &node.children {
            if self.callers.contains_key(child) {
                added = Err(INVALID_CALLSITE);
            } else {
                self.callers.insert(*child, node.id);
            }
        }
        added
    }

    /// The place of a node.
    pub fn place(&self, id: u32) -> Option<u32> {
        self.places.get(&id).copied()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn node(id: u32, parent: Option<u32>, children: &[u32]) -> WrittenNode {
        WrittenNode { id, parent, children: children.to_vec(), function: None, url: None }
    }

    #[test]
    fn fp5_a_node_is_under_its_parent_or_under_the_node_that_names_it() {
        let mut sessions = V8Sessions::default();
        let key = (PartIx(0), 7, 10);
        assert!(sessions.of(key).is_none());
        sessions.begin(key, 0, 500);
        sessions.begin((PartIx(0), 7, 11), 0, 600);
        let (number, session) = sessions.of(key).unwrap();
        assert_eq!((number, session.time), (0, 500));
        let added: Vec<bool> = [
            node(1, None, &[3, 4]),
            node(2, Some(1), &[]),
            node(3, None, &[]),
            // The parent counts before the list of children.
            node(4, Some(2), &[]),
            // An unknown parent, a node that is there, a child that has a caller.
            node(5, Some(9), &[]),
            node(2, Some(1), &[]),
            node(6, None, &[3]),
        ]
        .iter()
        .map(|node| session.add(node).is_ok())
        .collect();
        assert_eq!(added, [true, true, true, true, false, false, false]);
        let callers: Vec<_> = session.nodes.iter().map(|node| node.caller).collect();
        assert_eq!(callers, [None, Some(0), Some(0), Some(1), None]);
        assert_eq!((session.place(4), session.place(5)), (Some(3), None));
        sessions.begin(key, 0, 900);
        assert_eq!(sessions.of(key).unwrap().1.time, 900);
        assert_eq!(sessions.len(), 2);
    }
}
