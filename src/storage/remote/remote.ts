/**
 * A history in a remote engine: reads are sent as PromQL, writes as remote-write. Caches no data, so that a result is
 * never older than the engine's own.
 */
import type { SampleBatch } from "../../formats/samples/batch.ts";
import { type FrameBatch, FrameSamples } from "../../formats/samples/from-frame.ts";
import { GpulseError, formatError } from "../../base/error.ts";
import type { HttpResponse } from "../../net/http/request.ts";
import type { Log } from "../../base/log.ts";
import type { LabelSet } from "../../model/labels.ts";
import { typeOf } from "../../query/check.ts";
import type { QueryOptions } from "../../query/engine.ts";
import { QueryError } from "../../query/errors.ts";
import { parse } from "../../query/parse/parse.ts";
import type { QueryResult } from "../../query/result.ts";
import { StoreError } from "../embedded/error.ts";
import type { FrameOrigin } from "../embedded/frames.ts";
import type { AppendResult } from "../embedded/options.ts";
import type { Matcher, SelectedSeries } from "../../model/select.ts";
import type { History } from "../history.ts";
import type { StoreAddress } from "./address.ts";
import { labelsOf, readResponse, readResult, textsOf } from "./response.ts";
import { clampMs, secondsText, selectorText } from "./parameters.ts";
import { EngineConnection } from "./connection.ts";
import { type DetectedEngine, findEngine, writeHeaders } from "./find.ts";
import { selectRaw } from "./raw.ts";
import { RemoteWriter } from "./writer.ts";

type Sets = readonly (readonly Matcher[])[];

const queryTimeoutMs = 120_000;
/** Time beyond the deadline in which the engine can report the timeout itself. */
const graceMs = 5_000;
const writeTimeoutMs = 30_000;

export class RemoteHistory implements History {
  readonly place: string;
  readonly #address: StoreAddress;
  readonly #connection: EngineConnection;
  readonly #writer: RemoteWriter;
  readonly #frames = new FrameSamples();
  #engine: DetectedEngine | undefined;
  #finding: Promise<DetectedEngine> | undefined;
  #closed = false;
  #problem: string | undefined;

