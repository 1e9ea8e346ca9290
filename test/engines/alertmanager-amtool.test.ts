// Real amtool against the built hub and against a real Alertmanager with the same alertmanager.yml: the same results.

import { afterAll, beforeAll, expect, test } from "vitest";

import { findTool } from "../../engines/tools.ts";
import { waitUntil } from "../../engines/wait.ts";
import {
  type AlertmanagerPair,
  amtoolOn,
  type Side,
  sides,
  startAlertmanagerPair,
} from "./alertmanager-pair.ts";

const found = [findTool("alertmanager"), findTool("amtool")];
const missing = found.flatMap((tool) => ("missing" in tool ? [tool.missing] : []));
const [alertmanager = "", amtool = ""] = found.map((tool) => ("path" in tool ? tool.path : ""));
let pair: AlertmanagerPair;

const config = (webhook: string): string => `
global: { resolve_timeout: 1h, smtp_smarthost: 'localhost:25', smtp_from: me@example.org, smtp_auth_password: hunter2 }
route:
  receiver: all
  group_by: [alertname]
  group_wait: 1s
  group_interval: 1s
  repeat_interval: 1h
  routes:
    - receiver: info
      matchers: ['severity=~"info|none"', 'team!="a"']
      continue: true
    - receiver: mail
      match: { severity: info }
      routes: [{ matchers: [host="a"], receiver: all, continue: false }]
receivers:
  - name: all
    webhook_configs: [{ url: '${webhook}', max_alerts: 0 }]
  - name: info
  - name: mail
    email_configs: [{ to: me@example.org, require_tls: true }]
    slack_configs: [{ api_url: 'https://hooks.example.org/s3cret', channel: '#a' }]
inhibit_rules:
  - { source_matchers: [alertname="HostDown"], target_matchers: ['alertname!="HostDown"'], equal: [host] }
`;

beforeAll(async () => {
  if (missing.length === 0) pair = await startAlertmanagerPair({ alertmanager, config });
});
afterAll(async () => pair?.stop());

const on = (side: Side, args: readonly string[]) => amtoolOn(amtool, pair, side, args);

/** Expects the same result from both; returns the hub's. */
async function same(...args: readonly string[]): Promise<{ code: number | null; out: string }> {
  const [theirs, ours] = [await on("alertmanager", args), await on("hub", args)];
  expect({ args, code: ours.code, out: ours.out }).toEqual({
    args,
    code: theirs.code,
    out: theirs.out,
  });
  return { code: ours.code, out: ours.out };
}

function needs(context: { skip(note: string): never }): void {
  if (missing.length > 0) context.skip(missing.join("; "));
}

test("alerts are added and found by every filter", async (context) => {
  needs(context);
  await same(
    "alert",
    "add",
    "Hot",
    "gpu=0",
    "host=a",
    "severity=warning",
    "--annotation=summary=hot",
  );
  await same("alert", "add", "alertname=HostDown", "host=b", "--generator-url=http://x/y");
  await same("alert", "add", "Hot", "gpu=1", "host=b", "note=with blanks");
  await same("alert", "add", "Idle", "severity=info", "host=c");
  expect((await same("alert", "add", "Old", "--end=2020-01-01T00:00:00Z")).code).toBe(0);
  expect(
    (
      await same(
        "alert",
        "add",
        "Backwards",
        "--start=2030-01-01T00:00:00Z",
        "--end=2029-01-01T00:00:00Z",
      )
    ).code,
  ).toBe(1);
  expect((await same("alert", "query", "--inhibited", "-o", "json")).out).toContain(
    '"inhibitedBy":["',
  );
  const filters = [
    [],
    ["Hot"],
    ["gpu=0"],
    ["alertname=~.*o.*", "host!=a"],
    ["nothing=here"],
    ['note="with blanks"'],
    ["host=~("],
    ["--active"],
    ["--inhibited"],
    ["--silenced"],
    ["--unprocessed"],
    ["--receiver=info"],
    ["--receiver=a.l"],
    ["--receiver=("],
  ];
  for (const filter of filters)
    for (const output of ["simple", "extended", "json"])
      await same("alert", "query", ...filter, "-o", output);
});

