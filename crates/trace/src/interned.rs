//! Interned data: packets of a sequence refer to it by number instead of repeating it.

mod entries;

use std::collections::HashMap;

use timebase_descriptor::field::{Fields, Malformed, Value};
use timebase_schema::fields::interned_string as entry;

use self::entries::{Common, Entries, KeptEntry, Key};

/// The part of a sequence between two clearings of its incremental state (rule S2). In it, a number
/// has one meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Interval {
    /// The sequence, by the caller's number.
    pub sequence: u32,
    /// The number of earlier clearings of its state.
    pub cleared: u32,
}

/// The lifetime of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// As long as their interval lasts: for code that looks them up together with the packet that
    /// refers to them.
    Interval,
    /// To the end of the trace: for code that looks them up when the events of all sequences are in
    /// order.
    Trace,
}

/// The entries of the requested fields of `InternedData`; all other fields are skipped.
///
/// ```
/// use timebase_trace::{Interned, Interval, Kept};
///
/// let mut interned = Interned::new(&[(2, Kept::Interval)]); // event_names
/// let interval = Interval { sequence: 7, cleared: 1 };
/// interned.add(interval, b"\x12\x08\x08\x05\x12\x04draw")?; // 5 is "draw"
///
/// assert_eq!(interned.get(interval, 2, 5), Some(&b"\x08\x05\x12\x04draw"[..]));
/// assert_eq!(interned.get(interval, 2, 6), None);
/// assert_eq!(interned.get(Interval { cleared: 2, ..interval }, 2, 5), None);
/// # Ok::<(), timebase_descriptor::field::Malformed>(())
/// ```
#[derive(Debug, Default)]
pub struct Interned {
    fields: Vec<(u32, Kept)>,
    /// The current interval of each sequence, by the caller's number.
    current: Vec<Current>,
    lasting: HashMap<Interval, Entries>,
    common: Common,
    /// The number of serialized `InternedData` that were added.
    added: u64,
}

/// A current interval.
#[derive(Debug, Default)]
struct Current {
    cleared: u32,
    /// Whether its entries stay after its end.
    lasts: bool,
    entries: Entries,
}

impl Interned {
    /// Keeps entries of these fields of `InternedData`. Sequences should have the numbers 0, 1, 2 …
    /// because each smaller number takes some memory, too.
    pub fn new(fields: &[(u32, Kept)]) -> Self {
        Interned { fields: fields.to_vec(), ..Interned::default() }
    }

    /// Adds a serialized `InternedData`. If a number has several entries in an interval, the first
    /// one counts. Entries without a number are skipped; returns their count.
    ///
    /// # Errors
    ///
    /// [`Malformed`] if it cannot be read; none of it is added then.
    pub fn add(&mut self, interval: Interval, data: &[u8]) -> Result<u32, Malformed> {
        if self.fields.is_empty() {
            return Ok(0);
        }
        let since = self.added;
        self.added += 1;
        let mut entries = Vec::new();
        let nameless = self.entries(data, |kept, key, entry| entries.push((kept, key, entry)))?;
        for (kept, key, entry) in entries {
            let mut common = std::mem::take(&mut self.common);
            let known = match kept {
                Kept::Interval => self.in_interval(interval),
                Kept::Trace => self.lasting.entry(interval).or_default(),
            };
            known.add(key, since, entry, &mut common);
            self.common = common;
        }
        Ok(nameless)
    }

    /// Checks whether a serialized `InternedData` could be added, without adding it.
    ///
    /// # Errors
    ///
    /// Those of [`Interned::add`].
    pub fn check(&self, data: &[u8]) -> Result<(), Malformed> {
        self.entries(data, |_, _, _| {}).map(drop)
    }

