//! The names of power entities and of consumers of energy (rules OT2, OT3).

use rustc_hash::FxHashMap;

/// The number of a consumer.
pub(crate) type ConsumerId = u32;

/// The numbers of an entity and of one of its states.
pub(crate) type EntityStateId = (u32, u32);

/// A state of a power entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EntityState {
    pub entity: Option<Box<str>>,
    pub state: Option<Box<str>>,
}

/// A consumer of energy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Consumer {
    pub ordinal: i32,
    pub kind: Option<Box<str>>,
    pub name: Option<Box<str>>,
}

/// All states and consumers.
#[derive(Debug, Default)]
pub(crate) struct Energy {
    states: FxHashMap<EntityStateId, EntityState>,
    consumers: FxHashMap<ConsumerId, Consumer>,
}

impl Energy {
    /// Adds a description of a state; the first one counts.
    pub fn describe_state(&mut self, id: EntityStateId, state: EntityState) {
        self.states.entry(id).or_insert(state);
    }

    /// Adds a description of a consumer; the first one counts.
    pub fn describe_consumer(&mut self, id: ConsumerId, consumer: Consumer) {
        self.consumers.entry(id).or_insert(consumer);
    }

    /// The description of a state.
    pub fn state(&self, id: EntityStateId) -> Option<&EntityState> {
        self.states.get(&id)
    }

    /// The description of a consumer.
    pub fn consumer(&self, id: ConsumerId) -> Option<&Consumer> {
        self.consumers.get(&id)
    }
}
