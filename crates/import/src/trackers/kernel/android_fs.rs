//! Reads of files, from events of Android's kernel (rule KE22).

use rustc_hash::FxHashMap;
use timebase_schema::fields::{
    android_fs_dataread_end_ftrace_event as end, android_fs_dataread_start_ftrace_event as start,
    ftrace_event as event,
};

use super::kernel_event::{ANY, Called, KernelEvent, fill, text_arg};
use crate::arguments::{ArgBuf, ArgValue};
use crate::trackers::tracker::TrackerContext;
use crate::world::{NewTrack, Owner, SetId};

pub(super) const EVENTS: &[u32] =
    &[event::ANDROID_FS_DATAREAD_END, event::ANDROID_FS_DATAREAD_START];

/// The type and the name of the tracks.
const TRACK: &str = "android_fs";

/// The threads that read, by machine, file and offset in the file.
#[derive(Debug, Default)]
pub(super) struct FileReads {
    readers: FxHashMap<(u32, u64, i64), u32>,
    args: ArgBuf,
}

impl FileReads {
    pub fn event(&mut self, here: &KernelEvent<'_>, at: &mut TrackerContext<'_, '_>) {
        let bytes = ArgValue::Int(here.i32(start::BYTES).into());
        let set = lanes(here, at);
        let lanes = &mut at.world.lanes;
        if here.field == event::ANDROID_FS_DATAREAD_START {
            let offset = here.i64(start::OFFSET);
            let key = (here.machine, here.u64(start::INO), offset);
            self.readers.entry(key).or_insert(here.tid);
            let track = lanes.begin(set, here.tid.into(), &mut at.world.tracks);
            let path = here.text(start::PATHBUF);
            let args = [
                ("file_path", text_arg(path.as_deref())),
                ("offset_start", ArgValue::Int(offset)),
                ("bytes_read_start", bytes),
            ];
            let args = fill(&mut self.args, &args, at);
            if let Some(track) = track {
                here.begin(track, Called::named("android_fs_data_read"), args, at);
            }
            return;
        }
        let offset = here.i64(end::OFFSET);
        let reader = self.readers.remove(&(here.machine, here.u64(end::INO), offset));
        let lane = reader.and_then(|tid| lanes.end(set, tid.into(), &mut at.world.tracks));
        if let Some((track, _)) = lane {
            let args = [("offset_end", ArgValue::Int(offset)), ("bytes_read_end", bytes)];
            let args = fill(&mut self.args, &args, at);
            here.end(track, ANY, args, at);
        }
    }
}

fn lanes(here: &KernelEvent<'_>, at: &mut TrackerContext<'_, '_>) -> SetId {
    let machine = here.machine;
    at.world.lanes.set(TRACK, &[machine.into()], "", || {
        NewTrack::slices(machine, TRACK, Some(TRACK), Owner::None)
    })
}
