"""A training job of two ranks, as PyTorch's profiler (Kineto) writes it: training-rank0.json and training-rank1.json.

    python3 tests/data/training.py

Everything in it is invented; the fields and their order are Kineto's. Two processes on one host train a model of two layers,
each on its own GPU, for two steps: they load a batch, compute forward and backward, reduce the gradients of each
layer with NCCL, and apply them. Rank 1 loads its batches more slowly, so rank 0 waits for it in the first collective of a step.
A kernel starts when it is launched and its stream is free; a collective also waits for the gradient, and ends on both ranks at
the same time.
"""

import json
from pathlib import Path

US = 1000
LAUNCH = 6 * US  # from the launch call to the kernel, at least
BASE = 1743854376000000000  # REALTIME of the zero of all times
GEMM = "ampere_sgemm_128x64_tn"
ELEMENTWISE = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::{0}, std::array<char*, 2ul> >"
    "(int, at::native::{0}, std::array<char*, 2ul>)"
)
RELU = ELEMENTWISE.format("launch_clamp_scalar(float)")
LOSS = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float> > >(float*)"
SGD = "void at::native::multi_tensor_apply_kernel<at::native::TensorListMetadata<2>, at::native::BinaryOpListAlphaFunctor<float> >(int)"
NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
COMPUTE_STREAM, NCCL_STREAM = 7, 20
MIB = 1 << 20


