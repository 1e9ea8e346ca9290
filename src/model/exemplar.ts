/** An exemplar: one observation behind a sample, usually with the id of its trace. */
import type { LabelSet } from "./labels.ts";

export interface Exemplar {
  /** Labels of the exemplar itself, such as `trace_id`, without those of its series. */
  readonly labels: LabelSet;
  readonly value: number;
  readonly timeMs: number;
}
