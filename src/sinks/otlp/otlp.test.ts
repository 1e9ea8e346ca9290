import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import zlib from "node:zlib";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { partialSuccess } from "../../formats/otlp/decode/response.ts";
import { otlpBatch } from "../../formats/otlp/decode/batch.ts";
import { decodeOtlpJson } from "../../formats/otlp/decode/json.ts";
import { decodeOtlp } from "../../formats/otlp/decode/protobuf.ts";
import { batchOf, samplesOf } from "../../../test/fixtures/formats/samples-text.ts";
import { labelSet } from "../../model/labels.ts";
import type { Sink } from "../../pipeline/sink.ts";
import {
  type ReceivedRequest,
  type Receiver,
  sinkContextIn,
  startReceiver,
} from "../../../test/fixtures/sinks/sinks.ts";
import { openSink } from "../open.ts";

let dir: string;
let receiver: Receiver;
let sink: Sink;

beforeEach(async () => {
  dir = mkdtempSync(path.join(os.tmpdir(), "gpulse-otlp-"));
  receiver = await startReceiver();
});
afterEach(async () => {
  await sink.close();
  await receiver.close();
  rmSync(dir, { recursive: true, force: true });
});

const x = labelSet({ __name__: "gpu_energy_joules_total", job: "gpulse", uuid: "A" });
const shipped = async (): Promise<void> =>
  vi.waitFor(() => expect(sink.shipping?.().spool.records).toBe(0), 5_000);

function taken({ headers, body }: ReceivedRequest): string[] {
  const plain = zlib.gunzipSync(body);
  const isJson = headers["content-type"] === "application/json";
  const { batch } = otlpBatch(isJson ? decodeOtlpJson(plain.toString()) : decodeOtlp(plain));
  return samplesOf(batch);
}

test.each(["protobuf", "json"])("what is handed in arrives as %s", async (encoding) => {
  sink = await openSink(
    `otlp+http://${receiver.url}/v1/metrics?encoding=${encoding}&labels=site=b`,
    sinkContextIn(dir),
  );
  sink.samples?.(batchOf([[x, 1_000, 5]]));
  await shipped();
  expect(receiver.requests.flatMap(taken)).toEqual([
    "gpu_energy_joules_total{job=gpulse,site=b,uuid=A}@1000=5",
  ]);
  expect(sink.shipping?.().ship).toMatchObject({ sentSamples: 1, refusedSamples: 0 });
});

test("what a receiver says it rejected is counted, and not sent again", async () => {
  const body = partialSuccess(1, "no room", false).toString("latin1");
  receiver.answer = () => ({ status: 200, body });
  sink = await openSink(`otlp+http://${receiver.url}/v1/metrics`, sinkContextIn(dir));
  sink.samples?.(batchOf([[x, 1_000, 5]]));
  await shipped();
  expect(receiver.requests).toHaveLength(1);
  expect(sink.shipping?.().ship).toMatchObject({ sentSamples: 0, refusedSamples: 1 });
});

test("an outage is waited for", async () => {
  const statuses = [503, 502, 200];
  receiver.answer = () => ({ status: statuses.shift() ?? 200 });
  sink = await openSink(`otlp+http://${receiver.url}/v1/metrics`, sinkContextIn(dir));
  sink.samples?.(batchOf([[x, 1_000, 5]]));
  await shipped();
  expect(receiver.requests).toHaveLength(3);
});
