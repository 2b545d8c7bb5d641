//! Arguments of compute kernels and their launches (rule GP7).

use timebase_schema::fields::interned_data as interned;
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
        for (key, field) in [("kernel_name", 2), ("kernel_demangled_name", 3), ("arch", 4)] {
            if let Some(text) = kernel.text(field) {
                self.push(key, ArgValue::Text(&text));
            }
        }
        for arg in kernel.messages(5) {
            self.more(arg);
        }
    }

    /// Adds the arguments of a `ComputeKernelLaunch`.
    pub fn launch(&mut self, launch: Message<'_>) {
        const SIZES: [(u32, [&str; 3]); 2] = [
            (1, ["launch.grid_size.x", "launch.grid_size.y", "launch.grid_size.z"]),
            (2, ["launch.workgroup_size.x", "launch.workgroup_size.y", "launch.workgroup_size.z"]),
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
        for arg in launch.messages(3) {
            self.more(arg);
        }
    }

    /// Adds the argument of an `ExtraComputeArg`.
    fn more(&mut self, arg: Message<'_>) {
        let key = match arg.number(1) {
            Some(iid) => {
                let name = self.entry(COMPUTE_ARG_NAMES, iid);
                name.and_then(|name| name.text(2))
            }
            None => arg.text(2),
        };
        let Some(key) = key else { return };
        let text;
        let value = if let Some(number) = arg.number(3) {
            ArgValue::Int(number as i64)
        } else if let Some(number) = arg.number(4) {
            ArgValue::Uint(number)
        } else if let Some(number) = arg.float(5) {
            ArgValue::Real(number)
        } else if let Some(iid) = arg.number(7) {
            let Some(entry) = self.entry(interned::DEBUG_ANNOTATION_STRING_VALUES, iid) else {
                return;
            };
            text = entry.text(2);
            text.as_deref().map_or(ArgValue::NoText, ArgValue::Text)
        } else {
            text = arg.text(6);
            let Some(text) = &text else { return };
            ArgValue::Text(text)
        };
        self.push(&key, value);
    }
}
