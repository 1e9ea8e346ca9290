import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { objectsOf } from "./event.ts";
import { readSettings } from "./settings.ts";

const put = JSON.parse(
  readFileSync(new URL("./testdata/s3-put.json", import.meta.url), "utf8"),
) as { Records: Record<string, unknown>[] };

test("a notification's key is decoded: a plus is a space, %2B a plus", () => {
  expect(objectsOf(put)).toEqual([
    {
      bucket: "uploads",
      key: "desk+1/GPU-Z Sensor Log.txt",
      bytes: 1_024,
      eTag: "d41d8cd98f00b204e9800998ecf8427e",
    },
  ]);
});

test("EventBridge sends the key unencoded", () => {
  const detail = { bucket: { name: "b" }, object: { key: "a+b c.txt", size: 3, etag: "x" } };
  expect(objectsOf({ source: "aws.s3", "detail-type": "Object Created", detail })).toEqual([
    { bucket: "b", key: "a+b c.txt", bytes: 3, eTag: "x" },
  ]);
  expect(objectsOf({ source: "aws.s3", "detail-type": "Object Deleted", detail })).toEqual([]);
});

test("a removed object and S3's trial event are nothing to do", () => {
  const removed = { ...put.Records[0], eventName: "ObjectRemoved:Delete" };
  expect(objectsOf({ Records: [removed] })).toEqual([]);
  expect(objectsOf({ Service: "Amazon S3", Event: "s3:TestEvent", Bucket: "b" })).toEqual([]);
});

test.each([[{}], [null], ["text"], [{ Records: [{ eventName: "x" }] }]])(
  "%j is no event of S3",
  (event) => expect(() => objectsOf(event)).toThrow(/not from S3/),
);

test.each([
  [{}, "GPULSE_OUTPUT needs s3://"],
  [{ GPULSE_OUTPUT: "lake" }, "GPULSE_OUTPUT needs s3://"],
  [{ GPULSE_OUTPUT: "s3://b/p", GPULSE_TIMEZONE: "Mars" }, "GPULSE_TIMEZONE"],
  [{ GPULSE_OUTPUT: "s3://b/p", GPULSE_MAX_BYTES: "many" }, "GPULSE_MAX_BYTES"],
  [{ GPULSE_OUTPUT: "s3://b/p", GPULSE_VENDOR: "3dfx" }, "GPULSE_VENDOR"],
  [{ GPULSE_OUTPUT: "s3://b/p", GPULSE_STREAM: "{" }, "GPULSE_STREAM takes JSON"],
  [{ GPULSE_OUTPUT: "s3://b/p", GPULSE_STREAM: '{"thresholds":{"x":1}}' }, "GPULSE_STREAM"],
  [{ GPULSE_OUTPUT: "s3://b/p", GPULSE_HUB: "hub" }, "GPULSE_HUB"],
])("%j is reported", (env, words) => {
  expect(() => readSettings(env)).toThrow(words);
  expect(() => readSettings(env)).toThrow(expect.objectContaining({ code: "CONFIG_WRONG_VALUE" }));
});

test("what is not said has its default, and limits are the stream's own", () => {
  const settings = readSettings({
    GPULSE_OUTPUT: "s3://b/p?region=eu-central-1",
    GPULSE_STREAM: '{"thresholds":{"high_power":250}}',
  });
  expect(settings).toMatchObject({ query: "?region=eu-central-1", hub: undefined });
  expect(settings.rules.thresholds).toEqual({ high_power: 250 });
});
