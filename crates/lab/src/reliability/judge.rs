//! The packets of a copy that an import found, and those of its rows that are no packets.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::reliability::copy::Copy;
use crate::reliability::original::{Inner, Original, OriginalPacket, Start, varint};

/// A row of the table `packet`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PacketRow {
    /// The position of its bytes, or of its compressed packet's, as the row says.
    pub offset: usize,
    /// Their number, as the row says.
    pub size: usize,
    /// The type of its payload.
    pub kind: Option<String>,
    /// Its bytes.
    pub data: Vec<u8>,
}

/// The result of importing a copy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Packets that the damage did not touch, including each one inside compressed packets.
    pub intact: usize,
    /// Untouched packets without a correct row.
    pub lost: Vec<Lost>,
    /// The number of rows.
    pub rows: usize,
    /// Rows that were no packets.
    pub invented: Vec<Invented>,
}

/// An untouched packet without a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// The position of its bytes, or of its compressed packet's, in the copy.
    pub at: usize,
    /// Their position in the trace.
    pub was_at: usize,
    /// Its index inside a compressed packet.
    pub inside: Option<usize>,
    /// Its size in bytes.
    pub size: usize,
    /// The type of its payload.
    pub kind: Option<String>,
}

/// A row that was no packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invented {
    /// Its index among the rows, in the order of their ids.
    pub row: usize,
    /// The reason.
    pub why: &'static str,
}

impl Verdict {
    /// The share of the intact packets that were kept; none if there are no intact packets.
    pub fn kept(&self) -> Option<f64> {
        let kept = self.intact - self.lost.len().min(self.intact);
        (self.intact > 0).then(|| kept as f64 / self.intact as f64)
    }
}

/// Compares the rows of a copy, in the order of their ids, with its packets.
///
/// ```
/// use timebase_lab::reliability::{Copy, Original, PacketRow, judge};
///
/// let original = Original::read("x", vec![0x0a, 2, 0x58, 1, 0x0a, 2, 0x58, 2])?;
/// let mut copy = Copy::new();
/// copy.keep(&original.bytes, 1..8); // the first tag is missing
/// let rows = [PacketRow { offset: 5, size: 2, kind: None, data: vec![0x58, 2] }];
/// let verdict = judge(&original, &copy, &rows);
/// assert_eq!((verdict.kept(), verdict.invented.len()), (Some(1.0), 0));
/// # Ok::<(), timebase_lab::reliability::Error>(())
/// ```
pub fn judge(original: &Original, copy: &Copy, rows: &[PacketRow]) -> Verdict {
    let mut places: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, row) in rows.iter().enumerate() {
        places.entry(row.offset).or_default().push(index);
    }
    let mut judge =
        Judge { copy, rows, verdict: Verdict { rows: rows.len(), ..Verdict::default() } };
    for (at, packet) in intact(original, copy) {
        let here = places.remove(&at).unwrap_or_default();
        judge.intact(at, packet, &here);
    }
    for (at, here) in places {
        judge.elsewhere(at, original, &here);
    }
    judge.verdict.invented.sort_by_key(|invented| invented.row);
    judge.verdict
}

/// The completely untouched packets, and the positions of their bytes in the copy, without tag and
/// length.
fn intact<'a>(original: &'a Original, copy: &Copy) -> Vec<(usize, &'a OriginalPacket)> {
    let packets = &original.packets;
    let mut intact = Vec::new();
    for (at, from) in copy.whole() {
        let first = packets.partition_point(|packet| packet.start < from.start);
        let packets = packets.get(first..).unwrap_or_default();
        let there = packets.iter().take_while(|packet| packet.data.end <= from.end);
        intact.extend(there.map(|packet| (at + packet.data.start - from.start, packet)));
    }
    intact
}

struct Judge<'a> {
    copy: &'a Copy,
    rows: &'a [PacketRow],
    verdict: Verdict,
}

