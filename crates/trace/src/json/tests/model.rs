//! A model of rules JS2 to JS4, as simple as it can be: it tries each place again.

use proptest::prelude::*;

use super::{Slowly, lines_of};
use crate::json::pieces::{JsonPieces, LIMIT};
use crate::json::text::unescape;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fail {
    Invalid,
    Cut,
    TooLarge,
}

/// The end of a value, or the place and the reason of its damage.
type End = Result<usize, (usize, Fail)>;

struct Model<'a> {
    text: &'a [u8],
    limit: usize,
    lines: Vec<String>,
}

/// The members of an object: key and beginning of the value.
type Members = Vec<(String, usize)>;

impl Model<'_> {
    fn white(&self, mut at: usize) -> usize {
        while self.text.get(at).is_some_and(|byte| b" \n\r\t".contains(byte)) {
            at += 1;
        }
        at
    }

    fn byte(&self, at: usize) -> Result<u8, (usize, Fail)> {
        self.text.get(at).copied().ok_or((at, Fail::Cut))
    }

    fn value(&self, at: usize) -> End {
        match self.byte(at)? {
            b'{' => self.object(at).map(|(end, _)| end),
            b'[' => self.list(at),
            b'"' => self.string(at),
            b't' => self.word(at, "true"),
            b'f' => self.word(at, "false"),
            b'n' => self.word(at, "null"),
            b'N' => self.word(at, "NaN"),
            b'I' => self.word(at, "Infinity"),
            b'-' if self.text.get(at + 1) == Some(&b'I') => self.word(at, "-Infinity"),
            b'+' | b'-' | b'.' | b'0'..=b'9' => self.number(at),
            _ => Err((at, Fail::Invalid)),
        }
    }

    fn object(&self, at: usize) -> Result<(usize, Members), (usize, Fail)> {
        let mut members = Vec::new();
        let mut at = self.white(at + 1);
        loop {
            match self.byte(at)? {
                b'}' => return Ok((at + 1, members)),
                b'"' => {}
                _ => return Err((at, Fail::Invalid)),
            }
            let end = self.string(at)?;
            let key = unescape(&self.text[at + 1..end - 1]).into_owned();
            at = self.white(end);
            if self.byte(at)? != b':' {
                return Err((at, Fail::Invalid));
            }
            at = self.white(at + 1);
            members.push((key, at));
            at = self.after(self.value(at)?, b'}')?;
        }
    }

    fn list(&self, at: usize) -> End {
        let mut at = self.white(at + 1);
        while self.byte(at)? != b']' {
            at = self.after(self.value(at)?, b']')?;
        }
        Ok(at + 1)
    }

    /// The place of the next key or item, or of the end.
    fn after(&self, at: usize, end: u8) -> End {
        let at = self.white(at);
        match self.byte(at)? {
            b',' => Ok(self.white(at + 1)),
            byte if byte == end => Ok(at),
            _ => Err((at, Fail::Invalid)),
        }
    }

    fn string(&self, at: usize) -> End {
        let mut at = at + 1;
        loop {
            match self.byte(at)? {
                b'"' => return Ok(at + 1),
                b'\\' => {
                    self.byte(at + 1)?;
                    at += 2;
                }
                _ => at += 1,
            }
        }
    }

    fn word(&self, at: usize, word: &str) -> End {
        for (index, &byte) in word.as_bytes().iter().enumerate() {
            if self.byte(at + index)? != byte {
                return Err((at + index, Fail::Invalid));
            }
        }
        Ok(at + word.len())
    }

    fn digits(&self, at: usize) -> usize {
        let digits = self.text[at..].iter().take_while(|byte| byte.is_ascii_digit());
        at + digits.count()
    }

    fn number(&self, at: usize) -> End {
        let mut at = at;
        if b"+-".contains(&self.byte(at)?) {
            at += 1;
        }
        let before = self.digits(at);
        let mut count = before - at;
        at = before;
        if self.text.get(at) == Some(&b'.') {
            let after = self.digits(at + 1);
            count += after - at - 1;
            at = after;
        }
        if count == 0 {
            self.byte(at)?;
            return Err((at, Fail::Invalid));
        }
        if matches!(self.text.get(at), Some(b'e' | b'E')) {
            at += 1;
            if b"+-".contains(&self.byte(at)?) {
                at += 1;
            }
            self.byte(at)?;
            let end = self.digits(at);
            return if end > at { Ok(end) } else { Err((at, Fail::Invalid)) };
        }
        Ok(at)
    }

    /// The same, of what must not be larger than the limit, counted from another place.
    fn limited(&self, at: usize, from: usize) -> End {
        let found = self.value(at);
        let is_number = !b"{[\"tfnNI".contains(&self.text[at]);
        let seen = match found {
            Ok(end) if is_number && !self.text[..end].ends_with(b"y") => end + 1,
            Ok(end) => end,
            Err((end, Fail::Cut)) => self.text.len().max(end) + 1,
            Err((end, _)) => end + 1,
        };
        if seen.saturating_sub(from) > self.limit {
            Err((from + self.limit, Fail::TooLarge))
        } else {
            found
        }
    }

    /// Whether an event begins here that is whole and has a string `ph`.
    fn is_event(&self, at: usize) -> bool {
        self.text[at] == b'{' && self.limited(at, at).is_ok() && self.phase(at)
    }

    fn phase(&self, at: usize) -> bool {
        let (_, members) = self.object(at).unwrap();
        let last = members.iter().rev().find(|(key, _)| key == "ph");
        last.is_some_and(|&(_, value)| self.text[value] == b'"')
    }

    fn say(&mut self, line: String) {
        self.lines.push(line);
    }

    /// The place of the next event, after a region.
    fn damage(&mut self, start: usize, from: usize, fail: Option<Fail>) -> Option<usize> {
        let first = from + usize::from(fail.is_some());
        let next = (first..self.text.len()).find(|&at| self.is_event(at));
        let size = next.unwrap_or(self.text.len()) - start;
        let is_cut = next.is_none() && fail == Some(Fail::Cut);
        self.say(format!("{start} {} {size}", if is_cut { "cut" } else { "damage" }));
        next
    }

    fn item(&mut self, at: usize) -> Option<usize> {
        match self.limited(at, at) {
            Ok(end) => {
                let kind = if self.text[at] == b'{' { "event" } else { "no event" };
                let text = String::from_utf8_lossy(&self.text[at..end]).into_owned();
                self.say(format!("{at} {kind} {text}"));
                Some(end)
            }
            Err((_, fail)) => self.damage(at, at, Some(fail)),
        }
    }

    fn run(mut self) -> Vec<String> {
        let nothing =
            |text: &[u8]| text.iter().take_while(|byte| b" \n\r\t\0".contains(byte)).count();
        let bom = if self.text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let begin = bom + nothing(&self.text[bom..]);
        let is_object = self.text.get(begin) == Some(&b'{') && !self.is_lines(begin);
        let is_empty = begin == self.text.len();
        let has_events = match is_object {
            true => self.members(begin + 1),
            false => {
                let mut at = Some(begin);
                while let Some(from) = at {
                    let skipped = |byte: &&u8| b" \n\r\t\0,[]".contains(byte);
                    let from = from + self.text[from..].iter().take_while(skipped).count();
                    at = if from < self.text.len() { self.item(from) } else { None };
                }
                !is_empty
            }
        };
        let is_array = !is_object && !is_empty;
        self.say(format!("array {is_array} events {has_events}"));
        self.lines
    }

    fn is_lines(&self, at: usize) -> bool {
        let Ok((end, members)) = self.object(at) else { return false };
        let is_list =
            |(key, value): &(String, usize)| key == "traceEvents" && self.text[*value] == b'[';
        // The first bytes of a larger object tell nothing.
        end - at <= self.limit && !members.iter().any(is_list) && self.phase(at)
    }

    /// Reads the outer object. The answer is whether there was a list of events.
    fn members(&mut self, begin: usize) -> bool {
        let mut has_events = false;
        let (mut at, mut is_after, mut in_list) = (begin, false, false);
        loop {
            if in_list {
                let skipped = |byte: &&u8| b" \n\r\t,".contains(byte);
                at += self.text[at..].iter().take_while(skipped).count();
            } else {
                at = self.white(at);
            }
            let Some(&byte) = self.text.get(at) else {
                self.say(format!("{at} cut 0"));
                return has_events;
            };
            let next = match (byte, in_list, is_after) {
                (b']', true, _) => {
                    (in_list, is_after) = (false, true);
                    at += 1;
                    continue;
                }
                (_, true, _) => self.item(at),
                (b',', _, true) => {
                    is_after = false;
                    at += 1;
                    continue;
                }
                (b'}', _, _) => {
                    self.trailing(at + 1);
                    return has_events;
                }
                (b'"', _, false) => match self.member(at) {
                    Ok((end, true)) => {
                        (at, in_list, has_events) = (end, true, true);
                        continue;
                    }
                    Ok((end, false)) => {
                        (at, is_after) = (end, true);
                        continue;
                    }
                    Err((from, fail)) => self.damage(at, from, Some(fail)),
                },
                _ => self.damage(at, at, None),
            };
            let Some(next) = next else { return has_events };
            (at, in_list, has_events) = (next, true, true);
        }
    }

    fn trailing(&mut self, at: usize) {
        let nothing = |byte: &&u8| b" \n\r\t\0".contains(byte);
        let at = at + self.text[at..].iter().take_while(nothing).count();
        if at < self.text.len() {
            self.say(format!("{at} trailing {}", self.text.len() - at));
        }
    }

    /// The end of a member, and whether its list of events begins there.
    fn member(&mut self, at: usize) -> Result<(usize, bool), (usize, Fail)> {
        let here = |(_, fail)| (at, fail);
        let near = |place: usize| {
            if place - at < self.limit { Ok(place) } else { Err((at, Fail::TooLarge)) }
        };
        let end = self.limited(at, at).map_err(here)?;
        let colon = near(self.white(end))?;
        if self.byte(colon).map_err(here)? != b':' {
            return Err((at, Fail::Invalid));
        }
        let value = near(self.white(colon + 1))?;
        let first = self.byte(value).map_err(here)?;
        let key = unescape(&self.text[at + 1..end - 1]).into_owned();
        if key == "traceEvents" && first == b'[' {
            return Ok((value + 1, true));
        }
        match (self.limited(value, at), self.value(value)) {
            (Ok(end), _) => {
                let text = String::from_utf8_lossy(&self.text[value..end]).into_owned();
                self.say(format!("{at} member {} {key:?} {text}", end - at));
                Ok((end, false))
            }
            (Err((_, Fail::TooLarge)), Ok(end)) => {
                self.say(format!("{at} member {} {key:?} large", end - at));
                Ok((end, false))
            }
            (Err((_, Fail::TooLarge)), Err(late)) => Err(late),
            (Err((_, fail)), _) => Err((at, fail)),
        }
    }
}

