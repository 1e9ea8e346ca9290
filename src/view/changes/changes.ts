/**
 * What changed in a time range. Judges every series of the subject's GPUs, of their machines and of the other GPUs of their jobs
 * against its own history, compares those that moved with the same series of peers, and ranks the result. Pure.
 */
import { deviceKey } from "../../model/device.ts";
import { type LabelSet, labelValue } from "../../model/labels.ts";
import type { GpuIdentity } from "../explain/fleet-cells.ts";
import { meanOfCells, medianOf, quantileOf, sigmaOf } from "../explain/statistics.ts";
import { leastHistoryCells } from "./departure.ts";
import type { ChangeGrid } from "./grid.ts";
import { anomalousSpans, type JudgedChange, judgeSeries } from "./judge.ts";
import { formatChangeValue } from "./quantity.ts";
import type { ChangeReport, SeriesChange } from "./report.ts";
import { firstKnown, lastKnown, ratesOf, ChangeSeriesTable } from "./series-table.ts";
import { ownLabels, seriesKind, sigmaFloor, titleOf } from "./watched-series.ts";

/** Most changes in one response, and most of one metric. */
const mostChanges = 12;
const mostOfMetric = 3;
const leastPeers = 3;
/** Weights of a change by the relation of its series to the subject, and by how much the peers changed. */
const relationShare = { own: 1, host: 0.9, mate: 0.85 } as const;
const alone = 1.5;
const shared = 0.6;
const mostSigmas = 40;
/** Score of changes that have no sigmas: a GPU that stops responding ranks above every statistic, a job that starts below most. */
const factStrength = { stopped: 80, grew: 45, began: 12, moved: 0 } as const;

export interface ChangeScope {
  readonly subject: ChangeReport["subject"];
  readonly own: readonly GpuIdentity[];
  readonly mates: readonly GpuIdentity[];
  /** Other GPUs of the same models. */
  readonly peers: readonly GpuIdentity[];
}

export class ChangeSearch {
  readonly grid: ChangeGrid;
  readonly #scope: ChangeScope;
  readonly #models = new Map<string, string>();
  /** Series of the subject's GPUs and machines. */
  readonly series: ChangeSeriesTable;
  /** The same metrics of other GPUs of the same model. */
  readonly peers: ChangeSeriesTable;
  #found: readonly JudgedChange[] | undefined;
  #isUnjudged = false;

  constructor(grid: ChangeGrid, scope: ChangeScope) {
    this.grid = grid;
    this.#scope = scope;
    for (const { host, uuid, model } of [...scope.own, ...scope.mates, ...scope.peers])
      this.#models.set(deviceKey(host, uuid), model);
    this.series = new ChangeSeriesTable(grid);
    this.peers = new ChangeSeriesTable(grid);
  }

  /** Metrics to read for peers: those whose level moved. */
  get movedMetrics(): readonly string[] {
    const moved = this.#judged().filter(({ kind }) => kind === "moved");
    return [...new Set(moved.map(({ series }) => series.metric.name))];
  }

  report(): ChangeReport {
    const { grid } = this;
    const all = this.#judged().map((judged) => this.#describe(judged));
    all.sort((left, right) => right.strength - left.strength);
    // Two clock domains that change in the same way count as one change.
    const twins = new Set<string>();
    const distinct = all.filter(({ change: { metric, place, before, after, sinceMs } }) => {
      const same = JSON.stringify([metric, place, before, after, sinceMs]);
      const isTwin = before !== null && after !== null && twins.has(same);
      twins.add(same);
      return !isTwin;
    });
    const counts = new Map<string, number>();
    const listed = distinct.filter(({ change: { metric } }) => {
      const count = (counts.get(metric) ?? 0) + 1;
      counts.set(metric, count);
      return count <= mostOfMetric;
    });
    const changes = listed.slice(0, mostChanges).map(({ change }) => change);
    const series = this.series.all.length;
    const outcome =
      changes.length > 0
        ? "changes"
        : series === 0 ||
            this.series.all.every(
              ({ cells }) => firstKnown(cells, grid.rangeCell, grid.cellCount) < 0,
            )
          ? "no_data"
          : this.#isUnjudged && !this.#hasHistory()
            ? "no_history"
            : "nothing_moved";
    return {
      subject: this.#scope.subject,
      fromMs: grid.rangeFromMs,
      toMs: grid.toMs,
      historyFromMs: grid.fromMs,
      outcome,
      sentence: this.#sentence(outcome, changes, distinct.length),
      changes,
      leftOut: distinct.length - changes.length,
      lookedAt: {
        gpus: this.#scope.own.length + this.#scope.mates.length,
        series,
        peers: this.#scope.peers.length,
      },
    };
  }

