import { unzipSync, zipSync } from "fflate";
import { expect, test } from "vitest";
import { fixtureRun } from "../../../test/fixtures/runs/runs.ts";
import { packRun, unpackRun } from "./file.ts";

test("a run comes out of its file as it went in", async () => {
  const file = fixtureRun();
  const { bytes, seal } = await packRun(file);
  const back = await unpackRun(bytes, "a.gpulserun");
  expect(back.seal).toBe(seal);
  expect(back.run).toEqual(file.run);
  const [gpu, again] = [file.trace.get("SIM-fixture-0"), back.trace.get("SIM-fixture-0")];
  expect(again?.timeMs).toEqual(gpu?.timeMs);
  expect(again?.columns).toEqual(gpu?.columns);
  expect(Buffer.from(back.output).toString()).toBe("done\n");
});

test("a missing reading stays missing", async () => {
  const file = fixtureRun();
  file.trace.get("SIM-fixture-0")?.columns.get("gpu_power_watts")?.set([Number.NaN, 0], 3);
  const { trace } = await unpackRun((await packRun(file)).bytes, "a");
  const power = trace.get("SIM-fixture-0")?.columns.get("gpu_power_watts");
  expect([power?.[3], power?.[4]]).toEqual([Number.NaN, 0]);
});

const changed = (
  bytes: Uint8Array,
  change: (files: Record<string, Uint8Array>) => void,
): Uint8Array => {
  const files = unzipSync(bytes);
  change(files);
  return zipSync(files);
};

test.each<[string, (files: Record<string, Uint8Array>) => void, RegExp]>([
  ["a changed run", (f) => (f["run.json"] = Buffer.from("{}")), /run\.json was changed/],
  ["a changed trace", (f) => f["trace.parquet"]?.set([1], 40), /trace\.parquet was changed/],
  ["a missing output", (f) => delete f["output.log"], /output\.log is missing/],
  ["an added snapshot", (f) => (f["snapshot-after.json"] = Buffer.from("{}")), /was added/],
  ["a stranger", (f) => (f["../x"] = Buffer.from("")), /\.\.\/x does not belong/],
  ["no manifest", (f) => delete f["manifest.json"], /no manifest/],
  ["a broken manifest", (f) => (f["manifest.json"] = Buffer.from("{")), /not JSON/],
])("%s is found and named", async (_what, change, says) => {
  const { bytes } = await packRun(fixtureRun());
  await expect(unpackRun(changed(bytes, change), "a")).rejects.toThrow(says);
});

test("what is no zip, or half of one, is said to be none", async () => {
  const { bytes } = await packRun(fixtureRun());
  await expect(unpackRun(Buffer.from("hello"), "a")).rejects.toThrow("not a .gpulserun file");
  await expect(unpackRun(bytes.slice(0, bytes.length / 2), "a")).rejects.toThrow("truncated");
});

test("a run of a newer gpulse asks for an update", async () => {
  const file = fixtureRun();
  const newer = { ...file, run: { ...file.run, version: 2 as unknown as 1 } };
  await expect(unpackRun((await packRun(newer)).bytes, "a")).rejects.toThrow("update gpulse");
});
