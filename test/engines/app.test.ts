// The demo application on real Redis, PostgreSQL and nginx: a request through all components and its trace, workers and
// servers that fail and recover, an idle GPU that requests work, and an open-loop load generator.

import { randomUUID } from "node:crypto";

import { Client } from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { openResults } from "../../deploy/demo-app/results/store.ts";
import { type Bucket, quantileBucket } from "../../deploy/demo-app/run/buckets.ts";
import { makeLog } from "../../deploy/demo-app/run/log.ts";
import {
  appCommand,
  type RunningApp,
  type RunningAppProgram,
  startApp,
} from "../../engines/app.ts";
import { runProcess } from "../../engines/process.ts";
import { findTool } from "../../engines/tools.ts";
import { type RunningTraceReceiver, startTraceReceiver } from "../../engines/traces.ts";

const found = [findTool("redis-server"), findTool("nginx"), findTool("postgresql")];
const missing = found.flatMap((tool) => ("missing" in tool ? [tool.missing] : []));
const [redisFile = "", nginxFile = ""] = found.map((tool) => ("path" in tool ? tool.path : ""));
const PATIENT = { timeout: 60_000, interval: 100 };

let app: RunningApp;
let traces: RunningTraceReceiver;
/** The worker that survives. */
let worker: RunningAppProgram;

beforeAll(async () => {
  if (missing.length > 0) return;
  traces = await startTraceReceiver();
  app = await startApp({
    tools: { redis: redisFile, nginx: nginxFile },
    tracesUrl: traces.url,
    env: {
      gateway: { TIMEOUT_SECONDS: "90", IDLE_BATCH_SECONDS: "3" },
      worker: { ALIVE_SECONDS: "2" },
    },
  });
  worker = app.worker;
});

beforeEach((context) => {
  if (missing.length > 0) context.skip(missing.join(", "));
});

afterAll(async () => {
  await app?.stop();
  await traces?.stop();
});

interface Answered {
  readonly status: number;
  readonly job: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly retryAfter: string | null;
}

