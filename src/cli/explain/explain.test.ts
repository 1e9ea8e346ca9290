import { fastify } from "fastify";
import { afterAll, beforeAll, expect, test } from "vitest";
import { simulateHistory } from "../../../test/fixtures/view/simulated-history.ts";
import { addChanges } from "../../hub/changes/routes.ts";
import { addExplain } from "../../hub/explain/routes.ts";
import type { CommandIo } from "../command/io.ts";
import { runExplain } from "./run.ts";

const sick = simulateHistory(
  Array.from({ length: 4 }, () => "RTX 4090"),
  [{ fault: "fan-failure", gpu: 1, at: "70m", for: "60m" }],
  90,
);
const app = fastify();
const context = { history: sick.store, nowMs: () => sick.endMs };
addExplain(app, context);
addChanges(app, context);
let url = "";
beforeAll(async () => void (url = await app.listen({ host: "127.0.0.1", port: 0 })));
afterAll(async () => app.close());

async function explain(gpu: string | undefined, flags = {}): Promise<string> {
  let out = "";
  const write = (text: string): boolean => (out += text) !== "";
  const io = { env: {}, stdout: { write }, stderr: { write } } as unknown as CommandIo;
  expect(await runExplain(gpu, { url, ...flags }, io)).toBe(0);
  return out;
}

test("a cause is printed with its numbers, their queries and the fix", async () => {
  const text = await explain(`${sick.host}:1`);
  expect(text).toContain("GPU 1 of node-1 (NVIDIA GeForce RTX 4090) at 2026-01-05 01:30:00 UTC");
  expect(text).toMatch(/1\. Fan stopped or too slow \(\d\d % sure, for (1\d|2\d) min\)/);
  expect(text).toMatch(/gpu_fan_speed_ratio +0 % +\d+ % +- +max\(avg_over_time\(/);
  expect(text).toMatch(/Fix: .*\(\/runbook\/gpufanstopped\)/);
});

test("a GPU is found by the first characters of its UUID; nothing stands out of a sound one", async () => {
  const text = await explain((sick.uuids[3] ?? "").slice(0, 12));
  expect(text).toContain("Nothing stands out about GPU 3 of node-1");
});

test("an earlier moment is asked for with --at, and --json is for programs", async () => {
  const at = String(sick.startMs / 1_000 + 65 * 60);
  const found: unknown = JSON.parse(await explain(undefined, { host: sick.host, at, json: true }));
  expect(found).toMatchObject({ outcome: "nothing_stands_out", subject: { kind: "host" } });
});

test.each([
  [undefined, {}, "Name one GPU"],
  ["a", { host: "b" }, "Name one GPU"],
  ["nobody-here", {}, 'No GPU "nobody-here" reported'],
  ["a", { at: "later" }, "--at takes a time"],
  ["a", { to: "1h" }, "--to needs --from"],
  ["a", { from: "soon" }, "--from takes a time"],
  ["a", { from: "2h", at: "1h" }, "pass one of the two"],
  [undefined, { alert: "a", from: "2h" }, "not --alert"],
])("%s with %j is refused with a sentence", async (gpu, flags, sentence) => {
  await expect(explain(gpu, flags)).rejects.toThrow(sentence);
});

test("--from and --to list the series that changed in the range, with peers and times", async () => {
  const minute = (at: number): string => String(sick.startMs / 1_000 + at * 60);
  const text = await explain(`${sick.host}:1`, { from: minute(68), to: minute(88) });
  expect(text).toContain("from 2026-01-05 01:08:00 to 2026-01-05 01:28:00 UTC");
  expect(text).toMatch(/^SERIES +WHERE +BEFORE +AFTER +SIGMAS +PEERS +SINCE$/m);
  expect(text).toMatch(
    /^Fan speed \(.+\) +GPU 1 of node-1 +\d+[.\d]* % +0[.\d]* % +\d+ .* 01:\d\d:\d\d$/m,
  );
  const calm = { from: minute(68), to: minute(88), json: true };
  const found: unknown = JSON.parse(await explain(undefined, { host: sick.host, ...calm }));
  expect(found).toMatchObject({ outcome: "changes", subject: { kind: "host" } });
});
