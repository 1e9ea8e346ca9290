/** The moment that the fleet page shows: the present, or a moment of a past range, read from the store. */
import { computed, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Gpu } from "../../../../src/view/gpu.ts";
import { RecentHistory, HISTORY_SECONDS } from "../../../../src/view/live/history.ts";
import type { ColumnKey, HistoryKey, WireColumn } from "../../../../src/view/live/protocol.ts";
import { endSecond, fleet, history, liveness } from "../../live/feed.ts";
import type { ActiveAlert } from "../../query/alert.ts";
import { queryInstant, queryRange } from "../../query/client.ts";
import { knownGpus } from "../../query/known-gpus.ts";
import { readAges, idOfLabels, selectorFor, storedGpus } from "../../query/stored.ts";
import { toApiError } from "../../query/use-range.ts";
import { setParams } from "../../view-state/address.ts";
import { Param } from "../../view-state/param.ts";
import { readInstant, writeInstant, writeRange } from "../../view-state/range.ts";
import { range, timeWindow } from "../../view-state/time.ts";

const at = new Param<number | undefined>("at", {
  read: readInstant,
  write: (ms) => (ms === undefined ? undefined : writeInstant(ms)),
});

/** Undefined while the page shows the present. */
export const momentMs = computed<number | undefined>(() => {
  if (range.value.kind === "last") return undefined;
  const { fromMs, toMs } = range.value;
  return Math.min(toMs, Math.max(fromMs, at.value ?? toMs));
});

/** From the live view, the current range is frozen first. */
export function showMoment(ms: number): void {
  if (range.peek().kind === "between") {
    at.value = ms;
    return;
  }
  const between = writeRange({ kind: "between", ...roundWindow() });
  setParams({ ...between, at: writeInstant(ms) }, "push");
}

/** Whole seconds, so that the address is readable. */
function roundWindow(): { fromMs: number; toMs: number } {
  const [fromMs, toMs] = [timeWindow.peek().fromMs, timeWindow.peek().toMs].map(
    (ms) => Math.floor(ms / 1_000) * 1_000,
  ) as [number, number];
  return { fromMs, toMs };
}

interface PastFleet {
  readonly atMs: number;
  readonly gpus: readonly Gpu[];
  readonly alerts: readonly ActiveAlert[];
  readonly history: RecentHistory;
}

const past = signal<PastFleet | undefined>(undefined);
export const momentError = signal<string | undefined>(undefined);

/** The GPUs at the selected moment; the previous ones while the next moment loads. */
export const fleetGpus = computed<readonly Gpu[]>(() =>
  momentMs.value === undefined ? knownGpus.value : (past.value?.gpus ?? []),
);
/** Alerts that fired at a past moment; undefined for the present. */
export const pastAlerts = computed(() =>
  momentMs.value === undefined ? undefined : (past.value?.alerts ?? []),
);
/** True if the data belongs to the selected moment. */
export const isMomentLoaded = computed(
  () => momentMs.value === undefined || past.value?.atMs === momentMs.value,
);
/** The five minutes before the moment. */
export const curves = computed(() =>
  momentMs.value === undefined
    ? { history, endSecond: endSecond.value }
    : {
        history: past.value?.history ?? nothing,
        endSecond: Math.floor((past.value?.atMs ?? 0) / 1_000),
      },
);
const nothing = new RecentHistory(HISTORY_SECONDS);

export function useMoment(): void {
  const atMs = momentMs.value;
  const columns = fleet.value?.columns;
  const isOffline = liveness.value === "lost";
  useEffect(() => {
    if (atMs === undefined) past.value = undefined;
    if (atMs === undefined || columns === undefined || isOffline) return undefined;
    const abort = new AbortController();
    const settle = (found: PastFleet | undefined, problem: string | undefined): void => {
      if (abort.signal.aborted) return;
      past.value = found;
      momentError.value = problem;
    };
    readMoment(atMs, columns, abort.signal).then(
      (found) => settle(found, undefined),
      (thrown: unknown) => settle(past.peek(), toApiError(thrown)?.message),
    );
    return () => abort.abort();
  }, [atMs, columns, isOffline]);
}

/** Columns that this page does not show, which need not be transferred. */
const unshown: ReadonlySet<ColumnKey> = new Set([
  "encoder",
  "decoder",
  "video",
  "pcieRx",
  "pcieTx",
  "linkGeneration",
  "linkWidth",
  "interconnectRxTotal",
  "interconnectTxTotal",
  "energyTotal",
  "energyIntegratedTotal",
] as const);
/** A GPU without samples for longer before the moment is not listed as missing. */
const REMEMBERED = "1h";
/** For more GPUs, curves are too much data for one moment. */
const MOST_CURVES = 64;

async function readMoment(
  atMs: number,
  all: readonly WireColumn[],
  signalOf: AbortSignal,
): Promise<PastFleet> {
  const columns = all.filter(({ key }) => !unshown.has(key));
  const ask = async (query: string) => (await queryInstant(query, atMs, signalOf)).samples;
  const [infos, samples, times, firing] = await Promise.all([
    ask(`last_over_time(gpu_info[${REMEMBERED}])`),
    ask(selectorFor(columns)),
    ask("max by (host, instance, uuid) (timestamp(gpu_up))"),
    ask(`ALERTS{alertstate="firing"}`),
  ]);
  const latest = new Map(infos.map(({ labels }) => [idOfLabels(labels), labels]));
  const gpus = storedGpus({
    columns,
    infos: [...latest.values()],
    samples,
    sampledAtMs: readAges(times),
    nowMs: atMs,
  }).sort(byHostAndIndex);
  const drawn = gpus.length <= MOST_CURVES ? await readCurves(atMs, signalOf) : nothing;
  return {
    atMs,
    gpus,
    alerts: firing.map(({ labels }) => ({
      labels,
      annotations: {},
      state: "firing" as const,
      activeAt: "",
    })),
    history: drawn,
  };
}

const byHostAndIndex = (one: Gpu, other: Gpu): number =>
  one.device.host.localeCompare(other.device.host, "en", { numeric: true }) ||
  one.device.index - other.device.index;

const curveSeries: Readonly<Record<HistoryKey, string>> = {
  utilization: "gpu_utilization_ratio",
  memoryUsedRatio: "gpu_memory_used_ratio",
  power: "gpu_power_watts",
  temperatureEdge: `gpu_temperature_celsius{sensor="edge"}`,
};
const CURVE_STEP_SECONDS = 5;

async function readCurves(atMs: number, signalOf: AbortSignal): Promise<RecentHistory> {
  const made = new RecentHistory(HISTORY_SECONDS);
  const endMs = Math.floor(atMs / 1_000) * 1_000;
  const stepMs = CURVE_STEP_SECONDS * 1_000;
  const grid = { startMs: endMs - HISTORY_SECONDS * 1_000 + stepMs, endMs, stepMs };
  const byGpu = new Map<string, Partial<Record<HistoryKey, (number | null)[]>>>();
  await Promise.all(
    (Object.entries(curveSeries) as [HistoryKey, string][]).map(async ([key, query]) => {
      for (const { labels, values } of (await queryRange(query, grid, signalOf)).series) {
        const id = idOfLabels(labels);
        // One point per second, as in the live curves.
        const seconds = [...values].flatMap((value) =>
          Array.from({ length: CURVE_STEP_SECONDS }, () => (Number.isNaN(value) ? null : value)),
        );
        byGpu.set(id, { ...byGpu.get(id), [key]: seconds });
      }
    }),
  );
  for (const [id, own] of byGpu) made.writeCurves(id, endMs / 1_000, own);
  return made;
}
