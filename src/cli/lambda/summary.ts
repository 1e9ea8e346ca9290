/** Summarizes a log: rows, time span, minimum, mean and maximum of each column, and how often each tag occurred. */
import { columnOf, seriesOf } from "../../model/columns.ts";
import type { Device } from "../../model/device.ts";
import type { Layout } from "../../model/layout.ts";
import { presence } from "../../model/presence.ts";
import type { Delivery } from "../../pipeline/sink.ts";

interface ColumnStatistics {
  count: number;
  min: number;
  max: number;
  mean: number;
}

export interface LogSummary {
  readonly version: 1;
  readonly source: {
    readonly bucket: string;
    readonly key: string;
    readonly bytes: number;
    readonly eTag: string;
  };
  readonly gpu: Pick<Device, "uuid" | "vendor" | "model"> | undefined;
  readonly host: string;
  readonly rows: number;
  /** Number of invalid lines. */
  readonly unusable: number;
  readonly start: string | undefined;
  readonly end: string | undefined;
  readonly seconds: number;
  readonly metrics: Readonly<
    Record<
      string,
      {
        readonly unit: string;
        readonly count: number;
        readonly min: number;
        readonly avg: number;
        readonly max: number;
      }
    >
  >;
  readonly anomalies: { readonly rows: number; readonly byTag: Readonly<Record<string, number>> };
}

export class LogSummaryBuilder {
  rows = 0;
  readonly #columns = new Map<string, ColumnStatistics>();
  readonly #tags = new Map<string, number>();
  readonly #plans = new WeakMap<Layout, readonly (string | undefined)[]>();
  #anomalous = 0;
  #fromMs = Number.POSITIVE_INFINITY;
  #toMs = Number.NEGATIVE_INFINITY;

  take({ frame, tags }: Delivery): void {
    this.rows++;
    this.#fromMs = Math.min(this.#fromMs, frame.timeMs);
    this.#toMs = Math.max(this.#toMs, frame.timeMs);
    let plan = this.#plans.get(frame.layout);
    if (plan === undefined)
      this.#plans.set(frame.layout, (plan = frame.layout.series.map((one) => columnOf(one))));
    plan.forEach((column, slot) => {
      if (column !== undefined && frame.presence[slot] === presence.present)
        this.#add(column, frame.values[slot] as number);
    });
    const found = [...(tags?.values() ?? [])].flat();
    if (found.length > 0) this.#anomalous++;
    for (const tag of found) this.#tags.set(tag, (this.#tags.get(tag) ?? 0) + 1);
  }

  finish(
    about: Pick<LogSummary, "source" | "host" | "unusable"> & { readonly device?: Device },
  ): LogSummary {
    const { source, host, unusable, device } = about;
    const isEmpty = this.rows === 0;
    const sorted = <Value>(map: ReadonlyMap<string, Value>): (readonly [string, Value])[] =>
      [...map].sort(([left], [right]) => (left < right ? -1 : 1));
    return {
      version: 1,
      source,
      gpu: device && { uuid: device.uuid, vendor: device.vendor, model: device.model },
      host,
      rows: this.rows,
      unusable,
      start: isEmpty ? undefined : new Date(this.#fromMs).toISOString(),
      end: isEmpty ? undefined : new Date(this.#toMs).toISOString(),
      seconds: isEmpty ? 0 : (this.#toMs - this.#fromMs) / 1_000,
      metrics: Object.fromEntries(
        sorted(this.#columns).map(([name, { count, min, max, mean }]) => [
          name,
          { unit: seriesOf(name)?.unit ?? "none", count, min, avg: mean, max },
        ]),
      ),
      anomalies: { rows: this.#anomalous, byTag: Object.fromEntries(sorted(this.#tags)) },
    };
  }

  /** A running mean: the sum of a million byte counts would lose its last digits. */
  #add(column: string, value: number): void {
    const known = this.#columns.get(column);
    if (known === undefined) {
      this.#columns.set(column, { count: 1, min: value, max: value, mean: value });
      return;
    }
    known.count++;
    known.min = Math.min(known.min, value);
    known.max = Math.max(known.max, value);
    known.mean += (value - known.mean) / known.count;
  }
}