class Rank:
    """A process with its threads, its GPU and its allocators. Times are in ns."""

    def __init__(self, rank):
        self.rank, self.pid = rank, 4100 + rank
        self.main, self.autograd = self.pid, self.pid + 40
        self.now = 1_500_000 * US + rank * 37_215
        self.start = self.now
        self.free = {COMPUTE_STREAM: 0, NCCL_STREAM: 0}
        self.external, self.correlation, self.python = 0, 900 + 100 * rank, 0
        self.cpu_bytes, self.gpu_bytes, self.reserved = 0, 96 * MIB, 160 * MIB
        self.address, self.blocks = 0x7F2000000000, []
        self.events = []
        self.waiting = []

    def event(self, ph, ts, **fields):
        dur = fields.pop("dur", None)
        event = {"ph": ph, **fields, "ts": ts / US}
        if dur is not None:
            event["dur"] = dur / US
        if "args" in event:
            event["args"] = event.pop("args")
        self.events.append(event)
        return event

    def within(self, cat, name, work, tid=None, before=2 * US, after=2 * US, **args):
        """A slice around work, which begins some time before it and ends some time after it."""
        tid = tid or self.main
        if cat == "python_function":
            self.python += 1
            args = {"Python id": self.python, **args}
        else:
            self.external += 1
            args = {"External id": self.external, "Record function id": 0, **args, "Ev Idx": self.external - 1}
        outer, self.op = getattr(self, "op", None), self.external
        event = self.event("X", self.now, cat=cat, name=name, pid=self.pid, tid=tid, dur=0, args=args)
        begin = self.now
        self.now += before
        work(tid)
        self.now += after
        event["dur"] = (self.now - begin) / US
        self.op = outer

    def call(self, tid, name, took, cbid):
        """A call of the CUDA runtime."""
        self.correlation += 1
        args = {"External id": self.op or self.correlation, "cbid": cbid, "correlation": self.correlation}
        self.event("X", self.now, cat="cuda_runtime", name=name, pid=self.pid, tid=tid, dur=took, args=args)
        return self.correlation

    def launch(self, tid, name, dur, cat="kernel", stream=COMPUTE_STREAM, call=("cudaLaunchKernel", 211), took=5 * US, after=0, **args):
        """A call that launches work on the GPU."""
        correlation = self.call(tid, call[0], took, call[1])
        self.event("s", self.now, id=correlation, pid=self.pid, tid=tid, cat="ac2g", name="ac2g")
        known = {"External id": self.op, "device": self.rank, "context": 1, "stream": stream, "correlation": correlation}
        if cat == "kernel":
            known |= {"registers per thread": 32, "shared memory": 0, "grid": [64, 1, 1], "block": [128, 1, 1]}
        at = max(self.now + LAUNCH, self.free[stream], after)
        kernel = self.event("X", at, cat=cat, name=name, pid=self.rank, tid=stream, dur=dur, args=known | args)
        arrow = self.event("f", at, id=correlation, pid=self.rank, tid=stream, cat="ac2g", name="ac2g", bp="e")
        self.free[stream] = at + dur
        self.now += took
        return kernel, arrow

    def memory(self, tid, size, on_gpu=True):
        """Memory that an allocator gives out, or takes back if the size is below 0."""
        self.now += US // 2
        if on_gpu:
            self.gpu_bytes += size
            self.reserved = max(self.reserved, -(-self.gpu_bytes // (32 * MIB)) * 32 * MIB)
        else:
            self.cpu_bytes += size
        if size > 0:
            self.address += 32 * MIB
            self.blocks.append((size, self.address))
            address = self.address
        else:
            block = next(block for block in self.blocks if block[0] == -size)
            self.blocks.remove(block)
            address = block[1]
        args = {
            "Total Reserved": self.reserved if on_gpu else 0,
            "Total Allocated": self.gpu_bytes if on_gpu else self.cpu_bytes,
            "Bytes": size,
            "Addr": address,
            "Device Id": self.rank if on_gpu else -1,
            "Device Type": 1 if on_gpu else 0,
            "Ev Idx": self.external,
        }
        self.event("i", self.now, cat="cpu_instant_event", s="t", name="[memory]", pid=self.pid, tid=tid, args=args)
        self.now += US // 2

    # The model

    def linear(self, layer, dur):
        def addmm(tid):
            self.memory(tid, 24 * MIB)
            self.launch(tid, GEMM, dur)

        def linear(tid):
            self.within("cpu_op", "aten::addmm", addmm, tid)

        def module(tid):
            self.within("cpu_op", "aten::linear", linear, tid)

        self.within("python_function", f"nn.Module: Linear_{layer}", module)

    def relu(self, dur):
        def clamp(tid):
            self.memory(tid, 24 * MIB)
            self.launch(tid, RELU, dur)

        self.within("cpu_op", "aten::relu", lambda tid: self.within("cpu_op", "aten::clamp_min", clamp, tid))

    def load(self, took):
        def load(tid):
            self.memory(tid, 8 * MIB, on_gpu=False)
            self.now += took

        def copy(tid):
            bytes = {"bytes": 8 * MIB, "memory bandwidth (GB/s)": 11.9}
            self.memory(tid, 8 * MIB)
            self.launch(tid, "Memcpy HtoD (Pageable -> Device)", 700 * US, "gpu_memcpy", call=("cudaMemcpyAsync", 41), **bytes)

        name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
        self.within("user_annotation", name, load)
        self.within("cpu_op", "aten::to", lambda tid: self.within("cpu_op", "aten::copy_", copy, tid))

    def loss(self):
        def mean(tid):
            self.memory(tid, 512)
            self.launch(tid, LOSS, 61 * US)

        self.within("cpu_op", "aten::mse_loss", lambda tid: self.within("cpu_op", "aten::mean", mean, tid))

    def backward(self, dur):
        """The gradients of a layer: of its weights, then of its input."""

        def mm(tid):
            self.memory(tid, 16 * MIB)
            kernel, _ = self.launch(tid, GEMM, dur)
            self.ready = int(round((kernel["ts"] + kernel["dur"]) * US))

        def node(tid):
            self.within("cpu_op", "aten::mm", mm, tid)
            self.now += 3 * US

        name = "AddmmBackward0"
        self.within("cpu_op", f"autograd::engine::evaluate_function: {name}", lambda tid: self.within("cpu_op", name, node, tid), self.autograd)

    def all_reduce(self, seq, elements):
        """The launch of a collective; all_ranks gives it its times."""
        meta = {
            "Collective name": "allreduce",
            "In msg nelems": elements,
            "Out msg nelems": elements,
            "Group size": 2,
            "dtype": "Float",
            "In split size": "[]",
            "Out split size": "[]",
            "Process Group Name": "0",
            "Process Group Description": "default_pg",
            "Process Group Ranks": "[0, 1]",
            "Seq": seq,
        }

        def start(tid):
            call = ("cudaLaunchKernelExC", 430)
            self.op = self.external - 1
            kernel, arrow = self.launch(tid, NCCL, 0, stream=NCCL_STREAM, call=call, took=9 * US, after=self.ready, **meta)
            self.waiting.append((kernel, arrow))

        def comms(tid):
            self.within("user_annotation", "nccl:all_reduce", start, tid)

        self.within("cpu_op", "record_param_comms", comms, self.autograd, **meta)

    def zero_grad(self):
        def zero(tid):
            self.launch(tid, "Memset (Device)", 3 * US, "gpu_memset", call=("cudaMemsetAsync", 51), bytes=16 * MIB)

        self.within("user_annotation", "Optimizer.zero_grad#SGD.zero_grad", lambda tid: self.within("cpu_op", "aten::zero_", zero, tid))

    def optimize(self):
        def add(tid):
            self.launch(tid, SGD, 117 * US, after=self.free[NCCL_STREAM])

        self.within("user_annotation", "Optimizer.step#SGD.step", lambda tid: self.within("cpu_op", "aten::_foreach_add_", add, tid))

    def item(self):
        """Copies the loss to the CPU, and waits for it."""

        def copy(tid):
            self.launch(tid, "Memcpy DtoH (Device -> Pageable)", 2 * US, "gpu_memcpy", call=("cudaMemcpyAsync", 41), bytes=4)
            took = max(self.free[COMPUTE_STREAM] - self.now, 0) + 4 * US
            self.call(tid, "cudaStreamSynchronize", took, 131)
            self.now += took

        self.within("cpu_op", "aten::item", lambda tid: self.within("cpu_op", "aten::_local_scalar_dense", copy, tid))

    def release(self):
        """The step's tensors, which nobody needs any more."""
        for size in [24 * MIB, 24 * MIB, 24 * MIB, 512, 16 * MIB, 16 * MIB, 8 * MIB]:
            self.memory(self.main, -size)
        self.memory(self.main, -8 * MIB, on_gpu=False)


def all_ranks(ranks):
    """The collective that all ranks have launched: it begins when a rank is ready, and ends when all were and the data is there."""
    begin = max(int(round(rank.waiting[-1][0]["ts"] * US)) for rank in ranks)
    for rank in ranks:
        kernel = rank.waiting.pop()[0]
        end = begin + 420 * US + 180 * rank.rank
        kernel["dur"] = (end - int(round(kernel["ts"] * US))) / US
        rank.free[NCCL_STREAM] = end


def step(ranks, number):
    begins = []
    for rank in ranks:
        rank.external += 1
        args = {"External id": rank.external, "Record function id": 0, "Ev Idx": rank.external - 1}
        name = f"ProfilerStep#{number}"
        begins.append(rank.event("X", rank.now, cat="user_annotation", name=name, pid=rank.pid, tid=rank.main, dur=0, args=args))
        rank.now += 4 * US
        rank.load((1900 + 1300 * rank.rank) * US + number * 11_173)
        rank.zero_grad()
        rank.linear(0, 310 * US + number * 417)
        rank.relu(46 * US)
        rank.linear(1, 290 * US + number * 355)
        rank.loss()
        rank.now += 20 * US
        rank.backward(350 * US)
        rank.all_reduce(2 * (number - 10) + 1, 1 << 22)
    all_ranks(ranks)
    for rank in ranks:
        rank.backward(480 * US)
        rank.all_reduce(2 * (number - 10) + 2, 1 << 22)
    all_ranks(ranks)
    for rank, begin in zip(ranks, begins):
        rank.now += 30 * US
        rank.optimize()
        rank.item()
        rank.release()
        begin["dur"] = (rank.now + 3 * US) / US - begin["ts"]
        begin["dur"] = round(begin["dur"], 3)
        rank.now += 10 * US


def names(rank):
    """The M events."""
    at = rank.start

    def meta(kind, pid, tid, **args):
        rank.event("M", at, name=kind, pid=pid, tid=tid, args=args)

    for pid, label in [(rank.pid, "CPU"), (rank.rank, f"GPU {rank.rank}")]:
        meta("process_name", pid, 0, name="python")
        meta("process_labels", pid, 0, labels=label)
    for stream in [COMPUTE_STREAM, NCCL_STREAM]:
        meta("thread_name", rank.rank, stream, name=f"stream {stream} ")
    meta("thread_name", rank.pid, rank.main, name=f"thread {rank.main} (python)")
    meta("thread_name", rank.pid, rank.autograd, name=f"thread {rank.autograd} (pt_autograd_0)")


def write(rank):
    end = rank.now
    span = {"cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler"}
    rank.event("X", rank.start, **span, dur=end - rank.start, args={"Op count": 0})
    rank.event("i", end, s="g", name="Record Window End", pid="", tid="")
    names(rank)
    group = {"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl", "pg_size": 2, "ranks": [0, 1]}
    head = {
        "schemaVersion": 1,
        "deviceProperties": [{"id": number, "name": "NVIDIA A100-SXM4-40GB"} for number in range(2)],
        "distributedInfo": {"backend": "nccl", "rank": rank.rank, "world_size": 2, "pg_count": 1, "pg_config": [group], "nccl_version": "2.21.5"},
        "displayTimeUnit": "ms",
    }
    lines = [json.dumps(event) for event in rank.events]
    text = json.dumps(head, indent=1)[:-2] + ',\n "traceEvents": [\n' + ",\n".join(lines) + "\n ],\n"
    text += f' "traceName": "training-rank{rank.rank}.json",\n "baseTimeNanoseconds": {BASE}\n}}\n'
    json.loads(text)
    Path(__file__).with_name(f"training-rank{rank.rank}.json").write_text(text)


def main():
    ranks = [Rank(0), Rank(1)]
    for number in [10, 11]:
        step(ranks, number)
    for rank in ranks:
        write(rank)


if __name__ == "__main__":
    main()
