/** The tables of the hub's benchmark: a value per engine, and the ratio of the hub to each peer. */
import type { EngineName } from "./hub-engines.ts";

export const names: readonly EngineName[] = ["hub", "VictoriaMetrics", "Prometheus"];

export const say = (line: string): void => void process.stdout.write(`${line}\n`);
export const grouped = (count: number): string => count.toLocaleString("en-US");
export const mib = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(0)} MiB`;
export const ms = (value: number): string => `${number(value)} ms`;
export const number = (value: number): string =>
  value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);

export function head(title: string): void {
  say(`\n### ${title}\n`);
  say("| | hub | VictoriaMetrics | Prometheus | hub / VM | hub / Prometheus |");
  say("|---|---|---|---|---|---|");
}

export function row(
  what: string,
  figures: ReadonlyMap<EngineName, number>,
  shown: (value: number) => string,
): void {
  const [hub = NaN, victoria = NaN, prometheus = NaN] = names.map((name) => figures.get(name));
  const ratio = (other: number): string => (Number.isNaN(other) ? "" : number(hub / other));
  const cells = [hub, victoria, prometheus].map((value) =>
    Number.isNaN(value) ? "" : shown(value),
  );
  say(`| ${[what, ...cells, ratio(victoria), ratio(prometheus)].join(" | ")} |`);
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}

/** Values of several kinds per engine, printed when every engine has one. */
export class Figures {
  readonly #kinds = new Map<string, Map<EngineName, number>>();

  put(kind: string, engine: EngineName, value: number): void {
    const figures = this.#kinds.get(kind) ?? new Map<EngineName, number>();
    this.#kinds.set(kind, figures.set(engine, value));
  }

  of(kind: string): Map<EngineName, number> {
    return this.#kinds.get(kind) ?? new Map<EngineName, number>();
  }
}
