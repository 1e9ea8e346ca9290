/**
 * What the hub keeps and asks: the one interface that receivers, scrapes, rules, the API and the page stand on. The
 * embedded store is one kind, an engine elsewhere (Prometheus, VictoriaMetrics, Mimir, Thanos) the other.
 */
import type { SampleBatch } from "../formats/samples/batch.ts";
import type { LabelSet } from "../model/labels.ts";
import type { QueryOptions } from "../query/engine.ts";
import type { QueryResult } from "../query/result.ts";
import type { FrameOrigin } from "./embedded/frames.ts";
import type { AppendResult } from "./embedded/options.ts";
import type { Queryable } from "../model/select.ts";

export interface History extends Queryable {
  /** Where it is: a folder, or the engine's URL without its secrets. */
  readonly place: string;

  /**
   * Keeps a batch. Resolves when it is acknowledged: the log holds it, or the engine has answered for it. Throws a
   * StoreError, with nothing kept, when it cannot be kept now; what is refused for good is counted in the result.
   * @param client whose series they are, for the limit on series per client; absent for the hub's own
   */
  write(batch: SampleBatch, client?: string): Promise<AppendResult>;

  /** Keeps one of our frames; `extra` labels are added to every series that does not have them. What ended is marked stale. */
  frames(origin: FrameOrigin, extra: LabelSet, client?: string): Promise<AppendResult>;

  /** Whoever kept frames under this name is gone for good: its series end now. */
  ended(source: string, timeMs: number): Promise<void>;

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
