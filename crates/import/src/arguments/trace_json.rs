//! The arguments of an event of a JSON trace (rule JS25).

use timebase_trace::json::{Kind, Number, Token, Value};

use super::key::{Fault, KeyText, Mark};
use super::set::{ArgBuf, ArgValue, Position};
use crate::definitions::Names;

/// Arguments that are nested deeper are left out: their keys would grow without end.
const DEEPEST: usize = 512;

/// The bytes that an event's arguments may take in addition to their text, because each key repeats the names
/// above it.
const ROOM: usize = 16 << 20;

/// Decodes the arguments of events, one event after the other.
#[derive(Debug, Default)]
pub(crate) struct JsonArgs {
    args: ArgBuf,
    key: KeyText,
    open: Vec<Open>,
    /// The key before the name of the member whose value comes next.
    member: Mark,
    room: usize,
}

/// An object or a list that has not ended.
#[derive(Debug, Clone, Copy)]
struct Open {
    list: Option<List>,
    outside: Outside,
}

/// A list: the index of the next entry, and the size of all arguments after the last entry whose keys tell
/// where the list continues.
#[derive(Debug, Clone, Copy)]
struct List {
    next: u64,
    told: Option<usize>,
}

/// The key and the size of all arguments before a value.
#[derive(Debug, Clone, Copy)]
struct Outside {
    key: Mark,
    size: usize,
}

impl JsonArgs {
    /// Starts an event without arguments.
    pub fn clear(&mut self) {
        self.args.clear();
        self.key.clear();
        self.open.clear();
    }

    /// The arguments in their compact form.
    pub fn as_bytes(&self) -> &[u8] {
        self.args.as_bytes()
    }

    /// Adds an argument that is no member of `args`.
    pub fn push(&mut self, key: &str, value: ArgValue<'_>, names: &mut Names) {
        self.args.push(key, value, names);
    }

    /// Adds the members of `args`, an object. Returns whether all of them have found room.
    pub fn decode(&mut self, args: Value<'_>, names: &mut Names) -> bool {
        self.room = args.text().len().saturating_mul(4).saturating_add(ROOM);
        self.members(args, names).is_ok()
    }

    fn members(&mut self, args: Value<'_>, names: &mut Names) -> Result<(), Fault> {
        self.member = self.key.mark();
        self.key.enter("args")?;
        for token in args.walk() {
            match token {
                Token::Key(name) => {
                    self.member = self.key.mark();
                    self.key.enter(&name.text())?;
                }
                Token::BeginObject => self.begin(false)?,
                Token::BeginArray => self.begin(true)?,
                Token::EndObject | Token::EndArray => self.end(names),
                Token::Scalar(value) => {
                    let outside = self.enter();
                    let is_there = self.scalar(value, names)?;
                    self.leave(outside, is_there);
                }
            }
        }
        Ok(())
    }

    fn size(&self) -> usize {
        self.args.as_bytes().len()
    }

    /// Begins a value: an entry of a list has its index in its key.
    fn enter(&mut self) -> Outside {
        let size = self.size();
        match self.open.last().and_then(|open| open.list) {
            Some(list) => {
                let key = self.key.mark();
                self.key.enter_entry(list.next, true);
                Outside { key, size }
            }
            None => Outside { key: self.member, size },
        }
    }

    /// Ends a value, which takes an index if it is there.
    fn leave(&mut self, outside: Outside, is_there: bool) {
        self.key.back_to(outside.key);
        let size = self.size();
        if let Some(list) = self.open.last_mut().and_then(|open| open.list.as_mut())
            && is_there
        {
            list.next += 1;
            list.told = (size > outside.size).then_some(size);
        }
    }

    /// Begins an object or a list.
    fn begin(&mut self, is_list: bool) -> Result<(), Fault> {
        if self.open.len() >= DEEPEST {
            return Err(Fault);
        }
        let outside = self.enter();
        let size = self.size();
        let list = is_list.then(|| List { next: self.key.list(), told: Some(size) });
        self.open.push(Open { list, outside });
        Ok(())
    }

    fn end(&mut self, names: &mut Names) {
        let Some(Open { list, outside }) = self.open.pop() else {
            return;
        };
        if let Some(list) = list {
            self.end_list(list, names);
        }
        self.leave(outside, true);
    }

    /// If the keys of its entries do not tell where the list continues, an extra entry tells it.
    fn end_list(&mut self, list: List, names: &mut Names) {
        self.key.set_list(list.next);
        if list.told == Some(self.size()) {
            return;
        }
        let position = Position { at: self.key.flat.len(), index: list.next, goes_on: true };
        self.key.positions.push(position);
        self.args.push_count(&self.key.flat, &self.key.positions, names);
        self.key.positions.pop();
    }

    /// Adds a value that is no object and no list. Returns whether it is there, which `null` is not.
    fn scalar(&mut self, value: Value<'_>, names: &mut Names) -> Result<bool, Fault> {
        let text = value.string();
        let value = match (&text, value.kind(), value.number()) {
            (Some(text), ..) => ArgValue::Text(text),
            (_, Kind::Bool(bool), _) => ArgValue::Bool(bool),
            (.., Some(Number::Int(int))) => ArgValue::Int(int),
            (.., Some(Number::Real(real))) => ArgValue::Real(real),
            _ => return Ok(false),
        };
        let size = text.as_ref().map_or(0, |text| text.len());
        let all = self.size().saturating_add(self.key.size()).saturating_add(size);
        if all > self.room {
            return Err(Fault);
        }
        self.args.push_at(&self.key.flat, &self.key.positions, value, names);
        Ok(true)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::set::{Args, EntryContent};
    use super::*;

    /// Whether all arguments have found room.
    fn decode(text: &str, args: &mut JsonArgs, names: &mut Names) -> bool {
        args.decode(Value::parse(text.as_bytes()).unwrap(), names)
    }

    /// The arguments as `key=value`.
    fn args_of(text: &str) -> Vec<String> {
        let (mut args, mut names) = (JsonArgs::default(), Names::default());
        assert!(decode(text, &mut args, &mut names));
        let mut all = Vec::new();
        for arg in Args::new(args.as_bytes()) {
            let mut key = String::new();
            arg.key.write(names.texts(), &mut key);
            if let EntryContent::Value(value) = arg.what {
                all.push(format!("{key}={value:?}"));
            }
        }
        all
    }

    #[test]
    fn js25_null_takes_no_position_and_names_stay_as_they_are() {
        assert_eq!(
            args_of(r#"{"a": [1, null, {"b": 2}], "c.d": "x"}"#),
            ["args.a[0]=Int(1)", "args.a[1].b=Int(2)", "args.c.d=Text(\"x\")"]
        );
    }

    #[test]
    fn js25_objects_and_lists_take_a_position_even_if_they_are_empty() {
        assert_eq!(
            args_of(r#"{"k": [[], [1, [true]], {}, 2.5]}"#),
            ["args.k[1][0]=Int(1)", "args.k[1][1][0]=Bool(true)", "args.k[3]=Real(2.5)"]
        );
    }

    #[test]
    fn js25_what_is_nested_without_end_is_left_out() {
        let text = format!("{}1{}", "{\"a\":".repeat(2000), "}".repeat(2000));
        let (mut args, mut names) = (JsonArgs::default(), Names::default());
        assert!(!decode(&text, &mut args, &mut names));
    }
}
