/** Input that can never become a frame: handed to every sink that keeps such things, counted always, told now and then. */
import type { Log } from "../../base/log.ts";
import type { DeadLetter } from "../../model/origin.ts";
import type { Sink } from "../sink.ts";

export interface LetterCounts {
  kept: number;
  counted: number;
}

/** Of each source: a log full of them must not fill the log of the pipe. */
const maxLoggedLetters = 10;

export class DeadLetters {
  /** Told of each one. */
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

  /** Resolves when every sink that keeps letters has it. */
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
        ? "input that cannot be used was put aside"
        : "input that cannot be used was left out: no sink keeps dead letters",
      {
        source: letter.source,
        reason: letter.reason,
        ...(letter.origin !== undefined && {
          at: `${letter.origin.log}/${letter.origin.partition}@${letter.origin.offset}`,
        }),
        ...(count === maxLoggedLetters && { more: "not told any more, only counted" }),
      },
    );
  };
}
