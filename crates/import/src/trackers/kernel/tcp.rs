//! The states of TCP connections (rule KE8).

use rustc_hash::FxHashMap;
use timebase_schema::fields::inet_sock_set_state_ftrace_event as tcp;

use super::kernel_event::{ANY, Called, KernelEvent};
use crate::trackers::tracker::TrackerContext;
use crate::world::{NewTrack, Owner, TrackId};

pub(super) const EVENTS: &[u32] = &[362];

const TCP: u32 = 6;
/// The address families of IP.
const FAMILIES: [u32; 2] = [2, 10];

const SYN_SENT: &str = "TCP_SYN_SENT";
const ESTABLISHED: &str = "TCP_ESTABLISHED";
const STATES: [&str; 13] = [
    "TCP_UNKNOWN",
    ESTABLISHED,
    SYN_SENT,
    "TCP_SYN_RECV",
    "TCP_FIN_WAIT1",
    "TCP_FIN_WAIT2",
    "TCP_TIME_WAIT",
    "TCP_CLOSE",
    "TCP_CLOSE_WAIT",
    "TCP_LAST_ACK",
    "TCP_LISTEN",
    "TCP_CLOSING",
    "TCP_NEW_SYN_RECV",
];

/// The connections, by the addresses of their sockets in the kernel.
#[derive(Debug, Default)]
pub(super) struct Streams {
    known: FxHashMap<(u32, u64), TrackId>,
    /// The number of connections that a machine has had.
    counts: FxHashMap<u32, u32>,
}

fn state(number: i32) -> Option<&'static str> {
    STATES.get(usize::try_from(number).ok()?).copied()
}

impl Streams {
    pub fn event(&mut self, here: &KernelEvent<'_>, at: &mut TrackerContext<'_, '_>) {
        let is_tcp = here.u32(tcp::PROTOCOL) == TCP && FAMILIES.contains(&here.u32(tcp::FAMILY));
        let states = state(here.i32(tcp::NEWSTATE)).zip(state(here.i32(tcp::OLDSTATE)));
        let Some((new, _)) = states.filter(|_| is_tcp) else {
            return;
        };
        let (counts, machine) = (&mut self.counts, here.machine);
        let track = self.known.entry((machine, here.u64(tcp::SKADDR)));
        let track = *track.or_insert_with(|| {
            let count = counts.entry(machine).or_default();
            *count = count.saturating_add(1);
            let name = format!("TCP stream#{count}");
            let track = NewTrack::slices(machine, "net_socket_set_state", Some(&name), Owner::None);
            at.world.tracks.get(track.with("tcp_stream_idx", *count))
        });
        let name = match new {
            SYN_SENT => format!("{new}(pid={})", here.tid),
            ESTABLISHED => {
                format!("{new}(sport={},dport={})", here.u32(tcp::SPORT), here.u32(tcp::DPORT))
            }
            _ => new.to_owned(),
        };
        here.end(track, ANY, &[], at);
        let called = Called { category: Some("tcp_state"), name: Some(&name) };
        here.begin(track, called, &[], at);
    }
}
