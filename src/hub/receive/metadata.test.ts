// Tests type, help and unit of a metric from every ingestion path, as listed by /api/v1/metadata.
import { compress } from "snappyjs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { protobufPage, protobufType } from "../../../test/fixtures/formats/exposition-proto.ts";
import { otlpProtobuf } from "../../../test/fixtures/formats/otlp-decode.ts";
import { writeRequestBytes } from "../../../test/fixtures/formats/remote-write-proto.ts";
import {
  nowMs,
  openReceiverFixture,
  type ReceiverFixture,
  v2Headers,
  writeV2,
} from "../../../test/fixtures/hub/receive.ts";
import { scrapeConfig } from "../../../test/fixtures/sources/scrape.ts";
import { labelSet } from "../../model/labels.ts";
import { ScrapeCache } from "../../sources/scrape/loop/scrape-cache.ts";
import { Intake } from "./intake.ts";

let receivers: ReceiverFixture;
beforeAll(async () => {
  receivers = await openReceiverFixture();
});
afterAll(() => receivers.close());

async function post(url: string, payload: Buffer, headers: Record<string, string>): Promise<void> {
  const { statusCode, body } = await receivers.app.inject({
    method: "POST",
    url,
    payload,
    headers,
  });
  expect([Math.floor(statusCode / 100), body]).toEqual([2, expect.any(String)]);
}

const listed = async (metric: string): Promise<unknown> =>
  (await receivers.app.inject(`/api/v1/metadata?metric=${metric}`)).json<{ data: unknown }>().data;

/** Stores a page as the hub stores a scrape. */
async function scrape(page: Buffer | string, contentType: string): Promise<void> {
  const { writer, metadata, received, log, store } = receivers.storage.api;
  const intake = new Intake({
    writer,
    metadata,
    received,
    log,
    nowMs: () => nowMs,
    store,
  });
  const cache = new ScrapeCache(labelSet({ job: "test", instance: "a" }));
  const { error } = cache.takePage(Buffer.from(page), contentType, nowMs, nowMs, scrapeConfig());
  expect(error).toBeUndefined();
  await intake.store("scrape", cache.finish(), { principal: "hub", address: "hub" });
  await intake.decoder.close();
}

test("a scraped page of the text format: type and help, which is all it has", async () => {
  await scrape(
    "# HELP text_seconds_total Text.\n# TYPE text_seconds_total counter\ntext_seconds_total 1\n",
    "text/plain; version=0.0.4",
  );
  expect(await listed("text_seconds_total")).toEqual({
    text_seconds_total: [{ type: "counter", help: "Text.", unit: "" }],
  });
});

test("a scraped OpenMetrics page", async () => {
  await scrape(
    "# HELP om_seconds Open.\n# TYPE om_seconds histogram\n# UNIT om_seconds seconds\n" +
      'om_seconds_bucket{le="+Inf"} 1\nom_seconds_sum 1\nom_seconds_count 1\n# EOF\n',
    "application/openmetrics-text; version=1.0.0",
  );
  expect(await listed("om_seconds")).toEqual({
    om_seconds: [{ type: "histogram", help: "Open.", unit: "seconds" }],
  });
});

test("a scraped protobuf page", async () => {
  const family = {
    name: "proto_bytes",
    help: "Proto.",
    type: 1,
    unit: "bytes",
    metric: [{ gauge: { value: 1 } }],
  };
  await scrape(protobufPage([family]), protobufType);
  expect(await listed("proto_bytes")).toEqual({
    proto_bytes: [{ type: "gauge", help: "Proto.", unit: "bytes" }],
  });
});

test("remote-write 1.0, in which metadata stands beside the samples or alone", async () => {
  const metadata = [{ type: 3, metric_family_name: "rw1_seconds", help: "One.", unit: "seconds" }];
  const payload = Buffer.from(compress(writeRequestBytes({ timeseries: [], metadata })));
  await post("/api/v1/write", payload, { "content-type": "application/x-protobuf" });
  expect(await listed("rw1_seconds")).toEqual({
    rw1_seconds: [{ type: "histogram", help: "One.", unit: "seconds" }],
  });
});

test("remote-write 2.0, in which each series has its own", async () => {
  const series = {
    labels: { __name__: "rw2_watts" },
    samples: [[nowMs, 1]] as const,
    rest: { metadata: { type: 2, help_ref: 1, unit_ref: 2 } },
  };
  await post("/api/v1/write", writeV2([series], ["", "Two.", "watts"]), v2Headers);
  expect(await listed("rw2_watts")).toEqual({
    rw2_watts: [{ type: "gauge", help: "Two.", unit: "watts" }],
  });
});

const otlp = (name: string): object => ({
  resourceMetrics: [
    {
      resource: { attributes: [] },
      scopeMetrics: [
        {
          metrics: [
            {
              name,
              description: "Tel.",
              unit: "s",
              sum: {
                aggregationTemporality: 2,
                isMonotonic: true,
                dataPoints: [{ timeUnixNano: `${nowMs}000000`, asDouble: 1 }],
              },
            },
          ],
        },
      ],
    },
  ],
});

test.each([
  ["protobuf", "application/x-protobuf", (body: object) => otlpProtobuf(body)],
  ["JSON", "application/json", (body: object) => Buffer.from(JSON.stringify(body))],
])("OTLP in %s: the unit is as it was sent", async (encoding, type, encode) => {
  await post("/v1/metrics", encode(otlp(`otlp.${encoding}`)), { "content-type": type });
  expect(await listed(`otlp_${encoding}_seconds_total`)).toEqual({
    [`otlp_${encoding}_seconds_total`]: [{ type: "counter", help: "Tel.", unit: "s" }],
  });
});