async function post(url: string, path: string, body: unknown): Promise<Answered> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${url}${path}`, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
  return {
    status: response.status,
    job: response.headers.get("x-job-id") ?? "",
    body: (await response.json()) as Record<string, unknown>,
    retryAfter: response.headers.get("retry-after"),
  };
}

const complete = (maxTokens = 8): Promise<Answered> =>
  post(app.url, "/v1/completions", { prompt: "How warm is it?", max_tokens: maxTokens });

async function statusOf(url: string): Promise<number> {
  const response = await fetch(url);
  await response.arrayBuffer();
  return response.status;
}

/** The sum of all series on a page whose name and labels match; undefined if there are none. */
async function metric(program: RunningAppProgram, pattern: RegExp): Promise<number | undefined> {
  const page = await (await fetch(`${program.url}/metrics`)).text();
  const lines = page.split("\n").filter((line) => pattern.test(line));
  if (lines.length === 0) return undefined;
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
}

async function rowsOf(jobs: readonly string[]): Promise<{ id: string; outcome: string }[]> {
  const client = new Client({ connectionString: app.postgres.url });
  await client.connect();
  try {
    const select = "select id, outcome from results where id = any($1)";
    return (await client.query<{ id: string; outcome: string }>(select, [jobs])).rows;
  } finally {
    await client.end();
  }
}

/** Runs `run` while completions would take a minute; they end soon after it has finished. */
async function slowly<T>(run: () => Promise<T>): Promise<T> {
  await post(app.ml.url, "/fault", { slowdown: 200 });
  try {
    return await run();
  } finally {
    await post(app.ml.url, "/fault", {});
  }
}

const active = (of: RunningAppProgram): Promise<number | undefined> =>
  metric(of, /^worker_jobs_active\{queue="completions"\}/);

describe("the demo application", () => {
  test("a completion goes through nginx, gateway, queue, worker and model into PostgreSQL, as one trace", async () => {
    const traceId = randomUUID().replaceAll("-", "");
    const callerId = traceId.slice(0, 16);
    const response = await fetch(`${app.url}/v1/completions`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        traceparent: `00-${traceId}-${callerId}-01`,
      },
      body: JSON.stringify({ prompt: "How warm is it?", max_tokens: 8 }),
    });
    expect(response.status).toBe(200);
    const job = response.headers.get("x-job-id") ?? "";
    const body = (await response.json()) as Record<string, unknown>;
    expect(body).toMatchObject({ id: job, object: "text_completion", simulated: true });
    expect(await rowsOf([job])).toEqual([{ id: job, outcome: "ok" }]);

    const span = (service: string, name: string) =>
      traces.spans.find(
        (one) => one.traceId === traceId && one.service === service && one.name === name,
      );
    const way = () => [
      span("gateway", "POST /v1/completions"),
      span("gateway", "publish completions"),
      span("worker", "process completions"),
      span("worker", "ask the model (completions)"),
      span("ml", "POST /v1/completions"),
    ];
    await expect.poll(() => way().every((one) => one !== undefined), PATIENT).toBe(true);
    const ids = way().map((one) => one?.spanId);
    expect(way().map((one) => one?.parentSpanId)).toEqual([callerId, ...ids.slice(0, -1)]);
    const line = new RegExp(`"trace_id":"${traceId}".*"${job}"`);
    for (const program of [app.gateway, app.worker]) await program.process.waitForOutput(line);
  });

  test("a result is read from the cache first", async () => {
    const hits = () => metric(app.gateway, /^gateway_cache_requests_total\{result="hit"\}/);
    const { job } = await complete();
    const before = (await hits()) ?? 0;
    expect(await statusOf(`${app.url}/v1/jobs/${job}`)).toBe(200);
    expect(await hits()).toBe(before + 1);
  });

  test("results are written once, found again, and forgotten when they are old", async () => {
    const quiet = makeLog("test", { level: "error" });
    const results = openResults(app.postgres.url, 1, quiet);
    const [id, body] = [randomUUID(), { answer: 1 }];
    // Older than all others here, but too recent for the worker's own cleanup.
    const finishedMs = Date.now() - 3_600_000;
    const old = { id, queue: "batch", outcome: "ok", body, finishedMs } as const;
    await expect.poll(() => results.problem(), PATIENT).toBeUndefined();
    expect(await results.write(old)).toBe(true);
    expect(await results.write({ ...old, outcome: "failed" })).toBe(false);
    expect(await results.find(id)).toEqual(old);
    expect(await results.forget(finishedMs + 1)).toBe(1);
    expect(await results.find(id)).toBeUndefined();
    await results.stop();
  });

  test("bad requests are refused with what would be right, and unknown jobs are not there", async () => {
    expect(await complete(0)).toMatchObject({
      status: 400,
      body: { error: { message: "max_tokens must be a whole number from 1 to 2048" } },
    });
    const long = { prompt: "x".repeat(100_000) };
    const tooLarge = { status: 413, body: { error: { code: "too_large" } } };
    expect(await post(app.url, "/v1/completions", long)).toMatchObject(tooLarge);
    expect(await statusOf(`${app.url}/v1/jobs/nothing`)).toBe(404);
    expect(await statusOf(`${app.url}/metrics`)).toBe(404);
  });

  test("what the model counts is what was served", async () => {
    const counted = () => metric(app.ml, /^vllm:request_success_total/);
    const tokens = () => metric(app.ml, /^vllm:generation_tokens_total/);
    const [before = 0, tokensBefore = 0] = [await counted(), await tokens()];
    const { body } = await complete(30);
    const usage = body["usage"] as { completion_tokens: number };
    expect(await counted()).toBe(before + 1);
    expect(await tokens()).toBe(tokensBefore + usage.completion_tokens);
  });

  test("a full queue turns clients away, and a job nobody takes times out", async () => {
    // A Redis database without workers.
    const env = { REDIS_URL: `${app.redis.url}/1`, QUEUE_LIMIT: "1", TIMEOUT_SECONDS: "1" };
    const gateway = await app.start("gateway", env);
    const ask = () => post(gateway.url, "/v1/completions", { prompt: "Anybody?" });
    expect(await ask()).toMatchObject({ status: 504, body: { error: { code: "timeout" } } });
    const refused = await ask();
    expect(refused).toMatchObject({ status: 503, body: { error: { code: "queue_full" } } });
    expect(Number(refused.retryAfter)).toBeGreaterThan(0);
    const completions = (name: string) => new RegExp(`^gateway_queue_${name}\\{.*completions`);
    expect(await metric(gateway, completions("depth"))).toBe(1);
    expect(await metric(gateway, completions("oldest_seconds"))).toBeGreaterThan(0.9);
    await gateway.stop();
  });

  test("an idle GPU asks for work and gets it once", async () => {
    const labels = { alertname: "GpuIdle", gpu: "5" };
    const webhook = { status: "firing", alerts: [{ status: "firing", labels }] };
    const tell = async () =>
      (await post(app.gateway.url, "/idle", webhook)).body["queued"] as { id: string }[];
    const alerts = () => metric(app.gateway, /^gateway_idle_alerts_total/);
    const steps = () => metric(app.ml, /^ml_training_steps_total\{gpu="5"\}/);
    const [alertsBefore = 0, stepsBefore = 0] = [await alerts(), await steps()];
    const [given] = await tell();
    expect(given).toMatchObject({ gpu: 5 });
    expect(await tell()).toEqual([]);
    expect(await alerts()).toBe(alertsBefore + 2);
    await expect.poll(steps, PATIENT).toBeGreaterThan(stepsBefore);
    const written = () => rowsOf([given?.id ?? ""]);
    await expect.poll(written, PATIENT).toEqual([{ id: given?.id, outcome: "ok" }]);
  });

  test("arrivals do not wait for a slow gateway, and both sides see the same p99", async () => {
    await post(app.gateway.url, "/fault", { delay_ms: 1_500 });
    const before = await gatewayBuckets();
    const [command, ...args] = appCommand("load");
    const env = {
      TARGET_URL: app.url,
      RATE: "25",
      SWING: "0",
      BURSTS_PER_DAY: "0",
      BATCH_RATIO: "0",
    };
    const how = { env, timeoutMs: 110_000 };
    const done = await runProcess(command, [...args, "--duration", "6s", "--json"], how);
    await post(app.gateway.url, "/fault", {});
    expect(done.code, done.stderr).toBe(0);
    const summary = JSON.parse(done.stdout) as Record<string, number>;
    // 150 are expected, with a tolerance of five times the square root. A closed-loop client would have sent 4.
    expect(summary["arrivals"]).toBeGreaterThan(88);
    expect(summary["arrivals"]).toBeLessThan(212);
    expect(summary["dropped"]).toBe(0);
    const during = async (): Promise<Bucket[]> =>
      (await gatewayBuckets()).map(([upper, count], at) => [upper, count - (before[at]?.[1] ?? 0)]);
    await expect.poll(async () => (await during()).at(-1)?.[1], PATIENT).toBe(summary["arrivals"]);
    const buckets = await during();
    // The generator measures from the scheduled start and through nginx: not below the gateway's bucket, and at most one
    // above.
    const theirs = quantileBucket(buckets, 0.99) ?? Number.NaN;
    const ours = buckets.findIndex(([upper]) => upper >= (summary["p99Seconds"] ?? Infinity));
    expect([theirs, theirs + 1]).toContain(ours);
  });

  test("a worker that is killed loses no job, none written twice", { retry: 0 }, async () => {
    const asked = await slowly(async () => {
      const sent = Array.from({ length: 12 }, () => complete(30));
      await expect.poll(() => active(worker), PATIENT).toBe(12);
      await worker.kill();
      return { answers: Promise.all(sent) };
    });
    worker = await app.start("worker");
    const answers = await asked.answers;
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const jobs = answers.map(({ job }) => job);
    expect(new Set(jobs).size).toBe(12);
    expect((await rowsOf(jobs)).map(({ id }) => id).sort()).toEqual(jobs.sort());
    expect(await metric(worker, /^worker_jobs_recovered_total/)).toBe(12);
  });

  test("while Redis is away clients are told so, and it heals by itself", async () => {
    await app.redis.kill();
    await expect.poll(() => statusOf(`${app.gateway.url}/readyz`), PATIENT).toBe(503);
    const refused = await complete();
    expect(refused).toMatchObject({ status: 503, body: { error: { code: "unavailable" } } });
    expect(JSON.stringify(refused.body)).toContain("Redis is away");
    expect(await metric(app.gateway, /^gateway_queue_depth/)).toBeUndefined();
    await app.redis.start();
    await expect.poll(async () => (await complete()).status, PATIENT).toBe(200);
    await expect.poll(() => statusOf(`${app.gateway.url}/readyz`), PATIENT).toBe(200);
  });

  test("a result is kept until PostgreSQL is back", { retry: 0 }, async () => {
    const early = await slowly(async () => {
      const answer = complete(30);
      await expect.poll(() => active(worker), PATIENT).toBeGreaterThan(0);
      await app.postgres.kill();
      return { answer };
    });
    await expect.poll(() => statusOf(`${app.gateway.url}/readyz`), PATIENT).toBe(503);
    const refused = await complete();
    expect(refused).toMatchObject({ status: 503, body: { error: { code: "unavailable" } } });
    expect(JSON.stringify(refused.body)).toContain("PostgreSQL is away");
    const retries = () => metric(worker, /^worker_result_retries_total/);
    await expect.poll(retries, PATIENT).toBeGreaterThan(0);
    await app.postgres.start();
    const answered = await early.answer;
    expect(answered.status).toBe(200);
    expect(await rowsOf([answered.job])).toEqual([{ id: answered.job, outcome: "ok" }]);
    await expect.poll(async () => (await complete()).status, PATIENT).toBe(200);
  });

  test("without a gateway nginx says so in the gateway's words", async () => {
    await app.gateway.kill();
    const away = { status: 502, body: { error: { code: "unavailable" } } };
    expect(await complete()).toMatchObject(away);
  });
});

/** Summed over all routes, cumulative. */
async function gatewayBuckets(): Promise<Bucket[]> {
  const page = await (await fetch(`${app.gateway.url}/metrics`)).text();
  const counts = new Map<number, number>();
  for (const line of page.split("\n")) {
    const [, le, count] =
      /^gateway_http_request_duration_seconds_bucket\{.*le="([^"]+)".*\} (\d+)$/.exec(line) ?? [];
    // Only the generator's requests, without the request that sets the fault.
    if (le === undefined || line.includes("/fault")) continue;
    const upper = le === "+Inf" ? Infinity : Number(le);
    counts.set(upper, (counts.get(upper) ?? 0) + Number(count));
  }
  return [...counts].sort(([left], [right]) => left - right);
}
