/** One observation behind a sample, usually with the id of the trace it was made in. */
import type { LabelSet } from "./labels.ts";

export interface Exemplar {
  /** Of the exemplar itself, such as `trace_id`; not those of its series. */
  readonly labels: LabelSet;
  readonly value: number;
  readonly timeMs: number;
}
