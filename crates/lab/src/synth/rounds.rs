//! Rounds in which a guest asks the host for the time, and the packets with these rounds (rules X19
//! to X24).
//!
//! A guest reads its clocks and sends a ping; the host reads its own, and answers; the guest reads
//! again and sends an update, and the host reads again. The readings of both are one
//! `synced_clocks` each time.

use std::collections::VecDeque;
use std::io::{self, Write};

use crate::synth::encode;
use crate::synth::output::Port;
use crate::synth::random::Random;
use crate::synth::scene::seq;
use crate::synth::set::Set;
use crate::synth::world::{BEGIN, Builtin, World};

/// The number of remembered `synced_clocks`.
const REMEMBERED: usize = 5;

/// The number of rounds before the trace begins: more than are remembered.
const BEFORE: i64 = 3;

/// Fields of `TracePacket`, `RemoteClockSync` and `SyncedClocks`.
mod field {
    pub const REMOTE_CLOCK_SYNC: u32 = 107;
    pub const SYNCED_CLOCKS: u32 = 1;
    pub const CLIENT_CLOCKS: u32 = 2;
    pub const HOST_CLOCKS: u32 = 3;
}

pub(crate) struct Rounds {
    random: Random,
    /// Both machines, only for rounds: the recording ones may be earlier or later.
    host: World,
    guest: World,
    round_trip: u64,
    jitter: u64,
    /// The message's share of a round trip, in hundredths.
    share: u64,
    interval: i64,
    /// The true time of the next ping.
    next: i64,
    synced: VecDeque<Synced>,
}

#[derive(Debug)]
struct Synced {
    client: Builtin,
    host: Builtin,
}

impl Rounds {
    /// Rounds of two machines at an early time.
    pub fn new(set: &Set, random: Random, host: World, guest: World) -> Self {
        let interval = set.round_interval_ns as i64;
        let mut rounds = Rounds {
            random,
            host,
            guest,
            round_trip: set.round_trip_ns,
            jitter: set.jitter_ns,
            share: 50 + u64::from(set.asymmetry_percent),
            // The timer is late.
            interval: interval + interval / 1000,
            next: 0,
            synced: VecDeque::new(),
        };
        rounds.next = BEGIN - BEFORE * (rounds.interval + rounds.longest()) + rounds.interval;
        rounds
    }

    /// Writes a packet with the last rounds before a true time.
    pub fn write<W: Write>(&mut self, until: i64, out: &mut Port<W>) -> io::Result<()> {
        while self.next + self.longest() <= until {
            self.round();
        }
        out.packet(|out| {
            encode::number(out, 10, seq::SERVICE.into());
            encode::message(out, field::REMOTE_CLOCK_SYNC, |out| {
                for synced in &self.synced {
                    let (client, host) = (synced.client.readings(), synced.host.readings());
                    encode::message(out, field::SYNCED_CLOCKS, |out| {
                        encode::snapshot_as(out, field::CLIENT_CLOCKS, &client, 0);
                        encode::snapshot_as(out, field::HOST_CLOCKS, &host, 0);
                    });
                }
            });
        })?;
        Ok(())
    }

    /// The longest time of a round.
    fn longest(&self) -> i64 {
        2 * (self.round_trip + self.jitter) as i64
    }

    fn round(&mut self) {
        let ping = self.next;
        let (message, answer) = self.ways();
        let update = ping + message + answer;
        self.read(ping, ping + message);
        let (message, _) = self.ways();
        self.read(update, update + message);
        self.next = update + self.interval;
    }

    /// The time of a message, and of its answer.
    fn ways(&mut self) -> (i64, i64) {
        let all = self.round_trip + self.random.below(self.jitter + 1);
        let message = all * self.share / 100;
        (message as i64, (all - message) as i64)
    }

    /// The guest reads its clocks at one true time, and the host at another.
    fn read(&mut self, client: i64, host: i64) {
        self.guest.go_to(client);
        self.host.go_to(host);
        if self.synced.len() == REMEMBERED {
            self.synced.pop_front();
        }
        self.synced.push_back(Synced { client: self.guest.read(), host: self.host.read() });
    }
}
