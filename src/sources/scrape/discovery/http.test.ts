import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { plainHttpClient } from "../../../net/http/auth-config.ts";
import { type LogFields, silentLog } from "../../../base/log.ts";
import { emitted } from "../../../../test/fixtures/sources/scrape.ts";
import { httpDiscovery } from "./http.ts";

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

interface Answer {
  readonly status?: number;
  readonly type?: string;
  readonly body: string;
}

/** Sends the given responses in order and repeats the last one. */
async function serve(answers: readonly Answer[]) {
  const left = [...answers];
  const seen: Record<string, unknown>[] = [];
  const server = createServer((request, reply) => {
    seen.push(request.headers);
    const { status = 200, type = "application/json", body } = left[0] ?? { body: "" };
    if (left.length > 1) left.shift();
    reply.writeHead(status, { "content-type": type }).end(body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  ends.push(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/sd`, seen };
}

function follow(url: string, log = silentLog) {
  const discovery = httpDiscovery({ url, refreshIntervalMs: 30, http: plainHttpClient }, log, "1");
  ends.unshift(() => discovery.close());
  return emitted(discovery);
}

const list = (address: string): string =>
  JSON.stringify([{ targets: [address], labels: { a: "b" } }]);

test("groups come with the URL as a label, and change when the answer does", async () => {
  const { url, seen } = await serve([{ body: list("a:1") }, { body: list("a:2") }]);
  const groups = follow(url);
  expect(await groups.next()).toEqual([
    { source: `${url}:0`, targets: [{ __address__: "a:1" }], labels: { a: "b", __meta_url: url } },
  ]);
  expect((await groups.next())[0]?.targets).toEqual([{ __address__: "a:2" }]);
  expect(seen[0]).toMatchObject({
    accept: "application/json",
    "x-prometheus-refresh-interval-seconds": "0.03",
  });
});

test.for([
  [{ status: 500, body: "no" }, /status 500/],
  [{ body: list("x:1"), type: "text/html" }, /content type "text\/html"/],
  [{ body: '{"targets":[]}' }, /not a list of target groups/],
  [{ body: "[" }, /JSON/],
] as const)("the answer %j keeps the last targets and says why", async ([bad, why]) => {
  const { url } = await serve([{ body: list("a:1") }, bad, { body: list("a:2") }]);
  const reported: LogFields[] = [];
  const log = { ...silentLog, warn: (_: string, fields = {}) => void reported.push(fields) };
  const groups = follow(url, log);
  expect((await groups.next())[0]?.targets).toEqual([{ __address__: "a:1" }]);
  expect((await groups.next())[0]?.targets).toEqual([{ __address__: "a:2" }]);
  expect(String(reported[0]?.["error"])).toMatch(why);
});
