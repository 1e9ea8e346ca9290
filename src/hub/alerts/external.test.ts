import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { PostableAlert } from "../../alerting/alert.ts";
import { plainHttpClient } from "../../net/http/auth-config.ts";
import { silentLog } from "../../base/log.ts";
import { systemClock } from "../../base/clock.ts";
import { compileRule } from "../../formats/relabel/rule.ts";
import {
  type AlertmanagerTarget,
  parseAlertmanagerTarget,
  resolveAlertmanagerTargets,
} from "./alertmanager-targets.ts";
import { type ExternalAlertmanagers, openExternalAlertmanagers } from "./external.ts";

interface Posted {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly alerts: readonly { readonly labels: Record<string, string>; readonly endsAt?: string }[];
}

let server: Server;
let posted: Posted[];
let answer: () => number;
let base: string;
let external: ExternalAlertmanagers | undefined;

beforeEach(async () => {
  posted = [];
  answer = () => 200;
  server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const status = answer();
      if (status === 200)
        posted.push({
          path: request.url ?? "",
          headers: request.headers,
          alerts: JSON.parse(Buffer.concat(parts).toString("utf8")) as Posted["alerts"],
        });
      response.writeHead(status).end(status === 200 ? "" : "no");
    });
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  await external?.close();
  server.closeAllConnections();
  server.close();
});

async function open(
  targets: readonly AlertmanagerTarget[],
  capacity = 1_000,
): Promise<ExternalAlertmanagers> {
  external = await openExternalAlertmanagers({
    targets: async () => ({ active: targets, dropped: [], warnings: [] }),
    clock: systemClock,
    random: () => 0,
    log: silentLog,
    version: "1",
    capacity,
  });
  return external;
}

const alert = (labels: Record<string, string>, endsAtMs?: number): PostableAlert => ({
  labels: new Map(Object.entries(labels)),
  annotations: { summary: "s" },
  startsAtMs: 1_700_000_000_000,
  endsAtMs,
  generatorUrl: "http://hub/graph",
});
const names = (): string[][] =>
  posted.map(({ alerts }) => alerts.map(({ labels }) => labels["n"] ?? ""));
const counts = ({ senders }: ExternalAlertmanagers) =>
  senders.map(({ sent, dropped, waiting }) => ({ sent, dropped, waiting }));

test("alerts are posted as Alertmanager takes them, with the user and password of the address", async () => {
  const opened = await open([
    parseAlertmanagerTarget(base.replace("http://", "http://me:pa%20ss@") + "/prefix/"),
  ]);
  opened.put([alert({ n: "1" }, 1_700_000_060_000)]);
  await expect.poll(() => posted.length).toBe(1);
  expect(posted[0]).toMatchObject({
    path: "/prefix/api/v2/alerts",
    headers: {
      authorization: `Basic ${Buffer.from("me:pa ss").toString("base64")}`,
      "content-type": "application/json",
      "user-agent": "gpulse/1",
    },
    alerts: [
      {
        labels: { n: "1" },
        annotations: { summary: "s" },
        startsAt: "2023-11-14T22:13:20.000Z",
        endsAt: "2023-11-14T22:14:20.000Z",
        generatorURL: "http://hub/graph",
      },
    ],
  });
  expect(opened.alertmanagers.active).toEqual([`${base}/prefix/api/v2/alerts`]);
});

test("one that is away gets, when it is back, the newest state of each alert, once", async () => {
  answer = () => 503;
  const opened = await open([parseAlertmanagerTarget(base)]);
  opened.put([alert({ n: "1" }), alert({ n: "2" })]);
  await expect.poll(() => opened.problems()).toHaveLength(1);
  expect(opened.problems()[0]).toContain("status 503: no");
  opened.put([alert({ n: "1" }, 1_700_000_000_500)]);
  answer = () => 200;
  await expect.poll(() => posted.length, { timeout: 8_000 }).toBe(1);
  expect(names()).toEqual([["1", "2"]]);
  expect(posted[0]?.alerts[0]?.endsAt).toBe("2023-11-14T22:13:20.500Z");
  await expect.poll(() => counts(opened)).toEqual([{ sent: 2, dropped: 0, waiting: 0 }]);
  expect(opened.problems()).toEqual([]);
});

