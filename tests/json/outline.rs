//! The events, the other members and the damage of a file, for the model (JS1 to JS4, JS8).

use super::text::{Fault, Node, Reader};

/// A part of a file that makes a row of `packet`.
#[derive(Debug)]
pub enum Item {
    Event(Node),
    /// With its key, from the key's quote on.
    Member(String, usize, Node),
    /// A value between events.
    NoEvent(Node),
}

/// A file as it is read from its beginning to its end.
#[derive(Debug, Default)]
pub struct Outline {
    pub items: Vec<Item>,
    /// Codes of `import_log` and their offsets.
    pub log: Vec<(&'static str, usize)>,
}

impl Outline {
    pub fn of(bytes: &[u8]) -> Outline {
        let bom = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let mut reader = Reader::new(bytes, bom);
        reader.skip(b" \t\r\n\0");
        let mut outline = Outline::default();
        if is_a_list(&mut Reader::new(bytes, reader.at)) {
            outline.events(&mut reader, true);
        } else {
            outline.outer(&mut reader);
        }
        outline
    }

    /// The outer object.
    fn outer(&mut self, reader: &mut Reader<'_>) {
        reader.at += 1;
        loop {
            reader.skip(b" \t\r\n,");
            let start = reader.at;
            match reader.peek() {
                None => return self.log.push(("json_cut", start)),
                Some(b'}') => {
                    reader.at += 1;
                    return self.trailing(reader);
                }
                _ => {}
            }
            let goes_on = match member(reader) {
                Ok(None) => self.events(reader, false),
                Ok(Some((key, value))) => {
                    self.items.push(Item::Member(key, start, value));
                    true
                }
                Err(fault) => self.damage(reader, start, fault) && self.events(reader, false),
            };
            if !goes_on {
                return;
            }
        }
    }

    /// JS2: nothing is read after the end.
    fn trailing(&mut self, reader: &mut Reader<'_>) {
        reader.skip(b" \t\r\n\0");
        if reader.peek().is_some() {
            self.log.push(("json_trailing_data", reader.at));
        }
    }

    /// The events to the end of their list; whether there is more to read.
    fn events(&mut self, reader: &mut Reader<'_>, is_outermost: bool) -> bool {
        loop {
            reader.skip(if is_outermost { b" \t\r\n,[]\0" } else { b" \t\r\n," });
            let start = reader.at;
            match reader.peek() {
                None if is_outermost => return false,
                None => {
                    self.log.push(("json_cut", start));
                    return false;
                }
                Some(b']') => {
                    reader.at += 1;
                    return true;
                }
                _ => {}
            }
            match reader.value() {
                Ok(node) if node.is_object() => self.items.push(Item::Event(node)),
                Ok(node) => {
                    self.log.push(("json_no_event", start));
                    self.items.push(Item::NoEvent(node));
                }
                Err(fault) => {
                    if !self.damage(reader, start, fault) {
                        return false;
                    }
                }
            }
        }
    }

    /// JS4: goes on at the next whole event, if there is one.
    fn damage(&mut self, reader: &mut Reader<'_>, start: usize, fault: Fault) -> bool {
        let is_event = |at: &usize| {
            let mut there = Reader::new(reader.bytes, *at);
            there.peek() == Some(b'{')
                && there
                    .value()
                    .is_ok_and(|node| node.get("ph").is_some_and(|ph| ph.text().is_some()))
        };
        let next = (start + 1..reader.bytes.len()).find(is_event);
        let is_cut = next.is_none() && fault == Fault::Cut;
        self.log.push((if is_cut { "json_cut" } else { "json_damaged" }, start));
        reader.at = next.unwrap_or(reader.bytes.len());
        next.is_some()
    }
}

/// A list of events, or one event after the other.
fn is_a_list(reader: &mut Reader<'_>) -> bool {
    if reader.peek() == Some(b'[') {
        return true;
    }
    let first = reader.value();
    first.is_ok_and(|first| {
        first.get("ph").is_some_and(|ph| ph.text().is_some()) && first.get("traceEvents").is_none()
    })
}

/// A member of the outer object; nothing for the list of events, at whose first value the reader is.
fn member(reader: &mut Reader<'_>) -> Result<Option<(String, Node)>, Fault> {
    let key = reader.string()?;
    reader.space();
    reader.expect(b':')?;
    reader.space();
    if key == "traceEvents" && reader.peek() == Some(b'[') {
        reader.at += 1;
        return Ok(None);
    }
    Ok(Some((key, reader.value()?)))
}
