/** Reads the data of an explanation from the history: the GPUs, and their samples as cells. */
import { gpu, self } from "../../model/catalogue/index.ts";
import { labelValue } from "../../model/labels.ts";
import { deviceKey } from "../../model/device.ts";
import { anyOf, type Matcher, type Queryable } from "../../model/select.ts";
import {
  FleetCells,
  gpuMetricNames,
  type GpuIdentity,
  hostMetricNames,
  peerMetricNames,
} from "../../view/explain/fleet-cells.ts";
import { CellGrid, type GridWindow } from "../../view/explain/grid.ts";
import { ownerOf } from "../../lake/analyses/anomaly/readings.ts";

/** Maximum number of GPUs per explanation: the requested ones first, then those of the same host and model. */
export const mostGpus = 64;
/** How long ago a GPU may have reported last. */
const knownMs = 24 * 3_600_000;

const equals = (name: string, value: string): Matcher => ({ name, op: "=", value });

/** Finds the matching GPUs in `gpu_info`; MIG instances only if one is named. */
export async function findGpus(
  history: Pick<Queryable, "series">,
  timeMs: number,
  ...matchers: readonly Matcher[]
): Promise<GpuIdentity[]> {
  const found = new Map<string, GpuIdentity>();
  const isNamed = matchers.some(({ name }) => name === "uuid");
  const labelSets = await history.series(
    [[equals("__name__", gpu.info.name), ...matchers]],
    timeMs - knownMs,
    timeMs,
  );
  for (const labels of labelSets) {
    const uuid = labelValue(labels, "uuid");
    const host = labelValue(labels, "host");
    if (uuid === undefined || host === undefined) continue;
    if (!isNamed && labelValue(labels, "parent") !== undefined) continue;
    found.set(deviceKey(host, uuid), {
      uuid,
      host,
      index: labelValue(labels, "gpu") ?? "?",
      model: labelValue(labels, "model") ?? "unknown",
      vendor: labelValue(labels, "vendor") ?? "unknown",
    });
  }
  return [...found.values()].sort(byPlace);
}

const byPlace = (left: GpuIdentity, right: GpuIdentity): number =>
  left.host.localeCompare(right.host) || Number(left.index) - Number(right.index);

/** Adds GPUs of the same machine, then of the same model, up to the limit. */
export async function withPeers(
  history: Pick<Queryable, "series">,
  timeMs: number,
  asked: readonly GpuIdentity[],
): Promise<GpuIdentity[]> {
  const all = new Map<string, GpuIdentity>();
  const add = (gpus: readonly GpuIdentity[]): void => {
    for (const one of gpus) if (all.size < mostGpus) all.set(deviceKey(one.host, one.uuid), one);
  };
  add(asked);
  for (const [name, of] of [
    ["host", (one: GpuIdentity) => one.host],
    ["model", (one: GpuIdentity) => one.model],
  ] as const) {
    if (all.size >= mostGpus) break;
    const values = [...new Set(asked.map(of))];
    add(await findGpus(history, timeMs, anyOf(name, values)));
  }
  return [...all.values()];
}

/** The GPUs to read, by purpose. */
export interface ReadPlan {
  /** Requested GPUs and the other GPUs of their jobs: read with every field. */
  readonly explained: readonly GpuIdentity[];
  /** GPUs of the same machines and models, as a baseline for the explained ones. */
  readonly peers: readonly GpuIdentity[];
}

/** Reads a day as cells: one selection per window and kind, with each series reduced before the next is decoded. */
export async function readFleetCells(
  history: Pick<Queryable, "select">,
  { explained, peers }: ReadPlan,
  timeMs: number,
  signal?: AbortSignal,
): Promise<FleetCells> {
  const grid = new CellGrid(timeMs);
  const fleet = new FleetCells(grid, [...explained, ...peers]);
  const hosts = [...new Set(explained.map(({ host }) => host))];
  const take = async (window: GridWindow, ...matchers: Matcher[]): Promise<void> => {
    const series = await history.select(matchers, window.fromMs + 1, window.toMs, signal);
    for (const one of series) fleet.take(one.labels, () => one.peek?.() ?? one.column, window);
  };
  const takeGpus = async (
    gpus: readonly GpuIdentity[],
    names: readonly string[],
    windows: readonly GridWindow[],
  ): Promise<void> => {
    if (gpus.length === 0) return;
    const of = [anyOf("uuid", [...new Set(gpus.map(({ uuid }) => uuid))]), anyHost(gpus)];
    for (const window of windows) await take(window, anyOf("__name__", names), ...of);
  };
  const isNear = ({ host }: GpuIdentity): boolean => hosts.includes(host);
  await takeGpus(explained, gpuMetricNames, grid.windows);
  await takeGpus(peers.filter(isNear), peerMetricNames, grid.windows);
  await takeGpus(
    peers.filter((one) => !isNear(one)),
    peerMetricNames,
    grid.peerWindows,
  );
  // Self-metrics have no host label: the instance is the host's address.
  const instances = {
    name: "instance",
    op: "=~",
    value: `(${anyOf("", hosts).value})(:[0-9]+)?`,
  } as const;
  for (const window of grid.windows) {
    await take(window, anyOf("__name__", hostMetricNames), anyOf("host", hosts));
    await take(window, equals("__name__", self.sourceUp.name), instances);
  }
  return fleet;
}

const anyHost = (gpus: readonly GpuIdentity[]): Matcher =>
  anyOf("host", [...new Set(gpus.map(({ host }) => host))]);

/** An owner counts as the GPU's current one if seen this recently. */
const currentMs = 5 * 60_000;

/**
 * Finds other GPUs held by the same job. Process and unit names are unique per machine; those of a scheduler or cluster are
 * unique beyond it.
 */
export async function findMates(
  history: Pick<Queryable, "select">,
  asked: readonly GpuIdentity[],
  others: readonly GpuIdentity[],
  timeMs: number,
  signal?: AbortSignal,
): Promise<GpuIdentity[]> {
  const all = [...asked, ...others];
  const uuids = anyOf("uuid", [...new Set(all.map(({ uuid }) => uuid))]);
  const matchers = [equals("__name__", gpu.ownerInfo.name), uuids];
  const newest = new Map<string, { readonly owner: string; readonly atMs: number }>();
  for (const one of await history.select(matchers, timeMs - currentMs + 1, timeMs, signal)) {
    const { times, values, stale } = one.peek?.() ?? one.column;
    const at = values.findLastIndex((value, index) => value === 1 && stale?.[index] !== 1);
    const key = deviceKey(
      labelValue(one.labels, "host") ?? "",
      labelValue(one.labels, "uuid") ?? "",
    );
    const atMs = at < 0 ? undefined : times[at];
    if (atMs === undefined || atMs < (newest.get(key)?.atMs ?? 0)) continue;
    newest.set(key, { owner: ownerOf(one.labels), atMs });
  }
  const ownerOn = ({ host, uuid }: GpuIdentity): string | undefined =>
    newest.get(deviceKey(host, uuid))?.owner;
  const isUnique = (owner: string): boolean => /^\d+$|\//.test(owner);
  return others.filter((other) => {
    const owner = ownerOn(other);
    if (owner === undefined) return false;
    return asked.some(
      (one) => ownerOn(one) === owner && (isUnique(owner) || one.host === other.host),
    );
  });
}
