// The history in real remote engines: the shared suite on each, with the reasons if an engine cannot pass.

import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { describe, expect, test, type TestContext } from "vitest";

import { hubProgram, startHub } from "../../engines/hub.ts";
import { freePort } from "../../engines/ports.ts";
import { type RunningProcess, runProcess, startProcess } from "../../engines/process.ts";
import { startPrometheus } from "../../engines/prometheus.ts";
import { findTool, toolOrSkip } from "../../engines/tools.ts";
import { startVictoriaMetrics } from "../../engines/victoria-metrics.ts";
import { waitUntil } from "../../engines/wait.ts";
import { encodeWriteRequest } from "../../src/formats/remote-write/encode.ts";
import { BatchBuilder } from "../../src/formats/samples/builder.ts";
import { compressSnappy } from "../../src/formats/snappy/compress.ts";
import { parseStoreAddress } from "../../src/storage/remote/address.ts";
import { openRemoteHistory } from "../../src/storage/remote/remote.ts";
import { silentLog } from "../../src/base/log.ts";
import { labelSet } from "../../src/model/labels.ts";
import { historySuite, type OpenedHistory } from "../history/suite.ts";

const prometheus = findTool("prometheus");
const victoriaMetrics = findTool("victoria-metrics");

async function openAt(
  url: string,
  stop: () => Promise<void>,
  settle: () => Promise<void>,
): Promise<OpenedHistory> {
  const history = await openRemoteHistory(parseStoreAddress(url), silentLog);
  return {
    history,
    settle,
    close: async () => {
      await history.close();
      await stop();
    },
  };
}

describe.skipIf("missing" in prometheus)("over Prometheus", () => {
  historySuite({
    open: async () => {
      const file = "path" in prometheus ? prometheus.path : "";
      const args = ["--enable-feature=native-histograms"];
      const server = await startPrometheus({ path: file, config: {}, logLevel: "warn", args });
      return openAt(
        server.url,
        () => server.stop(),
        async () => {},
      );
    },
    cannot: {
      "native histograms come back among floats and ends":
        "Prometheus before 3 has no native histograms in remote read, and a range selector shows no ends",
      "a sample older than the newest of its series is kept":
        "Prometheus refuses what is out of order unless its file sets tsdb.out_of_order_time_window",
    },
  });
});

describe.skipIf("missing" in victoriaMetrics)("over VictoriaMetrics", () => {
  historySuite({
    open: async () => {
      const server = await startVictoriaMetrics(
        "path" in victoriaMetrics ? victoriaMetrics.path : "",
      );
      return openAt(
        server.url,
        () => server.stop(),
        async () => {
          await (await fetch(`${server.url}/internal/force_flush`)).arrayBuffer();
        },
      );
    },
    cannot: {
      "every double comes back bit for bit":
        "VictoriaMetrics keeps decimals: about 15 digits, and less for small values beside huge ones",
      "native histograms come back as they were written":
        "VictoriaMetrics keeps no native histograms",
      "native histograms come back among floats and ends":
        "VictoriaMetrics keeps no native histograms",
      "a NaN that is a value is no end":
        "VictoriaMetrics drops every NaN that is no mark of an end",
      "another value for the same time is refused, and the first stays":
        "VictoriaMetrics refuses nothing: it keeps both, and answers with the later",
      "what is refused takes nothing else of its batch with it": "VictoriaMetrics refuses nothing",
      "labels of series without samples in the range are not reported":
        "VictoriaMetrics looks labels up by the day, in UTC",
      "a scalar is a scalar and a text a text": "VictoriaMetrics answers with a vector of one",
    },
  });
});

interface Store {
  readonly url: string;
  stop(): Promise<void>;
}

const stores: readonly [name: string, start: (context: TestContext) => Promise<Store>][] = [
  [
    "Prometheus",
    async (context) =>
      startPrometheus({ path: toolOrSkip(context, "prometheus"), config: {}, logLevel: "warn" }),
  ],
  [
    "VictoriaMetrics",
    async (context) => startVictoriaMetrics(toolOrSkip(context, "victoria-metrics")),
  ],
];

