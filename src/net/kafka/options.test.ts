import { inspect } from "node:util";
import { expect, test } from "vitest";
import * as v from "valibot";
import { clusterOptions, deadLetterTopic, targetOf } from "./options.ts";

const parse = (options: Record<string, unknown>, env: Record<string, string> = {}) =>
  targetOf(v.parse(v.strictObject(clusterOptions), options), env);

test.each([
  ["//a/t", ["a:9092"], "t"],
  ["//a:1,b:2/gpu-metrics", ["a:1", "b:2"], "gpu-metrics"],
  ["//[::1]:9093,10.0.0.1/x.y_z", ["[::1]:9093", "10.0.0.1:9092"], "x.y_z"],
])("%s names brokers and a topic", (address, brokers, topic) => {
  expect(parse({ address })).toMatchObject({ brokers, topic });
});

test.each([
  ["//a", /has no broker and topic/],
  ["a/t", /has no broker and topic/],
  ["//a/b/c", /has no broker and topic/],
  ["//a:99999/t", /invalid broker address/],
  ["//a,,b/t", /invalid broker address/],
  ["//a/t t", /invalid topic name/],
  ["//a/..", /invalid topic name/],
  ["//me:hunter2@a/t", /username= and password=/],
])("%s is refused with how to write it", (address, says) => {
  expect(() => parse({ address })).toThrow(says);
  expect(() => parse({ address })).toThrow(/kafka:\/\/BROKER:9092\/TOPIC/);
  expect(() => parse({ address })).not.toThrow(/hunter2/);
});

test("a password comes from a variable and does not show itself", () => {
  const options = { address: "//a/t", username: "me", password: "${SECRET}" };
  const target = parse(options, { SECRET: "hunter2" });
  expect(target.sasl).toMatchObject({ mechanism: "scram-sha-512", username: "me" });
  expect(target.sasl?.mechanism !== "oauthbearer" && target.sasl?.password.reveal()).toBe(
    "hunter2",
  );
  expect(inspect(target, { depth: 9 }) + JSON.stringify(target)).not.toContain("hunter2");
  expect(() => parse(options)).toThrow(/variable SECRET, which is not set/);
});

test.each([
  [{ username: "me" }, /both username= and password=/],
  [{ sasl: "plain" }, /both username= and password=/],
  [{ sasl: "oauthbearer" }, /needs one of token_file= and token_url=/],
  [{ token_file: "t", token_url: "http://a/" }, /needs one of token_file= and token_url=/],
  [{ sasl: "oauthbearer", token_url: "http://a/" }, /oauth_client_id= and oauth_client_secret=/],
  [{ sasl: "oauthbearer", username: "me", token_file: "t" }, /takes no username=/],
  [
    { token_url: "ftp://a", oauth_client_id: "a", oauth_client_secret: "b" },
    /token_url=ftp:\/\/a, which is not an address/,
  ],
  [{ cert_file: "c.pem" }, /both cert_file= and key_file=/],
  [{ ca_file: "nowhere.pem" }, /nowhere.pem cannot be read/],
])("%j is refused", (options, says) => {
  expect(() => parse({ address: "//a/t", ...options })).toThrow(says);
});

test("dead letters stand beside their topic", () => {
  expect(deadLetterTopic("gpu")).toBe("gpu.dead-letter");
});
