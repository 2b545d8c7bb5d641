//! Numbers of the kernel whose meaning depends on its version: states of threads, and how memory is allocated.

/// The version of a kernel, of which only the first two numbers matter.
pub type Version = (u32, u32);

/// The kernel whose numbers are assumed if the trace names none.
const ASSUMED: Version = (4, 4);

/// `5.10.43-android12` is 5.10.
pub fn version(release: &str) -> Version {
    let mut numbers = release.split(|char: char| !char.is_ascii_digit());
    let mut number = || numbers.next().and_then(|number| number.parse().ok());
    match (number(), number()) {
        (Some(major), Some(minor)) => (major, minor),
        _ => ASSUMED,
    }
}

/// The state of a thread that lost its CPU, with bits from kernel 4.14 on, before, and from 4.8 on.
pub fn state(raw: i64, version: Version) -> String {
    let raw = raw as u16;
    let has = |bit: u16| raw & bit != 0;
    let is_new = version >= (4, 14);
    if is_new && has(0xfe00) {
        return "?".to_owned();
    }
    let is_preempted = match version {
        version if version >= (4, 14) => has(0x100),
        version if version >= (4, 8) => has(0x1000),
        _ => has(0x800),
    };
    let low: [(u16, char); 6] =
        [(0x1, 'S'), (0x2, 'D'), (0x4, 'T'), (0x8, 't'), (0x10, 'X'), (0x20, 'Z')];
    let old: [(u16, char); 5] =
        [(0x200, 'P'), (0x40, 'x'), (0x80, 'K'), (0x100, 'W'), (0x400, 'N')];
    // Uninterruptible without load is idle.
    let is_idle = !is_new && raw & 0x7ff == 0x402;
    let high: &[(u16, char)] = match (is_new, is_idle) {
        (true, _) => &[(0x40, 'P'), (0x80, 'I')],
        (false, true) => return "I".to_owned(),
        (false, false) => &old,
    };
    let letters = low.iter().chain(high).filter(|(bit, _)| has(*bit));
    let mut letters: Vec<String> = letters.map(|(_, letter)| letter.to_string()).collect();
    if letters.is_empty() {
        letters.push(if is_preempted { "R+" } else { "R" }.to_owned());
    }
    // Trace processor has three characters for it.
    letters.join("|").chars().take(3).collect()
}

/// The flags of an allocation: a whole set of them where the number has it, then single ones.
pub fn gfp(value: u64, version: Version) -> String {
    if value == 0 {
        return "GFP_NOWAIT".to_owned();
    }
    let flags: &[(u64, &str)] = match version >= (4, 14) {
        true => &SINCE_4_14,
        false => &BEFORE_4_14,
    };
    let mut left = value;
    let mut names: Vec<String> = Vec::new();
    for (bits, name) in flags {
        if left & bits == *bits {
            left &= !bits;
            names.push((*name).to_owned());
        }
    }
    if left != 0 {
        names.push(format!("0x{left:x}"));
    }
    names.join("|")
}

const BEFORE_4_14: [(u64, &str); 29] = [
    (0x0043_52ca, "GFP_TRANSHUGE"),
    (0x0242_00ca, "GFP_HIGHUSER_MOVABLE"),
    (0x0242_00c2, "GFP_HIGHUSER"),
    (0x0242_00c0, "GFP_USER"),
    (0x0240_00d0, "GFP_TEMPORARY"),
    (0x0240_00c0, "GFP_KERNEL"),
    (0x0240_0040, "GFP_NOFS"),
    (0x0208_0020, "GFP_ATOMIC"),
    (0x0240_0000, "GFP_NOIO"),
    (0x20, "GFP_HIGH"),
    (0x8_0000, "GFP_ATOMIC"),
    (0x40, "GFP_IO"),
    (0x100, "GFP_COLD"),
    (0x200, "GFP_NOWARN"),
    (0x400, "GFP_REPEAT"),
    (0x800, "GFP_NOFAIL"),
    (0x1000, "GFP_NORETRY"),
    (0x4000, "GFP_COMP"),
    (0x8000, "GFP_ZERO"),
    (0x1_0000, "GFP_NOMEMALLOC"),
    (0x2000, "GFP_MEMALLOC"),
    (0x2_0000, "GFP_HARDWALL"),
    (0x4_0000, "GFP_THISNODE"),
    (0x10, "GFP_RECLAIMABLE"),
    (0x08, "GFP_MOVABLE"),
    (0x20_0000, "GFP_NOTRACK"),
    (0x40_0000, "GFP_DIRECT_RECLAIM"),
    (0x0200_0000, "GFP_KSWAPD_RECLAIM"),
    (0x80_0000, "GFP_OTHER_NODE"),
];

