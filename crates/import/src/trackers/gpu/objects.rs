//! The names that programs give to objects of Vulkan (rule GP8).

use rustc_hash::FxHashMap;
use timebase_schema::fields::vulkan_api_event_vk_debug_utils_object_name as name;

use crate::message::Message;

/// The `VkObjectType` of objects in render stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ObjectType {
    CommandBuffer,
    RenderPass,
    Framebuffer,
}

impl ObjectType {
    fn of(number: u32) -> Option<Self> {
        match number {
            6 => Some(ObjectType::CommandBuffer),
            18 => Some(ObjectType::RenderPass),
            24 => Some(ObjectType::Framebuffer),
            _ => None,
        }
    }
}

/// The names of objects, by machine, type and handle.
#[derive(Debug, Default)]
pub(super) struct Objects(FxHashMap<(u32, ObjectType, u64), Box<str>>);

impl Objects {
    /// Takes a `VkDebugUtilsObjectName` of a machine: the object has this name from now on.
    pub fn name(&mut self, machine: u32, said: Message<'_>) {
        let Some(of) = ObjectType::of(said.small(name::OBJECT_TYPE).unwrap_or(0)) else {
            return;
        };
        let name = said.text(name::OBJECT_NAME).unwrap_or_default();
        let name = name.split('\0').next().unwrap_or_default();
        let handle = said.number(name::OBJECT).unwrap_or(0);
        self.0.insert((machine, of, handle), name.into());
    }

    /// The current name of an object.
    pub fn get(&self, machine: u32, of: ObjectType, handle: u64) -> Option<&str> {
        self.0.get(&(machine, of, handle)).map(|name| &**name)
    }
}
