//! Profiles in the format of pprof, from stacks.
//!
//! | function | result |
//! |---|---|
//! | `experimental_profile(stack, [type, unit, value] …)` | a blob: a profile with the values of all rows, added up for each stack; `type` and `unit` are texts such as `'duration'` and `'ns'`. Without values, the number of rows |
//!
//! A stack is a blob from `cat_stacks`, of frames with names.

use std::collections::HashMap;

use rusqlite::Connection;
use rusqlite::functions::{Aggregate, Context};

use crate::{Error, Result};

use super::call::{Call, PURE};
use super::limits::{Budget, failed};
use super::wire::{self, Field, Message};

const NAME: &str = "experimental_profile";

pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    conn.create_aggregate_function(NAME, -1, PURE, Profiles)
}

struct Profiles;

impl Aggregate<Profile, Option<Vec<u8>>> for Profiles {
    fn init(&self, ctx: &mut Context<'_>) -> rusqlite::Result<Profile> {
        Profile::new(Call::new(NAME, ctx)).map_err(failed)
    }

    fn step(&self, ctx: &mut Context<'_>, profile: &mut Profile) -> rusqlite::Result<()> {
        profile.add(Call::new(NAME, ctx)).map_err(failed)
    }

    fn finalize(
        &self,
        _ctx: &mut Context<'_>,
        profile: Option<Profile>,
    ) -> rusqlite::Result<Option<Vec<u8>>> {
        Ok(profile.map(|profile| profile.encoded()))
    }
}

/// A profile while samples are added.
struct Profile {
    /// The place of each text in the profile's list, whose first one is empty.
    texts: HashMap<Vec<u8>, u64>,
    listed: Vec<Vec<u8>>,
    /// The places of a type and a unit.
    types: Vec<(u64, u64)>,
    /// The number of each function, from 1, by the place of its name; it is its location's too.
    functions: HashMap<u64, u64>,
    names: Vec<u64>,
    /// The place of each sample, by its locations, the leaf first.
    stacks: HashMap<Vec<u64>, usize>,
    samples: Vec<(Vec<u64>, Vec<i64>)>,
    budget: Budget,
}

impl Profile {
    fn new(call: Call<'_, '_>) -> Result<Profile> {
        let count = call.count();
        if count == 0 || count % 3 != 1 {
            return Err(
                call.error("it takes a stack, then a type, a unit and a value for each value")
            );
        }
        let mut profile = Profile {
            texts: HashMap::new(),
            listed: Vec::new(),
            types: Vec::new(),
            functions: HashMap::new(),
            names: Vec::new(),
            stacks: HashMap::new(),
            samples: Vec::new(),
            budget: Budget::new(NAME),
        };
        profile.text(b"")?;
        if count == 1 {
            let kind = (profile.text(b"samples")?, profile.text(b"count")?);
            profile.types.push(kind);
        }
        for index in (1..count).step_by(3) {
            let kind = profile.text(call.text(index, "type")?.as_bytes())?;
            let unit = profile.text(call.text(index + 1, "unit")?.as_bytes())?;
            profile.types.push((kind, unit));
        }
        Ok(profile)
    }

    fn add(&mut self, call: Call<'_, '_>) -> Result<()> {
        let Some(stack) = call.arguments().blob(0, "stack")? else {
            return Err(call.arguments().must_be(0, "stack", "a blob from cat_stacks()"));
        };
        let locations = self.locations(stack)?;
        let mut values = Vec::with_capacity(self.types.len());
        for index in (3..call.count()).step_by(3) {
            match call.arguments().integer(index, "value")? {
                Some(value) => values.push(value),
                None => return Err(call.arguments().must_be(index, "value", "an integer")),
            }
        }
        if values.is_empty() {
            values.push(1);
        }
        match self.stacks.get(&locations).and_then(|&at| self.samples.get_mut(at)) {
            Some((_, sums)) => {
                for (sum, value) in sums.iter_mut().zip(values) {
                    *sum = sum.saturating_add(value);
                }
            }
            None => {
                let size = (2 * locations.len() + values.len()) * size_of::<u64>() + 128;
                self.budget.take(size)?;
                self.stacks.insert(locations.clone(), self.samples.len());
                self.samples.push((locations, values));
            }
        }
        Ok(())
    }

    /// The locations of a `perfetto.protos.Stack`.
    fn locations(&mut self, stack: &[u8]) -> Result<Vec<u64>> {
        let wrong = || {
            Error::new(format_args!("{NAME}(): argument 1 (stack) is no blob from cat_stacks()"))
        };
        let mut locations = Vec::new();
        for entry in wire::fields(stack) {
            let Some(Field::Bytes(1, entry)) = entry else {
                return Err(wrong());
            };
            for field in wire::fields(entry) {
                match field {
                    Some(Field::Bytes(1, name)) => locations.push(self.location(name)?),
                    Some(Field::Number(2..=4)) => {
                        return Err(Error::new(format_args!(
                            "{NAME}(): argument 1 (stack) has a frame by its id; only frames with \
                             names are known"
                        )));
                    }
                    _ => return Err(wrong()),
                }
            }
        }
        Ok(locations)
    }

    fn location(&mut self, name: &[u8]) -> Result<u64> {
        let name = self.text(name)?;
        let names = &mut self.names;
        Ok(*self.functions.entry(name).or_insert_with(|| {
            names.push(name);
            names.len() as u64
        }))
    }

    /// The place of a text.
    fn text(&mut self, text: &[u8]) -> Result<u64> {
        if let Some(&place) = self.texts.get(text) {
            return Ok(place);
        }
        self.budget.take(text.len().saturating_mul(2).saturating_add(160))?;
        let place = self.listed.len() as u64;
        self.texts.insert(text.to_vec(), place);
        self.listed.push(text.to_vec());
        Ok(place)
    }

    /// The profile as a message of `perftools.profiles.Profile`.
    fn encoded(self) -> Vec<u8> {
        let mut profile = Message::default();
        for (kind, unit) in self.types {
            profile.message(1, Message::default().number(1, kind).number(2, unit));
        }
        for (locations, values) in self.samples {
            let values = values.into_iter().map(|value| value as u64);
            profile.message(2, Message::default().packed(1, locations).packed(2, values));
        }
        for (id, name) in (1..).zip(&self.names) {
            let line = Message::default().number(1, id);
            profile.message(4, Message::default().number(1, id).with(4, line));
            profile.message(5, Message::default().number(1, id).number(2, *name).number(3, *name));
        }
        for text in self.listed {
            profile.bytes(6, &text);
        }
        profile.into_bytes()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
