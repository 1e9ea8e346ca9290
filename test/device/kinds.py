#!/usr/bin/env python3
"""Sixteen kinds of work whose FLOP and bytes are counted by the program's own calls, one after another. Needs PyTorch.

    python3 test/device/kinds.py SECONDS [KIND,KIND:SECONDS…]

Prints one line of JSON per event: {"event": "ready"}, then for each kind "begin" and "end" with counts, or "failed" with the reason.
After its warm-up each kind runs for SECONDS, or for those of its own. With --dry no GPU is used and nothing is counted: it sleeps.
"""
import json
import sys
import time
import traceback

DRY = "--dry" in sys.argv
ARGS = [arg for arg in sys.argv[1:] if arg != "--dry"]
SIZE = 8192
WARM_SECONDS = 1.0


def say(event, **more):
    print(json.dumps({"event": event, "time": time.time(), **more}), flush=True)


def kinds():
    """By name: a function that makes the tensors and returns (step, FLOP of a step, bytes of a step)."""
    import torch

    def product(dtype, tf32=False):
        def make():
            torch.backends.cuda.matmul.allow_tf32 = tf32
            a = torch.randn(SIZE, SIZE, device="cuda", dtype=dtype)
            b = torch.randn(SIZE, SIZE, device="cuda", dtype=dtype)
            out = torch.empty(SIZE, SIZE, device="cuda", dtype=dtype)
            return lambda: torch.mm(a, b, out=out), 2 * SIZE**3, 0

        return make

    def fp8():
        a = torch.randn(SIZE, SIZE, device="cuda").to(torch.float8_e4m3fn)
        b = torch.randn(SIZE, SIZE, device="cuda").to(torch.float8_e4m3fn).t()
        one = torch.ones((), device="cuda")
        step = lambda: torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
        return step, 2 * SIZE**3, 0

    def int8():
        a = torch.randint(-100, 100, (SIZE, SIZE), device="cuda", dtype=torch.int8)
        b = torch.randint(-100, 100, (SIZE, SIZE), device="cuda", dtype=torch.int8).t()
        return lambda: torch._int_mm(a, b), 2 * SIZE**3, 0

    def copy():
        source = torch.empty(1 << 31, dtype=torch.uint8, device="cuda")
        target = torch.empty_like(source)
        return lambda: target.copy_(source), 0, 2 * source.numel()

    def elementwise():
        count = 1 << 29
        a, b = torch.randn(count, device="cuda"), torch.randn(count, device="cuda")
        out = torch.empty_like(a)
        return lambda: torch.add(a, b, out=out), count, 12 * count

    def vector():
        rows, columns = 65536, 16384
        a = torch.randn(rows, columns, device="cuda", dtype=torch.bfloat16)
        x = torch.randn(columns, device="cuda", dtype=torch.bfloat16)
        out = torch.empty(rows, device="cuda", dtype=torch.bfloat16)
        return lambda: torch.mv(a, x, out=out), 2 * rows * columns, 2 * rows * columns

    def tiny():
        x = torch.zeros(1, device="cuda")

        def step():
            for _ in range(2000):
                x.add_(1)

        return step, 0, 0

    def transfer(to_device):
        def make():
            host = torch.empty(1 << 30, dtype=torch.uint8, pin_memory=True)
            device = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
            pair = (device, host) if to_device else (host, device)
            return lambda: pair[0].copy_(pair[1], non_blocking=True), 0, host.numel()

        return make

    def half():
        torch.backends.cuda.matmul.allow_tf32 = False
        a = torch.randn(SIZE, SIZE, device="cuda", dtype=torch.bfloat16)
        b, out = torch.randn_like(a), torch.empty_like(a)

        def step():
            begin = time.perf_counter()
            for _ in range(50):
                torch.mm(a, b, out=out)
            torch.cuda.synchronize()
            time.sleep(time.perf_counter() - begin)

        return step, 50 * 2 * SIZE**3, 0

    def spin():
        return lambda: torch.cuda._sleep(200_000_000), 0, 0

    def vector_fp64():
        x = torch.rand(1 << 26, device="cuda", dtype=torch.float64)
        out = torch.empty_like(x)
        return lambda: torch.sin(x, out=out), 0, 0

    return {
        "idle": lambda: (lambda: time.sleep(0.05), 0, 0),
        "bf16": product(torch.bfloat16),
        "fp16": product(torch.float16),
        "tf32": product(torch.float32, tf32=True),
        "fp8": fp8,
        "int8": int8,
        "fp64": product(torch.float64),
        "fp32": product(torch.float32),
        "copy": copy,
        "elementwise": elementwise,
        "vector": vector,
        "tiny": tiny,
        "h2d": transfer(True),
        "d2h": transfer(False),
        "half": half,
        "spin": spin,
        # For information: the FP64 units without tensor cores; how many FLOP a sine takes is not known.
        "sine_fp64": vector_fp64,
    }


def run(name, make, seconds):
    if DRY:
        say("begin", kind=name, forSeconds=seconds)
        time.sleep(seconds)
        return say("end", kind=name, seconds=seconds, steps=0, flop=0, bytes=0)
    import torch

    step, flop, size = make()

    def stretch(until):
        """Steps of about 50 ms between two waits, so that the queue stays filled and short."""
        steps, burst = 0, 1
        while time.perf_counter() < until:
            begin = time.perf_counter()
            for _ in range(burst):
                step()
            torch.cuda.synchronize()
            steps += burst
            took = time.perf_counter() - begin
            burst = max(1, min(1000, round(burst * 0.05 / max(took, 1e-5))))
        return steps

    stretch(time.perf_counter() + WARM_SECONDS)
    say("begin", kind=name, forSeconds=seconds)
    begin = time.perf_counter()
    steps = stretch(begin + seconds)
    took = time.perf_counter() - begin
    say("end", kind=name, seconds=took, steps=steps, flop=steps * flop, bytes=steps * size)


def listed(names, seconds):
    """`half:20` runs for 20 seconds, `half` for as long as the others."""
    for name in names:
        kind, _, own = name.partition(":")
        yield kind, float(own) if own else seconds


def main():
    seconds = float(ARGS[0]) if ARGS else 11
    if DRY:
        names = ARGS[1].split(",") if len(ARGS) > 1 else []
        say("ready", device="none")
        for name, own in listed(names, seconds):
            run(name, None, own)
        return say("done")
    import torch

    makers = kinds()
    names = ARGS[1].split(",") if len(ARGS) > 1 else list(makers)
    torch.zeros(1, device="cuda")
    properties = torch.cuda.get_device_properties(0)
    say("ready", device=properties.name, units=properties.multi_processor_count, torch=torch.__version__)
    for name, own in listed(names, seconds):
        try:
            run(name, makers[name], own)
        except Exception as error:  # One kind that this PyTorch cannot run must not end the others.
            say("failed", kind=name, reason=f"{type(error).__name__}: {error}"[:500])
            traceback.print_exc()
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
    say("done")


sys.exit(main())
