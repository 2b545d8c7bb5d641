//! The arguments of an event: those in the event's own fields (rule A8), and the order in which all
//! count (rule A1).

use timebase_descriptor::Pool;
use timebase_descriptor::field::Value;
use timebase_schema::fields::{
    chrome_histogram_sample as sample, histogram_name as histogram, interned_data as interned,
    log_message as log, log_message_body as body, source_location as location,
    task_execution as task, track_event as event,
};

use super::decoder::{Decoder, EventArgs, Interning};
use super::key::Fault;
use super::set::ArgValue;
use crate::definitions::Names;
use crate::message::{self, Message};

/// Decodes the arguments of a `TrackEvent` (rules A4, A8, A9); they replace the former content of
/// `into`.
pub(crate) fn decode(
    event: &[u8],
    interned: &impl Interning,
    pool: &Pool,
    names: &mut Names,
    into: &mut EventArgs,
) {
    into.clear();
    let mut decoder = Decoder::new(event, interned, pool, names, into);
    let mut said = EventFields::default();
    for (number, value) in Message(event).fields() {
        match (number, value) {
            (event::DEBUG_ANNOTATIONS, Value::Bytes(annotation)) => {
                let added = decoder.debug_annotation(annotation);
                decoder.count(added);
            }
            _ => said.take(number, value),
        }
    }
    decoder.event(&said);
    if said.is_by_schema {
        decoder.by_schema(event);
    }
}

/// Whether no schema makes a field of `TrackEvent` an argument. Any other field is an argument, or the schema does
/// not know it (rule A9).
fn is_of_no_schema(number: u32) -> bool {
    matches!(
        number,
        1..=6 | 8..=12 | 16 | 17 | 20..=23 | 30 | 31 | 36 | 42 | 44..=48 | 52..=57
    )
}

/// The event's own fields.
#[derive(Debug, Default)]
struct EventFields<'a> {
    source_location_iid: Option<u64>,
    task_execution: Option<&'a [u8]>,
    log_message: Option<&'a [u8]>,
    histogram_sample: Option<&'a [u8]>,
    correlation_id: Option<u64>,
    correlation_id_str: Option<&'a [u8]>,
    correlation_id_str_iid: Option<u64>,
    /// Whether there are fields that need the schema.
    is_by_schema: bool,
}

impl<'a> EventFields<'a> {
    fn take(&mut self, number: u32, value: Value<'a>) {
        match (number, value) {
            (event::SOURCE_LOCATION_IID, Value::Varint(iid)) => {
                self.source_location_iid = Some(iid);
            }
            (event::TASK_EXECUTION, Value::Bytes(task)) => self.task_execution = Some(task),
            (event::LOG_MESSAGE, Value::Bytes(message)) => self.log_message = Some(message),
            (event::CHROME_HISTOGRAM_SAMPLE, Value::Bytes(sample)) => {
                self.histogram_sample = Some(sample);
            }
            (event::CORRELATION_ID, Value::Varint(id)) => self.correlation_id = Some(id),
            (event::CORRELATION_ID_STR, Value::Bytes(id)) => self.correlation_id_str = Some(id),
            (event::CORRELATION_ID_STR_IID, Value::Varint(iid)) => {
                self.correlation_id_str_iid = Some(iid);
            }
            _ => {}
        }
        self.is_by_schema |= !is_of_no_schema(number);
    }
}

