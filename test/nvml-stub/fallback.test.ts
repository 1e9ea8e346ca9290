// Tests nvidia-smi as the fallback if NVML cannot be loaded: retries after failures, the slow tier, and that no first result is final.

import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { beforeEach, expect, onTestFinished, test } from "vitest";

import { silentLog } from "../../src/base/log.ts";
import { createOwnerResolver } from "../../src/machine/owners/resolver.ts";
import { examine } from "../../src/sources/nvidia/doctor.ts";
import { FallbackSource } from "../../src/sources/nvidia/fallback.ts";
import { SmiRunner } from "../../src/sources/nvidia/smi/run.ts";
import { SmiSource } from "../../src/sources/nvidia/smi/source.ts";
import { NvidiaSource } from "../../src/sources/nvidia/source.ts";
import { useStub } from "./harness.ts";

const nvml = useStub();
const capture = fileURLToPath(
  new URL("../../src/sources/nvidia/smi/captures/load.q.xml", import.meta.url),
);
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "gpulse-fallback-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});

/** Replaces the stand-in for nvidia-smi. */
function tool(body: string): string {
  const file = path.join(folder, "nvidia-smi");
  writeFileSync(file, `#!/bin/sh\n${body}\n`);
  chmodSync(file, 0o755);
  return file;
}

function open(library: string, nowMs: () => number): FallbackSource {
  const resolver = createOwnerResolver({ procfs: folder, nowMs, log: silentLog });
  const command = path.join(folder, "nvidia-smi");
  const explain = async ({ stage, detail }: { stage: string; detail: string }): Promise<string> =>
    `${stage}: ${detail}.`;
  const source = new FallbackSource({
    nvml: new NvidiaSource({
      host: "h",
      settings: { processes: false, slowEveryMs: 1_000 },
      connect: () => nvml.connect([library]),
      resolver,
      explain,
      log: silentLog,
    }),
    smi: new SmiSource({
      host: "h",
      runner: new SmiRunner({ command, deadlineMs: 10_000, nowMs }),
      resolver,
      processes: false,
    }),
    explain,
    log: silentLog,
  });
  onTestFinished(() => source.close());
  return source;
}

test("a tool that fails at the start is reported in its own words, and read once it works", async () => {
  let nowMs = 0;
  tool("echo 'NVIDIA-SMI has failed because of a reset'; exit 9");
  const source = open("libnvidia-ml-that-is-not-there.so.1", () => nowMs);
  await expect(source.read("slow", 0)).rejects.toThrow(/has failed because of a reset/);
  await expect(source.read("fast", 0)).rejects.toThrow(/has failed because of a reset/);
  expect(source.devices()).toEqual([]);
  tool(`cat ${capture}`);
  nowMs = 60_000;
  const frame = await source.read("slow", nowMs);
  expect(frame.layout.series.length).toBeGreaterThan(40);
  expect(source.devices().map(({ model }) => model)).toEqual(["NVIDIA H200"]);
  expect((await source.read("fast", nowMs)).layout.series).toEqual([]);
});

test("NVML that loads later takes over from nvidia-smi", async () => {
  tool(`cat ${capture}`);
  const link = path.join(folder, "libnvidia-ml.so.1");
  const source = open(link, () => 0);
  await source.read("slow", 0);
  expect(source.deadlineMs).toBe(60_000);
  writeFileSync(link, "");
  await source.read("slow", 0);
  expect(source.devices()).toHaveLength(1);
  nvml.stub.script("gpus 2");
  rmSync(link);
  nvml.stub.copyTo(link);
  await source.read("slow", 0);
  expect(source.devices().map(({ model }) => model)).toContain("NVIDIA Stub 80GB");
  expect((await source.read("fast", 0)).layout.series.length).toBeGreaterThan(20);
  expect(source.deadlineMs).toBeUndefined();
});

test("a library that the loader refuses is reported with the loader's reason, with and without a driver", async () => {
  const library = path.join(folder, "libnvidia-ml.so.1");
  writeFileSync(library, "no library at all, but long enough to be looked at as one".repeat(4));
  for (const around of [
    { module: false, control: "missing", container: false },
    { module: true, control: "open", container: true },
  ] as const) {
    const connection = nvml.connect(["libnvidia-ml-that-is-not-there.so.1", library]);
    const finding = await examine(connection, around);
    await connection.close();
    expect(finding.state).toBe("failed");
    expect(finding.says).toMatch(/libnvidia-ml\.so\.1: .*(ELF|file too short)/);
  }
});
