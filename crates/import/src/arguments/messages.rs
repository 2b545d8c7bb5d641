//! Messages by their schema (rules A9, A10).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustc_hash::FxHashMap;
use timebase_descriptor::field::Value;
use timebase_descriptor::{Field, MessageId, Scalar};
use timebase_schema::fields::track_event as event;

use super::decoder::{Decoder, Interning, Unknown};
use super::key::Fault;
use super::set::ArgValue;
use crate::definitions::is_process_event;
use crate::message::{self, Message};

/// Fields of `TrackEvent` that are arguments, besides all extensions (rule A9).
fn is_argument(field: &Field) -> bool {
    let is_listed = matches!(field.number, 24..=29 | 32..=35 | 38..=41 | 43 | 49 | 50);
    is_listed || field.extension.is_some()
}

/// The number of occurrences of each repeated field of a message until now.
type Places = FxHashMap<u32, u64>;

impl<I: Interning> Decoder<'_, I> {
    /// Adds the fields of an event that are arguments.
    pub fn by_schema(&mut self, event: &[u8]) {
        self.args.types.fill(self.pool);
        let Some(track_event) = self.args.types.track_event else {
            return;
        };
        let mut places = Places::default();
        let message = Message(event);
        for (number, value) in message.fields() {
            let field = self.pool.field(track_event, number);
            let is_row = || is_process_event(number, message.number(event::TYPE));
            if field.is_some_and(|field| !is_argument(field) || is_row()) {
                continue;
            }
            let added = self.field(field, value, Unknown::Counted, &mut places);
            if added.is_err() {
                return self.count(added);
            }
        }
    }

    /// Adds a message, under the current key.
    pub fn message(
        &mut self,
        id: MessageId,
        message: &[u8],
        unknown: Unknown,
    ) -> Result<(), Fault> {
        self.args.types.fill(self.pool);
        if self.args.types.annotation == Some(id) {
            return self.annotation(message);
        }
        let mut is_empty = true;
        let mut places = Places::default();
        for (number, value) in Message(message).fields() {
            is_empty = false;
            let field = self.pool.field(id, number);
            self.field(field, value, unknown, &mut places)?;
        }
        if is_empty {
            self.push(ArgValue::Null)?;
        }
        Ok(())
    }

    fn field(
        &mut self,
        field: Option<&Field>,
        value: Value<'_>,
        unknown: Unknown,
        places: &mut Places,
    ) -> Result<(), Fault> {
        let known = field.and_then(|field| field.scalars(value).map(|scalars| (field, scalars)));
        let Some((field, scalars)) = known else {
            self.args.unknown += u32::from(unknown == Unknown::Counted);
            self.args.needs_schema = true;
            return Ok(());
        };
        for scalar in scalars {
            match (scalar, value) {
                // The annotation has its own name.
                (Scalar::Message(id), Value::Bytes(annotation))
                    if self.args.types.annotation == Some(id) =>
                {
                    self.annotation(annotation)?;
                }
                _ => self.within(|decoder| {
                    decoder.args.key.enter(&field.name)?;
                    if field.repeated {
                        let place = places.entry(field.number).or_default();
                        decoder.args.key.enter_entry(*place, false);
                        *place += 1;
                    }
                    decoder.scalar(scalar, value, unknown)
                })?,
            }
        }
        Ok(())
    }

    fn scalar(
        &mut self,
        scalar: Scalar<'_>,
        value: Value<'_>,
        unknown: Unknown,
    ) -> Result<(), Fault> {
        self.push(match scalar {
            Scalar::Signed(value) => ArgValue::Int(value),
            Scalar::Unsigned(value) => ArgValue::Uint(value),
            Scalar::Bool(value) => ArgValue::Bool(value),
            Scalar::Float(value) => ArgValue::Real(value.into()),
            Scalar::Double(value) => ArgValue::Real(value),
            Scalar::Text(text) => {
                let text = message::text(text);
                return self.push(ArgValue::Text(&text));
            }
            Scalar::Bytes(bytes) => {
                let text = STANDARD.encode(bytes);
                return self.push(ArgValue::Text(&text));
            }
            Scalar::Enum(id, number) => match self.pool.enum_name(id, number) {
                Some(name) => ArgValue::Text(name),
                None => {
                    self.args.needs_schema = true;
                    return self.push(ArgValue::Text(&number.to_string()));
                }
            },
            Scalar::Message(id) => match value {
                Value::Bytes(message) => return self.message(id, message, unknown),
                _ => return Ok(()),
            },
        })
    }
}
