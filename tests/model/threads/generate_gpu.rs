//! Random packets of GPUs, and traces with many of them.

use super::generate::{Generator, trace_of};
use timebase_lab::encode::Message;

fn new() -> Message {
    Message::new()
}

/// The packets of a random trace of GPUs and Vulkan.
pub fn trace(seed: u64) -> Vec<Message> {
    trace_of(seed, Generator::gpu_packet)
}

/// The same without unreadable payloads.
pub fn sound_trace(seed: u64) -> Vec<Message> {
    trace_of(seed, |generator| generator.gpu_packet_of(false))
}

impl Generator {
    fn gpu_packet(&mut self) {
        let is_damaged = self.random.one_in(50);
        self.gpu_packet_of(is_damaged);
    }

    fn gpu_packet_of(&mut self, is_damaged: bool) {
        let (field, payload) = match self.random.below(20) {
            0..8 => (53, self.render_stage()),
            8 | 9 => (65, self.vulkan_api()),
            10 => (63, self.gpu_log()),
            11 | 12 => (62, self.vulkan_memory()),
            13..15 => (52, self.gpu_counters()),
            15..18 => (11, self.correlated()),
            18 => (71, self.gpu_memory()),
            _ => (1, self.bundle()),
        };
        let mut packet = self.header(field);
        if !self.random.one_in(3) {
            let interned = self.interned();
            packet = packet.message(12, self.more_interned(interned));
        }
        let mut payload = payload.0;
        if is_damaged {
            payload.push(0xff); // a field that does not end
        }
        self.packets.push(packet.bytes(field, &payload));
    }

