/**
 * A line of the benchmark table: one value of ours beside the same value of a peer, measured in the same run. Never a value
 * alone, since the speed of a shared machine depends on its other load.
 */

/** How steady a value is on a shared machine, which limits how narrow its band can be. */
export type FigureKind = "bytes" | "memory" | "processor" | "time";

export interface Measurement {
  /** `area.figure`; its name in the raw output and in `--check`. */
  readonly id: string;
  readonly what: string;
  readonly peer: string;
  readonly kind: FigureKind;
  /** Whether a lower ratio (a cost) or a higher one (a rate) is better for us. */
  readonly better: "lower" | "higher";
  readonly unit: string;
  /** Why we are behind and what would change it; printed if the ratio is on the wrong side of 1. */
  readonly behind?: string;
}

/** One alternating round: our value and the peer's. */
export type Round = readonly [ours: number, theirs: number];

export interface Context {
  /** Larger sizes and more rounds. */
  readonly full: boolean;
  readonly put: (id: string, ours: number, theirs: number) => void;
  readonly progress: (text: string) => void;
  /** Declares, with a sentence for the page, that the values come from a run on another machine. */
  readonly elsewhere: (sentence: string) => void;
}

export interface Area {
  readonly name: string;
  readonly title: string;
  /** How it is measured, printed on the page. */
  readonly about: string;
  /** A longer benchmark of the same thing, with more values. */
  readonly more?: string;
  readonly measurements: readonly Measurement[];
  readonly measure: (context: Context) => Promise<void>;
}

export const commandOf = (area: Area): string => `npm run bench -- --only ${area.name}`;

/** Creates a measurement from its area's name and a few words. */
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

/** Alternates the halves of each round: ours first in even rounds, the peer's first in odd ones. */
export async function alternate(
  rounds: number,
  ours: (round: number) => Promise<void>,
  theirs: (round: number) => Promise<void>,
): Promise<void> {
  for (let round = 0; round < rounds; round++)
    for (const half of round % 2 === 0 ? [ours, theirs] : [theirs, ours]) await half(round);
}
