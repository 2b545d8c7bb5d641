//! The texts and groups of ProtoLog's messages, which the trace may state anywhere (rule WS20).

use rustc_hash::FxHashMap;
use timebase_schema::fields::{
    proto_log_viewer_config as config, proto_log_viewer_config_group as group,
    proto_log_viewer_config_message_data as data,
};

use crate::message::Message;
use crate::output::{Counter, Fault};

/// A group with two tags.
pub(crate) const TAG_COLLISION: Fault = Fault::new(
    Counter::info(
        "winscope_protolog_group_tag_collision",
        "a group of ProtoLog has two tags, so its messages have the tag COLLISION_GROUP",
    )
    .drops_nothing(),
);

/// The tag of a group with two tags, and of a message that may be one of several.
const COLLISION_GROUP: &str = "COLLISION_GROUP";

/// The statement about a message, without its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Logged {
    pub text: Box<str>,
    pub level: u32,
    pub group: u32,
    pub location: Option<Box<str>>,
}

/// The texts of all messages of a part.
#[derive(Debug, Default)]
pub(crate) struct Protolog {
    tags: FxHashMap<u32, Box<str>>,
    messages: FxHashMap<u64, Vec<Logged>>,
}

impl Protolog {
    /// Reads a `ProtoLogViewerConfig`. Returns the number of groups that got a second tag.
    pub fn read(&mut self, message: Message<'_>) -> u32 {
        let mut collisions = 0;
        for stated in message.messages(config::GROUPS) {
            let id = stated.small(group::ID).unwrap_or(0);
            let tag = stated.text(group::TAG).unwrap_or_default();
            match self.tags.get_mut(&id) {
                Some(known) if **known == *tag => {}
                Some(known) => {
                    *known = COLLISION_GROUP.into();
                    collisions += 1;
                }
                None => {
                    self.tags.insert(id, tag.into());
                }
            }
        }
        for stated in message.messages(config::MESSAGES) {
            let logged = Logged {
                text: stated.text(data::MESSAGE).unwrap_or_default().into(),
                level: stated.small(data::LEVEL).unwrap_or(0),
                group: stated.small(data::GROUP_ID).unwrap_or(0),
                location: stated.text(data::LOCATION).map(Into::into),
            };
            let id = stated.natural(data::MESSAGE_ID).unwrap_or(0);
            let known = self.messages.entry(id).or_default();
            if !known.contains(&logged) {
                known.push(logged);
            }
        }
        collisions
    }

    /// The tag of a group.
    pub fn tag(&self, group: u32) -> Option<&str> {
        self.tags.get(&group).map(AsRef::as_ref)
    }

    /// All messages with a number.
    pub fn messages(&self, id: u64) -> &[Logged] {
        self.messages.get(&id).map(Vec::as_slice).unwrap_or_default()
    }
}
