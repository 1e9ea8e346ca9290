/**
 * The exemplars on disk: two checksummed state logs that alternate. The current one is written until it holds as many
 * exemplars as the ring; then the other is emptied and becomes the current one. The newest are always stored, nothing is
 * ever copied, and the files hold at most twice the ring.
 *
 *   record 1:  {"segment": 7}                                   the higher number is the current one
 *   record n:  [[[name, value]…], [[name, value]…], value, timeMs]…   series, labels, value as text
 */
import path from "node:path";
import * as v from "valibot";
import { formatError } from "../../base/error.ts";
import type { Log } from "../../base/log.ts";
import { StateLog } from "../../base/state/state-log.ts";
import type { StoredExemplar } from "./exemplar-store.ts";

const labels = v.array(v.tuple([v.string(), v.string()]));
const record = v.array(v.tuple([labels, labels, v.string(), v.number()]));
const header = v.object({ segment: v.number() });

interface Segment {
  readonly log: StateLog;
  number: number;
  loaded: StoredExemplar[];
  count: number;
}

export class ExemplarSegments {
  readonly #max: number;
  readonly #log: Log;
  readonly #segments: readonly [Segment, Segment];
  #isFailing = false;

  constructor(dir: string, max: number, log: Log) {
    this.#max = max;
    this.#log = log;
    this.#segments = [this.#open(dir, "a"), this.#open(dir, "b")];
  }

  /** Returns every stored exemplar, oldest first. May be called once. */
  load(): readonly StoredExemplar[] {
    const inOrder = [...this.#segments].sort((a, b) => a.number - b.number);
    const all = inOrder.flatMap(({ loaded }) => loaded);
    for (const segment of this.#segments) segment.loaded = [];
    return all.slice(-this.#max);
  }

  /** Exemplars that cannot be written to disk stay in memory only; logged when this begins and when it ends. */
  append(exemplars: readonly StoredExemplar[]): void {
    try {
      const segment = this.#current();
      segment.log.append(
        exemplars.map(({ series, labels: own, value, timeMs }) => [
          series,
          own,
          Object.is(value, -0) ? "-0" : String(value),
          timeMs,
        ]),
      );
      segment.count += exemplars.length;
      if (this.#isFailing) this.#log.info("exemplars are written to disk again");
      this.#isFailing = false;
    } catch (thrown) {
      if (!this.#isFailing)
        this.#log.warn("exemplars are held in memory only", { error: formatError(thrown) });
      this.#isFailing = true;
    }
  }

  close(): void {
    for (const { log } of this.#segments) log.close();
  }

  #open(dir: string, name: string): Segment {
    const segment: Omit<Segment, "log"> = { number: 0, loaded: [], count: 0 };
    const log = new StateLog(
      path.join(dir, `exemplars-${name}.log`),
      { log: this.#log },
      {
        reset: () => Object.assign(segment, { number: 0, loaded: [], count: 0 }),
        record: (payload) => readRecord(payload, segment),
      },
    );
    return Object.assign(segment, { log });
  }

  #current(): Segment {
    const [first, second] = this.#segments;
    const [older, newer] = first.number < second.number ? [first, second] : [second, first];
    if (newer.number > 0 && newer.count < this.#max) return newer;
    older.log.rewrite([{ segment: newer.number + 1 }]);
    older.number = newer.number + 1;
    older.count = 0;
    return older;
  }
}

function readRecord(payload: unknown, segment: Omit<Segment, "log">): boolean {
  const first = v.safeParse(header, payload);
  if (first.success) {
    segment.number = first.output.segment;
    return true;
  }
  const { success, output } = v.safeParse(record, payload);
  if (!success) return false;
  for (const [series, own, value, timeMs] of output)
    segment.loaded.push({ series, labels: own, value: Number(value), timeMs });
  segment.count += output.length;
  return true;
}
