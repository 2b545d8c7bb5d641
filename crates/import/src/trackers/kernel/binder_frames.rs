//! The open transactions of each thread, from its commands to the binder driver and the driver's replies
//! (rule KB4).

use rustc_hash::FxHashMap;

use crate::world::Utid;

/// The kind of a transaction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sent {
    pub is_one_way: bool,
    pub is_reply: bool,
}

/// An action of a thread.
#[derive(Debug, Clone, Copy)]
pub(super) enum Event {
    Command(u32),
    Sends(Sent),
    Receives(Sent),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The thread asks the driver to send a transaction.
    Sending,
    /// The driver has sent it.
    Sent,
    /// The driver has told the thread so.
    Accepted,
    /// Another thread has answered.
    Answered,
    /// The thread has received a transaction.
    Received,
    /// The driver has told the thread so.
    Called,
    /// The thread asks the driver to send the answer.
    Replying,
    /// The driver has sent the answer.
    Replied,
}

#[derive(Debug, Clone, Copy)]
struct Frame {
    state: State,
    sent: Sent,
}

/// The stacks of all threads with open transactions.
#[derive(Debug, Default)]
pub(super) struct Frames(FxHashMap<Utid, Vec<Frame>>);

/// The limit of frames of a thread; further frames are left out.
const DEEPEST: usize = 512;

mod command {
    pub const TRANSACTION: u32 = 0x4040_6300;
    pub const TRANSACTION_SG: u32 = 0x4048_6311;
    pub const REPLY: u32 = 0x4040_6301;
    pub const REPLY_SG: u32 = 0x4048_6312;
}

mod returned {
    pub const TRANSACTION: u32 = 0x8040_7202;
    pub const TRANSACTION_SEC_CTX: u32 = 0x8048_7202;
    pub const REPLY: u32 = 0x8040_7203;
    pub const DEAD_REPLY: u32 = 0x7205;
    pub const TRANSACTION_COMPLETE: u32 = 0x7206;
    pub const FAILED_REPLY: u32 = 0x7211;
    pub const FROZEN_REPLY: u32 = 0x7212;
    pub const ONEWAY_SPAM_SUSPECT: u32 = 0x7213;
    pub const TRANSACTION_PENDING_FROZEN: u32 = 0x7214;
}

impl Frames {
    /// Takes an action of a thread.
    pub fn follow(&mut self, thread: Utid, event: Event) {
        let top = self.0.get_mut(&thread).and_then(|frames| frames.last_mut());
        match (event, top) {
            (Event::Command(command::TRANSACTION | command::TRANSACTION_SG), _) => {
                self.push(thread, State::Sending);
            }
            (Event::Command(command::REPLY | command::REPLY_SG), Some(top))
                if top.state == State::Called =>
            {
                top.state = State::Replying;
            }
            (Event::Sends(sent), Some(top)) => match top.state {
                State::Sending => (top.state, top.sent) = (State::Sent, sent),
                State::Replying => (top.state, top.sent) = (State::Replied, sent),
                State::Received => self.pop(thread),
                State::Sent
                | State::Accepted
                | State::Answered
                | State::Called
                | State::Replied => {}
            },
            (Event::Receives(sent), _) if sent.is_one_way => {}
            (Event::Receives(sent), _) if !sent.is_reply => self.push(thread, State::Received),
            (Event::Receives(_), Some(top)) if top.state == State::Accepted => {
                top.state = State::Answered;
            }
            _ => {}
        }
    }

    /// Takes a reply of the driver to a thread. Returns whether it ends the slice of a transaction because
    /// the transaction failed.
    pub fn returns(&mut self, thread: Utid, told: u32) -> bool {
        let frames = self.0.get_mut(&thread);
        let Some(top) = frames.and_then(|frames| frames.last_mut()) else {
            return false;
        };
        match (told, top.state) {
            (returned::TRANSACTION | returned::TRANSACTION_SEC_CTX, State::Received) => {
                top.state = State::Called;
            }
            (
                returned::TRANSACTION_COMPLETE | returned::ONEWAY_SPAM_SUSPECT,
                State::Replied | State::Sending,
            )
            | (returned::REPLY, State::Answered) => self.pop(thread),
            (returned::TRANSACTION_COMPLETE | returned::ONEWAY_SPAM_SUSPECT, State::Sent) => {
                match top.sent.is_one_way {
                    true => self.pop(thread),
                    false => top.state = State::Accepted,
                }
            }
            (
                returned::DEAD_REPLY
                | returned::FAILED_REPLY
                | returned::FROZEN_REPLY
                | returned::TRANSACTION_PENDING_FROZEN,
                state,
            ) => return self.fails(thread, state),
            _ => {}
        }
        false
    }

    /// Takes a failed transaction. Returns whether it has a slice that nothing else ends.
    fn fails(&mut self, thread: Utid, state: State) -> bool {
        let sent = self.top(thread).map(|top| top.sent);
        match state {
            State::Sending => {
                self.pop(thread);
                false
            }
            State::Sent | State::Replying | State::Replied | State::Accepted => {
                self.pop(thread);
                sent == Some(Sent::default())
            }
            State::Answered | State::Received | State::Called => false,
        }
    }

    fn top(&self, thread: Utid) -> Option<&Frame> {
        self.0.get(&thread)?.last()
    }

    fn push(&mut self, thread: Utid, state: State) {
        let frames = self.0.entry(thread).or_default();
        if frames.len() < DEEPEST {
            frames.push(Frame { state, sent: Sent::default() });
        }
    }

    fn pop(&mut self, thread: Utid) {
        if let Some(frames) = self.0.get_mut(&thread) {
            frames.pop();
            if frames.is_empty() {
                self.0.remove(&thread);
            }
        }
    }
}
