import { PassThrough } from "node:stream";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { CommandIo } from "../command/io.ts";
import { type AlertApiFixture, openAlertApiFixture } from "../../../test/fixtures/hub/alerts.ts";
import { addSilence, expireSilences, listSilences } from "../silence/run.ts";
import { listAlerts, listHistory, testAlert } from "./run.ts";
import { since } from "./show.ts";

let bench: AlertApiFixture;
let url: string;

beforeAll(async () => {
  bench = await openAlertApiFixture(`
route: { receiver: team, group_by: [alertname], group_wait: 0s }
receivers: [{ name: team, webhook_configs: [{ url: 'http://127.0.0.1:1/' }] }]
inhibit_rules: [{ source_matchers: [alertname="Down"], target_matchers: [alertname!="Down"], equal: [host] }]
`);
  const pending = {
    labels: { alertname: "Soon", host: "z" },
    annotations: { summary: "almost" },
    state: "pending",
    activeAt: new Date(Date.now() - 90_000).toISOString(),
    value: "9.5e+01",
  };
  bench.app.get("/api/v1/alerts", async () => ({ status: "success", data: { alerts: [pending] } }));
  url = await bench.app.listen({ port: 0, host: "127.0.0.1" });
});
afterAll(async () => bench.close());

async function run(
  command: (flags: { url: string; json?: boolean }, io: CommandIo) => Promise<number>,
  more: Record<string, unknown> = {},
): Promise<{ code: number; out: string }> {
  const stdout = new PassThrough();
  const io: CommandIo = {
    env: {},
    stdout,
    stderr: new PassThrough(),
    version: "1",
    stopped: () => new Promise(() => undefined),
  };
  const code = await command({ url, ...more }, io);
  return { code, out: String(stdout.read() ?? "") };
}

const startsAtMs = Date.now() - 3_700_000;
const alert = (labels: Record<string, string>, summary = "") => ({
  labels: new Map(Object.entries(labels)),
  annotations: { summary },
  startsAtMs,
  generatorUrl: "",
});

test("alerts are shown by group, with what keeps them quiet, and a script can ask whether one is active", async () => {
  const quiet = await run((flags, io) => listAlerts(["alertname=Nothing"], flags, io), {
    check: true,
  });
  expect(quiet).toEqual({ code: 0, out: "No alert is active.\n" });
  bench.sink.put([
    alert({ alertname: "Down", host: "a" }, "a is down"),
    alert({ alertname: "Hot", host: "a", gpu: "0" }, "GPU 0 is hot"),
    alert({ alertname: "Hot", host: "b", gpu: "1" }, "GPU 1 is hot"),
  ]);
  const { code, out } = await run((flags, io) => listAlerts([], flags, io), { check: true });
  expect(code).toBe(1);
  expect(out.replace(/[0-9a-f]{16}/g, "FP").split("\n")).toEqual([
    'alertname="Down"  → team',
    '  active  host="a"  for 1h1m  a is down',
    "",
    'alertname="Hot"  → team',
    '  inhibited  gpu="0" host="a"  for 1h1m  GPU 0 is hot  by alert FP',
    '  active     gpu="1" host="b"  for 1h1m  GPU 1 is hot',
    "",
    "pending: not yet long enough to fire",
    '  pending  Soon  host="z"  for 1m30s  value 95  almost',
    "",
  ]);
  const { out: json } = await run((flags, io) => listAlerts(['host=~"b|z"'], flags, io), {
    json: true,
  });
  expect(JSON.parse(json)).toMatchObject({
    groups: [{ alerts: [{ labels: { gpu: "1" } }] }],
    pending: [{ labels: { alertname: "Soon" } }],
  });
});

test("a silence is made with a word for the alert's name, listed, and ended by the beginning of its id", async () => {
  const made = await run((flags, io) => addSilence(["Hot", "gpu=~1|2"], flags, io), {
    for: "2h",
    comment: "fan",
    by: "me",
  });
  const id = made.out.trim();
  expect(id).toMatch(/^[0-9a-f-]{36}$/);
  const list = await run((flags, io) => listSilences([], flags, io));
  expect(list.out).toContain(`${id}  active  alertname="Hot" gpu=~"1|2"`);
  expect((await run((flags, io) => listAlerts(["host=b"], flags, io))).out).toContain(
    `by silence ${id}`,
  );
  const ended = await run((flags, io) => expireSilences([id.slice(0, 8)], flags, io));
  expect(ended.out).toBe(`${id} expired.\n`);
  expect((await run((flags, io) => listSilences([], flags, io))).out).toMatch(/^No silences/);
  expect(
    (await run((flags, io) => listSilences(["Hot"], flags, io), { expired: true })).out,
  ).toContain("expired");
  await expect(run((flags, io) => expireSilences([id], flags, io))).rejects.toThrow(
    /No active or pending silence/,
  );
  await expect(run((flags, io) => addSilence(["host="], flags, io))).rejects.toThrow(
    /must not match the empty string/,
  );
  await expect(run((flags, io) => addSilence(["a=b"], flags, io), { for: "soon" })).rejects.toThrow(
    /--for/,
  );
});

test("delivered and failed notifications are shown, and a failed test exits with 1", async () => {
  await expect
    .poll(async () => (await run((flags, io) => listHistory(flags, io))).out, { timeout: 8_000 })
    .toMatch(/failed +team\/webhook +firing +1 +1 +alertname="Down" +.*127\.0\.0\.1/);
  const tested = await run((flags, io) => testAlert("team", flags, io));
  expect(tested.code).toBe(1);
  expect(tested.out).toMatch(/^team\/webhook\[0\] {2}failed {2}\d+ ms/);
  await expect(run((flags, io) => testAlert("nobody", flags, io))).rejects.toThrow(
    /There is no receiver/,
  );
});

test.each([
  [5, "5s"],
  [119, "1m59s"],
  [130, "2m"],
  [3_661, "1h1m"],
  [90_000, "1d1h"],
])("%d seconds are shown as %s", (seconds, text) =>
  expect(since(new Date(0).toISOString(), seconds * 1_000)).toBe(text),
);
