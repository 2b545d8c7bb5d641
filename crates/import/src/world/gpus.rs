//! GPUs (rule H4).

use rustc_hash::FxHashMap;
use timebase_schema::tables::gpu_record;

use crate::output::{Cell, Rows};

/// The fields of `gpu_info` for a GPU.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct GpuInfo {
    pub name: Option<String>,
    pub vendor: Option<String>,
    pub model: Option<String>,
    pub architecture: Option<String>,
    pub uuid: Option<String>,
    pub pci_bdf: Option<String>,
    /// Its other fields.
    pub arg_set_id: Option<i64>,
}

#[derive(Debug)]
struct Gpu {
    machine: u32,
    gpu: u32,
    info: GpuInfo,
}

/// The GPUs that packets or events mention, in this order.
#[derive(Debug, Default)]
pub(crate) struct Gpus {
    known: FxHashMap<(u32, u32), u32>,
    all: Vec<Gpu>,
}

impl Gpus {
    /// The row of a GPU of a machine.
    pub fn ugpu(&mut self, machine: u32, gpu: u32) -> u32 {
        *self.known.entry((machine, gpu)).or_insert_with(|| {
            self.all.push(Gpu { machine, gpu, info: GpuInfo::default() });
            self.all.len() as u32 - 1
        })
    }

    /// The number of a GPU on its machine, by its row.
    pub fn gpu(&self, ugpu: u32) -> Option<u32> {
        self.all.get(ugpu as usize).map(|gpu| gpu.gpu)
    }

    /// Describes a GPU. A field that is not set keeps its value from before.
    pub fn describe(&mut self, ugpu: u32, said: GpuInfo) {
        if let Some(Gpu { info, .. }) = self.all.get_mut(ugpu as usize) {
            let before = std::mem::take(info);
            *info = GpuInfo {
                name: said.name.or(before.name),
                vendor: said.vendor.or(before.vendor),
                model: said.model.or(before.model),
                architecture: said.architecture.or(before.architecture),
                uuid: said.uuid.or(before.uuid),
                pci_bdf: said.pci_bdf.or(before.pci_bdf),
                arg_set_id: said.arg_set_id.or(before.arg_set_id),
            };
        }
    }

    /// Makes a row for each GPU.
    pub(super) fn end(&self, rows: &mut Rows<'_>) {
        for (id, gpu) in (0i64..).zip(&self.all) {
            let info = &gpu.info;
            let [name, vendor, model, architecture, uuid, pci_bdf] = [
                &info.name,
                &info.vendor,
                &info.model,
                &info.architecture,
                &info.uuid,
                &info.pci_bdf,
            ]
            .map(|text| rows.optional_text(text.as_deref()));
            rows.push(gpu_record::Row {
                id: Cell::from(id),
                gpu: Cell::from(gpu.gpu),
                name,
                vendor,
                model,
                architecture,
                uuid,
                pci_bdf,
                machine_id: Cell::from(gpu.machine),
                arg_set_id: Cell::or_null(info.arg_set_id),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h4_gpus_are_numbered_as_first_seen() {
        let mut gpus = Gpus::default();
        assert_eq!(gpus.ugpu(1, 3), 0);
        assert_eq!(gpus.ugpu(0, 3), 1);
        assert_eq!(gpus.ugpu(1, 3), 0);
        assert_eq!(gpus.gpu(1), Some(3));
        let text = |text: &str| Some(text.to_owned());
        let first = GpuInfo { name: text("a"), model: text("m"), ..GpuInfo::default() };
        gpus.describe(0, first);
        let second = GpuInfo { name: text("b"), ..GpuInfo::default() };
        gpus.describe(0, second);
        let info = &gpus.all[0].info;
        assert_eq!((&info.name, &info.model), (&text("b"), &text("m")));
    }
}
