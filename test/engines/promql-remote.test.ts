// A remote engine returns the same result as Prometheus 3 for every PromQL case, or the difference is documented.

import { readFileSync } from "node:fs";

import { expect, test } from "vitest";

import { startPrometheus } from "../../engines/prometheus.ts";
import { toolOrSkip } from "../../engines/tools.ts";
import { startVictoriaMetrics } from "../../engines/victoria-metrics.ts";
import { type Difference, differences } from "./promql-remote.ts";
import {
  deadly,
  type KnownDifference,
  prometheus242,
  victoriaMetrics179,
} from "./promql-known-differences.ts";

const page = readFileSync(
  new URL("../../docs/reference/store-elsewhere.md", import.meta.url),
  "utf8",
).replaceAll(/\s+/g, " ");

/** Differences without a known explanation, and known differences that explain none. */
function unexplained(
  different: readonly Difference[],
  known: readonly KnownDifference[],
): string[] {
  const used = new Set<KnownDifference>();
  const strange = different.flatMap((one) => {
    const reason = known.find(({ fits }) => fits(one));
    if (reason !== undefined) used.add(reason);
    return reason === undefined ? [`${one.script}:${one.line} ${one.query}: ${one.problem}`] : [];
  });
  const idle = known
    .filter((reason) => !used.has(reason))
    .map(({ sentence }) => `idle: ${sentence}`);
  return [...strange, ...idle];
}

test("Prometheus answers as listed", async (context) => {
  const path = toolOrSkip(context, "prometheus");
  const { asked, different } = await differences(async () => {
    const server = await startPrometheus({
      path,
      // Scripts load series one after the other.
      config: { storage: { tsdb: { out_of_order_time_window: "1d" } } },
      logLevel: "warn",
    });
    return { url: server.url, settle: async () => {}, stop: () => server.stop() };
  });
  expect(asked).toBeGreaterThan(300);
  expect(unexplained(different, prometheus242)).toEqual([]);
});

test("VictoriaMetrics answers as listed", async (context) => {
  const path = toolOrSkip(context, "victoria-metrics");
  const { asked, different } = await differences(async () => {
    const server = await startVictoriaMetrics(path);
    const settle = async (): Promise<void> =>
      void (await (await fetch(`${server.url}/internal/force_flush`)).arrayBuffer());
    return { url: server.url, settle, stop: () => server.stop() };
  }, deadly);
  expect(asked).toBeGreaterThan(300);
  expect(unexplained(different, victoriaMetrics179)).toEqual([]);
});

test.for([...prometheus242, ...victoriaMetrics179].map(({ sentence }) => sentence))(
  "the page says: %s",
  (sentence) => expect(page).toContain(sentence),
);
