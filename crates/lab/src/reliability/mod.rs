//! Damages copies of a trace, imports each, and counts how many undamaged packets the
//! import kept. `cargo bench --bench reliability` does that with many copies, and the
//! tests of the program with a few; `docs/reliability.md` defines the figures.
//!
//! ```
//! use timebase_lab::reliability::{Kind, Original, judge};
//!
//! let original = Original::read("two packets", vec![0x0a, 2, 0x58, 1, 0x0a, 2, 0x58, 2])?;
//! let copy = Kind::Duplicated(4).damage(&original.bytes, 7, 0);
//! // An import that gives nothing loses all that is whole: here some packet is there twice.
//! let verdict = judge(&original, &copy, &[]);
//! assert!(verdict.intact >= 2);
//! assert_eq!(verdict.lost.len(), verdict.intact);
//! # Ok::<(), timebase_lab::reliability::Error>(())
//! ```
//!
//! # Design
//!
//! * **A reader of its own.** The packets of the undamaged trace are found by the
//!   few lines of `original.rs`, which know tags and lengths and nothing of
//!   timebase. To take the rows of an import of the undamaged trace for the truth
//!   was the alternative: what the import overlooks always would never be missed.
//!   Both are compared before anything is damaged.
//! * **A map, not a search.** A copy knows where each of its bytes was in the
//!   trace (`copy.rs`). So a packet is untouched if all of its bytes are there, side by
//!   side, and a row was a packet if it starts where one started. Looking for the
//!   bytes of packets in the copy would not say that: short packets are
//!   everywhere.
//! * **The program, not the library.** Each import is a process of its own, which
//!   may crash or hang; it is the program that people run. It costs a few
//!   milliseconds a copy.
//! * **A benchmark, not a program.** Cargo builds `timebase` for `benches`, with
//!   the profile of a release, and says where it is; a program of this crate would
//!   have to look for it, or could import an older one.

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
pub use judge::{Invented, Lost, Row, Verdict, judge};
pub use kind::{Kind, UnknownKind};
pub use original::{Inner, Original, Packet};
pub use report::{Goal, Report, grouped, percent};
pub use run::{Examined, Plan, Tally, measure, prepare};
