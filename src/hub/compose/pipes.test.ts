/** Tests which addresses a pipe created over HTTP may contact, depending on the hub's listen address. */
import { expect, test } from "vitest";
import { outboundSettings } from "../../cli/command/outbound.ts";
import { checkAddress } from "../../net/http/outbound.ts";
import { pipeRule } from "./pipes.ts";

const ruleOf = (host: string, behindProxy: boolean, ...allowOutbound: string[]) =>
  pipeRule({
    listen: { host, port: 9410 },
    access: { always: false, behindProxy },
    outbound: outboundSettings({ allowOutbound }, undefined),
  });
const may = (rule: ReturnType<typeof ruleOf>, address: string, port: number): boolean =>
  checkAddress(rule, address, port) === undefined;

test("on loopback a pipe reaches what its owner does, and no metadata service", () => {
  const rule = ruleOf("127.0.0.1", false);
  expect(may(rule, "127.0.0.1", 9092)).toBe(true);
  expect(may(rule, "10.0.0.1", 9092)).toBe(true);
  expect(may(rule, "169.254.169.254", 80)).toBe(false);
});

test.each([
  ["0.0.0.0", false],
  ["10.0.0.7", false],
  ["127.0.0.1", true],
] as const)(
  "listening on %s, behind a proxy %s, it reaches the hub and what is public",
  (host, proxied) => {
    const rule = ruleOf(host, proxied);
    expect(may(rule, "127.0.0.1", 9410)).toBe(true);
    expect(may(rule, "::1", 9410)).toBe(true);
    expect(may(rule, "8.8.8.8", 443)).toBe(true);
    expect(may(rule, "127.0.0.1", 9092)).toBe(false);
    expect(may(rule, "10.0.0.1", 9092)).toBe(false);
    expect(may(rule, "169.254.169.254", 80)).toBe(false);
  },
);

test("what the operator allows, a pipe reaches", () => {
  const rule = ruleOf("0.0.0.0", false, "10.0.0.0/8", "192.168.1.5:9092");
  expect(may(rule, "10.1.2.3", 9092)).toBe(true);
  expect(may(rule, "192.168.1.5", 9092)).toBe(true);
  expect(may(rule, "192.168.1.5", 22)).toBe(false);
});