  #hasHistory(): boolean {
    const enough = this.grid.rangeCell - leastHistoryCells;
    return this.series.all.some(({ cells }) => firstKnown(cells, 0, enough) >= 0);
  }

  #judged(): readonly JudgedChange[] {
    this.#found ??= this.#judge();
    return this.#found;
  }

  #judge(): readonly JudgedChange[] {
    const { grid } = this;
    const spans = new Map<string, [number, number]>();
    for (const { labels, cells } of this.series.all) {
      const [first, last] = [
        firstKnown(cells, 0, grid.cellCount),
        lastKnown(cells, 0, grid.cellCount),
      ];
      if (first < 0) continue;
      const key = deviceOf(labels);
      const span = spans.get(key);
      if (span === undefined) spans.set(key, [first, last]);
      else spans.set(key, [Math.min(span[0], first), Math.max(span[1], last)]);
    }
    return this.series.all
      .flatMap((series) => {
        const found = judgeSeries(series, grid, spans.get(deviceOf(series.labels)) ?? [0, 0]);
        if (found === "unjudged") this.#isUnjudged = true;
        return found === undefined || found === "unjudged" ? [] : [found];
      })
      .filter(this.#firstOfStopped());
  }

  /** Readings of one device that stop together are one change, represented by the first. A job that ends is a change of its own. */
  #firstOfStopped(): (judged: JudgedChange) => boolean {
    const seen = new Map<string, number>();
    return ({ kind, series: { labels, metric } }) => {
      if (kind !== "stopped" || metric.meaning === "presence") return true;
      const key = deviceOf(labels);
      const count = (seen.get(key) ?? 0) + 1;
      seen.set(key, count);
      this.#stoppedSeries.set(key, count);
      return count === 1;
    };
  }
  readonly #stoppedSeries = new Map<string, number>();

  #describe(judged: JudgedChange): { readonly change: SeriesChange; readonly strength: number } {
    const { grid } = this;
    const { series, kind, unit, cells, before, after, sigmas, firstCell, endCell } = judged;
    const { labels, metric } = series;
    const relation = this.#relationOf(labels);
    const peers = kind === "moved" ? this.#compare(judged) : undefined;
    const stopped = this.#stoppedSeries.get(deviceOf(labels)) ?? 1;
    const isJob = metric.meaning === "presence";
    const isMany = kind === "stopped" && !isJob && stopped > 1;
    const isRate = metric.meaning === "counter" && kind === "moved" && unit === "none";
    const change: SeriesChange = {
      kind,
      title: isMany ? `${stopped} readings` : `${titleOf(labels)}${isRate ? " per second" : ""}`,
      metric: metric.name,
      unit,
      labels: Object.fromEntries(labels.filter(([name]) => name !== "__name__")),
      place: this.#placeOf(labels),
      relation,
      promql: promqlOf(labels, metric.meaning === "counter" && kind === "moved"),
      before: isMany || isJob ? null : orNull(before),
      after: isJob ? null : orNull(after),
      sigmas: orNull(sigmas),
      sinceMs: Math.max(grid.rangeFromMs, grid.fromMs + firstCell * grid.stepMs),
      untilMs: grid.fromMs + endCell * grid.stepMs,
      peers:
        peers === undefined
          ? null
          : { count: peers.count, value: rounded(peers.value), sigmas: rounded(peers.sigmas) },
      series: isMany ? stopped : 1,
      chart: {
        startMs: grid.fromMs,
        stepMs: grid.stepMs,
        values: Array.from(cells, orNull),
        peerLow: peers?.low ?? [],
        peerHigh: peers?.high ?? [],
        anomalies: anomalousSpans(judged, grid.rangeCell).map(([from, to]) => ({
          fromMs: Math.max(grid.rangeFromMs, grid.fromMs + from * grid.stepMs),
          toMs: grid.fromMs + to * grid.stepMs,
        })),
      },
    };
    const length = (endCell - firstCell) / (grid.cellCount - grid.rangeCell);
    const statistic = Math.min(mostSigmas, sigmas ?? 0) * Math.min(1, length) ** 0.25;
    const beside =
      peers === undefined ? 1 : peers.sigmas >= 4 ? alone : peers.sigmas < 2 ? shared : 1;
    const fact = isJob ? factStrength.began : factStrength[kind];
    return { change, strength: relationShare[relation] * (fact + statistic * beside) };
  }

  /** Compares the change with the same series of the peers over the same time. */
  #compare({ series, unit, before, after, firstCell, endCell }: JudgedChange) {
    const kind = seriesKind(series.labels);
    const { stepMs, rangeCell, cellCount } = this.grid;
    const own = deviceOf(series.labels);
    // GPUs of one machine or job are peers of each other.
    const all = [...this.peers.all, ...this.series.all];
    const columns = all.flatMap(({ labels, metric, cells }) => {
      const device = deviceOf(labels);
      if (seriesKind(labels) !== kind || device === own) return [];
      if (this.#models.get(device) !== this.#models.get(own)) return [];
      return [metric.meaning === "counter" ? ratesOf(cells, stepMs) : cells];
    });
    const steps = columns.flatMap((cells) => {
      const [level, mean] = [
        medianOf(cells.subarray(0, rangeCell)),
        meanOfCells(cells, firstCell, endCell),
      ];
      return Number.isNaN(level) || Number.isNaN(mean) ? [] : [{ mean, step: mean - level }];
    });
    if (steps.length < leastPeers || before === undefined || after === undefined) return undefined;
    const middle = medianOf(steps.map(({ step }) => step));
    const spread = Math.max(
      sigmaFloor(unit, series.metric.resolution, before),
      sigmaOf(
        steps.map(({ step }) => step),
        middle,
      ),
    );
    const band = (share: number): (number | null)[] =>
      Array.from({ length: cellCount }, (_, cell) =>
        orNull(
          quantileOf(
            columns.map((cells) => cells[cell] ?? Number.NaN),
            share,
          ),
        ),
      );
    return {
      count: steps.length,
      value: medianOf(steps.map(({ mean }) => mean)),
      sigmas: Math.abs(after - before - middle) / spread,
      low: band(0.1),
      high: band(0.9),
    };
  }

  #relationOf(labels: LabelSet): SeriesChange["relation"] {
    const uuid = labelValue(labels, "uuid");
    if (uuid === undefined) return "host";
    const isOwn = this.#scope.own.some(
      (one) => one.uuid === uuid && one.host === labelValue(labels, "host"),
    );
    return isOwn ? "own" : "mate";
  }

  #placeOf(labels: LabelSet): string {
    const host = labelValue(labels, "host") ?? "";
    const index = labelValue(labels, "gpu");
    return labelValue(labels, "uuid") === undefined ? host : `GPU ${index ?? "?"} of ${host}`;
  }

  #sentence(
    outcome: ChangeReport["outcome"],
    changes: readonly SeriesChange[],
    moved: number,
  ): string {
    const { grid } = this;
    const { label } = this.#scope.subject;
    const history = formatSpan(grid.rangeCell * grid.stepMs);
    const series = this.series.all.length;
    const [first] = changes;
    if (outcome === "no_data") return `No samples of ${label} are stored in this range.`;
    if (outcome === "no_history")
      return `There is nothing to compare this range with: no reading of ${label} in the ${history} before it.`;
    if (first === undefined)
      return `Nothing moved on ${label}: ${series} series are as in the ${history} before.`;
    return `${moved} of ${series} series changed against the ${history} before. The strongest: ${describeChange(first)}.`;
  }
}

