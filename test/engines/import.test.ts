// `gpulse import` as a user runs it: into a running hub, killed half way, and from a real Prometheus.

import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { hubProgram, type RunningHub, startHub } from "../../engines/hub.ts";
import { type FinishedProcess, runProcess, startProcess } from "../../engines/process.ts";
import { startPrometheus } from "../../engines/prometheus.ts";
import { toolOrSkip } from "../../engines/tools.ts";
import { waitUntil } from "../../engines/wait.ts";
import { gpuzBytes, headerLine, rowLine } from "../fixtures/formats/gpuz.ts";
import { BatchBuilder } from "../../src/formats/samples/builder.ts";
import { parseStoreAddress } from "../../src/storage/remote/address.ts";
import { openRemoteHistory } from "../../src/storage/remote/remote.ts";
import { openStorage } from "../../src/hub/storage.ts";
import { silentLog } from "../../src/base/log.ts";
import { labelSet } from "../../src/model/labels.ts";
import type { SelectedSeries } from "../../src/model/select.ts";

let folder: string;
let hub: RunningHub;
const inFolder = (name: string): string => path.join(folder, name);

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "gpulse-import-"));
  hub = await startHub({ dataDir: inFolder("hub") });
});
afterAll(async () => {
  await hub?.stop();
  await rm(folder, { recursive: true, force: true });
});

const args = (...more: string[]): string[] => [hubProgram, "import", ...more];
const run = (...more: string[]): Promise<FinishedProcess> =>
  runProcess(process.execPath, args(...more));

async function value(query: string, timeMs: number): Promise<string | undefined> {
  const form = new URLSearchParams({ query, time: String(timeMs / 1_000) });
  const answer = await fetch(`${hub.url}/api/v1/query?${form.toString()}`);
  const { data } = (await answer.json()) as { data: { result: { value: [number, string] }[] } };
  return data.result[0]?.value[1];
}

test("a GPU-Z log is in the hub's answers, with its own times", async () => {
  const startMs = Date.UTC(2026, 0, 14, 17, 0, 0);
  const rows = Array.from({ length: 301 }, (_, second) =>
    rowLine(
      new Date(startMs + 3_600_000 + second * 1_000).toISOString().slice(0, 19).replace("T", " "),
      [second % 100, 100 + second],
    ),
  );
  const header = headerLine(["GPU Load [%]", "Board Power Draw [W]"]);
  await writeFile(inFolder("log.txt"), gpuzBytes(header + rows.join("").slice(0, -30)));
  const done = await run(
    inFolder("log.txt"),
    `--url=${hub.url}`,
    "--gpu-name=GeForce RTX 4090",
    "--timezone=Europe/Berlin",
    "--host-name=gaming-pc",
  );
  expect([done.code, done.stderr]).toEqual([0, expect.stringContaining("cut short")]);
  const power = 'gpu_power_watts{host="gaming-pc", instance="gaming-pc:9400", job="gpulse"}';
  expect(await value(power, startMs + 120_000)).toBe("220");
  expect(await value(`count_over_time(${power}[10m])`, startMs + 400_000)).toBe("300");
  expect(await value("gpu_utilization_ratio", startMs + 99_000)).toBe("0.99");
});

