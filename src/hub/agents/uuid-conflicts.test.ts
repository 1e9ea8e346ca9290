import { expect, test } from "vitest";
import { SelfFrames } from "../../model/self-frames.ts";
import type { NewEvent } from "../events/event.ts";
import { createLog } from "../../base/log.ts";
import type { Device } from "../../model/device.ts";
import { LayoutBuilder } from "../../model/layout.ts";
import { FrameWriter } from "../../model/frame.ts";
import type { Delivery } from "../../pipeline/sink.ts";
import { UuidConflicts, findConflicts } from "./uuid-conflicts.ts";

const card = (uuid = "amd-0000:03:00.0"): Device => ({
  uuid,
  index: 0,
  vendor: "amd",
  model: "AMD Radeon RX 7800 XT",
  simulated: false,
});

const from = (source: string, host?: string, uuid?: string): Delivery => ({
  frame: new FrameWriter(new LayoutBuilder().build(), 0).finish(),
  source,
  tier: "fast",
  freshForMs: 5_000,
  devices: [card(uuid)],
  ...(host === undefined ? {} : { host }),
});

const uuid = "amd-0000:03:00.0";

test.each<[name: string, deliveries: readonly Delivery[], hosts: readonly string[] | undefined]>([
  ["two hosts", [from("agent:b:9400/amd", "b"), from("agent:a:9400/amd", "a")], ["a", "b"]],
  ["this host and an agent's", [from("amd"), from("agent:a:9400/amd", "a")], ["a", "hub"]],
  ["two agents of one host", [from("agent:a:9400/sim", "a"), from("agent:a:1/sim", "a")], ["a"]],
  [
    "one agent in two tiers",
    [from("agent:a:9400/amd", "a"), from("agent:a:9400/amd", "a")],
    undefined,
  ],
  [
    "two sources of one agent",
    [from("agent:a:9400/amd", "a"), from("agent:a:9400/csv", "a")],
    undefined,
  ],
  ["other uuids", [from("agent:a:9400/amd", "a"), from("agent:b:9400/amd", "b", "x")], undefined],
])("a conflict is looked for between %s", (_, deliveries, hosts) => {
  expect(findConflicts(deliveries, "hub")).toEqual(hosts === undefined ? [] : [{ uuid, hosts }]);
});

test("a conflict is logged and put onto the timeline once, counted while it lasts, and then over", () => {
  const lines: string[] = [];
  const events: NewEvent[] = [];
  let fresh = [from("agent:a:9400/amd", "a"), from("agent:b:9400/amd", "b")];
  const conflicts = new UuidConflicts({
    latest: { at: () => fresh },
    hostName: "hub",
    events: { add: (event) => (events.push(event), { id: "1", ...event }) },
    log: createLog({
      level: "warn",
      json: false,
      colour: false,
      nowMs: () => 0,
      write: (line) => lines.push(line),
    }),
    nowMs: () => 0,
    manual: true,
  });
  conflicts.check();
  conflicts.check();
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain("a, b");
  expect(events).toMatchObject([{ kind: "device", state: "conflict", labels: { uuid } }]);
  expect(conflicts.problems()).toHaveLength(1);
  expect(conflicts.problems()[0]).toContain("the hosts a, b report one uuid");
  expect(new SelfFrames().at(0, [conflicts.selfMetrics]).values[0]).toBe(1);
  fresh = fresh.slice(1);
  conflicts.check();
  expect(conflicts.problems()).toEqual([]);
  expect(new SelfFrames().at(0, [conflicts.selfMetrics]).values[0]).toBe(0);
});

test("a fleet of clones is reported in few lines", () => {
  const many = Array.from({ length: 300 }, (_, at) => `amd-${at}`);
  const lines: string[] = [];
  const conflicts = new UuidConflicts({
    latest: {
      at: () =>
        many.flatMap((one) => [from("agent:a/amd", "a", one), from("agent:b/amd", "b", one)]),
    },
    hostName: "hub",
    events: { add: () => undefined },
    log: createLog({
      level: "warn",
      json: false,
      colour: false,
      nowMs: () => 0,
      write: (line) => lines.push(line),
    }),
    nowMs: () => 0,
    manual: true,
  });
  conflicts.check();
  expect(lines).toHaveLength(100);
  expect(conflicts.problems()).toHaveLength(6);
  expect(new SelfFrames().at(0, [conflicts.selfMetrics]).values[0]).toBe(300);
});
