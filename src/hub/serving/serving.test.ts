import { fastify } from "fastify";
import * as v from "valibot";
import { expect, test } from "vitest";
import { storeGpu, type StoredGpu, storeScrape } from "../../../test/fixtures/serving/scrapes.ts";
import { type VllmState, vllmPage } from "../../../test/engines/vllm-page.ts";
import { labelSet } from "../../model/labels.ts";
import { MemoryStore } from "../../query/memory-store.ts";
import { parseTariff } from "../../runs/jobs/tariff.ts";
import { type Serving, servingSchema } from "../../view/serving/figures.ts";
import { addServing } from "./routes.ts";

const endMs = Date.UTC(2026, 0, 5, 12);

interface Target {
  readonly labels: Readonly<Record<string, string>>;
  readonly page: (seconds: number) => string;
}

/** Minutes of scrapes up to `endMs`. */
function stored(
  minutes: number,
  targets: readonly Target[],
  gpus: readonly StoredGpu[] = [],
  stepSeconds = 15,
): MemoryStore {
  const store = new MemoryStore();
  for (let seconds = 0; seconds <= minutes * 60; seconds += stepSeconds) {
    const timeMs = endMs - minutes * 60_000 + seconds * 1_000;
    for (const { labels, page } of targets)
      storeScrape(store, { timeMs, page: page(seconds), target: labels });
    for (const gpu of gpus) storeGpu(store, gpu, timeMs, seconds);
  }
  return store;
}

async function ask(store: MemoryStore, query = "", nowMs = endMs): Promise<Serving> {
  const app = fastify();
  const price = parseTariff("0.36");
  addServing(app, {
    history: store,
    nowMs: () => nowMs,
    hostName: "hub-1",
    tariffs: { price, currency: "EUR" },
  });
  const reply = await app.inject(`/api/serving${query}`);
  expect([reply.statusCode, reply.body.slice(0, 200)]).toEqual([200, expect.anything()]);
  return v.parse(servingSchema, reply.json());
}

const state: VllmState = {
  model: "llama-8b",
  generationTokensPerSecond: 1_500,
  promptTokensPerSecond: 4_000,
  requestsPerSecond: 10,
  running: 32,
  waiting: 3,
  kvCacheUsage: 0.4,
  preemptions: 0,
};
const vllm = (labels: Record<string, string>, own: Partial<VllmState> = {}): Target => ({
  labels: { job: "vllm", ...labels },
  page: (seconds) => vllmPage({ ...state, ...own }, 600 + seconds),
});
const gpu = (
  host: string,
  uuid: string,
  watts = 500,
  owner?: Record<string, string>,
): StoredGpu => ({
  host,
  uuid,
  watts: () => watts,
  ...(owner === undefined ? {} : { owner }),
});

const only = ({ replicas }: Serving): Serving["replicas"][number] => {
  expect(replicas).toHaveLength(1);
  const [first] = replicas;
  if (first === undefined) throw new Error("BUG: no replica");
  return first;
};
const near = (value: number, digits = 6) => ({ value: expect.closeTo(value, digits) as number });
const absent = (text: string) => ({ absent: expect.stringContaining(text) as string });

test("a vLLM server beside one GPU of its host: every figure as it comes out by hand", async () => {
  const store = stored(
    10,
    [vllm({ instance: "gpu-1:8000", host: "gpu-1" })],
    [gpu("gpu-1", "GPU-a")],
  );
  const found = only(await ask(store));
  expect(found).toMatchObject({
    server: "vllm",
    program: "vLLM",
    model: "llama-8b",
    host: "gpu-1",
    gpus: { by: "host", sharedWith: 0, list: [{ uuid: "GPU-a", model: "H200" }] },
    problems: [],
  });
  // Every first token took 0.18 s and every inter-token gap 0.021 s: quantiles interpolate within their bucket.
  expect(found.figures).toMatchObject({
    promptTokens: near(4_000),
    generatedTokens: near(1_500),
    requests: near(10),
    running: { value: 32 },
    waiting: { value: 3 },
    kvCache: { value: 0.4 },
    preemptions: { value: 0 },
    timeToFirstTokenP50: near(0.175),
    interTokenP50: near(0.0175),
    withinSlo: { value: 1 },
    goodput: near(10),
    power: near(500),
    generatedPerJoule: near(3),
    generatedPerJouleAtSlo: near(3),
    tokensPerJoule: near(11),
    joulesPerGenerated: near(1 / 3),
    costPerMillion: near(1 / 30),
    failedRequests: absent("finished requests only"),
  });
  expect(found.energySplit).toEqual(absent("13 intervals"));
});

