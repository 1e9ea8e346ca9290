/** The log of a detection benchmark: every alarm that began, and for every fault the load under which it could have shown. */
import type { RuleGroupRunner } from "../src/alerting/rules/group.ts";
import type { SimFleet } from "../src/sources/sim/fleet/fleet.ts";
import type { PlannedFault } from "./detect-plan.ts";

export interface Alarm {
  /** The alert's name; for an anomaly with its kind, for a verdict with its reason. */
  readonly name: string;
  readonly severity: string;
  readonly host: string | undefined;
  readonly uuid: string | undefined;
  readonly firstMs: number;
  readonly says: string;
}

/** A fault's opportunity to show: seconds under load, and the longest run of one job. */
export interface Exposure {
  readonly busySeconds: number;
  readonly longestJobSeconds: number;
}

/** Alerts that have several reasons. */
const withReason: ReadonlySet<string> = new Set(["GpuDegraded", "GpuFailing"]);

export class AlarmLog {
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

  take(group: RuleGroupRunner, timeMs: number): void {
    for (const { rule, alerting, lastError } of group.runs) {
      if (lastError !== "") this.failed.add(`${rule.name}: ${lastError}`);
      const now = new Set<string>();
      for (const { state, labels, annotations } of alerting?.active ?? []) {
        if (state !== "firing") continue;
        const key = JSON.stringify([group.definition.name, rule.name, ...labels]);
        now.add(key);
        if (this.#firing.has(key)) continue;
        this.#firing.add(key);
        const kind =
          labels.get("kind") ?? (withReason.has(rule.name) ? labels.get("reason") : undefined);
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

/** Observes the simulation itself, for the score only: detectors see none of it. */
export class Exposures {
  readonly #of = new Map<
    PlannedFault,
    { busySeconds: number; longest: number; run: number; job: unknown }
  >();

  constructor(faults: readonly PlannedFault[]) {
    for (const fault of faults)
      this.#of.set(fault, { busySeconds: 0, longest: 0, run: 0, job: undefined });
  }

  look(elapsedMs: number, fleets: readonly SimFleet[]): void {
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
