/** The shape of `/api/changes` and `gpulse explain --from --to --json`: series that moved in a range, ranked. */
import * as v from "valibot";
import { changeSubjectKinds } from "./subject.ts";

/** `moved`: a new level. `grew`: a counter of events. `stopped`, `began`: readings ended or started within the range. */
const changeKinds = ["moved", "grew", "stopped", "began"] as const;

const cells = v.array(v.nullable(v.number()));

const seriesChange = v.object({
  kind: v.picklist(changeKinds),
  /** Display name, such as `Temperature (edge)`. */
  title: v.string(),
  metric: v.string(),
  /** Unit of the values. A counter is shown by its rate, so joules become watts. */
  unit: v.string(),
  labels: v.record(v.string(), v.string()),
  /** `GPU 3 of node-7`, or the machine. */
  place: v.string(),
  /** Relation of the series to the subject: its own, that of its machine, or that of another GPU of the same job. */
  relation: v.picklist(["own", "host", "mate"]),
  /** A query that draws the series. */
  promql: v.string(),
  /** Median before the range; null if nothing was reported. */
  before: v.nullable(v.number()),
  /** Mean from `sinceMs` to `untilMs`; null if readings ended. */
  after: v.nullable(v.number()),
  /** Distance from the series' own history in robust standard deviations; null for a fact without a statistic. */
  sigmas: v.nullable(v.number()),
  sinceMs: v.number(),
  untilMs: v.number(),
  /** The same series of other GPUs of the model; null if fewer than three report it. */
  peers: v.nullable(
    v.object({
      count: v.number(),
      /** Median of the peers' means over the same time. */
      value: v.number(),
      /** Difference from the peers' changes, in robust standard deviations. */
      sigmas: v.number(),
    }),
  ),
  /** Number of series behind this line: all readings of a lost GPU stop at once. */
  series: v.number(),
  chart: v.object({
    startMs: v.number(),
    stepMs: v.number(),
    /** One per cell; null if nothing was read. */
    values: cells,
    /** Lower and upper bound of the middle eight tenths of the peers. */
    peerLow: cells,
    peerHigh: cells,
    /** Spans in which the values exceed the threshold for a change. */
    anomalies: v.array(v.object({ fromMs: v.number(), toMs: v.number() })),
  }),
});

export const changeReportSchema = v.object({
  subject: v.object({
    kind: v.picklist(changeSubjectKinds),
    id: v.string(),
    label: v.string(),
  }),
  fromMs: v.number(),
  toMs: v.number(),
  /** Start of the history that the range is compared with. */
  historyFromMs: v.number(),
  outcome: v.picklist(["changes", "nothing_moved", "no_history", "no_data"]),
  /** The result in one sentence. */
  sentence: v.string(),
  /** Strongest first. */
  changes: v.array(seriesChange),
  /** Number of series that moved but are not listed. */
  leftOut: v.number(),
  lookedAt: v.object({ gpus: v.number(), series: v.number(), peers: v.number() }),
});

export type ChangeReport = v.InferOutput<typeof changeReportSchema>;
export type SeriesChange = ChangeReport["changes"][number];
