/** The series that a rule writes: recorded series, `ALERTS` and `ALERTS_FOR_STATE`, and staleness markers of series that end. */
import { BatchBuilder } from "../../formats/samples/builder.ts";
import type { SampleBatch } from "../../formats/samples/batch.ts";
import type { Histogram } from "../../model/histogram/histogram.ts";
import { labelKey, type LabelSet } from "../../model/labels.ts";
import type { VectorSample } from "../../query/result.ts";
import type { AlertingState } from "./alerting.ts";
import type { RuleAlert, AlertState, RecordingRule } from "./types.ts";

export interface OutSeries {
  readonly labels: LabelSet;
  /** Equal for equal labels. */
  readonly key: string;
}

export interface OutSample extends OutSeries {
  readonly value: number;
  /** Set for a native histogram; `value` is meaningless then. */
  readonly histogram?: Histogram | undefined;
}

/** @throws if two series get the same labels, or the limit is exceeded. */
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

/** The later of two labels with the same name takes precedence; an empty label is dropped. */
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

/** The series of a rule's alerts. Cached per alert and state, since alerts last for hours. */
export class AlertOutput {
  readonly #made = new WeakMap<RuleAlert, AlertSeries>();

  /** Returns nothing until the timers are restored: writing before would overwrite them. */
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

/** As in Prometheus, a label whose template rendered to an empty text appears here with its template text. */
const baseOf = (
  { rule }: AlertingState,
  { labels }: RuleAlert,
): readonly (readonly [string, string])[] => [...Object.entries(rule.labels), ...labels];

export interface OutBatches {
  readonly samples: SampleBatch;
  /** Staleness markers, in a separate batch: a marker for a series that another rule now writes must be rejected. */
  readonly ends: SampleBatch;
  /** Must be called once both batches are stored. */
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
