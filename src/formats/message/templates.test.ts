import { expect, test, vi } from "vitest";
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

/** The result of a new decoder, which has no template and must use the schema. */
const plain = (bytes: Buffer): MessageDecodeResult => new MessageDecoder().decode(bytes);
/** Compares layouts and devices by content, not by identity. */
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
    "a label that is not a string",
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
    // The second time, the message has its own template.
    for (let time = 0; time < 2; time++) expect(shown(warm.decode(bytes))).toEqual(want);
  },
);

test("of one GPU several templates are known at a time", () => {
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

const number = (token: string): Buffer =>
  Buffer.from(JSON.stringify(base).replace('"gpu_power_watts":1', `"gpu_power_watts":${token}`));

test.each([
  ..."0 -0 7 -7 0.1 83.2 -1.25 123456789012345 1234567890123456 0.1234567890123456789".split(" "),
  ..."9007199254740993 1e3 1E+3 -2.5e-7 5e-324 1.7976931348623157e308 0.000001 1e-7".split(" "),
  ..."1e999 -1e999 01 -01 1. .5 - + 1e 1e+ 1.e3 0x10 1_0 Infinity NaN null 1,2 1e5.5".split(" "),
  "",
  " 4",
  "4 ",
  '"4"',
  "true",
  "1 2",
  "--1",
])("the number %j is read as JSON and the schema read it", (token) => {
  const warm = new MessageDecoder();
  expect(warm.decode(number("1")).ok).toBe(true);
  expect(shown(warm.decode(number(token)))).toEqual(shown(plain(number(token))));
});

test.each([
  ..."2026-12-31T23:59:59.999Z 2026-02-30T00:00:00.000Z 2026-01-01T24:00:00.000Z".split(" "),
  ..."2026-01-01T00:60:00.000Z 2026-01-01T00:00:00.000z 2026-01-01T00:00:00,000Z".split(" "),
  ..."2026-01-01T0x:00:00.000Z 2026-1-001T00:00:00.000Z 2026-01-01T00:00:00.0000Z".split(" "),
  ..."2026-13-01T00:00:00.000Z 2026-01-01T00:00:00.000Y 1969-12-31T23:59:59.999Z".split(" "),
])("the time %s is read as the schema and Date.parse read it", (time) => {
  const warm = new MessageDecoder();
  expect(warm.decode(Buffer.from(JSON.stringify(base))).ok).toBe(true);
  const bytes = Buffer.from(JSON.stringify({ ...base, time }));
  expect(shown(warm.decode(bytes))).toEqual(shown(plain(bytes)));
});

const timeLast = (): string => {
  const { time, ...rest } = base;
  return JSON.stringify({ ...rest, time });
};

test.each([
  ["as gpulse writes it", JSON.stringify(base)],
  ["with spaces and line breaks", JSON.stringify(base, undefined, 2)],
  ["with the time last", timeLast()],
  ["with an escaped quote", JSON.stringify({ ...base, host: 'a"values":{1' })],
  ["of a machine alone", JSON.stringify({ ...base, gpu: undefined, tags: undefined })],
])("a message %s that only has other numbers is not parsed", (_, text) => {
  const warm = new MessageDecoder();
  expect(warm.decode(Buffer.from(text)).ok).toBe(true);
  const next = Buffer.from(
    text
      .replace(/("gpu_power_watts": ?)1/, "$1-83.25")
      .replace("1024", "2.5e6")
      .replace("00:00.000Z", "01:02.003Z"),
  );
  const want = shown(plain(next));
  const parse = vi.spyOn(JSON, "parse");
  try {
    expect(shown(warm.decode(next))).toEqual(want);
    expect(parse).not.toHaveBeenCalled();
  } finally {
    parse.mockRestore();
  }
});

test("readings that stand in another order than their slots are never taken for each other", () => {
  const warm = new MessageDecoder();
  const { values: own, other: more, ...rest } = base;
  const swapped = (watts: number, bytes: number): Buffer =>
    Buffer.from(
      JSON.stringify({
        ...rest,
        other: [{ ...more[0], value: bytes }],
        values: { ...own, gpu_power_watts: watts },
      }),
    );
  warm.decode(swapped(0.5, 0.5));
  expect(shown(warm.decode(swapped(1, 2)))).toEqual(shown(plain(swapped(1, 2))));
});
