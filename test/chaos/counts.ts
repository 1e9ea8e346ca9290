// The results of a chaos run: faults by kind, samples acknowledged, lost and duplicated, alerts pending and notified.
// Randomness is seeded: the seed is printed, and CHAOS_SEED repeats the choices of a run.

import { appendFileSync } from "node:fs";

import { seededRandom } from "../fuzz/mutate.ts";

/** The result of comparing expected samples with a reader's results. */
export interface SampleVerdict {
  readonly acknowledged: number;
  /** Acknowledged samples that are missing. */
  readonly lost: number;
  /** Samples that are stored more than once. */
  readonly duplicated: number;
  /** Samples that are stored with another value. */
  readonly wrong: number;
  /** Stored samples that were never sent. */
  readonly unexplained: number;
}

export interface AlertCounts {
  readonly expected: number;
  readonly delivered: number;
  /** Notifications repeated with the same idempotency key. */
  readonly repeated: number;
}

export interface Counts {
  readonly faults: Record<string, number>;
  samples: SampleVerdict;
  alerts: AlertCounts;
}

export const noSamples: SampleVerdict = {
  acknowledged: 0,
  lost: 0,
  duplicated: 0,
  wrong: 0,
  unexplained: 0,
};
const noAlerts: AlertCounts = { expected: 0, delivered: 0, repeated: 0 };

/** The counts that have to be zero, for comparison with `flawless`. */
export const flaws = ({ lost, duplicated, wrong, unexplained }: SampleVerdict) => ({
  lost,
  duplicated,
  wrong,
  unexplained,
});
export const flawless = { lost: 0, duplicated: 0, wrong: 0, unexplained: 0 };

function sum<Kind extends object>(left: Kind, right: Kind): Kind {
  const keys = Object.keys(left) as (keyof Kind)[];
  return Object.fromEntries(
    keys.map((key) => [key, Number(left[key]) + Number(right[key])]),
  ) as Kind;
}

export class Chaos {
  readonly name: string;
  readonly seed: number;
  readonly random: () => number;
  /** A log of the actions in a run, for debugging a failure. */
  readonly story: string[] = [];
  readonly counts: Counts = { faults: {}, samples: noSamples, alerts: noAlerts };

  constructor(name: string) {
    this.name = name;
    const asked = process.env["CHAOS_SEED"];
    this.seed = asked === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(asked);
    this.random = seededRandom(this.seed);
    process.stderr.write(`chaos: ${name}: CHAOS_SEED=${this.seed} repeats its choices\n`);
  }

  fault(kind: string, times = 1): void {
    if (times <= 0) return;
    this.counts.faults[kind] = (this.counts.faults[kind] ?? 0) + times;
    this.story.push(`${new Date().toISOString()} ${times} × ${kind}`);
  }

  between(least: number, most: number): number {
    return least + this.random() * (most - least);
  }

  pick<Item>(items: readonly Item[]): Item {
    const item = items[Math.floor(this.random() * items.length)];
    if (item === undefined) throw new Error("BUG: nothing to choose from");
    return item;
  }

  judged(samples: SampleVerdict): SampleVerdict {
    this.counts.samples = sum(this.counts.samples, samples);
    return samples;
  }

  recordAlerts(alerts: AlertCounts): AlertCounts {
    this.counts.alerts = sum(this.counts.alerts, alerts);
    return alerts;
  }

  /** Appends the results for the table at the end of the run (table.ts), or prints them if no file is configured. */
  close(): void {
    const { faults, samples, alerts } = this.counts;
    const row: Row = { name: this.name, seed: this.seed, faults, samples, alerts };
    const file = process.env["CHAOS_COUNTS"];
    if (file === undefined) process.stderr.write(`${tableOf([row])}\n`);
    else appendFileSync(file, `${JSON.stringify(row)}\n`);
  }
}

export interface Row extends Counts {
  readonly name: string;
  readonly seed: number;
}

export function tableOf(rows: readonly Row[]): string {
  const faults: Record<string, number> = {};
  let [samples, alerts] = [noSamples, noAlerts];
  for (const row of rows) {
    for (const [kind, times] of Object.entries(row.faults))
      faults[kind] = (faults[kind] ?? 0) + times;
    samples = sum(samples, row.samples);
    alerts = sum(alerts, row.alerts);
  }
  const all = Object.values(faults).reduce((total, times) => total + times, 0);
  const kinds = Object.keys(faults).sort();
  const width = Math.max(24, ...kinds.map((kind) => kind.length + 2));
  const line = (what: string, amount: number): string =>
    `  ${what.padEnd(width)}${String(amount).padStart(9)}`;
  return [
    `chaos: ${rows.map(({ name, seed }) => `${name} (seed ${seed})`).join(", ")}`,
    line("faults injected", all),
    ...kinds.map((kind) => line(`  ${kind}`, faults[kind] ?? 0)),
    line("samples acknowledged", samples.acknowledged),
    line("lost", samples.lost),
    line("duplicated", samples.duplicated),
    line("with another value", samples.wrong),
    line("never sent", samples.unexplained),
    line("alerts expected", alerts.expected),
    line("delivered", alerts.delivered),
    line("repeated", alerts.repeated),
  ].join("\n");
}

/** How many rounds a scenario runs: CHAOS_ROUNDS=3 is three times the usual number. */
export const rounds = (usual: number): number =>
  Math.max(1, Math.round(usual * Number(process.env["CHAOS_ROUNDS"] ?? 1)));