test("a stricter SLO than the requests keep leaves no goodput, and no tokens per joule at the SLO", async () => {
  const store = stored(
    10,
    [vllm({ instance: "gpu-1:8000", host: "gpu-1" })],
    [gpu("gpu-1", "GPU-a")],
  );
  const { figures } = only(await ask(store, "?ttft=100ms&itl=50ms"));
  expect(figures).toMatchObject({
    withinTimeToFirstToken: near(0),
    withinInterToken: { value: 1 },
    withinSlo: near(0),
    goodput: near(0),
    generatedPerJoule: near(3),
    generatedPerJouleAtSlo: near(0),
  });
});

test("two models on one machine are distinguished by pod, workload and container", async () => {
  const gpus = [
    gpu("gpu-1", "GPU-a", 400, { namespace: "ai", pod: "llama-0" }),
    gpu("gpu-1", "GPU-b", 600, { namespace: "ai", pod: "llama-0" }),
    gpu("gpu-1", "GPU-c", 300, { workload: "job:mixtral" }),
  ];
  const store = stored(
    5,
    [
      vllm({ instance: "10.0.0.7:8000", namespace: "ai", pod: "llama-0" }),
      vllm({ instance: "gpu-1:8001", workload: "job:mixtral" }, { model: "mixtral" }),
    ],
    gpus,
  );
  const { replicas } = await ask(store);
  expect(
    replicas.map(({ model, gpus: { ...found }, figures }) => [model, found, figures.power]),
  ).toEqual([
    [
      "llama-8b",
      expect.objectContaining({
        by: "pod",
        sharedWith: 0,
        list: [
          expect.objectContaining({ uuid: "GPU-a" }),
          expect.objectContaining({ uuid: "GPU-b" }),
        ],
      }),
      near(1_000),
    ],
    ["mixtral", expect.objectContaining({ by: "workload", sharedWith: 0 }), near(300)],
  ]);
});

test("two models on one machine are distinguished by the ports that processes on its GPUs listen on", async () => {
  const on = (uuid: string, watts: number, port: string): StoredGpu => ({
    ...gpu("gpu-1", uuid, watts),
    port,
  });
  const store = stored(
    5,
    [
      vllm({ instance: "gpu-1:8000" }),
      vllm({ instance: "gpu-1:8001" }, { model: "mixtral" }),
      // The same port on another host.
      vllm({ instance: "gpu-2:8001" }, { model: "qwen" }),
    ],
    [
      on("GPU-a", 400, "8000"),
      on("GPU-b", 600, "8000"),
      on("GPU-c", 300, "8001"),
      gpu("gpu-2", "GPU-d"),
    ],
  );
  const { replicas } = await ask(store);
  expect(
    replicas.map(({ model, gpus, figures }) => [
      model,
      "list" in gpus ? [gpus.by, gpus.sharedWith, gpus.list.map(({ uuid }) => uuid)] : gpus,
      figures.power,
    ]),
  ).toEqual([
    ["llama-8b", ["port", 0, ["GPU-a", "GPU-b"]], near(1_000)],
    ["mixtral", ["port", 0, ["GPU-c"]], near(300)],
    ["qwen", ["host", 0, ["GPU-d"]], near(500)],
  ]);
});

test("two servers on one machine that cannot be distinguished have no tokens per joule, and it says why", async () => {
  const store = stored(
    5,
    [
      vllm({ instance: "gpu-1:8000", host: "gpu-1" }),
      vllm({ instance: "gpu-1:8001", host: "gpu-1" }, { model: "mixtral" }),
    ],
    [gpu("gpu-1", "GPU-a")],
  );
  for (const { gpus, figures, energySplit } of (await ask(store)).replicas) {
    expect(gpus).toMatchObject({ by: "host", sharedWith: 1 });
    expect(figures.generatedTokens).toEqual(near(1_500));
    expect(figures.power).toEqual(absent("also those of 1 other server"));
    expect(figures.generatedPerJouleAtSlo).toEqual(absent("also those of"));
    expect(energySplit).toEqual(absent("also those of"));
  }
});

