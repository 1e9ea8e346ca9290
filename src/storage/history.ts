/**
 * The two storage interfaces of the hub. Writers (receivers, scrapes, rules) get a `SampleWriter`: the fan-out to storage
 * and sinks. Readers (API, rules, page) get the `History` itself: the embedded store or an engine elsewhere (Prometheus,
 * VictoriaMetrics, Mimir, Thanos).
 */
import type { SampleBatch } from "../formats/samples/batch.ts";
import type { LabelSet } from "../model/labels.ts";
import type { QueryOptions, QueryRequest, ResponseBody } from "../query/engine.ts";
import type { ResponseFormat } from "../query/response.ts";
import type { QueryResult } from "../query/result.ts";
import type { FrameOrigin } from "./embedded/frames.ts";
import type { AppendResult } from "./embedded/options.ts";
import type { Queryable } from "../model/select.ts";

export interface SampleWriter {
  /** Uses batches after their write has resolved: they must not stand on shared memory. */
  readonly retainsBatches?: boolean;

  /**
   * Resolves once the batch is acknowledged: it is in the write-ahead log, or the remote engine accepted it. Throws a
   * StoreError, with nothing stored, when it cannot be stored now; samples refused for good are counted in the result.
   * @param client the owner of the series, for the limit on series per client; absent for the hub's own
   */
  write(batch: SampleBatch, client?: string): Promise<AppendResult>;

  /** Writes one frame; `extra` labels are added to every series that lacks them. Series that ended are marked stale. */
  writeFrame(origin: FrameOrigin, extra: LabelSet, client?: string): Promise<AppendResult>;

  /** No more frames will come from this source: its series are marked stale. */
  endSource(source: string, timeMs: number): Promise<void>;
}

export interface History extends Queryable, SampleWriter {
  /** The data folder, or the engine's URL without its secrets. */
  readonly place: string;

  /** The result as the body of a response of the API; absent where only values come back. */
  answer?(
    request: QueryRequest,
    options: QueryOptions,
    format: ResponseFormat,
  ): Promise<ResponseBody>;

  instant(query: string, timeMs: number, options?: QueryOptions): Promise<QueryResult>;
  range(
    query: string,
    startMs: number,
    endMs: number,
    stepMs: number,
    options?: QueryOptions,
  ): Promise<QueryResult>;

  close(): Promise<void>;
}