    /// Passes on the requested entries; returns how many have no number.
    fn entries<'d>(
        &self,
        data: &'d [u8],
        mut each: impl FnMut(Kept, (u32, u64), &'d [u8]),
    ) -> Result<u32, Malformed> {
        if self.fields.is_empty() {
            return Ok(0);
        }
        let mut nameless = 0;
        let mut fields = Fields::new(data);
        while let Some((number, value)) = fields.next()? {
            let wanted = self.fields.iter().find(|(field, _)| *field == number);
            if let (Some(&(_, kept)), Value::Bytes(entry)) = (wanted, value) {
                match iid(entry)? {
                    Some(iid) => each(kept, (number, iid), entry),
                    None => nameless += 1,
                }
            }
        }
        Ok(nameless)
    }

    fn in_interval(&mut self, interval: Interval) -> &mut Entries {
        let Interval { sequence, cleared } = interval;
        let place = sequence as usize;
        if self.current.len() <= place {
            self.current.resize_with(place + 1, Current::default);
        }
        let current = &mut self.current[place];
        if current.cleared != cleared {
            let entries = std::mem::take(&mut current.entries);
            if current.lasts {
                let over = Interval { sequence, cleared: current.cleared };
                self.lasting.entry(over).or_default().append(entries);
            } else {
                // The next interval of the sequence mostly has as many.
                current.entries = entries.cleared();
            }
            current.cleared = cleared;
            current.lasts = false;
        }
        &mut current.entries
    }

    /// Keeps all entries of an interval to the end of the trace, including future ones. Returns the
    /// argument for [`Interned::get_until`] that selects the present ones.
    ///
    /// ```
    /// use timebase_trace::{Interned, Interval, Kept};
    ///
    /// let mut interned = Interned::new(&[(2, Kept::Interval)]);
    /// let interval = Interval { sequence: 7, cleared: 1 };
    /// interned.add(interval, b"\x12\x08\x08\x05\x12\x04draw")?;
    /// let now = interned.keep(interval);
    /// interned.add(interval, b"\x12\x08\x08\x06\x12\x04swap")?;
    /// interned.add(Interval { cleared: 2, ..interval }, b"")?;
    ///
    /// assert!(interned.get_until(interval, 2, 5, now).is_some());
    /// assert!(interned.get(interval, 2, 6).is_some());
    /// assert_eq!(interned.get_until(interval, 2, 6, now), None);
    /// # Ok::<(), timebase_descriptor::field::Malformed>(())
    /// ```
    pub fn keep(&mut self, interval: Interval) -> u64 {
        self.in_interval(interval);
        if let Some(current) = self.current.get_mut(interval.sequence as usize) {
            current.lasts = true;
        }
        self.added
    }

    /// Drops the entries of an interval that [`Interned::keep`] kept: nobody refers to them any more.
    pub fn forget(&mut self, interval: Interval) {
        self.lasting.remove(&interval);
        if let Some(current) = self.current.get_mut(interval.sequence as usize)
            && current.cleared == interval.cleared
        {
            current.entries = Entries::default();
        }
    }

    /// Drops the entries that are kept only as long as their interval lasts: there are no more
    /// packets.
    ///
    /// ```
    /// use timebase_trace::{Interned, Interval, Kept};
    ///
    /// let mut interned = Interned::new(&[(2, Kept::Interval)]);
    /// let (one, other) = (Interval { sequence: 7, cleared: 1 }, Interval { sequence: 8, cleared: 1 });
    /// interned.add(one, b"\x12\x08\x08\x05\x12\x04draw")?;
    /// interned.add(other, b"\x12\x08\x08\x05\x12\x04swap")?;
    /// interned.keep(other);
    /// interned.end_intervals();
    ///
    /// assert_eq!(interned.get(one, 2, 5), None);
    /// assert!(interned.get(other, 2, 5).is_some());
    /// # Ok::<(), timebase_descriptor::field::Malformed>(())
    /// ```
    pub fn end_intervals(&mut self) {
        for (sequence, current) in (0..).zip(std::mem::take(&mut self.current)) {
            if current.lasts {
                let Current { cleared, .. } = current;
                let over = self.lasting.entry(Interval { sequence, cleared });
                over.or_default().append(current.entries);
            }
        }
    }

