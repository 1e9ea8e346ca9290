/** Passes dead letters to every sink that stores them, counts all of them and logs the first few. */
import type { Log } from "../../base/log.ts";
import type { DeadLetter } from "../../model/origin.ts";
import type { Sink } from "../sink.ts";

export interface LetterCounts {
  kept: number;
  counted: number;
}

/** Per source. */
const maxLoggedLetters = 10;

export class DeadLetters {
  /** Called for each dead letter. */
  onLetter: () => void = () => {};
  readonly #keepers: readonly Sink[];
  readonly #log: Log;
  readonly #counts = new Map<string, LetterCounts>();

  constructor(sinks: readonly Sink[], log: Log) {
    this.#keepers = sinks.filter((sink) => sink.reject !== undefined);
    this.#log = log;
  }

  get counts(): ReadonlyMap<string, Readonly<LetterCounts>> {
    return this.#counts;
  }

  /** Resolves when every sink that stores dead letters has stored it. */
  readonly reject = async (letter: DeadLetter): Promise<void> => {
    await Promise.all(this.#keepers.map(async (sink) => sink.reject?.(letter)));
    const counts = this.#counts.get(letter.source) ?? { kept: 0, counted: 0 };
    this.#counts.set(letter.source, counts);
    if (this.#keepers.length > 0) counts.kept++;
    else counts.counted++;
    this.onLetter();
    const count = counts.kept + counts.counted;
    if (count > maxLoggedLetters) return;
    this.#log.warn(
      this.#keepers.length > 0
        ? "unusable input was stored as a dead letter"
        : "unusable input was dropped: no sink stores dead letters",
      {
        source: letter.source,
        reason: letter.reason,
        ...(letter.origin !== undefined && {
          at: `${letter.origin.log}/${letter.origin.partition}@${letter.origin.offset}`,
        }),
        ...(count === maxLoggedLetters && { more: "more are only counted" }),
      },
    );
  };
}
