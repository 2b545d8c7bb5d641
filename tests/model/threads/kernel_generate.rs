//! Random traces of kernel events. They have few numbers, names and times, so that these coincide.

use super::generate::Random;
use Value::{Any, Args, Text};
use timebase_lab::encode::Message;

/// The values that a field may have.
#[derive(Clone, Copy)]
enum Value {
    Any(&'static [u64]),
    Text(&'static [&'static str]),
    /// A list of numbers.
    Args,
}

/// An event and its fields.
type Kind = (u32, &'static [(u32, Value)]);

const FEW: Value = Any(&[0, 1, 2]);
const FLAG: Value = Any(&[0, 1]);
const TIDS: Value = Any(&[0, 5, 6, 7]);
const BIG: Value = Any(&[0, 1, 700, u32::MAX as u64, 1 << 40, i64::MAX as u64, u64::MAX]);
const SIGNED: Value = Any(&[0, 1, 2, 3, 4, 9, u64::MAX, u64::MAX - 4]);
const CPUS: Value = Any(&[0, 1, 2, 4095, 4096]);
const SYMBOLS: Value = Any(&[0, 1, 2, 0xabc]);
const DEVICES: Value = Text(&["dev0", "dev1", "", "devfreq_a", "soc:devfreq_b"]);
const RINGS: Value = Text(&["gfx", "sdma"]);

const GROUPS: &[&[Kind]] = &[
    &[
        (411, JOB),
        (412, JOB),
        (412, JOB),
        (413, &[(1, FEW)]),
        (413, &[(1, FEW)]),
        (592, &[(1, FLAG), (2, FLAG)]),
        (593, NEW_JOB),
        (594, NEW_JOB),
    ],
    &[
        (409, &[(1, SIGNED), (3, BIG)]),
        (410, &[(1, SIGNED), (3, BIG)]),
        (414, FENCE),
        (415, FENCE),
        (416, FENCE),
        (416, FENCE),
        (417, FENCE),
        (418, FENCE),
        (601, &[(2, SIGNED)]),
    ],
    &[
        (360, PACKET),
        (361, PACKET),
        (362, SOCKET),
        (362, SOCKET),
        (363, &[(2, BIG), (6, BIG)]),
        (365, &[(7, BIG), (10, Text(&["wlan0", ""]))]),
        (366, &[(1, SIGNED)]),
        (367, &[(2, Any(&[0, 0x800, 0x86dd]))]),
    ],
    &[
        (113, SUSPEND),
        (113, SUSPEND),
        (113, SUSPEND),
        (504, CALLBACK),
        (505, CALLBACK),
        (481, &[(1, FLAG)]),
    ],
    &[
        (404, WAKELOCK),
        (405, WAKELOCK),
        (406, UFS),
        (406, UFS),
        (407, &[(2, SIGNED)]),
        (489, &[(1, DEVICES), (2, SIGNED)]),
        (541, &[(1, DEVICES), (2, BIG)]),
        (546, &[(1, BIG), (2, BIG)]),
        (547, &[(1, BIG), (2, BIG)]),
        (548, &[(3, SIGNED)]),
    ],
    &[
        (343, &[(1, CPUS)]),
        (344, &[(1, CPUS), (3, SIGNED)]),
        (345, &[(1, CPUS), (3, SIGNED)]),
        (421, &[(2, BIG), (4, CPUS), (6, BIG), (11, BIG)]),
        (437, &[(2, SYMBOLS)]),
        (438, &[(3, SYMBOLS)]),
        (508, &[(1, CPUS), (2, BIG)]),
        (553, &[(3, SYMBOLS)]),
        (554, &[]),
        (559, &[]),
        (560, &[]),
    ],
    &[
        (419, &[(1, BIG), (9, BIG), (22, BIG), (23, FEW), (15, FEW), (7, FEW)]),
        (420, &[(1, BIG), (10, BIG), (28, BIG), (17, FEW), (15, FEW), (7, FEW)]),
        (347, &[(1, SIGNED), (2, BIG), (3, BIG)]),
        (364, &[(1, BIG), (2, BIG), (5, FEW), (6, BIG)]),
        (533, &[(1, SIGNED), (2, FLAG), (3, FEW), (7, SIGNED), (8, SIGNED), (9, FEW)]),
        (272, &[(1, BIG), (4, Any(&[0, 1, 2, 0x90, 256, u64::MAX])), (5, Any(&[0, 0, 1, 2, 3]))]),
    ],
    &[
        (432, &[(1, SIGNED), (4, FLAG), (5, FLAG), (6, Text(&["/a", ""]))]),
        (432, &[(1, SIGNED), (4, FLAG), (5, FLAG)]),
        (431, &[(1, SIGNED), (2, FLAG), (3, FLAG)]),
        (431, &[(1, SIGNED), (2, FLAG), (3, FLAG)]),
        (465, &[]),
        (
            466,
            &[
                (2, FEW),
                (3, BIG),
                (4, FEW),
                (5, FEW),
                (6, Text(&["linux,cma", ""])),
                (7, BIG),
                (8, FEW),
                (9, FEW),
                (10, BIG),
            ],
        ),
        (576, &[(1, Text(&["linux,cma", ""])), (2, BIG), (4, BIG)]),
        (577, &[(3, BIG), (4, FEW), (5, FEW)]),
    ],
    &[
        (46, RECLAIM),
        (47, &[(1, BIG)]),
        (57, &[(2, SYMBOLS)]),
        (58, &[(2, SYMBOLS)]),
        (338, &[(2, BIG)]),
        (339, &[]),
        (443, &[(8, SYMBOLS), (9, BIG), (11, SIGNED)]),
        (444, &[(2, SIGNED)]),
        (542, &[(1, Text(&["kp1", "kp2"])), (2, Any(&[0, 1, 1, 2, 2, 3]))]),
        (607, RECLAIM),
        (608, &[(1, BIG)]),
    ],
    &[
        (27, TRANSFER),
        (28, TRANSFER),
        (29, TRANSFER),
        (29, TRANSFER),
        (329, &[(1, CALLS), (2, Args)]),
        (329, &[(1, CALLS), (2, Args)]),
        (330, &[(1, CALLS), (2, BIG)]),
        (330, &[(1, CALLS), (2, BIG)]),
        (3, &[(2, Text(&["B|5|a", "E|5", "I|5|i", "nothing"]))]),
    ],
    &[(422, VIDEO), (423, VIDEO), (424, VB2), (425, VB2), (426, VB2), (427, VB2)],
    &[
        (439, &[(1, FLAG), (2, Any(&[0, 0xff, 0x100, 0x10e, 0x10f]))]),
        (440, &[(1, FLAG), (2, Any(&[0, 0xff, 0x100, 0x10e, 0x10f]))]),
        (441, RESOURCE),
        (442, RESOURCE),
        (468, GPU),
        (468, GPU),
        (469, GPU),
        (469, GPU),
    ],
    &[
        (50, TRANSACTION),
        (50, TRANSACTION),
        (51, &[(1, FEW)]),
        (51, &[(1, FEW)]),
        (323, &[(1, BIG), (3, BIG)]),
        (485, &[(1, COMMANDS)]),
        (485, &[(1, COMMANDS)]),
        (486, &[(1, RETURNS)]),
        (486, &[(1, RETURNS)]),
        (486, &[(1, RETURNS)]),
    ],
    &[
        (50, TRANSACTION),
        (51, &[(1, FEW)]),
        (53, &[]),
        (54, &[]),
        (55, &[]),
        (236, &[(1, TIDS), (3, Text(&["app", "worker"]))]),
        (3, &[(2, Text(&["B|5|a", "E|5"]))]),
    ],
];

const JOB: &[(u32, Value)] = &[(2, FEW), (4, FEW), (6, RINGS)];
const NEW_JOB: &[(u32, Value)] = &[(1, RINGS), (5, FLAG), (6, FLAG)];
const FENCE: &[(u32, Value)] =
    &[(1, FLAG), (3, Any(&[0, 1, 2, 3, 4])), (4, Text(&["tl", "other", "unbound"]))];
const PACKET: &[(u32, Value)] = &[
    (1, Any(&[0, 700, 1024, u32::MAX as u64])),
    (2, Text(&["wlan0", "lo", ""])),
    (3, Any(&[0, 0, 0, 1])),
];
const SOCKET: &[(u32, Value)] = &[
    (2, Any(&[443])),
    (3, Any(&[2, 10, 10, 2, 3])),
    (4, Any(&[0, 1, 2, 3, 7, 12, 13, u64::MAX])),
    (5, Any(&[0, 1, 12, 13])),
    (6, Any(&[6, 6, 6, 17])),
    (8, FEW),
    (9, Any(&[5000])),
];
const SUSPEND: &[(u32, Value)] = &[
    (
        1,
        Text(&[
            "suspend_enter",
            "freeze_processes",
            "thaw_processes",
            "timekeeping_freeze",
            "a_step_whose_name_does_not_fit_into_the_bytes_that_there_are_for_it",
        ]),
    ),
    (2, Any(&[0, 3, u64::MAX])),
    (3, FLAG),
];
const CALLBACK: &[(u32, Value)] = &[
    (1, Text(&["dev0", "dev1"])),
    (2, Text(&["drv", ""])),
    (4, Text(&["", "early bus", "late bus", "noirq bus", "bus"])),
    (5, Any(&[0, 1, 2, 4, 8, 16, 32, 64, 128])),
];
const WAKELOCK: &[(u32, Value)] = &[(
    1,
    Text(&["a", "", "a_very_long_wakelock_name_of_a_driver", "a_very_long_wakelock_name_of_a_d"]),
)];
const UFS: &[(u32, Value)] = &[
    (2, Any(&[0, 1, 6, u32::MAX as u64])),
    (5, Any(&[0, 3, 40, 42, 53, 77, 181])),
    (7, Any(&[0, 7, 1234])),
    (9, Any(&[0, 0x11])),
    (10, FEW),
];
const RECLAIM: &[(u32, Value)] = &[(1, SIGNED), (2, FLAG), (3, BIG)];
const TRANSFER: &[(u32, Value)] =
    &[(1, Any(&[1, 1, 2, 255, 256, u64::MAX])), (2, Any(&[0, 1, 1, 2, u32::MAX as u64]))];
const CALLS: Value = Any(&[1, 3, 4, 15, 56, 63, 64, 139, 173, 549, 550, (1 << 32) + 64, 64, 64]);
const VIDEO: &[(u32, Value)] = &[
    (1, BIG),
    (2, Any(&[0, 1, 9, 10])),
    (3, Any(&[0, 3, 0x1fff, 0x2000, 0x4001, 0x8000, 0x1_0000, 0x6_0000, 0x90_0000, 0x8000_0000])),
    (4, FLAG),
    (5, Any(&[0, 1, u64::MAX])),
    (6, Any(&[0, 1, u32::MAX as u64])),
    (7, Any(&[0, 1, 2, 4, 8, 12, 15, 16])),
    (8, BIG),
    (12, Any(&[0, 1, 5, 6])),
    (13, FEW),
    (16, FEW),
    (17, BIG),
    (18, Any(&[0, 1, 9, 14, 15, 128, u32::MAX as u64])),
];
const VB2: &[(u32, Value)] = &[
    (1, Any(&[0, 1, 9, 10])),
    (2, Any(&[0, 3, 0x2000, 0x10_0000])),
    (3, Any(&[0, 1, u64::MAX])),
    (4, Any(&[0, 1, u32::MAX as u64])),
    (5, Any(&[0, 1, 2, 4, 8, 12, 15])),
    (6, BIG),
    (10, Any(&[0, 1, 5, 6])),
    (14, FEW),
    (15, BIG),
];
const RESOURCE: &[(u32, Value)] = &[
    (1, BIG),
    (4, BIG),
    (5, Any(&[0x100, 0x101, 5])),
    (6, Any(&[0, 1, u64::MAX])),
    (7, Any(&[0, 1, u64::MAX])),
    (8, BIG),
];
const GPU: &[(u32, Value)] = &[
    (3, Any(&[0, 0, 1])),
    (5, Text(&["control", "control", "cursor", "other"])),
    (6, BIG),
    (7, FEW),
    (8, Any(&[0, 0x100, 0x10d, 0x10e, 0x200, 0x209, 0x20a, 0x300, 0x301, 0x302, 0x400])),
];
const TRANSACTION: &[(u32, Value)] = &[
    (1, FEW),
    (2, SIGNED),
    (3, Any(&[5, u64::MAX])),
    (4, TIDS),
    (5, Any(&[0, 0, 1, 2])),
    (6, Any(&[0, 1, 0x5f50_4e47])),
    (7, Any(&[0, 0, 1, 4, 8, 0x12, 0x1d])),
];
const COMMANDS: Value =
    Any(&[0x4040_6300, 0x4048_6311, 0x4040_6300, 0x4040_6301, 0x4048_6312, 0x4040_6301, 0]);
const RETURNS: Value = Any(&[
    0x8040_7202,
    0x8048_7202,
    0x8040_7202,
    0x8040_7203,
    0x7206,
    0x7213,
    0x7206,
    0x7205,
    0x7211,
    0x7212,
    0x7214,
    0,
]);

/// Things happen a little after this time.
const EPOCH: u64 = 10_000;

/// The packets of a random trace.
pub fn trace(seed: u64) -> Vec<Message> {
    let mut random = Random(seed ^ 0x5eed);
    let new = Message::new;
    let reading = |clock| new().number(1, clock).number(2, EPOCH);
    let snapshot = new().message(1, reading(6)).message(1, reading(5));
    let mut packets = vec![
        new().number(10, 1).message(6, snapshot),
        new().number(10, 2).number(13, 1),
        new().number(10, 2).number(98, GUEST).number(13, 1),
    ];
    let groups: Vec<&[Kind]> = (0..1 + random.below(3)).map(|_| random.any(GROUPS)).collect();
    let has_guest = random.one_in(4);
    let mut now = EPOCH;
    for _ in 0..5 + random.below(20) {
        let is_guest = has_guest && random.one_in(3);
        let mut packet = match random.below(8) {
            0 => system_info(&mut random),
            1 => symbols(&mut random),
            _ => bundle(&mut random, &groups, &mut now),
        };
        if is_guest {
            packet = packet.number(98, GUEST);
        }
        packets.push(packet);
    }
    packets
}

const GUEST: u64 = 77;

fn system_info(random: &mut Random) -> Message {
    let machine = random.any(&["aarch64", "aarch64", "armv8l", "armv7l", "x86_64", "i686", "mips"]);
    let release = random.any(&["5.9.1", "5.10.0", "5.15.3-android", "6.0", "6.1.0", "6.6.1"]);
    let system = random.any(&["Linux", "Linux", "Linux", "Darwin"]);
    let utsname = Message::new().text(1, system).text(3, release);
    let utsname = match random.one_in(4) {
        true => utsname,
        false => utsname.text(4, machine),
    };
    let info = Message::new().message(1, utsname);
    Message::new().number(10, 2).number(8, EPOCH).message(45, info)
}

/// Names of functions, or the end of the interval in which they count.
fn symbols(random: &mut Random) -> Message {
    let packet = Message::new().number(10, 2);
    let symbol = |iid, name| Message::new().number(1, iid).text(2, name);
    match random.one_in(3) {
        true => packet.number(13, 1),
        false => {
            let interned = Message::new().message(26, symbol(1, "f")).message(26, symbol(2, "g"));
            packet.message(12, interned)
        }
    }
}

fn bundle(random: &mut Random, groups: &[&[Kind]], now: &mut u64) -> Message {
    let mut bundle = Message::new().number(1, random.below(2));
    for _ in 0..1 + random.below(8) {
        *now += match random.below(30) {
            0 => 100_000,
            1..10 => 0,
            step => step % 4,
        };
        let group = random.any(groups);
        let (kind, fields) = random.any(group);
        let mut message = Message::new();
        for &(field, value) in fields {
            if random.one_in(8) {
                continue;
            }
            message = match value {
                Any(numbers) => message.number(field, random.any(numbers)),
                Text(texts) => message.text(field, random.any(texts)),
                Args => (0..random.below(3)).fold(message, |message, _| {
                    message.number(field, random.any(&[0, 3, u64::MAX]))
                }),
            };
        }
        let tid = random.any(&[0, 5, 5, 6, 7]);
        let event = Message::new().number(1, *now).number(2, tid);
        bundle = bundle.message(2, event.message(kind, message));
    }
    Message::new().number(10, 2).message(1, bundle)
}
