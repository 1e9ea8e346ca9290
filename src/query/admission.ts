/**
 * Lets a bounded number of queries run at once, and bounds the samples they hold together. Waiting is first come, first served;
 * those that can be asked again wait behind those that cannot, no longer than they say, and not in any number.
 */
import { setTimeout } from "node:timers";
import { failed, QueryError, QueryShed } from "./errors.ts";

export interface AdmissionOptions {
  readonly maxConcurrent: number;
  readonly maxSamplesTogether: number;
  /** Places for values, filled or not; without a bound where absent. */
  readonly maxCellsTogether?: number;
  /** Of those with a patience; 1,000 where absent. */
  readonly maxWaiting?: number;
}

const defaultMaxWaiting = 1_000;

export class Admission {
  private readonly options: AdmissionOptions;
  /** Rules and the like: nobody would ask again for them. */
  private readonly first = new Set<() => void>();
  private readonly waiting = new Set<() => void>();
  private running = 0;
  private samples = 0;
  private cells = 0;

  constructor(options: AdmissionOptions) {
    this.options = options;
  }

  get runningQueries(): number {
    return this.running;
  }

  /**
   * Resolves when it is the query's turn. What was entered must be left.
   * @param patienceMs of somebody who can ask again: how long it may wait at most
   */
  async enter(
    timeoutMs: number,
    signal: AbortSignal | undefined,
    patienceMs?: number,
  ): Promise<void> {
    if (signal?.aborted === true) throw canceled();
    if (this.running < this.options.maxConcurrent) {
      this.running++;
      return;
    }
    const line = patienceMs === undefined ? this.first : this.waiting;
    if (line === this.waiting && line.size >= (this.options.maxWaiting ?? defaultMaxWaiting))
      throw new QueryShed("too many queries wait for their turn: ask again later");
    const waitMs = Math.min(timeoutMs, patienceMs ?? Infinity);
    await new Promise<void>((resolve, reject) => {
      const done = (): void => {
        line.delete(admit);
        clearTimeout(timer);
        signal?.removeEventListener("abort", onAbort);
      };
      const admit = (): void => {
        done();
        resolve();
      };
      const onAbort = (): void => {
        done();
        reject(canceled());
      };
      const timer = setTimeout(() => {
        done();
        reject(new QueryShed("query timed out in query queue"));
      }, waitMs);
      signal?.addEventListener("abort", onAbort);
      line.add(admit);
    });
  }

  /** Hands the place on to who has waited longest. */
  leave(): void {
    const [next] = this.first.size > 0 ? this.first : this.waiting;
    if (next === undefined) this.running--;
    else next();
  }

  hold(samples: number): void {
    this.samples += samples;
    if (this.samples <= this.options.maxSamplesTogether) return;
    throw failed(
      "the queries now running would load too many samples into memory together; try again when others have finished",
    );
  }

  release(samples: number): void {
    this.samples -= samples;
  }

  room(cells: number): void {
    this.cells += cells;
    if (this.cells <= (this.options.maxCellsTogether ?? Infinity)) return;
    throw failed(
      "the queries now running would need too much memory together; try again when others have finished",
    );
  }

  giveRoom(cells: number): void {
    this.cells -= cells;
  }
}

function canceled(): QueryError {
  return new QueryError("canceled", "query was canceled in query queue");
}
