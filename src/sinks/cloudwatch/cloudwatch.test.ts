import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import { gpu } from "../../model/catalogue/index.ts";
import { FrameWriter } from "../../model/frame.ts";
import { labelSet } from "../../model/labels.ts";
import { LayoutBuilder } from "../../model/layout.ts";
import { signedHeaders } from "../../net/http/sigv4.ts";
import type { Delivery } from "../../pipeline/sink.ts";
import { type Receiver, sinkContextIn, startReceiver } from "../../../test/fixtures/sinks/sinks.ts";
import { openCloudWatchSink } from "./open.ts";
import type { CloudWatchSink } from "./sink.ts";

let receiver: Receiver;
beforeEach(async () => {
  receiver = await startReceiver();
  receiver.answer = () => ({ status: 200 });
});
afterEach(() => receiver.close());

const env = {
  AWS_ACCESS_KEY_ID: "AKIDEXAMPLE",
  AWS_SECRET_ACCESS_KEY: "secret",
  AWS_REGION: "eu-west-1",
};
const startMs = Date.UTC(2026, 0, 1, 0, 0, 30);

const open = (
  given: Partial<Parameters<typeof openCloudWatchSink>[0]> = {},
): Promise<CloudWatchSink> =>
  openCloudWatchSink(
    {
      namespace: "lab",
      metrics: "gpu_power_watts,gpu_memory_used_bytes",
      period: 60_000,
      timeout: 5_000,
      endpoint: `http://${receiver.url}`,
      ...given,
    },
    sinkContextIn("unused"),
    env,
  );

const layoutOf = (uuids: readonly string[]) => {
  const builder = new LayoutBuilder();
  for (const uuid of uuids) {
    builder.add(gpu.power, labelSet({ uuid, gpu: "0", host: "désk" }));
    builder.add(gpu.memoryUsed, labelSet({ uuid, gpu: "0", host: "désk" }));
  }
  return builder.build();
};
const one = layoutOf(["GPU-1"]);

function delivery(timeMs: number, watts: number | undefined, layout = one): Delivery {
  const writer = new FrameWriter(layout, timeMs);
  layout.series.forEach(({ metric }, slot) => {
    if (metric !== gpu.power || watts === undefined) writer.absent(slot, "asleep");
    else writer.set(slot, watts);
  });
  return { frame: writer.finish(), source: "t", tier: "fast", freshForMs: 1, devices: [] };
}

const forms = (): URLSearchParams[] =>
  receiver.requests.map(({ body }) => new URLSearchParams(gunzipSync(body).toString()));
const stored = (sink: CloudWatchSink): Promise<void> => sink.flush(new AbortController().signal);

test("readings of a period are one set; an absent reading is none, and a second period is another", async () => {
  const sink = await open();
  for (const [afterS, watts] of [
    [0, 100],
    [10, 300],
    [20, 200],
    [25, undefined],
    [40, 50],
  ] as const)
    await sink.write(delivery(startMs + afterS * 1_000, watts));
  await stored(sink);
  await sink.close();
  const [form] = forms();
  expect(Object.fromEntries(form ?? [])).toEqual({
    Action: "PutMetricData",
    Version: "2010-08-01",
    Namespace: "lab",
    "MetricData.member.1.MetricName": "gpu_power_watts",
    "MetricData.member.1.Timestamp": "2026-01-01T00:00:00.000Z",
    "MetricData.member.1.Unit": "None",
    "MetricData.member.1.StorageResolution": "60",
    "MetricData.member.1.StatisticValues.SampleCount": "3",
    "MetricData.member.1.StatisticValues.Sum": "600",
    "MetricData.member.1.StatisticValues.Minimum": "100",
    "MetricData.member.1.StatisticValues.Maximum": "300",
    "MetricData.member.1.Dimensions.member.1.Name": "gpu",
    "MetricData.member.1.Dimensions.member.1.Value": "0",
    "MetricData.member.1.Dimensions.member.2.Name": "host",
    "MetricData.member.1.Dimensions.member.2.Value": "d?sk",
    "MetricData.member.1.Dimensions.member.3.Name": "uuid",
    "MetricData.member.1.Dimensions.member.3.Value": "GPU-1",
    "MetricData.member.2.MetricName": "gpu_power_watts",
    "MetricData.member.2.Timestamp": "2026-01-01T00:01:00.000Z",
    "MetricData.member.2.Unit": "None",
    "MetricData.member.2.StorageResolution": "60",
    "MetricData.member.2.StatisticValues.SampleCount": "1",
    "MetricData.member.2.StatisticValues.Sum": "50",
    "MetricData.member.2.StatisticValues.Minimum": "50",
    "MetricData.member.2.StatisticValues.Maximum": "50",
    "MetricData.member.2.Dimensions.member.1.Name": "gpu",
    "MetricData.member.2.Dimensions.member.1.Value": "0",
    "MetricData.member.2.Dimensions.member.2.Name": "host",
    "MetricData.member.2.Dimensions.member.2.Value": "d?sk",
    "MetricData.member.2.Dimensions.member.3.Name": "uuid",
    "MetricData.member.2.Dimensions.member.3.Value": "GPU-1",
  });
});

