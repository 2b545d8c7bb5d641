//! Arguments of compute kernels and their launches (rule GP7).

use timebase_schema::fields::{
    gpu_render_stage_event_compute_kernel_launch as launch,
    gpu_render_stage_event_extra_compute_arg as arg, interned_compute_arg_name as name,
    interned_compute_kernel as kernel, interned_data as interned, interned_string as text,
};
use timebase_trace::{Interned, Interval};

use crate::arguments::{ArgBuf, ArgValue};
use crate::definitions::Names;
use crate::message::Message;

/// `compute_kernels` and `compute_arg_names`, extensions of `InternedData`.
pub(super) const COMPUTE_KERNELS: u32 = 1000;
pub(super) const COMPUTE_ARG_NAMES: u32 = 1001;

/// Adds arguments of compute kernels to other arguments.
pub(super) struct ComputeArgs<'a> {
    pub interned: &'a Interned,
    pub interval: Interval,
    pub names: &'a mut Names,
    pub args: &'a mut ArgBuf,
}

impl<'a> ComputeArgs<'a> {
    fn entry(&self, field: u32, iid: u64) -> Option<Message<'a>> {
        let entry = self.interned.get(self.interval, field, iid);
        entry.map(Message)
    }

    fn push(&mut self, key: &str, value: ArgValue<'_>) {
        self.args.push(key, value, self.names);
    }

    /// Adds the arguments of a kernel, if it is known.
    pub fn kernel(&mut self, iid: u64) {
        let Some(kernel) = self.entry(COMPUTE_KERNELS, iid) else {
            return;
        };
        for (key, field) in [
            ("kernel_name", kernel::NAME),
            ("kernel_demangled_name", kernel::DEMANGLED_NAME),
            ("arch", kernel::ARCH),
        ] {
            if let Some(text) = kernel.text(field) {
                self.push(key, ArgValue::Text(&text));
            }
        }
        for arg in kernel.messages(kernel::ARGS) {
            self.more(arg);
        }
    }

    /// Adds the arguments of a `ComputeKernelLaunch`.
    pub fn launch(&mut self, launch: Message<'_>) {
        const SIZES: [(u32, [&str; 3]); 2] = [
            (launch::GRID_SIZE, ["launch.grid_size.x", "launch.grid_size.y", "launch.grid_size.z"]),
            (
                launch::WORKGROUP_SIZE,
                ["launch.workgroup_size.x", "launch.workgroup_size.y", "launch.workgroup_size.z"],
            ),
        ];
        for (field, keys) in SIZES {
            let Some(size) = launch.bytes(field).map(Message) else {
                continue;
            };
            for (field, key) in (1..).zip(keys) {
                if let Some(number) = size.small(field) {
                    self.push(key, ArgValue::Uint(number.into()));
                }
            }
        }
        for arg in launch.messages(launch::ARGS) {
            self.more(arg);
        }
    }

    /// Adds the argument of an `ExtraComputeArg`.
    fn more(&mut self, arg: Message<'_>) {
        let key = match arg.number(arg::NAME_IID) {
            Some(iid) => {
                let name = self.entry(COMPUTE_ARG_NAMES, iid);
                name.and_then(|name| name.text(name::NAME))
            }
            None => arg.text(arg::NAME),
        };
        let Some(key) = key else { return };
        let text;
        let value = if let Some(number) = arg.number(arg::INT_VALUE) {
            ArgValue::Int(number as i64)
        } else if let Some(number) = arg.number(arg::UINT_VALUE) {
            ArgValue::Uint(number)
        } else if let Some(number) = arg.float(arg::DOUBLE_VALUE) {
            ArgValue::Real(number)
        } else if let Some(iid) = arg.number(arg::STRING_VALUE_IID) {
            let Some(entry) = self.entry(interned::DEBUG_ANNOTATION_STRING_VALUES, iid) else {
                return;
            };
            text = entry.text(text::STR);
            text.as_deref().map_or(ArgValue::NoText, ArgValue::Text)
        } else {
            text = arg.text(arg::STRING_VALUE);
            let Some(text) = &text else { return };
            ArgValue::Text(text)
        };
        self.push(&key, value);
    }
}
