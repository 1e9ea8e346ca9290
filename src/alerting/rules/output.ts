/** The series a rule writes: recorded series, `ALERTS` and `ALERTS_FOR_STATE`, and staleness markers of those that end. */
import { BatchBuilder } from "../../formats/samples/builder.ts";
import type { SampleBatch } from "../../formats/samples/batch.ts";
import type { Histogram } from "../../model/histogram/histogram.ts";
import { labelKey, type LabelSet } from "../../model/labels.ts";
import type { VectorSample } from "../../query/result.ts";
import type { AlertingState } from "./alerting.ts";
import type { RuleAlert, AlertState, RecordingRule } from "./types.ts";

export interface OutSeries {
  readonly labels: LabelSet;
  /** Equal where the labels are. */
  readonly key: string;
}

export interface OutSample extends OutSeries {
  readonly value: number;
  /** A native histogram: it is the sample, and the value means nothing. */
  readonly histogram?: Histogram | undefined;
}

/** @throws where two series come to the same labels, or there are more than the limit. */
export function recordedSamples(
  rule: RecordingRule,
  samples: readonly VectorSample[],
  limit: number,
): OutSample[] {
  const seen = new Set<string>();
  const own = Object.entries(rule.labels);
  const out = samples.map(({ labels, value, histogram }): OutSample => {
    const made = seriesOf([...labels, ["__name__", rule.name], ...own]);
    if (seen.has(made.key))
      throw new Error("vector contains metrics with the same labelset after applying rule labels");
    seen.add(made.key);
    return { ...made, value, histogram };
  });
  if (limit > 0 && out.length > limit)
    throw new Error(`exceeded limit of ${limit} with ${out.length} series`);
  return out;
}

/** The later of two labels with one name wins; an empty one is none. */
function seriesOf(pairs: Iterable<readonly [string, string]>): OutSeries {
  const labels = [...new Map(pairs)]
    .filter(([, value]) => value !== "")
    .sort(([left], [right]) => (left < right ? -1 : 1));
  return { labels, key: labelKey(labels) };
}

interface AlertSeries {
  readonly state: AlertState;
  readonly alerts: OutSeries;
  readonly timer: OutSeries;
}

/** The series of a rule's alerts. Made once for each alert and state, since alerts stay for hours. */
export class AlertOutput {
  readonly #made = new WeakMap<RuleAlert, AlertSeries>();

  /** Nothing until the timers are restored: writing before would overwrite them. */
  samples(state: AlertingState): OutSample[] {
    if (!state.restored) return [];
    return state.active.flatMap((alert) => {
      const { alerts, timer } = this.#seriesOf(state, alert);
      return [
        { ...alerts, value: 1 },
        { ...timer, value: Math.floor(alert.activeAtMs / 1_000) },
      ];
    });
  }

  #seriesOf(state: AlertingState, alert: RuleAlert): AlertSeries {
    const known = this.#made.get(alert);
    if (known?.state === alert.state) return known;
    const made = {
      state: alert.state,
      alerts: seriesOf([
        ...baseOf(state, alert),
        ["__name__", "ALERTS"],
        ["alertname", state.rule.name],
        ["alertstate", alert.state],
      ]),
      timer: timerSeries(state, alert),
    };
    this.#made.set(alert, made);
    return made;
  }
}

export const timerName = "ALERTS_FOR_STATE";

export const timerSeries = (state: AlertingState, alert: RuleAlert): OutSeries =>
  seriesOf([...baseOf(state, alert), ["__name__", timerName], ["alertname", state.rule.name]]);

/** A rule's label whose template gave nothing stands here as it was written: so does Prometheus. */
const baseOf = (
  { rule }: AlertingState,
  { labels }: RuleAlert,
): readonly (readonly [string, string])[] => [...Object.entries(rule.labels), ...labels];

export interface OutBatches {
  readonly samples: SampleBatch;
  /** Staleness markers. Apart, since a marker for a series that another rule writes now is rejected, as it should be. */
  readonly ends: SampleBatch;
  /** To be called when both are stored. */
  readonly commit: () => void;
}

/** Remembers the series of the last evaluation, so that missing ones get staleness markers. */
export class RuleOutput {
  #before = new Map<string, LabelSet>();

  batches(samples: readonly OutSample[], timeMs: number): OutBatches {
    const builder = new BatchBuilder();
    const now = new Map<string, LabelSet>();
    for (const { labels, key, value, histogram } of samples) {
      now.set(key, labels);
      const series = builder.series(labels);
      if (histogram === undefined) builder.add(series, timeMs, value);
      else builder.addHistogram(series, timeMs, histogram);
    }
    const ends = new BatchBuilder();
    for (const [key, labels] of this.#before)
      if (!now.has(key)) ends.addStale(ends.series(labels), timeMs);
    return {
      samples: builder.finish(),
      ends: ends.finish(),
      commit: () => {
        this.#before = now;
      },
    };
  }

  /** The rule was removed: all its series end. */
  end(timeMs: number): SampleBatch {
    const { ends, commit: kept } = this.batches([], timeMs);
    kept();
    return ends;
  }

  adopt(other: RuleOutput): void {
    this.#before = new Map([...other.#before, ...this.#before]);
  }
}
