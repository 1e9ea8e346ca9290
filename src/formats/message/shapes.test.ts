import { expect, test } from "vitest";
import { MessageDecoder, type MessageDecodeResult } from "./decode.ts";
import { messageLimits } from "./schema.ts";

const base = {
  version: 1,
  time: "2026-01-01T00:00:00.000Z",
  host: "lab",
  gpu: { uuid: "GPU-a", index: 0, vendor: "nvidia", model: "H200", driver: "1" },
  values: { gpu_power_watts: 1, gpu_utilization_ratio: 0.5 },
  absent: { gpu_fan_rpm_1: "unsupported" },
  other: [
    { name: "gpu_process_memory_bytes", labels: { pid: "7", uuid: "GPU-a" }, value: 1_024 },
    { name: "gpu_process_memory_bytes", labels: { pid: "8", uuid: "GPU-a" }, absent: "denied" },
  ],
  tags: ["high_power"],
};

/** As a decoder gives it that has seen nothing, and so asks the schema. */
const plain = (bytes: Buffer): MessageDecodeResult => new MessageDecoder().decode(bytes);
/** Layouts and devices as they look, not which object they are. */
const shown = (decoded: MessageDecodeResult): unknown =>
  decoded.ok
    ? {
        ...decoded.message,
        frame: { ...decoded.message.frame },
        tags: [...(decoded.message.tags ?? [])],
      }
    : decoded;

const { gpu, values, absent, other } = base;
const changes: readonly (readonly [string, object | string])[] = [
  ["nothing else", {}],
  ["other numbers", { values: { gpu_power_watts: -2.5e300, gpu_utilization_ratio: 0 } }],
  ["another time", { time: "2026-02-03T04:05:06.789+01:00" }],
  ["a time that is none", { time: "2026-19-01T00:00:00Z" }],
  ["a time without a zone", { time: "2026-01-01T00:00:00" }],
  ["another order", { values: { gpu_utilization_ratio: 0.5, gpu_power_watts: 1 } }],
  ["one value less", { values: { gpu_power_watts: 1 } }],
  ["one value more", { values: { ...values, gpu_memory_used_bytes: 5 } }],
  ["no values", { values: {} }],
  ["values that are a list", { values: [1, 2] }],
  ["a value that is text", { values: { ...values, gpu_power_watts: "1" } }],
  ["a value that is null", { values: { ...values, gpu_power_watts: null } }],
  ["a number too large", JSON.stringify(base).replace("0.5", "1e999")],
  ["another name", { values: { gpu_power_watts: 1, gpu_new_things: 0.5 } }],
  ["a name of JavaScript's", JSON.stringify(base).replace("gpu_utilization_ratio", "__proto__")],
  [
    "one of JavaScript's names more",
    JSON.stringify(base).replace('"values":{', '"values":{"__proto__":1,'),
  ],
  ["another reason", { absent: { gpu_fan_rpm_1: "denied" } }],
  ["a reason that is none", { absent: { gpu_fan_rpm_1: "bored" } }],
  ["present as a reason", { absent: { gpu_fan_rpm_1: "present" } }],
  ["nothing absent", { absent: undefined }],
  ["an absent value that is there too", { absent: { ...absent, gpu_power_watts: "denied" } }],
  ["another machine", { host: "far" }],
  ["no machine", { host: "" }],
  ["another driver", { gpu: { ...gpu, driver: "2" } }],
  ["no driver", { gpu: { ...gpu, driver: undefined } }],
  ["a driver that is none", { gpu: { ...gpu, driver: null } }],
  ["another number of the GPU", { gpu: { ...gpu, index: 1 } }],
  ["a number that is none", { gpu: { ...gpu, index: -1 } }],
  ["a field of a later sender", { gpu: { ...gpu, colour: "red" } }],
  ["no maker", { gpu: { uuid: "GPU-a", index: 0 } }],
  ["no GPU", { gpu: undefined }],
  ["null for a GPU", { gpu: null }],
  ["others without values", { other: other.map(({ name, labels }) => ({ name, labels })) }],
  [
    "others with other labels",
    { other: [{ ...other[0], labels: { pid: "9", uuid: "GPU-a" } }, other[1]] },
  ],
  [
    "a label that is no text",
    { other: [{ ...other[0], labels: { pid: 7, uuid: "GPU-a" } }, other[1]] },
  ],
  ["a label more", { other: [{ ...other[0], labels: { ...other[0]?.labels, a: "b" } }, other[1]] }],
  ["a bad reason beside a value", { other: [{ ...other[0], absent: "bored" }, other[1]] }],
  ["a good reason beside a value", { other: [{ ...other[0], absent: "denied" }, other[1]] }],
  ["the same twice", { other: [other[0], other[0]] }],
  ["no others", { other: undefined }],
  ["others that are none", { other: {} }],
  ["no tags", { tags: undefined }],
  ["empty tags", { tags: [] }],
  ["an empty tag", { tags: [""] }],
  ["a tag that is no text", { tags: [1] }],
  ["a tag too long", { tags: ["a".repeat(messageLimits.textLength + 1)] }],
  ["too many tags", { tags: Array.from({ length: messageLimits.tags + 1 }, () => "a") }],
  ["a later version", { version: 2 }],
];

test.each(changes)(
  "%s comes out the same from a decoder that has seen such messages",
  (_, change) => {
    const bytes = Buffer.from(
      typeof change === "string" ? change : JSON.stringify({ ...base, ...change }),
    );
    const warm = new MessageDecoder();
    expect(warm.decode(Buffer.from(JSON.stringify(base))).ok).toBe(true);
    const want = shown(plain(bytes));
    // The second time it is known itself.
    for (let time = 0; time < 2; time++) expect(shown(warm.decode(bytes))).toEqual(want);
  },
);

test("of one GPU several shapes are known at a time", () => {
  const warm = new MessageDecoder();
  const slow = JSON.stringify({ ...base, values: { gpu_memory_used_bytes: 1 } });
  const layouts = [JSON.stringify(base), slow, JSON.stringify(base), slow].map((text) => {
    const decoded = warm.decode(Buffer.from(text));
    return decoded.ok ? decoded.message.frame.layout : undefined;
  });
  expect(layouts[2]).toBe(layouts[0]);
  expect(layouts[3]).toBe(layouts[1]);
  expect(layouts[1]).not.toBe(layouts[0]);
});
