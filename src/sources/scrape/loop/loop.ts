/** Scrapes one target at its planned times and writes each scrape as one batch. Never runs two scrapes at once. */
import { formatError } from "../../../base/error.ts";
import type { SampleBatch } from "../../../formats/samples/batch.ts";
import type { HttpClient } from "../../../net/http/client.ts";
import type { Log } from "../../../base/log.ts";
import type { ScrapeConfig } from "../config/types.ts";
import type { Target } from "../targets/target.ts";
import { BodyTooLargeError, type FetchedPage, fetchPage } from "./fetch.ts";
import { extraReports, usualReports } from "./report.ts";
import { type PageOutcome, ScrapeCache } from "./scrape-cache.ts";

/** A scrape this close to its planned time gets the planned time as its timestamp: evenly spaced timestamps need almost no storage. */
const toleranceMs = 2;

/** The first planned time after `fromMs`: a multiple of the interval since the epoch, plus the target's own offset. */
export const nextMoment = (fromMs: number, intervalMs: number, offsetMs: number): number =>
  Math.floor((fromMs - offsetMs) / intervalMs) * intervalMs + offsetMs + intervalMs;

export function alignedTime(nowMs: number, plannedMs: number, intervalMs: number): number {
  const worthIt = intervalMs > 100 * toleranceMs;
  return worthIt && Math.abs(nowMs - plannedMs) <= toleranceMs ? plannedMs : nowMs;
}

/** The planned time after the one at `plannedMs`, also if the timer fired slightly early or the clock was set. */
export function momentAfter(
  plannedMs: number,
  nowMs: number,
  intervalMs: number,
  offsetMs: number,
): number {
  const early = plannedMs - nowMs <= toleranceMs && plannedMs > nowMs;
  return nextMoment(early ? plannedMs : nowMs, intervalMs, offsetMs);
}

export interface ScrapeContext {
  /** Resolves when the batch is stored; a batch is stored whole or not at all. */
  readonly write: (batch: SampleBatch) => Promise<void>;
  readonly log: Log;
  readonly nowMs: () => number;
  readonly version: string;
  /** Hubs with different seeds scrape at different times. */
  readonly seed: string;
  /** Start times are stored, so `_created` lines do not become series. */
  readonly usesStarts?: boolean | undefined;
}

/** Settings that may change while a loop runs; read at every scrape. */
export interface LoopSettings {
  readonly config: ScrapeConfig;
  readonly client: HttpClient;
  /** Why the pool's targets are not scraped at present; undefined if they are. */
  readonly refused: string | undefined;
}

const nothing = Buffer.alloc(0);
const longestTimerMs = 2 ** 31 - 1;

export class ScrapeLoop {
  readonly target: Target;
  readonly book: ScrapeCache;
  readonly startedMs: number;
  /** The time of its last scrape; undefined before the first. */
  lastMs: number | undefined;
  /** When the loop was stopped; undefined while it runs. */
  stoppedMs: number | undefined;
  readonly #settings: () => LoopSettings;
  readonly #around: ScrapeContext;
  readonly #offsetMs: number;
  readonly #closing = new AbortController();
  #plannedMs: number;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #leftOut = "0 0";

  constructor(target: Target, settings: () => LoopSettings, around: ScrapeContext) {
    this.target = target;
    this.book = new ScrapeCache(
      target.publicLabels,
      [...usualReports, ...(settings().config.extraMetrics ? extraReports : [])],
      around.usesStarts,
    );
    this.#settings = settings;
    this.#around = around;
    this.#offsetMs = target.offsetMs(around.seed);
    this.startedMs = around.nowMs();
    this.#plannedMs = nextMoment(this.startedMs - 1, target.intervalMs, this.#offsetMs);
  }

