//! A trace's replacement names for slices and process tracks, and its names for hashes (rules TN).

use rustc_hash::FxHashMap;

use super::Names;
use crate::message::Message;
use crate::timeline::{Label, OwnLabel};

/// The limit for the names of all machines, in bytes: a table of all histograms of Chrome has two
/// million.
const ROOM: usize = 64 << 20;

/// The approximate size of an entry besides its texts.
const ENTRY: usize = 64;

/// The arguments that are hashes, and the arguments for their names.
const HASHES: [(&str, &str); 5] = [
    (
        "chrome_histogram_sample.name_hash",
        "chrome_histogram_sample.name",
    ),
    ("chrome_user_event.action_hash", "chrome_user_event.action"),
    (
        "chrome_hashed_performance_mark.site_hash",
        "chrome_hashed_performance_mark.site",
    ),
    (
        "chrome_hashed_performance_mark.mark_hash",
        "chrome_hashed_performance_mark.mark",
    ),
    ("chrome_trigger.name_hash", "chrome_trigger.name"),
];

/// The fields of `TranslationTable`: the entries of the first field that is there count.
mod table {
    pub const CHROME_HISTOGRAM: u32 = 1;
    pub const CHROME_USER_EVENT: u32 = 2;
    pub const CHROME_PERFORMANCE_MARK: u32 = 3;
    pub const SLICE_NAME: u32 = 4;
    pub const PROCESS_TRACK_NAME: u32 = 5;
    pub const CHROME_STUDY: u32 = 6;
    pub const ALL: [u32; 6] = [
        CHROME_HISTOGRAM,
        CHROME_USER_EVENT,
        CHROME_PERFORMANCE_MARK,
        SLICE_NAME,
        PROCESS_TRACK_NAME,
        CHROME_STUDY,
    ];
}

/// The fields of an entry of a map.
const KEY: u32 = 1;
const VALUE: u32 = 2;

/// The things with replacement names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Translated {
    Slice,
    ProcessTrack,
}

/// The names of hashes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hashes<'a> {
    /// The argument that is a hash.
    pub key: &'static str,
    /// The argument for the hash's name.
    pub key_of_name: &'static str,
    pub names: &'a FxHashMap<u64, Box<str>>,
}

/// The replacement names, by machine.
#[derive(Debug, Default)]
pub(crate) struct Translations {
    machines: FxHashMap<u32, OfMachine>,
    bytes: usize,
    /// The number of entries without room.
    left_out: u64,
}

#[derive(Debug, Default)]
struct OfMachine {
    slices: FxHashMap<Box<str>, OwnLabel>,
    tracks: FxHashMap<Box<str>, OwnLabel>,
    /// By the index in [`HASHES`].
    hashes: [FxHashMap<u64, Box<str>>; HASHES.len()],
}

impl Translations {
    /// Whether nothing is translated, as in most traces.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.machines.is_empty()
    }

    /// Reads a `TranslationTable` (rule TN1). Returns the number of entries without room.
    pub fn read(&mut self, machine: u32, message: Message<'_>, names: &mut Names) -> u64 {
        let present = |field| Some((field, Message(message.bytes(field)?)));
        let Some((field, entries)) = table::ALL.into_iter().find_map(present) else {
            return 0;
        };
        match field {
            table::SLICE_NAME => self.names(machine, Translated::Slice, entries, names),
            table::PROCESS_TRACK_NAME => {
                self.names(machine, Translated::ProcessTrack, entries, names);
            }
            table::CHROME_PERFORMANCE_MARK => {
                self.hashes(machine, 2, entries.messages(1), u64::from(u32::MAX));
                self.hashes(machine, 3, entries.messages(2), u64::from(u32::MAX));
            }
            table::CHROME_USER_EVENT => self.hashes(machine, 1, entries.messages(1), u64::MAX),
            table::CHROME_STUDY => self.hashes(machine, 4, entries.messages(1), u64::MAX),
            _ => self.hashes(machine, 0, entries.messages(1), u64::MAX),
        }
        std::mem::take(&mut self.left_out)
    }

    /// Whether there is room for another entry.
    fn takes(&mut self, bytes: usize) -> bool {
        let all = self.bytes.saturating_add(bytes).saturating_add(ENTRY);
        if all > ROOM {
            self.left_out = self.left_out.saturating_add(1);
            return false;
        }
        self.bytes = all;
        true
    }

    /// Adds replacement names; of entries with one name, the last counts.
    fn names(&mut self, machine: u32, what: Translated, entries: Message<'_>, names: &mut Names) {
        for entry in entries.messages(1) {
            let Some(raw) = entry.text(KEY) else { continue };
            let to = entry.text(VALUE).unwrap_or_default();
            if !self.takes(raw.len().saturating_add(to.len())) {
                continue;
            }
            let to = OwnLabel::from(names.label(&to));
            let of_machine = self.machines.entry(machine).or_default();
            of_machine.names_of(what).insert(raw.into(), to);
        }
    }

    /// Adds names of hashes; of entries with one hash, the first counts.
    fn hashes<'a>(
        &mut self,
        machine: u32,
        place: usize,
        entries: impl Iterator<Item = Message<'a>>,
        mask: u64,
    ) {
        for entry in entries {
            let hash = entry.number(KEY).unwrap_or(0) & mask;
            let name = entry.text(VALUE).unwrap_or_default();
            let of_machine = self.machines.get(&machine);
            let known = of_machine.and_then(|of| of.hashes.get(place));
            if known.is_some_and(|known| known.contains_key(&hash)) || !self.takes(name.len()) {
                continue;
            }
            let of_machine = self.machines.entry(machine).or_default();
            if let Some(hashes) = of_machine.hashes.get_mut(place) {
                hashes.insert(hash, name.into());
            }
        }
    }

    /// The replacement name of something on a machine (rules TN2, TN4); `None` if its name stays.
    pub fn name(
        &self,
        machine: u32,
        what: Translated,
        name: Label<'_>,
        names: &Names,
    ) -> Option<OwnLabel> {
        let of_machine = self.machines.get(&machine)?;
        let text = match name {
            Label::None => return None,
            Label::Known(name) => names.text(name),
            Label::Own(text) => text,
        };
        let all = match what {
            Translated::Slice => &of_machine.slices,
            Translated::ProcessTrack => &of_machine.tracks,
        };
        all.get(text).cloned()
    }

    /// The names of a machine's hashes, by the arguments for the hashes (rule TN3).
    pub fn hashes_of(&self, machine: u32) -> impl Iterator<Item = Hashes<'_>> {
        let all = self.machines.get(&machine).into_iter();
        let all = all.flat_map(|of_machine| of_machine.hashes.iter().zip(&HASHES));
        let all = all.map(|(names, &(key, key_of_name))| Hashes {
            key,
            key_of_name,
            names,
        });
        all.filter(|hashes| !hashes.names.is_empty())
    }
}

impl OfMachine {
    fn names_of(&mut self, what: Translated) -> &mut FxHashMap<Box<str>, OwnLabel> {
        match what {
            Translated::Slice => &mut self.slices,
            Translated::ProcessTrack => &mut self.tracks,
        }
    }
}
