/**
 * The query engine alone, over columns in memory: 64 GPUs, 6 h at 5 s. `node scripts/run-ts.mjs bench/query.ts` prints the
 * milliseconds of each query.
 */
import { performance } from "node:perf_hooks";
import { labelSet, labelValue } from "../src/model/labels.ts";
import { createEngine } from "../src/query/engine.ts";
import type { Queryable, SelectedSeries } from "../src/model/select.ts";

const gapMs = 5000;
const samples = (6 * 3600 * 1000) / gapMs;
const endMs = (samples - 1) * gapMs;
const budgetMs = 1000;

const queries: readonly [query: string, stepMs: number][] = [
  ["gpu_power_watts", 0],
  ["gpu_power_watts", 15_000],
  ["sum(gpu_power_watts)", 15_000],
  ["avg by (host) (gpu_power_watts)", 15_000],
  ["rate(gpu_energy_joules_total[5m])", 15_000],
  ["sum by (host) (rate(gpu_energy_joules_total[5m]))", 60_000],
  ["avg_over_time(gpu_power_watts[5m])", 60_000],
  ["max_over_time(gpu_power_watts[1h])", 60_000],
  ["quantile_over_time(0.99, gpu_power_watts[5m])", 60_000],
  ["topk(5, gpu_power_watts)", 60_000],
  ["quantile(0.9, gpu_power_watts)", 15_000],
  ["gpu_power_watts * on (uuid) group_left (model) gpu_info", 60_000],
  ["max_over_time(rate(gpu_energy_joules_total[5m])[30m:1m])", 60_000],
];

/** A deterministic generator, so that runs are comparable. */
function* noise(): Generator<number, never> {
  let state = 1;
  for (;;) {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0;
    yield state / 2 ** 32;
  }
}

function fleet(): SelectedSeries[] {
  const random = noise();
  const times = new Float64Array(samples).map((_, index) => index * gapMs);
  const series: SelectedSeries[] = [];
  for (let gpu = 0; gpu < 64; gpu++) {
    const device = { gpu: String(gpu), host: `node-${gpu >> 3}`, uuid: `GPU-${gpu}` };
    const power = new Float64Array(samples).map(() => 100 + 500 * random.next().value);
    let joules = 0;
    const energy = power.map((watts) => (joules += (watts * gapMs) / 1000));
    const add = (name: string, values: Float64Array, extra: Record<string, string> = {}): void => {
      series.push({
        labels: labelSet({ __name__: name, ...device, ...extra }),
        column: { times, values },
      });
    };
    add("gpu_power_watts", power);
    add("gpu_energy_joules_total", energy);
    add("gpu_info", new Float64Array(samples).fill(1), { model: gpu % 2 === 0 ? "H200" : "H100" });
  }
  return series;
}

const all = fleet();
const store: Queryable = {
  async select(matchers) {
    const name = matchers.find((matcher) => matcher.name === "__name__")?.value;
    return all.filter(({ labels }) => labelValue(labels, "__name__") === name);
  },
  labelNames: async () => [],
  labelValues: async () => [],
  series: async () => [],
};

const engine = createEngine();
for (const [query, stepMs] of queries) {
  const run = async (): Promise<unknown> =>
    stepMs === 0
      ? engine.instant(query, endMs, store)
      : engine.range(query, 0, endMs, stepMs, store);
  for (let warm = 0; warm < 3; warm++) await run();
  const began = performance.now();
  let count = 0;
  for (; performance.now() - began < budgetMs; count++) await run();
  const ms = (performance.now() - began) / count;
  const shape = stepMs === 0 ? "instant" : `6 h / ${stepMs / 1000} s`;
  process.stdout.write(`${ms.toFixed(2).padStart(8)} ms  ${shape.padEnd(10)} ${query}\n`);
}
