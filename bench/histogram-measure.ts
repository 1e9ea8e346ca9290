/** The cost of native histograms in an engine: bytes on disk, processor time of ingestion, time of queries. */
import { type Engine, type EngineName, ingest } from "./hub-engines.ts";
import { histogramMetric, histogramRequests } from "./histogram-data.ts";
import { ask, type BenchQuery } from "./hub-queries.ts";

const stepMs = 15_000;

export interface HistogramFigure {
  readonly id: string;
  readonly what: string;
  readonly unit: string;
  /** One value per round. */
  readonly values: ReadonlyMap<EngineName, readonly number[]>;
}

export interface HistogramSizes {
  readonly series: number;
  readonly hours: number;
  readonly rounds: number;
}

const queries: readonly (readonly [id: string, query: string])[] = [
  ["quantile", `histogram_quantile(0.9, rate(${histogramMetric}[5m]))`],
  ["quantile-sum", `histogram_quantile(0.9, sum by (model) (rate(${histogramMetric}[5m])))`],
  ["count", `sum by (model) (histogram_count(rate(${histogramMetric}[5m])))`],
];

export async function measureHistograms(
  engines: readonly Engine[],
  { series, hours, rounds }: HistogramSizes,
  progress: (text: string) => void,
): Promise<readonly HistogramFigure[]> {
  const steps = (hours * 3_600_000) / stepMs;
  const endMs = Math.floor(Date.now() / 60_000) * 60_000;
  const startMs = endMs - (steps - 1) * stepMs;
  const samples = series * steps;
  const cpu = new Map<EngineName, number[]>();
  progress(`${samples} samples`);
  for (const body of histogramRequests({ series, steps, stepMs, startMs }))
    for (const engine of engines) {
      const { cpuSeconds } = await ingest(engine, [[body]]);
      const before = cpu.get(engine.name)?.[0] ?? 0;
      cpu.set(engine.name, [before + (cpuSeconds / samples) * 1e6]);
    }
  const bytes = new Map<EngineName, number[]>();
  for (const engine of engines) bytes.set(engine.name, [(await engine.settle()) / samples]);
  const figures: HistogramFigure[] = [
    { id: "bytes", what: "on disk", unit: "bytes a sample", values: bytes },
    { id: "cpu", what: "ingest", unit: "processor seconds per million samples", values: cpu },
  ];
  // Between two samples: at a sample, Prometheus before 3.0 includes one more at a range's left end.
  const timeMs = endMs - 2_500;
  const range = { startMs: startMs + 302_500, endMs: timeMs, stepMs: 60_000 };
  for (const [id, query] of queries) {
    progress(query);
    const values = await timeQuery(engines, { name: id, query, range, timeMs }, rounds);
    figures.push({ id, what: query, unit: "ms", values });
  }
  return figures;
}

/** Runs some rounds after one that is not counted; the results must have the same series. */
async function timeQuery(
  engines: readonly Engine[],
  query: BenchQuery,
  rounds: number,
): Promise<ReadonlyMap<EngineName, readonly number[]>> {
  const took = new Map<EngineName, number[]>();
  const found = new Set<number>();
  for (let round = 0; round <= rounds; round++)
    for (const engine of engines) {
      const { tookMs, body } = await ask(engine, query);
      const { data } = JSON.parse(body) as { data: { result: readonly unknown[] } };
      found.add(data.result.length);
      if (round > 0) took.set(engine.name, [...(took.get(engine.name) ?? []), tookMs]);
    }
  if (found.size !== 1) throw new Error(`${query.query}: ${[...found].join(" and ")} series`);
  return took;
}
