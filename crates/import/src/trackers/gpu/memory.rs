//! Vulkan memory of programs (rule M15).
//!
//! # Design
//!
//! The tracker keeps a sum for each track, and a process has a few tracks. A packet has a source
//! and an operation. Every packet is a row, and some packets change a sum.

use rustc_hash::FxHashMap;
use timebase_schema::fields::{
    interned_data as interned, interned_string as text, vulkan_memory_event as memory,
    vulkan_memory_event_annotation as annotation,
};
use timebase_schema::tables::vulkan_memory_record;
use timebase_trace::Kept;

use crate::arguments::{ArgBuf, ArgValue};
use crate::message::Message;
use crate::output::Cell;
use crate::timeline::PacketEvent;
use crate::trackers::tracker::TrackerContext;
use crate::world::{NewTrack, Owner, TrackId, Upid};

/// The fields of `InternedData` that are looked up, in intervals that have one of these events.
pub(crate) const VULKAN_INTERNED: &[(u32, Kept)] =
    &[(interned::FUNCTION_NAMES, Kept::Interval), (interned::VULKAN_MEMORY_KEYS, Kept::Interval)];

const SOURCES: [&str; 6] =
    ["UNSPECIFIED", "DRIVER", "DEVICE", "GPU_DEVICE_MEMORY", "GPU_BUFFER", "GPU_IMAGE"];

const OPERATIONS: [&str; 6] =
    ["UNSPECIFIED", "CREATE", "DESTROY", "BIND", "DESTROY_BOUND", "ANNOTATIONS"];

const SCOPES: [&str; 6] = ["UNSPECIFIED", "COMMAND", "OBJECT", "CACHE", "DEVICE", "INSTANCE"];

