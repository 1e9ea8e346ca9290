import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { silentLog } from "../../../base/log.ts";
import { labelValue } from "../../../model/labels.ts";
import { createOwnerResolver } from "../../../machine/owners/resolver.ts";
import { ownCapture } from "../../../../test/fixtures/sources/nvidia-smi.ts";
import { SmiRunner } from "./run.ts";
import { SmiSource } from "./source.ts";

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "gpulse-smi-"));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A stand-in for nvidia-smi: a shell script with this body. */
function command(name: string, body: string): string {
  const file = join(folder, name);
  writeFileSync(file, `#!/bin/sh\n${body}\n`);
  chmodSync(file, 0o755);
  return file;
}

function sourceOf(runner: SmiRunner): SmiSource {
  const resolver = createOwnerResolver({ procfs: folder, nowMs: () => 0, log: silentLog });
  return new SmiSource({ host: "h", runner, resolver, processes: false });
}

test("what it prints comes back", async () => {
  const runner = new SmiRunner({
    command: command("good", "echo $1"),
    deadlineMs: 5_000,
    nowMs: () => 0,
  });
  expect(await runner.run(["-L"])).toBe("-L\n");
});

test("one that hangs is ended at its deadline, and no second is started beside it", async () => {
  const runner = new SmiRunner({
    command: command("hang", "exec sleep 60"),
    deadlineMs: 200,
    nowMs: () => Date.now(),
  });
  const first = runner.run([]);
  await expect(runner.run([])).rejects.toThrow(/a second one is not started/);
  await expect(first).rejects.toThrow(/no answer for 0.2 s/);
});

test("one that fails is left alone for longer and longer, and said with its own words", async () => {
  let nowMs = 0;
  const runner = new SmiRunner({
    command: command("bad", "echo NVIDIA-SMI has failed; exit 9"),
    deadlineMs: 5_000,
    nowMs: () => nowMs,
  });
  await expect(runner.run([])).rejects.toThrow(/exited with 9: NVIDIA-SMI has failed/);
  await expect(runner.run([])).rejects.toThrow(/next try in 2 s/);
  nowMs = 2_000;
  await expect(runner.run([])).rejects.toThrow(/exited with 9/);
  nowMs = 4_000;
  await expect(runner.run([])).rejects.toThrow(/next try in 2 s/);
});

test("what it writes to stderr is its reason, and never part of its output", async () => {
  const options = { deadlineMs: 5_000, nowMs: () => 0 };
  const warns = command("warns", "echo readings; echo WARNING: infoROM >&2");
  expect(await new SmiRunner({ command: warns, ...options }).run([])).toBe("readings\n");
  const fails = command("fails", "echo half; echo Unable to determine the handle >&2; exit 6");
  await expect(new SmiRunner({ command: fails, ...options }).run([])).rejects.toThrow(
    /exited with 6: Unable to determine the handle/,
  );
});

test("an error exit after a usable answer is no failure", async () => {
  const runner = new SmiRunner({
    command: command("inforom", "echo whole; exit 14"),
    deadlineMs: 5_000,
    nowMs: () => 0,
  });
  const isUsable = (output: string): boolean => output.includes("whole");
  expect(await runner.run([], isUsable)).toBe("whole\n");
  expect(await runner.run([], isUsable)).toBe("whole\n");
});

test("a command that is not there is an error like another", async () => {
  const runner = new SmiRunner({
    command: join(folder, "none"),
    deadlineMs: 5_000,
    nowMs: () => 0,
  });
  await expect(runner.run([])).rejects.toThrow(/cannot be started/);
  await expect(runner.run([])).rejects.toMatchObject({ missing: true });
});

test("a frame is one run, with identity, and a GPU that is no longer listed is down", async () => {
  const xml = join(folder, "answer.xml");
  writeFileSync(xml, ownCapture("load.q.xml"));
  const runner = new SmiRunner({
    command: command("smi", `cat ${xml}`),
    deadlineMs: 5_000,
    nowMs: () => 0,
  });
  const source = sourceOf(runner);
  const frame = await source.read("slow", 5_000);
  const valueOf = (name: string, from = frame): number | undefined => {
    const slot = from.layout.series.findIndex(({ metric }) => metric.name === name);
    return slot === -1 || from.presence[slot] !== 0 ? undefined : from.values[slot];
  };
  expect([valueOf("gpu_up"), valueOf("gpu_power_watts"), valueOf("gpu_processes")]).toEqual([
    1, 693.31, 1,
  ]);
  const info = frame.layout.series.find(({ metric }) => metric.name === "gpu_info");
  expect(labelValue(info?.labels ?? [], "driver")).toBe("580.159.04");
  expect(source.devices()).toHaveLength(1);
  writeFileSync(xml, ownCapture("load.q.xml").replaceAll("11111111", "22222222"));
  const after = await source.read("slow", 10_000);
  const ups = after.layout.series.flatMap(({ metric }, slot) =>
    metric.name === "gpu_up" ? [after.values[slot]] : [],
  );
  expect(ups).toEqual([0, 1]);
});
