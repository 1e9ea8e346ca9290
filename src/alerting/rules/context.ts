/** The dependencies of rules: a history to query and write to, and a router for firing alerts. */
import type { SampleBatch } from "../../formats/samples/batch.ts";
import type { History } from "../../storage/history.ts";
import type { Log } from "../../base/log.ts";
import type { QueryResult, VectorSample } from "../../query/result.ts";
import type { AppendResult } from "../../storage/embedded/options.ts";
import type { PostableAlert } from "../alert.ts";
import type { FiringStore } from "./firing-store.ts";

export interface RuleContext {
  readonly history: Pick<History, "instant" | "select">;
  /** Stores the output of rules. */
  readonly write: (batch: SampleBatch) => Promise<Pick<AppendResult, "refusedConflicts">>;
  readonly send: (alerts: readonly PostableAlert[]) => void;
  /**
   * Firing alerts across a restart; without it, rules send no resolved notification for alerts that resolve during the downtime.
   */
  readonly firing?: FiringStore | undefined;
  /** Asks the router to hold these alerts until `endsAtMs` while the rules catch up. */
  readonly hold?: ((alerts: readonly PostableAlert[]) => void) | undefined;
  readonly externalLabels: ReadonlyMap<string, string>;
  readonly externalUrl: string;
  /** How often a firing alert is sent again. */
  readonly resendMs: number;
  /** The default query offset of groups. */
  readonly queryOffsetMs: number;
  readonly log: Log;
}

/** Converts a rule's result to samples: a vector, or a scalar as one sample without labels. */
export function samplesOf({ data }: QueryResult): readonly VectorSample[] {
  if (data.type === "vector") return data.samples;
  if (data.type === "scalar") return [{ labels: [], timeMs: data.timeMs, value: data.value }];
  throw new Error(`rule result is not a vector or scalar`);
}
