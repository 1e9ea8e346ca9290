import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { formatError } from "../../base/error.ts";
import { decodeWriteRequest } from "../../formats/remote-write/decode.ts";
import { decompressSnappy } from "../../formats/snappy/decompress.ts";
import { startReceiver } from "../../../test/fixtures/sinks/sinks.ts";
import { gpuzLog, testIo } from "../../../test/fixtures/cli/pipe.ts";
import { pipeStep } from "./progress.ts";
import { type PipeFlags, runPipe } from "./run.ts";

let folder = "";
beforeEach(() => (folder = mkdtempSync(path.join(tmpdir(), "gpulse-pipe-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));
const at = (name: string): string => path.join(folder, name);
const log = (): string => `gpuz:${at("log.txt")}?vendor=nvidia&timezone=UTC`;

async function run(flags: PipeFlags) {
  const world = testIo();
  const code = await runPipe({ data: at("data"), hostName: "pc", ...flags }, world.io);
  return { code, out: world.out(), err: world.err() };
}

const lines = (text: string) =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as { time: string; tags?: Record<string, string[]> });

test("without a sink frames are printed as JSON lines, with what was found beside them", async () => {
  writeFileSync(at("log.txt"), gpuzLog(40));
  const { code, out } = await run({
    from: [log()],
    tag: ["warm=gpu_temperature > 97 and board_power > 0"],
    threshold: ["high_gpu_temperature=95", "critical_temperature=off", "high_power=off"],
  });
  const printed = lines(out);
  expect([code, printed.length]).toEqual([0, 40]);
  const tags = printed.map(({ tags: found }) => Object.values(found ?? {})[0]);
  expect(tags.slice(34)).toEqual([
    undefined,
    undefined,
    ["high_gpu_temperature"],
    ["high_gpu_temperature"],
    ["high_gpu_temperature", "warm"],
    ["high_gpu_temperature", "warm"],
  ]);
});

test("a whole log reaches a receiver that was away for a while, and the pipe ends when it has", async () => {
  writeFileSync(at("log.txt"), gpuzLog(500));
  const receiver = await startReceiver();
  let away = 3;
  receiver.answer = () => ({ status: away-- > 0 ? 503 : 204 });
  try {
    const { code } = await run({
      from: [log()],
      to: [`remote-write+http://${receiver.url}/write?spool_bytes=65536`],
      logLevel: "silent",
    });
    expect(code).toBe(0);
    const times = new Set<number>();
    for (const { body } of receiver.requests.slice(3))
      for (const time of decodeWriteRequest(decompressSnappy(body, 1e9)).times) times.add(time);
    const wanted = Array.from({ length: 500 }, (_, second) => Date.UTC(2024, 0, 14, 18, 0, second));
    expect(wanted.filter((time) => !times.has(time))).toEqual([]);
  } finally {
    await receiver.close();
  }
});

test("a pipe serves what it says of itself", async () => {
  writeFileSync(at("log.txt"), gpuzLog(5, { 2: "this is no row\r\n" }));
  const world = testIo();
  const running = runPipe(
    { from: [`${log()}&follow=true&poll=20ms`], port: "0", checkpoint: "50ms", data: at("data") },
    world.io,
  );
  const url = await waitFor(() => /url=(\S+)/.exec(world.err())?.[1]);
  const page = await waitFor(async () => {
    const text = await (await fetch(url)).text();
    return /gpulse_pipe_checkpoints_total [1-9]/.test(text) ? text : undefined;
  });
  expect(page).toContain('gpulse_pipe_frames_total{source="gpuz"} 4');
  expect(page).toMatch(/gpulse_pipe_dead_letters_total\{outcome="counted",source="gpuz [^"]*"\} 1/);
  expect(page).toContain("gpulse_pipe_uncommitted_frames 0");
  expect((await fetch(url.replace("metrics", "healthz"))).status).toBe(200);
  world.stop();
  expect(await running).toBe(0);
});

async function waitFor<Value>(look: () => Value | undefined | Promise<Value | undefined>) {
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test.each<[string, PipeFlags, string]>([
  ["no source", {}, "--from"],
  ["a bad checkpoint", { from: ["sim:1"], checkpoint: "soon" }, "--checkpoint must be a duration"],
  ["a bad frame count", { from: ["sim:1"], checkpointFrames: "0" }, "--checkpoint-frames must be"],
  [
    "an unknown threshold",
    { from: ["sim:1"], threshold: ["high_powr=3"] },
    'Did you mean "high_power"',
  ],
  [
    "a threshold that is no number",
    { from: ["sim:1"], threshold: ["high_power=much"] },
    "--threshold",
  ],
  ["a tag without an expression", { from: ["sim:1"], tag: ["hot"] }, "--tag takes NAME"],
  ["a broken expression", { from: ["sim:1"], tag: ["hot=gpu_temperature >"] }, "ends too early"],
  ["a port that is none", { from: ["gpuz:x"], port: "99999999" }, "--port"],
])("%s is refused in one sentence, and leaves nothing open", async (_, flags, says) => {
  await expect(run(flags)).rejects.toThrow(says);
});

const pipeline = `
stages:
  upload: { upload: LOG, to: FOLDER/raw }
  replay:
    replay: LOG
    to: stdout:prometheus
    speed: max
    after: [upload]
    flags: { vendor: nvidia, timezone: UTC }
    tags: { hot: "gpu_temperature > 90 or board_power > 350" }
    windows: [{ columns: [board_power], over: 1m, aggregates: [max] }]
`;
const writePipeline = (text = pipeline): string => {
  writeFileSync(at("p.yaml"), text.replaceAll("LOG", at("log.txt")).replaceAll("FOLDER", folder));
  return at("p.yaml");
};

test("a pipeline file runs its stages in their order, and again only what is not done or was changed", async () => {
  writeFileSync(at("log.txt"), gpuzLog(70));
  const file = writePipeline();
  const first = await run({ file });
  expect(first.code).toBe(0);
  expect(first.out).toMatch(/gpu_power_watts:max_1m\{[^}]*\} 309 /);
  expect(readFileSync(at("raw/log.txt"))).toEqual(gpuzLog(70));
  expect(first.err.indexOf("upload: done")).toBeLessThan(first.err.indexOf("replay: running"));
  expect(first.err).toMatch(/replay: done {2}70 frames/);
  const second = await run({ file });
  expect([second.code, second.out]).toEqual([0, ""]);
  expect(second.err).toContain("Every stage is done");
  writePipeline(pipeline.replace("over: 1m", "over: 10s"));
  const third = await run({ file });
  expect(third.err).not.toContain("upload: running");
  expect(third.out).toContain("gpu_power_watts:max_10s");
  expect((await run({ file, again: true })).err).toContain("upload: running");
});

test("a stage runs alone, done or not", async () => {
  writeFileSync(at("log.txt"), gpuzLog(3));
  const file = writePipeline();
  const { code, err } = await run({ file, stage: ["replay"], state: at("elsewhere.json") });
  expect(code).toBe(0);
  expect(err).not.toContain("upload");
  expect(existsSync(at("raw"))).toBe(false);
  expect(readdirSync(folder)).toContain("elsewhere.json");
  await expect(run({ file, stage: ["nope"] })).rejects.toThrow(
    'no stage "nope". Use one of upload, replay',
  );
});

test("a stage that fails stops the others and ends with its code; what is done stays done", async () => {
  writeFileSync(at("log.txt"), gpuzLog(3));
  const file = writePipeline(`
stages:
  upload: { upload: LOG, to: FOLDER/raw }
  bad: { replay: FOLDER/missing.txt, to: "stdout:", after: [upload] }
  endless: { from: "gpuz:LOG?vendor=nvidia&timezone=UTC&follow=true", to: "stdout:" }
`);
  const { code, err } = await run({ file });
  expect(code).toBe(2);
  expect(err).toContain('stage "bad" failed: The file');
  expect(err).toContain("endless: stopped");
  expect(readFileSync(`${file}.state.json`, "utf8")).toMatch(/"upload": \{\s*"done"/);
});

test("stages that wait for what comes end when nothing comes any more", async () => {
  writeFileSync(at("log.txt"), gpuzLog(4));
  const file = writePipeline(`
stages:
  follow: { from: "gpuz:LOG?vendor=nvidia&timezone=UTC&follow=true", to: "stdout:", until_idle: 100ms }
  then: { upload: LOG, to: FOLDER/raw, after: [follow] }
`);
  const { code, out } = await run({ file });
  expect([code, lines(out).length]).toEqual([0, 4]);
  expect(existsSync(at("raw/log.txt"))).toBe(true);
});

test.each([
  ["stages: {}", "no stages"],
  ["stages: { a: { to: x } }", "has no action"],
  ["stages: { a: { replay: x, upload: y, to: z } }", "both upload and replay"],
  ["stages: { a: { replay: x } }", "has no target"],
  ["stages: { a: { upload: x, to: y, speed: 2 } }", '"speed" does not go with upload'],
  ["stages: { a: { replay: x, to: y, sped: 2 } }", 'Did you mean "speed"'],
  ["stages: { a: { replay: x, to: y, speed: fast } }", "a number, or max"],
  ["stages: { a: { replay: x, to: y, after: [b] } }", 'waits for "b"'],
  [
    "stages: { a: { upload: x, to: y, after: [b] }, b: { upload: x, to: y, after: [a] } }",
    "a → b → a",
  ],
  ["stages: { A: { upload: x, to: y } }", "small letters"],
  ["stages: { a: { from: 'sim:1', to: 'stdout:', tags: { x: 'nope > 1' } } }", 'no column "nope"'],
])("the pipeline file %s is refused", async (text, says) => {
  writeFileSync(at("bad.yaml"), text);
  const outcome = await run({ file: at("bad.yaml") }).then(
    ({ code, err }) => `${code} ${err}`,
    (thrown: unknown) => `2 ${formatError(thrown)}`,
  );
  expect(outcome).toContain(says);
  expect(outcome.startsWith("2 ")).toBe(true);
});

test("a pipe into a sink ends with a line of what it carried, and its summary has the lag", async () => {
  writeFileSync(at("log.txt"), gpuzLog(5, { 2: "this is no row\r\n" }));
  const { code, err } = await run({ from: [log()], to: [`parquet:${at("lake")}`] });
  expect(code).toBe(0);
  expect(err).toMatch(/^4 frames {2}[\d,]+\/s {2}1 dead letter$/m);
});

test.each([
  [{ frames: 600, unread: 400, lag: 500, deadLetters: 0 }, true, 0.6, ["lag 500 records"]],
  [{ frames: 600, unread: 400, lag: 500, deadLetters: 0 }, false, undefined, ["lag 500 records"]],
  [
    { frames: 5, unread: undefined, lag: 1, deadLetters: 1 },
    true,
    undefined,
    ["lag 1 record", "1 dead letter"],
  ],
])("progress of %o, bounded %s: %s", (counts, hasEnd, fraction, notes) => {
  const { frames, deadLetters, unread, lag } = counts;
  const one = ["kafka", { log: "t", partition: 0, records: lag }] as const;
  const pipe = { frames, deadLetters, uncommitted: 0, unread: () => unread, lag: () => [one] };
  expect(pipeStep(pipe, hasEnd)).toMatchObject({ fraction, notes });
});
