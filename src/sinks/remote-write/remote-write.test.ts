import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { decodeWriteRequest } from "../../formats/remote-write/decode.ts";
import { decodeWriteRequestV2 } from "../../formats/remote-write/decode-v2.ts";
import type { SampleBatch } from "../../formats/samples/batch.ts";
import { decompressSnappy } from "../../formats/snappy/decompress.ts";
import { gpu } from "../../model/catalogue/index.ts";
import { FrameWriter } from "../../model/frame.ts";
import { labelSet } from "../../model/labels.ts";
import { LayoutBuilder } from "../../model/layout.ts";
import type { Sink } from "../../pipeline/sink.ts";
import {
  type ReceivedRequest,
  type Receiver,
  sinkContextIn,
  startReceiver,
} from "../../../test/fixtures/sinks/sinks.ts";
import { batchOf, samplesOf } from "../../../test/fixtures/formats/samples-text.ts";
import { openSink } from "../open.ts";

let dir: string;
let receiver: Receiver;
const open: Sink[] = [];

beforeEach(async () => {
  dir = mkdtempSync(path.join(os.tmpdir(), "gpulse-rw-"));
  receiver = await startReceiver();
});
afterEach(async () => {
  for (const sink of open.splice(0)) await sink.close();
  await receiver.close();
  rmSync(dir, { recursive: true, force: true });
});

async function sinkTo(query = "", url = receiver.url): Promise<Sink> {
  const sink = await openSink(
    `remote-write+http://${url}/api/v1/write${query}`,
    sinkContextIn(dir),
  );
  open.push(sink);
  return sink;
}

async function close(sink: Sink): Promise<void> {
  open.splice(open.indexOf(sink), 1);
  await sink.close();
}

const decoded = ({ headers, body }: ReceivedRequest): SampleBatch => {
  const bytes = decompressSnappy(body, 1e8);
  return headers["x-prometheus-remote-write-version"] === "2.0.0"
    ? decodeWriteRequestV2(bytes).batch
    : decodeWriteRequest(bytes);
};
const taken = (): string[] => receiver.requests.flatMap((request) => samplesOf(decoded(request)));
const one = (value: number, timeMs = value): SampleBatch =>
  batchOf([[labelSet({ __name__: "x", host: "a" }), timeMs, value]]);
const shipped = async (sink: Sink, records = 0): Promise<void> =>
  vi.waitFor(() => expect(sink.shipping?.().spool.records).toBe(records), 5_000);

test.each(["1", "2"])(
  "version %s: what is handed in arrives, with its headers",
  async (version) => {
    const sink = await sinkTo(`?version=${version}`);
    sink.samples?.(one(1));
    sink.samples?.(one(2));
    await shipped(sink);
    expect(taken()).toEqual(["x{host=a}@1=1", "x{host=a}@2=2"]);
    expect(receiver.requests[0]?.headers).toMatchObject({
      "content-encoding": "snappy",
      "user-agent": "gpulse/1.2.3",
      "content-type":
        version === "1"
          ? "application/x-protobuf"
          : "application/x-protobuf;proto=io.prometheus.write.v2.Request",
    });
  },
);

test("a receiver that does not know 2.0 gets 1.0", async () => {
  receiver.answer = ({ headers }) => ({
    status: headers["x-prometheus-remote-write-version"] === "2.0.0" ? 415 : 204,
  });
  const sink = await sinkTo("?version=2");
  sink.samples?.(one(1));
  await shipped(sink);
  sink.samples?.(one(2));
  await shipped(sink);
  expect(receiver.requests.map((r) => r.headers["x-prometheus-remote-write-version"])).toEqual([
    "2.0.0",
    "0.1.0",
    "0.1.0",
  ]);
});

test("frames carry the machine's identity, their metadata and the ends of series", async () => {
  const builder = new LayoutBuilder();
  builder.add(gpu.power, labelSet({ uuid: "A" }));
  const layout = builder.build();
  const deliver = (sink: Sink, timeMs: number, value: number | undefined): void => {
    const writer = new FrameWriter(layout, timeMs);
    if (value !== undefined) writer.set(0, value);
    const frame = writer.finish();
    void sink.write({ frame, source: "s", tier: "fast", freshForMs: 1, devices: [] });
  };
  const sink = await sinkTo();
  deliver(sink, 1_000, 250);
  deliver(sink, 2_000, undefined);
  deliver(sink, 3_000, 240);
  await close(sink);
  const series = "gpu_power_watts{instance=node-1:9400,job=gpulse,uuid=A}";
  expect(taken().slice(0, 3)).toEqual([
    `${series}@1000=250`,
    `${series}@2000=end`,
    `${series}@3000=240`,
  ]);
  expect(taken()[3], "closing ends what is left").toMatch(/@\d{13}=end$/);
  const [metadata] = receiver.requests.flatMap((request) => decoded(request).metadata);
  expect(metadata).toMatchObject({ family: "gpu_power_watts", type: "gauge", unit: "watts" });
});

