/** The shape of `/api/explain` and `gpulse explain --json`: ranked causes with the numbers that support them. */
import * as v from "valibot";

export const subjectKinds = ["gpu", "host", "job", "alert"] as const;
export type SubjectKind = (typeof subjectKinds)[number];

const evidence = v.object({
  metric: v.string(),
  value: v.number(),
  /** Units of the catalogue: `celsius`, `watts`, `ratio`; `none` is a plain number. */
  unit: v.string(),
  /** The value of its own history or of its peers; null without a comparison. */
  usual: v.nullable(v.number()),
  /** Distance in robust standard deviations; null for a fact without a statistic. */
  sigmas: v.nullable(v.number()),
  /** A query that returns the value. */
  promql: v.string(),
});

const cause = v.object({
  /** A stable name for programs, such as `fan_failure`. */
  cause: v.string(),
  title: v.string(),
  /** 0 to 1. */
  confidence: v.number(),
  /** One sentence with the numbers. */
  summary: v.string(),
  sinceMs: v.number(),
  /** True if it began before the history that was read. */
  isOlder: v.boolean(),
  gpus: v.array(v.string()),
  evidence: v.array(evidence),
  runbook: v.object({ title: v.string(), href: v.string(), step: v.string() }),
});

export const explanationSchema = v.object({
  subject: v.object({ kind: v.picklist(subjectKinds), id: v.string(), label: v.string() }),
  timeMs: v.number(),
  fromMs: v.number(),
  outcome: v.picklist(["causes", "nothing_stands_out"]),
  /** The result in one sentence. */
  sentence: v.string(),
  /** Most likely first. */
  causes: v.array(cause),
  lookedAt: v.object({
    gpus: v.number(),
    series: v.number(),
    fromMs: v.number(),
    toMs: v.number(),
  }),
});

export type Explanation = v.InferOutput<typeof explanationSchema>;
export type ExplainedCause = Explanation["causes"][number];
export type CauseEvidence = ExplainedCause["evidence"][number];
