import { gzipSync } from "node:zlib";
import { afterEach, expect, test } from "vitest";
import { encodeWriteRequest } from "../formats/remote-write/encode.ts";
import { batchOf } from "../../test/fixtures/formats/samples-text.ts";
import { compressSnappy } from "../formats/snappy/compress.ts";
import { silentLog } from "../base/log.ts";
import type { Frame } from "../model/frame.ts";
import { type LabelSet, labelSet } from "../model/labels.ts";
import { presence } from "../model/presence.ts";
import type { ListeningSource } from "./listening.ts";
import { openSources } from "./open.ts";
import type { StreamFrameInfo } from "./source.ts";

const context = {
  host: "here",
  log: silentLog,
  nowMs: () => 0,
  sysfs: "/sys",
  procfs: "/proc",
};

const open = async (url: string): Promise<ListeningSource> => {
  const [opened] = await openSources([url], context);
  const source = opened?.source as ListeningSource;
  stops.push(() => source.close());
  return source;
};
const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

const power = labelSet({
  __name__: "gpu_power_watts",
  uuid: "G",
  gpu: "0",
  host: "a",
  job: "gpulse",
  instance: "a:9835",
});
const info = labelSet({
  __name__: "gpu_info",
  uuid: "G",
  gpu: "0",
  host: "a",
  vendor: "amd",
  model: "MI300X",
});
const other = labelSet({ __name__: "up", job: "x" });

const writeBody = (...samples: readonly (readonly [LabelSet, number, number])[]): Buffer =>
  Buffer.from(compressSnappy(encodeWriteRequest(batchOf(samples))));

const post = (
  { port }: ListeningSource,
  body: Buffer | string,
  headers: Record<string, string> = {},
  path = "/api/v1/write",
) => fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", body, headers });

interface Seen {
  readonly frame: Frame;
  readonly about: StreamFrameInfo | undefined;
}

function run(source: ListeningSource): {
  readonly seen: Seen[];
  readonly stop: () => Promise<void>;
} {
  const seen: Seen[] = [];
  const abort = new AbortController();
  const done = source.run((frame, about) => {
    seen.push({ frame, about });
    return Promise.resolve();
  }, abort.signal);
  return {
    seen,
    stop: () => {
      abort.abort();
      return done;
    },
  };
}

const settled = async (answer: Promise<Response>): Promise<number | undefined> =>
  Promise.race([
    answer.then(({ status }) => status),
    new Promise<undefined>((resolve) => setTimeout(resolve, 100, undefined)),
  ]);

test("a sender is answered when what it sent is committed, and not before", async () => {
  const source = await open("remote-write+http://127.0.0.1:0");
  const { seen, stop } = run(source);
  const answer = post(source, writeBody([info, 1_000, 1], [power, 1_000, 250], [other, 2_000, 1]));
  await expect.poll(() => seen.length).toBe(2);
  expect(await settled(answer)).toBeUndefined();
  await source.commit();
  expect((await answer).status).toBe(204);
  expect(seen.map(({ frame }) => frame.timeMs)).toEqual([1_000, 2_000]);
  const [first] = seen;
  expect(first?.about?.devices).toMatchObject([{ uuid: "G", vendor: "amd", model: "MI300X" }]);
  const slot = first?.frame.layout.series.findIndex(
    ({ metric }) => metric.name === "gpu_power_watts",
  );
  expect(first?.frame.values[slot ?? -1]).toBe(250);
  expect(first?.frame.layout.series[slot ?? -1]?.labels).toEqual([
    ["gpu", "0"],
    ["host", "a"],
    ["uuid", "G"],
  ]);
  expect(seen[1]?.frame.layout.series[0]?.labels).toEqual([["job", "x"]]);
  await stop();
});

test("a request of which a frame still waits is not said to be kept", async () => {
  const source = await open("remote-write+http://127.0.0.1:0");
  let letGo: () => void = () => {};
  const abort = new AbortController();
  let frames = 0;
  const done = source.run(() => {
    if (++frames < 2) return Promise.resolve();
    return new Promise((resolve) => (letGo = resolve));
  }, abort.signal);
  const answer = post(source, writeBody([power, 1, 1], [power, 2, 2]));
  await expect.poll(() => frames).toBe(2);
  await source.commit();
  expect(await settled(answer)).toBeUndefined();
  letGo();
  await expect.poll(() => source.commit().then(() => settled(answer))).toBe(204);
  abort.abort();
  await done;
});