  start(): void {
    const inMs = Math.max(0, this.#plannedMs - this.#around.nowMs());
    this.#timer = setTimeout(
      () => void (this.#running = this.#tick()),
      Math.min(inMs, longestTimerMs),
    );
  }

  /** Stops after the running scrape has finished. */
  async stop(): Promise<void> {
    this.stoppedMs ??= this.#around.nowMs();
    clearTimeout(this.#timer);
    await this.#running;
  }

  /** Stops and aborts the running scrape. */
  async abort(): Promise<void> {
    this.#closing.abort();
    await this.stop();
  }

  /** The time of the next scrape if the loop had not been stopped. */
  nextMs(): number {
    return nextMoment(this.#around.nowMs(), this.target.intervalMs, this.#offsetMs);
  }

  async #tick(): Promise<void> {
    const { nowMs, log } = this.#around;
    const { intervalMs, url } = this.target;
    // The clock was set back, or the interval is longer than a timer's maximum.
    const isEarly = this.#plannedMs - nowMs() > toleranceMs;
    if (!isEarly) {
      const timeMs = alignedTime(nowMs(), this.#plannedMs, intervalMs);
      try {
        await this.#scrape(timeMs);
      } catch (thrown) {
        log.error("scrape could not be stored", { url, error: formatError(thrown) });
      }
    }
    if (this.stoppedMs !== undefined) return;
    this.#plannedMs = momentAfter(this.#plannedMs, nowMs(), intervalMs, this.#offsetMs);
    this.start();
  }

  async #scrape(timeMs: number): Promise<void> {
    const { target, book } = this;
    const { nowMs, log, write } = this.#around;
    const startMs = performance.now();
    const { config, refused } = this.#settings();
    let page: FetchedPage | undefined;
    let problem: unknown = refused;
    if (refused === undefined)
      page = await this.#fetch().catch((thrown: unknown) => {
        problem = thrown;
        return undefined;
      });
    if (this.#closing.signal.aborted) return;
    const outcome = book.takePage(
      page?.body ?? nothing,
      page?.contentType,
      timeMs,
      nowMs(),
      config,
    );
    problem ??= outcome.error;
    const durationSeconds = (performance.now() - startMs) / 1_000;
    const error = problem === undefined ? "" : formatError(problem);
    this.#report(timeMs, durationSeconds, problem === undefined, outcome, bodyBytes(page, problem));
    target.last = {
      health: problem === undefined ? "up" : "down",
      error,
      timeMs,
      durationSeconds,
    };
    this.lastMs = timeMs;
    if (log.isDebug === true)
      log.debug("scrape", {
        url: target.url,
        status: page?.status,
        samples: outcome.scraped,
        bytes: page?.body.length,
        tookMs: Math.round(durationSeconds * 1e5) / 100,
        ...(error !== "" && { error }),
      });
    this.#tellLeftOut(outcome);
    await write(book.finish());
  }

  /** Logs dropped samples when they begin or change, since most pages repeat them. */
  #tellLeftOut({ duplicates, outOfBounds }: PageOutcome): void {
    const leftOut = `${duplicates} ${outOfBounds}`;
    if (leftOut === this.#leftOut) return;
    this.#leftOut = leftOut;
    const { log } = this.#around;
    const { url } = this.target;
    if (duplicates > 0 || outOfBounds > 0)
      log.warn("samples dropped", {
        url,
        twiceOnThePage: duplicates,
        inTheFuture: outOfBounds,
      });
    else log.info("samples no longer dropped", { url });
  }

  #fetch(): Promise<FetchedPage> {
    const { config, client } = this.#settings();
    return fetchPage(this.target, config, client, {
      version: this.#around.version,
      signal: this.#closing.signal,
    });
  }

  #report(
    timeMs: number,
    durationSeconds: number,
    isUp: boolean,
    { scraped, kept, seriesAdded }: PageOutcome,
    bytes: number,
  ): void {
    const { book, target } = this;
    const { config } = this.#settings();
    book.report("up", timeMs, isUp ? 1 : 0);
    book.report("scrape_duration_seconds", timeMs, durationSeconds);
    book.report("scrape_samples_scraped", timeMs, scraped);
    book.report("scrape_samples_post_metric_relabeling", timeMs, kept);
    book.report("scrape_series_added", timeMs, seriesAdded);
    if (!config.extraMetrics) return;
    book.report("scrape_timeout_seconds", timeMs, target.timeoutMs / 1_000);
    book.report("scrape_sample_limit", timeMs, config.limits.samples);
    book.report("scrape_body_size_bytes", timeMs, bytes);
  }
}

/** -1 if the page was too large to count. */
const bodyBytes = (page: FetchedPage | undefined, problem: unknown): number =>
  problem instanceof BodyTooLargeError ? -1 : (page?.body.length ?? 0);
