/** A small store in memory and queries of it, so that a hub without samples can run its query path too. */
import { type LabelSet, labelSet } from "../../model/labels.ts";
import { Head } from "../../storage/embedded/head/head.ts";
import { LabelIndex } from "../../storage/embedded/index/index.ts";
import { StoreReader } from "../../storage/embedded/reader.ts";
import { emptyRollups } from "../../storage/embedded/rollups/state.ts";
import { noHistograms } from "../../storage/embedded/wal/records.ts";
import type { QueryTimes } from "../../query/eval/prepare.ts";

export interface PracticeQuery extends QueryTimes {
  readonly query: string;
}

const gpus = 32;
const samples = 120;
const stepMs = 5_000;
/** An arbitrary time: the store contains nothing else. */
const endMs = 1_700_000_000_000;
/** Not a whole second: V8 would discard what it compiled at the first fraction of a user's query. */
const askedMs = endMs - 500;

const instantQueries = [
  "power_watts",
  'power_watts{host="node-1"}',
  'power_watts{gpu=~"1.*"} > 100',
  "sum by (host) (power_watts)",
  "avg without (gpu) (power_watts) / 2",
  "topk(5, power_watts)",
  "sum by (host) (rate(energy_joules_total[2m]))",
  "max_over_time(power_watts[5m])",
  "quantile_over_time(0.9, power_watts[5m])",
  "power_watts * on (host, gpu) group_left (model) info",
  '{__name__=~"power.*|energy.*"}',
] as const;
const rangeQueries = [
  "power_watts",
  "sum by (host) (power_watts)",
  "rate(energy_joules_total[2m])",
  "topk(5, power_watts)",
] as const;

export const practiceQueries: readonly PracticeQuery[] = [
  ...instantQueries.map((query) => ({ query, startMs: askedMs, endMs: askedMs, stepMs: 0 })),
  ...rangeQueries.map((query) => ({
    query,
    startMs: askedMs - samples * stepMs,
    endMs: askedMs,
    stepMs: 4 * stepMs,
  })),
];

export function practiceStore(): StoreReader {
  const index = new LabelIndex();
  const head = new Head(0);
  const values = new Float64Array(1);
  const words = new Uint32Array(values.buffer);
  const columns = {
    n: 1,
    refs: new Uint32Array(1),
    times: new Float64Array(1),
    values,
    words,
    histograms: [],
    encoded: noHistograms,
  };
  const add = (labels: LabelSet, valueAt: (step: number) => number): void => {
    columns.refs[0] = index.add(labels);
    for (let step = 0; step < samples; step++) {
      values[0] = valueAt(step);
      columns.times[0] = endMs - (samples - step) * stepMs;
      head.append(columns, 0, false);
    }
  };
  for (let gpu = 0; gpu < gpus; gpu++) {
    const place = { gpu: String(gpu), host: `node-${gpu >> 3}`, job: "warm-up" };
    add(labelSet({ __name__: "power_watts", ...place }), (step) => 80 + ((gpu * 37 + step) % 300));
    add(labelSet({ __name__: "energy_joules_total", ...place }), (step) => 1 + step * 1_000.5);
    add(labelSet({ __name__: "info", model: "a GPU", ...place }), () => 1);
  }
  return new StoreReader(() => ({
    index,
    head,
    blocks: [],
    quarantine: { unopened: [], unopenedRollups: [], parts: [] },
    goneBeforeMs: -Infinity,
    rollups: emptyRollups,
    rules: [],
  }));
}
