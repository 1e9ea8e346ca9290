/** GPUs that the live feed lacks, built from stored series: scraped, or written by another program. Pure. */
import {
  type ColumnKey,
  columnKeys,
  type FactKey,
  factKeys,
  type WireColumn,
  type WireDevice,
  type WireRow,
  type WireValue,
  type WireXid,
} from "../../../src/view/live/protocol.ts";
import { type BoundWord, boundWords } from "../../../src/model/bound.ts";
import { escapeMatcher } from "../../../src/view/first-load.ts";
import { deviceFromLabels, unidentifiedDevice } from "../../../src/model/device.ts";
import { type Gpu, gpuId, gpuOf } from "../../../src/view/gpu.ts";
import type { InstantSample } from "./client.ts";
import type { Labels } from "./columns.ts";

/** The series of each fact; columns define their own. */
const factSeries: Readonly<Record<FactKey, readonly [metric: string, labels: Labels]>> = {
  memoryTotal: ["gpu_memory_total_bytes", {}],
  powerLimitDefault: ["gpu_power_limit_default_watts", {}],
  limitTarget: ["gpu_temperature_limit_celsius", { limit: "target" }],
  limitSlowdown: ["gpu_temperature_limit_celsius", { limit: "slowdown" }],
  limitShutdown: ["gpu_temperature_limit_celsius", { limit: "shutdown" }],
  limitMemory: ["gpu_temperature_limit_celsius", { limit: "memory" }],
  clockMaxSm: ["gpu_clock_max_hertz", { domain: "sm" }],
  clockMaxGraphics: ["gpu_clock_max_hertz", { domain: "graphics" }],
  linkGenerationMax: ["gpu_pcie_link_generation_max", {}],
  linkWidthMax: ["gpu_pcie_link_width_max", {}],
};

/** One selector for every series that a row is built from. */
/** For all GPUs if `uuids` is absent. */
export function selectorFor(columns: readonly WireColumn[], uuids?: readonly string[]): string {
  const names = new Set([
    ...columns.map(({ metric }) => metric),
    ...Object.values(factSeries).map(([metric]) => metric),
    "gpu_throttle_active",
    "gpu_owner_info",
    "gpu_bound",
    "gpu_xid_errors_total",
    "gpu_xid_last_timestamp_seconds",
  ]);
  return `{__name__=~"${[...names].join("|")}"${uuids === undefined ? "" : uuidMatcher(uuids)}}`;
}

/** The length of an address limits a selector: for more GPUs than this, all are queried. */
const MOST_NAMED = 100;

export function uuidMatcher(uuids: readonly string[]): string {
  if (uuids.length > MOST_NAMED) return "";
  return `,uuid=~"${uuids.map(escapeMatcher).join("|")}"`;
}

/** Series without a host label are distinguished by their instance. */
const hostOf = (labels: Labels): string => labels["host"] ?? labels["instance"] ?? "";

/** The id of a series' GPU. */
export const idOfLabels = (labels: Labels): string =>
  gpuId({ host: hostOf(labels), uuid: labels["uuid"] ?? "" });

/** Time of each GPU's newest sample over all of its series. */
export const readAges = (times: readonly InstantSample[]): ReadonlyMap<string, number> =>
  new Map(
    times
      .toSorted((one, other) => one.value - other.value)
      .map(({ labels, value }) => [idOfLabels(labels), value * 1_000]),
  );

export interface StoredGpuData {
  readonly columns: readonly WireColumn[];
  /** The newest `gpu_info` of each GPU. */
  readonly infos: readonly Labels[];
  readonly samples: readonly InstantSample[];
  /** Time of the newest sample of each GPU, by id. */
  readonly sampledAtMs: ReadonlyMap<string, number>;
  readonly nowMs: number;
}

export function storedGpus(answer: StoredGpuData): Gpu[] {
  const byId = new Map<string, InstantSample[]>();
  for (const sample of answer.samples) {
    const id = idOfLabels(sample.labels);
    const own = byId.get(id);
    if (own === undefined) byId.set(id, [sample]);
    else own.push(sample);
  }
  return answer.infos.map((info) => {
    const id = idOfLabels(info);
    const own = byId.get(id) ?? [];
    const atMs = answer.sampledAtMs.get(id);
    const absent = atMs === undefined ? "stale" : "unsupported";
    return gpuOf(
      deviceOf(info, own, absent),
      rowOf(answer.columns, own, atMs === undefined ? undefined : answer.nowMs - atMs, absent),
      answer.nowMs,
    );
  });
}

function deviceOf(
  info: Labels,
  own: readonly InstantSample[],
  absent: "stale" | "unsupported",
): WireDevice {
  const { uuid = "", gpu } = info;
  const device = deviceFromLabels({ model: "GPU", ...info }) ?? unidentifiedDevice(uuid, gpu);
  const facts = Object.fromEntries(
    factKeys.map((key) => [key, highest(own, ...factSeries[key]) ?? absent]),
  ) as Record<FactKey, WireValue>;
  return {
    ...device,
    host: hostOf(info),
    source: `store${info["instance"] === undefined ? "" : `, ${info["instance"]}`}`,
    facts,
  };
}

function rowOf(
  columns: readonly WireColumn[],
  own: readonly InstantSample[],
  ageMs: number | undefined,
  absent: "stale" | "unsupported",
): WireRow {
  const value = (key: ColumnKey): WireValue => {
    const column = columns.find((one) => one.key === key);
    return (
      (column === undefined ? undefined : highest(own, column.metric, column.labels)) ?? absent
    );
  };
  const throttle = own.filter(({ labels }) => labels["__name__"] === "gpu_throttle_active");
  const owner = own.find(({ labels }) => labels["__name__"] === "gpu_owner_info")?.labels;
  const job = owner?.["workload"] ?? owner?.["pod"] ?? owner?.["container"];
  const user = owner?.["user"];
  return {
    values: columnKeys.map(value),
    ageMs: ageMs === undefined ? {} : { fast: Math.max(0, ageMs) },
    throttle:
      throttle.length === 0
        ? absent
        : throttle.flatMap(({ value: on, labels }) => (on > 0 ? [labels["reason"] ?? ""] : [])),
    bound: boundOf(own) ?? absent,
    xids: xidsOf(own),
    ...(job === undefined ? {} : { job }),
    ...(user === undefined ? {} : { user }),
  };
}

function boundOf(own: readonly InstantSample[]): BoundWord | undefined {
  const by = own.find(({ labels, value }) => labels["__name__"] === "gpu_bound" && value > 0);
  return boundWords.find((word) => word === by?.labels["by"]);
}

function xidsOf(own: readonly InstantSample[]): WireXid[] {
  return own.flatMap(({ labels, value }) => {
    const { xid = "" } = labels;
    if (labels["__name__"] !== "gpu_xid_errors_total" || !(value > 0)) return [];
    const seconds = highest(own, "gpu_xid_last_timestamp_seconds", { xid });
    return [{ xid, count: value, ...(seconds === undefined ? {} : { lastMs: seconds * 1_000 }) }];
  });
}

function highest(
  own: readonly InstantSample[],
  metric: string,
  wanted: Labels,
): number | undefined {
  let found: number | undefined;
  for (const { labels, value } of own) {
    const matches =
      labels["__name__"] === metric &&
      !Number.isNaN(value) &&
      Object.entries(wanted).every(([name, text]) => labels[name] === text);
    if (matches && (found === undefined || value > found)) found = value;
  }
  return found;
}
