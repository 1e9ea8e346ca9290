import * as v from "valibot";
import { expect, test } from "vitest";
import { writeTree } from "../../../test/captures/tree.ts";
import { but, healthStartMs, sound, watchFor } from "../../../test/fixtures/view/health.ts";
import { gpu } from "../../model/catalogue/index.ts";
import { createHealthReport, healthSchema } from "../../view/health/report.ts";
import { HealthWatch } from "../../view/health/watch.ts";
import type { CommandIo } from "../command/io.ts";
import { runHealth } from "./run.ts";
import { healthTable } from "./table.ts";

function reportOf(readings: Parameters<typeof watchFor>[1]) {
  const watch = new HealthWatch({ acceptsVerdicts: false });
  watchFor(5, readings, watch);
  const nowMs = healthStartMs + 5_000;
  return createHealthReport(watch.report(nowMs), nowMs, "1");
}

test("the table has a line for each reason, and names what was not checked", () => {
  const readings = but([gpu.recoveryAction, 1], [gpu.remappedRowsPending, 1]);
  expect(healthTable(reportOf(readings))).toBe(
    `box: 1 GPU, failing

GPU            STATUS   REASON                                                       ACTION
0 NVIDIA H200  failing  The driver asks for a reset of the GPU (recovery action 1).  drain the jobs and reset the GPU
                        Bad memory is replaced at the next reset.                    drain the jobs and reset the GPU

Not checked:
  interconnect (links to other GPUs: not reported by this card): GPU 0
  host_memory (memory errors of the machine (EDAC) are not reported): the machine
`,
  );
});

test("a report follows its schema, counts all and selects by state", () => {
  const report = reportOf(sound);
  expect(v.is(healthSchema, JSON.parse(JSON.stringify(report)))).toBe(true);
  expect([report.state, report.counts]).toEqual([
    "healthy",
    { healthy: 1, degraded: 0, failing: 0, lost: 0, unknown: 0 },
  ]);
  const watch = new HealthWatch({ acceptsVerdicts: false });
  watchFor(5, sound, watch);
  const hosts = watch.report(healthStartMs + 5_000);
  const only = createHealthReport(hosts, healthStartMs, "1", { states: ["failing"] });
  expect([only.hosts, only.counts["healthy"]]).toEqual([[], 1]);
});

async function health(flags: Parameters<typeof runHealth>[0]) {
  let [out, err] = ["", ""];
  const io = {
    env: {},
    version: "1",
    stdout: { write: (text: string) => ((out += text), true) },
    stderr: { write: (text: string) => ((err += text), true) },
    stopped: () => new Promise(() => {}),
  } as unknown as CommandIo;
  const code = await runHealth({ window: "1s", ...flags }, io);
  return { code, out, err };
}

test("reads simulated GPUs here: healthy is exit code 0", async () => {
  const { code, out } = await health({ source: ["sim:2"], json: true });
  const report = v.parse(healthSchema, JSON.parse(out));
  expect([code, report.state, report.hosts[0]?.gpus.length]).toEqual([0, "healthy", 2]);
  expect(report.hosts[0]?.gpus[0]?.unchecked.map(({ check }) => check)).toContain("recovery");
});

test.each([
  ["a lost GPU", "faults: [{ fault: gpu-lost, gpu: 1, at: 0s, for: 1h }]", undefined, 6, "lost"],
  [
    "an Xid of a GPU",
    "faults: [{ fault: xid, gpu: 1, at: 0s, for: 1h, amount: 48 }]",
    undefined,
    5,
    "failing",
  ],
  [
    "a state that is not listed",
    "faults: [{ fault: xid, gpu: 1, at: 0s, for: 1h, amount: 94 }]",
    "failing,lost",
    0,
    "degraded",
  ],
] as const)("%s has its exit code", async (_name, faults, failOn, expected, state) => {
  const folder = writeTree({ "lab.yaml": `fleet: [{ model: H200, count: 2 }]\n${faults}` });
  const { code, out } = await health({
    source: [`sim:?scenario=${encodeURIComponent(`${folder}/lab.yaml`)}`],
    json: true,
    window: "2s",
    ...(failOn === undefined ? {} : { failOn }),
  });
  expect([code, v.parse(healthSchema, JSON.parse(out)).state]).toEqual([expected, state]);
});

test.each([
  [
    { failOn: "sick" },
    '--fail-on takes degraded, failing, lost and unknown, separated by commas, not "sick".',
  ],
  [{ only: "box" }, "--only needs --url of a hub: this machine is one."],
  [{ url: "hub" }, '--url must be a URL such as http://gpu-node:9400, not "hub".'],
])("%j is a usage error", async (flags, sentence) => {
  await expect(health(flags)).rejects.toThrow(sentence);
});
