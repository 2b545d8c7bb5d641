//! An event of a file, as the rules on its members leave it (JS9, JS14, JS15, JS21, JS23).

use super::text::{Decimal, Json, Node, strtoull};

/// A time as it is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Time {
    Missing,
    Unusable,
    Overflow,
    At(i64),
}

/// JS9: microseconds as nanoseconds.
pub fn time(event: &Node, key: &str) -> Time {
    let usable = event.all(key).find_map(|node| node.number().or(node.text()));
    let Some(written) = usable else {
        return if event.get(key).is_some() { Time::Unusable } else { Time::Missing };
    };
    match (written, Decimal::read(written)) {
        ("Infinity" | "-Infinity", _) => Time::Overflow,
        (_, None) => Time::Unusable,
        (_, Some(number)) => number.scaled(3, true).map_or(Time::Overflow, Time::At),
    }
}

/// A pid or tid.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Id {
    Number(i64),
    Text(String),
    /// The tid of the main thread of a process whose pid is a text.
    Main,
}

/// JS14, JS15
pub fn id(event: &Node, key: &str) -> Option<Id> {
    event.all(key).find_map(|node| match &node.value {
        Json::Number(number) => {
            let cut = Decimal::read(number).and_then(|number| number.scaled(0, false));
            Some(cut.map_or_else(|| Id::Text(number.clone()), Id::Number))
        }
        Json::Text(text) => {
            let digits = text.strip_prefix('-').unwrap_or(text);
            let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            let number = is_number.then(|| Decimal::read(text)?.scaled(0, false)).flatten();
            Some(number.map_or_else(|| Id::Text(text.clone()), Id::Number))
        }
        _ => None,
    })
}

/// An id of an async event.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Cookie {
    Number(i64),
    Text(String),
}

pub fn cookie(node: &Node) -> Option<Cookie> {
    match &node.value {
        Json::Number(_) => node.int().map(Cookie::Number),
        Json::Text(text) => Some(Cookie::Text(text.clone())),
        _ => None,
    }
}

/// The id of a flow.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum FlowId {
    Number(u64),
    Text(String),
}

/// JS23
pub fn flow_id(event: &Node, key: &str) -> Option<FlowId> {
    event.all(key).find_map(|node| match &node.value {
        Json::Number(_) => node.int().map(|int| FlowId::Number(int as u64)),
        Json::Text(text) if text.is_empty() => None,
        Json::Text(text) => {
            Some(strtoull(text).map_or_else(|| FlowId::Text(text.clone()), FlowId::Number))
        }
        _ => None,
    })
}

/// An event as the rules on its members leave it.
#[derive(Clone, Debug)]
pub struct Event {
    pub phase: char,
    pub ts: Option<i64>,
    pub name: Option<String>,
    pub cat: Option<String>,
    pub dur: Option<i64>,
    pub tts: Option<i64>,
    pub tdur: Option<i64>,
    pub pid: Id,
    pub tid: Id,
    pub node: Node,
    /// A sample of a profile in place of the event: its session and its node.
    pub sample: Option<(Session, i64)>,
}

/// JS28: a profile's id and pid.
pub type Session = (u64, Id);

impl Event {
    pub fn args(&self) -> Option<&Node> {
        self.node.all("args").find(|args| args.is_object())
    }

    pub fn arg(&self, key: &str) -> Option<&Node> {
        self.args()?.get(key)
    }

    /// `[No name]`
    pub fn named(&self) -> Option<String> {
        Some(self.name.clone().unwrap_or_else(|| "[No name]".to_owned()))
    }

    /// JS14: whether the tid 0 is a thread.
    fn has_thread_0(phase: char, dur: Option<i64>, node: &Node) -> bool {
        let text = |key: &str| node.get(key).and_then(Node::text);
        match phase {
            'B' | 'E' | 'X' | 'P' | 's' | 't' | 'f' => true,
            'T' => dur.is_some(),
            'i' | 'I' | 'R' => !matches!(text("s"), Some("g" | "p")),
            'M' => matches!(text("name"), Some("thread_name" | "thread_sort_index")),
            _ => false,
        }
    }

    pub fn thread(phase: char, dur: Option<i64>, node: &Node) -> (Id, Id) {
        let pid = id(node, "pid").unwrap_or(Id::Number(0));
        let main = match &pid {
            Id::Number(_) => pid.clone(),
            _ => Id::Main,
        };
        let is_ignored = |tid: &Id| {
            *tid == Id::Number(0) && pid != Id::Number(0) && !Event::has_thread_0(phase, dur, node)
        };
        let tid = id(node, "tid").filter(|tid| !is_ignored(tid)).unwrap_or(main);
        (pid, tid)
    }
}

/// JS17: the number of an index.
pub fn low_32_bits(value: &Node) -> Option<i32> {
    let number = match &value.value {
        Json::Number(number) => number,
        Json::Text(text)
            if text.strip_prefix('-').unwrap_or(text).bytes().all(|b| b.is_ascii_digit()) =>
        {
            text
        }
        _ => return None,
    };
    Some(Decimal::read(number)?.scaled(0, false)? as i32)
}

/// JS21: the id, and the process if it is a local one.
pub fn async_id(node: &Node, upid: usize) -> Option<(Cookie, Option<usize>)> {
    if let Some(id) = node.all("id").find_map(cookie) {
        return Some((id, None));
    }
    let id2 = node.get("id2")?;
    let of = |key| id2.all(key).find_map(cookie);
    of("global").map(|id| (id, None)).or(of("local").map(|id| (id, Some(upid))))
}
