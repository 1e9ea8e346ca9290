import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { gpuzLog, testIo } from "../../../test/fixtures/cli/pipe.ts";
import { boundOf, type ReplayFlags, speedOf } from "./options.ts";
import { fileOf, recordingLengthMs } from "./progress.ts";
import { runReplay } from "./run.ts";

let folder = "";
beforeEach(() => (folder = mkdtempSync(path.join(tmpdir(), "gpulse-replay-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));
const at = (name: string): string => path.join(folder, name);

async function replay(file: string, flags: ReplayFlags = {}) {
  const world = testIo();
  const code = await runReplay(file, { data: at("data"), hostName: "pc", ...flags }, world.io);
  const printed = world
    .out()
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map(
      (line) => JSON.parse(line) as { time: string; readings: { name: string; value: number }[] },
    );
  return { code, printed, times: printed.map(({ time }) => time.slice(11, 19)), err: world.err() };
}
const gpuz: ReplayFlags = { vendor: "nvidia", timezone: "UTC" };

test("a log is replayed with its own times, within bounds, and an unreadable row is reported", async () => {
  writeFileSync(
    at("log.txt"),
    gpuzLog(30, { 12: "2024-01-14 18:00:12 , 1 , 2 , 3 , 4 , 5 , 6 , 7 ,\r\n" }),
  );
  const { code, times, err } = await replay(at("log.txt"), {
    ...gpuz,
    speed: "max",
    start: "10s",
    end: "2024-01-14T18:00:15Z",
  });
  expect([code, times]).toEqual([0, ["18:00:10", "18:00:11", "18:00:13", "18:00:14"]]);
  expect(err).toContain("more cells than its header");
});

test("bounds without data between them are reported", async () => {
  writeFileSync(at("log.txt"), gpuzLog(3));
  const { code, times, err } = await replay(at("log.txt"), { ...gpuz, speed: "max", start: "1h" });
  expect([code, times]).toEqual([0, []]);
  expect(err).toContain("no frame lies between --start and --end");
});

test("a loop goes on in time until it is stopped", async () => {
  writeFileSync(at("log.txt"), gpuzLog(3));
  const { code, times } = await replay(at("log.txt"), {
    ...gpuz,
    speed: "100",
    loop: true,
    for: "150ms",
  });
  expect(code).toBe(0);
  expect(times.length).toBeGreaterThan(6);
  expect(times.slice(0, 7)).toEqual(
    ["00", "01", "02", "03", "04", "05", "06"].map((second) => `18:00:${second}`),
  );
});

test("with --now the last frame is of the present", async () => {
  writeFileSync(at("log.txt"), gpuzLog(3));
  const { printed } = await replay(at("log.txt"), { ...gpuz, speed: "1000", now: true });
  expect(Date.now() - Date.parse(printed.at(-1)?.time ?? "")).toBeLessThan(60_000);
});

test("our CSV is given an instant at a time though it is written series by series", async () => {
  writeFileSync(
    at("power.csv"),
    [
      "__name__,gpu,host,uuid,time,value",
      "gpu_power_watts,0,pc,A,2026-01-01T00:00:00Z,100",
      "gpu_power_watts,0,pc,A,2026-01-01T00:00:01Z,101",
      "gpu_power_watts,1,pc,B,2026-01-01T00:00:00Z,200",
      "gpu_power_watts,1,pc,B,never,201",
      'my_metric,1,"pc",B,2026-01-01T00:00:01Z,0.25',
    ].join("\n"),
  );
  const { printed, times, err } = await replay(at("power.csv"), { speed: "max" });
  expect(times).toEqual(["00:00:00", "00:00:01"]);
  const values = printed.map(({ readings }) =>
    readings.filter(({ name }) => /power_watts|my_metric/.test(name)).map(({ value }) => value),
  );
  expect(values).toEqual([
    [100, 200],
    [101, 0.25],
  ]);
  expect(err).toContain("the line's time is invalid");
});

test.each<[string, ReplayFlags, string]>([
  ["sim:2", {}, "live source"],
  ["nothing.txt", {}, "does not exist"],
  ["nothing.parquet", {}, "nothing.parquet"],
  ["x", { speed: "fast" }, "--speed takes"],
  ["x", { speed: "0" }, "--speed takes"],
  ["x", { start: "noon" }, "--start takes"],
  ["x", { now: true, speed: "max" }, "--now needs"],
])("replay of %s with %o is refused in one sentence", async (file, flags, says) => {
  await expect(replay(file, flags)).rejects.toThrow(says);
});

test.each([
  ["2", 2],
  ["0.5", 0.5],
  ["max", Infinity],
  [undefined, 1],
])("speed %s is %d", (given, want) => expect(speedOf(given)).toBe(want));

test("a bound is a time, or counted from the first frame", () => {
  expect(boundOf("--start", "10m")).toEqual({ kind: "offset", ms: 600_000 });
  expect(boundOf("--start", "2026-01-01T00:00:00Z")).toEqual({
    kind: "time",
    ms: Date.UTC(2026, 0, 1),
  });
});

test("the length of a log is known by its path and by the URL of its source", () => {
  writeFileSync(at("log.txt"), gpuzLog(61));
  for (const given of [at("log.txt"), `gpuz:${at("log.txt")}?gpu-name=GeForce RTX 4090`])
    expect(recordingLengthMs(fileOf(given))).toBe(60_000);
  expect(recordingLengthMs(fileOf("s3://logs/x.txt"))).toBeUndefined();
});
