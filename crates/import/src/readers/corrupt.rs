//! The reasons why a payload is unreadable.

use timebase_descriptor::field::{Fields, Malformed};

/// The reason why a payload is unreadable (rule F7).
#[derive(Debug, thiserror::Error)]
pub(crate) enum Corrupt {
    #[error("{0}")]
    Packet(#[from] Malformed),
    #[error("{0}")]
    Message(#[from] prost::DecodeError),
    #[error("it has {0} bytes; more than {LARGEST} are kept but not read")]
    TooLarge(usize),
    #[error("it has more than {0} {1}")]
    TooMany(usize, &'static str),
}

/// A larger packet has only a row. Reading a payload takes up to thirty times its size in memory, and no
/// buffer of a recorder has a packet of this size.
const LARGEST: usize = 32 << 20;

impl Corrupt {
    /// Whether the bytes are damaged; otherwise the payload is too large.
    pub fn is_damage(&self) -> bool {
        match self {
            Corrupt::Packet(_) | Corrupt::Message(_) => true,
            Corrupt::TooLarge(_) | Corrupt::TooMany(..) => false,
        }
    }

    /// Fails if a packet is too large to be read.
    pub fn size(packet: &[u8]) -> Result<(), Corrupt> {
        match packet.len() {
            0..=LARGEST => Ok(()),
            size => Err(Corrupt::TooLarge(size)),
        }
    }

    /// Fails if a message repeats a field too often, before all of it is in memory at once.
    pub fn count(message: &[u8], field: u32, most: usize, of: &'static str) -> Result<(), Corrupt> {
        // A field has at least two bytes.
        if message.len() / 2 <= most {
            return Ok(());
        }
        let mut count = 0;
        let mut fields = Fields::new(message);
        while let Some((number, _)) = fields.next()? {
            count += usize::from(number == field);
        }
        match count <= most {
            true => Ok(()),
            false => Err(Corrupt::TooMany(most, of)),
        }
    }
}
