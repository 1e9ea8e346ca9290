#!/usr/bin/env python3
"""Records NVML's readings of one GPU at 20 Hz while a child process walks through known loads.

Writes trace.csv, phases.json and gpm.csv into the folder given. The sampling process never opens a CUDA
context, and nothing here changes a clock, a power limit or a mode: the trace shows the card as it is.
Needs python3 with PyTorch and libnvidia-ml.so.1; nothing else.

    python3 test/device/record-trace.py OUT_DIR [--scale 0.1] [--only matmul_bf16,train] [--size 8192] [--width 2048]

--scale shortens every phase, --only picks phases and their order, --size is the edge of the matrices, --width that of the
transformer: a trace with other numbers than the simulator was fitted to is what it is judged by.

A phase whose work starts and stops also gets `busy_ms`: when its kernels ran, in milliseconds from its start, from the first launch
to the return of the wait for them.
"""
import ctypes as c
import json
import os
import subprocess
import sys
import threading
import time

# name, seconds. Every load is followed by IDLE_S of idle with the context held.
PHASES = [
    ("matmul_bf16", 15), ("matmul_fp16", 12), ("matmul_tf32", 12), ("matmul_fp32", 12), ("matmul_fp64", 12),
    ("matmul_fp8", 12), ("memcopy", 14), ("elementwise", 12), ("matmul_small", 12), ("matmul_duty50", 12),
    ("h2d", 10), ("conv", 12), ("train", 40), ("train_fp32", 20), ("infer_light", 12), ("infer_medium", 12),
    ("infer_heavy", 12), ("infer_bursty", 16),
]
# Loads whose name does not say what runs: only named by --only, since the simulator must follow them from the counters.
UNNAMED = [("burst_1hz", 20), ("burst_2hz", 12), ("burst_slow", 16), ("conv_1hz", 12), ("ramp", 24), ("ramp_size", 18), ("mixed", 24),
           ("overlap", 12), ("decode", 12), ("ramp_100ms", 14), ("ramp_200ms", 14), ("ramp_500ms", 14), ("ramp_1s", 14), ("ramp_steps", 14),
           ("ramp_count", 14), ("ramp_matrix", 14), ("burst_3hz", 10), ("falling_duty", 10), ("random_bursts", 10), ("count_waves", 10),
           ("short_ramp", 10), ("mixed_fast", 10), ("matrix_waves", 10)]
IDLE_S = 5
# Work whose kernels ran with shorter breaks was not interrupted: launches and waits take the time.
SHORTEST_BREAK_MS = 3


def now_ms():
    return int(time.time() * 1000)


