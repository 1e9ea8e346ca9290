/**
 * 5,000 alerting rules over 2,000 GPUs, in a hub and in a real Prometheus, one after the other, with the same rule file and
 * the same samples by remote-write: processor time of the rules alone (what the samples cost is measured before and taken
 * off), the slowest group, and whether every evaluation was held in its interval.
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
  /** Of one evaluation of all rules; counted by those that were held, since a starved engine falls behind. */
  readonly cpuSeconds: number;
  /** Evaluations that were held, of those that were due. */
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
    // The first evaluations compile and allocate; what lasts is what comes after.
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
