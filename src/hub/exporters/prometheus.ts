/**
 * GPUs of an existing Prometheus, without an agent: reads the series of its GPU exporters, as the newest samples every few
 * seconds and, once at the start, a few hours of history. Read-only, one query per second at most.
 */
import { formatError } from "../../base/error.ts";
import type { Log } from "../../base/log.ts";
import { pause } from "../../base/retry.ts";
import { exporterNames } from "../../formats/exporters/list.ts";
import { ownGpuNames } from "../../formats/exporters/translate.ts";
import type { SampleBatch } from "../../formats/samples/batch.ts";
import { BatchBuilder } from "../../formats/samples/builder.ts";
import { labelValue } from "../../model/labels.ts";
import type { MatrixSeries, QueryData } from "../../query/result.ts";
import type { StoreAddress } from "../../storage/remote/address.ts";
import { EngineConnection } from "../../storage/remote/connection.ts";
import { readResult } from "../../storage/remote/response.ts";
import type { History } from "../../storage/history.ts";
import type { ExporterGpus } from "./exporters.ts";

export interface PrometheusGpusOptions {
  readonly address: StoreAddress;
  readonly exporters: ExporterGpus;
  /** Stores the translated samples; queried first for samples of an earlier run. */
  readonly history: Pick<History, "instant">;
  readonly log: Log;
  readonly nowMs: () => number;
}

const pollMs = 15_000;
/** Covers the usual scrape interval of one minute, so that no poll misses a scrape. */
const windowMs = 90_000;
/** If reading the history takes long, at most this much of the time meanwhile is caught up afterwards. */
const mostMissedMs = 15 * 60_000;
const namesEveryMs = 5 * 60_000;
const timeoutMs = 20_000;
/** Limits the rate to one query per second. */
const betweenQueriesMs = 1_000;
const historyMs = 6 * 3_600_000;
const leastStepMs = 60_000;
/** Bounds the points of the history in total: a large fleet is read with a longer step. */
const mostHistoryPoints = 4_000_000;

/** VictoriaMetrics accepts queries of up to 16 KiB. */
const mostNameBytes = 8_000;

/** Groups the names into regular expression alternations short enough for the engines. */
function portionsOf(names: readonly string[]): string[] {
  const portions: string[] = [];
  for (const name of names.map(escapeRegex)) {
    const last = portions.at(-1);
    if (last === undefined || last.length + name.length >= mostNameBytes) portions.push(name);
    else portions[portions.length - 1] = `${last}|${name}`;
  }
  return portions;
}

export class PrometheusGpus {
  readonly #options: PrometheusGpusOptions;
  readonly #connection: EngineConnection;
  readonly #stopped = new AbortController();
  readonly #running: Promise<void>;
  #names: readonly string[] = [];
  #problem: string | undefined;
  #shownMs = -Infinity;

  constructor(options: PrometheusGpusOptions) {
    this.#options = options;
    this.#connection = new EngineConnection(options.address);
    this.#running = this.#run();
  }

  problems(): readonly string[] {
    return this.#problem === undefined ? [] : [this.#problem];
  }

  async close(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
    this.#connection.close();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    const { nowMs } = this.#options;
    let [hasHistory, namesAtMs] = [false, -Infinity];
    while (!signal.aborted) {
      const startMs = nowMs();
      try {
        if (startMs - namesAtMs >= namesEveryMs) {
          await this.#findNames();
          namesAtMs = startMs;
        }
        // Shown at once, but stored after the history, so that no sample is out of order.
        if (!hasHistory) {
          await this.#show();
          await this.#readHistory(startMs);
          await this.#rest();
        }
        const sinceMs = hasHistory ? 0 : nowMs() - startMs;
        await this.#options.exporters.observe(await this.#newest(sinceMs), { storesOwn: true });
        hasHistory = true;
        this.#report(undefined);
      } catch (thrown) {
        if (signal.aborted) return;
        this.#report(formatError(thrown));
      }
      await pause(Math.max(betweenQueriesMs, startMs + pollMs - nowMs()), signal);
    }
  }