# ---- the child: it alone holds the CUDA context ----
def load(scale, only, size, width):
    import torch
    import random
    dev = "cuda"
    torch.manual_seed(1)
    chance = random.Random(7)
    launched, spans = [], []
    wait_for_all = torch.cuda.synchronize

    def launches(step):
        def launch(count):
            if not launched:
                launched.append(time.time())
            return step(count)
        return launch

    def synchronize():
        wait_for_all()
        if launched:
            begin, end = launched.pop(), time.time()
            if spans and (begin - spans[-1][1]) * 1000 < SHORTEST_BREAK_MS:
                spans[-1][1] = end
            else:
                spans.append([begin, end])
    torch.cuda.synchronize = synchronize

    def announce(name, start, work):
        event = {"phase": name, "start_ms": start, "end_ms": now_ms(), "work": work}
        if len(spans) > 1:
            event["busy_ms"] = [[round(edge * 1000 - start, 1) for edge in span] for span in spans]
        spans.clear()
        print(json.dumps(event), flush=True)

    def idle(seconds):
        start = now_ms()
        time.sleep(seconds)
        announce("idle", start, 0)

    def spin(seconds, step, sync_every=1):
        until, work = time.time() + seconds, 0
        while time.time() < until:
            step(work)
            work += 1
            if work % sync_every == 0:
                torch.cuda.synchronize()
        torch.cuda.synchronize()
        return work

    def matmul(dtype, n=size, tf32=False):
        torch.backends.cuda.matmul.allow_tf32 = tf32
        a = torch.randn(n, n, device=dev, dtype=torch.float32).to(dtype)
        b = torch.randn(n, n, device=dev, dtype=torch.float32).to(dtype)
        out = torch.empty(n, n, device=dev, dtype=dtype)
        return launches(lambda _: torch.matmul(a, b, out=out))

    def matmul_fp8():
        n = size
        a = torch.randn(n, n, device=dev).to(torch.float8_e4m3fn)
        b = torch.randn(n, n, device=dev).to(torch.float8_e4m3fn).t()
        one = torch.ones((), device=dev)
        return lambda _: torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16)

    def memcopy():
        a = torch.empty(2**32, dtype=torch.uint8, device=dev).random_()
        b = torch.empty_like(a)
        return launches(lambda _: b.copy_(a))

    def elementwise():
        a = torch.randn(2**29, device=dev)
        b = torch.randn(2**29, device=dev)
        out = torch.empty_like(a)
        return launches(lambda _: torch.add(a, b, out=out))

    def h2d():
        host = torch.empty(2**28, dtype=torch.uint8, pin_memory=True)
        card = torch.empty(2**28, dtype=torch.uint8, device=dev)
        return lambda _: card.copy_(host, non_blocking=True)

    def conv():
        x = torch.randn(128, 256, 56, 56, device=dev, dtype=torch.bfloat16).to(memory_format=torch.channels_last)
        net = torch.nn.Conv2d(256, 256, 3, padding=1).to(dev, torch.bfloat16).to(memory_format=torch.channels_last)

        def step(_):
            with torch.no_grad():
                net(x)
        return launches(step)

    def transformer(dtype, layers=8):
        layer = torch.nn.TransformerEncoderLayer(width, 16, 4 * width, batch_first=True, dropout=0.0)
        return torch.nn.TransformerEncoder(layer, layers).to(dev, dtype)

    def train(dtype):
        torch.backends.cuda.matmul.allow_tf32 = False
        net = transformer(dtype)
        opt = torch.optim.AdamW(net.parameters(), lr=1e-5)
        x = torch.randn(16, 1024, width, device=dev, dtype=dtype)
        stall = [time.time()]

        def step(_):
            opt.zero_grad(set_to_none=True)
            net(x).float().pow(2).mean().backward()
            opt.step()
            torch.cuda.synchronize()
            if time.time() - stall[0] > 6:
                time.sleep(0.8)
                stall[0] = time.time()
        return step

    def infer(batch, tokens, pause_s, burst=None):
        net = transformer(torch.bfloat16).eval()
        x = torch.randn(batch, tokens, width, device=dev, dtype=torch.bfloat16)
        began = time.time()

        def step(_):
            with torch.no_grad():
                net(x)
            torch.cuda.synchronize()
            if burst is not None:
                on, period = burst
                into = (time.time() - began) % period
                if into > on:
                    time.sleep(period - into)
            elif pause_s:
                time.sleep(pause_s)
        return step

    def duty():
        step_matmul = matmul(torch.bfloat16)

        def step(_):
            until = time.time() + 0.1
            while time.time() < until:
                step_matmul(0)
                torch.cuda.synchronize()
            time.sleep(0.1)
        return step

    def gate(steps, on_s, period_s):
        """Runs one of the steps in turn while the clock is in the first `on_s` of each period, sleeps for the rest."""
        began = time.time()

        def step(count):
            into = (time.time() - began) % period_s
            if into > on_s:
                time.sleep(period_s - into)
            steps[count % len(steps)](count)
            torch.cuda.synchronize()
        return step

    def ramp(seconds):
        """Products for a share of each 200 ms that grows from a tenth to all of it."""
        product, began = matmul(torch.bfloat16), time.time()

        def step(count):
            share = min(1.0, 0.1 + 0.9 * (time.time() - began - 1.0) / seconds)
            into = (time.time() - began) % 0.2
            if into > 0.2 * share:
                time.sleep(0.2 - into)
            product(count)
            torch.cuda.synchronize()
        return step

    def rising_duty(seconds, period, levels=None):
        """Products for a share of each period that grows, in steps where levels are given; not tied to the wall clock."""
        product, began = matmul(torch.bfloat16), time.time() + 1.0

        def step(count):
            share = min(1.0, max(0.05, (time.time() - began) / seconds))
            if levels:
                share = levels[min(len(levels) - 1, int(share * len(levels)))]
            until = time.time() + period * share
            while time.time() < until:
                product(count)
                torch.cuda.synchronize()
            if share < 1:
                time.sleep(period * (1 - share))
        return step

    def rising_count(seconds):
        """Bursts of 1 to 100 products with 30 ms of pause between them."""
        product, began = matmul(torch.bfloat16), time.time() + 1.0

        def step(count):
            share = min(1.0, max(0.02, (time.time() - began) / seconds))
            for _ in range(1 + int(100 * share)):
                product(count)
            torch.cuda.synchronize()
            time.sleep(0.03)
        return step

    def rising_matrix(seconds):
        """One product at a time, of matrices that grow from 1024 to 12288."""
        sizes = [1024, 2048, 3072, 4096, 6144, 8192, 12288]
        steps, began = [matmul(torch.bfloat16, n) for n in sizes], time.time() + 1.0

        def step(count):
            steps[min(len(sizes) - 1, max(0, int(len(sizes) * (time.time() - began) / seconds)))](count)
            torch.cuda.synchronize()
        return step

    def ramp_size(seconds):
        """Back-to-back products of growing matrices: from launch-bound to power-capped."""
        sizes = [128, 256, 512, 768, 1024, 1536, 2048, 3072, 4096, 8192]
        steps, began = [matmul(torch.bfloat16, n) for n in sizes], time.time()

        def step(count):
            at = min(len(sizes) - 1, int(len(sizes) * (time.time() - began - 1.0) / seconds))
            for _ in range(max(1, 4096 // sizes[at])):
                steps[at](count)
            torch.cuda.synchronize()
        return step

    def mixed():
        """Slices of 0.4 to 1.2 s of different work with short pauses, in a fixed order."""
        steps = [matmul(torch.bfloat16), memcopy(), conv(), elementwise(), matmul(torch.float32), matmul(torch.bfloat16, 1024)]
        plan = [(0, 1.2), (1, 0.8), (None, 0.4), (2, 1.0), (3, 0.6), (0, 0.4), (None, 0.8), (4, 1.0), (5, 0.8), (1, 0.4)]
        ends, total = [], 0.0
        for _, length in plan:
            total += length
            ends.append(total)
        began = time.time()

        def step(count):
            into = (time.time() - began) % total
            at = next(i for i, end in enumerate(ends) if into < end)
            which = plan[at][0]
            if which is None:
                time.sleep(ends[at] - into)
            else:
                steps[which](count)
                torch.cuda.synchronize()
        return step

    def falling_duty(seconds):
        """Products for a share of each 130 ms that falls from all of it to a twentieth."""
        product, began = matmul(torch.bfloat16), time.time() + 1.0

        def step(count):
            share = max(0.05, 1.0 - max(0.0, time.time() - began) / seconds)
            until = time.time() + 0.13 * share
            while time.time() < until:
                product(count)
                torch.cuda.synchronize()
            time.sleep(0.13 * (1 - share))
        return step

    def random_bursts():
        """Products for 20 to 250 ms, then a pause of 20 to 250 ms."""
        product = matmul(torch.bfloat16)

        def step(count):
            until = time.time() + chance.uniform(0.02, 0.25)
            while time.time() < until:
                product(count)
                torch.cuda.synchronize()
            time.sleep(chance.uniform(0.02, 0.25))
        return step

    def count_waves():
        """Bursts of 5 to 80 products that swell and shrink every 4 s, with 25 ms of pause between them."""
        import math
        product, began = matmul(torch.bfloat16), time.time()

        def step(count):
            for _ in range(5 + int(37.5 * (1 + math.sin((time.time() - began) * math.pi / 2)))):
                product(count)
            torch.cuda.synchronize()
            time.sleep(0.025)
        return step

    def mixed_fast():
        """Slices of 80 to 300 ms of different work, some with a pause of 40 to 120 ms."""
        steps = [matmul(torch.bfloat16), memcopy(), conv(), elementwise(), matmul(torch.float32)]

        def step(count):
            work, until = chance.choice(steps), time.time() + chance.uniform(0.08, 0.3)
            while time.time() < until:
                work(count)
                torch.cuda.synchronize()
            if chance.random() < 0.5:
                time.sleep(chance.uniform(0.04, 0.12))
        return step

    def matrix_waves():
        """Back-to-back products of matrices of 512 to 8192, another size every 0.7 s."""
        sizes = [512, 4096, 1024, 8192, 2048, 768, 3072]
        steps, began = [matmul(torch.bfloat16, n) for n in sizes], time.time()

        def step(count):
            at = int((time.time() - began) / 0.7) % len(sizes)
            for _ in range(max(1, 4096 // sizes[at])):
                steps[at](count)
            torch.cuda.synchronize()
        return step

    def overlap():
        """Products and copies at the same time, in two streams."""
        product, copy, side = matmul(torch.bfloat16), memcopy(), torch.cuda.Stream()

        def step(count):
            with torch.cuda.stream(side):
                copy(count)
            product(count)
            product(count)
            torch.cuda.synchronize()
        return step

    def decode():
        weights = torch.randn(16384, 16384, device=dev, dtype=torch.bfloat16)
        vector = torch.randn(16384, 1, device=dev, dtype=torch.bfloat16)

        def step(_):
            for _ in range(64):
                torch.matmul(weights, vector)
        return step

    makers = {
        "matmul_bf16": lambda: matmul(torch.bfloat16), "matmul_fp16": lambda: matmul(torch.float16),
        "matmul_tf32": lambda: matmul(torch.float32, tf32=True), "matmul_fp32": lambda: matmul(torch.float32),
        "matmul_fp64": lambda: matmul(torch.float64), "matmul_fp8": matmul_fp8, "memcopy": memcopy,
        "elementwise": elementwise, "matmul_small": lambda: matmul(torch.bfloat16, n=256), "matmul_duty50": duty,
        "h2d": h2d, "conv": conv, "train": lambda: train(torch.bfloat16), "train_fp32": lambda: train(torch.float32),
        "infer_light": lambda: infer(1, 128, 0.022), "infer_medium": lambda: infer(4, 512, 0.010),
        "infer_heavy": lambda: infer(32, 1024, 0), "infer_bursty": lambda: infer(8, 1024, 0, burst=(1.0, 3.0)),
        "burst_1hz": lambda: gate([matmul(torch.bfloat16)], 0.5, 1.0), "burst_2hz": lambda: gate([matmul(torch.bfloat16)], 0.25, 0.5),
        "burst_slow": lambda: gate([matmul(torch.bfloat16)], 2.0, 4.0), "conv_1hz": lambda: gate([conv()], 0.5, 1.0),
        "ramp_100ms": lambda: rising_duty(14 * scale, 0.1), "ramp_200ms": lambda: rising_duty(14 * scale, 0.2),
        "ramp_500ms": lambda: rising_duty(14 * scale, 0.5), "ramp_1s": lambda: rising_duty(14 * scale, 1.0),
        "ramp_steps": lambda: rising_duty(14 * scale, 0.25, [0.2, 0.4, 0.6, 0.8, 1.0]), "ramp_count": lambda: rising_count(14 * scale),
        "ramp_matrix": lambda: rising_matrix(14 * scale), "short_ramp": lambda: rising_duty(10 * scale, 0.06),
        "burst_3hz": lambda: gate([matmul(torch.bfloat16)], 1 / 6, 1 / 3), "falling_duty": lambda: falling_duty(10 * scale),
        "random_bursts": random_bursts, "count_waves": count_waves, "mixed_fast": mixed_fast, "matrix_waves": matrix_waves,
        "ramp": lambda: ramp(24 * scale), "ramp_size": lambda: ramp_size(18 * scale), "mixed": mixed, "overlap": overlap, "decode": decode,
    }
    torch.zeros(1, device=dev)
    torch.cuda.synchronize()
    idle(8 * scale)
    seconds_of = dict(PHASES + UNNAMED)
    for name in only or dict(PHASES):
        seconds = seconds_of[name]
        try:
            step = makers[name]()
            step(0)
            torch.cuda.synchronize()
            time.sleep(1.0)
            spans.clear()
            start = now_ms()
            announce(name, start, spin(seconds * scale, step, 256 if name == "matmul_small" else 1))
        except Exception as error:  # a kind this build cannot run is left out, the others still count
            print(json.dumps({"skipped": name, "why": str(error)[:200]}), flush=True)
        step = None
        torch.cuda.empty_cache()
        idle(IDLE_S * scale)
    idle(10 * scale)


# ---- the parent: NVML only ----
class Memory(c.Structure):
    _fields_ = [("total", c.c_ulonglong), ("free", c.c_ulonglong), ("used", c.c_ulonglong)]


class Utilization(c.Structure):
    _fields_ = [("gpu", c.c_uint), ("memory", c.c_uint)]


class FieldValue(c.Structure):
    _fields_ = [("field", c.c_uint), ("scope", c.c_uint), ("timestamp", c.c_longlong), ("latency", c.c_longlong),
                ("type", c.c_uint), ("ret", c.c_uint), ("value", c.c_ulonglong)]


class GpmMetric(c.Structure):
    _fields_ = [("id", c.c_uint), ("ret", c.c_uint), ("value", c.c_double), ("names", c.c_void_p * 3)]


class GpmGet(c.Structure):
    _fields_ = [("version", c.c_uint), ("count", c.c_uint), ("a", c.c_void_p), ("b", c.c_void_p), ("metrics", GpmMetric * 400)]


# NVML GPM metric ids, percent except the PCIe ones (MiB/s).
GPM = {"sm_active": 2, "sm_occupancy": 3, "tensor": 5, "dram": 10, "fp64": 11, "fp32": 12, "fp16": 13, "pcie_tx": 20, "pcie_rx": 21}


class Sampler(threading.Thread):
    def __init__(self, folder):
        super().__init__(daemon=True)
        self.folder, self.stopping = folder, threading.Event()
        self.nvml = c.CDLL("libnvidia-ml.so.1")
        self.nvml.nvmlInit_v2()
        self.dev = c.c_void_p()
        self.nvml.nvmlDeviceGetHandleByIndex_v2(0, c.byref(self.dev))
        self.samples = [c.c_void_p(), c.c_void_p()]
        self.gpm = all(self.nvml.nvmlGpmSampleAlloc(c.byref(s)) == 0 for s in self.samples) and \
            all(self.nvml.nvmlGpmSampleGet(self.dev, s) == 0 for s in self.samples)

    def number(self, call, *args):
        value = c.c_uint()
        return value.value if getattr(self.nvml, call)(self.dev, *args, c.byref(value)) == 0 else ""

    def wide(self, call):
        value = c.c_ulonglong()
        return value.value if getattr(self.nvml, call)(self.dev, c.byref(value)) == 0 else ""

    def fields(self, pairs):
        values = (FieldValue * len(pairs))(*[FieldValue(field=f, scope=s) for f, s in pairs])
        self.nvml.nvmlDeviceGetFieldValues(self.dev, len(pairs), values)
        return [v.value & 0xFFFFFFFF if v.ret == 0 else "" for v in values]

    def gpm_row(self):
        self.samples.reverse()
        if self.nvml.nvmlGpmSampleGet(self.dev, self.samples[1]) != 0:
            return None
        get = GpmGet(version=1, count=len(GPM), a=self.samples[0], b=self.samples[1])
        for i, metric in enumerate(GPM.values()):
            get.metrics[i].id = metric
        if self.nvml.nvmlGpmMetricsGet(c.byref(get)) != 0:
            return None
        return [round(get.metrics[i].value, 2) if get.metrics[i].ret == 0 else "" for i in range(len(GPM))]

    def run(self):
        trace = open(os.path.join(self.folder, "trace.csv"), "w", buffering=1)
        gpm = open(os.path.join(self.folder, "gpm.csv"), "w", buffering=1)
        trace.write("t_ms,util,mem_util,mem_used,temp,power_mw,clk_gfx,clk_sm,clk_mem,clk_video,reasons,energy_mj,mem_temp,power_inst_mw,mem_power_mw\n")
        gpm.write("t_ms," + ",".join(GPM) + "\n")
        tick, start = 0, time.time()
        while not self.stopping.is_set():
            memory, util = Memory(), Utilization()
            t = now_ms()
            self.nvml.nvmlDeviceGetUtilizationRates(self.dev, c.byref(util))
            self.nvml.nvmlDeviceGetMemoryInfo(self.dev, c.byref(memory))
            row = [t, util.gpu, util.memory, memory.used, self.number("nvmlDeviceGetTemperature", 0), self.number("nvmlDeviceGetPowerUsage")]
            row += [self.number("nvmlDeviceGetClockInfo", domain) for domain in (0, 1, 2, 3)]
            row.append(self.wide("nvmlDeviceGetCurrentClocksThrottleReasons"))
            row.append(self.wide("nvmlDeviceGetTotalEnergyConsumption") if tick % 20 == 0 else "")
            row += self.fields([(82, 0), (186, 0), (185, 2)])
            trace.write(",".join(map(str, row)) + "\n")
            if self.gpm and tick % 20 == 10:
                values = self.gpm_row()
                if values is not None:
                    gpm.write(",".join(map(str, [t] + values)) + "\n")
            tick += 1
            time.sleep(max(0.0, start + tick * 0.05 - time.time()))
        trace.close()
        gpm.close()


def main():
    folder = sys.argv[1]
    options = dict(zip(sys.argv[2::2], sys.argv[3::2]))
    scale = float(options.get("--scale", "1"))
    os.makedirs(folder, exist_ok=True)
    sampler = Sampler(folder)
    sampler.start()
    phases = []

    def write(event):
        """After every phase: a recording that is cut short is complete up to there."""
        phases.append(event)
        with open(os.path.join(folder, "phases.json"), "w") as out:
            out.write("[\n" + ",\n".join(" " + json.dumps(phase) for phase in phases) + "\n]\n")

    start = now_ms()
    time.sleep(8 * scale)
    write({"phase": "idle", "start_ms": start, "end_ms": now_ms(), "work": 0})
    child = subprocess.Popen([sys.executable, __file__, "--load", str(scale), options.get("--only", ""),
                              options.get("--size", "8192"), options.get("--width", "2048")], stdout=subprocess.PIPE, text=True)
    for line in child.stdout:
        event = json.loads(line)
        print({key: value for key, value in event.items() if key != "busy_ms"}, flush=True)
        if "phase" in event:
            write(event)
    child.wait()
    time.sleep(3 * scale)
    start = now_ms()
    time.sleep(8 * scale)
    write({"phase": "idle", "start_ms": start, "end_ms": now_ms(), "work": 0})
    sampler.stopping.set()
    sampler.join()
    sys.exit(child.returncode)


if __name__ == "__main__":
    if sys.argv[1] == "--load":
        load(float(sys.argv[2]), [name for name in sys.argv[3].split(",") if name], int(sys.argv[4]), int(sys.argv[5]))
    else:
        main()
