import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog } from "../../../base/log.ts";
import type { Frame } from "../../../model/frame.ts";
import { labelValue } from "../../../model/labels.ts";
import { presence } from "../../../model/presence.ts";
import { createOwnerResolver } from "../../../machine/owners/resolver.ts";
import { ownCapture } from "../../../../test/fixtures/sources/nvidia-smi.ts";
import { SmiRunner } from "./run.ts";
import { SmiSource } from "./source.ts";

const captures = fileURLToPath(new URL("./captures", import.meta.url));
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "gpulse-smi-ask-"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A source with a stand-in for nvidia-smi that logs its arguments; `body` contains the cases of a shell `case`. */
function sourceOf(body: string, processes = false): { source: SmiSource; asked: () => string[] } {
  const command = join(folder, "nvidia-smi");
  const log = join(folder, "asked");
  writeFileSync(
    command,
    `#!/bin/sh\ncd "${captures}"\necho "$*" >> "${log}"\ncase "$*" in\n${body}\n*) echo odd; exit 2;;\nesac\n`,
  );
  chmodSync(command, 0o755);
  const runner = new SmiRunner({ command, deadlineMs: 10_000, nowMs: () => 0 });
  const resolver = createOwnerResolver({ procfs: folder, nowMs: () => 0, log: silentLog });
  return {
    source: new SmiSource({ host: "h", runner, resolver, processes }),
    asked: () => {
      const lines = readFileSync(log, "utf8").trim().split("\n");
      rmSync(log);
      return lines.map((line) => line.split("=", 1)[0] ?? "");
    },
  };
}

/** The values of all series with this name, or the absence reason of each. */
function valuesOf(frame: Frame, name: string): unknown[] {
  const reasons = Object.entries(presence);
  return frame.layout.series.flatMap(({ metric }, slot) => {
    if (metric.name !== name) return [];
    const state = frame.presence[slot];
    return [
      state === presence.present
        ? frame.values[slot]
        : reasons.find(([, code]) => code === state)?.[0],
    ];
  });
}

test("a failed run is reported with nvidia-smi's own error", async () => {
  const { source } = sourceOf(
    `"-q -x") echo "Failed to initialize NVML: Unknown Error"; exit 255;;`,
  );
  await expect(source.read("slow", 5_000)).rejects.toThrow(
    /exited with 255: Failed to initialize NVML: Unknown Error/,
  );
});

test("a whole answer with an error exit is read", async () => {
  const { source, asked } = sourceOf(`"-q -x") cat load.q.xml; exit 14;;`);
  for (const timeMs of [5_000, 10_000])
    expect(valuesOf(await source.read("slow", timeMs), "gpu_power_watts")).toEqual([693.31]);
  expect(asked()).toEqual(["-q -x", "-q -x"]);
});

test("a process whose memory is not reported is listed by name, its memory absent", async () => {
  const windows = ownCapture("load.q.xml")
    .replace("<used_memory>1130 MiB</used_memory>", "<used_memory>N/A</used_memory>")
    .replace(
      /<process_name>.*<\/process_name>/,
      "<process_name>C:\\\\Apps\\\\render.exe</process_name>",
    );
  writeFileSync(join(folder, "windows.xml"), windows);
  const { source } = sourceOf(`"-q -x") cat "${folder}/windows.xml";;`, true);
  const frame = await source.read("slow", 5_000);
  expect(valuesOf(frame, "gpu_process_info")).toEqual([1]);
  expect(valuesOf(frame, "gpu_process_memory_bytes")).toEqual(["unsupported"]);
  const info = frame.layout.series.find(({ metric }) => metric.name === "gpu_process_info");
  expect(labelValue(info?.labels ?? [], "process")).toBe("render.exe");
});

test("output that is cut short is an error, and the next read tries again", async () => {
  const { source, asked } = sourceOf(`"-q -x") echo "<cut";;`);
  for (const timeMs of [5_000, 10_000])
    await expect(source.read("slow", timeMs)).rejects.toThrow("nvidia-smi lists no GPU");
  expect(asked()).toEqual(["-q -x", "-q -x"]);
});

test("a process's share is asked for only where processes are", async () => {
  const body = `"-q -x") cat load.q.xml;;\n"pmon -c 1") cat load.pmon.txt;;`;
  const { source, asked } = sourceOf(body, true);
  const frame = await source.read("slow", 5_000);
  expect(valuesOf(frame, "gpu_process_utilization_ratio")).toEqual([0.98]);
  expect(asked()).toEqual(["-q -x", "pmon -c 1"]);
  const without = sourceOf(body);
  await without.source.read("slow", 5_000);
  expect(without.asked()).toEqual(["-q -x"]);
});

test("a monitor that fails takes nothing else with it, and is left alone for a while", async () => {
  const { source, asked } = sourceOf(`"-q -x") cat load.q.xml;;`, true);
  for (const timeMs of [5_000, 10_000]) {
    const frame = await source.read("slow", timeMs);
    expect(valuesOf(frame, "gpu_power_watts")).toEqual([693.31]);
    expect(valuesOf(frame, "gpu_process_utilization_ratio")).toEqual(["unsupported"]);
  }
  expect(asked()).toEqual(["-q -x", "pmon -c 1", "-q -x"]);
});

test("of two GPUs each has the other as a peer where both reading and writing work", async () => {
  const [gpu = ""] = /<gpu [\s\S]*<\/gpu>/.exec(ownCapture("load.q.xml")) ?? [];
  const two = ownCapture("load.q.xml").replace(gpu, gpu + gpu.replaceAll("11111111", "22222222"));
  writeFileSync(join(folder, "two.xml"), two);
  const { source, asked } = sourceOf(
    `"-q -x") cat "${folder}/two.xml";;\n` +
      `"topo -p2p r") printf ' \\tGPU0\\tGPU1\\n GPU0\\tX\\tOK\\n GPU1\\tOK\\tX\\n';;\n` +
      `"topo -p2p w") printf ' \\tGPU0\\tGPU1\\n GPU0\\tX\\tOK\\n GPU1\\tTNS\\tX\\n';;`,
  );
  const frame = await source.read("slow", 5_000);
  expect(valuesOf(frame, "gpu_p2p_accessible")).toEqual([1, 0]);
  const first = frame.layout.series.find(({ metric }) => metric.name === "gpu_p2p_accessible");
  expect(labelValue(first?.labels ?? [], "peer")).toBe("GPU-22222222-2222-3333-4444-555555555555");
  expect(asked()).toEqual(["-q -x", "topo -p2p r", "topo -p2p w"]);
  expect(valuesOf(await source.read("slow", 10_000), "gpu_p2p_accessible")).toEqual([1, 0]);
  expect(asked()).toEqual(["-q -x"]);
  await source.read("slow", 66_000);
  expect(asked()).toEqual(["-q -x", "topo -p2p r", "topo -p2p w"]);
});
