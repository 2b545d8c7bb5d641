//! The meaning of a switch's `prev_state` (rule Q4).

use rustc_hash::FxHashMap;

use crate::definitions::SystemInfo;
use crate::output::Rows;
use crate::world::World;

/// The state in which a thread leaves a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EndState {
    /// The number of the state's name; `None` if the kernel's number has no meaning.
    pub name: Option<i64>,
    pub off_cpu: OffCpu,
}

/// The state of a thread that does not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OffCpu {
    /// `R`.
    Runnable,
    /// `R+`.
    Preempted,
    /// Any other state.
    Sleeping,
    /// No known state.
    Unknown,
}

/// The states seen so far.
#[derive(Debug, Default)]
pub(super) struct EndStates {
    met: FxHashMap<(u32, u16), EndState>,
}

impl EndStates {
    /// The state, by the kernel version of the machine.
    #[inline]
    pub fn of(
        &mut self,
        machine: u32,
        prev_state: u64,
        world: &mut World,
        rows: &mut Rows<'_>,
    ) -> EndState {
        let bits = prev_state as u16;
        if let Some(&state) = self.met.get(&(machine, bits)) {
            return state;
        }
        let system = world.definitions.machines.get(machine).map(|known| &known.system);
        let version = system.and_then(SystemInfo::kernel_version);
        let text = text(bits, version.unwrap_or((4, 4)));
        let state = EndState {
            off_cpu: match text.as_deref() {
                Some("R") => OffCpu::Runnable,
                Some("R+") => OffCpu::Preempted,
                Some(_) => OffCpu::Sleeping,
                None => OffCpu::Unknown,
            },
            name: text.map(|text| world.strings.number(&text, rows)),
        };
        self.met.insert((machine, bits), state);
        state
    }
}

/// The name of the state for this kernel version.
fn text(bits: u16, version: (u32, u32)) -> Option<String> {
    const COMMON: [(u16, char); 6] =
        [(1, 'S'), (2, 'D'), (4, 'T'), (8, 't'), (0x10, 'X'), (0x20, 'Z')];
    const NEW: [(u16, char); 2] = [(0x40, 'P'), (0x80, 'I')];
    const OLD: [(u16, char); 5] =
        [(0x200, 'P'), (0x40, 'x'), (0x80, 'K'), (0x100, 'W'), (0x400, 'N')];
    const UNKNOWN: u16 = 0xfe00;
    const IDLE: u16 = 2 | 0x400;
    const MOST: usize = 3;

    let is_new = version >= (4, 14);
    let preempted = match version {
        _ if is_new => 0x100,
        _ if version >= (4, 8) => 0x1000,
        _ => 0x800,
    };
    if is_new && bits & UNKNOWN != 0 {
        return None;
    }
    let letters: &[(u16, char)] = if is_new { &NEW } else { &OLD };
    let all = COMMON.iter().chain(letters).fold(0, |all, (bit, _)| all | bit);
    if !is_new && bits & all == IDLE {
        return Some("I".to_owned());
    }
    let set = COMMON.iter().chain(letters);
    let set = set.filter(|(bit, _)| bits & bit != 0);
    let text: String = set.map(|&(_, letter)| letter).take(MOST).collect();
    if !text.is_empty() {
        return Some(text);
    }
    let runnable = if bits & preempted != 0 { "R+" } else { "R" };
    Some(runnable.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q4_letters_depend_on_the_kernel() {
        let of = |bits, version| text(bits, version).unwrap_or_default();
        for (version, preempted) in [((4, 4), 0x800), ((4, 9), 0x1000), ((6, 1), 0x100)] {
            assert_eq!(of(0, version), "R");
            assert_eq!(of(preempted, version), "R+");
            assert_eq!(of(preempted | 1, version), "S");
            assert_eq!(of(0x3f, version), "SDT");
        }
        assert_eq!((of(0x40, (5, 0)), of(0x80, (5, 0))), ("P".into(), "I".into()));
        assert_eq!(text(0x201, (5, 0)), None);
        assert_eq!((of(0x402, (4, 4)), of(0x200, (4, 4))), ("I".into(), "P".into()));
        assert_eq!((of(0x400, (4, 4)), of(0x40, (4, 4))), ("N".into(), "x".into()));
    }
}
