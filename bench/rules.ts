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
import { startHub } from "../engines/hub.ts";
import { startPrometheus } from "../engines/prometheus.ts";
import { findTool } from "../engines/tools.ts";
import { number, say } from "./hub-print.ts";
import { processCost } from "./process-cost.ts";
import { WriteClient, WriteRequests } from "./remote-write.ts";
import type { Scope } from "./rules-file.ts";
import { gpus, ruleFile, series, valueAt } from "./rules-file.ts";

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
const scopes: readonly Scope[] =
  given.scope === "fleet" || given.scope === "host" ? [given.scope] : ["host", "fleet"];

const stepMs = 15_000;
const historySteps = 24;

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

interface Running {
  readonly url: string;
  readonly pid: number;
  readonly names: {
    readonly duration: string;
    readonly missed: string;
    readonly evaluated: string;
  };
  stop(): Promise<void>;
}

/** Gives every series its sample, on time, until told to stop. */
class Feed {
  readonly #client: WriteClient;
  readonly #requests = new WriteRequests(series);
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(url: string) {
    this.#client = new WriteClient(url);
  }

  /** What a rule looks back on, and from now on every step. */
  async begin(): Promise<void> {
    const firstStep = Math.floor(Date.now() / stepMs) - historySteps;
    for (let step = firstStep; step <= firstStep + historySteps; step++) await this.#send(step);
    this.#running = this.#go(firstStep + historySteps + 1);
  }

  async end(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    this.#client.close();
  }

  async #go(from: number): Promise<void> {
    for (let step = from; ; step++) {
      const waitMs = Math.max(0, step * stepMs - Date.now());
      await sleep(waitMs, undefined, { signal: this.#stop.signal }).catch(() => undefined);
      if (this.#stop.signal.aborted) return;
      await this.#send(step);
    }
  }

  async #send(step: number): Promise<void> {
    const perRequest = 2_000;
    for (let from = 0; from < series.length; from += perRequest) {
      const body = this.#requests.encode(from, from + perRequest, [step * stepMs], (index) =>
        valueAt(index, step),
      );
      const { status, text } = await this.#client.send(body);
      if (status >= 300) throw new Error(`the samples were refused: ${status} ${text}`);
    }
  }
}

async function measure(start: (file: string) => Promise<Running>, scope: Scope): Promise<Measured> {
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-bench-rules-"));
  const file = path.join(folder, "rules.yml");
  writeFileSync(file, "groups: []");
  const engine = await start(file);
  const feed = new Feed(engine.url);
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

interface Page {
  readonly slowest: number;
  readonly missed: number;
  readonly evaluated: number;
}

async function readPage({ url, names }: Running): Promise<Page> {
  const page = await (await fetch(`${url}/metrics`)).text();
  const valuesOf = (name: string): number[] =>
    [...page.matchAll(new RegExp(`^${name}\\{[^\\n]*\\} (\\S+)$`, "gm"))].map(([, value]) =>
      Number(value),
    );
  const sumOf = (name: string): number => valuesOf(name).reduce((sum, value) => sum + value, 0);
  return {
    slowest: Math.max(0, ...valuesOf(names.duration)),
    missed: sumOf(names.missed),
    evaluated: sumOf(names.evaluated),
  };
}

async function countAlerts(url: string): Promise<number> {
  const answer = (await (await fetch(`${url}/api/v1/alerts`)).json()) as {
    data: { alerts: readonly unknown[] };
  };
  return answer.data.alerts.length;
}

async function hub(file: string): Promise<Running> {
  const dataDir = mkdtempSync(path.join(tmpdir(), "gpulse-bench-hub-"));
  const running = await startHub({ dataDir, args: ["--rules", file, "--no-default-rules"] });
  return {
    url: running.url,
    pid: running.process.pid,
    names: {
      duration: "gpulse_rule_group_last_duration_seconds",
      missed: "gpulse_rule_group_iterations_missed_total",
      evaluated: "gpulse_rule_evaluations_total",
    },
    stop: async () => {
      await running.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

async function prometheus(file: string): Promise<Running> {
  const found = findTool("prometheus");
  if ("missing" in found) throw new Error(found.missing);
  const running = await startPrometheus({
    path: found.path,
    config: { rule_files: [file] },
    args: ["--web.enable-lifecycle"],
    logLevel: "warn",
  });
  return {
    url: running.url,
    pid: running.process.pid,
    names: {
      duration: "prometheus_rule_group_last_duration_seconds",
      missed: "prometheus_rule_group_iterations_missed_total",
      evaluated: "prometheus_rule_evaluations_total",
    },
    stop: () => running.stop(),
  };
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