const SINCE_4_14: [(u64, &str); 36] = [
    (0x0043_42ca, "GFP_TRANSHUGE"),
    (0x0003_42ca, "GFP_TRANSHUGE_LIGHT"),
    (0x0142_00ca, "GFP_HIGHUSER_MOVABLE"),
    (0x0142_00c2, "GFP_HIGHUSER"),
    (0x0142_00c0, "GFP_USER"),
    (0x0150_00c0, "GFP_KERNEL_ACCOUNT"),
    (0x0140_00c0, "GFP_KERNEL"),
    (0x0140_0040, "GFP_NOFS"),
    (0x0108_0020, "GFP_ATOMIC"),
    (0x0140_0000, "GFP_NOIO"),
    (0x0100_0000, "GFP_NOWAIT"),
    (0x01, "GFP_DMA"),
    (0x02, "__GFP_HIGHMEM"),
    (0x04, "GFP_DMA32"),
    (0x20, "__GFP_HIGH"),
    (0x8_0000, "__GFP_ATOMIC"),
    (0x40, "__GFP_IO"),
    (0x80, "__GFP_FS"),
    (0x100, "__GFP_COLD"),
    (0x200, "__GFP_NOWARN"),
    (0x400, "__GFP_RETRY_MAYFAIL"),
    (0x800, "__GFP_NOFAIL"),
    (0x1000, "__GFP_NORETRY"),
    (0x4000, "__GFP_COMP"),
    (0x8000, "__GFP_ZERO"),
    (0x1_0000, "__GFP_NOMEMALLOC"),
    (0x2000, "__GFP_MEMALLOC"),
    (0x2_0000, "__GFP_HARDWALL"),
    (0x4_0000, "__GFP_THISNODE"),
    (0x10, "__GFP_RECLAIMABLE"),
    (0x08, "__GFP_MOVABLE"),
    (0x10_0000, "__GFP_ACCOUNT"),
    (0x80_0000, "__GFP_WRITE"),
    (0x0140_0000, "__GFP_RECLAIM"),
    (0x40_0000, "__GFP_DIRECT_RECLAIM"),
    (0x0100_0000, "__GFP_KSWAPD_RECLAIM"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sf9_the_state_of_a_thread_depends_on_the_kernel() {
        let new = version("5.10.43-android12");
        assert_eq!(new, (5, 10));
        let cases = [
            (0, new, "R"),
            (0x100, new, "R+"),
            (1, new, "S"),
            (2, new, "D"),
            (0x12, new, "D|X"),
            (0x80, new, "I"),
            (0x40, new, "P"),
            (0x200, new, "?"),
            // Sixteen bits, of which the last three letters do not fit.
            (0x1_0001, new, "S"),
            (0x3f, new, "S|D"),
            (0x800, ASSUMED, "R+"),
            (0x1000, (4, 8), "R+"),
            (0x800, (4, 8), "R"),
            (0x402, ASSUMED, "I"),
            (0x40, ASSUMED, "x"),
            (0x82, ASSUMED, "D|K"),
        ];
        for (raw, version, expected) in cases {
            assert_eq!(state(raw, version), expected, "{raw:#x} {version:?}");
        }
        assert_eq!((version("unknown"), version("")), (ASSUMED, ASSUMED));
    }

    #[test]
    fn sf9_the_flags_of_an_allocation_depend_on_the_kernel() {
        assert_eq!(gfp(0, ASSUMED), "GFP_NOWAIT");
        assert_eq!(gfp(0x0240_80c0, ASSUMED), "GFP_KERNEL|GFP_ZERO");
        assert_eq!(gfp(0x0140_80c0, (4, 14)), "GFP_KERNEL|__GFP_ZERO");
        assert_eq!(gfp(0x8000_0000, (5, 4)), "0x80000000");
        assert_eq!(gfp(0x8000_0001, (5, 4)), "GFP_DMA|0x80000000");
        assert_eq!(gfp(u64::MAX, ASSUMED).matches('|').count(), 11);
    }
}
