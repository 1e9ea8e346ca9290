/**
 * 5,000 alerting rules over 2,000 GPUs, in a hub and in a Prometheus, one after the other, with the same rule file and the same
 * samples from remote-write: processor time of the rules alone (the cost of the samples is measured first and subtracted), the
 * slowest group, and whether every evaluation finished within its interval.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { number, say } from "./hub-print.ts";
import { processCost } from "./process-cost.ts";
import {
  countAlerts,
  hub,
  prometheus,
  readPage,
  type RunningEngine,
  SampleFeed,
} from "./rules-engine.ts";
import { gpus, ruleFile, type RuleScope } from "./rules-file.ts";

const { values: given } = parseArgs({
  options: {
    rules: { type: "string", default: "5000" },
    scope: { type: "string", default: "both" },
    interval: { type: "string", default: "15" },
    rounds: { type: "string", default: "4" },
  },
});
const rules = Number(given.rules);
const intervalSeconds = Number(given.interval);
const rounds = Number(given.rounds);
const scopes: readonly RuleScope[] =
  given.scope === "fleet" || given.scope === "host" ? [given.scope] : ["host", "fleet"];

interface Measured {
  /** Per evaluation of all rules; counts the evaluations that ran, since an overloaded engine falls behind. */
  readonly cpuSeconds: number;
  /** The share of due evaluations that ran. */
  readonly heldShare: number;
  readonly slowestSeconds: number;
  readonly missed: number;
  readonly alerts: number;
  readonly residentBytes: number;
}

async function measure(
  start: (file: string) => Promise<RunningEngine>,
  scope: RuleScope,
): Promise<Measured> {
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-bench-rules-"));
  const file = path.join(folder, "rules.yml");
  writeFileSync(file, "groups: []");
  const engine = await start(file);
  const feed = new SampleFeed(engine.url);
  try {
    await feed.begin();
    await sleep(intervalSeconds * 1_000);
    const spanMs = rounds * intervalSeconds * 1_000;
    const without = await cpuOver(engine.pid, spanMs);
    writeFileSync(file, ruleFile(rules, scope, intervalSeconds));
    const reloaded = await fetch(`${engine.url}/-/reload`, { method: "POST" });
    if (!reloaded.ok) throw new Error(`the rules were refused: ${await reloaded.text()}`);
    // The first evaluations compile and allocate; the measurement starts after them.
    await sleep(3 * intervalSeconds * 1_000);
    const before = await readPage(engine);
    const withRules = await cpuOver(engine.pid, spanMs);
    const page = await readPage(engine);
    const held = page.evaluated - before.evaluated;
    return {
      cpuSeconds: ((withRules - without) / held) * rules,
      heldShare: held / rounds / rules,
      slowestSeconds: page.slowest,
      missed: page.missed - before.missed,
      alerts: await countAlerts(engine.url),
      residentBytes: processCost(engine.pid).residentBytes,
    };
  } finally {
    await feed.end();
    await engine.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function cpuOver(pid: number, spanMs: number): Promise<number> {
  const before = processCost(pid).cpuSeconds;
  await sleep(spanMs);
  return processCost(pid).cpuSeconds - before;
}

say(
  `# ${rules.toLocaleString("en-US")} alerting rules over ${gpus.toLocaleString("en-US")} GPUs, every ${intervalSeconds} s\n`,
);
say("| each rule over | | hub | Prometheus | hub / Prometheus |");
say("|---|---|---|---|---|");
let missed = 0;
for (const scope of scopes) {
  const ours = await measure(hub, scope);
  const theirs = await measure(prometheus, scope);
  missed += ours.missed;
  const line = (what: string, of: (measured: Measured) => number, unit = ""): void =>
    say(
      `| ${scope === "host" ? "one host" : "the fleet"} | ${what} | ${number(of(ours))}${unit} | ${number(of(theirs))}${unit} | ${number(of(ours) / of(theirs))} |`,
    );
  line("processor time an evaluation of all", ({ cpuSeconds }) => cpuSeconds, " s");
  line("evaluations held of those due", ({ heldShare }) => 100 * heldShare, " %");
  line("slowest group", ({ slowestSeconds }) => slowestSeconds, " s");
  line("resident memory", ({ residentBytes }) => residentBytes / 2 ** 20, " MiB");
  say(`| | evaluations missed | ${ours.missed} | ${theirs.missed} | |`);
  say(`| | alerts active at the end | ${ours.alerts} | ${theirs.alerts} | |`);
}
if (missed > 0) {
  say(`\nThe hub missed ${missed} evaluations.`);
  process.exitCode = 1;
}
