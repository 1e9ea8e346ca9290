/** The shape of `/api/changes` and `gpulse explain --from --to --json`: series that moved in a range, ranked. */
import * as v from "valibot";
import { changeSubjectKinds } from "./subject.ts";

/** `moved`: another level. `grew`: a counter of events. `stopped`, `began`: readings ended or started within the range. */
export const changeKinds = ["moved", "grew", "stopped", "began"] as const;

const cells = v.array(v.nullable(v.number()));

const seriesChange = v.object({
  kind: v.picklist(changeKinds),
  /** For people, such as `Temperature (edge)`. */
  title: v.string(),
  metric: v.string(),
  /** Of the values: a counter is shown by its rate, so joules become watts. */
  unit: v.string(),
  labels: v.record(v.string(), v.string()),
  /** `GPU 3 of node-7`, or the machine. */
  place: v.string(),
  /** Whose series it is: of the subject, its machine, or another GPU of the same job. */
  relation: v.picklist(["own", "host", "mate"]),
  /** A query that draws the series. */
  promql: v.string(),
  /** Median of the time before the range; null where nothing was reported. */
  before: v.nullable(v.number()),
  /** Mean of the time from `sinceMs` to `untilMs`; null where readings ended. */
  after: v.nullable(v.number()),
  /** Distance from its own history, in robust standard deviations; null where the change is a fact and not a statistic. */
  sigmas: v.nullable(v.number()),
  sinceMs: v.number(),
  untilMs: v.number(),
  /** The same series of other GPUs of the model; null where fewer than three report it. */
  peers: v.nullable(
    v.object({
      count: v.number(),
      /** Median of their means over the same time. */
      value: v.number(),
      /** How far its change is from theirs, in robust standard deviations. */
      sigmas: v.number(),
    }),
  ),
  /** How many series this line stands for: all readings of a lost GPU stop at once. */
  series: v.number(),
  chart: v.object({
    startMs: v.number(),
    stepMs: v.number(),
    /** One per cell; null where nothing was read. */
    values: cells,
    /** Where eight of ten peers are. */
    peerLow: cells,
    peerHigh: cells,
    /** Where it is further from its history than a change has to be. */
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
  /** Where the history begins that the range is compared with. */
  historyFromMs: v.number(),
  outcome: v.picklist(["changes", "nothing_moved", "no_history", "no_data"]),
  /** The answer in one sentence. */
  sentence: v.string(),
  /** Strongest first. */
  changes: v.array(seriesChange),
  /** Series that moved but are not listed. */
  leftOut: v.number(),
  lookedAt: v.object({ gpus: v.number(), series: v.number(), peers: v.number() }),
});

export type ChangeReport = v.InferOutput<typeof changeReportSchema>;
export type SeriesChange = ChangeReport["changes"][number];
