import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog } from "../../base/log.ts";
import { FakeClock } from "../../../test/fixtures/fake-clock.ts";
import { openAlertState } from "../state.ts";
import { parseRouting } from "./config.ts";
import { type Integration, type Notification, NotifyError } from "./notification.ts";
import { Router } from "./router.ts";

const routing = `
global: { resolve_timeout: 5m }
route:
  receiver: all
  group_by: [alertname]
  group_wait: 30s
  group_interval: 5m
  repeat_interval: 4h
  routes:
    - { receiver: nobody, matchers: ['severity="info"'], mute_time_intervals: [always] }
receivers: [{ name: all }, { name: nobody }]
inhibit_rules:
  - { source_matchers: ['alertname="HostDown"'], target_matchers: ['alertname!="HostDown"'], equal: [host] }
time_intervals:
  - { name: always, time_intervals: [{ weekdays: ['sunday:saturday'] }] }
`;

let dir: string;
let clock: FakeClock;
let sent: Notification[];
let answer: () => void;
let sendResolved: boolean;

beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), "gpulse-route-"));
  clock = new FakeClock(1_700_000_000_000);
  sent = [];
  answer = () => {};
  sendResolved = true;
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

async function open(): Promise<{ router: Router; close: () => Promise<void> }> {
  const state = openAlertState(dir, silentLog);
  const integration = (receiver: string): Integration => ({
    receiver,
    channel: "test",
    index: 0,
    sendResolved,
    send: async (notification) => {
      answer();
      sent.push(notification);
    },
  });
  const router = new Router({
    ...state,
    config: await parseRouting(routing, "alertmanager.yml"),
    integrations: (receiver) => [integration(receiver)],
    externalUrl: "http://hub",
    clock,
    random: () => 0.5,
    log: silentLog,
  });
  return {
    router,
    close: async () => {
      await router.close();
      state.close();
    },
  };
}

const alert = (labels: Record<string, string>, endsAtMs?: number) => ({
  labels: new Map(Object.entries(labels)),
  annotations: {},
  startsAtMs: clock.nowMs(),
  endsAtMs,
  generatorUrl: "",
});
const hot = (gpu: string) => ({ alertname: "Hot", host: "a", gpu });
const byText = (left: string, right: string): number => (left < right ? -1 : 1);
const reported = (): string[] =>
  sent.map(
    ({ status, alerts }) =>
      `${status} ${alerts
        .map((a) => a.labels["gpu"] ?? a.labels["alertname"] ?? "")
        .sort(byText)
        .join("+")}`,
  );

test("alerts of one group are reported together after group_wait, once, and again when they end", async () => {
  const { router, close } = await open();
  router.put([alert(hot("0"), clock.nowMs() + 900_000)]);
  await clock.advance(10_000);
  router.put([alert(hot("1"), clock.nowMs() + 900_000)]);
  await clock.advance(19_000);
  expect(reported()).toEqual([]);
  await clock.advance(2_000);
  expect(reported()).toEqual(["firing 0+1"]);
  await clock.advance(300_000);
  expect(reported()).toEqual(["firing 0+1"]);
  router.put([alert(hot("0"), clock.nowMs() - 1), alert(hot("1"), clock.nowMs() - 1)]);
  await clock.advance(300_000);
  expect(reported()).toEqual(["firing 0+1", "resolved 0+1"]);
  await close();
});

