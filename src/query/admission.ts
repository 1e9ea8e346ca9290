/** Lets a bounded number of queries run at once, and bounds the samples they hold together. Waiting is first come, first served. */
import { setTimeout } from "node:timers";
import { failed, QueryError } from "./errors.ts";

export interface AdmissionOptions {
  readonly maxConcurrent: number;
  readonly maxSamplesTogether: number;
}

export class Admission {
  private readonly options: AdmissionOptions;
  private readonly waiting = new Set<() => void>();
  private running = 0;
  private samples = 0;

  constructor(options: AdmissionOptions) {
    this.options = options;
  }

  get runningQueries(): number {
    return this.running;
  }

  /** Resolves when it is the query's turn. What was entered must be left. */
  async enter(timeoutMs: number, signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted === true) throw canceled();
    if (this.running < this.options.maxConcurrent) {
      this.running++;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const done = (): void => {
        this.waiting.delete(admit);
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
        reject(new QueryError("timeout", "query timed out in query queue"));
      }, timeoutMs);
      signal?.addEventListener("abort", onAbort);
      this.waiting.add(admit);
    });
  }

  /** Hands the place on to who has waited longest. */
  leave(): void {
    const [next] = this.waiting;
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
}

function canceled(): QueryError {
  return new QueryError("canceled", "query was canceled in query queue");
}