fn model(text: &[u8], limit: usize) -> Vec<String> {
    Model { text, limit, lines: Vec::new() }.run()
}

/// Whatever the sizes of reads are, the pieces are those of the model.
fn agrees(text: &[u8], limit: usize, sizes: u64) {
    let expected = model(text, limit);
    let shown = String::from_utf8_lossy(text);
    assert_eq!(lines_of(JsonPieces::with_limit(text, limit)), expected, "{shown}");
    let slowly = Slowly { rest: text, sizes };
    assert_eq!(lines_of(JsonPieces::with_limit(slowly, limit)), expected, "{shown}");
}

fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "null",
            "true",
            "false",
            "NaN",
            "Infinity",
            "-Infinity",
            "007",
            "+1",
            ".5",
            "5.",
            "-0",
            "1e5",
            "-.5E-3",
            "18446744073709551616",
            "1750244461563845.123",
            "\"\"",
            "\"a\"",
            "\"a\tb\"",
            "\"\\ud83d\\ude00\"",
            "\"\\q\\\\\"",
            "\"{\"",
            "\"{\\\"ph\\\":\\\"X\\\"}\"",
            "\"ph\"",
            "\"]}\"",
        ])
        .prop_map(str::to_owned),
        "\"[a-z{}\\[\\],: ]{0,8}\"",
    ]
}