test("beyond its bound a sender is asked to retry, and there is room after a commit", async () => {
  const source = await open("remote-write+http://127.0.0.1:0?max-held=1024");
  const { seen, stop } = run(source);
  const many = Array.from({ length: 4 }, (_, at) => [power, at, at] as const);
  const first = post(source, writeBody(...many));
  await expect.poll(() => seen.length).toBe(4);
  const second = await post(source, writeBody(...many));
  expect([second.status, second.headers.get("retry-after")]).toEqual([503, "2"]);
  await source.commit();
  expect((await first).status).toBe(204);
  const third = post(source, writeBody(...many));
  await expect.poll(() => seen.length).toBe(8);
  await source.commit();
  expect((await third).status).toBe(204);
  await stop();
});

test("what is not kept when it ends is asked to retry", async () => {
  const source = await open("remote-write+http://127.0.0.1:0");
  const { seen, stop } = run(source);
  const answer = post(source, writeBody([power, 1, 1]));
  await expect.poll(() => seen.length).toBe(1);
  await stop();
  await source.close();
  expect((await answer).status).toBe(503);
});

test("the end of a series is an end, and what is no number is a failed reading", async () => {
  const source = await open("remote-write+http://127.0.0.1:0");
  const { seen, stop } = run(source);
  const answer = post(source, writeBody([power, 1, Number.NaN]));
  await expect.poll(() => seen.length).toBe(1);
  await source.commit();
  await answer;
  expect(seen[0]?.frame.presence[0]).toBe(presence.failed);
  await stop();
});

test.each([
  [400, "rubbish", {}, "/api/v1/write"],
  [415, "x", { "content-type": "application/json" }, "/api/v1/write"],
  [415, "x", { "content-type": "application/x-protobuf;proto=other" }, "/api/v1/write"],
  [404, "x", {}, "/elsewhere"],
  [413, "x".repeat(2_000), {}, "/api/v1/write"],
  [204, writeBody(), {}, "/api/v1/write"],
])("it answers %d", async (status, body, headers: Record<string, string>, path) => {
  const source = await open("remote-write+http://127.0.0.1:0?max-body=1024");
  const type = { "content-type": "application/x-protobuf" };
  expect((await post(source, body, { ...type, ...headers }, path)).status).toBe(status);
});

test("with a token nobody without it is heard", async () => {
  process.env["GPULSE_TEST_WRITE"] = "open-sesame";
  const source = await open("remote-write+http://127.0.0.1:0?token=${GPULSE_TEST_WRITE}");
  expect((await post(source, writeBody())).status).toBe(401);
  expect((await post(source, writeBody(), { authorization: "Bearer other" })).status).toBe(401);
  const right = { authorization: "Bearer open-sesame" };
  expect((await post(source, writeBody(), right)).status).toBe(204);
  delete process.env["GPULSE_TEST_WRITE"];
});

const gauge = {
  resourceMetrics: [
    {
      resource: { attributes: [{ key: "service.name", value: { stringValue: "train" } }] },
      scopeMetrics: [
        {
          metrics: [
            {
              name: "loss",
              gauge: { dataPoints: [{ timeUnixNano: "1790000000000000000", asDouble: 0.5 }] },
            },
          ],
        },
      ],
    },
  ],
};

test("OTLP comes as JSON too, packed or not, and is answered in its own way", async () => {
  const source = await open("otlp+http://127.0.0.1:0");
  const { seen, stop } = run(source);
  const type = { "content-type": "application/json" };
  const text = JSON.stringify(gauge);
  for (const [body, headers] of [
    [text, type],
    [gzipSync(text), { ...type, "content-encoding": "gzip" }],
  ] as const) {
    const before = seen.length;
    const answer = post(source, body, headers, "/v1/metrics");
    await expect.poll(() => seen.length).toBeGreaterThan(before);
    await source.commit();
    expect([(await answer).status, await (await answer).json()]).toEqual([200, {}]);
  }
  const loss = seen
    .flatMap(({ frame }) => frame.layout.series.map((series, slot) => [series, frame.values[slot]]))
    .find(([series]) => typeof series === "object" && series.metric.name === "loss");
  expect(loss?.[1]).toBe(0.5);
  const bad = await post(source, "{", type, "/v1/metrics");
  expect([bad.status, await bad.json()]).toMatchObject([400, { code: 3 }]);
  await stop();
});

test.each([
  ["remote-write+http:9201", "is not a listen address"],
  ["otlp+http://127.0.0.1:4318/v1/metrics", "is not a listen address"],
  ["otlp+http://0.0.0.0:4318", "would accept data from anyone"],
])("%s is refused with a sentence", async (url, words) => {
  await expect(openSources([url], context)).rejects.toThrow(words);
});

test("a port that is taken is reported at once", async () => {
  const { port } = await open("otlp+http://127.0.0.1:0");
  await expect(openSources([`otlp+http://127.0.0.1:${port}`], context)).rejects.toMatchObject({
    code: "PORT_IN_USE",
  });
});
