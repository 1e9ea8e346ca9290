/**
 * Finds the LLM servers among stored series: which target exposes the metric names of which server, and the series of each signal.
 * Pure. If a target exposes the names of several versions, the newest is used; unknown names are ignored.
 */
import { serverSeriesNames, type ServerSeriesName } from "../../formats/servers/list.ts";
import type { ServerSignal, ServerTable } from "../../formats/servers/table.ts";
import { type LabelSet, labelValue } from "../../model/labels.ts";
import type { SampleColumn } from "../../model/select.ts";

export interface ServerSeries {
  readonly labels: LabelSet;
  readonly column: SampleColumn;
}

/** Labels of a scrape target that identify it and its GPUs. */
export interface ServerTarget {
  readonly job: string | undefined;
  readonly instance: string;
  readonly host: string | undefined;
  readonly namespace: string | undefined;
  readonly pod: string | undefined;
  readonly container: string | undefined;
  readonly workload: string | undefined;
}

export interface Replica {
  readonly id: string;
  readonly table: ServerTable;
  readonly target: ServerTarget;
  readonly model: string | undefined;
  /** Time of its newest sample. */
  readonly lastMs: number;
  readonly signals: ReadonlyMap<ServerSignal, readonly ServerSeries[]>;
}

interface OpenReplica {
  readonly table: ServerTable;
  readonly target: ServerTarget;
  readonly model: string | undefined;
  readonly ranks: Map<ServerSignal, number>;
  readonly signals: Map<ServerSignal, ServerSeries[]>;
}

/** A series without a newer sample has ended, as in PromQL. */
const lookbackMs = 300_000;
const longestName = 300;

export function findReplicas(series: readonly ServerSeries[], timeMs: number): Replica[] {
  const open = new Map<string, OpenReplica>();
  const withoutModel: (readonly [string, ServerSeries, ServerSeriesName])[] = [];
  const models = new Map<string, Set<string>>();
  for (const one of series) {
    if (hasEnded(one.column, timeMs)) continue;
    const found = signalOf(one.labels);
    if (found === undefined) continue;
    const target = targetOf(one.labels);
    if (target === undefined) continue;
    const place = JSON.stringify([found.table.name, target]);
    const model = modelOf(one.labels);
    if (model === undefined) withoutModel.push([place, one, found]);
    else {
      models.set(place, (models.get(place) ?? new Set()).add(model));
      add(open, `${place} ${model}`, { ...found, target, model }, one);
    }
  }
  // A series without a model label belongs to the only model of its target.
  for (const [place, one, found] of withoutModel) {
    const known = [...(models.get(place) ?? [])];
    const target = targetOf(one.labels);
    if (known.length > 1 || target === undefined) continue;
    const [model] = known;
    add(open, `${place} ${model ?? ""}`, { ...found, target, model }, one);
  }
  return [...open.values()].map(({ table, target, model, signals }) => ({
    id: [table.name, target.job ?? "", target.instance, model ?? ""].join("/"),
    table,
    target,
    model,
    lastMs: Math.max(...[...signals.values()].flat().map(({ column }) => column.times.at(-1) ?? 0)),
    signals,
  }));
}

function add(
  open: Map<string, OpenReplica>,
  id: string,
  found: ServerSeriesName & { readonly target: ServerTarget; readonly model: string | undefined },
  one: ServerSeries,
): void {
  const { table, target, model, signal, rank } = found;
  const replica: OpenReplica = open.get(id) ?? {
    table,
    target,
    model,
    ranks: new Map(),
    signals: new Map(),
  };
  open.set(id, replica);
  const before = replica.ranks.get(signal) ?? Number.POSITIVE_INFINITY;
  if (rank > before) return;
  if (rank < before) replica.signals.set(signal, []);
  replica.ranks.set(signal, rank);
  replica.signals.get(signal)?.push(one);
}

function signalOf(labels: LabelSet): ServerSeriesName | undefined {
  return serverSeriesNames
    .get(labelValue(labels, "__name__") ?? "")
    ?.find(
      ({ metric: { when = {}, unless = {} } }) =>
        Object.entries(when).every(([name, value]) => labelValue(labels, name) === value) &&
        Object.entries(unless).every(([name, value]) => labelValue(labels, name) !== value),
    );
}

function targetOf(labels: LabelSet): ServerTarget | undefined {
  const of = (name: string): string | undefined => labelValue(labels, name);
  const instance = of("instance");
  if (instance === undefined || instance.length > longestName) return undefined;
  return {
    job: of("job"),
    instance,
    host: of("host"),
    namespace: of("namespace"),
    pod: of("pod"),
    container: of("container"),
    workload: of("workload"),
  };
}

function modelOf(labels: LabelSet): string | undefined {
  const model = labelValue(labels, "model_name") ?? labelValue(labels, "model");
  return model === undefined || model === "" ? undefined : model.slice(0, longestName);
}

function hasEnded({ times, stale }: SampleColumn, timeMs: number): boolean {
  const last = times.length - 1;
  return last < 0 || stale?.[last] === 1 || timeMs - (times[last] ?? 0) > lookbackMs;
}
