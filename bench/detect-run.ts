/**
 * Simulated hours in virtual time, through what a hub runs: the pipeline's transforms, the store, the anomaly watch, and
 * the default rules evaluated by the rule engine. Gives every alarm, and of every GPU when it was under load.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import * as v from "valibot";
import { packGroups } from "../src/alert/pack/pack.ts";
import type { RuleContext } from "../src/alert/rules/context.ts";
import { Group } from "../src/alert/rules/group.ts";
import type { RuleGroup } from "../src/alert/rules/types.ts";
import { AnomalySeries } from "../src/analytics/anomaly/series.ts";
import { AnomalyWatch } from "../src/analytics/anomaly/watch.ts";
import { EmbeddedHistory } from "../src/history/embedded.ts";
import { silentLog } from "../src/log/log.ts";
import type { Tier } from "../src/model/catalogue/index.ts";
import { tiers } from "../src/model/catalogue/index.ts";
import type { Frame } from "../src/model/frame.ts";
import { identityOf } from "../src/model/identity.ts";
import { tierIntervals } from "../src/pipeline/pipeline.ts";
import { SelfFrames } from "../src/pipeline/self.ts";
import { SilenceFrames } from "../src/pipeline/silence.ts";
import { newSourceState, tierState } from "../src/pipeline/source-state.ts";
import { createDerive } from "../src/pipeline/transforms/derive.ts";
import { createEngine } from "../src/query/engine.ts";
import { Emitter } from "../src/sources/sim/emit/emitter.ts";
import { Fleet } from "../src/sources/sim/fleet/fleet.ts";
import { scenarioSchema } from "../src/sources/sim/scenario/schema.ts";
import { openStore } from "../src/store/store.ts";
import type { PlannedFault } from "./detect-plan.ts";

export interface Alarm {
  /** The alert's name; of an anomaly also its kind. */
  readonly name: string;
  readonly severity: string;
  readonly host: string | undefined;
  readonly uuid: string | undefined;
  readonly firstMs: number;
  readonly says: string;
}

/** What a fault had to show itself by: seconds under load, and the longest that one job ran. */
export interface Exposure {
  readonly busySeconds: number;
  readonly longestJobSeconds: number;
}

export interface Run {
  readonly alarms: readonly Alarm[];
  readonly exposure: ReadonlyMap<PlannedFault, Exposure>;
  readonly uuids: readonly (readonly string[])[];
  readonly hostNames: readonly string[];
  readonly failedRules: ReadonlySet<string>;
}

export interface RunOptions {
  readonly seed: number;
  readonly hosts: readonly (readonly string[])[];
  readonly faults: readonly PlannedFault[];
  readonly untilMs: number;
  /** Without the default rules: anomalies alone, told as they begin. */
  readonly noRules?: boolean;
  readonly progress: (doneMs: number) => void;
}

export const startMs = Date.UTC(2026, 0, 5);
const secondMs = 1_000;
const seriesEveryMs = 15_000;
const maintainEveryMs = 30 * 60_000;
/** As the pipeline takes it: after this long nothing of a source is fresh. */
const freshMs = 5_000;

const jobs = [
  { kind: "training", share: 3, minutes: [4, 30] },
  { kind: "inference", share: 3, minutes: [5, 40], level: [0.25, 0.5] },
  { kind: "batch", share: 1, minutes: [3, 15] },
  { kind: "inference", share: 1, minutes: [5, 20], level: [0.02, 0.12] },
];

class Host {
  readonly name: string;
  readonly fleet: Fleet;
  readonly #emitter: Emitter;
  readonly #derive = createDerive();
  readonly #silence: SilenceFrames;
  readonly #state = newSourceState("sim", tiers);
  readonly #self = new SelfFrames();
  #answeredMs = startMs;