impl Judge<'_> {
    fn invented(&mut self, rows: impl IntoIterator<Item = usize>, why: &'static str) {
        let invented = rows.into_iter().map(|row| Invented { row, why });
        self.verdict.invented.extend(invented);
    }

    fn row(&self, index: usize) -> Option<&PacketRow> {
        self.rows.get(index)
    }

    /// Whether a row has the bytes at the position that it names.
    fn is_of_its_place(&self, index: usize) -> bool {
        let there = |row: &PacketRow| {
            let bytes = self.copy.bytes.get(row.offset..)?;
            Some(row.size == row.data.len() && bytes.starts_with(&row.data))
        };
        self.row(index).and_then(there).unwrap_or(false)
    }

    /// An intact packet at `at`, and the rows with this offset.
    fn intact(&mut self, at: usize, packet: &OriginalPacket, here: &[usize]) {
        let lost = |inside: Option<usize>, size: usize, kind: &Option<String>| Lost {
            at,
            was_at: packet.data.start,
            inside,
            size,
            kind: kind.clone(),
        };
        let Some(inside) = &packet.inside else {
            self.verdict.intact += 1;
            let kept = here.first().is_some_and(|&index| {
                let is_it =
                    |row: &PacketRow| row.size == packet.data.len() && row.kind == packet.kind;
                self.row(index).is_some_and(is_it) && self.is_of_its_place(index)
            });
            if !kept {
                let lost = lost(None, packet.data.len(), &packet.kind);
                self.verdict.lost.push(lost);
            }
            self.plain(here);
            return;
        };
        self.verdict.intact += inside.len();
        let mut found = HashSet::new();
        let mut others = Vec::new();
        for (row, matching) in self.align(inside, here) {
            match matching {
                Match::Is(index) => {
                    found.insert(index);
                }
                _ => others.push(row),
            }
        }
        self.invented(others, "it is not in its compressed packet, which is intact");
        for (index, inner) in inside.iter().enumerate() {
            if !found.contains(&index) {
                let lost = lost(Some(index), inner.bytes.len(), &inner.kind);
                self.verdict.lost.push(lost);
            }
        }
    }

    /// Rows at places without an intact packet.
    fn elsewhere(&mut self, at: usize, original: &Original, here: &[usize]) {
        let sizes = here.iter().filter_map(|&index| Some(self.row(index)?.size));
        let Some(packet) = self.started_at(at, original, sizes.collect()) else {
            self.invented(here.iter().copied(), "no packet starts there");
            return;
        };
        let Some(inside) = &packet.inside else {
            self.plain(here);
            return;
        };
        // The compressed packet itself is its last row.
        let mut here = here.to_vec();
        if here.last().is_some_and(|&index| self.is_of_its_place(index)) {
            here.pop();
        }
        let aligned = self.align(inside, &here);
        let others = aligned.into_iter().filter(|(_, matching)| matches!(matching, Match::No));
        let others: Vec<usize> = others.map(|(row, _)| row).collect();
        self.invented(others, "nothing in its compressed packet starts there");
    }

    /// Rows at the place of a packet that is not compressed: one of them is the packet.
    fn plain(&mut self, here: &[usize]) {
        let Some((first, others)) = here.split_first() else {
            return;
        };
        if !self.is_of_its_place(*first) {
            self.invented([*first], "other bytes are there");
        }
        self.invented(others.iter().copied(), "it is there twice");
    }

    /// The packet that started at a position of the copy, or whose tag is before a row there, if
    /// any.
    fn started_at<'a>(
        &self,
        at: usize,
        original: &'a Original,
        sizes: Vec<usize>,
    ) -> Option<&'a OriginalPacket> {
        let data = self.copy.place(at);
        let found = data.and_then(|place| original.starting_at(Start::Data(place)));
        // If bytes just after the length are missing, only the tag shows this.
        let tags = (2..=11).filter_map(|header| at.checked_sub(header));
        let announced = |&tag: &usize| {
            let length = varint(&self.copy.bytes, tag + 1);
            self.copy.bytes.get(tag) == Some(&0x0a)
                && length.is_some_and(|(size, end)| {
                    end == at && sizes.iter().any(|&row| row as u64 == size)
                })
        };
        let mut tagged = tags
            .filter(announced)
            .filter_map(|tag| original.starting_at(Start::Tag(self.copy.place(tag)?)));
        found.or_else(|| tagged.next())
    }

    /// For each row of a compressed packet, the inner packet that it is.
    fn align(&self, inside: &[Inner], here: &[usize]) -> Vec<(usize, Match)> {
        let mut equal: HashMap<&[u8], Vec<usize>> = HashMap::new();
        for (index, inner) in inside.iter().enumerate() {
            equal.entry(&inner.bytes).or_default().push(index);
        }
        let starts: HashMap<usize, usize> =
            inside.iter().map(|inner| (inner.start, inner.data.start)).collect();
        let mut aligned = Vec::new();
        let (mut next, mut end) = (0, 0);
        for &index in here {
            let Some(row) = self.row(index) else { continue };
            let same = equal.get(row.data.as_slice()).map(Vec::as_slice);
            let same = same.filter(|_| row.size == row.data.len()).unwrap_or_default();
            let ahead = same.iter().find(|&&inner| inner >= next);
            let ahead = ahead.and_then(|&index| Some((index, inside.get(index)?)));
            let started = starts.get(&end);
            let data = started.copied().unwrap_or(end + header(row.size));
            end = data + row.size;
            let matching = match ahead {
                Some((index, inner)) => {
                    next = index + 1;
                    end = inner.data.end;
                    match inner.kind == row.kind {
                        true => Match::Is(index),
                        false => Match::Started,
                    }
                }
                None if started.is_some() || !same.is_empty() => Match::Started,
                None => Match::No,
            };
            aligned.push((index, matching));
        }
        aligned
    }
}

