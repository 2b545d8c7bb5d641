//! Perfetto's manifest of several traces: which file is of which machine, how their clocks relate, and
//! on which clock all of them are shown (rules X30 to X40).
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
//! | question | where it is decided |
//! |---|---|
//! | what is in the JSON, where, and whether it is of the right type | `json.rs` |
//! | what a manifest may say (rules X31 to X35) | `parse.rs`, its types in `types.rs` |
//! | what that means for these members (rules X32, X35 to X39) | `resolve.rs` |
//! | what a packet of a member may be (rules X33, X34, X37) | `rules.rs` |
//! | how one is written | `write.rs` |
//!
//! # Design
//!
//! Three steps, each of which may refuse: [`Manifest::parse`] knows the text, [`Manifest::resolve`] the
//! members, [`MemberRules`] the packets. So all that can be known before a packet is read is known then, and
//! the import has nothing to look up in a manifest. To give the import the parsed text was the alternative;
//! then the rules of references (X38) would be spread over it.
//!
//! Nothing is known here of traces, archives or the clock graph: a member is a name and a kind, a clock one of
//! six, a machine a place in a list.

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
pub use rules::{MachineRef, MemberRules};
pub use types::{
    Attribute, Clock, ClockReference, Clocks, FileEntry, Machines, Manifest, TraceTimeEntry,
};
