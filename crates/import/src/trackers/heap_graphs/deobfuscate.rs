//! Mappings from obfuscated names (rule HG11).
//!
//! # Design
//!
//! A mapping holds for all graphs, before and after it, and names of classes come at the end of their graphs. So
//! mappings wait until the end. A mapping of R8 may have 50 MB, so they wait on disk. Only the names that the graphs
//! have are looked up.

use std::io;

use rustc_hash::{FxHashMap, FxHashSet};
use timebase_schema::fields::{
    deobfuscation_mapping as mapping, obfuscated_class as class, obfuscated_member as member,
};
use timebase_store::sort::{Scratch, Sorter};

use super::classes::Classes;
use super::fields::Fields;
use super::objects::ClassId;
use super::plain::Plain;
use crate::definitions::Names;
use crate::message::{Message, text};
use crate::timeline::Name;

/// The mappings of the trace, in the order of time.
#[derive(Default)]
pub(super) struct Mappings {
    waiting: Option<Sorter<i64>>,
    count: i64,
}

impl std::fmt::Debug for Mappings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mappings").field("count", &self.count).finish_non_exhaustive()
    }
}

/// What the mappings rename.
struct Renaming<'a> {
    classes: &'a Classes,
    fields: &'a mut Fields,
    names: &'a Names,
    by_name: FxHashMap<Name, Vec<ClassId>>,
    of_fields: FxHashSet<Name>,
    deobfuscated: FxHashMap<ClassId, String>,
    /// The number of fields so far.
    order: u64,
}

impl Mappings {
    /// Adds a mapping.
    ///
    /// # Errors
    ///
    /// If it cannot be stored.
    pub fn add(&mut self, payload: &[u8], scratch: &Scratch) -> io::Result<()> {
        let place = self.count;
        self.count += 1;
        self.waiting.get_or_insert_with(|| Sorter::new(scratch)).push(place, payload)
    }

    /// Renames fields; returns the names of classes.
    ///
    /// # Errors
    ///
    /// If mappings cannot be read back.
    pub fn apply(
        self,
        classes: &Classes,
        fields: &mut Fields,
        names: &Names,
    ) -> io::Result<FxHashMap<ClassId, String>> {
        let Some(waiting) = self.waiting else {
            return Ok(FxHashMap::default());
        };
        let mut renaming = Renaming {
            classes,
            of_fields: fields.names(),
            fields,
            names,
            by_name: classes.by_plain_name(),
            deobfuscated: FxHashMap::default(),
            order: 0,
        };
        waiting.finish(|_, payload| {
            renaming.mapping(Message(payload));
            io::Result::Ok(())
        })?;
        Ok(renaming.deobfuscated)
    }
}

impl Renaming<'_> {
    fn mapping(&mut self, mapping: Message<'_>) {
        let package = mapping.text(mapping::PACKAGE_NAME).filter(|package| !package.is_empty());
        for of in mapping.messages(mapping::OBFUSCATED_CLASSES) {
            let obfuscated = of.text(class::OBFUSCATED_NAME).unwrap_or_default();
            let new = of.text(class::DEOBFUSCATED_NAME).unwrap_or_default();
            self.class(&obfuscated, &new, package.as_deref());
            for field in of.messages(class::OBFUSCATED_MEMBERS) {
                let part = |number| field.bytes(number).map(text).unwrap_or_default();
                let old = format!("{obfuscated}.{}", part(member::OBFUSCATED_NAME));
                self.order += 1;
                let name = self.names.find(old.as_bytes());
                let Some(name) = name.filter(|name| self.of_fields.contains(name)) else {
                    continue;
                };
                let own = part(member::DEOBFUSCATED_NAME);
                let is_whole = own.contains('.');
                let full = if is_whole { own.into_owned() } else { format!("{new}.{own}") };
                self.fields.rename(name, self.order, &full);
            }
        }
    }

    fn class(&mut self, obfuscated: &str, new: &str, package: Option<&str>) {
        let name = self.names.find(obfuscated.as_bytes());
        let Some(alike) = name.and_then(|name| self.by_name.get(&name)) else { return };
        for id in alike {
            let Some(class) = self.classes.get(*id) else { continue };
            let own = class.package.map(|package| self.names.text(package));
            if own.is_none() || own == package {
                let text = class.name.map(|name| self.names.text(name)).unwrap_or_default();
                self.deobfuscated.insert(*id, Plain::of(text).around(new));
            }
        }
    }
}
