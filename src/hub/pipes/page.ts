/** Parses a pipe's own `/metrics` page, as far as the hub shows it. Pure. */

export interface PipeSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface PipeCounts {
  readonly frames: number;
  readonly deadLetters: number;
  /** Lag of the slowest source; undefined if none reports it. */
  readonly lagSeconds: number | undefined;
  readonly lagRecords: number | undefined;
}

const line =
  /^(gpulse_pipe_(?:frames_total|lag_seconds|lag_records|dead_letters_total))(?:\{(.*)\})? (\S+)(?: \d+)?$/gm;
const maxSamples = 1_000;

export function pipeSamples(page: string): readonly PipeSample[] {
  return Array.from(page.matchAll(line), ([, name = "", labels = "", value = ""]) => ({
    name,
    labels: Object.fromEntries(
      Array.from(labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g), ([, key = "", text = ""]) => [
        key,
        text.replaceAll(/\\(.)/g, (_whole, letter: string) => (letter === "n" ? "\n" : letter)),
      ]),
    ),
    value: Number(value),
  }))
    .filter(({ value }) => Number.isFinite(value))
    .slice(0, maxSamples);
}

export function countsIn(samples: readonly PipeSample[]): PipeCounts {
  const of = (wanted: string): readonly number[] =>
    samples.flatMap(({ name, value }) => (name === `gpulse_pipe_${wanted}` ? [value] : []));
  const sum = (values: readonly number[]): number => values.reduce((all, one) => all + one, 0);
  const [lags, records] = [of("lag_seconds"), of("lag_records")];
  return {
    frames: sum(of("frames_total")),
    deadLetters: sum(of("dead_letters_total")),
    lagSeconds: lags.length === 0 ? undefined : Math.max(...lags),
    lagRecords: records.length === 0 ? undefined : sum(records),
  };
}
