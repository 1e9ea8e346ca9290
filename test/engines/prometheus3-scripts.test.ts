// The PromQL test scripts of Prometheus itself over the embedded store, with every annotation and its place in the query.

import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

import { orSkip } from "../../engines/cache.ts";
import { findPrometheusScripts } from "../../engines/prometheus3.ts";
import { createEngine } from "../../src/query/engine.ts";
import { openScriptStore } from "../promql/embedded.ts";
import { runScript } from "../promql/run.ts";

test.for([
  ["the head", false],
  ["blocks", true],
] as const)(
  "every script of Prometheus is answered as it expects from %s",
  { timeout: 300_000 },
  async ([, sealed], context) => {
    const folder = await orSkip(context, findPrometheusScripts());
    const engine = createEngine({ usesStartTimes: true });
    let cases = 0;
    const problems: object[] = [];
    for (const file of readdirSync(folder)) {
      const text = readFileSync(path.join(folder, file), "utf8");
      const results = await runScript(text, engine, { openStore: () => openScriptStore(sealed) });
      cases += results.length;
      for (const result of results)
        if (result.problem !== undefined) problems.push({ file, ...result });
    }
    process.stdout.write(
      `${cases} evaluations of Prometheus's scripts, ${problems.length} differ\n`,
    );
    expect(problems).toEqual([]);
    expect(cases).toBeGreaterThan(2_000);
  },
);
