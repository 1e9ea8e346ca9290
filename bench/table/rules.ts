/** Alerting rules in the hub and in Prometheus at the same time, over the same samples: the cost of evaluating all of them. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { hub, prometheus, readPage, type RunningEngine, SampleFeed } from "../rules-engine.ts";
import { ruleFile, type RuleScope } from "../rules-file.ts";
import { cpuSeconds, residentBytes } from "./cost.ts";
import { type Area, type Context, line } from "./measurement.ts";

const peer = "Prometheus";
const words =
  "a rule over one host is eight series, so most of it is what an evaluation costs before it sees a sample.";
const held =
  "most of it is not the rules: before they are read the hub has 146 to 151 MiB, since it shows the 2,000 GPUs of these series on its page; the rules add 17 MiB to the live heap (8 KB each, by heap snapshots), and V8 has up to 40 % more for what evaluations make. A plain Node program that only reads the same 2,000 rules and holds them takes 81 to 85 MiB.";

export const rules: Area = {
  name: "rules",
  title: "Alerting rules beside Prometheus",
  about:
    "alerting rules over 2,000 GPUs (10,000 series) with one rule file in both, evaluated every 4 s at the same time; what the samples cost is measured before and taken off.",
  more: "npm run bench:rules",
  measurements: [
    line(
      "rules.fleet.cpu",
      "processor an evaluation of all, each rule over the fleet",
      peer,
      "processor",
      "s",
      { behind: words },
    ),
    line(
      "rules.host.cpu",
      "processor an evaluation of all, each rule over one host",
      peer,
      "processor",
      "s",
      { behind: words },
    ),
    line("rules.memory", "resident memory, each rule over one host", peer, "memory", "MiB", {
      behind: held,
    }),
  ],
  measure: async (context) => {
    const { full } = context;
    await both(context, "host", full ? 5_000 : 2_000);
    await both(context, "fleet", full ? 1_000 : 250);
  },
};

interface Loaded {
  readonly engine: RunningEngine;
  readonly feed: SampleFeed;
  readonly file: string;
  idlePerSecond: number;
}

async function both(
  { full, put, progress }: Context,
  scope: RuleScope,
  count: number,
): Promise<void> {
  const intervalSeconds = 4;
  const [rounds, spanSeconds] = full ? [5, 32] : [3, 8];
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-bench-rules-"));
  const loaded: Loaded[] = [];
  try {
    for (const [at, start] of [hub, prometheus].entries()) {
      const file = path.join(folder, `rules-${at}.yml`);
      writeFileSync(file, "groups: []");
      const engine = await start(file);
      const feed = new SampleFeed(engine.url);
      loaded.push({ engine, feed, file, idlePerSecond: 0 });
      await feed.begin();
    }
    progress(`${count} rules over the ${scope}: what the samples cost`);
    const idle = loaded.map(({ engine }) => cpuSeconds(engine.pid));
    const idleSeconds = full ? 30 : 15;
    await sleep(idleSeconds * 1_000);
    for (const [at, one] of loaded.entries()) {
      one.idlePerSecond = (cpuSeconds(one.engine.pid) - (idle[at] ?? 0)) / idleSeconds;
      writeFileSync(one.file, ruleFile(count, scope, intervalSeconds));
      const reloaded = await fetch(`${one.engine.url}/-/reload`, { method: "POST" });
      if (!reloaded.ok) throw new Error(`the rules were refused: ${await reloaded.text()}`);
    }
    // The first evaluations compile and allocate; the measurement starts after them.
    await sleep(3 * intervalSeconds * 1_000);
    for (let round = 0; round < rounds; round++) {
      progress(`${count} rules over the ${scope}: round ${round + 1} of ${rounds}`);
      const before = await Promise.all(loaded.map(look));
      await sleep(spanSeconds * 1_000);
      const after = await Promise.all(loaded.map(look));
      const [own = NaN, other = NaN] = loaded.map(({ idlePerSecond }, at) => {
        const [was, now] = [before[at], after[at]];
        if (was === undefined || now === undefined) throw new Error("BUG: two were looked at");
        const seconds = (now.atMs - was.atMs) / 1_000;
        const spent = now.cpu - was.cpu - idlePerSecond * seconds;
        return (spent / (now.evaluated - was.evaluated)) * count;
      });
      put(`rules.${scope}.cpu`, own, other);
      const [ours = NaN, theirs = NaN] = loaded.map(({ engine }) => residentBytes(engine.pid));
      if (scope === "host") put("rules.memory", ours / 2 ** 20, theirs / 2 ** 20);
    }
  } finally {
    for (const { engine, feed } of loaded) {
      await feed.end();
      await engine.stop();
    }
    rmSync(folder, { recursive: true, force: true });
  }
}

async function look({ engine }: Loaded): Promise<{ cpu: number; evaluated: number; atMs: number }> {
  const { evaluated } = await readPage(engine);
  return { cpu: cpuSeconds(engine.pid), evaluated, atMs: performance.now() };
}
