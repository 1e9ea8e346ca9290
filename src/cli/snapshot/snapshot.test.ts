import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { PassThrough } from "node:stream";
import { afterEach, beforeEach, expect, test } from "vitest";
import { radeonTree } from "../../../test/captures/amd-card.ts";
import { writeTree } from "../../../test/captures/tree.ts";
import type { CommandIo } from "../command/io.ts";
import type { Snapshot } from "../../machine/snapshot.ts";
import { buildProgram } from "../program.ts";

let dir = "";
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), "gpulse-snapshot-"));
});
afterEach(() => rm(dir, { recursive: true }));

async function gpulse(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const io: CommandIo = { env: {}, stdout, stderr, version: "1.2.3", stopped: async () => "" };
  const { program, exitCode } = buildProgram(io);
  await program.parseAsync(["snapshot", ...args], { from: "user" });
  const said = (stream: PassThrough): string => {
    const chunk: unknown = stream.read();
    return chunk instanceof Buffer ? chunk.toString("utf8") : "";
  };
  return { code: exitCode(), out: said(stdout), err: said(stderr) };
}

async function saved(): Promise<{ file: string; snapshot: Snapshot }> {
  const file = path.join(dir, "before.json");
  const { code, out } = await gpulse("save", file, "--source", "sim:2", "--window", "0s");
  expect([code, out]).toEqual([0, expect.stringMatching(/with 2 simulated GPUs/)]);
  return { file, snapshot: JSON.parse(await readFile(file, "utf8")) as Snapshot };
}

async function changed(snapshot: Snapshot, change: (copy: Snapshot) => void): Promise<string> {
  const copy = structuredClone(snapshot);
  change(copy);
  const file = path.join(dir, "after.json");
  await writeFile(file, JSON.stringify(copy));
  return file;
}

test("a saved snapshot is shown, equals itself, and lists what MLPerf misses", async () => {
  const { file } = await saved();
  const shown = await gpulse("show", file);
  expect(shown.out).toMatch(/simulated GPUs[^]*GPU {2}MODEL[^]*Processor[^]*Memory/);
  const same = await gpulse("diff", file, file);
  expect([same.code, same.out.split("\n", 1)[0]]).toEqual([
    0,
    "SAME  The system is the same, and nothing else was on its GPUs.",
  ]);
  const { out, err } = await gpulse("mlperf", file);
  expect(JSON.parse(out)).toMatchObject({ accelerators_per_node: "2", submitter: "" });
  expect(err).toMatch(/simulated[^]*Missing, \d+ of \d+ fields:[^]*submitter/);
});

test("a changed system and another load end with 1 and say which", async () => {
  const { file, snapshot } = await saved();
  const driver = await changed(snapshot, ({ facts }) => {
    for (const gpu of facts.gpus) gpu.driver = "1.0";
  });
  const facts = await gpulse("diff", file, driver);
  expect([facts.code, facts.out]).toEqual([
    1,
    expect.stringMatching(/^CHANGED [^]*driver: .* → 1\.0\./),
  ]);
  const load = await changed(snapshot, ({ readings }) => {
    for (const gpu of readings.gpus) gpu.memoryUsedBytes = (gpu.memoryUsedBytes ?? 0) + 2 ** 30;
  });
  const loaded = await gpulse("diff", file, load);
  expect([loaded.code, loaded.out]).toEqual([
    1,
    expect.stringMatching(/^LOADED [^]*memory in use/),
  ]);
  expect((await gpulse("diff", file, load, "--memory-threshold", "2GiB")).code).toBe(0);
  const json = await gpulse("diff", file, load, "--json");
  expect(JSON.parse(json.out)).toMatchObject({
    verdict: "loaded",
    changes: [{ kind: "reading" }, {}],
  });
});

test.each<[string, string[], RegExp]>([
  ["a file that is not there", ["show", "missing.json"], /Cannot read missing\.json \(ENOENT\)/],
  ["a file of another kind", ["show", "package.json"], /package\.json is other JSON/],
  [
    "a threshold that is none",
    ["diff", "a", "b", "--memory-threshold", "much"],
    /such as 256MiB or 1GiB, not "much"/,
  ],
  [
    "watts that are none",
    ["diff", "a", "b", "--power-threshold", "-1"],
    /watts such as 50, not "-1"/,
  ],
  ["an address that is none", ["save", "x.json", "--url", "gpu-node"], /--url must be a URL/],
])("%s ends with 2 and a sentence", async (_, args, sentence) => {
  const { code, err } = await gpulse(...args);
  expect([code, err]).toEqual([2, expect.stringMatching(sentence)]);
});

/** A snapshot of an AMD card's files: it has three tiers, all of which a direct read needs. */
async function savedFrom(sysfs: string, name: string, ...flags: string[]): Promise<string> {
  const file = path.join(dir, name);
  const { code } = await gpulse("save", file, "--source", "amd:", "--sysfs", sysfs, ...flags);
  expect(code).toBe(0);
  return file;
}

test("without a window the slow and static readings are waited for: an unchanged machine is the same", async () => {
  const sysfs = writeTree(radeonTree);
  const [first, second] = [
    await savedFrom(sysfs, "a.json", "--window", "0s"),
    await savedFrom(sysfs, "b.json", "--window", "300ms"),
  ];
  const { facts } = JSON.parse(await readFile(first, "utf8")) as Snapshot;
  expect(facts.gpus[0]).toMatchObject({ memoryTotalBytes: 25_753_026_560, powerLimitWatts: 339 });
  const { code, out } = await gpulse("diff", first, second);
  expect([code, out.split("\n", 1)[0]]).toEqual([
    0,
    "SAME  The system is the same, and nothing else was on its GPUs.",
  ]);
});

test("a card that sleeps at the second snapshot is not comparable, with the reason, and is no change", async () => {
  const sysfs = writeTree(radeonTree);
  const awake = await savedFrom(sysfs, "a.json", "--window", "0s");
  writeTree({ "class/drm/card1/device/power/runtime_status": "suspended" }, sysfs);
  const asleep = await savedFrom(sysfs, "b.json", "--window", "0s");
  const { code, out } = await gpulse("diff", awake, asleep);
  expect(out).toMatch(/^SAME {2}What can be compared is the same/);
  expect(out).toContain("GPU 0: power limit, second snapshot: not comparable: the GPU was asleep.");
  expect([code, /^Changed:/m.test(out)]).toEqual([0, false]);
});