  constructor(
    name: string,
    models: readonly string[],
    seed: number,
    faults: readonly PlannedFault[],
  ) {
    this.name = name;
    const scenario = v.parse(scenarioSchema, {
      ambient: 27,
      fleet: models.map((model) => ({ model, count: 1 })),
      queue: { users: Math.round((11 * 8) / Math.min(8, models.length)), jobs },
      faults: faults.map(({ fault, gpu, atMs, forMs, amount }) => ({
        fault,
        gpu: gpu < 0 ? "all" : gpu,
        at: `${atMs}ms`,
        for: `${forMs}ms`,
        ...(amount === undefined ? {} : { amount }),
      })),
    });
    this.fleet = new Fleet(scenario, { seed, gpus: models.length, model: undefined }, startMs);
    this.#emitter = new Emitter(this.fleet, name);
    this.#silence = new SilenceFrames(name);
  }

  /** The frames of an instant, each with its schedule; of a source that hangs, what the poller says of it. */
  at(elapsedMs: number): readonly (readonly [Tier, Frame])[] {
    this.fleet.advanceTo(elapsedMs);
    const timeMs = startMs + elapsedMs;
    const hangs = this.fleet.hangsForMs(elapsedMs) > 0;
    for (const tier of tiers) tierState(this.#state, tier).success = !hangs;
    if (hangs) {
      if (timeMs - this.#answeredMs <= freshMs) return [];
      return [["fast", this.#derived(this.#silence.at(timeMs, this.fleet.devices), "fast")]];
    }
    this.#answeredMs = timeMs;
    const every = tierIntervals(secondMs);
    return (["static", "slow", "fast"] as const)
      .filter((tier) => elapsedMs % every[tier] === 0)
      .map((tier) => [
        tier,
        this.#derived(
          this.#emitter.frame(tier, timeMs, (virtualMs) => virtualMs),
          tier,
        ),
      ]);
  }

  selfFrame(timeMs: number): Frame {
    return this.#self.at(timeMs, {
      version: "0",
      nodeVersion: "0",
      states: [this.#state],
      outlets: [],
      served: [],
      process: { cpuSeconds: 0, residentBytes: 0, startTimeSeconds: 0, openFiles: undefined },
    });
  }

  #derived(frame: Frame, tier: Tier): Frame {
    const { devices } = this.fleet;
    return this.#derive({ frame, source: "sim", tier, freshForMs: freshMs, devices }).frame;
  }
}

export async function run(options: RunOptions): Promise<Run> {
  const dir = mkdtempSync(path.join(tmpdir(), "gpulse-detect-"));
  let nowMs = startMs;
  const store = await openStore({
    dir,
    retentionMs: 6 * 3_600_000,
    memoryBytes: 128 * 2 ** 20,
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
  const hosts = options.hosts.map(
    (models, at) =>
      new Host(
        `host-${at + 1}`,
        models,
        options.seed + at * 7_919,
        options.faults.filter(({ host }) => host === at),
      ),
  );
  const groups =
    options.noRules === true
      ? []
      : (await packGroups()).map(withoutInfo).map((group) => new Group(group, 15_000, false));
  const watch = new AnomalyWatch();
  const series = new AnomalySeries();
  const book = new AlarmBook();
  const exposures = new Exposures(options.faults);
  if (options.noRules === true)
    watch.subscribe(({ change, anomaly: { kind, severity, device, toldMs, says } }) => {
      if (change === "began")
        book.add(`GpuAnomaly/${kind}`, severity, device.host, device.uuid, toldMs, says);
    });
  let told: string[] = [];
  watch.subscribe(({ anomaly }) => told.push(anomaly.says));
  try {
    for (let elapsedMs = 0; elapsedMs < options.untilMs; elapsedMs += secondMs) {
      nowMs = startMs + elapsedMs;
      for (const host of hosts) {
        for (const [tier, frame] of host.at(elapsedMs)) {
          watch.take({ frame });
          if (options.noRules !== true)
            await history.frames({ frame, source: host.name, tier }, identityOf(host.name));
        }
      }
      exposures.look(
        elapsedMs,
        hosts.map(({ fleet }) => fleet),
      );
      if (elapsedMs % 300_000 === 0) options.progress(elapsedMs);
      if (options.noRules === true || elapsedMs % 5_000 !== 0) continue;
      if (elapsedMs % seriesEveryMs === 0 || told.length > 0) {
        for (const { host, frame } of series.byHost(nowMs, watch))
          await history.frames(
            { frame, source: `anomalies/${host}`, tier: "fast" },
            identityOf(host),
          );
        told = [];
      }
      if (elapsedMs % seriesEveryMs === 0)
        for (const host of hosts)
          await history.frames(
            { frame: host.selfFrame(nowMs), source: `self/${host.name}`, tier: "self" },
            identityOf(host.name),
          );
      for (const group of groups) {
        if (nowMs % group.intervalMs !== 0) continue;
        await group.evaluate(nowMs, context);
        book.take(group, nowMs);
      }
      if (elapsedMs % maintainEveryMs === 0) await store.maintain();
    }
  } finally {
    await history.close();
    rmSync(dir, { recursive: true, force: true });
  }
  return {
    alarms: book.alarms,
    exposure: exposures.all(),
    uuids: hosts.map(({ fleet }) => fleet.devices.map(({ uuid }) => uuid)),
    hostNames: hosts.map(({ name }) => name),
    failedRules: book.failed,
  };
}

/** Information is no alarm; leaving it out saves most of the evaluation. */
function withoutInfo(group: RuleGroup): RuleGroup {
  return {
    ...group,
    rules: group.rules.filter(
      (rule) => rule.kind === "record" || rule.labels["severity"] !== "info",
    ),
  };
}

class AlarmBook {
  readonly alarms: Alarm[] = [];
  readonly failed = new Set<string>();
  readonly #firing = new Set<string>();

  add(
    name: string,
    severity: string,
    host: string | undefined,
    uuid: string | undefined,
    firstMs: number,
    says: string,
  ): void {
    this.alarms.push({ name, severity, host, uuid, firstMs, says });
  }

  take(group: Group, timeMs: number): void {
    for (const { rule, alerting, lastError } of group.runs) {
      if (lastError !== "") this.failed.add(`${rule.name}: ${lastError}`);
      const now = new Set<string>();
      for (const { state, labels, annotations } of alerting?.active ?? []) {
        if (state !== "firing") continue;
        const key = JSON.stringify([group.definition.name, rule.name, ...labels]);
        now.add(key);
        if (this.#firing.has(key)) continue;
        this.#firing.add(key);
        const kind = labels.get("kind");
        this.add(
          kind === undefined ? rule.name : `${rule.name}/${kind}`,
          labels.get("severity") ?? "",
          labels.get("host") ?? labels.get("instance")?.split(":")[0],
          labels.get("uuid"),
          timeMs,
          annotations["summary"] ?? "",
        );
      }
      const prefix = JSON.stringify([group.definition.name, rule.name]).slice(0, -1);
      for (const key of this.#firing)
        if (key.startsWith(`${prefix},`) && !now.has(key)) this.#firing.delete(key);
    }
  }
}

/** Looks at the simulation itself, for the score alone: nothing that detects sees any of it. */
class Exposures {
  readonly #of = new Map<
    PlannedFault,
    { busySeconds: number; longest: number; run: number; job: unknown }
  >();

  constructor(faults: readonly PlannedFault[]) {
    for (const fault of faults)
      this.#of.set(fault, { busySeconds: 0, longest: 0, run: 0, job: undefined });
  }

  look(elapsedMs: number, fleets: readonly Fleet[]): void {
    for (const [{ host, gpu, atMs, forMs }, seen] of this.#of) {
      if (elapsedMs < atMs || elapsedMs >= atMs + forMs) continue;
      const card = fleets[host]?.gpus[gpu];
      if (card === undefined) continue;
      if (card.state.utilization > 0.2) seen.busySeconds += 1;
      seen.run = card.job === seen.job ? seen.run + 1 : 0;
      seen.job = card.job;
      if (card.job !== undefined) seen.longest = Math.max(seen.longest, seen.run);
    }
  }

  all(): Map<PlannedFault, Exposure> {
    return new Map(
      [...this.#of].map(([fault, { busySeconds, longest }]) => [
        fault,
        { busySeconds, longestJobSeconds: longest },
      ]),
    );
  }
}
