//! A trace's replacement names for slices and process tracks, and its names for hashes (rules TN).

use rustc_hash::FxHashMap;
use timebase_schema::fields::{
    chrome_historgram_translation_table as histogram,
    chrome_performance_mark_translation_table as mark, chrome_study_translation_table as study,
    chrome_user_event_translation_table as user, slice_name_translation_table as slice,
    translation_table as table,
};

use super::Names;
use crate::message::Message;
use crate::timeline::{Label, OwnLabel};

/// The limit for the names of all parts, in bytes: a table of all histograms of Chrome has two
/// million.
const ROOM: usize = 64 << 20;

/// The approximate size of an entry besides its texts.
const ENTRY: usize = 64;

/// The arguments that are hashes, and the arguments for their names.
const HASHES: [(&str, &str); 5] = [
    ("chrome_histogram_sample.name_hash", "chrome_histogram_sample.name"),
    ("chrome_user_event.action_hash", "chrome_user_event.action"),
    ("chrome_hashed_performance_mark.site_hash", "chrome_hashed_performance_mark.site"),
    ("chrome_hashed_performance_mark.mark_hash", "chrome_hashed_performance_mark.mark"),
    ("chrome_trigger.name_hash", "chrome_trigger.name"),
];

/// The fields of `TranslationTable`: the entries of the first field that is there count.
const TABLES: [u32; 6] = [
    table::CHROME_HISTOGRAM,
    table::CHROME_USER_EVENT,
    table::CHROME_PERFORMANCE_MARK,
    table::SLICE_NAME,
    table::PROCESS_TRACK_NAME,
    table::CHROME_STUDY,
];

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

/// The replacement names of a part.
#[derive(Debug, Default)]
pub(crate) struct Translations(Option<Box<Tables>>);

/// The memory of the replacement names of all parts.
#[derive(Debug, Default)]
pub(crate) struct TranslationRoom {
    bytes: usize,
    /// The number of entries without room.
    left_out: u64,
}

#[derive(Debug, Default)]
struct Tables {
    slices: FxHashMap<Box<str>, OwnLabel>,
    tracks: FxHashMap<Box<str>, OwnLabel>,
    /// By the index in [`HASHES`].
    hashes: [FxHashMap<u64, Box<str>>; HASHES.len()],
}

impl TranslationRoom {
    /// Whether nothing is translated, as in most traces.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
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
}

impl Translations {
    /// Reads a `TranslationTable` (rule TN1). Returns the number of entries without room.
    pub fn read(
        &mut self,
        message: Message<'_>,
        names: &mut Names,
        room: &mut TranslationRoom,
    ) -> u64 {
        let present = |field| Some((field, Message(message.bytes(field)?)));
        let Some((field, entries)) = TABLES.into_iter().find_map(present) else {
            return 0;
        };
        let tables = self.0.get_or_insert_default();
        match field {
            table::SLICE_NAME => tables.names(Translated::Slice, entries, names, room),
            table::PROCESS_TRACK_NAME => {
                tables.names(Translated::ProcessTrack, entries, names, room);
            }
            table::CHROME_PERFORMANCE_MARK => {
                tables.hashes(
                    2,
                    entries.messages(mark::SITE_HASH_TO_NAME),
                    u64::from(u32::MAX),
                    room,
                );
                tables.hashes(
                    3,
                    entries.messages(mark::MARK_HASH_TO_NAME),
                    u64::from(u32::MAX),
                    room,
                );
            }
            table::CHROME_USER_EVENT => {
                tables.hashes(1, entries.messages(user::ACTION_HASH_TO_NAME), u64::MAX, room)
            }
            table::CHROME_STUDY => {
                tables.hashes(4, entries.messages(study::HASH_TO_NAME), u64::MAX, room)
            }
            _ => tables.hashes(0, entries.messages(histogram::HASH_TO_NAME), u64::MAX, room),
        }
        std::mem::take(&mut room.left_out)
    }

    /// The replacement name of something (rules TN2, TN4); `None` if its name stays.
    pub fn name(&self, what: Translated, name: Label<'_>, names: &Names) -> Option<OwnLabel> {
        let tables = self.0.as_deref()?;
        let text = match name {
            Label::None => return None,
            Label::Known(name) => names.text(name),
            Label::Own(text) => text,
        };
        let all = match what {
            Translated::Slice => &tables.slices,
            Translated::ProcessTrack => &tables.tracks,
        };
        all.get(text).cloned()
    }

    /// The names of hashes, by the arguments for the hashes (rule TN3).
    pub fn hashes(&self) -> impl Iterator<Item = Hashes<'_>> {
        let all = self.0.as_deref().into_iter();
        let all = all.flat_map(|tables| tables.hashes.iter().zip(&HASHES));
        let all = all.map(|(names, &(key, key_of_name))| Hashes { key, key_of_name, names });
        all.filter(|hashes| !hashes.names.is_empty())
    }
}

impl Tables {
    /// Adds replacement names; of entries with one name, the last counts.
    fn names(
        &mut self,
        what: Translated,
        entries: Message<'_>,
        names: &mut Names,
        room: &mut TranslationRoom,
    ) {
        for entry in entries.messages(slice::RAW_TO_DEOBFUSCATED_NAME) {
            let Some(raw) = entry.text(KEY) else { continue };
            let to = entry.text(VALUE).unwrap_or_default();
            if !room.takes(raw.len().saturating_add(to.len())) {
                continue;
            }
            let to = OwnLabel::from(names.label(&to));
            let all = match what {
                Translated::Slice => &mut self.slices,
                Translated::ProcessTrack => &mut self.tracks,
            };
            all.insert(raw.into(), to);
        }
    }

    /// Adds names of hashes; of entries with one hash, the first counts.
    fn hashes<'a>(
        &mut self,
        place: usize,
        entries: impl Iterator<Item = Message<'a>>,
        mask: u64,
        room: &mut TranslationRoom,
    ) {
        let Some(hashes) = self.hashes.get_mut(place) else {
            return;
        };
        for entry in entries {
            let hash = entry.number(KEY).unwrap_or(0) & mask;
            let name = entry.text(VALUE).unwrap_or_default();
            if !hashes.contains_key(&hash) && room.takes(name.len()) {
                hashes.insert(hash, name.into());
            }
        }
    }
}
