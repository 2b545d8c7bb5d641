//! The messages among the events of a flow (rule AL2).

use super::Role;

/// An event of a flow, on the clock of its part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Located {
    /// The number of the clock.
    pub clock: usize,
    /// Its reading, in nanoseconds.
    pub at: i64,
    pub role: Role,
    /// The row of its packet.
    pub packet: i64,
}

/// The result for one flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Paired {
    /// It says nothing about clocks.
    Nothing,
    /// A send and its arrival.
    Message(Located, Located),
    /// Each send and its arrival.
    Messages(Vec<(Located, Located)>),
    /// Sends and arrivals on these two clocks do not pair up.
    Unpaired(usize, usize),
    /// Nothing says which of the events on these two clocks is the end.
    Undirected(usize, usize),
}

/// Finds the messages of a flow.
pub(crate) fn pair(events: &[Located]) -> Paired {
    // Mostly: without lists.
    if let [one, other] = events {
        match (one.role == Role::End, other.role == Role::End) {
            _ if one.clock == other.clock => return Paired::Nothing,
            (false, true) => return Paired::Message(*one, *other),
            (true, false) => return Paired::Message(*other, *one),
            _ => {}
        }
    }
    let (mut ends, mut others): (Vec<&Located>, Vec<&Located>) =
        events.iter().partition(|event| event.role == Role::End);
    let Some(receiver) = ends.first().map(|end| end.clock) else {
        return undirected(events);
    };
    // (a)
    let is_elsewhere = others.iter().all(|other| other.clock != receiver);
    if !is_elsewhere || ends.iter().any(|end| end.clock != receiver) {
        return Paired::Nothing;
    }
    // (b); stable, so that events of one time keep the order of the files
    ends.sort_by_key(|end| end.at);
    others.sort_by_key(|other| (other.clock, other.at));
    let Some(sender) = others.first().map(|other| other.clock) else {
        return Paired::Nothing;
    };
    if let [end] = ends[..] {
        let mut messages: Vec<(Located, Located)> = Vec::new();
        for other in others {
            if messages.last().is_none_or(|(last, _)| last.clock != other.clock) {
                messages.push((*other, *end));
            }
        }
        return Paired::Messages(messages);
    }
    let is_one = others.iter().all(|other| other.clock == sender);
    match is_one && ends.len() == others.len() {
        true => {
            let pairs = others.into_iter().zip(ends);
            Paired::Messages(pairs.map(|(other, end)| (*other, *end)).collect())
        }
        false => Paired::Unpaired(sender, receiver),
    }
}

/// (c)
fn undirected(events: &[Located]) -> Paired {
    let mut clocks = events.iter().map(|event| event.clock);
    let are_through = events.iter().all(|event| event.role == Role::Through);
    let first = clocks.next();
    match first.and_then(|first| Some((first, clocks.find(|other| *other != first)?))) {
        Some((one, other)) if are_through => Paired::Undirected(one, other),
        _ => Paired::Nothing,
    }
}

#[cfg(test)]
#[allow(clippy::panic)]
mod tests {
    use super::*;

    /// `clock:at:role`, each; the packet is the place in the list.
    fn events(text: &str) -> Vec<Located> {
        let mut packet = -1;
        let event = |text: &str| {
            packet += 1;
            let mut parts = text.split(':');
            let mut number = || parts.next().and_then(|part| part.parse().ok()).unwrap_or(-1);
            let (clock, at) = (number() as usize, number());
            let role = match text.rsplit(':').next() {
                Some("s") => Role::Start,
                Some("t") => Role::Through,
                _ => Role::End,
            };
            Located { clock, at, role, packet }
        };
        text.split(' ').map(event).collect()
    }

    fn messages(text: &str) -> Vec<(i64, i64)> {
        match pair(&events(text)) {
            Paired::Message(out, into) => vec![(out.packet, into.packet)],
            Paired::Messages(messages) => {
                messages.iter().map(|(out, into)| (out.packet, into.packet)).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn al2_one_end_has_a_message_from_the_first_event_on_each_other_clock() {
        assert_eq!(messages("0:9:s 1:2:f"), [(0, 1)]);
        assert_eq!(messages("1:2:f 0:9:t 0:8:t 2:5:s"), [(2, 0), (3, 0)]);
    }

    #[test]
    fn al2_as_many_ends_as_others_pair_in_the_order_of_their_clocks() {
        assert_eq!(messages("0:9:s 0:5:s 1:7:f 1:30:f"), [(1, 2), (0, 3)]);
        assert_eq!(pair(&events("0:9:s 1:7:f 1:30:f")), Paired::Unpaired(0, 1));
        assert_eq!(pair(&events("0:9:s 2:9:s 1:7:f 1:30:f")), Paired::Unpaired(0, 1));
    }

    #[test]
    fn al2_an_id_that_both_clocks_use_in_both_roles_falls_out() {
        for text in ["0:1:s 0:2:f 1:1:s 1:2:f", "0:1:s 1:2:f 2:3:f", "0:1:s 1:2:t 1:3:f", "0:1:f"] {
            assert_eq!(pair(&events(text)), Paired::Nothing, "{text}");
        }
    }

    #[test]
    fn al2_throughs_on_several_clocks_have_no_direction() {
        assert_eq!(pair(&events("0:1:t 0:2:t 3:1:t")), Paired::Undirected(0, 3));
        assert_eq!(pair(&events("0:1:t 0:2:t")), Paired::Nothing);
        assert_eq!(pair(&events("0:1:s 3:2:t")), Paired::Nothing);
        assert_eq!(pair(&[]), Paired::Nothing);
    }
}
