//! Callstacks whose frames are in the event itself (rules SS7, FP4).

use rustc_hash::FxHashMap;
use timebase_schema::fields::{inline_callstack as list, inline_callstack_frame as frame};

use super::callstacks::{CallsiteId, Callstacks, MappingId, Source, SymbolLine};
use super::packet::number;
use crate::message::Message;
use crate::trackers::tracker::TrackerContext;

/// The mappings of such frames.
#[derive(Debug, Default)]
pub(super) struct InlineStacks(
    /// By machine.
    FxHashMap<u32, MappingId>,
);

impl InlineStacks {
    /// The callsite of the frames in a message, the outermost first; `None` without frames. `of` is the
    /// machine, and the name of the frames' mapping.
    pub fn stack(
        &mut self,
        message: Message<'_>,
        of: (u32, &str),
        callstacks: &mut Callstacks,
        at: &mut TrackerContext<'_, '_>,
    ) -> Option<CallsiteId> {
        let (machine, name) = of;
        let names = &mut at.world.definitions.names;
        let mut callsite = None;
        for (depth, frame) in message.messages(list::FRAMES).enumerate() {
            let mapping = self.0.entry(machine);
            let mapping =
                *mapping.or_insert_with(|| callstacks.dummy(machine, name, names, at.rows));
            let line = SymbolLine {
                function: frame.bytes(frame::FUNCTION_NAME).map(|name| number(name, names)),
                source: Source {
                    file: frame.bytes(frame::SOURCE_FILE).map(|file| number(file, names)),
                    line: frame.small(frame::LINE_NUMBER),
                },
            };
            let frame = callstacks.dummy_frame(mapping, line, names, at.rows);
            callsite = Some(callstacks.callsite(callsite, depth, frame, at.rows));
        }
        callsite
    }
}