fn key() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["ph", "ph", "ts", "args", "traceEvents", "{", "a"])
}

fn space() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["", "", "", " ", "\n"])
}

fn value() -> impl Strategy<Value = String> {
    scalar().prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            list(inner.clone()),
            object(prop::collection::vec((key().prop_map(str::to_owned), inner), 0..4)),
        ]
    })
}

fn list(items: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    (prop::collection::vec(items, 0..4), space(), prop::bool::ANY).prop_map(
        |(items, space, comma)| {
            let end = if comma && !items.is_empty() { "," } else { "" };
            format!("[{space}{}{end}{space}]", items.join(","))
        },
    )
}

fn object(members: impl Strategy<Value = Vec<(String, String)>>) -> impl Strategy<Value = String> {
    (members, space(), prop::bool::ANY).prop_map(|(members, space, comma)| {
        let end = if comma && !members.is_empty() { "," } else { "" };
        let members = members.iter().map(|(key, value)| format!("\"{key}\"{space}:{space}{value}"));
        format!("{{{space}{}{space}{end}}}", members.collect::<Vec<_>>().join(","))
    })
}

fn event() -> impl Strategy<Value = String> {
    let phase = prop::sample::select(vec!["\"X\"", "\"i\"", "\"\"", "1"]);
    let members = prop::collection::vec((key().prop_map(str::to_owned), value()), 0..3);
    let members = (phase, members)
        .prop_map(|(phase, members)| [vec![("ph".to_owned(), phase.to_owned())], members].concat());
    object(members)
}

