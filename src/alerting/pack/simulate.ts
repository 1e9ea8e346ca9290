/** Runs rules over the simulator's virtual time, for tests: which alerts fire, on what, from when to when. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { EmbeddedHistory } from "../../storage/embedded-history.ts";
import { silentLog } from "../../base/log.ts";
import { identityOf } from "../../model/identity.ts";
import { createDerive } from "../../pipeline/transforms/derive.ts";
import { createEngine } from "../../query/engine.ts";
import { openSources } from "../../sources/open.ts";
import { openStore } from "../../storage/embedded/store.ts";
import type { RuleContext } from "../rules/context.ts";
import { RuleGroupRunner } from "../rules/group.ts";
import type { RuleGroup } from "../rules/types.ts";

export interface FiredAlert {
  readonly name: string;
  readonly severity: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly firstMs: number;
  lastMs: number;
}

export interface SimulationResult {
  readonly fired: readonly FiredAlert[];
  /** Rules that could not be evaluated, and why. */
  readonly failed: ReadonlySet<string>;
}

export interface SimulationOptions {
  /** Of the simulator, without speed, start, interval and duration. */
  readonly source: string;
  readonly minutes: number;
  readonly intervalSeconds: number;
  readonly groups: readonly RuleGroup[];
}

export const startMs = Date.UTC(2026, 0, 1);
const shortestMs = 5_000;

export async function simulate(given: SimulationOptions): Promise<SimulationResult> {
  const dir = mkdtempSync(path.join(tmpdir(), "gpulse-pack-"));
  let nowMs = startMs;
  const store = await openStore({
    dir,
    retentionMs: 30 * 86_400_000,
    memoryBytes: 64 * 2 ** 20,
    durability: "process",
    log: silentLog,
    nowMs: () => nowMs,
    workerFile: false,
    manual: true,
  });
  const history = new EmbeddedHistory(store, createEngine(), dir);
  const context: RuleContext = {
    history,
    write: (batch) => history.write(batch),
    send: () => {},
    externalLabels: new Map(),
    externalUrl: "http://hub",
    resendMs: 60_000,
    queryOffsetMs: 0,
    log: silentLog,
  };
  const groups = given.groups.map((group) => new RuleGroupRunner(group, 15_000, false));
  const book = new FiredAlerts();
  try {
    const url = `${given.source}${given.source.includes("?") ? "&" : "?"}speed=max&start=${new Date(startMs).toISOString()}&interval=${given.intervalSeconds}s&duration=${given.minutes}m`;
    const [opened] = await openSources([url], {
      host: "lab",
      nowMs: () => startMs,
      log: silentLog,
      sysfs: "",
      procfs: "",
    });
    if (opened?.source.shape !== "streaming") throw new Error("BUG: speed=max streams");
    const derive = createDerive();
    const identity = identityOf("lab");
    let dueMs = startMs + shortestMs;
    const evaluate = async (untilMs: number): Promise<void> => {
      for (; dueMs <= untilMs; dueMs += shortestMs) {
        nowMs = dueMs;
        for (const group of groups) {
          if (dueMs % group.intervalMs !== 0) continue;
          await group.evaluate(dueMs, context);
          book.take(group, dueMs);
        }
      }
    };
    await opened.source.run(async (frame) => {
      // Everything of an instant is in the history before rules look at that instant.
      await evaluate(frame.timeMs - 1);
      nowMs = frame.timeMs;
      const delivery = derive({
        frame,
        source: "sim",
        tier: "stream",
        freshForMs: 60_000,
        devices: opened.source.devices(),
      });
      const tier = frame.layout.series[0]?.metric.tier ?? "fast";
      await history.frames({ frame: delivery.frame, source: "sim", tier }, identity);
    }, new AbortController().signal);
    await evaluate(startMs + given.minutes * 60_000);
    return book;
  } finally {
    await history.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

class FiredAlerts implements SimulationResult {
  readonly failed = new Set<string>();
  readonly #open = new Map<string, FiredAlert>();
  readonly #all: FiredAlert[] = [];

  get fired(): readonly FiredAlert[] {
    return this.#all;
  }

  take(group: RuleGroupRunner, timeMs: number): void {
    for (const { rule, alerting, lastError } of group.runs) {
      if (lastError !== "") this.failed.add(`${rule.name}: ${lastError}`);
      const firing = new Set<string>();
      for (const alert of alerting?.active ?? []) {
        if (alert.state !== "firing") continue;
        const key = JSON.stringify([rule.name, ...alert.labels]);
        firing.add(key);
        const known = this.#open.get(key);
        if (known !== undefined) known.lastMs = timeMs;
        else this.#add(key, rule.name, alert, timeMs);
      }
      for (const key of this.#open.keys())
        if (key.startsWith(`["${rule.name}",`) && !firing.has(key)) this.#open.delete(key);
    }
  }

  #add(
    key: string,
    name: string,
    { labels, annotations }: Pick<FiredAlert, "labels" | "annotations">,
    timeMs: number,
  ): void {
    const severity = labels.get("severity") ?? "";
    const fired = { name, severity, labels, annotations, firstMs: timeMs, lastMs: timeMs };
    this.#open.set(key, fired);
    this.#all.push(fired);
  }
}
