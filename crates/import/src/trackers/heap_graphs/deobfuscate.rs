//! Names of classes and fields from mappings (rules HG11, DM3).
//!
//! # Design
//!
//! A mapping holds for all graphs, before and after it, and names of classes come at the end of their graphs. So
//! mappings count at the end (`mappings.rs`). Only the names that the graphs have are looked up.

use rustc_hash::{FxHashMap, FxHashSet};
use timebase_symbols::Class;

use super::classes::Classes;
use super::fields::Fields;
use super::objects::ClassId;
use super::plain::Plain;
use crate::definitions::Names;
use crate::timeline::Name;
use crate::trackers::mappings::Source;

/// The classes and fields that mappings rename.
pub(in crate::trackers) struct Renaming<'a> {
    classes: &'a Classes,
    fields: &'a mut Fields,
    names: &'a Names,
    by_name: FxHashMap<Name, Vec<ClassId>>,
    of_fields: FxHashSet<Name>,
    /// The classes that have these fields.
    owners: FxHashSet<&'a str>,
    deobfuscated: FxHashMap<ClassId, String>,
    /// The fields that are renamed.
    renamed: FxHashSet<Name>,
    /// The number of fields so far.
    order: u64,
}

impl<'a> Renaming<'a> {
    pub(super) fn new(classes: &'a Classes, fields: &'a mut Fields, names: &'a Names) -> Self {
        let of_fields = fields.names();
        let owner = |name: &Name| names.text(*name).rsplit_once('.').map(|(class, _)| class);
        Renaming {
            owners: of_fields.iter().filter_map(owner).collect(),
            by_name: classes.by_plain_name(),
            of_fields,
            classes,
            fields,
            names,
            deobfuscated: FxHashMap::default(),
            renamed: FxHashSet::default(),
            order: 0,
        }
    }

    /// The obfuscated names of classes that mappings may rename, or whose fields.
    pub fn wanted(&self) -> impl Iterator<Item = &'a str> {
        let names = self.names;
        self.by_name.keys().map(move |name| names.text(*name)).chain(self.owners.iter().copied())
    }

    /// Takes a class of a mapping. Returns whether it has the name of a class or a field.
    pub fn take(&mut self, source: Source<'_>, class: &Class) -> bool {
        let mut has_any = self.class(source, class);
        for field in &class.fields {
            self.order += 1;
            let old = format!("{}.{}", class.obfuscated, field.obfuscated);
            let name = self.names.find(old.as_bytes());
            let Some(name) = name.filter(|name| self.of_fields.contains(name)) else { continue };
            has_any = true;
            let is_named = !self.renamed.insert(name);
            if source.may_name(is_named) {
                self.fields.rename(name, self.order, &field.full(&class.original));
            }
        }
        has_any
    }

    fn class(&mut self, source: Source<'_>, class: &Class) -> bool {
        let name = self.names.find(class.obfuscated.as_bytes());
        let Some(alike) = name.and_then(|name| self.by_name.get(&name)) else { return false };
        let mut has_any = false;
        for id in alike {
            let Some(of_graph) = self.classes.get(*id) else { continue };
            let own = of_graph.package.map(|package| self.names.text(package));
            let is_any = source.file.is_some() && source.package.is_none();
            let is_of_package = own.is_none() || own == source.package || is_any;
            has_any |= is_of_package;
            if is_of_package && source.may_name(self.deobfuscated.contains_key(id)) {
                let text = of_graph.name.map(|name| self.names.text(name)).unwrap_or_default();
                self.deobfuscated.insert(*id, Plain::of(text).around(&class.original));
            }
        }
        has_any
    }

    /// The names of classes.
    pub fn end(self) -> FxHashMap<ClassId, String> {
        self.deobfuscated
    }
}
