/**
 * What a line of the benchmark table is: one figure of ours beside the same figure of a peer, taken in the same run. Never a
 * figure alone, since what a machine does in a second depends on who else is on it.
 */

/** How steady a figure is on a shared machine: it decides how narrow its band may be at best. */
export type FigureKind = "bytes" | "memory" | "processor" | "time";

export interface Measurement {
  /** `area.figure`; the raw output and `--check` name it so. */
  readonly id: string;
  readonly what: string;
  readonly peer: string;
  readonly kind: FigureKind;
  /** What is better for us: a lower ratio (a cost) or a higher one (a rate). */
  readonly better: "lower" | "higher";
  readonly unit: string;
  /** Why we are behind and what would change it; shown where the ratio is on the wrong side of 1. */
  readonly behind?: string;
}

/** One alternating round: our figure and the peer's. */
export type Round = readonly [ours: number, theirs: number];

export interface Context {
  /** Larger sizes and more rounds. */
  readonly full: boolean;
  readonly put: (id: string, ours: number, theirs: number) => void;
  readonly progress: (text: string) => void;
  /** The figures come from a run on another machine, as this sentence reports. */
  readonly elsewhere: (sentence: string) => void;
}

export interface Area {
  readonly name: string;
  readonly title: string;
  /** How it is measured, as the page reports it. */
  readonly about: string;
  /** A longer benchmark of the same thing, with more figures. */
  readonly more?: string;
  readonly measurements: readonly Measurement[];
  readonly measure: (context: Context) => Promise<void>;
}

export const commandOf = (area: Area): string => `npm run bench -- --only ${area.name}`;

/** A measurement made from its area's name and a few words. */
export function line(
  id: string,
  what: string,
  peer: string,
  kind: FigureKind,
  unit: string,
  more: { readonly better?: "higher"; readonly behind?: string } = {},
): Measurement {
  const { better = "lower", behind } = more;
  return { id, what, peer, kind, unit, better, ...(behind === undefined ? {} : { behind }) };
}

/** Does each round's halves in turn: ours first in even rounds, the peer's first in odd ones. */
export async function alternate(
  rounds: number,
  ours: (round: number) => Promise<void>,
  theirs: (round: number) => Promise<void>,
): Promise<void> {
  for (let round = 0; round < rounds; round++)
    for (const half of round % 2 === 0 ? [ours, theirs] : [theirs, ours]) await half(round);
}
