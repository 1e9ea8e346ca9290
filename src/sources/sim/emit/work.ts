/** The queue's numbers as series: what the work on all machines adds up to. */
import { type MetricEntry, ml } from "../../../model/catalogue/index.ts";
import type { FrameWriter } from "../../../model/frame.ts";
import { labelSet } from "../../../model/labels.ts";
import type { LayoutBuilder } from "../../../model/layout.ts";
import type { SimFleet } from "../fleet/fleet.ts";
import { type Histogram, jobKinds, jobOutcomes, type Tally } from "../workloads/tally.ts";

/** Adds the series in the order in which writeWork fills them. */
export function addWork(builder: LayoutBuilder, host: string): void {
  builder.add(ml.queueDepth, labelSet({ host }));
  for (const kind of jobKinds) {
    builder.add(ml.jobsRunning, labelSet({ host, kind }));
    for (const outcome of jobOutcomes) builder.add(ml.jobs, labelSet({ host, kind, outcome }));
  }
  for (const metric of [ml.stepDuration, ml.requestDuration]) addHistogram(builder, metric, host);
  for (const kind of ["training", "batch"]) builder.add(ml.samples, labelSet({ host, kind }));
  for (const kind of ["training", "inference"]) builder.add(ml.tokens, labelSet({ host, kind }));
}

function addHistogram(builder: LayoutBuilder, metric: MetricEntry, host: string): void {
  for (const bound of [...(metric.buckets ?? []), "+Inf"])
    builder.add(metric, labelSet({ host, le: String(bound) }), "_bucket");
  builder.add(metric, labelSet({ host }), "_sum");
  builder.add(metric, labelSet({ host }), "_count");
}

/** Fills them from a slot on; returns the slot after the last. */
export function writeWork(writer: FrameWriter, firstSlot: number, { machines }: SimFleet): number {
  let slot = firstSlot;
  const put = (of: (tally: Tally) => number): void => {
    let sum = 0;
    for (const { tally } of machines) sum += of(tally);
    writer.set(slot++, sum);
  };
  put((tally) => tally.waiting);
  for (const kind of jobKinds) {
    put((tally) => tally.running[kind]);
    for (const outcome of jobOutcomes) put((tally) => tally.ended[kind][outcome]);
  }
  for (const histogram of [
    (tally: Tally): Histogram => tally.steps,
    (tally: Tally): Histogram => tally.requests,
  ]) {
    const buckets = machines[0] === undefined ? 0 : histogram(machines[0].tally).counts.length;
    for (let upTo = 0; upTo < buckets; upTo++) put((tally) => countUpTo(histogram(tally), upTo));
    put((tally) => histogram(tally).sum);
    put((tally) => countUpTo(histogram(tally), buckets - 1));
  }
  for (const kind of ["training", "batch"] as const) put((tally) => tally.samples[kind]);
  for (const kind of ["training", "inference"] as const) put((tally) => tally.tokens[kind]);
  return slot;
}

function countUpTo({ counts }: Histogram, upTo: number): number {
  let sum = 0;
  for (let at = 0; at <= upTo; at++) sum += counts[at] ?? 0;
  return sum;
}