test("external labels, relabelling, headers and a user go out as configured", async () => {
  const sink = await openSink(
    {
      "remote-write+http": {
        url: `http://tom:se%40cret@${receiver.url}/w`,
        labels: { site: "berlin", host: "not this" },
        headers: { "X-Scope-OrgID": "team" },
        write_relabel_configs: [
          { action: "drop", source_labels: ["__name__"], regex: "noise.*" },
          { source_labels: ["host"], target_label: "node" },
          { action: "labeldrop", regex: "host" },
        ],
      },
    },
    sinkContextIn(dir),
  );
  open.push(sink);
  sink.samples?.(
    batchOf([
      [labelSet({ __name__: "x", host: "a" }), 1, 1],
      [labelSet({ __name__: "noise_total", host: "a" }), 1, 1],
    ]),
  );
  await shipped(sink);
  expect(taken()).toEqual(["x{node=a,site=berlin}@1=1"]);
  expect(receiver.requests[0]?.headers).toMatchObject({
    "x-scope-orgid": "team",
    authorization: `Basic ${Buffer.from("tom:se@cret").toString("base64")}`,
  });
  expect(sink.name, "no secret in the name").toBe(`remote-write:${receiver.url}/w`);
});

test("an outage loses nothing and keeps the order, and what waits outlives the process", async () => {
  const { url } = receiver;
  const [, port] = url.split(":");
  await receiver.close();
  const first = await sinkTo("", url);
  for (let value = 1; value <= 50; value++) first.samples?.(one(value));
  await close(first);
  const second = await sinkTo("", url);
  for (let value = 51; value <= 60; value++) second.samples?.(one(value));
  receiver = await startReceiver(Number(port));
  await shipped(second);
  expect(taken()).toEqual(
    Array.from({ length: 60 }, (_, index) => `x{host=a}@${index + 1}=${index + 1}`),
  );
});

test("503 and 429 are tried again, 404 and 401 too since a person can fix them", async () => {
  const statuses = [503, 429, 404, 401, 200];
  receiver.answer = () => ({ status: statuses.shift() ?? 200, headers: { "retry-after": "0" } });
  const sink = await sinkTo();
  sink.samples?.(one(1));
  await vi.waitFor(() => expect(sink.shipping?.().spool.records).toBe(0), 15_000);
  expect(receiver.requests).toHaveLength(5);
  expect(sink.shipping?.().ship).toMatchObject({ retries: 4, sentSamples: 1, refusedSamples: 0 });
}, 20_000);

test("a request that is refused is taken apart until only what is bad is lost", async () => {
  let hold = true;
  receiver.answer = (request) =>
    hold
      ? { status: 429 }
      : { status: samplesOf(decoded(request)).some((text) => text.endsWith("=13")) ? 400 : 204 };
  const sink = await sinkTo();
  sink.samples?.(one(1));
  await vi.waitFor(() => expect(receiver.requests.length).toBe(1));
  for (let value = 2; value <= 20; value++) sink.samples?.(one(value));
  hold = false;
  await vi.waitFor(() => expect(sink.shipping?.().spool.records).toBe(0), 15_000);
  const good = receiver.requests
    .slice(1)
    .flatMap((request) => samplesOf(decoded(request)))
    .filter((text) => !text.endsWith("=13"));
  expect(new Set(good).size).toBe(19);
  expect(sink.shipping?.().ship).toMatchObject({ sentSamples: 19, refusedSamples: 1 });
});

test("413 makes requests smaller", async () => {
  receiver.answer = (request) => ({ status: decoded(request).sampleCount > 3 ? 413 : 204 });
  const sink = await sinkTo();
  const batch = batchOf(
    Array.from({ length: 10 }, (_, at) => [labelSet({ __name__: "x", at: `${at}` }), 1, at]),
  );
  sink.samples?.(batch);
  await shipped(sink);
  expect(sink.shipping?.().ship).toMatchObject({ sentSamples: 10, refusedSamples: 0 });
});

test("lanes keep the order of every series, and one that fails does not send the others again", async () => {
  const seen = new Set<string>();
  let fail = true;
  receiver.answer = (request) => {
    const samples = samplesOf(decoded(request));
    if (fail && samples.some((text) => text.startsWith("x{i=3}"))) {
      fail = false;
      return { status: 503 };
    }
    for (const text of samples) {
      expect(seen.has(text), text).toBe(false);
      seen.add(text);
    }
    return { status: 204 };
  };
  const sink = await sinkTo("?shards=4&batch=5");
  for (let timeMs = 1; timeMs <= 10; timeMs++)
    sink.samples?.(
      batchOf(
        Array.from({ length: 12 }, (_, i) => [labelSet({ __name__: "x", i: `${i}` }), timeMs, i]),
      ),
    );
  await shipped(sink);
  expect(seen.size).toBe(120);
  for (let i = 0; i < 12; i++) {
    const times = [...seen]
      .filter((text) => text.startsWith(`x{i=${i}}`))
      .map((t) => /@(\d+)/.exec(t)?.[1]);
    expect(times).toEqual(Array.from({ length: 10 }, (_, at) => `${at + 1}`));
  }
});

test.each([
  ["remote-write+http://", "is not an address"],
  ["remote-write+http:host/x", "is not an address"],
  ["remote-write+http://h/w?vresion=2", 'Did you mean "version"'],
  ["remote-write+http://h/w?version=3", "1 or 2"],
  ["remote-write+ftp://h/w", "There is no sink"],
])("%s is refused: %s", async (url, sentence) => {
  await expect(openSink(url, sinkContextIn(dir))).rejects.toThrow(sentence);
});

test("a mistake in an address with secrets is reported without them", async () => {
  const url = "remote-write+http://tom:hunter2@h/w?bearer_token=hunter3&nmae=x";
  const reported = await openSink(url, sinkContextIn(dir)).catch(String);
  expect(reported).toContain('"nmae"');
  expect(reported).not.toContain("hunter");
});
