//! Symbols that came after the trace: `module_symbols` (rules SY).

use timebase_schema::fields::{address_symbols as symbols, line, module_symbols as module};

use super::callstacks::{Callstacks, Source, SymbolLine, symbol_set};
use super::faults::{INVALID_FRAME, INVALID_MAPPING};
use super::packet::{Packet, number, some_number};
use super::stacks::build_id;
use crate::definitions::Names;
use crate::message::Message;
use crate::trackers::tracker::TrackerContext;

/// Gives the frames of a module their symbols.
pub(super) fn symbolize(
    packet: &Packet<'_>,
    callstacks: &mut Callstacks,
    at: &mut TrackerContext<'_, '_>,
) {
    let (message, id) = (packet.message(), packet.event.packet);
    let world = &mut *at.world;
    let names = &mut world.definitions.names;
    let path = number(message.bytes(module::PATH).unwrap_or_default(), names);
    let build_id = build_id(message.bytes(module::BUILD_ID), names);
    let mappings = callstacks.mappings_of((packet.writer.machine, path, build_id));
    if mappings.is_empty() {
        return world.faults.add(INVALID_MAPPING, id);
    }
    let frames = callstacks.frames_of(mappings);
    for symbols in message.messages(module::ADDRESS_SYMBOLS) {
        let lines: Vec<SymbolLine> =
            symbols.messages(symbols::LINES).map(|said| line(said, names)).collect();
        if lines.is_empty() {
            continue;
        }
        let line = lines.iter().find_map(|line| line.source.line);
        let set = symbol_set(&lines, names, at.rows);
        match frames.get(&symbols.number(symbols::ADDRESS).unwrap_or(0)) {
            None => world.faults.add(INVALID_FRAME, id),
            Some(frames) => {
                for &frame in frames {
                    callstacks.symbolize(frame, set, line);
                }
            }
        }
    }
}

/// A `Line`.
fn line(line: Message<'_>, names: &mut Names) -> SymbolLine {
    let function = line.bytes(line::FUNCTION_NAME).map(|function| number(function, names));
    let file = some_number(line.bytes(line::SOURCE_FILE_NAME), names);
    let line = file.and(line.small(line::LINE_NUMBER));
    SymbolLine { function, source: Source { file, line } }
}
