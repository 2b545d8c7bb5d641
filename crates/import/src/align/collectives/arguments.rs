//! The arguments of kernels and operators.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};

use timebase_trace::json::{Number, Value};

/// The arguments that tell something of a collective.
const NAMES: [&str; 14] = [
    "args.Process Group Name",
    "args.Process Group Ranks",
    "args.Group size",
    "args.Collective name",
    "args.In split size",
    "args.Out split size",
    "args.In msg nelems",
    "args.dtype",
    "args.Seq",
    "args.Src Rank",
    "args.Dst Rank",
    "args.Root Rank",
    "args.correlation",
    "args.External id",
];

/// What the keys of arguments of events in JSON begin with.
const PREFIX: &str = "args.";

/// Those that tell the group.
const OF_GROUP: [&str; 4] =
    ["Process Group Name", "Process Group Ranks", "Group size", "Collective name"];

/// Some arguments of an event. Most events have a dozen others, which are not kept.
#[derive(Debug, Default)]
pub(super) struct Arguments<'a>([Option<Value<'a>>; NAMES.len()]);

/// The group and the name of a collective.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Group([String; 4]);

impl Group {
    pub fn name(&self) -> &str {
        let Group([.., name]) = self;
        name
    }

    /// Whether these arguments name it.
    pub fn is_of(&self, args: &Arguments<'_>) -> bool {
        OF_GROUP.iter().zip(&self.0).all(|(name, own)| args.text(name) == **own)
    }
}

/// The statements of a rank about its data in a collective, as a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Said {
    pub hash: u64,
    /// Whether a rank sends or gets nothing of some other one.
    pub has_empty_split: bool,
}

impl<'a> Arguments<'a> {
    /// The arguments in the text of an `arg_set`; none if it is no object.
    pub fn of(text: &'a [u8]) -> Arguments<'a> {
        let mut arguments = Arguments::default();
        for (key, value) in Value::parsed(text).members() {
            let place = NAMES.iter().position(|name| key.is(name));
            if let Some(place) = place.and_then(|place| arguments.0.get_mut(place)) {
                *place = Some(value);
            }
        }
        arguments
    }

    /// Replaces the arguments that others have too, and adds the others.
    pub fn extend(&mut self, others: Arguments<'a>) {
        for (own, other) in self.0.iter_mut().zip(others.0) {
            *own = other.or(*own);
        }
    }

    fn get(&self, name: &str) -> Option<Value<'a>> {
        let place = NAMES.iter().position(|other| other.strip_prefix(PREFIX) == Some(name))?;
        *self.0.get(place)?
    }

    pub fn number(&self, name: &str) -> Option<i64> {
        match self.get(name)?.number()? {
            Number::Int(number) => Some(number),
            _ => None,
        }
    }

    pub fn names_collective(&self) -> bool {
        self.get("Collective name").is_some()
    }

    fn text(&self, name: &str) -> Cow<'a, str> {
        let Some(value) = self.get(name) else { return Cow::Borrowed("") };
        value.string().unwrap_or_else(|| String::from_utf8_lossy(value.text()))
    }

    pub fn group(&self) -> Group {
        Group(OF_GROUP.map(|name| self.text(name).into_owned()))
    }

    pub fn said(&self) -> Said {
        let has_empty_split = ["In split size", "Out split size"].iter().any(|name| {
            self.text(name).split(|c: char| !c.is_ascii_digit()).any(|size| size == "0")
        });
        let mut hasher = DefaultHasher::new();
        let data = ["In msg nelems", "dtype"].map(|name| self.text(name));
        (data, has_empty_split).hash(&mut hasher);
        Said { hash: hasher.finish(), has_empty_split }
    }
}
