#!/usr/bin/env python3
"""A counted matrix workload: so many products of one size and precision, and what they took by its own clock and by NVML.

    python3 test/device/work.py --dtype bf16 --size 8192 --seconds 8
    python3 test/device/work.py --dtype bf16 --size 8192 --iterations 2000
    python3 test/device/work.py --chunks 40 --dtype bf16

Prints `::phase NAME::` lines, `did N products`, and one line of JSON at the end. With --dry no GPU is used: it sleeps.
"""
import argparse
import ctypes
import json
import sys
import time

started = time.time()


class Counter:
    """The hardware's energy counter, read past gpulse, in joules."""

    def __init__(self, dry):
        self.lib = None
        if dry:
            return
        try:
            lib = ctypes.CDLL("libnvidia-ml.so.1")
            lib.nvmlInit_v2()
            self.handle = ctypes.c_void_p()
            if lib.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(self.handle)) == 0:
                self.lib = lib
        except OSError:
            pass

    def joules(self):
        value = ctypes.c_ulonglong()
        if self.lib is None or self.lib.nvmlDeviceGetTotalEnergyConsumption(self.handle, ctypes.byref(value)) != 0:
            return None
        return value.value / 1000


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dtype", default="bf16")
    parser.add_argument("--size", type=int, default=8192)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--iterations", type=int, default=0)
    parser.add_argument("--chunks", type=float, default=0, help="seconds of equal chunks, each with its time")
    parser.add_argument("--dry", action="store_true")
    args = parser.parse_args()
    counter = Counter(args.dry)
    first = counter.joules()
    print("::phase import::", flush=True)
    if args.dry:
        batch = lambda: time.sleep(0.02)
    else:
        import torch

        kinds = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
        torch.backends.cuda.matmul.allow_tf32 = False
        a = torch.randn(args.size, args.size, device="cuda", dtype=kinds[args.dtype])
        b = torch.randn_like(a)

        def batch():
            for _ in range(10):
                a @ b
            torch.cuda.synchronize()

    until = time.time() + 0.7
    while time.time() < until:
        batch()
    if args.chunks > 0:
        chunks(batch, args.chunks)
        return
    print("::phase measure::", flush=True)
    before, begin, products = counter.joules(), time.time(), 0
    while (products < args.iterations) if args.iterations > 0 else (time.time() - begin < args.seconds):
        batch()
        products += 10
    end, after = time.time(), counter.joules()
    print(f"did {products} products", flush=True)
    print("::phase end::", flush=True)
    joules = lambda one, other: None if one is None or other is None else other - one
    print(
        json.dumps(
            {
                "products": products,
                "flop": 2 * args.size**3 * products,
                "startedSeconds": started,
                "beginSeconds": begin,
                "endSeconds": end,
                "seconds": end - begin,
                "measuredJoules": joules(before, after),
                "wholeJoules": joules(first, counter.joules()),
            }
        ),
        flush=True,
    )


def chunks(batch, seconds):
    """The same piece of work over and over: what disturbs it shows in its time."""
    begin = time.perf_counter()
    batch()
    size = max(1, round(0.25 / max(1e-4, time.perf_counter() - begin)))
    until = time.time() + seconds
    print("ready", flush=True)
    while time.time() < until:
        at, begin = time.time(), time.perf_counter()
        for _ in range(size):
            batch()
        print(json.dumps([at, time.perf_counter() - begin]), flush=True)


if __name__ == "__main__":
    sys.exit(main())
