//! The arguments of a frame (rule FT5).

use super::words::{self, FrameKind};
use super::{Kind, PARSER_ERROR};
use crate::arguments::{ArgBuf, ArgValue};
use crate::definitions::Names;
use crate::message::Message;
use crate::output::Faults;

/// The fields that actual starts of both kinds of frames have.
struct Fields {
    present: u32,
    on_time_finish: u32,
    gpu_composition: u32,
    jank: u32,
    prediction: u32,
    severity: u32,
    delay: u32,
    score: u32,
    experimental_jank: u32,
    experimental_present: u32,
    metadata: u32,
}

/// Fields of `ActualDisplayFrameStart`.
const DISPLAY: Fields = Fields {
    present: 4,
    on_time_finish: 5,
    gpu_composition: 6,
    jank: 7,
    prediction: 8,
    severity: 9,
    delay: 10,
    score: 11,
    experimental_jank: 12,
    experimental_present: 13,
    metadata: 14,
};

/// Fields of `ActualSurfaceFrameStart`.
const SURFACE: Fields = Fields {
    present: 6,
    on_time_finish: 7,
    gpu_composition: 8,
    jank: 9,
    prediction: 10,
    severity: 12,
    delay: 13,
    score: 15,
    experimental_jank: 16,
    experimental_present: 17,
    metadata: 18,
};

/// Further fields of `ActualDisplayFrameStart`.
mod display {
    pub const LATCHED_UNSIGNALED: u32 = 15;
    pub const ADDRESSABLE_UNSIGNALED: u32 = 16;
}

/// Further fields of `ExpectedSurfaceFrameStart` and `ActualSurfaceFrameStart`.
mod surface {
    pub const LAYER_NAME: u32 = 5;
    pub const IS_BUFFER: u32 = 11;
    pub const JITTER: u32 = 14;
    pub const LATCHED_FENCE: u32 = 19;
    pub const ANIMATION_TIME: u32 = 20;
}

/// A start without a fault.
#[derive(Debug, Clone, Copy)]
pub(super) struct Start<'a> {
    pub of: FrameKind,
    pub kind: Kind,
    pub token: i64,
    pub display_token: i64,
    pub message: Message<'a>,
    pub packet: i64,
}

/// Writes the arguments of a frame.
pub(super) struct Writer<'w> {
    pub args: &'w mut ArgBuf,
    pub text: &'w mut String,
    pub names: &'w mut Names,
    pub faults: &'w mut Faults,
}

impl Writer<'_> {
    fn push(&mut self, key: &str, value: ArgValue<'_>) {
        self.args.push(key, value, self.names);
    }

    fn word(&mut self, key: &str, word: &str) {
        self.push(key, ArgValue::Text(word));
    }

    fn real(&mut self, key: &str, value: Option<f64>) {
        self.push(key, ArgValue::Real(value.unwrap_or(0.0)));
    }

    /// Replaces the arguments in the buffer.
    pub fn write(&mut self, start: &Start<'_>) {
        self.args.clear();
        if start.of == FrameKind::Surface {
            self.push("Surface frame token", ArgValue::Int(start.token));
        }
        self.push("Display frame token", ArgValue::Int(start.display_token));
        if start.of == FrameKind::Surface {
            let name = start.message.text(surface::LAYER_NAME);
            let name = name.as_deref().map_or(ArgValue::NoText, ArgValue::Text);
            self.push("Layer name", name);
        }
        if start.kind == Kind::Actual {
            self.both(start);
            match start.of {
                FrameKind::Display => self.display(start.message),
                FrameKind::Surface => self.surface(start.message),
            }
        }
    }

    /// Writes the arguments that actual frames of both kinds have.
    fn both(&mut self, start: &Start<'_>) {
        let message = start.message;
        let fields = match start.of {
            FrameKind::Display => DISPLAY,
            FrameKind::Surface => SURFACE,
        };
        let jank = message.small(fields.jank).unwrap_or(0);
        let present = message.small(fields.present);
        let experimental_jank = message.small(fields.experimental_jank).unwrap_or(0);
        let experimental_present = message.small(fields.experimental_present);
        let prediction = message.small(fields.prediction);
        let flag = |field| ArgValue::Int(message.flag(field).into());
        for (key, (word, is_fault)) in [
            ("Present type", words::present(present)),
            ("Present type (experimental)", words::present(experimental_present)),
            ("Prediction type", words::prediction(prediction)),
        ] {
            self.word(key, word);
            if is_fault {
                self.faults.add(PARSER_ERROR, start.packet);
            }
        }
        self.push("On time finish", flag(fields.on_time_finish));
        self.push("GPU composition", flag(fields.gpu_composition));
        self.jank("Jank type", jank);
        self.jank("Jank type (experimental)", experimental_jank);
        let severity = words::severity(message.small(fields.severity), jank);
        self.word("Jank severity type", severity);
        self.real("Jank Severity Score", message.float(fields.score));
        self.real("Present Delay (ms)", message.float(fields.delay));
        self.real("Jank Metadata (debugging only)", message.float(fields.metadata));
        self.word("Jank tag", words::tag(start.of, jank, present));
        let tag = words::tag(start.of, experimental_jank, experimental_present);
        self.word("Jank tag (experimental)", tag);
    }

    fn jank(&mut self, key: &str, jank: u32) {
        words::put_jank(self.text, jank);
        self.args.push(key, ArgValue::Text(self.text), self.names);
    }

    fn display(&mut self, message: Message<'_>) {
        for (key, field) in [
            ("Latched unsignaled count", display::LATCHED_UNSIGNALED),
            ("Addressable unsignaled latch count", display::ADDRESSABLE_UNSIGNALED),
        ] {
            if let Some(count) = message.small(field) {
                let count = i64::from(count as i32);
                self.push(key, ArgValue::Int(count));
            }
        }
    }

    fn surface(&mut self, message: Message<'_>) {
        let jitter = message.float(surface::JITTER);
        self.real("Vsync Resynced Jitter (ms)", jitter);
        let is_buffer = match message.number(surface::IS_BUFFER) {
            None => "Unspecified",
            Some(0) => "No",
            Some(_) => "Yes",
        };
        self.word("Is Buffer?", is_buffer);
        if let Some(time) = message.float(surface::ANIMATION_TIME) {
            self.real("Animation Time (ms)", Some(time));
        }
        if let Some(state) = message.small(surface::LATCHED_FENCE) {
            self.word("Latched fence state", words::latched(state));
        }
    }
}
