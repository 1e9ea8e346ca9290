import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import {
  nowMs,
  openReceiverFixture,
  type ReceiverFixture,
  v1Headers,
  v2Headers,
  writeV1,
  writeV2,
} from "../../../test/fixtures/hub/receive.ts";

let receivers: ReceiverFixture;
beforeAll(async () => {
  receivers = await openReceiverFixture();
});
beforeEach(() => receivers.counted("remote_write"));
afterAll(() => receivers.close());

const send = (payload: Buffer, headers: Record<string, string>) =>
  receivers.app.inject({ method: "POST", url: "/api/v1/write", payload, headers });

const written = (answer: { headers: Record<string, unknown> }): unknown[] =>
  ["samples", "histograms", "exemplars"].map(
    (kind) => answer.headers[`x-prometheus-remote-write-${kind}-written`],
  );

test("2.0 is kept and says how much; malformed native histograms are refused with the reason, all else beside them kept", async () => {
  const symbols = ["", "Power.", "watts"];
  const answer = await send(
    writeV2(
      [
        {
          labels: { __name__: "v2_power_watts", gpu: "0" },
          samples: [
            [nowMs - 1_000, 1],
            [nowMs, 2],
          ],
          rest: {
            histograms: [
              { count_int: 1, timestamp: nowMs + 1 },
              { schema: 99, timestamp: nowMs + 1 },
              {
                count_int: 3,
                positive_spans: [{ length: 2 }],
                positive_deltas: [1, 1],
                timestamp: nowMs + 1,
              },
            ],
            metadata: { type: 2, help_ref: 1, unit_ref: 2 },
          },
        },
      ],
      symbols,
    ),
    v2Headers,
  );
  expect([answer.statusCode, answer.body]).toEqual([
    400,
    "3 samples stored, 2 rejected: 2 are malformed (native histogram: buckets count 0 observations, the histogram 1)\n",
  ]);
  expect(written(answer)).toEqual(["2", "1", "0"]);
  expect(await receivers.query("v2_power_watts")).toEqual(["__name__=v2_power_watts,gpu=0 2"]);
  expect(receivers.counted("remote_write")).toEqual({
    stored: 3,
    histogram_count_mismatch: 1,
    histogram_schema: 1,
  });
  expect(receivers.storage.api.metadata.list("v2_power_watts", 0)).toEqual({
    v2_power_watts: [{ type: "gauge", help: "Power.", unit: "watts" }],
  });
});

const day = 86_400_000;
const mixed = [
  { labels: { __name__: "mixed", ok: "1" }, samples: [[nowMs, 1]] },
  { labels: { nameless: "x" }, samples: [[nowMs, 2]] },
  { labels: { __name__: "mixed", long: "x".repeat(20_000) }, samples: [[nowMs, 3]] },
  {
    labels: { __name__: "mixed", ok: "2" },
    samples: [
      [nowMs + 9 * 60_000, 4],
      [nowMs + 11 * 60_000, 5],
      [nowMs - 40 * day, 6],
    ],
  },
] as const;

test.each([
  ["1.0", writeV1(mixed), v1Headers, [undefined, undefined, undefined]],
  ["2.0", writeV2(mixed), v2Headers, ["2", "0", "0"]],
])(
  "%s: bad series and impossible times are refused for good, the rest of the request is kept",
  async (version, body, headers, counts) => {
    const answer = await send(body, headers);
    expect(answer.statusCode).toBe(400);
    expect(answer.body).toBe(
      "2 samples stored, 4 rejected: 1 are older than the retention or have no valid time, 1 are more than ten minutes in the future, 2 have bad labels (a series has no metric name)\n",
    );
    expect(written(answer)).toEqual(counts);
    expect(receivers.counted("remote_write")).toEqual({
      ...(version === "1.0" ? { stored: 2 } : { duplicate: 2 }),
      too_old: 1,
      too_new: 1,
      bad_labels: 2,
    });
    expect(await receivers.query("mixed")).toEqual(["__name__=mixed,ok=1 1"]);
  },
);

test("2.0: references that lead nowhere are reported, the other series kept", async () => {
  const answer = await send(
    writeV2([
      { labels: { __name__: "led" }, samples: [[nowMs, 1]] },
      { labels: {}, samples: [[nowMs, 2]], rest: { labels_refs: [1, 77] } },
    ]),
    v2Headers,
  );
  expect([answer.statusCode, answer.body, ...written(answer)]).toEqual([
    400,
    "1 samples stored, 1 rejected: 1 have bad labels (a label points to symbol 77 of 3)\n",
    "1",
    "0",
    "0",
  ]);
});

test.each([
  ["application/x-protobuf", 204],
  ["application/x-protobuf;proto=prometheus.WriteRequest", 204],
  ['application/x-protobuf; proto="prometheus.WriteRequest"', 204],
  ["application/x-protobuf;proto=io.prometheus.write.v3.Request", 415],
  ["application/x-protobuf;proto=constructor", 415],
  ["application/json", 415],
  ["text/plain", 415],
])("content type %s is answered with %d", async (type, status) => {
  const body = writeV1([{ labels: { __name__: "typed" }, samples: [[nowMs, 1]] }]);
  const answer = await send(body, { ...v1Headers, "content-type": type });
  expect(answer.statusCode, answer.body).toBe(status);
  if (status === 415) expect(receivers.counted("remote_write")).toEqual({ unsupported_request: 1 });
});

test("without a content type it is 1.0, and gzip is not supported", async () => {
  const body = writeV1([{ labels: { __name__: "bare" }, samples: [[nowMs, 1]] }]);
  expect((await send(body, {})).statusCode).toBe(204);
  expect((await send(body, { ...v1Headers, "content-encoding": "gzip" })).statusCode).toBe(415);
});

test.each([
  ["nothing", Buffer.alloc(0)],
  ["no snappy", Buffer.from("rubbish")],
  ["a series that is cut", Buffer.from([0x03, 0x08, 0x2a, 0x7f, 0x0a])],
])("2.0: %s is refused, and nothing is said to be written", async (_name, body) => {
  const answer = await send(body, v2Headers);
  expect([answer.statusCode, ...written(answer)]).toEqual([400, "0", "0", "0"]);
  expect(receivers.counted("remote_write")).toEqual({ malformed_request: 1 });
});

test("the metadata of a metric is kept within bounds", async () => {
  const symbols = ["", "h".repeat(1_000_000)];
  const labels = { __name__: "told" };
  await send(
    writeV2([{ labels, samples: [], rest: { metadata: { type: 1, help_ref: 1 } } }], symbols),
    v2Headers,
  );
  expect(receivers.storage.api.metadata.list("told", 0)["told"]?.[0]?.help).toHaveLength(4_096);
});
