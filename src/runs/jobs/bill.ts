/** Sums the hourly usage of jobs over a period, by user, account, project, controller, day or job. Pure. */
import { dayOf, hourMs, type JobDayPart, type JobHour } from "./record.ts";
import { TariffMeter, type Tariff } from "./tariff.ts";

export const billGroups = [
  "user",
  "account",
  "project",
  "controller",
  "day",
  "job",
  "kind",
] as const;
export type BillGroup = (typeof billGroups)[number];

export interface BillLine {
  /** The group's name; `unknown` if a job has no value for it. */
  readonly name: string;
  jobs: number;
  gpuSeconds: number;
  usefulSeconds: number;
  heldIdleSeconds: number;
  joules: number;
  /** Absent without a tariff. */
  cost?: number;
  co2Grams?: number;
}

export interface BillOptions {
  readonly by: BillGroup;
  readonly fromMs: number;
  readonly toMs: number;
  readonly price?: Tariff | undefined;
  readonly co2?: Tariff | undefined;
}

export class Bill {
  readonly #options: BillOptions;
  readonly #price: TariffMeter | undefined;
  readonly #co2: TariffMeter | undefined;
  readonly #lines = new Map<string, BillLine>();
  readonly #jobs = new Map<string, Set<string>>();

  constructor(options: BillOptions) {
    this.#options = options;
    this.#price = options.price && new TariffMeter(options.price);
    this.#co2 = options.co2 && new TariffMeter(options.co2);
  }

  add(part: JobDayPart): void {
    const { fromMs, toMs, by } = this.#options;
    for (const hour of part.hours) {
      const atMs = hour[0] * hourMs;
      if (atMs < fromMs || atMs >= toMs) continue;
      this.#addHour(groupOf(part, by, atMs), part.id, hour);
    }
  }

  /** Sorted by energy, the largest first; days in chronological order. */
  lines(): BillLine[] {
    const lines = [...this.#lines.values()];
    for (const line of lines) line.jobs = this.#jobs.get(line.name)?.size ?? 0;
    return this.#options.by === "day"
      ? lines.sort((left, right) => left.name.localeCompare(right.name))
      : lines.sort((left, right) => right.joules - left.joules);
  }

  #addHour(name: string, id: string, hour: JobHour): void {
    let line = this.#lines.get(name);
    let jobs = this.#jobs.get(name);
    if (line === undefined || jobs === undefined) {
      line = { name, jobs: 0, gpuSeconds: 0, usefulSeconds: 0, heldIdleSeconds: 0, joules: 0 };
      this.#lines.set(name, line);
      this.#jobs.set(name, (jobs = new Set()));
    }
    jobs.add(id);
    line.gpuSeconds += hour[1];
    line.usefulSeconds += hour[2];
    line.heldIdleSeconds += hour[3];
    line.joules += hour[4];
    if (this.#price !== undefined) line.cost = (line.cost ?? 0) + this.#price.of(hour);
    if (this.#co2 !== undefined) line.co2Grams = (line.co2Grams ?? 0) + this.#co2.of(hour);
  }
}

function groupOf(part: JobDayPart, by: BillGroup, atMs: number): string {
  if (by === "day") return dayOf(atMs);
  if (by === "job") return part.id;
  if (by === "kind") return part.kind;
  // Two namespaces may each have a Job of the same name.
  if (by === "controller")
    return part.controller === undefined ? "unknown" : `${part.namespace ?? ""}/${part.controller}`;
  const name =
    by === "user" ? part.user : by === "account" ? part.account : (part.namespace ?? part.account);
  return name ?? "unknown";
}