  constructor(address: StoreAddress) {
    this.#address = address;
    this.place = address.base;
    this.#connection = new EngineConnection(address);
    this.#writer = new RemoteWriter({
      send: (body) => this.#send(body),
      refusesWhole: () => this.#engine?.name === "prometheus",
    });
  }

  /** Returns the detected engine; detection is repeated until it succeeds. */
  engine(): Promise<DetectedEngine> {
    if (this.#closed) return Promise.reject(new StoreError("closed", "the store is closed"));
    if (this.#engine !== undefined) return Promise.resolve(this.#engine);
    this.#finding ??= findEngine(this.#connection, this.#address)
      .then((found) => (this.#engine = found))
      .finally(() => (this.#finding = undefined));
    return this.#finding;
  }

  /** While the hub runs, an engine that becomes unsuitable after a restart counts as unavailable. */
  #found(): Promise<DetectedEngine> {
    return this.engine().catch((thrown: unknown) => {
      throw thrown instanceof GpulseError
        ? new StoreError("unavailable", thrown.message, { cause: thrown })
        : thrown;
    });
  }

  /** Why the newest write failed; undefined if it succeeded. */
  get problem(): string | undefined {
    return this.#problem;
  }

  async write(batch: SampleBatch): Promise<AppendResult> {
    try {
      const result = await this.#writer.write(batch);
      this.#problem = undefined;
      return result;
    } catch (thrown) {
      this.#problem = formatError(thrown);
      throw thrown;
    }
  }

  async writeFrame(origin: FrameOrigin, extra: LabelSet): Promise<AppendResult> {
    return this.#keep(this.#frames.take(origin, extra));
  }

  async endSource(source: string, timeMs: number): Promise<void> {
    await this.#keep(this.#frames.end(source, timeMs));
  }

  async instant(query: string, timeMs: number, options: QueryOptions = {}): Promise<QueryResult> {
    const fields = { query, time: secondsText(timeMs) };
    return asScalar(query, await this.#ask("query", fields, options));
  }

  async range(
    query: string,
    startMs: number,
    endMs: number,
    stepMs: number,
    options: QueryOptions = {},
  ): Promise<QueryResult> {
    const [start, end, step] = [startMs, endMs, stepMs].map(secondsText) as [
      string,
      string,
      string,
    ];
    return this.#ask("query_range", { query, start, end, step }, options);
  }

  async select(
    matchers: readonly Matcher[],
    fromMs: number,
    toMs: number,
    signal?: AbortSignal,
  ): Promise<readonly SelectedSeries[]> {
    return selectRaw(this.#connection, await this.#found(), { matchers, fromMs, toMs, signal });
  }

  async labelNames(sets: Sets, fromMs: number, toMs: number): Promise<readonly string[]> {
    return textsOf(await this.#list("labels", sets, fromMs, toMs)).sort();
  }

  async labelValues(
    name: string,
    sets: Sets,
    fromMs: number,
    toMs: number,
  ): Promise<readonly string[]> {
    const path = `label/${encodeURIComponent(name)}/values`;
    return textsOf(await this.#list(path, sets, fromMs, toMs)).sort();
  }

  async series(sets: Sets, fromMs: number, toMs: number): Promise<readonly LabelSet[]> {
    const data = await this.#list("series", sets.length === 0 ? [[]] : sets, fromMs, toMs);
    return Array.isArray(data) ? data.map(labelsOf) : [];
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#writer.idle();
    this.#connection.close();
  }

  #keep({ batch, undo }: FrameBatch): Promise<AppendResult> {
    return this.write(batch).catch((thrown: unknown) => {
      undo();
      throw thrown;
    });
  }

  async #ask(
    path: "query" | "query_range",
    fields: Readonly<Record<string, string>>,
    { timeoutMs = queryTimeoutMs, lookbackMs, signal }: QueryOptions,
  ): Promise<QueryResult> {
    const engine = await this.#found();
    const began = performance.now();
    const form = new URLSearchParams({
      ...fields,
      timeout: `${Math.ceil(timeoutMs)}ms`,
      ...engineFields(engine, lookbackMs),
    });
    const answer = await this.#connection
      .post(`${engine.readBase}/api/v1/${path}`, { form, timeoutMs: timeoutMs + graceMs, signal })
      .catch((thrown: unknown) => {
        throw isTimeout(thrown)
          ? new QueryError("timeout", "query timed out while the store was queried", {
              cause: thrown,
            })
          : thrown;
      });
    const result = readResult(answer);
    return { ...result, stats: { ...result.stats, evalMs: performance.now() - began } };
  }

  async #list(path: string, sets: Sets, fromMs: number, toMs: number): Promise<unknown> {
    const { readBase } = await this.#found();
    const form = new URLSearchParams();
    for (const set of sets) form.append("match[]", selectorText(set));
    form.set("start", secondsText(clampMs(fromMs)));
    form.set("end", secondsText(clampMs(toMs)));
    const url = `${readBase}/api/v1/${path}`;
    const call = { timeoutMs: queryTimeoutMs };
    // Engines accept only GET for label values.
    const answer = path.startsWith("label/")
      ? await this.#connection.get(`${url}?${form.toString()}`, call)
      : await this.#connection.post(url, { ...call, form });
    return readResponse(answer).data;
  }

  async #send(body: Uint8Array): Promise<HttpResponse> {
    const { writeUrl } = await this.#found();
    return this.#connection.post(writeUrl, {
      body,
      headers: writeHeaders,
      timeoutMs: writeTimeoutMs,
      maxBytes: 1024 * 1024,
    });
  }
}

/** VictoriaMetrics returns a scalar as a vector with one sample. */
function asScalar(query: string, result: QueryResult): QueryResult {
  const { data } = result;
  if (data.type !== "vector" || data.samples.length !== 1) return result;
  const [only] = data.samples;
  if (only === undefined || only.labels.length > 0 || !isScalar(query)) return result;
  return { ...result, data: { type: "scalar", timeMs: only.timeMs, value: only.value } };
}

/** Returns false for a query that only the engine can parse. */
function isScalar(query: string): boolean {
  try {
    return typeOf(parse(query)) === "scalar";
  } catch {
    return false;
  }
}

/** Without these fields, VictoriaMetrics omits the last half minute and uses its cache. */
function engineFields(
  { name }: DetectedEngine,
  lookbackMs: number | undefined,
): Record<string, string> {
  if (name === "victoria-metrics")
    return {
      nocache: "1",
      ...(lookbackMs === undefined ? {} : { max_lookback: `${lookbackMs}ms` }),
    };
  return {
    stats: "true",
    ...(lookbackMs === undefined ? {} : { lookback_delta: `${lookbackMs}ms` }),
  };
}

const isTimeout = (thrown: unknown): boolean =>
  thrown instanceof StoreError &&
  thrown.cause instanceof Error &&
  "kind" in thrown.cause &&
  thrown.cause.kind === "timeout";

/** An unreachable engine is tried again with every request; a reachable but unsuitable one is an error at startup. */
export async function openRemoteHistory(address: StoreAddress, log: Log): Promise<RemoteHistory> {
  const history = new RemoteHistory(address);
  try {
    const { name, version, writeUrl } = await history.engine();
    log.info("using a remote store", {
      store: address.base,
      engine: name,
      version,
      writes: writeUrl,
    });
  } catch (thrown) {
    if (!(thrown instanceof StoreError)) {
      await history.close();
      throw thrown;
    }
    log.warn("remote store unavailable: every request tries it again", {
      store: address.base,
      error: thrown.message,
    });
  }
  return history;
}
