//! Damages copies of a trace, imports each, and counts how many undamaged packets the
//! import kept. `cargo bench --bench reliability` does that with many copies, and the
//! tests of the program with a few; `docs/reliability.md` defines the figures.
//!
//! ```
//! use timebase_lab::reliability::{DamageKind, Original, judge};
//!
//! let original = Original::read("two packets", vec![0x0a, 2, 0x58, 1, 0x0a, 2, 0x58, 2])?;
//! let copy = DamageKind::Duplicated(4).damage(&original.bytes, 7, 0);
//! // An import that gives nothing loses all that is whole: here some packet is there twice.
//! let verdict = judge(&original, &copy, &[]);
//! assert!(verdict.intact >= 2);
//! assert_eq!(verdict.lost.len(), verdict.intact);
//! # Ok::<(), timebase_lab::reliability::Error>(())
//! ```
//!
//! # Design
//!
//! * **A reader of its own.** A few lines in `original.rs`, which know tags and lengths and nothing
//!   of timebase, find the packets of the undamaged trace. The alternative was to use the rows of
//!   an import of the undamaged trace as the truth; but then packets that the import always
//!   overlooks would never be missed. Both are compared before anything is damaged.
//! * **A map, not a search.** A copy has the original position of each of its bytes (`copy.rs`). So
//!   a packet is untouched if all of its bytes are there, side by side, and a row was a packet if
//!   it starts where one started. Searching for the bytes of packets in the copy would not show
//!   that: short packets are everywhere.
//! * **The program, not the library.** Each import is a separate process, which may crash or hang;
//!   it is the program that people run. It costs a few milliseconds for each copy.
//! * **A benchmark, not a program.** Cargo builds `timebase` for `benches`, with the release
//!   profile, and says where it is; a program in this crate would have to search for it, or could
//!   run an older one.

mod copy;
mod error;
mod import;
mod judge;
mod kind;
mod original;
mod report;
mod run;

pub use copy::{Copy, Damage, Piece};
pub use error::Error;
pub use import::{Importer, Outcome};
pub use judge::{Invented, Lost, PacketRow, Verdict, judge};
pub use kind::{DamageKind, UnknownKind};
pub use original::{Inner, Original, OriginalPacket};
pub use report::{Goal, Report, grouped, percent};
pub use run::{Examined, Plan, Tally, measure, prepare};
