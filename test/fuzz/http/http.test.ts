// A short run of the HTTP fuzzer on the built programs; the long one is npm run fuzz.

import { expect, onTestFinished, test } from "vitest";

import { fuzzServer, complaintOf } from "./run.ts";
import { namedRoutes } from "./seeds.ts";
import { startServers } from "./servers.ts";
import { ensureBuild } from "../../../engines/program.ts";

const made = {
  shown: "GET /",
  bytes: Buffer.alloc(0),
  from: "127.0.0.1",
  isBroken: false,
  isHead: false,
};

test.each([
  [{ status: 500, headers: "", body: "{}" }, /HTTP 500/],
  [{ status: 502, headers: "", body: "x y" }, /HTTP 502/],
  [{ status: 400, headers: "", body: "" }, /without a sentence/],
  [{ status: 0, headers: "", body: "" }, /without an answer/],
])("%o is complained of", (answer, says) => expect(complaintOf(made, answer)).toMatch(says));

test.each([
  { status: 200, headers: "", body: "" },
  { status: 503, headers: "", body: '{"error":"full"}' },
  { status: 400, headers: "", body: '{"error":"no query"}' },
])("%o is fine", (answer) => expect(complaintOf(made, answer)).toBeUndefined());

test(
  "the hub, the agent and a pipe answer what they are asked, and live on",
  { timeout: 300_000 },
  async () => {
    await ensureBuild();
    const servers = await startServers();
    onTestFinished(() => servers.stop());
    const urls = new Set(servers.hub.routes.map(({ url }) => url));
    expect(urls.size).toBeGreaterThan(60);
    expect(namedRoutes.filter((url) => !urls.has(url))).toEqual([]);
    for (const [server, count] of [
      [servers.hub, 1_600],
      [servers.agent, 300],
      [servers.pipe, 200],
    ] as const) {
      const done = await fuzzServer(server, count, 3);
      expect([...done.crashes, ...done.hangs], server.name).toEqual([]);
      expect(done.requests).toBe(count);
    }
  },
);
