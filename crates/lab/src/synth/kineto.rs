//! Traces in Chrome's JSON format, as PyTorch's Kineto writes them.
//!
//! ```
//! let mut trace = Vec::new();
//! timebase_lab::synth::write_kineto(1000, 1, &mut trace)?;
//! let trace: serde_json::Value = serde_json::from_slice(&trace)?;
//! assert_eq!(trace["traceEvents"].as_array().map(Vec::len), Some(1000));
//! # std::io::Result::Ok(())
//! ```
//!
//! # Design
//!
//! An operator is five events: the operator, the call of CUDA inside it, the kernel on the GPU, and
//! the two ends of the flow between the last two. The text has the lines and the spaces of a real
//! file, because the time that a reader takes depends on them. The alternative was to serialize
//! values: no serializer keeps three digits after the point.

use std::fmt;
use std::io::{self, BufWriter, Write};

use crate::synth::random::Random;

/// The events of an operator.
const EVENTS: u64 = 5;

/// The process that calls operators.
const PID: u64 = 165_636;

const OPERATORS: [&str; 6] =
    ["aten::add", "aten::mm", "aten::addmm", "aten::copy_", "aten::empty_strided", "aten::view"];

const KERNELS: [&str; 3] = [
    "ampere_sgemm_32x32_sliced1x4_tn",
    "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float> >(int)",
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long, ncclWork*)",
];

const HEAD: &str = r#"{
  "schemaVersion": 1,
  "deviceProperties": [
    {
      "id": 0, "name": "NVIDIA A100-SXM4-80GB", "totalGlobalMem": 85095874560,
      "computeMajor": 8, "computeMinor": 0,
      "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,
      "regsPerBlock": 65536, "warpSize": 32,
      "sharedMemPerBlock": 49152, "numSms": 108
    , "regsPerMultiprocessor": 65536, "sharedMemPerBlockOptin": 166912, "sharedMemPerMultiprocessor": 167936
    }
  ],
  "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 2, "pg_count": 1, "pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl", "pg_size": 2, "ranks": [0, 1]}]},
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1727743122000000000,
  "traceEvents": [
"#;

/// Writes a trace with this many events, rounded down to whole operators. `out` needs no buffer.
///
/// # Errors
///
/// The errors of `out`.
pub fn write_kineto(events: u64, seed: u64, out: &mut dyn Write) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 18, out);
    let mut random = Random::new(seed);
    out.write_all(HEAD.as_bytes())?;
    let mut threads = [Micros(221_475_219_139_559); 3];
    let mut gpu = threads[0];
    for number in 0..events / EVENTS {
        let separator = if number == 0 { "" } else { ",\n" };
        out.write_all(separator.as_bytes())?;
        let index = (number % 3) as usize;
        let operator = Operator::next(number, threads[index], gpu, &mut random);
        operator.write(&mut out)?;
        threads[index] = operator.begin.after(operator.duration);
        gpu = operator.kernel.after(operator.kernel_duration);
    }
    out.write_all(b"\n  ],\n  \"traceName\": \"trace.json\"\n}\n")?;
    out.flush()
}

/// A time in ns, written in microseconds with three digits after the point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Micros(u64);

impl Micros {
    fn after(self, time: Micros) -> Micros {
        Micros(self.0 + time.0)
    }

    fn random(random: &mut Random, least: u64, bound: u64) -> Micros {
        Micros(least + random.below(bound))
    }
}

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

#[derive(Debug)]
struct Operator {
    number: u64,
    name: &'static str,
    kernel_name: &'static str,
    begin: Micros,
    duration: Micros,
    call: Micros,
    call_duration: Micros,
    kernel: Micros,
    kernel_duration: Micros,
}

impl Operator {
    /// The next operator of a thread, after its last one. The GPU is free from a time on.
    fn next(number: u64, thread: Micros, gpu: Micros, random: &mut Random) -> Operator {
        let begin = thread.after(Micros::random(random, 1, 5000));
        let call = begin.after(Micros::random(random, 1, 4000));
        let call_duration = Micros::random(random, 1500, 8000);
        let end = call.after(call_duration).after(Micros::random(random, 1, 2000));
        let launched = call.after(Micros::random(random, 1000, 3000));
        Operator {
            number,
            name: OPERATORS[random.below(OPERATORS.len() as u64) as usize],
            kernel_name: KERNELS[random.below(KERNELS.len() as u64) as usize],
            begin,
            duration: Micros(end.0 - begin.0),
            call,
            call_duration,
            kernel: launched.max(gpu.after(Micros(500))),
            kernel_duration: Micros::random(random, 1000, 6000),
        }
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        self.write_cpu(out)?;
        self.write_gpu(out)
    }

    fn tid(&self) -> u64 {
        self.number % 3 + 1
    }

    fn write_cpu(&self, out: &mut impl Write) -> io::Result<()> {
        let Operator { number, name, begin, duration, call, call_duration, .. } = self;
        let tid = self.tid();
        write!(
            out,
            r#"  {{
    "ph": "X", "cat": "cpu_op", "name": "{name}", "pid": {PID}, "tid": {tid},
    "ts": {begin}, "dur": {duration},
    "args": {{
      "External id": {number},"Record function id": 0, "Ev Idx": {number}
    }}
  }},
  {{
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": {PID}, "tid": {tid},
    "ts": {call}, "dur": {call_duration},
    "args": {{
      "External id": {number},      "cbid": 211, "correlation": {number}
    }}
  }},
  {{
    "ph": "s", "id": {number}, "pid": {PID}, "tid": {tid}, "ts": {call},
    "cat": "ac2g", "name": "ac2g"
  }},
"#
        )
    }

    fn write_gpu(&self, out: &mut impl Write) -> io::Result<()> {
        let Operator { number, kernel_name, kernel, kernel_duration, .. } = self;
        let registers = 32 + number % 4 * 16;
        write!(
            out,
            r#"  {{
    "ph": "X", "cat": "kernel", "name": "{kernel_name}", "pid": 0, "tid": 7,
    "ts": {kernel}, "dur": {kernel_duration},
    "args": {{
      "External id": {number},      "device": 0, "context": 1,      "stream": 7, "correlation": {number},      "registers per thread": {registers},      "shared memory": 0,      "blocks per SM": 0.007812,      "warps per SM": 0.062500,      "grid": [1, 1, 1],      "block": [256, 1, 1],      "est. achieved occupancy %": 0
    }}
  }},
  {{
    "ph": "f", "id": {number}, "pid": 0, "tid": 7, "ts": {kernel},
    "cat": "ac2g", "name": "ac2g", "bp": "e"
  }}"#
        )
    }
}
