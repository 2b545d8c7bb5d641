//! Arguments of render stages (rule GP6).

use timebase_schema::fields::{
    gpu_render_stage_event as stage, gpu_render_stage_event_extra_data as datum,
};

use super::event::Event;
use crate::arguments::{ArgBuf, ArgValue};
use crate::definitions::Names;
use crate::world::Upid;

/// The values for arguments that are not in the event itself.
#[derive(Debug)]
pub(super) struct Known<'a> {
    pub category: Option<i32>,
    /// The description of the stage, if it is known; it may have no text.
    pub description: Option<Option<Box<str>>>,
    pub subpasses: Option<&'a str>,
    pub queue: u64,
    pub upid: Upid,
    /// The names of the render target, the render pass and the command buffer.
    pub objects: [Option<&'a str>; 3],
}

fn text(text: Option<&str>) -> ArgValue<'_> {
    text.map_or(ArgValue::NoText, ArgValue::Text)
}

/// Adds the arguments of the stage.
pub(super) fn of_stage(known: &Known<'_>, args: &mut ArgBuf, names: &mut Names) {
    if let Some(category) = known.category {
        let category = ArgValue::Int(category.into());
        args.push("render_stage_category", category, names);
    }
    if let Some(description) = &known.description {
        args.push("description", text(description.as_deref()), names);
    }
}

/// Adds the arguments of the event itself.
pub(super) fn of_event(event: &Event<'_>, known: &Known<'_>, args: &mut ArgBuf, names: &mut Names) {
    let message = event.message;
    let mut push = |key: &str, value: ArgValue<'_>| args.push(key, value, names);
    if let Some(pass) = message.number(stage::RENDER_PASS_INSTANCE_ID).filter(|&pass| pass != 0) {
        let pass = format!("rp:#{pass}");
        push("correlation_id", ArgValue::Text(&pass));
    }
    for datum in message.messages(stage::EXTRA_DATA) {
        let value = datum.text(datum::VALUE);
        push(&datum.text(datum::NAME).unwrap_or_default(), text(value.as_deref()));
    }
    let handle = |field| ArgValue::Uint(message.number(field).unwrap_or(0));
    let [target, pass, buffer] = known.objects.map(text);
    push("context_id", handle(stage::CONTEXT));
    push("render_target", handle(stage::RENDER_TARGET_HANDLE));
    push("render_target_name", target);
    push("render_pass", handle(stage::RENDER_PASS_HANDLE));
    push("render_pass_name", pass);
    push("render_subpasses", text(known.subpasses));
    push("command_buffer", handle(stage::COMMAND_BUFFER_HANDLE));
    push("command_buffer_name", buffer);
    let submission = message.small(stage::SUBMISSION_ID).unwrap_or(0);
    push("submission_id", ArgValue::Int(submission.into()));
    push("hw_queue_id", ArgValue::Uint(known.queue));
    push("upid", ArgValue::Int(known.upid.0.into()));
}
