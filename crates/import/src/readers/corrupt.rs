//! Why payloads cannot be read.

use timebase_descriptor::field::{Fields, Malformed};

/// Why a payload cannot be read (rule F7).
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

/// A packet of more bytes is a row, and nothing is made of its payload. What is made of one
/// takes up to some thirty times its bytes of memory; and no buffer of a recorder has a packet
/// that is as large.
const LARGEST: usize = 32 << 20;

impl Corrupt {
    /// Whether its bytes are not what they have to be; else there are too many of them.
    pub fn is_damage(&self) -> bool {
        match self {
            Corrupt::Packet(_) | Corrupt::Message(_) => true,
            Corrupt::TooLarge(_) | Corrupt::TooMany(..) => false,
        }
    }

    /// Of a packet that is too large to be read.
    pub fn size(packet: &[u8]) -> Result<(), Corrupt> {
        match packet.len() {
            0..=LARGEST => Ok(()),
            size => Err(Corrupt::TooLarge(size)),
        }
    }

    /// Of a message that has too much of a field, before all of it is in memory at once.
    pub fn count(message: &[u8], field: u32, most: usize, of: &'static str) -> Result<(), Corrupt> {
        // Two bytes are the least that there is of one.
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