test("a request is signed over the bytes that are sent", async () => {
  const sink = await open({ period: 10_000 });
  await sink.write(delivery(startMs, 100));
  await stored(sink);
  await sink.close();
  const [request] = receiver.requests;
  const { authorization, "x-amz-date": date = "" } = request?.headers ?? {};
  const at = String(date).replace(/(....)(..)(..T..)(..)(..)Z/, "$1-$2-$3:$4:$5Z");
  const expected = signedHeaders(
    {
      method: "POST",
      url: `http://${receiver.url}/`,
      headers: {
        "content-type": String(request?.headers["content-type"]),
        "content-encoding": "gzip",
        "x-amz-content-sha256": createHash("sha256")
          .update(request?.body ?? "")
          .digest("hex"),
      },
      body: request?.body ?? "",
      region: "eu-west-1",
      service: "monitoring",
      nowMs: Date.parse(at),
    },
    { accessKey: "AKIDEXAMPLE", secretKey: "secret" },
  );
  expect(authorization).toBe(expected["authorization"]);
  expect(forms()[0]?.get("MetricData.member.1.StorageResolution")).toBe("1");
});

test("a request has at most 1,000 metrics and 1 MB, and nothing is lost between two", async () => {
  const sink = await open();
  const uuids = Array.from({ length: 2_500 }, (_, at) => `GPU-${at}-${"x".repeat(400)}`);
  await sink.write(delivery(startMs, 100, layoutOf(uuids)));
  await stored(sink);
  await sink.close();
  const sent = forms().flatMap((form) => {
    const names = [...form].filter(([name]) => name.endsWith(".Dimensions.member.3.Value"));
    expect(names.length).toBeLessThanOrEqual(1_000);
    return names.map(([, value]) => value);
  });
  for (const { body } of receiver.requests)
    expect(gunzipSync(body).length).toBeLessThanOrEqual(1_048_576);
  expect(sent.toSorted()).toEqual(uuids.toSorted());
});

test("throttling is waited for, and a metric that is refused costs no other", async () => {
  const sink = await open();
  let answers = 0;
  receiver.answer = ({ body }) => {
    if (answers++ === 0) return { status: 400, body: "<Error><Code>Throttling</Code></Error>" };
    const isBad = gunzipSync(body).toString().includes("GPU-bad");
    return isBad
      ? { status: 400, body: "<Error><Code>InvalidParameterValue</Code></Error>" }
      : { status: 200 };
  };
  const uuids = ["GPU-0", "GPU-1", "GPU-bad", "GPU-3"];
  await sink.write(delivery(startMs, 100, layoutOf(uuids)));
  await stored(sink);
  expect(sink.shipping().ship).toMatchObject({ retries: 1, refusedSamples: 1, sentSamples: 3 });
  await sink.close();
});

test.each([
  [{ metrics: "gpu_power" }, /"gpu_power", which gpulse does not know/],
  [{ region: "Frankfurt" }, /needs a region/],
  [{ endpoint: "monitoring" }, /endpoint=monitoring is not an address/],
])("%o is refused at the start", async (given, says) => {
  await expect(open(given)).rejects.toThrow(says);
});