test("what fires for long is reported again after repeat_interval, with another key", async () => {
  const { router, close } = await open();
  for (let minute = 0; minute < 250; minute++) {
    router.put([alert(hot("0"), clock.nowMs() + 300_000)]);
    await clock.advance(60_000);
  }
  expect(reported()).toEqual(["firing 0", "firing 0"]);
  expect(new Set(sent.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(2);
  await close();
});

test("a host that is down silences its GPUs, and a silence what it matches; both are in the history with their reason", async () => {
  const { router, close } = await open();
  const long = clock.nowMs() + 3_600_000;
  router.put([alert({ alertname: "HostDown", host: "a" }, long), alert(hot("0"), long)]);
  const id = router.silences.set(
    {
      matchers: [{ name: "alertname", op: "=", value: "Slow" }],
      startsAtMs: clock.nowMs(),
      endsAtMs: long,
      createdBy: "me",
      comment: "",
    },
    clock.nowMs(),
  );
  router.put([
    alert({ alertname: "Slow", host: "b" }, long),
    alert({ alertname: "Idle", severity: "info" }, long),
  ]);
  await clock.advance(31_000);
  expect(reported()).toEqual(["firing HostDown"]);
  const quiet = router.deliveries.list(10).filter(({ outcome }) => outcome === "suppressed");
  expect(quiet.map(({ why }) => why?.replace(/[0-9a-f]{16}$/, "FP") ?? "").sort(byText)).toEqual([
    "inhibited by alert FP",
    `silence ${id}`,
    "time interval always",
  ]);
  await close();
});

test("a channel that is down is tried again until it takes it, with the same key, and then once", async () => {
  const { router, close } = await open();
  const keys: string[] = [];
  let down = 3;
  answer = () => {
    if (down-- > 0) throw new NotifyError("the server is away", { retryable: true });
  };
  router.put([alert(hot("0"), clock.nowMs() + 3_600_000)]);
  await clock.advance(31_000);
  expect(sent).toHaveLength(0);
  await clock.advance(10_000);
  keys.push(...sent.map(({ idempotencyKey }) => idempotencyKey));
  expect(keys).toHaveLength(1);
  expect(router.deliveries.list(10).map(({ outcome, attempts }) => [outcome, attempts])).toEqual([
    ["sent", 4],
    ["failed", 1],
  ]);
  await close();
});

test("a router that comes back reports the end of what it reported before, and nothing twice", async () => {
  const first = await open();
  first.router.put([
    alert(hot("0"), clock.nowMs() + 900_000),
    alert(hot("1"), clock.nowMs() + 900_000),
  ]);
  await clock.advance(31_000);
  await first.close();
  const second = await open();
  second.router.put([alert(hot("1"), clock.nowMs() + 3_600_000)]);
  await clock.advance(600_000);
  expect(reported()).toEqual(["firing 0+1"]);
  await clock.advance(900_000);
  expect(reported()).toEqual(["firing 0+1", "firing 0+1"]);
  expect(sent[1]?.alerts.map(({ status }) => status)).toEqual(["resolved", "firing"]);
  await second.close();
});

test("a router killed before it could send sends after it is back, with the key it would have had", async () => {
  const first = await open();
  answer = () => {
    throw new NotifyError("away", { retryable: true });
  };
  first.router.put([alert(hot("0"), clock.nowMs() + 900_000)]);
  await clock.advance(31_000);
  const owedKey = first.router.deliveries.list(1)[0]?.idempotencyKey;
  await first.close();
  answer = () => {};
  const second = await open();
  second.router.put([alert(hot("0"), clock.nowMs() + 900_000)]);
  await clock.advance(31_000);
  expect(reported()).toEqual(["firing 0"]);
  expect(sent[0]?.idempotencyKey).toBe(owedKey);
  await second.close();
});

test("a channel that was down gets, when it is back, what is true then, and once", async () => {
  const { router, close } = await open();
  answer = () => {
    throw new NotifyError("away", { retryable: true });
  };
  const long = clock.nowMs() + 7_200_000;
  router.put([alert(hot("0"), long)]);
  await clock.advance(31_000);
  router.put([alert(hot("1"), long)]);
  await clock.advance(3_600_000);
  expect(sent).toEqual([]);
  answer = () => {};
  await clock.advance(301_000);
  expect(reported()).toEqual(["firing 0+1"]);
  await close();
});

test("the end of what was reported reaches a channel that was away for longer than ends are kept for the page", async () => {
  const { router, close } = await open();
  router.put([alert(hot("0"), clock.nowMs() + 3_600_000)]);
  await clock.advance(31_000);
  answer = () => {
    throw new NotifyError("no such user", { retryable: false });
  };
  router.put([alert(hot("0"), clock.nowMs())]);
  await clock.advance(7_200_000);
  expect(reported()).toEqual(["firing 0"]);
  answer = () => {};
  await clock.advance(301_000);
  expect(reported()).toEqual(["firing 0", "resolved 0"]);
  await clock.advance(3_600_000);
  expect(router.alerts).toEqual([]);
  expect(reported()).toHaveLength(2);
  await close();
});

test("an end that was reported but not sent before a restart is sent after it", async () => {
  const first = await open();
  first.router.put([alert(hot("0"), clock.nowMs() + 3_600_000)]);
  await clock.advance(31_000);
  answer = () => {
    throw new NotifyError("away", { retryable: true });
  };
  first.router.put([alert(hot("0"), clock.nowMs())]);
  await clock.advance(1_000);
  await first.close();
  await clock.advance(60_000);
  answer = () => {};
  const second = await open();
  await clock.advance(1_000);
  expect(reported()).toEqual(["firing 0", "resolved 0"]);
  await second.close();
});

test("what fires on over a restart is not reported as ended because its old end has passed", async () => {
  const first = await open();
  first.router.put([alert(hot("0"), clock.nowMs() + 240_000)]);
  await clock.advance(31_000);
  await first.close();
  await clock.advance(3_600_000);
  const second = await open();
  await clock.advance(60_000);
  second.router.put([alert(hot("0"), clock.nowMs() + 240_000)]);
  await clock.advance(200_000);
  expect(reported()).toEqual(["firing 0"]);
  await second.close();
});

test("what somebody has yet to find out about after a restart is waited for as long as they say", async () => {
  const first = await open();
  first.router.put([alert(hot("0"), clock.nowMs() + 240_000)]);
  await clock.advance(31_000);
  await first.close();
  await clock.advance(3_600_000);
  const second = await open();
  second.router.hold([
    alert(hot("0"), clock.nowMs() + 1_200_000),
    alert(hot("1"), clock.nowMs() + 1_200_000),
  ]);
  await clock.advance(1_190_000);
  expect(reported()).toEqual(["firing 0"]);
  await clock.advance(320_000);
  expect(reported()).toEqual(["firing 0", "resolved 0"]);
  await second.close();
});

test("an alert heard of but not yet reported before a restart is reported after it", async () => {
  const first = await open();
  first.router.put([alert(hot("0"), clock.nowMs() + 600_000), alert(hot("1"))]);
  await clock.advance(5_000);
  await first.close();
  const second = await open();
  await clock.advance(31_000);
  expect(reported()).toEqual(["firing 0+1"]);
  await second.close();
});

test("another file regroups what fires, notifies nobody twice, and keeps silences", async () => {
  const { router, close } = await open();
  const long = clock.nowMs() + 7_200_000;
  router.put([alert(hot("0"), long), alert(hot("1"), long)]);
  await clock.advance(31_000);
  await router.reconfigure(
    await parseRouting(routing.replace("group_wait: 30s", "group_wait: 10s"), "alertmanager.yml"),
  );
  await clock.advance(600_000);
  expect(reported()).toEqual(["firing 0+1"]);
  await router.reconfigure(
    await parseRouting(
      routing.replace("group_by: [alertname]", "group_by: [gpu]"),
      "alertmanager.yml",
    ),
  );
  await clock.advance(31_000);
  expect(reported().sort(byText)).toEqual(["firing 0", "firing 0+1", "firing 1"]);
  await close();
});

test("a receiver without resolved notifications is notified again when the same alert fires again", async () => {
  sendResolved = false;
  const { router, close } = await open();
  router.put([alert(hot("0"), clock.nowMs() + 3_600_000)]);
  await clock.advance(31_000);
  router.put([alert(hot("0"), clock.nowMs())]);
  await clock.advance(600_000);
  router.put([alert(hot("0"), clock.nowMs() + 3_600_000)]);
  await clock.advance(600_000);
  expect(reported()).toEqual(["firing 0", "firing 0"]);
  expect(new Set(sent.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(2);
  await close();
});

test("the group's key is Alertmanager's", async () => {
  const { router, close } = await open();
  router.put([alert({ alertname: 'a "b"', host: "x" }, clock.nowMs() + 3_600_000)]);
  await clock.advance(31_000);
  expect(sent[0]?.groupKey).toBe('{}:{alertname="a \\"b\\""}');
  await close();
});
