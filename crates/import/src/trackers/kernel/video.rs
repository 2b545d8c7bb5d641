//! Buffers of Video 4 Linux (rule KE43).

use rustc_hash::FxHashMap;
use timebase_schema::fields::{
    ftrace_event as event, v4l2qbuf_ftrace_event as v4l2, vb2v4l2qbuf_ftrace_event as vb2,
};

use super::kernel_event::{Called, KernelEvent, fill, first_bytes, text_arg, words_of_bits};
use crate::arguments::{ArgBuf, ArgValue};
use crate::trackers::tracker::TrackerContext;
use crate::world::SliceId;

pub(super) const EVENTS: &[u32] = &[
    event::V4L2_QBUF,
    event::V4L2_DQBUF,
    event::VB2_V4L2_BUF_QUEUE,
    event::VB2_V4L2_BUF_DONE,
    event::VB2_V4L2_QBUF,
    event::VB2_V4L2_DQBUF,
];

/// The limit of bytes in a name.
const LONGEST: usize = 63;

/// The values that distinguish queued buffers: machine, minor, sequence, type, index.
type Key = (u32, i32, u32, u32, u32);

/// Follows the queued buffers, each by the slice of its first event.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    queued: FxHashMap<Key, Option<SliceId>>,
    args: ArgBuf,
}

/// The fields of an event of `vb2`; other events have more fields before and between these.
const VB2_FIELDS: Fields = Fields {
    field: vb2::FIELD,
    flags: vb2::FLAGS,
    minor: vb2::MINOR,
    sequence: vb2::SEQUENCE,
    timecode: vb2::TIMECODE_FLAGS,
    timestamp: vb2::TIMESTAMP,
};
const V4L2_FIELDS: Fields = Fields {
    field: v4l2::FIELD,
    flags: v4l2::FLAGS,
    minor: v4l2::MINOR,
    sequence: v4l2::SEQUENCE,
    timecode: v4l2::TIMECODE_FLAGS,
    timestamp: v4l2::TIMESTAMP,
};

struct Fields {
    field: u32,
    flags: u32,
    minor: u32,
    sequence: u32,
    /// The first field of `TIMECODE`, with the type of the timecode among them.
    timecode: u32,
    timestamp: u32,
}

/// The numbers of a timecode, by their places after its first field.
const TIMECODE: [(u32, &str); 8] = [
    (1, "timecode_frames"),
    (2, "timecode_hours"),
    (3, "timecode_minutes"),
    (4, "timecode_seconds"),
    (6, "timecode_userbits0"),
    (7, "timecode_userbits1"),
    (8, "timecode_userbits2"),
    (9, "timecode_userbits3"),
];
const TIMECODE_TYPE: u32 = 5;

impl Buffers {
    pub fn event(&mut self, here: &KernelEvent<'_>, at: &mut TrackerContext<'_, '_>) {
        let is_vb2 = !matches!(here.field, event::V4L2_QBUF | event::V4L2_DQBUF);
        let fields = if is_vb2 { &VB2_FIELDS } else { &V4L2_FIELDS };
        let (minor, sequence) = (here.i32(fields.minor), here.u32(fields.sequence));
        let (of_type, index) = match is_vb2 {
            true => (0, 0),
            false => (here.u32(v4l2::TYPE), here.u32(v4l2::INDEX)),
        };
        let what = match here.field {
            event::V4L2_QBUF => "VIDIOC_QBUF",
            event::V4L2_DQBUF => "VIDIOC_DQBUF",
            event::VB2_V4L2_BUF_QUEUE => "vb2_v4l2_buf_queue",
            event::VB2_V4L2_BUF_DONE => "vb2_v4l2_buf_done",
            _ => "vb2_v4l2_qbuf",
        };
        let name = format!("{what} minor={minor} seq={sequence} type={of_type} index={index}");
        let called =
            Called { category: Some("Video 4 Linux 2"), name: Some(&first_bytes(&name, LONGEST)) };
        self.put_args(here, fields, at);
        if !is_vb2 {
            let texts = &mut at.world.definitions.names;
            let bytes = ArgValue::Int(here.u32(v4l2::BYTESUSED).into());
            self.args.push("index", ArgValue::Int(index.into()), texts);
            self.args.push("bytesused", bytes, texts);
            let type_name = text_arg(words::buffer_type(of_type));
            self.args.push("type", type_name, texts);
        }
        let track = here.thread(at);
        let slice = here.instant(track, called, self.args.as_bytes(), at);
        let key = (here.machine, minor, sequence, of_type, index);
        match here.field {
            event::V4L2_QBUF => {
                self.queued.entry(key).or_insert(slice);
            }
            event::V4L2_DQBUF => {
                let queued = self.queued.remove(&key).flatten();
                if let Some((queued, slice)) = queued.zip(slice) {
                    at.world.flows.link(queued, slice);
                }
            }
            _ => {}
        }
    }

