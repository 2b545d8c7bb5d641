//! Allocations of contiguous memory (rule KE23).

use rustc_hash::FxHashMap;
use timebase_schema::fields::{
    cma_alloc_finish_ftrace_event as finish, cma_alloc_info_ftrace_event as info,
    ftrace_event as event, mm_alloc_contig_migrate_range_info_ftrace_event as migrate,
};

use super::kernel_event::{ANY, Called, KernelEvent, fill, text_arg};
use crate::arguments::{ArgBuf, ArgValue};
use crate::trackers::tracker::TrackerContext;
use crate::world::Utid;

pub(super) const EVENTS: &[u32] = &[
    event::CMA_ALLOC_START,
    event::CMA_ALLOC_INFO,
    event::CMA_ALLOC_FINISH,
    event::MM_ALLOC_CONTIG_MIGRATE_RANGE_INFO,
];

/// The first kernel version with these events, and the first version without `cma_alloc_info`.
const FIRST: (u32, u32) = (5, 10);
const WITHOUT_INFO: (u32, u32) = (6, 1);

/// The numbers of pages that were migrated, reclaimed and mapped for the allocation of a thread.
#[derive(Debug, Default)]
pub(super) struct Contiguous {
    moved: FxHashMap<Utid, [u64; 3]>,
    args: ArgBuf,
}

impl Contiguous {
    pub fn event(&mut self, here: &KernelEvent<'_>, at: &mut TrackerContext<'_, '_>) {
        let machine = at.world.definitions.machines.get(here.machine);
        let version = machine.and_then(|machine| machine.system.kernel_version());
        let Some(version) = version.filter(|&version| version >= FIRST) else {
            return;
        };
        let has_info = version < WITHOUT_INFO;
        let track = here.thread(at);
        match here.field {
            event::CMA_ALLOC_START => {
                self.moved.remove(&here.emitter);
                here.begin(track, Called::named("mm_cma_alloc"), &[], at);
            }
            event::MM_ALLOC_CONTIG_MIGRATE_RANGE_INFO if !has_info => {
                let moved = [migrate::NR_MIGRATED, migrate::NR_RECLAIMED, migrate::NR_MAPPED]
                    .map(|field| here.u64(field));
                self.moved.insert(here.emitter, moved);
            }
            event::CMA_ALLOC_INFO if has_info => {
                let moved = [info::NR_MIGRATED, info::NR_RECLAIMED, info::NR_MAPPED]
                    .map(|field| here.u64(field));
                let name = here.text(info::NAME);
                let failed = [
                    ("cma_nr_isolate_fail", here.u32(info::ERR_ISO)),
                    ("cma_nr_migrate_fail", here.u32(info::ERR_MIG)),
                    ("cma_nr_test_fail", here.u32(info::ERR_TEST)),
                ];
                let failed = failed.map(|(key, count)| (key, ArgValue::Uint(count.into())));
                let taken =
                    taken(name.as_deref(), here.u64(info::PFN), here.u32(info::COUNT), moved);
                let args = fill(&mut self.args, &[&taken[..], &failed].concat(), at);
                here.end(track, ANY, args, at);
            }
            event::CMA_ALLOC_FINISH if !has_info => {
                let moved = self.moved.get(&here.emitter).copied().unwrap_or_default();
                let name = here.text(finish::NAME);
                let taken =
                    taken(name.as_deref(), here.u64(finish::PFN), here.u32(finish::COUNT), moved);
                let args = fill(&mut self.args, &taken, at);
                here.end(track, ANY, args, at);
            }
            _ => {}
        }
    }
}

/// The allocated pages and their area, and the pages that were moved for the allocation.
fn taken(
    name: Option<&str>,
    first: u64,
    count: u32,
    [migrated, reclaimed, mapped]: [u64; 3],
) -> [(&'static str, ArgValue<'_>); 6] {
    [
        ("cma_name", text_arg(name)),
        ("cma_pfn", ArgValue::Uint(first)),
        ("cma_req_pages", ArgValue::Uint(count.into())),
        ("cma_nr_migrated", ArgValue::Uint(migrated)),
        ("cma_nr_reclaimed", ArgValue::Uint(reclaimed)),
        ("cma_nr_mapped", ArgValue::Uint(mapped)),
    ]
}
