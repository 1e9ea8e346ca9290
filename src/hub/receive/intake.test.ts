import { afterEach, beforeEach, expect, test } from "vitest";
import { BatchBuilder } from "../../formats/samples/builder.ts";
import type { SampleBatch } from "../../formats/samples/batch.ts";
import { anonymousClient } from "../../base/fair/client-key.ts";
import { silentLog } from "../../base/log.ts";
import { labelSet } from "../../model/labels.ts";
import {
  nowMs,
  openReceiverFixture,
  type ReceiverFixture,
} from "../../../test/fixtures/hub/receive.ts";
import { Intake } from "./intake.ts";
import { sliceLimits } from "./slices.ts";

const client = anonymousClient("10.0.0.1");
let receivers: ReceiverFixture;
let intake: Intake;
beforeEach(async () => {
  receivers = await openReceiverFixture();
  const { history: writer, api } = receivers.storage;
  intake = new Intake({ ...api, writer, log: silentLog, store: api.store });
});
afterEach(() => receivers.close());

function batchOf(name: string, seriesCount: number, bad?: number): SampleBatch {
  const builder = new BatchBuilder();
  for (let index = 0; index < seriesCount; index++) {
    const labels = { ...(index === bad ? {} : { __name__: name }), i: String(index) };
    const series = builder.series(labelSet(labels));
    builder.add(series, nowMs, index);
  }
  return builder.finish();
}

test("a request after a large one is answered before its end", async () => {
  const order: string[] = [];
  await Promise.all([
    intake
      .store("json", batchOf("large", 3 * sliceLimits.series), client)
      .then(() => order.push("large")),
    intake.store("json", batchOf("small", 3), client).then(() => order.push("small")),
  ]);
  expect(order).toEqual(["small", "large"]);
  expect(await receivers.query("count(large)")).toEqual([` ${3 * sliceLimits.series}`]);
});

test("a bad series in a later part is refused alone, and the sum of the parts is reported", async () => {
  const count = 2 * sliceLimits.series;
  const kept = await intake.store("json", batchOf("m", count, sliceLimits.series + 7), client);
  expect(kept.samples).toBe(count - 1);
  expect(kept.refused).toMatchObject({
    bad_labels: 1,
    badProblem: "a series has no metric name",
  });
  expect(receivers.counted("json")).toEqual({ stored: count - 1, bad_labels: 1 });
});