    /// The serialized entry of a number. If a field is only kept as long as its interval lasts, the
    /// entry disappears with the interval, unless [`Interned::keep`] keeps the interval.
    pub fn get(&self, interval: Interval, field: u32, iid: u64) -> Option<&[u8]> {
        self.get_until(interval, field, iid, u64::MAX)
    }

    /// The serialized entry that a number had at some time (see [`Interned::keep`]).
    pub fn get_until(&self, interval: Interval, field: u32, iid: u64, until: u64) -> Option<&[u8]> {
        let found = self.find(interval, (field, iid))?;
        found.entry(&self.common).filter(|_| found.since < until)
    }

    /// The caller's note of a number's entry, 0 if there is none. It is faster than [`Interned::get`].
    ///
    /// ```
    /// use timebase_trace::{Interned, Interval, Kept};
    ///
    /// let mut interned = Interned::new(&[(2, Kept::Interval)]);
    /// let interval = Interval { sequence: 7, cleared: 1 };
    /// let entry = b"\x08\x05\x12\x04draw";
    /// interned.add(interval, &[b"\x12\x08", &entry[..]].concat())?;
    ///
    /// assert_eq!(interned.note_of(interval, 2, 5), Some(0));
    /// interned.note(interval, 2, 5, 34);
    /// assert_eq!(interned.note_of(interval, 2, 5), Some(34));
    /// assert_eq!(interned.note_of(interval, 2, 6), None);
    /// # Ok::<(), timebase_descriptor::field::Malformed>(())
    /// ```
    #[inline]
    pub fn note_of(&self, interval: Interval, field: u32, iid: u64) -> Option<u32> {
        let key = (field, iid);
        match self.current(interval).and_then(|entries| entries.note_of(key)) {
            None if !self.lasting.is_empty() => self.lasting.get(&interval)?.note_of(key),
            known => known,
        }
    }

    /// Sets the caller's note of an entry of the current interval, for example the number that it
    /// has for the entry's text.
    pub fn note(&mut self, interval: Interval, field: u32, iid: u64, note: u32) {
        let current = self.current.get_mut(interval.sequence as usize);
        if let Some(current) = current.filter(|current| current.cleared == interval.cleared) {
            current.entries.note((field, iid), note);
        }
    }

    #[inline]
    fn find(&self, interval: Interval, key: Key) -> Option<KeptEntry<'_>> {
        match self.current(interval).and_then(|entries| entries.get(key)) {
            None if !self.lasting.is_empty() => self.lasting.get(&interval)?.get(key),
            known => known,
        }
    }

    /// The entries of an interval that is not over.
    #[inline]
    fn current(&self, interval: Interval) -> Option<&Entries> {
        let current = self.current.get(interval.sequence as usize)?;
        (current.cleared == interval.cleared).then_some(&current.entries)
    }
}