test("what is refused for good, and what finds no room, is dropped and counted; requests hold 64 alerts", async () => {
  answer = () => 400;
  const opened = await open([parseAlertmanagerTarget(base)], 100);
  opened.put([alert({ n: "bad" })]);
  await expect.poll(() => counts(opened)).toEqual([{ sent: 0, dropped: 1, waiting: 0 }]);
  answer = () => 200;
  opened.put(Array.from({ length: 150 }, (_, at) => alert({ n: String(at) })));
  await expect.poll(() => counts(opened)).toEqual([{ sent: 100, dropped: 51, waiting: 0 }]);
  expect(names().map(({ length }) => length)).toEqual([64, 36]);
  expect(names()[0]?.[0]).toBe("50");
});

test("each gets what its own rules let through, and one that is away holds up no other", async () => {
  const rule = (input: Parameters<typeof compileRule>[0]) => compileRule(input);
  const here = {
    ...parseAlertmanagerTarget(base),
    alertRelabelRules: [rule({ action: "drop", source_labels: ["n"], regex: "2" })],
  };
  const opened = await open([parseAlertmanagerTarget("http://127.0.0.1:1"), here]);
  opened.put([alert({ n: "1" }), alert({ n: "2" })]);
  await expect.poll(names).toEqual([["1"]]);
  expect(opened.problems()).toHaveLength(1);
});

test("a reload keeps what waits for those that stay", async () => {
  let targets = [parseAlertmanagerTarget("http://127.0.0.1:1"), parseAlertmanagerTarget(base)];
  answer = () => 500;
  external = await openExternalAlertmanagers({
    targets: async () => ({ active: targets, dropped: [], warnings: [] }),
    clock: systemClock,
    random: () => 0,
    log: silentLog,
    version: "1",
  });
  external.put([alert({ n: "1" })]);
  targets = [parseAlertmanagerTarget(base)];
  await external.reload();
  answer = () => 200;
  await expect.poll(names, { timeout: 8_000 }).toEqual([["1"]]);
  expect(external.senders).toHaveLength(1);
});

test("targets of a prometheus.yml are relabelled, and what is not discovered is said", () => {
  const none = { file: [], http: [], dns: [], kubernetes: [] };
  const found = resolveAlertmanagerTargets([
    {
      scheme: "https",
      pathPrefix: "/am",
      timeoutMs: 5_000,
      relabelRules: [
        compileRule({ action: "drop", source_labels: ["__address__"], regex: "b:.*" }),
      ],
      alertRelabelRules: [],
      discovery: {
        ...none,
        static: [{ targets: ["a:9093", "b:9093"], labels: [] }],
        dns: [{ names: ["x"], type: "SRV", port: 0, refreshIntervalMs: 1 }],
      },
      http: plainHttpClient,
    },
  ]);
  expect(found.active.map(({ url, timeoutMs }) => [url, timeoutMs])).toEqual([
    ["https://a:9093/am/api/v2/alerts", 5_000],
  ]);
  expect(found.dropped).toEqual(["https://b:9093/am/api/v2/alerts"]);
  expect(found.warnings).toEqual([expect.stringContaining("not discovered by dns")]);
});

test.each([
  ["http://am:9093", "http://am:9093/api/v2/alerts"],
  ["http://am:9093/", "http://am:9093/api/v2/alerts"],
  ["https://am/prefix", "https://am/prefix/api/v2/alerts"],
  ["http://am:9093/api/v2/alerts", "http://am:9093/api/v2/alerts"],
])("%s is reported at %s", (given, url) => expect(parseAlertmanagerTarget(given).url).toBe(url));
