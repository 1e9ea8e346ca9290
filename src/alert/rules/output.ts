/** What a rule puts into the history: recorded series, `ALERTS` and `ALERTS_FOR_STATE`, and the ends of those that are no more. */
import { BatchBuilder } from "../../formats/samples/builder.ts";
import type { SampleBatch } from "../../formats/samples/batch.ts";
import type { LabelSet } from "../../model/labels.ts";
import { labelKey } from "../../model/labels.ts";
import type { VectorSample } from "../../query/result.ts";
import type { AlertingState } from "./alerting.ts";
import type { RecordingRule } from "./types.ts";

export interface OutSample {
  readonly labels: LabelSet;
  readonly value: number;
}

const sorted = (labels: ReadonlyMap<string, string>): LabelSet =>
  [...labels]
    .filter(([, value]) => value !== "")
    .sort(([left], [right]) => (left < right ? -1 : 1));

/** @throws where two series come to the same labels, or there are more than the limit. */
export function recordedSamples(
  rule: RecordingRule,
  samples: readonly VectorSample[],
  limit: number,
): OutSample[] {
  const seen = new Set<string>();
  const out = samples.map(({ labels, value }): OutSample => {
    const all = new Map(labels);
    all.set("__name__", rule.name);
    for (const [name, text] of Object.entries(rule.labels)) all.set(name, text);
    const made = sorted(all);
    const key = labelKey(made);
    if (seen.has(key))
      throw new Error("vector contains metrics with the same labelset after applying rule labels");
    seen.add(key);
    return { labels: made, value };
  });
  if (limit > 0 && out.length > limit)
    throw new Error(`exceeded limit of ${limit} with ${out.length} series`);
  return out;
}

export function alertSamples(state: AlertingState): OutSample[] {
  return state.active.flatMap((alert): OutSample[] => {
    const shown = new Map(alert.labels);
    shown.set("__name__", "ALERTS");
    shown.set("alertname", state.rule.name);
    shown.set("alertstate", alert.state);
    const timer = new Map(alert.labels);
    timer.set("__name__", "ALERTS_FOR_STATE");
    timer.set("alertname", state.rule.name);
    const samples = [{ labels: sorted(shown), value: 1 }];
    // Before what was there is known again, writing it would overwrite it.
    if (state.restored)
      samples.push({ labels: sorted(timer), value: Math.floor(alert.activeAtMs / 1_000) });
    return samples;
  });
}

/** Keeps which series a rule gave last, so that what it no longer gives ends. */
export class RuleOutput {
  #before = new Map<string, LabelSet>();

  batch(samples: readonly OutSample[], timeMs: number): SampleBatch {
    const builder = new BatchBuilder();
    const now = new Map<string, LabelSet>();
    for (const { labels, value } of samples) {
      now.set(labelKey(labels), labels);
      builder.add(builder.series(labels), timeMs, value);
    }
    for (const [key, labels] of this.#before)
      if (!now.has(key)) builder.addStale(builder.series(labels), timeMs);
    this.#before = now;
    return builder.finish();
  }

  /** The rule is no more: everything it gave ends. */
  end(timeMs: number): SampleBatch {
    return this.batch([], timeMs);
  }

  adopt(other: RuleOutput): void {
    this.#before = new Map([...other.#before, ...this.#before]);
  }
}