/// Arguments from the event's own fields (rule A8).
impl<'d, I: Interning> Decoder<'d, I> {
    fn event(&mut self, said: &EventFields<'_>) {
        if let Some(iid) = said.source_location_iid {
            let added = self.source_location("source", iid);
            self.count(added);
        }
        if let Some(task) = said.task_execution {
            let iid = Message(task).number(task::POSTED_FROM_IID).unwrap_or(0);
            let added = self.source_location("task.posted_from", iid);
            self.count(added);
        }
        if let Some(message) = said.log_message {
            self.args.has_log = true;
            let added = self.log_message(Message(message));
            self.args.log_errors += u32::from(added.is_err());
        }
        if let Some(sample) = said.histogram_sample {
            let added = self.histogram_name(Message(sample));
            self.count(added);
        }
        if let Some(id) = said.correlation_id {
            self.correlation_id(&format!("tp:#{id}"));
        }
        if let Some(id) = said.correlation_id_str {
            self.correlation_id(&message::text(id));
        }
        if let Some(iid) = said.correlation_id_str_iid {
            // A number without an entry adds nothing, and is no error of the argument.
            if let Ok(id) = self.text_of(interned::CORRELATION_ID_STR, iid) {
                self.correlation_id(&id);
            }
        }
    }

    fn correlation_id(&mut self, id: &str) {
        let id = ArgValue::Text(id);
        self.args.main.push("correlation_id", id, self.names);
    }

    fn source_location(&mut self, prefix: &str, iid: u64) -> Result<(), Fault> {
        if iid == 0 {
            return Err(Fault);
        }
        let location = self.entry(interned::SOURCE_LOCATIONS, iid)?;
        let file = location.text(location::FILE_NAME).unwrap_or_default().replace('\\', "/");
        let function = location.text(location::FUNCTION_NAME);
        let line = ArgValue::Uint(location.small(location::LINE_NUMBER).unwrap_or(0).into());
        let args = &mut self.args.main;
        let mut push = |name, value| args.push(&format!("{prefix}.{name}"), value, self.names);
        push("file_name", ArgValue::Text(&file));
        push("function_name", text_or_none(function.as_deref()));
        push("line_number", line);
        Ok(())
    }

    fn log_message(&mut self, message: Message<'_>) -> Result<(), Fault> {
        /// The values of `LogMessage.Priority`.
        const PRIORITIES: std::ops::RangeInclusive<u32> = 0..=7;
        let entry = |field, iid| self.interned.entry(field, iid).map(Message).ok_or(Fault);
        let log = &mut self.args.log;
        let mut push = |key: &str, value| log.push(key, value, self.names);
        let (file, function);
        let body = entry(interned::LOG_MESSAGE_BODY, message.number(log::BODY_IID).unwrap_or(0))?;
        let body = body.text(body::BODY);
        push("track_event.log_message.message", text_or_none(body.as_deref()));
        if let Some(iid) = message.number(log::SOURCE_LOCATION_IID) {
            let location = entry(interned::SOURCE_LOCATIONS, iid)?;
            (file, function) =
                (location.text(location::FILE_NAME), location.text(location::FUNCTION_NAME));
            let line = ArgValue::Int(location.small(location::LINE_NUMBER).unwrap_or(0).into());
            push("track_event.log_message.file_name", text_or_none(file.as_deref()));
            push("track_event.log_message.function_name", text_or_none(function.as_deref()));
            push("track_event.log_message.line_number", line);
        }
        if let Some(priority) = message.small(log::PRIO) {
            let known = PRIORITIES.contains(&priority);
            let priority = if known { priority.into() } else { 0 };
            push("track_event.priority", ArgValue::Int(priority));
        }
        Ok(())
    }

    /// Adds the name of a histogram from interned data. A name in the message itself is an argument
    /// by the schema.
    fn histogram_name(&mut self, sample: Message<'_>) -> Result<(), Fault> {
        let Some(iid) = sample.number(sample::NAME_IID) else {
            return Ok(());
        };
        if sample.bytes(sample::NAME).is_some() {
            return Err(Fault);
        }
        let name = self.entry(interned::HISTOGRAM_NAMES, iid)?.text(histogram::NAME);
        let name = text_or_none(name.as_deref());
        let key = "chrome_histogram_sample.name";
        self.args.main.push(key, name, self.names);
        Ok(())
    }
}

fn text_or_none(text: Option<&str>) -> ArgValue<'_> {
    text.map_or(ArgValue::NoText, ArgValue::Text)
}
