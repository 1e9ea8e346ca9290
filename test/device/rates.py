#!/usr/bin/env python3
"""Bandwidths and rates of the first GPU by PyTorch, timed by CUDA events, as one line of JSON in bytes/s and FLOP/s.

    python3 test/device/rates.py --seconds 4
    python3 test/device/rates.py --hold 30      only a context with some memory, for that many seconds
"""
import argparse
import json
import statistics
import time

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--seconds", type=float, default=4)
parser.add_argument("--hold", type=float, default=0)
args = parser.parse_args()
torch.backends.cuda.matmul.allow_tf32 = False

if args.hold > 0:
    held = torch.ones(2**26, device="cuda")
    torch.cuda.synchronize()
    print("ready", flush=True)
    time.sleep(args.hold)
    raise SystemExit(0)


def rate(work, amount, settle):
    """The median of slices of about 0.1 s; those of the first `settle` share are left out."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def run(times):
        start.record()
        for _ in range(times):
            work()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / 1000

    run(3)
    times = max(1, round(0.1 / (run(3) / 3)))
    slices = []
    began = time.monotonic()
    while time.monotonic() - began < args.seconds or len(slices) < 5:
        slices.append(run(times))
    kept = slices[int(len(slices) * settle) :]
    return amount * times / statistics.median(kept)


results = {}
source = torch.randn(2**29, device="cuda")
target = torch.empty_like(source)
results["device_copy"] = rate(lambda: target.copy_(source), 2 * source.numel() * 4, 0)
host = torch.empty(2**26, dtype=torch.float32, pin_memory=True)
part = source[: 2**26]
results["host_to_device"] = rate(lambda: part.copy_(host, non_blocking=True), host.numel() * 4, 0)
results["device_to_host"] = rate(lambda: host.copy_(part, non_blocking=True), host.numel() * 4, 0)
del source, target, part
size = 8192
for name, kind in (("fp32", torch.float32), ("tensor", torch.bfloat16)):
    left = torch.randn(size, size, device="cuda", dtype=kind)
    right = torch.randn(size, size, device="cuda", dtype=kind)
    out = torch.empty(size, size, device="cuda", dtype=kind)
    results[name] = rate(lambda: torch.mm(left, right, out=out), 2 * size**3, 0.3)
print(json.dumps(results), flush=True)