test("a loopback target is on the hub's own machine; a machine without GPUs has none", async () => {
  const here = stored(5, [vllm({ instance: "127.0.0.1:8000" })], [gpu("hub-1", "GPU-a")]);
  expect(only(await ask(here))).toMatchObject({ host: "hub-1", gpus: { by: "host" } });
  const { gpus, figures } = only(await ask(stored(5, [vllm({ instance: "gpu-9:8000" })])));
  expect(gpus).toEqual(absent("No GPU of gpu-9 reports here"));
  expect(figures.power).toEqual(absent("No GPU of gpu-9"));
});

test("prefill and decode are split where the two rates vary", async () => {
  const rates = (seconds: number) => ({
    prompt: 3_000 + 2_500 * Math.sin(seconds / 70),
    generated: 900 + 600 * Math.sin(seconds / 31),
  });
  const totals = { prompt: 1e6, generated: 1e5, at: 0 };
  const target: Target = {
    labels: { job: "vllm", instance: "gpu-1:8000", host: "gpu-1" },
    page: (seconds) => {
      for (; totals.at < seconds; totals.at++) {
        totals.prompt += rates(totals.at + 0.5).prompt;
        totals.generated += rates(totals.at + 0.5).generated;
      }
      return `vllm:prompt_tokens_total{model_name="m"} ${totals.prompt}
vllm:generation_tokens_total{model_name="m"} ${totals.generated}`;
    },
  };
  const power: StoredGpu = {
    host: "gpu-1",
    uuid: "GPU-a",
    watts: (seconds) => {
      const { prompt, generated } = rates(seconds);
      return 110 + 0.015 * prompt + 0.3 * generated + 4 * Math.sin(seconds * 7.3);
    },
  };
  const { energySplit } = only(await ask(stored(50, [target], [power], 5)));
  if ("absent" in energySplit) throw new Error(energySplit.absent);
  for (const [found, truth] of [
    [energySplit.joulesPerPromptToken, 0.015],
    [energySplit.joulesPerGeneratedToken, 0.3],
    [energySplit.idleWatts, 110],
  ] as const) {
    expect(Math.abs(found.value / truth - 1)).toBeLessThan(0.05);
    expect(found.standardError).toBeGreaterThan(0);
    expect(found.standardError).toBeLessThan(0.1 * found.value);
  }
});

test("two minutes of work that changes every few seconds are enough where the energy counter is read every five", async () => {
  // Prompts, responses or idle, for three seconds each.
  const work = (second: number) => Math.imul(Math.floor(second / 3) + 7, 0x9e3779b1) >>> 30;
  const sums = [{ prompt: 0, generated: 0, joules: 0 }];
  for (let second = 0; second < 121; second++) {
    const { prompt, generated, joules } = sums[second] ?? { prompt: 0, generated: 0, joules: 0 };
    const [isPrompt, isAnswer] = [work(second) === 1, work(second) >= 2];
    sums.push({
      prompt: prompt + (isPrompt ? 60_000 : 0),
      generated: generated + (isAnswer ? 5_000 : 0),
      joules: joules + 110 + (isPrompt ? 540 : 0) + (isAnswer ? 340 : 0),
    });
  }
  const target: Target = {
    labels: { job: "vllm", instance: "gpu-1:8000", host: "gpu-1" },
    page: (seconds) => `vllm:prompt_tokens_total{model_name="m"} ${sums[seconds]?.prompt}
vllm:generation_tokens_total{model_name="m"} ${sums[seconds]?.generated}`,
  };
  const power = {
    ...gpu("gpu-1", "GPU-a"),
    joules: (seconds: number) => (seconds % 5 === 3 ? sums[seconds]?.joules : undefined),
  };
  const { energySplit } = only(await ask(stored(2, [target], [power], 1)));
  if ("absent" in energySplit) throw new Error(energySplit.absent);
  expect(energySplit.joulesPerPromptToken.value).toBeCloseTo(540 / 60_000, 6);
  expect(energySplit.joulesPerGeneratedToken.value).toBeCloseTo(340 / 5_000, 6);
  expect(energySplit.intervals).toBe(23);
});