  /** Finds which metric names of the exporter tables exist. */
  async #findNames(): Promise<void> {
    const found: string[] = [];
    for (const names of portionsOf([...exporterNames.keys(), ...ownGpuNames])) {
      const data = await this.#query("query", {
        query: `count by (__name__) ({__name__=~"${names}"})`,
      });
      if (data.type === "vector")
        found.push(...data.samples.flatMap(({ labels }) => labelValue(labels, "__name__") ?? []));
      await this.#rest();
    }
    this.#names = found.sort();
    if (this.#names.length === 0)
      throw new Error(
        "it has no series of a GPU exporter that gpulse knows: check that it scrapes one, such as dcgm-exporter",
      );
  }

  /** Reads raw samples with their own timestamps: the polling window, plus `sinceMs` before it. */
  async #newest(sinceMs = 0): Promise<SampleBatch> {
    const rangeMs = windowMs + Math.min(Math.round(sinceMs), mostMissedMs);
    const data = await this.#query("query", { query: `${this.#selector()}[${rangeMs}ms]` });
    return batchOf(data);
  }

  async #show(): Promise<void> {
    const newest = await this.#newest();
    this.#shownMs = this.#options.nowMs();
    await this.#options.exporters.observe(newest, { isStored: false, storesOwn: true });
  }

  /** Reads the last hours, one metric at a time, at a step that bounds the total number of points. */
  async #readHistory(endMs: number): Promise<void> {
    const { exporters, history, log } = this.#options;
    const stored = await history.instant(`count(last_over_time(gpu_up[${historyMs}ms]))`, endMs);
    if (stored.data.type === "vector" && stored.data.samples.length > 0) return;
    const counted = await this.#query("query", { query: `count(${this.#selector()})` });
    const series = counted.type === "vector" ? (counted.samples[0]?.value ?? 0) : 0;
    const stepMs = Math.max(
      leastStepMs,
      Math.ceil((historyMs * series) / mostHistoryPoints / 1_000) * 1_000,
    );
    log.info("reading history from Prometheus", { series, hours: historyMs / 3_600_000, stepMs });
    for (const name of this.#names) {
      await this.#rest();
      // A large fleet's history takes longer to read than its GPUs stay fresh.
      if (this.#options.nowMs() - this.#shownMs >= pollMs) {
        await this.#show();
        await this.#rest();
      }
      const data = await this.#query("query_range", {
        query: `{__name__="${name}"}`,
        start: String((endMs - historyMs) / 1_000),
        end: String((endMs - stepMs) / 1_000),
        step: String(stepMs / 1_000),
      });
      await exporters.observe(batchOf(data), { isShown: false, storesOwn: true });
    }
    log.info("history from Prometheus is read");
  }

  #selector(): string {
    return `{__name__=~"${this.#names.map(escapeRegex).join("|")}"}`;
  }

  async #query(path: string, form: Readonly<Record<string, string>>): Promise<QueryData> {
    const answer = await this.#connection.post(`${this.#options.address.base}/api/v1/${path}`, {
      form: new URLSearchParams(form),
      timeoutMs,
      signal: this.#stopped.signal,
    });
    return readResult(answer).data;
  }

  #rest(): Promise<void> {
    return pause(betweenQueriesMs, this.#stopped.signal);
  }

  /** Logs changes only, not every poll. */
  #report(why: string | undefined): void {
    const problem =
      why === undefined ? undefined : `Prometheus ${this.#options.address.base}: ${why}`;
    if (problem === this.#problem) return;
    this.#problem = problem;
    if (problem === undefined) this.#options.log.info("GPUs are read from Prometheus again");
    else this.#options.log.warn("GPUs cannot be read from Prometheus", { error: problem });
  }
}

const escapeRegex = (text: string): string => text.replaceAll(".", "\\\\.");

/** Converts the query result, series by series; a vector yields one sample per series. */
export function batchOf(data: QueryData): SampleBatch {
  const builder = new BatchBuilder();
  const all: readonly MatrixSeries[] = data.type === "matrix" ? data.series : [];
  for (const { labels, times, values } of all) {
    const series = builder.series(labels);
    for (let at = 0; at < times.length; at++)
      builder.add(series, times[at] as number, values[at] as number);
  }
  return builder.finish();
}