    fn put_args(
        &mut self,
        here: &KernelEvent<'_>,
        fields: &Fields,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let flags = words::flags(here.u32(fields.flags));
        let timecode_flags = words::timecode_flags(here.u32(fields.timecode));
        let timecode_type = here.u32(fields.timecode.saturating_add(TIMECODE_TYPE));
        let args = [
            ("minor", ArgValue::Int(here.i32(fields.minor).into())),
            ("flags", ArgValue::Text(&flags)),
            ("field", text_arg(words::field(here.u32(fields.field)))),
            ("timestamp", ArgValue::Int(here.i64(fields.timestamp))),
            ("timecode_type", text_arg(words::timecode_type(timecode_type))),
            ("timecode_flags", ArgValue::Text(&timecode_flags)),
            ("sequence", ArgValue::Int(here.u32(fields.sequence).into())),
        ];
        fill(&mut self.args, &args, at);
        for (behind, key) in TIMECODE {
            let number = here.u32(fields.timecode.saturating_add(behind));
            let texts = &mut at.world.definitions.names;
            self.args.push(key, ArgValue::Int(number.into()), texts);
        }
    }
}

/// The words for numbers.
mod words {
    use super::words_of_bits;

    const PRIVATE: u32 = 128;

    /// From 1.
    const TYPES: [&str; 14] = [
        "VIDEO_CAPTURE",
        "VIDEO_OUTPUT",
        "VIDEO_OVERLAY",
        "VBI_CAPTURE",
        "VBI_OUTPUT",
        "SLICED_VBI_CAPTURE",
        "SLICED_VBI_OUTPUT",
        "VIDEO_OUTPUT_OVERLAY",
        "VIDEO_CAPTURE_MPLANE",
        "VIDEO_OUTPUT_MPLANE",
        "SDR_CAPTURE",
        "SDR_OUTPUT",
        "META_CAPTURE",
        "META_OUTPUT",
    ];

    /// From 0.
    const FIELDS: [&str; 10] = [
        "ANY",
        "NONE",
        "TOP",
        "BOTTOM",
        "INTERLACED",
        "SEQ_TB",
        "SEQ_BT",
        "ALTERNATE",
        "INTERLACED_TB",
        "INTERLACED_BT",
    ];

    /// From 1.
    const TIMECODE_TYPES: [&str; 5] = ["24FPS", "25FPS", "30FPS", "50FPS", "60FPS"];

    const FLAGS: [(u32, &str); 20] = [
        (1, "MAPPED"),
        (1 << 1, "QUEUED"),
        (1 << 2, "DONE"),
        (1 << 3, "KEYFRAME"),
        (1 << 4, "PFRAME"),
        (1 << 5, "BFRAME"),
        (1 << 6, "ERROR"),
        (1 << 7, "IN_REQUEST"),
        (1 << 8, "TIMECODE"),
        (1 << 9, "M2M_HOLD_CAPTURE_BUF"),
        (1 << 10, "PREPARED"),
        (1 << 11, "NO_CACHE_INVALIDATE"),
        (1 << 12, "NO_CACHE_CLEAN"),
        (0xe000, "TIMESTAMP_MASK"),
        (0x2000, "TIMESTAMP_MONOTONIC"),
        (0x4000, "TIMESTAMP_COPY"),
        (0x7_0000, "TSTAMP_SRC_MASK"),
        (0x1_0000, "TSTAMP_SRC_SOE"),
        (0x10_0000, "LAST"),
        (0x80_0000, "REQUEST_FD"),
    ];

    fn from(first: u32, words: &[&'static str], number: u32) -> Option<&'static str> {
        let place = number.checked_sub(first)?;
        words.get(place as usize).copied()
    }

    pub fn buffer_type(number: u32) -> Option<&'static str> {
        match number {
            PRIVATE => Some("PRIVATE"),
            _ => from(1, &TYPES, number),
        }
    }

    pub fn field(number: u32) -> Option<&'static str> {
        from(0, &FIELDS, number)
    }

    pub fn timecode_type(number: u32) -> Option<&'static str> {
        from(1, &TIMECODE_TYPES, number)
    }

    pub fn flags(bits: u32) -> String {
        if bits == 0 {
            return "TIMESTAMP_UNKNOWN|TSTAMP_SRC_EOF".to_owned();
        }
        words_of_bits(bits, &FLAGS, "|")
    }

    pub fn timecode_flags(bits: u32) -> String {
        const USER_BITS: u32 = 12;
        let user_bits = match bits & USER_BITS {
            4 => "USERBITS_field(01)",
            8 => "USERBITS_field(10)",
            12 => "USERBITS_field(11)",
            _ => "",
        };
        match bits {
            0 => "USERBITS_USERDEFINED".to_owned(),
            _ => {
                let all = [
                    (1, "FLAG_DROPFRAME"),
                    (2, "FLAG_COLORFRAME"),
                    (USER_BITS, user_bits),
                    (8, "USERBITS_8BITCHARS"),
                ];
                words_of_bits(bits, &all, "|")
            }
        }
    }
}