/** For example, `Temperature (edge) 41 °C → 87 °C on GPU 1 of node-1`. */
function describeChange({ kind, title, before, after, unit, place }: SeriesChange): string {
  switch (kind) {
    case "moved":
      return `${title} ${formatChangeValue(before, unit)} → ${formatChangeValue(after, unit)} on ${place}`;
    case "grew":
      return `${title} grew by ${formatChangeValue(after, unit)} on ${place}`;
    case "stopped":
      return `${title} ended on ${place}`;
    case "began":
      return `${title} began on ${place}`;
  }
}

const deviceOf = (labels: LabelSet): string =>
  deviceKey(labelValue(labels, "host") ?? "", labelValue(labels, "uuid") ?? "");

function promqlOf(labels: LabelSet, isRate: boolean): string {
  const own = [
    ...labels.filter(([name]) => name === "host" || name === "uuid"),
    ...ownLabels(labels),
  ];
  const matchers = own.map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(",");
  const selector = `${labelValue(labels, "__name__") ?? ""}{${matchers}}`;
  return isRate ? `rate(${selector}[5m])` : selector;
}

/** Four significant digits are enough for a small chart, and keep the response small. */
const rounded = (value: number): number => Number(value.toPrecision(4));
const orNull = (value: number | undefined): number | null =>
  value === undefined || !Number.isFinite(value) ? null : rounded(value);

function formatSpan(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} days`;
}
