#!/usr/bin/env python3
"""Walks a GPU through known loads, so that a reader of it can be held against something that really happens.

    python3 test/device/load.py matmul:20,idle:5,copy:10,bursts:12

Prints `ready` when the context is open and `done` at the end. Changes no clock, limit or mode. Needs PyTorch.
"""
import sys
import time

import torch


def spin(seconds, step):
    until = time.time() + seconds
    while time.time() < until:
        step()
    torch.cuda.synchronize()


def main():
    phases = [part.split(":") for part in sys.argv[1].split(",")]
    a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    b = torch.randn_like(a)
    source = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)

    def matmul():
        for _ in range(10):
            a @ b
        torch.cuda.synchronize()

    def copy():
        for _ in range(10):
            target.copy_(source)
        torch.cuda.synchronize()

    def bursts():
        spin(0.25, matmul)
        time.sleep(0.25)

    kinds = {"matmul": matmul, "copy": copy, "bursts": bursts, "idle": lambda: time.sleep(0.1)}
    matmul()
    print("ready", flush=True)
    for kind, seconds in phases:
        print(f"{kind} {time.time():.3f}", flush=True)
        spin(float(seconds), kinds[kind])
    print("done", flush=True)


main()
