//! The packages of Android by the user ids of their processes (rule HG11).

use rustc_hash::{FxHashMap, FxHashSet};
use timebase_schema::fields::{packages_list as list, packages_list_package_info as package};

use crate::message::Message;
use crate::timeline::Name;

/// Android gives each of its users this many user ids; the rest of a division by it is the app.
const IDS_OF_A_USER: i64 = 100_000;

/// The packages of the recorder's lists: of a name only the first row counts (rule RT1).
#[derive(Debug, Default)]
pub(crate) struct Packages {
    /// The names so far of each machine.
    names: FxHashSet<(u32, Name)>,
    first: FxHashMap<(u32, i64), Name>,
}

impl Packages {
    /// Takes a list of a machine. `number` is the number of a name.
    pub fn add(
        &mut self,
        machine: u32,
        payload: Message<'_>,
        mut number: impl FnMut(&[u8]) -> Name,
    ) {
        for entry in payload.messages(list::PACKAGES) {
            let name = number(entry.bytes(package::NAME).unwrap_or_default());
            if self.names.insert((machine, name)) {
                let uid = entry.number(package::UID).unwrap_or(0).cast_signed();
                self.first.entry((machine, uid)).or_insert(name);
            }
        }
    }

    /// The first package whose user id is the app of a process with this user id.
    pub fn of_process(&self, machine: u32, uid: i64) -> Option<Name> {
        self.first.get(&(machine, uid % IDS_OF_A_USER)).copied()
    }
}
