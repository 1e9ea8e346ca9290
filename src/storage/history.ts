/**
 * The two storage interfaces of the hub. Writers (receivers, scrapes, rules) get a `SampleWriter`: the fan-out to
 * storage and sinks. Readers (API, rules, page) get the `History` itself: the embedded store or a remote engine
 * (Prometheus, VictoriaMetrics, Mimir, Thanos).
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
  /** True if batches are still read after their write has resolved, so that they must not be in reused shared memory. */
  readonly retainsBatches?: boolean;

  /**
   * Resolves once the batch is acknowledged: it is in the write-ahead log, or the remote engine accepted it. Throws a
   * StoreError, with nothing stored, if it cannot be stored now; the result counts permanently rejected samples.
   * @param client the owner of the series, for the limit on series per client; absent for the hub's own
   */
  write(batch: SampleBatch, client?: string): Promise<AppendResult>;

  /** Writes one frame; `extra` labels are added to every series that lacks them. Ended series get a staleness marker. */
  writeFrame(origin: FrameOrigin, extra: LabelSet, client?: string): Promise<AppendResult>;

  /** Ends a source that sends no more frames: its series get a staleness marker. */
  endSource(source: string, timeMs: number): Promise<void>;
}

export interface History extends Queryable, SampleWriter {
  /** The data folder, or the engine's URL without secrets. */
  readonly place: string;

  /** Returns the result as an API response body; absent if the store only returns values. */
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