fn events() -> impl Strategy<Value = String> {
    let separator = prop::sample::select(vec![",", ",\n", "", ",,", " ", ",[", "]\n["]);
    let item = prop_oneof![4 => event(), 1 => value()];
    prop::collection::vec((item, separator), 0..6).prop_map(|items| {
        items.into_iter().flat_map(|(item, end)| [item, end.to_owned()]).collect()
    })
}

fn document() -> impl Strategy<Value = String> {
    let member = (key(), value()).prop_map(|(key, value)| format!("\"{key}\":{value},"));
    let list = events().prop_map(|events| format!("\"traceEvents\":[{events}],"));
    let members = prop::collection::vec(prop_oneof![member, list], 0..4);
    let end = prop::sample::select(vec!["}", "}", "}\n\0", "} {", ""]);
    prop_oneof![
        (space(), events(), prop::bool::ANY).prop_map(|(space, events, end)| format!(
            "{space}[{events}{}",
            if end { "]" } else { "" }
        )),
        events(),
        (members, end).prop_map(|(members, end)| format!("{{{}{end}", members.concat())),
    ]
}

/// A change of the text: a byte removed, put in or replaced, or the end cut off.
type Change = (u8, prop::sample::Index, u8);

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let byte = prop::sample::select(b"{}[]\",:\\{\"".to_vec());
    prop::collection::vec((0..13_u8, any::<prop::sample::Index>(), byte), 0..5)
}

fn changed(text: String, changes: &[Change]) -> Vec<u8> {
    let mut text = text.into_bytes();
    for (kind, place, byte) in changes {
        let at = place.index(text.len() + 1);
        match kind {
            0..4 => text.insert(at, *byte),
            12 => text.truncate(at),
            _ if at == text.len() => {}
            4..8 => text[at] = *byte,
            _ => drop(text.remove(at)),
        }
    }
    text
}

fn cases() -> ProptestConfig {
    ProptestConfig { cases: 4000, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn js3_pieces_of_a_valid_text_do_not_depend_on_reads(text in document(), sizes: u64) {
        agrees(text.as_bytes(), LIMIT, sizes);
    }

    #[test]
    fn js4_damaged_texts_are_read_as_the_model_says(
        text in document(), changes in changes(), sizes: u64,
    ) {
        agrees(&changed(text, &changes), LIMIT, sizes);
    }

    #[test]
    fn js4_the_limit_is_as_in_the_model(
        text in document(), changes in changes(), limit in 1..80_usize, sizes: u64,
    ) {
        agrees(&changed(text, &changes), limit, sizes);
    }

    #[test]
    fn js4_texts_of_signs_are_read_as_the_model_says(
        parts in prop::collection::vec(prop::sample::select(vec![
            "{", "}", "[", "]", "\"", "\\", ":", ",", "1", "\"ph\":\"\"", "{\"ph\":\"\"", "\"a\":", "{\"a\":", "{\"ph\":\"x\"}",
            "\"traceEvents\":[",
        ]), 0..40),
        limit in 1..200_usize,
        sizes: u64,
    ) {
        agrees(parts.concat().as_bytes(), limit, sizes);
    }
}
