/** Every GPU the hub knows: those of the live feed, and those only in the store, with their labels. */
import { computed, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { fleet, gpus, hubTimeMs, liveness } from "../live/feed.ts";
import { type Gpu, gpuId, hasSeveralHosts } from "../../../src/view/gpu.ts";
import { queryInstant } from "./client.ts";
import type { Labels } from "./columns.ts";
import { getJson } from "./http.ts";
import { idOfLabels, readAges, selectorFor, storedGpus, uuidMatcher } from "./stored.ts";

const EVERY_MS = 15_000;
/** The list of GPUs rarely changes, and its response is large for a large fleet. */
const INVENTORY_EVERY_MS = 60_000;
/** A GPU without samples for longer is not listed as missing. */
const REMEMBERED_MS = 86_400_000;

const stored = signal<readonly Gpu[]>([]);
const infos = signal<readonly Labels[]>([]);

export const knownGpus = computed<readonly Gpu[]>(() =>
  stored.value.length === 0 ? gpus.value : [...gpus.value, ...stored.value],
);
/** True if an index alone does not identify a GPU. */
export const severalHosts = computed(() => hasSeveralHosts(knownGpus.value));
export const simulatedCount = computed(
  () => knownGpus.value.filter(({ device }) => device.simulated).length,
);
/** If all GPUs are simulated, one notice covers the page. */
export const partlySimulated = computed(
  () => simulatedCount.value > 0 && simulatedCount.value < knownGpus.value.length,
);
/** False until the first response of the store: before that an empty list does not mean that there is no GPU. */
export const storeAsked = signal(false);
/** All stored labels of a GPU, by id, for grouping the fleet. */
export const gpuLabels = computed<ReadonlyMap<string, Labels>>(
  () => new Map(infos.value.map((labels) => [idOfLabels(labels), labels])),
);

export function useKnownGpus(): void {
  const isOffline = liveness.value === "lost" || liveness.value === "connecting";
  useEffect(() => {
    if (isOffline) return undefined;
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let inventoryAtMs = Number.NEGATIVE_INFINITY;
    const round = async (): Promise<void> => {
      const nowMs = hubTimeMs();
      if (nowMs - inventoryAtMs >= INVENTORY_EVERY_MS) {
        infos.value = await inventory(nowMs, abort.signal);
        inventoryAtMs = nowMs;
      }
      stored.value = await read(nowMs, abort.signal);
    };
    const turn = (): void => {
      round()
        // The charts show the store's error; the live GPUs are shown anyway.
        .catch(() => undefined)
        .finally(() => {
          if (abort.signal.aborted) return;
          storeAsked.value = true;
          timer = setTimeout(turn, EVERY_MS);
        });
    };
    turn();
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [isOffline]);
}

async function inventory(nowMs: number, signalOf: AbortSignal): Promise<readonly Labels[]> {
  const query = new URLSearchParams({
    "match[]": "gpu_info",
    start: String((nowMs - REMEMBERED_MS) / 1_000),
    end: String(nowMs / 1_000),
  });
  const answer = await getJson(`api/v1/series?${query.toString()}`, signalOf);
  const { data } = answer as { data: readonly Labels[] };
  const named = data.filter((labels) => (labels["uuid"] ?? "") !== "");
  const latest = new Map<string, Labels>();
  const twice = new Set<string>();
  for (const labels of named) {
    const id = idOfLabels(labels);
    if (latest.has(id)) twice.add(labels["uuid"] ?? "");
    latest.set(id, labels);
  }
  // A new driver creates a new series of the same GPU: the current labels win.
  if (twice.size > 0) {
    const matcher = uuidMatcher([...twice]).replace(/^,/, "");
    const present = await queryInstant(`gpu_info{${matcher}}`, nowMs, signalOf);
    for (const { labels } of present.samples)
      if ((labels["uuid"] ?? "") !== "") latest.set(idOfLabels(labels), labels);
  }
  return [...latest.values()];
}

async function read(nowMs: number, signalOf: AbortSignal): Promise<readonly Gpu[]> {
  const live = fleet.peek();
  if (live === undefined) return stored.peek();
  const there = new Set(live.devices.map(gpuId));
  const others = infos.peek().filter((labels) => !there.has(idOfLabels(labels)));
  if (others.length === 0) return [];
  const uuids = others.map((labels) => labels["uuid"] ?? "");
  const [values, times] = await Promise.all([
    queryInstant(selectorFor(live.columns, uuids), nowMs, signalOf),
    queryInstant(
      `max by (host, instance, uuid) (timestamp({__name__="gpu_up"${uuidMatcher(uuids)}}))`,
      nowMs,
      signalOf,
    ),
  ]);
  return storedGpus({
    columns: live.columns,
    infos: others,
    samples: values.samples,
    sampledAtMs: readAges(times.samples),
    nowMs,
  });
}
