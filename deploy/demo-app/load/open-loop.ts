// Sends each request when it is due and never waits for a response before the next: a slow service gets the same arrivals as a
// fast one. Requests in flight are bounded; dropped ones are counted.

import { type Log, reasonOf } from "../run/log.ts";
import type { LoadMetrics } from "./metrics.ts";
import { type Pattern, rateAt, Schedule } from "./pattern.ts";
import { type Asked, drawRequest, type Mix } from "./requests.ts";

const KNOWN_JOBS = 200;
const LONGEST_SLEEP_MS = 250;

export interface OpenLoopHow {
  readonly url: string;
  readonly pattern: Pattern;
  readonly mix: Mix;
  readonly maxInFlight: number;
  readonly timeoutSeconds: number;
  readonly metrics: LoadMetrics;
  readonly log: Log;
  readonly random: () => number;
  readonly nowSeconds: () => number;
}

export class OpenLoop {
  readonly #how: OpenLoopHow;
  readonly #schedule: Schedule;
  readonly #inFlight = new Set<Promise<void>>();
  readonly #known: string[] = [];
  #timer: NodeJS.Timeout | undefined;
  #pattern: Pattern;

  constructor(how: OpenLoopHow) {
    this.#how = how;
    this.#pattern = how.pattern;
    this.#schedule = new Schedule(how.pattern, how.nowSeconds(), how.random);
  }

  get inFlight(): number {
    return this.#inFlight.size;
  }

  /** The current rate in requests per second. */
  get rate(): number {
    return rateAt(this.#schedule.pattern, this.#how.nowSeconds());
  }

  start(): void {
    const turn = (): void => {
      for (const due of this.#schedule.take(this.#how.nowSeconds())) this.#arrive(due);
      const waitMs = (this.#schedule.nextSeconds - this.#how.nowSeconds()) * 1000;
      this.#timer = setTimeout(turn, Math.min(LONGEST_SLEEP_MS, Math.max(0, waitMs)));
    };
    turn();
  }

  setRate(rate: number): void {
    this.#pattern = { ...this.#pattern, rate };
    this.resume();
  }

  pause(): void {
    this.#schedule.change({ ...this.#pattern, rate: 0 }, this.#how.nowSeconds());
  }

  resume(): void {
    this.#schedule.change(this.#pattern, this.#how.nowSeconds());
  }

  /** Stops arrivals and waits for the responses in flight. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    await Promise.all(this.#inFlight);
  }

  #arrive(dueSeconds: number): void {
    const { metrics, mix, random, nowSeconds, maxInFlight } = this.#how;
    metrics.arrivals.inc();
    metrics.lag.observe(Math.max(0, nowSeconds() - dueSeconds));
    if (this.#inFlight.size >= maxInFlight) {
      metrics.dropped.inc();
      return;
    }
    const sent = this.#send(drawRequest(mix, this.#known, random), dueSeconds).finally(() =>
      this.#inFlight.delete(sent),
    );
    this.#inFlight.add(sent);
  }

  async #send(asked: Asked, dueSeconds: number): Promise<void> {
    const { url, timeoutSeconds, metrics, log, nowSeconds } = this.#how;
    let status = "error";
    try {
      const response = await fetch(`${url}${asked.path}`, {
        method: asked.method,
        signal: AbortSignal.timeout(timeoutSeconds * 1000),
        ...(asked.body === undefined
          ? {}
          : { body: asked.body, headers: { "content-type": "application/json" } }),
      });
      await response.arrayBuffer();
      status = `${response.status}`;
      const id = response.headers.get("x-job-id");
      if (response.ok && id !== null) this.#remember(id);
    } catch (error) {
      log.debug("no answer", { kind: asked.kind, error: reasonOf(error) });
    }
    metrics.requests.inc({ status });
    metrics.seconds.observe({ kind: asked.kind }, Math.max(0, nowSeconds() - dueSeconds));
  }

  #remember(id: string): void {
    this.#known.push(id);
    if (this.#known.length > KNOWN_JOBS) this.#known.shift();
  }
}