    /// A key or a text: few, so that some replace others.
    fn word(&mut self) -> &'static str {
        self.random.any(&["k", "description", "a.b", "upid", "", "läuft"])
    }

    /// The view `args` needs a key for a number above that of an i64.
    fn key(&mut self) -> &'static str {
        match self.word() {
            "" => "key",
            key => key,
        }
    }

    fn iid(&mut self) -> u64 {
        1 + self.random.below(3)
    }

    fn more_interned(&mut self, mut interned: Message) -> Message {
        for field in [5, 22, 29, 1001] {
            if self.random.one_in(2) {
                let mut entry = new().number(1, self.iid());
                if !self.random.one_in(5) {
                    entry = entry.text(2, self.key());
                }
                interned = interned.message(field, entry);
            }
        }
        if self.random.one_in(2) {
            let mut kernel = new().number(1, self.iid());
            for field in [2, 3, 4] {
                if self.random.one_in(2) {
                    kernel = kernel.text(field, self.word());
                }
            }
            kernel = self.extra_args(5, kernel);
            interned = interned.message(1000, kernel);
        }
        if self.random.one_in(2) {
            let mut context = new().number(1, self.iid());
            if self.random.one_in(2) {
                context = context.number(2, self.pid());
            }
            if self.random.one_in(2) {
                context = context.number(3, self.random.any(&[0, 2, 5, 6, u64::MAX]));
            }
            interned = interned.message(23, context);
        }
        interned
    }

    /// Some ExtraComputeArg in a field of a message.
    fn extra_args(&mut self, field: u32, mut message: Message) -> Message {
        for _ in 0..self.random.below(4).saturating_sub(1) {
            let mut arg = new();
            if self.random.one_in(2) {
                arg = arg.number(1, self.random.below(4));
            }
            if !self.random.one_in(4) {
                arg = arg.text(2, self.key());
            }
            for _ in 0..self.random.below(3) {
                arg = match self.random.below(5) {
                    0 => arg.signed(3, self.random.any(&[-1, 0, i64::MIN])),
                    1 => arg.number(4, self.number()),
                    2 => arg.double(5, 0.5),
                    3 => arg.text(6, self.word()),
                    _ => arg.number(7, self.random.below(4)),
                };
            }
            message = message.message(field, arg);
        }
        message
    }

    /// The fields that GP7 and GP9 add to an event.
    fn of_compute(&mut self, mut event: Message) -> Message {
        if self.random.one_in(3) {
            event = event.number(19, self.random.below(4));
        }
        if self.random.one_in(3) {
            let mut launch = new();
            for field in [1, 2] {
                if self.random.one_in(2) {
                    let axis = 1 + self.random.below(3) as u32;
                    let size = new().number(axis, self.number()).number(2, 8);
                    launch = launch.message(field, size);
                }
            }
            launch = self.extra_args(3, launch);
            event = event.message(21, launch);
        }
        for _ in 0..self.random.below(4).saturating_sub(1) {
            event = event.number(18, self.event_id());
        }
        event
    }

    fn event_id(&mut self) -> u64 {
        self.random.any(&[0, 1, 2, 9, u64::MAX])
    }

    /// A track event that may name stages.
    fn correlated(&mut self) -> Message {
        let mut event = new().number(9, self.random.any(&[1, 2, 3, 3]));
        event = event.number(11, 1 + self.random.below(3));
        event = event.text(23, self.name());
        for _ in 0..self.random.below(3) {
            let mut ids = new();
            for field in [1, 2] {
                for _ in 0..self.random.below(3) {
                    ids = ids.number(field, self.event_id());
                }
            }
            event = event.message(3000, ids);
        }
        if self.random.one_in(3) {
            event = event.number(36, 1);
        }
        event
    }

    fn vulkan_api(&mut self) -> Message {
        let mut event = new();
        if !self.random.one_in(3) {
            let mut object = new().number(3, self.random.any(&[6, 18, 24, 24, 25]));
            if self.random.one_in(2) {
                object = object.number(4, self.random.any(&[0, 7, u64::MAX]));
            }
            if !self.random.one_in(5) {
                object = object.text(5, self.random.any(&["target", "pass\0es", ""]));
            }
            event = event.message(1, object);
        }
        if self.random.one_in(2) {
            let mut submit = new();
            for field in [2, 3, 5, 5, 6] {
                if self.random.one_in(2) {
                    submit = submit.number(field, self.number());
                }
            }
            if self.random.one_in(2) {
                submit = submit.number(1, self.random.below(9));
            }
            event = event.message(2, submit);
        }
        event
    }

    fn gpu_log(&mut self) -> Message {
        let mut line = new();
        if !self.random.one_in(4) {
            line = line.number(1, self.random.any(&[0, 1, 5, 6, u64::MAX]));
        }
        for field in [2, 3] {
            if self.random.one_in(2) {
                line = line.text(field, self.word());
            }
        }
        line
    }

    fn vulkan_memory(&mut self) -> Message {
        let mut event = new();
        for field in [1, 2, 8] {
            if !self.random.one_in(6) {
                event = event.number(field, self.random.below(7));
            }
        }
        match self.random.below(8) {
            0 => {}
            1 => event = event.signed(3, -1),
            _ => event = event.number(3, self.time()),
        }
        if !self.random.one_in(4) {
            event = event.number(4, self.pid());
        }
        if !self.random.one_in(4) {
            event = event.number(6, self.random.any(&[1, 4096, u64::MAX]));
        }
        for field in [7, 18, 19] {
            if self.random.one_in(2) {
                event = event.number(field, self.random.below(4));
            }
        }
        for field in [5, 16, 17, 20] {
            if self.random.one_in(3) {
                event = event.double(field, -0.0);
            }
        }
        for _ in 0..self.random.below(3) {
            let mut annotation = new();
            if !self.random.one_in(6) {
                annotation = annotation.number(1, self.random.below(4));
            }
            for _ in 0..self.random.below(3) {
                annotation = match self.random.below(3) {
                    0 => annotation.signed(2, self.random.any(&[-1, i64::MAX])),
                    1 => annotation.double(3, 2.5),
                    _ => annotation.number(4, self.random.below(4)),
                };
            }
            event = event.message(9, annotation);
        }
        event
    }

    pub(super) fn gpu_specs(&mut self, prefix: &str) -> Message {
        let mut descriptor = new();
        for id in 0..self.random.below(4) {
            let mut spec = new().number(1, id).text(2, &format!("{prefix} {id}"));
            for field in [7, 8] {
                for _ in 0..self.random.below(3) {
                    spec = spec.number(field, self.random.any(&[0, 7, 22, 37, 99]));
                }
            }
            spec = spec.number(11, self.random.below(3));
            for _ in 0..self.random.below(3) {
                spec = spec.number(10, self.group());
            }
            if self.random.one_in(2) {
                spec = spec.text(3, self.random.any(&["busy", ""]));
            }
            descriptor = descriptor.message(1, spec);
        }
        for _ in 0..self.random.below(3) {
            let mut group = new();
            if !self.random.one_in(6) {
                group = group.number(1, self.group());
            }
            for field in [2, 3] {
                if self.random.one_in(2) {
                    group = group.text(field, self.name());
                }
            }
            for _ in 0..self.random.below(3) {
                group = group.number(4, self.random.below(4));
            }
            descriptor = descriptor.message(6, group);
        }
        descriptor
    }

    fn group(&mut self) -> u64 {
        self.random.any(&[0, 3, 4, u64::MAX])
    }

    pub(super) fn gpu_counters(&mut self) -> Message {
        let mut event = new();
        match self.random.below(3) {
            0 => event = event.message(1, self.gpu_specs("inline")),
            1 => event = event.number(4, self.random.below(4)),
            _ => {}
        }
        for _ in 0..self.random.below(3) {
            let counter = new().number(1, self.random.below(4));
            let counter = match self.random.one_in(2) {
                true => counter.signed(2, self.random.any(&[-3, 0, 42])),
                false => counter.double(3, 2.5),
            };
            event = event.message(2, counter);
        }
        event
    }

    pub(super) fn render_stage(&mut self) -> Message {
        let mut event = new();
        if !self.random.one_in(8) {
            let id = self.event_id();
            event = event.number(1, id).number(2, self.random.below(8));
        }
        if self.random.one_in(2) {
            event = event.number(11, self.random.below(2));
        }
        if self.random.one_in(2) {
            event = event.number(13, self.random.below(4));
        }
        event = event.number(3, self.random.below(3));
        for field in [14, 4, 20] {
            if self.random.one_in(3) {
                event = event.number(field, self.random.below(4));
            }
        }
        if self.random.one_in(4) {
            event = event.text(17, "named");
        }
        if self.random.one_in(2) {
            event = event.number(5, self.random.below(4));
        }
        if self.random.one_in(3) {
            let handles = event.number(8, self.number()).number(9, self.number());
            event = handles.number(12, 7).number(10, 8);
        }
        if self.random.one_in(3) {
            event = event.number(15, 5).number(15, 1 << 63);
        }
        if self.random.one_in(4) {
            event = event.number(16, self.random.below(3));
        }
        if self.random.one_in(4) {
            let extra = new().text(1, "extra");
            let extra = match self.random.one_in(2) {
                true => extra,
                false => extra.text(2, self.name()),
            };
            event = event.message(6, extra);
        }
        if self.random.one_in(3) {
            let context = new().number(1, 1).number(2, self.pid());
            let mut specifications = new().message(1, context);
            for field in [2, 3] {
                for _ in 0..self.random.below(3) {
                    let mut named = new().text(1, self.name());
                    if self.random.one_in(2) {
                        named = named.text(2, self.random.any(&["described", ""]));
                    }
                    let entry = if self.random.one_in(4) { new() } else { named };
                    specifications = specifications.message(field, entry);
                }
            }
            event = event.message(7, specifications);
        }
        self.of_compute(event)
    }

    pub(super) fn gpu_memory(&mut self) -> Message {
        let memory = new().number(1, self.random.below(2));
        memory.number(2, self.pid()).number(3, self.number())
    }
}
