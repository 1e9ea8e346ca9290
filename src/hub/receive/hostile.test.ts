// Tests malicious senders over real sockets: each is refused within limits and counted, and the next request is served.
import { type OutgoingHttpHeaders, request } from "node:http";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { compress } from "snappyjs";
import { compressSnappy } from "../../formats/snappy/compress.ts";
import {
  nowMs,
  openReceiverFixture,
  type ReceiverFixture,
  v1Headers,
  v2Headers,
  writeV1,
  writeV2,
} from "../../../test/fixtures/hub/receive.ts";
import { receiverNames } from "./receiver-counts.ts";

let receivers: ReceiverFixture;
let url: string;
beforeAll(async () => {
  receivers = await openReceiverFixture();
  url = await receivers.app.listen({ host: "127.0.0.1", port: 0 });
});
beforeEach(() => receiverNames.forEach((way) => receivers.counted(way)));
afterAll(() => receivers.close());

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Writes the parts one after the other; the server closing the connection early is not an error of the test. */
function send(
  path: string,
  headers: OutgoingHttpHeaders,
  parts: readonly Buffer[],
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sending = request(url + path, { method: "POST", headers, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (part: string) => (text += part));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
    });
    sending.on("error", reject);
    for (const part of parts) sending.write(part);
    sending.end();
  });
}

const mebibyte = 2 ** 20;
const zeros = Buffer.alloc(mebibyte);
const bomb = gzipSync(Buffer.alloc(200 * mebibyte));
const manyNames = Object.fromEntries(
  Array.from({ length: 1_000_000 }, (_, index) => [`l${index}`, "x"]),
);
const json = { "content-type": "application/json" };
const gzipped = { "content-encoding": "gzip" };

test("a body that says it is too large is refused before it is read", async () => {
  const headers = { ...v1Headers, "content-length": 2 ** 40 };
  const answer = await new Promise<number>((resolve, reject) => {
    const sending = request(url + "/api/v1/write", { method: "POST", headers, agent: false });
    sending.on("response", (response) => {
      resolve(response.statusCode ?? 0);
      sending.destroy();
    });
    sending.on("error", reject);
    sending.write("x");
  });
  expect(answer).toBe(413);
  expect(receivers.counted("remote_write")).toEqual({ too_large_request: 1 });
});

test("a body without a length is left where it passes the bound", async () => {
  const parts = Array.from({ length: 17 }, () => zeros);
  const answer = await send("/api/v1/write", v1Headers, parts).catch(() => ({ status: 413 }));
  expect(answer.status).toBe(413);
  expect(receivers.counted("remote_write")).toEqual({ too_large_request: 1 });
});

test.each([
  ["/write", {}, "influx"],
  ["/api/v2/write?bucket=b", {}, "influx"],
  ["/push", json, "json"],
  ["/v1/metrics", json, "otlp"],
  ["/v1/metrics", { "content-type": "application/x-protobuf" }, "otlp"],
] as const)("a gzip bomb on %s ends at the bound", async (path, headers, way) => {
  const answer = await send(path, { ...headers, ...gzipped }, [bomb]);
  expect(answer.status, answer.text).toBe(413);
  expect(receivers.counted(way)).toEqual({ too_large_request: 1 });
});

test("snappy that lies about its length is refused before memory is taken", async () => {
  const lie = Buffer.from([0x80, 0x80, 0x80, 0x0f, 0, 0]);
  const answer = await send("/api/v1/write", v1Headers, [lie]);
  expect([answer.status, answer.text]).toEqual([
    400,
    "not a valid write request: it cannot be 31457280 bytes uncompressed\n",
  ]);
  const truth = Buffer.from(compress(Buffer.alloc(40 * mebibyte)));
  receivers.counted("remote_write");
  expect((await send("/api/v1/write", v1Headers, [truth])).status).toBe(413);
  expect(receivers.counted("remote_write")).toEqual({ too_large_request: 1 });
});

test("a million label names, and a label of a megabyte, take only their own series with them", async () => {
  const series = [
    { labels: { __name__: "many", ...manyNames }, samples: [[nowMs, 1]] },
    { labels: { __name__: "long", l: "x".repeat(mebibyte) }, samples: [[nowMs, 1]] },
    { labels: { __name__: "hostile_good" }, samples: [[nowMs, 1]] },
  ] as const;
  const first = await send("/api/v1/write", v1Headers, [writeV1(series)]);
  expect([first.status, first.text]).toEqual([
    400,
    "1 samples stored, 2 rejected: 2 have bad labels (a series has more than 128 labels)\n",
  ]);
  const long = await send("/api/v1/write", v2Headers, [writeV2(series.slice(1))]);
  expect([long.status, long.text]).toEqual([
    400,
    '1 samples stored, 1 rejected: 1 have bad labels (the value of label "l" is longer than 16384 bytes)\n',
  ]);
  expect(await receivers.query("hostile_good")).toEqual(["__name__=hostile_good 1"]);
  expect(receivers.counted("remote_write")).toEqual({ stored: 1, duplicate: 1, bad_labels: 3 });
  const tags = Object.keys(manyNames)
    .slice(0, 200_000)
    .map((name) => `${name}=x`);
  const line = await send("/write", {}, [Buffer.from(`m,${tags.join(",")} f=1\nm f=1`)]);
  expect(line.status).toBe(400);
  const labels = await send("/push", json, [
    Buffer.from(JSON.stringify([{ name: "m", value: 1, labels: { l: "x".repeat(mebibyte) } }])),
  ]);
  expect(labels.status).toBe(400);
  expect([receivers.counted("influx"), receivers.counted("json")]).toEqual([
    { stored: 1, malformed: 1 },
    { bad_labels: 1 },
  ]);
});