async function startUp(
  store: string,
  dataDir: string,
): Promise<{ url: string; process: RunningProcess }> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const up = startProcess(
    process.execPath,
    [
      hubProgram,
      "up",
      "--source=sim:2",
      `--store=${store}`,
      `--data=${dataDir}`,
      `--port=${port}`,
      "--no-open",
    ],
    { name: "gpulse up" },
  );
  try {
    await up.waitForUrl(`${url}/-/ready`, 60_000);
  } catch (error) {
    await up.stop();
    throw error;
  }
  return { url, process: up };
}

async function data(url: string, route: string): Promise<unknown> {
  const answer = await fetch(url + route);
  const body = (await answer.json()) as { data?: unknown };
  return answer.ok ? (body.data ?? body) : { status: answer.status, body };
}

const asked = (query: string): string => `/api/v1/query?query=${encodeURIComponent(query)}`;
type Vector = { readonly result: readonly { readonly value: readonly [number, string] }[] };

type Matrix = { readonly result: readonly { readonly values: readonly [number, string][] }[] };

/** The number of power samples per GPU in the hub. */
async function countOf(url: string): Promise<number> {
  const { result } = (await data(
    url,
    asked("max(count_over_time(gpu_power_watts[10m]))"),
  )) as Vector;
  return Number(result[0]?.value[1] ?? 0);
}

async function firstEvents(url: string): Promise<string> {
  const answer = await fetch(`${url}/api/live`);
  let text = "";
  for await (const part of answer.body ?? []) {
    text += Buffer.from(part as Uint8Array).toString();
    if (text.includes("event: fleet") && text.includes("event: frame")) break;
  }
  return text;
}

test.for(stores)(
  "the whole page works over %s, and its history outlives the hub",
  async ([, start], context) => {
    const store = await start(context);
    const dataDir = await mkdtemp(path.join(tmpdir(), "gpulse-elsewhere-"));
    const running: RunningProcess[] = [];
    try {
      const first = await startUp(store.url, dataDir);
      running.push(first.process);
      const { url } = first;
      const seen = await waitUntil(
        { what: "samples in the store", timeoutMs: 30_000 },
        async () => {
          const count = await countOf(url);
          return count > 5 ? count : undefined;
        },
      );
      expect(await data(url, "/api/fleet")).toMatchObject({ devices: [{}, {}] });
      expect(await firstEvents(url)).toContain("event: frame");
      expect(((await data(url, asked("gpu_power_watts"))) as Vector).result).toHaveLength(2);
      const now = Date.now() / 1_000;
      expect(
        await data(
          url,
          `/api/v1/query_range?query=sum(gpu_power_watts)&start=${now - 60}&end=${now}&step=5`,
        ),
      ).toMatchObject({ resultType: "matrix", result: [{ metric: {} }] });
      expect(await data(url, "/api/v1/label/job/values")).toEqual(["gpulse"]);
      expect(await data(url, "/api/v1/labels")).toEqual(expect.arrayContaining(["uuid", "host"]));
      expect(await data(url, "/api/v1/series?match[]=gpu_info")).toHaveLength(2);
      expect(await data(url, "/api/v1/status/tsdb")).toMatchObject({ seriesCountByMetricName: [] });
      expect(await data(url, "/api/v1/status/runtimeinfo")).toMatchObject({
        reloadConfigSuccess: true,
      });
      const deleted = await fetch(`${url}/api/v1/admin/tsdb/delete_series?match[]=up`, {
        method: "POST",
      });
      expect(deleted.status).toBe(400);
      expect(await deleted.text()).toContain(store.url);
      expect(await data(url, asked("sum("))).toMatchObject({ body: { status: "error" } });
      await first.process.stop();

      const second = await startUp(store.url, dataDir);
      running.push(second.process);
      expect(await countOf(second.url)).toBeGreaterThanOrEqual(seen);
      expect(await data(second.url, "/api/fleet")).toMatchObject({ devices: [{}, {}] });
      expect(await readdir(dataDir)).not.toContain("blocks");
    } finally {
      for (const one of running) await one.stop();
      await store.stop();
      await rm(dataDir, { recursive: true, force: true });
    }
  },
);