test.each([
  [
    "SGLang counts copies of one queue once and adds up data-parallel ranks",
    `sglang:num_running_reqs{model_name="m",tp_rank="0",dp_rank="0"} 4
sglang:num_running_reqs{model_name="m",tp_rank="1",dp_rank="0"} 4
sglang:num_running_reqs{model_name="m",tp_rank="0",dp_rank="1"} 5
sglang:token_usage{model_name="m",tp_rank="0",dp_rank="0"} 0.2
sglang:token_usage{model_name="m",tp_rank="0",dp_rank="1"} 0.7`,
    { server: "sglang", model: "m" },
    { running: { value: 9 }, kvCache: { value: 0.7 } },
  ],
  [
    "an old vLLM is read by its old names",
    `vllm:num_requests_running{model_name="m"} 2
vllm:gpu_cache_usage_perc{model_name="m"} 0.25`,
    { server: "vllm" },
    { kvCache: { value: 0.25 } },
  ],
  [
    "TensorRT-LLM",
    `trtllm_num_requests_running{model_name="m"} 2
trtllm_kv_cache_utilization{model_name="m"} 0.62`,
    { server: "tensorrt-llm" },
    { kvCache: { value: 0.62 }, preemptions: absent("paused") },
  ],
  [
    "Triton distinguishes its signals by a label",
    `nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="waiting",version="1"} 7
nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="max",version="1"} 512
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="fraction",model="tensorrt_llm",version="1"} 0.5`,
    { server: "triton", model: "tensorrt_llm" },
    { waiting: { value: 7 }, kvCache: { value: 0.5 }, generatedTokens: absent("counts no tokens") },
  ],
  [
    "Dynamo's frontend passes requests on",
    `dynamo_frontend_inflight_requests{model="m"} 12
dynamo_frontend_queued_requests{model="m"} 3`,
    { server: "dynamo", role: "router", gpus: absent("passes requests on") },
    { running: { value: 12 }, waiting: { value: 3 }, power: absent("passes requests on") },
  ],
  [
    "llm-d's endpoint picker, by the names of both versions, read once",
    `llm_d_epp_request_running{model_name="m"} 5
inference_objective_running_requests{model_name="m"} 5`,
    { server: "llm-d", role: "router" },
    { running: { value: 5 } },
  ],
  [
    "llama.cpp names no model and times nothing",
    `llamacpp:requests_processing 1
llamacpp:requests_deferred 46`,
    { server: "llama.cpp" },
    { waiting: { value: 46 }, timeToFirstTokenP99: absent("no latencies") },
  ],
  [
    "TGI",
    `tgi_queue_size 4
tgi_batch_current_size 8`,
    { server: "tgi" },
    { running: { value: 8 }, timeToFirstTokenP99: absent("first token") },
  ],
])("%s", async (_, page, described, figures) => {
  const store = stored(5, [{ labels: { job: "llm", instance: "gpu-1:8000" }, page: () => page }]);
  const found = only(await ask(store));
  expect(found).toMatchObject(described);
  expect(found.figures).toMatchObject(figures);
});

