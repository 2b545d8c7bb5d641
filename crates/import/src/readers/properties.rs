//! Properties of the system that are facts (rule MD13).

use timebase_schema::fields::{
    android_system_property as property, android_system_property_property_value as value,
};

use super::context::ImportContext;
use super::packet::PlacedPacket;
use crate::message::{Message, integer};
use crate::output::About;

/// States the facts of an `AndroidSystemProperty`.
pub(super) fn state(message: Message<'_>, packet: &PlacedPacket<'_>, context: &mut ImportContext) {
    let about = About::trace(context.place.clocks.parts[packet.part].file.id);
    for property in message.messages(property::VALUES) {
        let name = match &*property.text(value::NAME).unwrap_or_default() {
            "debug.tracing.profile_boot_classpath" => "android_profile_boot_classpath",
            "debug.tracing.profile_system_server" => "android_profile_system_server",
            _ => continue,
        };
        if let Some(value) = integer(property.bytes(value::VALUE).unwrap_or_default()) {
            context.journal.facts.set(name, about, i64::from(value));
        }
    }
}
