/** What rules stand on: a history to ask and to write to, and somebody who routes what fires. */
import type { SampleBatch } from "../../formats/samples/batch.ts";
import type { History } from "../../storage/history.ts";
import type { Log } from "../../base/log.ts";
import type { QueryResult, VectorSample } from "../../query/result.ts";
import type { AppendResult } from "../../storage/embedded/options.ts";
import type { PostableAlert } from "../alert.ts";
import type { FiringStore } from "./firing-store.ts";

export interface RuleContext {
  readonly history: Pick<History, "instant" | "select">;
  /** Keeps what rules give. */
  readonly write: (batch: SampleBatch) => Promise<Pick<AppendResult, "refusedConflicts">>;
  readonly send: (alerts: readonly PostableAlert[]) => void;
  /** Where what fires is kept over a restart; without it, ends that fell into our absence are not told by rules. */
  readonly firing?: FiringStore | undefined;
  /** Has whoever was told of these before a restart wait until each one's end for what the rules have yet to find out. */
  readonly hold?: ((alerts: readonly PostableAlert[]) => void) | undefined;
  readonly externalLabels: ReadonlyMap<string, string>;
  readonly externalUrl: string;
  /** How often what still fires is told again. */
  readonly resendMs: number;
  /** How far back groups look that say nothing of it. */
  readonly queryOffsetMs: number;
  readonly log: Log;
}

/** A vector, or a scalar as a vector of one without labels; what a rule may give. */
export function samplesOf({ data }: QueryResult): readonly VectorSample[] {
  if (data.type === "vector") return data.samples;
  if (data.type === "scalar") return [{ labels: [], timeMs: data.timeMs, value: data.value }];
  throw new Error(`rule result is not a vector or scalar`);
}
