import { expect, test } from "vitest";
import { readProtobufPage } from "../../../test/fixtures/formats/exposition-proto.ts";
import { readHistogram } from "../../model/histogram/notation.ts";
import { writeFamily } from "./write-protobuf.ts";

test("numbers, native histograms and custom buckets are read by protobufjs as the definition says", () => {
  const labels = [["a", "b"]] as const;
  const native = readHistogram(
    "{{schema:1 count:6 sum:2.5 z_bucket:1 z_bucket_w:0.5 offset:-1 buckets:[2 3]}}",
  );
  const custom = readHistogram(
    "{{schema:-53 count:6 sum:9 custom_values:[0.5 1] buckets:[2 3 1]}}",
  );
  const page = Buffer.concat([
    writeFamily("c_total", "counter", [{ labels, timeMs: 5, value: 3 }]),
    writeFamily("n", "histogram", [{ labels, timeMs: 5, value: native }]),
    writeFamily("e", "gaugehistogram", [{ labels: [], timeMs: 5, value: readHistogram("{{}}") }]),
    writeFamily("k", "histogram", [{ labels: [], timeMs: 5, value: custom }]),
  ]);
  expect(readProtobufPage(page)).toMatchObject([
    {
      name: "c_total",
      metric: [{ label: [{ name: "a", value: "b" }], counter: { value: 3 }, timestamp_ms: 5 }],
    },
    {
      name: "n",
      type: 4,
      metric: [
        {
          histogram: {
            sample_count: 6,
            sample_sum: 2.5,
            schema: 1,
            zero_count: 1,
            zero_threshold: 0.5,
            positive_span: [{ offset: -1, length: 2 }],
            positive_delta: [2, 1],
          },
        },
      ],
    },
    { name: "e", type: 5, metric: [{ histogram: { positive_span: [{}] } }] },
    {
      name: "k",
      metric: [
        {
          histogram: {
            sample_count: 6,
            bucket: [
              { cumulative_count: 2, upper_bound: 0.5 },
              { cumulative_count: 5, upper_bound: 1 },
            ],
          },
        },
      ],
    },
  ]);
});
