import { expect, test } from "vitest";
import { ReceiveError } from "../failure.ts";
import { BatchTooLargeError } from "../../../formats/samples/labels.ts";
import { Decoders } from "./decoders.ts";
import { countOpenings } from "../../limits/json-size.ts";

const options = { nowMs: 1_790_000_000_000 };
const list = (entry: string, count: number): string =>
  `[${Array.from({ length: count }, () => entry).join(",")}]`;

test.for<[string, number]>([
  ["[]", 1],
  ['{"a":{"b":[1,2]}}', 3],
  ['["{","[","\\"{"]', 1],
  ['"\\\\" [', 1],
])("%s has so many objects and lists", ([text, count]) =>
  expect(countOpenings(Buffer.from(text), 100)).toBe(count),
);

test.for<[string, string]>([
  ["empty objects", list("{}", 600_000)],
  ["empty lists", list("[]", 600_000)],
  ["lists in lists", "[".repeat(600_000) + "]".repeat(600_000)],
  [
    "125 labels stated once for 200,000 metrics",
    JSON.stringify({
      labels: Object.fromEntries(Array.from({ length: 125 }, (_, at) => [`l${at}`, "v"])),
      metrics: Array.from({ length: 200_000 }, () => 0),
    }),
  ],
])("%s are refused before they are made", ([, text]) =>
  expect(() => new Decoders().decode("json", Buffer.from(text), options)).toThrow(
    BatchTooLargeError,
  ),
);

test("labels that many series name by reference are bounded, in lines too", () => {
  const tags = `m,t=${"v".repeat(15_000)} `;
  const line = tags + Array.from({ length: 3_000 }, (_, at) => `f${at}=1`).join(",");
  expect(() =>
    new Decoders().decode("influx", Buffer.from(line), { unitMs: 1e-6, nowMs: options.nowMs }),
  ).toThrow(BatchTooLargeError);
});

test("what is not valid is refused as malformed", () => {
  expect(() => new Decoders().decode("json", Buffer.from("{"), options)).toThrow(ReceiveError);
});