/// The word for a number.
fn word(words: &[&'static str; 6], number: u32) -> Option<&'static str> {
    let number = usize::try_from(number).ok()?;
    words.get(number).copied()
}

/// The kinds of sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Sum {
    /// The driver's allocations, by scope.
    OfDriver(&'static str),
    /// Allocations on the device, by the type of memory.
    Allocated(u32),
    /// The part of `Allocated` that is bound to buffers and images.
    Bound(u32),
}

/// A `VulkanMemoryEvent`.
struct Event<'a> {
    packet: &'a PacketEvent<'a>,
    message: Message<'a>,
}

/// The sums of processes, with their tracks.
#[derive(Debug, Default)]
pub(super) struct VulkanMemory(FxHashMap<(Upid, Sum), (TrackId, i64)>);

impl VulkanMemory {
    /// Writes an event as a row, and changes a sum of its process.
    pub fn event(&mut self, ts: i64, packet: &PacketEvent<'_>, at: &mut TrackerContext<'_, '_>) {
        let event = Event { packet, message: Message(packet.payload) };
        let pid = event.message.small(memory::PID).unwrap_or(0);
        let upid = at.world.threads.process(packet.machine, pid.into());
        if let Some((sum, change)) = event.changes() {
            let (track, value) = self.0.entry((upid, sum)).or_insert_with(|| {
                let track = sum.track(packet.machine, upid);
                (at.world.tracks.get(track), 0)
            });
            *value = value.wrapping_add(change);
            let (track, value) = (*track, *value as f64);
            at.world.value(ts, track, value, None, at.rows);
        }
        event.row(ts, upid, at);
    }
}

impl Sum {
    fn track(self, machine: u32, upid: Upid) -> NewTrack {
        let owner = Owner::Process(upid);
        let of_type = |track_type, number: u32, what| {
            let name = format!("vulkan.mem.device.memory.type.{number}.{what}");
            let track = NewTrack::counter(machine, track_type, &name, owner);
            track.with("vulkan_memory_type", number)
        };
        match self {
            Sum::OfDriver(scope) => {
                let name = format!("vulkan.mem.driver.scope.{scope}");
                let track = NewTrack::counter(machine, "vulkan_driver_mem", &name, owner);
                track.with("vulkan_allocation_scope", scope)
            }
            Sum::Allocated(number) => of_type("vulkan_device_mem_allocation", number, "allocation"),
            Sum::Bound(number) => of_type("vulkan_device_mem_bind", number, "bind"),
        }
    }
}

impl Event<'_> {
    /// The sum that the event changes, and the difference.
    fn changes(&self) -> Option<(Sum, i64)> {
        let message = self.message;
        let number = |field| message.small(field).unwrap_or(0);
        let source = word(&SOURCES, number(memory::SOURCE))?;
        let memory_type = number(memory::MEMORY_TYPE);
        let (sum, adds, takes) = match source {
            "DRIVER" => {
                let scope = word(&SCOPES, number(memory::ALLOCATION_SCOPE))
                    .filter(|&scope| scope != SCOPES[0])?;
                (Sum::OfDriver(scope), "CREATE", "DESTROY")
            }
            "GPU_DEVICE_MEMORY" => (Sum::Allocated(memory_type), "CREATE", "DESTROY"),
            "GPU_BUFFER" | "GPU_IMAGE" => (Sum::Bound(memory_type), "BIND", "DESTROY_BOUND"),
            _ => return None,
        };
        let size = message.number(memory::MEMORY_SIZE).unwrap_or(0) as i64;
        match word(&OPERATIONS, number(memory::OPERATION))? {
            operation if operation == adds => Some((sum, size)),
            operation if operation == takes => Some((sum, size.wrapping_neg())),
            _ => None,
        }
    }

    /// A text of interned data; `None` for an entry without a text.
    fn text(&self, field: u32, iid: u64, at: &TrackerContext<'_, '_>) -> Option<String> {
        let entry = at.world.interned.get(self.packet.interval, field, iid)?;
        Some(Message(entry).text(text::STR)?.into_owned())
    }

    fn row(&self, ts: i64, upid: Upid, at: &mut TrackerContext<'_, '_>) {
        let message = self.message;
        let args = self.annotations(at);
        let arg_set_id = at.world.arg_set(args.as_bytes(), at.rows);
        let function = message.number(memory::CALLER_IID);
        let function = function.and_then(|iid| self.text(interned::FUNCTION_NAMES, iid, at));
        let function = function.map(|name| at.world.strings.number(&name, at.rows));
        let number = |field| message.small(field).unwrap_or(0);
        let source = at.rows.optional_text(word(&SOURCES, number(memory::SOURCE)));
        let operation = at.rows.optional_text(word(&OPERATIONS, number(memory::OPERATION)));
        let scope = message.small(memory::ALLOCATION_SCOPE).and_then(|scope| word(&SCOPES, scope));
        let scope = at.rows.optional_text(scope);
        let natural = |field| Cell::or_null(message.natural(field).map(|value| value as i64));
        let small = |field| Cell::or_null(message.small(field));
        let id = at.rows.count(&vulkan_memory_record::TABLE);
        at.rows.push(vulkan_memory_record::Row {
            id: Cell::from(id),
            ts: Cell::from(ts),
            source,
            operation,
            upid: Cell::from(upid.0),
            device: natural(memory::DEVICE),
            device_memory: natural(memory::DEVICE_MEMORY),
            memory_type: small(memory::MEMORY_TYPE),
            heap: small(memory::HEAP),
            function_name: Cell::or_null(function),
            object_handle: natural(memory::OBJECT_HANDLE),
            memory_address: natural(memory::MEMORY_ADDRESS),
            memory_size: natural(memory::MEMORY_SIZE),
            scope,
            arg_set_id: Cell::or_null(arg_set_id),
        });
    }

    /// The annotations with known keys.
    fn annotations(&self, at: &mut TrackerContext<'_, '_>) -> ArgBuf {
        const KEYS: u32 = interned::VULKAN_MEMORY_KEYS;
        let mut args = ArgBuf::default();
        for annotation in self.message.messages(memory::ANNOTATIONS) {
            let key = self.text(KEYS, annotation.number(annotation::KEY_IID).unwrap_or(0), at);
            let Some(key) = key else { continue };
            let text;
            let value = if let Some(number) = annotation.number(annotation::INT_VALUE) {
                ArgValue::Int(number as i64)
            } else if let Some(number) = annotation.float(annotation::DOUBLE_VALUE) {
                ArgValue::Real(number)
            } else if let Some(iid) = annotation.number(annotation::STRING_IID) {
                text = self.text(KEYS, iid, at);
                text.as_deref().map_or(ArgValue::NoText, ArgValue::Text)
            } else {
                continue;
            };
            args.push(&key, value, &mut at.world.definitions.names);
        }
        args
    }
}
