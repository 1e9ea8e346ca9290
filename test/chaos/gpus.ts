// GPUs that fail under a pushing agent: a hanging driver, a GPU that is lost and returns, an nvidia-smi that never ends.
// The agent reports it to the hub, invents no values, recovers by itself, and every reading is stored exactly once.

import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";

import { queryHub } from "../../engines/push.ts";
import { waitUntil } from "../../engines/wait.ts";
import type { Stub } from "../nvml-stub/stub.ts";
import type { Chaos } from "./counts.ts";
import { type ChaosLab, openChaosLab } from "./fleet.ts";
import { backToLevel, levelOf } from "./level.ts";
import { verifyAll } from "./storm.ts";

const PATIENCE_MS = 120_000;
const capture = fileURLToPath(
  new URL("../../src/sources/nvidia/smi/captures/idle.q.xml", import.meta.url),
);

/** NVML's error for a GPU that has fallen off the bus. */
const lost = ["utilization", "power", "memory", "memory_v1", "temperature", "fields"].map(
  (call) => `1.${call}.rc 15`,
);

/** The newest value of `gpu_up` at the hub, by GPU. */
async function up(lab: ChaosLab): Promise<Record<string, string>> {
  const found = await queryHub(lab.place, "gpu_up");
  return Object.fromEntries(
    found.map(({ metric, value }) => [metric["gpu"] ?? "", value?.[1] ?? ""]),
  );
}

const until = (lab: ChaosLab, what: string, holds: (up: Record<string, string>) => boolean) =>
  waitUntil({ what, timeoutMs: PATIENCE_MS }, async () => {
    const now = await up(lab);
    if (holds(now)) return true;
    throw new Error(JSON.stringify(now));
  });

export async function runDriverFaults(chaos: Chaos, stub: Stub, rounds: number): Promise<void> {
  stub.script("gpus 2");
  const lab = await openChaosLab({ agents: 1, source: `nvidia:?library=${stub.library}` });
  try {
    await until(lab, "both GPUs", (now) => now["0"] === "1" && now["1"] === "1");
    const pid = lab.agents[0]?.running.process.pid ?? 0;
    const before = levelOf(pid);
    for (let round = 0; round < rounds; round++) {
      stub.script("gpus 2", "1.power.hang 1");
      await until(
        lab,
        "a hung driver to be reported",
        (now) => now["0"] === "0" && now["1"] === "0",
      );
      chaos.fault("NVML hangs");
      stub.script("gpus 2");
      await until(lab, "both to be back", (now) => now["0"] === "1" && now["1"] === "1");
      stub.script("gpus 2", ...lost);
      await until(
        lab,
        "a lost GPU to be reported alone",
        (now) => now["0"] === "1" && now["1"] === "0",
      );
      chaos.fault("GPU lost");
      stub.script("gpus 2");
      await until(lab, "it to be back", (now) => now["0"] === "1" && now["1"] === "1");
    }
    await lab.calm();
    await backToLevel("the agent", pid, before);
    await verifyAll(lab, chaos);
  } finally {
    stub.script("gpus 2");
    await lab.close();
  }
}

/** A replacement for nvidia-smi that prints a capture, or hangs. */
export async function smiHangs(chaos: Chaos): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-chaos-smi-"));
  const mood = path.join(folder, "hangs");
  const smi = path.join(folder, "nvidia-smi");
  writeFileSync(
    smi,
    `#!/bin/sh\nif [ -e '${mood}' ]; then exec sleep 600; fi\nif [ "$*" = "-q -x" ]; then exec cat '${capture}'; fi\nexit 1\n`,
  );
  chmodSync(smi, 0o755);
  const source = `nvidia:?library=${folder}/none.so&smi=${smi}`;
  const lab = await openChaosLab({ agents: 1, source, interval: "1s" });
  try {
    await until(lab, "the GPU", (now) => Object.values(now).includes("1"));
    const pid = lab.agents[0]?.running.process.pid ?? 0;
    const before = levelOf(pid);
    writeFileSync(mood, "");
    await until(lab, "nvidia-smi's silence to be reported", (now) =>
      Object.values(now).every((one) => one === "0"),
    );
    expect(lab.agents[0]?.running.process.exited()).toBeUndefined();
    chaos.fault("nvidia-smi hangs");
    rmSync(mood);
    await until(lab, "the GPU to be back", (now) => Object.values(now).includes("1"));
    await lab.calm();
    await backToLevel("the agent", pid, before);
    await verifyAll(lab, chaos);
  } finally {
    await lab.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
