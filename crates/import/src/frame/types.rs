//! Which types of packets readers take.

use std::collections::BTreeMap;

use timebase_trace::wire::packet::PacketType;

/// Packets that tell of the recording and not of what was recorded, so that nobody misses a table:
/// its configuration, its statistics, marks for those who synchronize, and what started it.
const OF_THE_RECORDING: [u32; 4] = [33, 35, 36, 46];

/// How many packets have a reader, and how many have a row and nothing else.
#[derive(Debug, Default)]
pub(crate) struct PacketTypes {
    /// How many there are that a reader takes.
    pub read: u64,
    /// How many there are that none takes, by their type.
    unread: BTreeMap<u32, u64>,
}

impl PacketTypes {
    /// A packet has a reader.
    #[inline]
    pub fn read(&mut self, packet_type: Option<PacketType>) {
        self.read += u64::from(counted(packet_type).is_some());
    }

    /// A packet has none.
    #[inline]
    pub fn unread(&mut self, packet_type: Option<PacketType>) {
        if let Some(PacketType(number)) = counted(packet_type) {
            *self.unread.entry(number).or_default() += 1;
        }
    }

    /// How many packets of each type only have a row of their own.
    pub fn all_unread(&self) -> BTreeMap<String, u64> {
        let name = |number| match PacketType(number).name() {
            Some(name) => name.to_owned(),
            None => number.to_string(),
        };
        let unread = self.unread.iter();
        unread
            .map(|(&number, &count)| (name(number), count))
            .collect()
    }
}

#[inline]
fn counted(packet_type: Option<PacketType>) -> Option<PacketType> {
    packet_type.filter(|PacketType(number)| !OF_THE_RECORDING.contains(number))
}
