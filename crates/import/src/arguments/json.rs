//! Annotations that are JSON (rule A6).

use std::fmt;

use serde_core::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::decoder::{Decoder, Interning};
use super::key::Fault;
use super::set::ArgValue;
use crate::message;

impl<I: Interning> Decoder<'_, I> {
    /// Adds the arguments of a text in JSON. A text that is no JSON adds nothing, so the text is
    /// first read to its end.
    pub fn json(&mut self, text: &[u8]) -> Result<(), Fault> {
        let text = message::text(text);
        match read(&text, Json::<I> { to: None }) {
            Ok(_) => read(&text, Json { to: Some(self) }).map_err(|_| Fault).map(|_| ()),
            Err(_) => Ok(()),
        }
    }
}

fn read<I: Interning>(text: &str, json: Json<'_, '_, I>) -> serde_json::Result<bool> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let is_there = json.deserialize(&mut reader)?;
    reader.end()?;
    Ok(is_there)
}

/// Adds a value, or only checks that it is one. Returns whether the value is not `null`.
struct Json<'a, 'd, I> {
    to: Option<&'a mut Decoder<'d, I>>,
}

impl<I: Interning> Json<'_, '_, I> {
    fn push<E: Error>(self, value: ArgValue<'_>) -> Result<bool, E> {
        match self.to.map(|decoder| decoder.push(value)) {
            Some(Err(Fault)) => Err(fault()),
            _ => Ok(true),
        }
    }
}

#[cold]
fn fault<E: Error>() -> E {
    E::custom("an argument that is too much")
}

impl<'de, I: Interning> DeserializeSeed<'de> for Json<'_, '_, I> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<bool, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de, I: Interning> Visitor<'de> for Json<'_, '_, I> {
    type Value = bool;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<bool, E> {
        self.push(ArgValue::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<bool, E> {
        self.push(ArgValue::Int(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<bool, E> {
        let signed = i64::try_from(value);
        self.push(signed.map_or(ArgValue::Real(value as f64), ArgValue::Int))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<bool, E> {
        self.push(ArgValue::Real(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<bool, E> {
        self.push(ArgValue::Text(value))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<bool, A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            let mark = self.to.as_ref().map(|decoder| decoder.args.key.mark());
            if let Some(decoder) = &mut self.to {
                decoder.args.key.enter(&name).map_err(|Fault| fault())?;
            }
            let to = self.to.as_deref_mut();
            map.next_value_seed(Json { to })?;
            if let Some((decoder, mark)) = self.to.as_mut().zip(mark) {
                decoder.args.key.back_to(mark);
            }
        }
        Ok(true)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<bool, A::Error> {
        let Some(decoder) = self.to else {
            while entries.next_element_seed(Json::<I> { to: None })?.is_some() {}
            return Ok(true);
        };
        let mut list = decoder.begin_list();
        loop {
            let mut is_over = false;
            let added = decoder.entry_of(&mut list, |decoder| {
                let entry = entries.next_element_seed(Json { to: Some(decoder) })?;
                is_over = entry.is_none();
                Ok(entry.unwrap_or(false))
            });
            if is_over || added.is_err() {
                decoder.end_list(&list);
                return added.map(|_| true);
            }
        }
    }
}