test("a Prometheus that takes no samples is refused at the start, with what to do", async (context) => {
  const server = await startPrometheus({
    path: toolOrSkip(context, "prometheus"),
    config: {},
    logLevel: "warn",
    receiver: false,
  });
  try {
    const done = await runProcess(process.execPath, [
      hubProgram,
      "hub",
      `--store=${server.url}`,
      "--port=0",
    ]);
    expect(done.code).toBe(2);
    expect(done.stderr).toContain("--web.enable-remote-write-receiver");
  } finally {
    await server.stop();
  }
});

test("while the store is away senders are asked to retry, and it goes on when the store is back", async (context) => {
  const store = await startVictoriaMetrics(toolOrSkip(context, "victoria-metrics"));
  const dataDir = await mkdtemp(path.join(tmpdir(), "gpulse-elsewhere-"));
  const hub = await startHub({ dataDir, args: [`--store=${store.url}`] });
  const push = (value: number): Promise<Response> =>
    fetch(`${hub.url}/api/v1/write`, {
      method: "POST",
      headers: { "content-type": "application/x-protobuf", "content-encoding": "snappy" },
      body: Buffer.from(writeBody(value)),
    });
  try {
    expect((await push(1)).status).toBe(204);
    await store.whileAway(async () => {
      const refused = await push(2);
      expect(refused.status).toBe(503);
      expect(refused.headers.get("retry-after")).not.toBeNull();
      expect((await fetch(`${hub.url}${asked("away_test")}`)).status).toBe(503);
    });
    expect((await push(2)).status).toBe(204);
    await waitUntil({ what: "both samples", timeoutMs: 10_000 }, async () => {
      const { result } = (await data(hub.url, asked("count_over_time(away_test[10m])"))) as Vector;
      return result[0]?.value[1] === "2" ? true : undefined;
    });
  } finally {
    await hub.stop();
    await store.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
});

test("what a machine reads of itself while its store is away is there when the store is back", async (context) => {
  const store = await startVictoriaMetrics(toolOrSkip(context, "victoria-metrics"));
  const dataDir = await mkdtemp(path.join(tmpdir(), "gpulse-elsewhere-"));
  const up = await startUp(store.url, dataDir);
  try {
    await waitUntil({ what: "samples in the store", timeoutMs: 30_000 }, async () =>
      (await countOf(up.url)) > 2 ? true : undefined,
    );
    const awayMs = Date.now();
    await store.whileAway(() => sleep(6_000));
    const backS = Date.now() / 1_000;
    const times = await waitUntil({ what: "samples of later", timeoutMs: 30_000 }, async () => {
      const { result } = (await data(up.url, asked("gpu_power_watts[2m]"))) as Matrix;
      const found = (result[0]?.values ?? []).map(([time]) => time);
      return (found.at(-1) ?? 0) > backS + 1 ? found : undefined;
    });
    expect(times.filter((time) => time > awayMs / 1_000 && time < backS).length).toBeGreaterThan(3);
    const gaps = times.slice(1).map((time, at) => time - (times[at] ?? 0));
    expect(Math.max(...gaps)).toBeLessThan(4);
  } finally {
    await up.process.stop();
    await store.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
});

function writeBody(value: number): Uint8Array {
  const builder = new BatchBuilder();
  builder.add(builder.series(labelSet({ __name__: "away_test" })), Date.now(), value);
  return compressSnappy(encodeWriteRequest(builder.finish()));
}