/// The number of an entry, which is the first field of each.
fn iid(entry: &[u8]) -> Result<Option<u64>, Malformed> {
    let mut iid = None;
    let mut fields = Fields::new(entry);
    while let Some((number, value)) = fields.next()? {
        if let (entry::IID, Value::Varint(value)) = (number, value) {
            iid = Some(value);
        }
    }
    Ok(iid)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const NAMES: u32 = 2;
    const SYMBOLS: u32 = 16;

    fn entry(field: u8, iid: u8, text: &[u8]) -> Vec<u8> {
        let text = [&[0x12, text.len() as u8], text].concat();
        let entry = [&[0x08, iid][..], &text].concat();
        let mut tag = Vec::new();
        put_varint(u64::from(field) << 3 | 2, &mut tag);
        [&tag[..], &[entry.len() as u8], &entry].concat()
    }

    fn put_varint(mut value: u64, out: &mut Vec<u8>) {
        while value >= 0x80 {
            out.push(value as u8 | 0x80);
            value >>= 7;
        }
        out.push(value as u8);
    }

    fn at(sequence: u32, cleared: u32) -> Interval {
        Interval { sequence, cleared }
    }

    #[test]
    fn s2_a_number_means_one_thing_in_an_interval() {
        let mut interned = Interned::new(&[(NAMES, Kept::Interval), (SYMBOLS, Kept::Trace)]);
        for (interval, text) in [(at(1, 0), b"a"), (at(2, 0), b"b")] {
            for field in [NAMES, SYMBOLS] {
                interned.add(interval, &entry(field as u8, 5, text)).unwrap();
                // The first one counts.
                interned.add(interval, &entry(field as u8, 5, b"late")).unwrap();
            }
        }
        let text = |interned: &Interned, interval, field| {
            interned.get(interval, field, 5).map(|entry| entry[4])
        };
        for field in [NAMES, SYMBOLS] {
            assert_eq!(text(&interned, at(1, 0), field), Some(b'a'));
            assert_eq!(text(&interned, at(2, 0), field), Some(b'b'));
            assert_eq!(text(&interned, at(1, 1), field), None);
        }
        for field in [NAMES, SYMBOLS] {
            interned.add(at(1, 1), &entry(field as u8, 5, b"c")).unwrap();
            assert_eq!(text(&interned, at(1, 1), field), Some(b'c'));
            assert_eq!(text(&interned, at(2, 0), field), Some(b'b'));
        }
        assert_eq!(text(&interned, at(1, 0), NAMES), None);
        assert_eq!(text(&interned, at(1, 0), SYMBOLS), Some(b'a'));
    }

    #[test]
    fn an_interval_that_is_over_leaves_nothing_unless_it_is_kept() {
        let mut interned = Interned::new(&[(NAMES, Kept::Interval), (SYMBOLS, Kept::Trace)]);
        for iid in 1..20 {
            interned.add(at(1, 0), &entry(2, iid, b"a")).unwrap();
        }
        interned.add(at(1, 0), &entry(16, 3, b"b")).unwrap();
        interned.note(at(1, 0), NAMES, 3, 7);
        interned.add(at(1, 1), &entry(2, 3, b"c")).unwrap();
        assert_eq!(interned.get(at(1, 0), NAMES, 3), None);
        assert_eq!(interned.note_of(at(1, 1), NAMES, 3), Some(0));
        assert_eq!(interned.get(at(1, 1), NAMES, 4), None);
        let now = interned.keep(at(1, 1));
        interned.add(at(1, 1), &entry(2, 5, b"d")).unwrap();
        interned.add(at(1, 2), &entry(2, 3, b"e")).unwrap();
        interned.end_intervals();
        assert!(interned.get_until(at(1, 1), NAMES, 3, now).is_some());
        assert_eq!(interned.get_until(at(1, 1), NAMES, 5, now), None);
        assert!(interned.get(at(1, 1), NAMES, 5).is_some());
        assert_eq!(interned.get(at(1, 2), NAMES, 3), None);
        assert!(interned.get(at(1, 0), SYMBOLS, 3).is_some());
    }

    #[test]
    fn what_cannot_be_read_adds_nothing() {
        let mut interned = Interned::new(&[(NAMES, Kept::Interval)]);
        let cut = [entry(2, 5, b"a"), vec![0x12, 9]].concat();
        assert!(interned.add(at(1, 0), &cut).is_err());
        assert_eq!(interned.get(at(1, 0), NAMES, 5), None);
        // Nobody requests this field, and this entry has no number.
        interned.add(at(1, 0), &entry(3, 5, b"a")).unwrap();
        interned.add(at(1, 0), &[0x12, 2, 0x12, 0]).unwrap();
        assert_eq!(interned.get(at(1, 0), 3, 5), None);
    }
}
