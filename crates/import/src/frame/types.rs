//! The types of packets that have a reader, and those that have none.

use std::collections::BTreeMap;

use timebase_trace::wire::packet::PacketType;

/// Counts the packets that have a reader, and those that have only a row.
#[derive(Debug, Default)]
pub(crate) struct PacketTypes {
    /// Packets with a reader; those about the recording itself do not count.
    pub read: u64,
    /// Packets without a reader, by their type.
    unread: BTreeMap<u32, u64>,
}

impl PacketTypes {
    /// Counts a packet without a reader. Synchronization marks, which the frame reads, do not count.
    #[inline]
    pub fn unread(&mut self, packet_type: Option<PacketType>) {
        let unread = packet_type.filter(|kind| *kind != PacketType::SYNCHRONIZATION_MARKER);
        if let Some(PacketType(number)) = unread {
            *self.unread.entry(number).or_default() += 1;
        }
    }

    /// Whether the trace has packets of a type without a reader.
    pub fn has(&self, number: u32) -> bool {
        self.unread.contains_key(&number)
    }

    /// The number of packets without a reader, by the name of their type.
    pub fn all_unread(&self) -> BTreeMap<String, u64> {
        let name = |number| match PacketType(number).name() {
            Some(name) => name.to_owned(),
            None => number.to_string(),
        };
        let unread = self.unread.iter();
        unread.map(|(&number, &count)| (name(number), count)).collect()
    }
}
