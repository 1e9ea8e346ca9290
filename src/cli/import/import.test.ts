import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Writable } from "node:stream";
import { afterAll, beforeEach, expect, test } from "vitest";
import type { CommandIo } from "../command/io.ts";
import { gpuzBytes, headerLine, rowLine } from "../../../test/fixtures/formats/gpuz.ts";
import { openStorage } from "../../hub/storage.ts";
import { silentLog } from "../../base/log.ts";
import { renderQueryCsv } from "../query/show.ts";
import { detectFormat } from "./detect.ts";
import type { ImportFlags } from "./options.ts";
import { ResumeFile } from "./resume.ts";
import { runImport } from "./run.ts";

const folder = mkdtempSync(path.join(tmpdir(), "gpulse-import-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const at = (name: string): string => path.join(folder, name);
let data = "";
let made = 0;
beforeEach(() => (data = at(`data${made++}`)));

function sink(text: string[]): Writable {
  return new Writable({
    write: (chunk: Buffer, _, done) => {
      text.push(chunk.toString());
      done();
    },
  });
}

async function run(
  files: readonly string[],
  flags: ImportFlags = {},
): Promise<{ code: number; out: string; err: string }> {
  const [out, err]: [string[], string[]] = [[], []];
  const io: CommandIo = {
    env: { XDG_STATE_HOME: at("state") },
    stdout: sink(out),
    stderr: sink(err),
    version: "test",
    stopped: () => new Promise(() => {}),
    onReload: () => {},
  };
  const into: ImportFlags = flags.dryRun === true ? flags : { data, retention: "100y", ...flags };
  const code = await runImport(files, into, io);
  return { code, out: out.join(""), err: err.join("") };
}

/** `labels → [[time, value]]` of everything in the data folder. */
async function kept(): Promise<Record<string, unknown>> {
  const storage = await openStorage({
    dir: data,
    retentionMs: 100 * 365 * 86_400_000,
    log: silentLog,
    nowMs: Date.now,
    version: "test",
  });
  const series = await storage.history.select([{ name: "__name__", op: "!=", value: "" }], 0, 8e15);
  await storage.close();
  return Object.fromEntries(
    series.map(({ labels, column: { times, values, stale } }) => [
      labels.map(([name, value]) => `${name}=${value}`).join(" "),
      Array.from(times, (time, i) => [time, stale?.[i] === 1 ? "end" : values[i]]),
    ]),
  );
}

const startMs = Date.UTC(2026, 0, 14, 18, 41, 0);

test("a GPU-Z log comes in with its own times, identity and units, and says what it left out", async () => {
  const file = at("gpuz.txt");
  const text =
    rowLine("2026-01-14 18:40:59", [1, 1]) +
    headerLine(["GPU Load [%]", "GPU Clock [MHz]"]) +
    rowLine("2026-01-14 18:41:00", [10, 1000]) +
    "what is this\r\n" +
    rowLine("2026-01-14 18:41:01", [20, "-"]) +
    rowLine("2026-01-14 18:41:02", [30, 1200]).slice(0, 40);
  writeFileSync(file, gpuzBytes(text));
  const flags = { gpuName: "RTX 4090", timezone: "UTC", hostName: "pc", label: ["site=lab"] };
  const { code, out } = await run([file], flags);
  expect(code).toBe(0);
  expect(out).toContain(
    "1 skipped: rows before the first header: their columns are unknown (line 1)",
  );
  expect(out).toMatch(/1 skipped: lines that are neither header .* \(line 4\)/);
  const all = await kept();
  const find = (name: string): unknown =>
    Object.entries(all).find(([key]) => key.includes(`__name__=${name} `))?.[1];
  expect(find("gpu_utilization_ratio")).toEqual([
    [startMs, 0.1],
    [startMs + 1_000, 0.2],
    [startMs + 2_000, 0.3],
  ]);
  expect(find("gpu_clock_hertz")).toEqual([
    [startMs, 1e9],
    [startMs + 1_000, "end"],
  ]);
  expect(Object.keys(all)[0]).toMatch(/host=pc instance=pc:9400 job=gpulse site=lab/);
});

test("what gpulse query --csv printed comes back, quotes, line ends and disarmed formulas included", async () => {
  const file = at("ours.csv");
  const metric = (s: string) => ({ __name__: "power", s });
  const values = (...all: [number, string][]): [number, string][] => all;
  const csv = renderQueryCsv({
    resultType: "matrix",
    result: [
      {
        metric: metric('x,"y'),
        values: values([1_700_000_000, "1"], [1_700_000_001.5, "-2.5e-7"]),
      },
      { metric: metric("two\nlines"), values: values([1_700_000_000, "+Inf"]) },
      { metric: metric("=cmd()"), values: values([1_700_000_000, "NaN"]) },
    ],
  });
  writeFileSync(file, `${csv}power,z,nonsense,1\npower,z\npower,z,2026-01-01T00:00:00Z,twelve\n`);
  const { code, out } = await run([file]);
  expect(code).toBe(0);
  expect(await kept()).toEqual({
    "__name__=power s==cmd()": [[1_700_000_000_000, Number.NaN]],
    "__name__=power s=two\nlines": [[1_700_000_000_000, Infinity]],
    '__name__=power s=x,"y': [
      [1_700_000_000_000, 1],
      [1_700_000_001_500, -2.5e-7],
    ],
  });
  expect(out).toContain("1 skipped: lines with an invalid timestamp (line 7)");
  expect(out).toContain("1 skipped: lines with another number of cells than the first (line 8)");
  expect(out).toContain("1 skipped: lines whose value is not a number (line 9)");
});

test("CSV without a name takes one from --label, and is refused without", async () => {
  const file = at("rate.csv");
  writeFileSync(file, "gpu,time,value\n0,2026-01-01T00:00:00Z,5\n");
  await expect(run([file])).rejects.toMatchObject({ code: "FILE_FORMAT" });
  await run([file], { label: ["__name__=gpu_rate"] });
  expect(await kept()).toEqual({ "__name__=gpu_rate gpu=0": [[1_767_225_600_000, 5]] });
});

test("OpenMetrics has seconds, Prometheus's text milliseconds; a line that is none costs only itself", async () => {
  const [om, text] = [at("dump.om"), at("dump.prom")];
  writeFileSync(
    om,
    '# TYPE a gauge\na{x="1"} 1.5 1700000000.25\nbroken {\na 2\na{x="1"} 2 1700000001\n# EOF\n',
  );
  writeFileSync(text, 'b{x="1"} NaN 1700000000250\nb{x="1"} -Inf 1700000001000\n');
  const { code, out } = await run([om, text]);
  expect(code).toBe(0);
  expect(await kept()).toEqual({
    "__name__=a x=1": [
      [1_700_000_000_250, 1.5],
      [1_700_000_001_000, 2],
    ],
    "__name__=b x=1": [
      [1_700_000_000_250, Number.NaN],
      [1_700_000_001_000, -Infinity],
    ],
  });
  expect(out).toContain("1 skipped: lines that are not a sample (line 3)");
  expect(out).toContain("1 skipped: samples without a time of their own (line 4)");
});

test("OpenMetrics that was cut off is known by its name, and its times are still seconds", async () => {
  writeFileSync(at("cut.om"), 'a{x="1"} 1.5 1700000000.25\n');
  await run([at("cut.om")]);
  expect(await kept()).toEqual({ "__name__=a x=1": [[1_700_000_000_250, 1.5]] });
});

test("importing twice keeps each sample once; another value is refused and ends with 1", async () => {
  const file = at("twice.prom");
  writeFileSync(file, "c 1 1700000000000\n");
  expect((await run([file])).code).toBe(0);
  expect((await run([file])).code).toBe(0);
  writeFileSync(file, "c 2 1700000000000\n");
  const { code, out } = await run([file]);
  expect(code).toBe(1);
  expect(out).toContain("1 rejected: 1 conflict with a stored value of the same time");
  expect(await kept()).toEqual({ "__name__=c": [[1_700_000_000_000, 1]] });
});

test("a dry run writes nothing, and --json prints what is there", async () => {
  const file = at("dry.prom");
  writeFileSync(file, "d 1 1700000000000\nd 2 1700000060000\n");
  const { code, out } = await run([file], { dryRun: true, json: true });
  expect(code).toBe(0);
  expect(JSON.parse(out)).toMatchObject({
    dryRun: true,
    files: [
      {
        format: "prometheus-text",
        samples: 2,
        fromTime: "2023-11-14T22:13:20.000Z",
        toTime: "2023-11-14T22:14:20.000Z",
      },
    ],
  });
});

test("an import that was broken off goes on behind what was acknowledged, and forgets when it is done", async () => {
  const file = at("long.prom");
  const lines = Array.from({ length: 12_000 }, (_, i) => `e ${i} ${1_700_000_000_000 + i}\n`);
  writeFileSync(file, lines.join(""));
  const resumeFile = at("resume.json");
  // The state a first run would have left after its first block of lines.
  const whole = await run([file], { resumeFile, json: true });
  const total = (JSON.parse(whole.out) as { files: { samples: number }[] }).files[0]?.samples;
  expect(total).toBe(12_000);
  const { importKey } = await import("./resume.ts");
  const { sameImport } = await import("./options.ts");
  data = at("resumed");
  const flags = { data, retention: "100y", hostName: "pc", resumeFile, json: true };
  const key = importKey(file, data, sameImport(flags, "pc"));
  const first = lines.slice(0, 5_000).join("").length;
  new ResumeFile(resumeFile).advance(key, first, 0);
  const { out } = await run([file], flags);
  expect(JSON.parse(out)).toMatchObject({
    files: [{ resumed: true, samples: 7_000, complete: true }],
  });
  expect(new ResumeFile(resumeFile).position(key)).toBe(-1);
});

test.each([
  ["nothing", "", "FILE_FORMAT"],
  ["another kind of text", "dear diary,\ntoday it rained\n", "FILE_FORMAT"],
  ["binary", "\u0000\u0001\u0002\u0003", "FILE_FORMAT"],
])("a file of %s is refused in one sentence", async (_, text, code) => {
  const file = at("odd");
  writeFileSync(file, text);
  await expect(run([file])).rejects.toMatchObject({ code });
});

test("a file that is not there, a folder, and options that make no sense are named", async () => {
  await expect(run([at("nowhere")])).rejects.toMatchObject({ code: "FILE_UNREADABLE" });
  await expect(run([folder])).rejects.toMatchObject({ code: "FILE_UNREADABLE" });
  const file = at("fine.prom");
  writeFileSync(file, "f 1 1700000000000\n");
  for (const flags of [
    { format: "xml" },
    { label: ["nonsense"] },
    { url: "ftp://x", data: undefined },
    { url: "http://127.0.0.1:1" },
  ] as ImportFlags[])
    await expect(run([file], flags)).rejects.toMatchObject({ code: "USAGE" });
});

test("a line longer than any sample is left out, and what follows is read", async () => {
  const file = at("longline.prom");
  writeFileSync(
    file,
    `g 1 1700000000000\ng{x="${"y".repeat(2_000_000)}"} 1 1700000000000\ng 2 1700000001000\n`,
  );
  const { out } = await run([file]);
  expect(out).toContain("1 skipped: lines that are too long (line 2)");
  expect(await kept()).toEqual({
    "__name__=g": [
      [1_700_000_000_000, 1],
      [1_700_000_001_000, 2],
    ],
  });
});

test.each([
  ["gpuz", "        Date        , GPU Clock [MHz] ,\r\n"],
  ["gpuz", "2020-01-01 00:00:00 , 12 ,\r\n"],
  ["csv", '"a",time,value\n'],
  ["text", "# HELP x y\n"],
  ["text", 'x{a="b"} 1 2\n'],
])("%s is detected by its first lines: %j", (format, text) => {
  const file = at("detect");
  writeFileSync(file, text);
  expect(detectFormat(file)).toBe(format);
});