test("what both report on a group is the same", async (context) => {
  needs(context);
  const last = (side: Side) =>
    pair.notifications(side).filter(({ groupLabels }) => groupLabels["alertname"] === "HostDown");
  await waitUntil({ what: "both to report on HostDown", timeoutMs: 30_000 }, async () =>
    sides.every((side) => last(side).length > 0) ? true : undefined,
  );
  const shape = (side: Side) => ({
    ...last(side)[0],
    externalURL: "",
    alerts: last(side)[0]?.alerts.map((alert) => ({
      ...alert,
      startsAt: "",
      endsAt: alert.endsAt,
    })),
  });
  expect(shape("hub")).toEqual(shape("alertmanager"));
});

test("silences are made, found, changed and ended", async (context) => {
  needs(context);
  const add = [
    "silence",
    "add",
    "Hot",
    "gpu=~0|7",
    "--comment=fan",
    "--author=me",
    "--duration=1h",
  ];
  const ids = new Map<Side, string>();
  for (const side of sides) {
    const { code, raw } = await on(side, add);
    expect(code).toBe(0);
    ids.set(side, raw.trim());
  }
  await same("silence", "add", "--comment=all but one", "--author=me", "host!=c", "--duration=2m");
  expect((await same("silence", "add", "--comment=everything", "host=")).code).toBe(1);
  expect((await same("silence", "add", "--comment=x", "a=b", "host=~(")).code).toBe(1);
  expect((await same("silence", "add", "--comment=x", "--duration=0s", "host=a")).code).toBe(1);
  const filters = [
    [],
    ["Hot"],
    ["gpu=~0|7"],
    ["gpu=0"],
    ["--expired"],
    ["--created-by=me"],
    ["-q"],
  ];
  for (const filter of filters) await same("silence", "query", ...filter);
  await same("silence", "query", "-o", "json");
  await same("silence", "query", "-o", "extended");
  expect((await same("alert", "query", "--silenced", "-o", "json")).out).toContain('"gpu":"0"');

  const eachId = async (args: (id: string) => readonly string[]): Promise<number | null> => {
    const [theirs, ours] = [
      await on("alertmanager", args(ids.get("alertmanager") ?? "")),
      await on("hub", args(ids.get("hub") ?? "")),
    ];
    expect({ code: ours.code, out: ours.out }).toEqual({ code: theirs.code, out: theirs.out });
    return ours.code;
  };
  expect(await eachId((id) => ["silence", "update", "--duration=3h", "--comment=later", id])).toBe(
    0,
  );
  await same("silence", "query", "Hot", "-o", "json");
  expect(await eachId((id) => ["silence", "expire", id])).toBe(0);
  expect(await eachId((id) => ["silence", "expire", id])).toBe(0);
  await same("silence", "query", "Hot", "-o", "json");
  await same("silence", "query", "--expired", "Hot", "-o", "json");
  expect(await eachId((id) => ["silence", "update", "--duration=3h", id])).toBe(0);
  expect((await same("silence", "query", "Hot", "-o", "json")).out).toContain('"state":"active"');
  expect((await same("silence", "expire", "no-uuid")).code).toBe(1);
  expect((await same("silence", "expire", "00000000-0000-4000-8000-000000000000")).code).toBe(1);
});

test("the routing tree is shown and tested from the running configuration, and no secret is in it", async (context) => {
  needs(context);
  expect((await same("config", "routes", "show")).out).toContain('{severity="info"}');
  for (const labels of [
    [],
    ["severity=info"],
    ["severity=info", "team=a"],
    ["severity=none"],
    ["severity=info", "host=a"],
  ]) {
    await same("config", "routes", "test", ...labels);
    await same("config", "routes", "test", "--tree", ...labels);
  }
  expect(
    (await same("config", "routes", "test", "--verify.receivers=info,mail", "severity=info")).code,
  ).toBe(0);
  expect(
    (await same("config", "routes", "test", "--verify.receivers=all", "severity=info")).code,
  ).toBe(1);
  const shown = await on("hub", ["config", "show"]);
  expect(shown.code).toBe(0);
  expect(shown.raw).toContain("smtp_auth_password: <secret>");
  expect(shown.raw).not.toMatch(/hunter2|s3cret/);
});
