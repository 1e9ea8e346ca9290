/** The statistics of the cardinality page: the label names and values with the most series. */
import type { LabelIndex } from "./index.ts";

export interface NamedCount {
  readonly name: string;
  readonly value: number;
}

export interface Cardinality {
  readonly seriesCount: number;
  readonly labelPairs: number;
  readonly seriesCountByMetricName: readonly NamedCount[];
  readonly labelValueCountByLabelName: readonly NamedCount[];
  readonly memoryInBytesByLabelName: readonly NamedCount[];
  readonly seriesCountByLabelValuePair: readonly NamedCount[];
}

export function cardinality(index: LabelIndex, limit: number): Cardinality {
  const { pairs, symbols } = index;
  const byMetric: NamedCount[] = [];
  const byPair: NamedCount[] = [];
  const values = new Map<string, number>();
  const memory = new Map<string, number>();
  let labelPairs = 0;
  for (let pair = 0; pair < pairs.count; pair++) {
    const series = pairs.series.length(pair);
    if (series === 0) continue;
    labelPairs++;
    const [name, value] = [symbols.text(pairs.name(pair)), symbols.text(pairs.value(pair))];
    if (name === "__name__") byMetric.push({ name: value, value: series });
    byPair.push({ name: `${name}=${value}`, value: series });
    values.set(name, (values.get(name) ?? 0) + 1);
    memory.set(name, (memory.get(name) ?? 0) + Buffer.byteLength(value));
  }
  const named = (counts: Map<string, number>): NamedCount[] =>
    [...counts].map(([name, value]) => ({ name, value }));
  return {
    seriesCount: index.table.count,
    labelPairs,
    seriesCountByMetricName: largest(byMetric, limit),
    labelValueCountByLabelName: largest(named(values), limit),
    memoryInBytesByLabelName: largest(named(memory), limit),
    seriesCountByLabelValuePair: largest(byPair, limit),
  };
}

function largest(counts: NamedCount[], limit: number): readonly NamedCount[] {
  return counts.sort((a, b) => b.value - a.value || (a.name < b.name ? -1 : 1)).slice(0, limit);
}