test("killed half way and run again, each sample is there once", async () => {
  const startMs = Date.UTC(2026, 0, 1);
  const count = 400_000;
  const lines = Array.from(
    { length: count },
    (_, at) => `killed{s="${at % 10}"} ${at} ${startMs + at * 100}\n`,
  );
  await writeFile(inFolder("killed.prom"), lines.join(""));
  const resumeFile = inFolder("resume.json");
  const command = args(
    inFolder("killed.prom"),
    `--url=${hub.url}`,
    `--resume-file=${resumeFile}`,
    "--json",
  );
  const first = startProcess(process.execPath, command, { name: "gpulse import" });
  await waitUntil({ what: "a first piece to be imported", timeoutMs: 30_000 }, async () =>
    existsSync(resumeFile) && readFileSync(resumeFile, "utf8").length > 2 ? true : undefined,
  );
  process.kill(first.pid, "SIGKILL");
  await first.waitForExit();
  expect(existsSync(resumeFile)).toBe(true);

  const second = await runProcess(process.execPath, command);
  expect(second.stderr).toBe("");
  const summary = JSON.parse(second.stdout) as { files: { samples: number; resumed: boolean }[] };
  expect(summary.files[0]).toMatchObject({ resumed: true, complete: true, refused: 0 });
  expect(summary.files[0]?.samples).toBeLessThan(count);
  expect(existsSync(resumeFile)).toBe(false);
  const endMs = startMs + count * 100;
  expect(await value("sum(count_over_time(killed[1d]))", endMs)).toBe(String(count));
  expect(await value("sum(sum_over_time(killed[1d]))", endMs)).toBe(
    String((count * (count - 1)) / 2),
  );
});

test("everything a real Prometheus has comes over: every series, every sample, every bit", async (context) => {
  const server = await startPrometheus({
    path: toolOrSkip(context, "prometheus"),
    config: {},
    logLevel: "warn",
  });
  try {
    const history = await openRemoteHistory(parseStoreAddress(server.url), silentLog);
    const nowMs = Date.now();
    const builder = new BatchBuilder();
    for (let series = 0; series < 60; series++) {
      const index = builder.series(
        labelSet({ __name__: "from_prometheus", s: String(series), odd: 'a"\\\n🌡' }),
      );
      for (let step = 0; step < 400; step++) {
        const timeMs = nowMs - 3_000_000 + step * 7_000 + series;
        if (step === 399) builder.addStale(index, timeMs);
        else builder.add(index, timeMs, step % 50 === 7 ? Number.NaN : Math.sin(step * series) / 3);
      }
    }
    expect(await history.write(builder.finish())).toMatchObject({ stored: 24_000 });
    await history.close();

    const data = inFolder("from-prometheus");
    const done = await run(`prometheus+${server.url}`, "--since=2h", `--data=${data}`, "--json");
    expect([done.code, done.stderr]).toEqual([0, ""]);
    const theirs = await openRemoteHistory(parseStoreAddress(server.url), silentLog);
    const ours = await openStorage({
      dir: data,
      retentionMs: 86_400_000,
      log: silentLog,
      nowMs: Date.now,
      version: "test",
    });
    try {
      const everything = [{ name: "__name__", op: "!=", value: "" }] as const;
      const [want, got] = await Promise.all(
        [theirs, ours.history].map((one) => one.select(everything, nowMs - 7_000_000, nowMs)),
      );
      expect(want?.length).toBeGreaterThanOrEqual(60);
      expect(plain(got ?? [])).toEqual(plain(want ?? []));
    } finally {
      await theirs.close();
      await ours.close();
    }
    const matched = await run(
      `prometheus+${server.url}`,
      "--since=2h",
      '--match={s=~"1|2"}',
      "--dry-run",
      "--json",
    );
    expect(JSON.parse(matched.stdout)).toMatchObject({ files: [{ samples: 800 }] });
  } finally {
    await server.stop();
  }
});

/** Bit for bit including NaN payloads, except for staleness markers. */
function plain(series: readonly SelectedSeries[]): unknown {
  return Object.fromEntries(
    series.map(({ labels, column: { times, values, stale } }) => {
      const bits = new BigUint64Array(Float64Array.from(values).buffer);
      return [
        JSON.stringify(labels),
        Array.from(times, (time, at) => `${time} ${stale?.[at] === 1 ? "end" : bits[at]}`),
      ];
    }),
  );
}

test("a hub that is not there is said so, with what to do", async () => {
  await writeFile(inFolder("one.prom"), "x 1 1700000000000\n");
  const done = await run(inFolder("one.prom"), "--url=http://127.0.0.1:1");
  expect(done.code).toBe(1);
  expect(done.stderr).toMatch(/No gpulse hub answers at .*--data/s);
});