test.each([
  [
    "a cache of 87, which is no ratio",
    `vllm:num_requests_running{model_name="m"} 1
vllm:kv_cache_usage_perc{model_name="m"} 87`,
    { kvCache: absent("impossible"), running: { value: 1 } },
    1,
  ],
  [
    "a negative queue",
    `vllm:num_requests_waiting{model_name="m"} -3
vllm:num_requests_running{model_name="m"} 1`,
    { waiting: absent("impossible"), running: { value: 1 } },
    1,
  ],
  [
    "values that are no numbers",
    `vllm:num_requests_waiting{model_name="m"} NaN
vllm:num_requests_running{model_name="m"} 1`,
    { waiting: absent("no number"), running: { value: 1 } },
    0,
  ],
  [
    "a histogram without +Inf",
    `vllm:time_to_first_token_seconds_bucket{model_name="m",le="0.5"} 10
vllm:time_to_first_token_seconds_bucket{model_name="m",le="1.0"} 20
vllm:num_requests_running{model_name="m"} 1`,
    { timeToFirstTokenP99: absent("no bucket +Inf"), withinSlo: absent("+Inf") },
    1,
  ],
  [
    "bounds that are no numbers",
    `vllm:time_to_first_token_seconds_bucket{model_name="m",le="fast"} 10
vllm:num_requests_running{model_name="m"} 1`,
    { timeToFirstTokenP99: absent("scraped once") },
    0,
  ],
  [
    "counters that stand still",
    `vllm:generation_tokens_total{model_name="m"} 500
vllm:prompt_tokens_total{model_name="m"} 500`,
    {
      generatedTokens: { value: 0 },
      joulesPerGenerated: absent("No tokens"),
      generatedPerJoule: { value: 0 },
    },
    0,
  ],
])("odd pages lose only what is odd: %s", async (_, page, figures, problems) => {
  const target = { labels: { job: "v", instance: "gpu-1:8000", host: "gpu-1" }, page: () => page };
  const found = only(await ask(stored(5, [target], [gpu("gpu-1", "GPU-a")])));
  expect(found.figures).toMatchObject(figures);
  expect(found.problems).toHaveLength(problems);
});

test("a counter that restarts counts what came after; one scrape is no rate", async () => {
  let total = 5_000;
  const target: Target = {
    labels: { job: "v", instance: "gpu-1:8000" },
    page: (seconds) => {
      total = seconds === 150 ? 0 : total + 500;
      return `vllm:generation_tokens_total{model_name="m"} ${total}`;
    },
  };
  const { figures } = only(await ask(stored(5, [target])));
  expect(figures.generatedTokens).toEqual(near((19 * 500) / 300));
  const once = stored(0, [vllm({ instance: "gpu-1:8000" })]);
  expect(only(await ask(once)).figures.generatedTokens).toEqual(absent("scraped once"));
});

test("a server that ended, and one that was last seen long ago, are not listed", async () => {
  const store = stored(5, [vllm({ instance: "gpu-1:8000" })]);
  expect((await ask(store, "", endMs + 301_000)).replicas).toEqual([]);
  const ended = new MemoryStore();
  const labels = labelSet({
    __name__: "vllm:num_requests_running",
    instance: "a:1",
    model_name: "m",
  });
  ended.append(labels, endMs - 5_000, 1);
  ended.append(labels, endMs - 1_000, 0, true);
  expect((await ask(ended)).replicas).toEqual([]);
});

test("a time in the past is answered as it was then, whatever came later", async () => {
  const store = stored(20, [vllm({ instance: "gpu-1:8000" })]);
  const time = new Date(endMs - 600_000).toISOString();
  const then = await ask(store, `?time=${time}`, endMs + 3_600_000);
  expect(only(then).figures).toEqual(only(await ask(store, "", endMs - 600_000)).figures);
  expect((await ask(store, "", endMs + 3_600_000)).replicas).toEqual([]);
});

test("a metric that is nobody's makes no server", async () => {
  const target = { labels: { instance: "a:1" }, page: () => "vllm:nonsense 1\nnv_inference_x 2" };
  expect((await ask(stored(1, [target]))).replicas).toEqual([]);
});

test("more servers than one answer holds are counted", async () => {
  const targets = Array.from({ length: 230 }, (_, at) => ({
    labels: { job: "v", instance: `gpu-${at}:8000` },
    page: () => 'vllm:num_requests_running{model_name="m"} 1',
  }));
  const found = await ask(stored(0, targets));
  expect([found.replicas.length, found.leftOut]).toEqual([200, 30]);
});

test.each([
  ["?window=5", "a duration from 30s to 1h"],
  ["?ttft=fast", "a duration from 1ms"],
  ["?itl=-1s", "a duration from 1ms"],
  ["?nonsense=1", "nonsense"],
])("%s is refused with a sentence", async (query, sentence) => {
  const app = fastify();
  addServing(app, { history: new MemoryStore(), nowMs: () => endMs, hostName: "h" });
  const reply = await app.inject(`/api/serving${query}`);
  expect(reply.statusCode).toBe(400);
  expect(reply.json<{ error: string }>().error).toContain(sentence);
});
