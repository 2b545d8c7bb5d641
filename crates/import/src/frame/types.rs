//! The types of packets that have a reader, and those that have none.

use std::collections::BTreeMap;

use timebase_trace::wire::packet::PacketType;

/// Packets about the recording itself, for which nobody misses a table: its configuration, its statistics,
/// synchronization marks, and triggers.
const OF_THE_RECORDING: [u32; 4] = [33, 35, 36, 46];

/// Counts the packets that have a reader, and those that have only a row.
#[derive(Debug, Default)]
pub(crate) struct PacketTypes {
    /// Packets with a reader.
    pub read: u64,
    /// Packets without a reader, by their type.
    unread: BTreeMap<u32, u64>,
}

impl PacketTypes {
    /// Counts a packet with a reader.
    #[inline]
    pub fn read(&mut self, packet_type: Option<PacketType>) {
        self.read += u64::from(counted(packet_type).is_some());
    }

    /// Counts a packet without a reader.
    #[inline]
    pub fn unread(&mut self, packet_type: Option<PacketType>) {
        if let Some(PacketType(number)) = counted(packet_type) {
            *self.unread.entry(number).or_default() += 1;
        }
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

#[inline]
fn counted(packet_type: Option<PacketType>) -> Option<PacketType> {
    packet_type.filter(|PacketType(number)| !OF_THE_RECORDING.contains(number))
}