/** Empty fields, tag and length alone: the smallest possible encoding. */
const flood = (tag: number, count = 15_000_000): Buffer => {
  const bytes = Buffer.alloc(count * 2);
  for (let at = 0; at < bytes.length; at += 2) bytes[at] = tag;
  return bytes;
};
const wrapped = (tags: readonly number[], inner: Buffer): Buffer =>
  tags.reduceRight((body, tag) => {
    const length: number[] = [];
    for (let rest = body.length; length.at(-1) === undefined || (length.at(-1) ?? 0) > 127;)
      [length[length.length], rest] = [
        rest < 128 ? rest : (rest % 128) + 128,
        Math.floor(rest / 128),
      ];
    return Buffer.concat([Buffer.from([tag, ...length]), body]);
  }, inner);
const packed = (bytes: Buffer): Buffer => compressSnappy(bytes);
const zipped = { "content-type": "application/x-protobuf", ...gzipped };

test.each<[string, string, OutgoingHttpHeaders, () => Buffer, number]>([
  ["empty series", "/api/v1/write", v1Headers, () => packed(flood(0x0a)), 413],
  ["empty samples", "/api/v1/write", v1Headers, () => packed(wrapped([0x0a], flood(0x12))), 413],
  [
    "scattered labels",
    "/api/v1/write",
    v1Headers,
    () => packed(Buffer.from("0a060a0012000a00".repeat(240_000), "hex")),
    400,
  ],
  ["empty metadata", "/api/v1/write", v1Headers, () => packed(flood(0x1a)), 204],
  ["empty series of 2.0", "/api/v1/write", v2Headers, () => packed(flood(0x2a)), 413],
  ["empty symbols", "/api/v1/write", v2Headers, () => packed(flood(0x22)), 413],
  ["empty resources", "/v1/metrics", zipped, () => gzipSync(flood(0x0a)), 413],
  ["empty metrics", "/v1/metrics", zipped, () => gzipSync(wrapped([0x0a, 0x12], flood(0x12))), 413],
  [
    "empty points",
    "/v1/metrics",
    zipped,
    () => gzipSync(wrapped([0x0a, 0x12, 0x12, 0x2a], flood(0x0a))),
    413,
  ],
  [
    "empty attributes",
    "/v1/metrics",
    zipped,
    () => gzipSync(wrapped([0x0a, 0x12, 0x12, 0x2a, 0x0a], flood(0x3a))),
    400,
  ],
  [
    "empty JSON entries",
    "/v1/metrics",
    json,
    () => Buffer.from(`{"resourceMetrics":[${"{},".repeat(5_000_000)}{}]}`),
    413,
  ],
  ["bad lines", "/write", gzipped, () => gzipSync("x\n".repeat(15_000_000)), 400],
  ["short lines", "/write", gzipped, () => gzipSync("m f=1\n".repeat(5_000_000)), 413],
  ["bad entries", "/push", json, () => Buffer.from(`[${"0,".repeat(7_000_000)}0]`), 400],
  ["texts over lines", "/write", {}, () => Buffer.from('m f="\n'.repeat(1_000_000)), 204],
])("a flood of %s ends at a bound", async (_name, path, headers, body, status) => {
  const answer = await send(path, headers, [body()]);
  expect([answer.status, answer.text.length < 1_000]).toEqual([status, true]);
});

test("more series than a request may have are refused as a whole", async () => {
  const lines = Array.from({ length: 250_001 }, (_, index) => `m${index} f=1`).join("\n");
  const answer = await send("/write", {}, [Buffer.from(lines)]);
  expect([answer.status, answer.text]).toEqual([
    413,
    '{"error":"the request has more than 250000 series: send fewer at a time"}',
  ]);
  expect(receivers.counted("influx")).toEqual({ too_large_request: 1 });
});

test.each([
  ["far future", 253_402_300_800_000, { too_new: 1 }],
  ["beyond every clock", 9e18, { too_new: 1 }],
  ["far past", 1_000, { too_old: 1 }],
  ["before the epoch", -1, { too_old: 1 }],
])("a time in the %s is refused and counted", async (_name, timeMs, counted) => {
  const body = writeV1([{ labels: { __name__: "when" }, samples: [[timeMs, 1]] }]);
  expect((await send("/api/v1/write", v1Headers, [body])).status).toBe(400);
  expect(receivers.counted("remote_write")).toEqual(counted);
});

test("a write request that is cut at any byte is refused or kept in part, and the next is served", async () => {
  const whole = writeV1([{ labels: { __name__: "cut", a: "b" }, samples: [[nowMs, 1]] }]);
  for (let length = 0; length < whole.length; length++) {
    const { status } = await send("/api/v1/write", v1Headers, [whole.subarray(0, length)]);
    expect(status).toBe(400);
  }
  expect((await send("/api/v1/write", v1Headers, [whole])).status).toBe(204);
});

test("nothing is held when all of them have gone", async () => {
  const hanging = request(url + "/api/v1/write", {
    method: "POST",
    headers: { ...v1Headers, "content-length": 100 },
  });
  hanging.on("error", () => {});
  hanging.write("x");
  await new Promise((resolve) => setTimeout(resolve, 50));
  hanging.destroy();
  // Would be refused if the reservation of the aborted request were not released.
  const body = writeV1([{ labels: { __name__: "after" }, samples: [[nowMs, 1]] }]);
  for (let count = 0; count < 300; count++) {
    expect((await send("/api/v1/write", v1Headers, [body])).status).toBe(204);
  }
});
