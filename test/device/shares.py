#!/usr/bin/env python3
"""A process with a known share of a GPU: so many bf16 products a second, in bursts, from one time of the clock to another.

    GPULSE_JOB=large python3 test/device/shares.py --rate 240 --begin EPOCH --seconds 60

Several of them side by side have shares in the ratio of their products, since all products are alike. Prints `ready` when the GPU
is open, and one line of JSON with the products at the end. With --dry no GPU is used: it sleeps and counts.
"""
import argparse
import json
import sys
import time

SIZE = 8192
BURST_SECONDS = 0.2


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float, required=True, help="products a second")
    parser.add_argument("--begin", type=float, required=True, help="seconds since 1970")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--dry", action="store_true")
    args = parser.parse_args()
    if args.dry:
        multiply = lambda times: None
    else:
        import torch

        a = torch.randn(SIZE, SIZE, device="cuda", dtype=torch.bfloat16)
        b, out = torch.randn_like(a), torch.empty_like(a)

        def multiply(times):
            for _ in range(times):
                torch.mm(a, b, out=out)
            torch.cuda.synchronize()

        multiply(1)
    print("ready", flush=True)
    time.sleep(max(0, args.begin - time.time()))
    begin, done, late = time.time(), 0, 0
    while time.time() - begin < args.seconds:
        # By the clock: a burst that waited for another process is made up for.
        due = round(args.rate * (time.time() - begin + BURST_SECONDS))
        multiply(max(0, due - done))
        done = max(done, due)
        pause = done / args.rate - (time.time() - begin)
        late += pause < -1
        time.sleep(max(0, pause))
    end = time.time()
    print(json.dumps({"products": done, "seconds": end - begin, "late": late}), flush=True)


sys.exit(main())
