import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { toolOrSkip } from "../../engines/tools.ts";
import { waitUntil } from "../../engines/wait.ts";
import { Collector } from "../../src/agent/collector.ts";
import { silentLog } from "../../src/base/log.ts";
import { FakeClock } from "../fixtures/fake-clock.ts";
import { openSources } from "../../src/sources/open.ts";

const startMs = Date.parse("2026-01-01T00:00:00Z");

/** A minute of eight simulated GPUs, with what differs from run to run (the process itself) masked. */
async function pageAfterAMinute(accept: string | undefined): Promise<string> {
  const clock = new FakeClock(startMs);
  const context = {
    host: "golden",
    log: silentLog,
    nowMs: () => clock.nowMs(),
    sysfs: "/sys",
    procfs: "/proc",
  };
  const sources = await openSources(["sim:8?seed=7"], context);
  const collector = new Collector({
    sources,
    compat: [],
    intervalMs: 1_000,
    hostName: "golden",
    procfs: "/proc",
    version: "golden",
    clock,
    log: silentLog,
  });
  collector.start();
  await clock.advance(60_400);
  const body = await waitUntil(
    { what: "the runtime's own metrics", timeoutMs: 20_000 },
    async () => {
      const page = String(collector.page(accept).body);
      const isComplete =
        /^nodejs_eventloop_lag_p99_seconds /m.test(page) && /kind="minor"/.test(page);
      return isComplete ? page : undefined;
    },
  );
  const stopping = collector.stop();
  await clock.advance(10_000);
  await stopping;
  return body
    .replaceAll(/^nodejs_gc_\w+\{kind="(?!minor").*\n/gm, "")
    .replaceAll(
      /^(process_\w+|nodejs_\w+(?:\{.*\})?|gpulse_source_read_duration_seconds\{.*\}) .*$/gm,
      "$1 <varies>",
    )
    .replaceAll(/\bnode="[^"]*"/g, 'node="<varies>"');
}

test("the whole page in text format", async () => {
  await expect(await pageAfterAMinute(undefined)).toMatchFileSnapshot("metrics.txt");
});

test("the whole page in OpenMetrics", async () => {
  await expect(await pageAfterAMinute("application/openmetrics-text")).toMatchFileSnapshot(
    "metrics.openmetrics.txt",
  );
});

test("promtool has nothing to say about the page", async (context) => {
  const promtool = toolOrSkip(context, "promtool");
  const page = (await pageAfterAMinute(undefined)).replaceAll("<varies>", "1");
  const { status, stdout, stderr } = spawnSync(promtool, ["check", "metrics"], {
    input: page,
    encoding: "utf8",
    timeout: 30_000,
  });
  expect([status, stdout, stderr]).toEqual([0, "", ""]);
});

test("the same seed and time give the same page, another seed another", async () => {
  expect(await pageAfterAMinute(undefined)).toBe(await pageAfterAMinute(undefined));
});
