/** One relabelling rule, checked and compiled once. */
import type { RE2JS } from "re2js";

export const relabelActions = [
  "replace",
  "keep",
  "drop",
  "keepequal",
  "dropequal",
  "hashmod",
  "labelmap",
  "labeldrop",
  "labelkeep",
  "lowercase",
  "uppercase",
] as const;

export type RelabelAction = (typeof relabelActions)[number];

export interface RelabelRule {
  readonly action: RelabelAction;
  readonly sourceLabels: readonly string[];
  readonly separator: string;
  /** As written; `regex` is the same, anchored at both ends. */
  readonly pattern: string;
  readonly regex: RE2JS;
  readonly modulus: number;
  readonly targetLabel: string;
  readonly replacement: string;
}
