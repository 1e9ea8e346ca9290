import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { AheadCompressor } from "./ahead.ts";
import { encodeRecords } from "./record-batch.ts";

const [first, second] = [Buffer.from("GPU-0"), Buffer.from("GPU-1")];
const record = (key: Buffer, text: string) => ({
  key,
  value: Buffer.from(text),
  headers: new Map<Buffer, Buffer>(),
});

function compressor(): AheadCompressor {
  const ahead = new AheadCompressor();
  ahead.learn("t", 0, [record(first, "earlier")]);
  ahead.learn("t", 3, [record(second, "earlier")]);
  return ahead;
}

test("messages are compressed by partition, and found for the records of a request and of its repetition", async () => {
  const ahead = compressor();
  const messages = [record(first, "a"), record(second, "b"), record(first, "c")];
  ahead.prepare("t", messages);
  const ofFirst = [messages[0], messages[2]].flatMap((one) => one ?? []);
  for (let time = 0; time < 2; time++) {
    const packed = await ahead.find(ofFirst);
    expect(packed && gunzipSync(packed).equals(encodeRecords(ofFirst))).toBe(true);
  }
  expect(ahead.find(messages.slice(1, 2))).toBeDefined();
});

test.each<[string, (messages: ReturnType<typeof record>[]) => ReturnType<typeof record>[]]>([
  ["fewer records", (messages) => messages.slice(0, 2)],
  ["more records", (messages) => [...messages, record(first, "d")]],
  ["the same text in another buffer", (messages) => [...messages.slice(0, 2), record(first, "c")]],
  ["another order", ([one, two, three]) => [one, three, two].flatMap((found) => found ?? [])],
  ["other keys", (messages) => messages.map((one) => ({ ...one, key: second }))],
  [
    "headers",
    (messages) => messages.map((one) => ({ ...one, headers: new Map([[first, second]]) })),
  ],
  ["none", () => []],
])("%s are not what was prepared", (_, changed) => {
  const ahead = compressor();
  const messages = ["a", "b", "c"].map((text) => record(first, text));
  ahead.prepare("t", messages);
  expect(ahead.find(messages)).toBeDefined();
  expect(ahead.find(changed(messages))).toBeUndefined();
});

test("nothing is prepared for a topic or a key that was never sent", () => {
  const ahead = compressor();
  const unknown = [record(first, "a"), record(Buffer.from("GPU-2"), "b")];
  ahead.prepare("t", unknown);
  expect(ahead.find(unknown)).toBeUndefined();
  ahead.prepare("dead-letters", unknown.slice(0, 1));
  expect(ahead.find(unknown.slice(0, 1))).toBeUndefined();
});
