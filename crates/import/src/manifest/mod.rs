//! Reads Perfetto's manifest of several traces: it names the machine of each file, relates their clocks, and
//! selects the clock of the timeline (rules X30 to X40).
//!
//! ```
//! use timebase_import::manifest::{Clock, MachineRef, Manifest, Member, MemberKind};
//!
//! let manifest = Manifest::parse(br#"{"perfetto_manifest": {
//!     "version": 1,
//!     "files": [
//!         {"path": "phone.pftrace", "machine": {"name": "phone"}},
//!         {"path": "watch.pftrace", "machine": {"name": "watch"},
//!          "clocks": {"clock": "BOOTTIME", "offset_ns": 500,
//!                     "sync_to": {"file": "phone.pftrace", "clock": "BOOTTIME"}}}]}}"#)?;
//!
//! let members = ["phone.pftrace", "watch.pftrace"].map(|name| Member { name, kind: MemberKind::Trace });
//! let resolved = manifest.resolve(&members)?;
//! assert_eq!(resolved.names, ["phone", "watch"]);
//! assert_eq!(resolved.members[1].machine(0)?, MachineRef::Named(1));
//! assert_eq!(resolved.members[1].machine(0)?.raw_id(), (1 << 32) + 1);
//! // When the watch's BOOTTIME is 0, that of the phone is 500 ns.
//! assert_eq!(resolved.relations[0].this.value, 0);
//! assert_eq!(resolved.relations[0].reference.value, 500);
//! # Ok::<(), timebase_import::manifest::Refused>(())
//! ```
//!
//! | subject | file |
//! |---|---|
//! | the JSON: values, their places and their types | `json.rs` |
//! | the content of a manifest, and its checks (rules X31 to X35) | `parse.rs`, with the types in `types.rs` |
//! | the meaning for the members of an import (rules X32, X35 to X39) | `resolve.rs` |
//! | the rules for packets of a member (rules X33, X34, X37) | `rules.rs` |
//! | writing a manifest | `write.rs` |
//!
//! # Design
//!
//! There are three steps, and each may refuse: [`Manifest::parse`] checks the text,
//! [`Manifest::resolve`] the members, [`MemberRules`] the packets. So the first two find all errors
//! that do not depend on packets, and the import looks up nothing in a manifest. The alternative
//! was to give the parsed text to the import. Then the rules of references (X38) would be spread
//! over the import.
//!
//! This module knows nothing about traces, archives or the clock graph: a member is a name and a
//! kind, a clock is one of six, and a machine is a position in a list.

mod json;
mod parse;
mod resolve;
mod rules;
mod types;
mod write;

pub use json::{Place, Refused};
pub use resolve::{
    Member, MemberKind, Reading, RelatedClock, Relation, Resolved, TraceTime, Warning,
};
pub(crate) use rules::Mapping;
pub use rules::{MachineRef, MemberRules};
pub use types::{
    Align, AlignEntry, Attribute, Clock, ClockReference, Clocks, FileEntry, Machines, Manifest,
    TraceTimeEntry,
};