/// The relation of a row to the packets inside a compressed packet.
enum Match {
    /// It is this packet.
    Is(usize),
    /// It is a changed form of a packet.
    Started,
    /// It is no packet.
    No,
}

/// The size of the tag and the length of a packet of this size.
fn header(size: usize) -> usize {
    let bits = (usize::BITS - size.leading_zeros()).max(1);
    1 + bits.div_ceil(7) as usize
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::Write;

    /// Three packets of four bytes with their headers.
    fn three() -> Original {
        let trace = vec![0x0a, 2, 0x58, 1, 0x0a, 2, 0x58, 2, 0x0a, 2, 0x58, 3];
        Original::read("three", trace).unwrap()
    }

    fn row(offset: usize, data: &[u8]) -> PacketRow {
        PacketRow { offset, size: data.len(), kind: None, data: data.to_vec() }
    }

    fn kept(pieces: &[(usize, usize)], trace: &[u8]) -> Copy {
        let mut copy = Copy::new();
        for &(start, end) in pieces {
            copy.keep(trace, start..end);
        }
        copy
    }

    /// Intact, lost, invented.
    fn counts(verdict: &Verdict) -> (usize, usize, usize) {
        (verdict.intact, verdict.lost.len(), verdict.invented.len())
    }

    #[test]
    fn all_rows_of_an_undamaged_copy_are_packets_and_all_packets_rows() {
        let original = three();
        let copy = kept(&[(0, 12)], &original.bytes);
        let rows = [row(2, &[0x58, 1]), row(6, &[0x58, 2]), row(10, &[0x58, 3])];
        let verdict = judge(&original, &copy, &rows);
        assert_eq!(counts(&verdict), (3, 0, 0));
        assert_eq!((verdict.rows, verdict.kept()), (3, Some(1.0)));
    }

    #[test]
    fn what_is_missing_or_otherwise_is_lost() {
        let original = three();
        let copy = kept(&[(0, 12)], &original.bytes);
        let wrong_kind = PacketRow { kind: Some("corrupt".into()), ..row(6, &[0x58, 2]) };
        let rows = [wrong_kind, row(10, &[0x58, 9])];
        let verdict = judge(&original, &copy, &rows);
        assert_eq!(counts(&verdict), (3, 3, 1));
        assert_eq!(verdict.invented[0].why, "other bytes are there");
        assert_eq!(verdict.kept(), Some(0.0));
    }

    #[test]
    fn what_is_there_twice_or_starts_elsewhere_is_invented() {
        let original = three();
        let copy = kept(&[(0, 12)], &original.bytes);
        let all = [row(2, &[0x58, 1]), row(6, &[0x58, 2]), row(10, &[0x58, 3])];
        let twice = judge(&original, &copy, &[&all[..], &all[..1]].concat());
        assert_eq!(twice.invented, [Invented { row: 3, why: "it is there twice" }]);
        let shifted = judge(&original, &copy, &[&all[..], &[row(3, &[1, 0x0a])]].concat());
        assert_eq!(shifted.invented, [Invented { row: 3, why: "no packet starts there" }]);
        let beyond = judge(&original, &copy, &[&all[..], &[row(99, &[1])]].concat());
        assert_eq!(counts(&beyond), (3, 0, 1));
    }

    #[test]
    fn a_packet_that_is_damaged_may_be_a_row_or_not() {
        let original = three();
        // The second one lacks its last byte, and takes the next packet's tag instead.
        let copy = kept(&[(0, 7), (8, 12)], &original.bytes);
        let rows = [row(2, &[0x58, 1]), row(6, &[0x58, 0x0a])];
        assert_eq!(counts(&judge(&original, &copy, &rows)), (2, 1, 0));
        let rows = [row(2, &[0x58, 1]), row(9, &[0x58, 3])];
        assert_eq!(counts(&judge(&original, &copy, &rows)), (2, 0, 0));
        // All of its bytes are missing, except for its length.
        let copy = kept(&[(0, 6), (8, 12)], &original.bytes);
        let rows = [row(2, &[0x58, 1]), row(6, &[0x0a, 2])];
        assert_eq!(counts(&judge(&original, &copy, &rows)), (2, 1, 0));
    }

    #[test]
    fn a_packet_that_is_there_twice_is_two() {
        let original = three();
        let copy = kept(&[(0, 8), (4, 12)], &original.bytes);
        let rows = [row(2, &[0x58, 1]), row(6, &[0x58, 2]), row(10, &[0x58, 2])];
        let verdict = judge(&original, &copy, &rows);
        assert_eq!(counts(&verdict), (4, 1, 0));
        assert_eq!((verdict.lost[0].at, verdict.lost[0].was_at), (14, 10));
    }

    #[test]
    fn without_an_intact_packet_there_is_no_share() {
        let original = three();
        let verdict = judge(&original, &kept(&[(1, 3)], &original.bytes), &[]);
        assert_eq!((verdict.intact, verdict.kept()), (0, None));
    }

    /// A compressed packet with two inside, and the start of its bytes.
    fn compressed() -> Original {
        let inner = [0x0a, 2, 0x58, 1, 0x0a, 2, 0x58, 2];
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        zlib.write_all(&inner).unwrap();
        let zlib = zlib.finish().unwrap();
        let field = [&[0x92, 3, zlib.len() as u8][..], &zlib].concat();
        let trace = [&[0x0a, field.len() as u8][..], &field].concat();
        Original::read("compressed", trace).unwrap()
    }

    #[test]
    fn packets_inside_are_counted_one_by_one() {
        let original = compressed();
        let copy = kept(&[(0, original.bytes.len())], &original.bytes);
        let both = [row(2, &[0x58, 1]), row(2, &[0x58, 2])];
        assert_eq!(counts(&judge(&original, &copy, &both)), (2, 0, 0));
        assert_eq!(counts(&judge(&original, &copy, &both[1..])), (2, 1, 0));
        let twice = [&both[..], &both[..1]].concat();
        assert_eq!(counts(&judge(&original, &copy, &twice)), (2, 0, 1));
        let other = [row(2, &[0x58, 9])];
        assert_eq!(counts(&judge(&original, &copy, &other)), (2, 2, 1));
    }

    #[test]
    fn rows_of_a_damaged_compressed_packet_have_to_start_where_one_did() {
        let original = compressed();
        let last = original.bytes.len() - 1;
        let mut copy = kept(&[(0, last)], &original.bytes);
        copy.replace(&[0xff], last..last + 1);
        let damaged = |rows: &[PacketRow]| counts(&judge(&original, &copy, rows));
        assert_eq!(damaged(&[row(2, &[0x58, 1]), row(2, &[0x58, 9])]), (0, 0, 0));
        assert_eq!(damaged(&[row(2, &[0x58, 2])]), (0, 0, 0));
        assert_eq!(damaged(&[row(2, &[0x58, 1, 0, 0]), row(2, &[0x58, 9])]), (0, 0, 1));
        // The compressed packet itself, with the contents before its damage.
        let itself = row(2, copy.bytes.get(2..).unwrap());
        assert_eq!(damaged(&[row(2, &[0x58, 1]), itself.clone()]), (0, 0, 0));
        let both = [row(2, &[0x58, 1]), row(2, &[0x58, 2])];
        assert_eq!(damaged(&[&both[..], std::slice::from_ref(&itself)].concat()), (0, 0, 0));
        assert_eq!(damaged(&[&both[..], &[itself.clone(), itself]].concat()), (0, 0, 1));
    }

    #[test]
    fn headers_are_as_long_as_their_lengths() {
        let lengths = [0, 1, 127, 128, 16_383, 16_384].map(header);
        assert_eq!(lengths, [2, 2, 2, 3, 3, 4]);
    }
}
