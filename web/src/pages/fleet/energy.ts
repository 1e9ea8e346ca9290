/** Energy since midnight or in a past range, and its cost at the price that the user set. */
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { liveness, hubTimeMs } from "../../live/feed.ts";
import { type FetchState, useFetch } from "../../query/use-fetch.ts";
import { queryInstant } from "../../query/client.ts";
import { knownGpus } from "../../query/known-gpus.ts";
import { idOfLabels, uuidMatcher } from "../../query/stored.ts";
import { query as addressQuery, setParams } from "../../view-state/address.ts";
import { type Price, readPrice } from "./price.ts";
import type { TimeWindow } from "../../view-state/range.ts";
import { range } from "../../view-state/time.ts";
import { readStoredText, writeStoredText } from "../../view-state/preferences.ts";

const EVERY_MS = 60_000;
const JOULES_PER_KWH = 3_600_000;

export interface Energy {
  readonly kilowattHours: number;
  /** Number of GPUs that report it. */
  readonly count: number;
}

/** Uses the device's energy counter, or else the energy that gpulse integrates from its power. */
export function useEnergy(): FetchState<Energy | undefined> {
  const day = new Date(hubTimeMs()).toDateString();
  const past = range.value.kind === "between" ? range.value : undefined;
  const key = past === undefined ? day : `${past.fromMs} ${past.toMs}`;
  return useFetch(
    `energy ${key} ${liveness.value === "connecting"}`,
    (signalOf) => energyIn(past ?? today(), signalOf),
    past === undefined ? EVERY_MS : undefined,
  );
}

function today(): TimeWindow {
  const toMs = hubTimeMs();
  return { fromMs: new Date(toMs).setHours(0, 0, 0, 0), toMs };
}

async function energyIn(
  { fromMs, toMs }: TimeWindow,
  signalOf: AbortSignal,
): Promise<Energy | undefined> {
  const over = `[${Math.max(60, Math.round((toMs - fromMs) / 1_000))}s]`;
  const counted = await countersIn(over, toMs, signalOf);
  if (counted !== undefined && counted.count >= knownGpus.peek().length) return counted;
  const joules = new Map<string, number>();
  const add = async (selector: string): Promise<void> => {
    const query = `max by (host, instance, uuid) (increase(${selector}${over}))`;
    const found = new Map<string, number>();
    for (const { labels, value } of (await queryInstant(query, toMs, signalOf)).samples)
      // A GPU that two instances report counts once, with the higher counter.
      found.set(idOfLabels(labels), Math.max(value, found.get(idOfLabels(labels)) ?? 0));
    for (const [id, value] of found) if (!joules.has(id)) joules.set(id, value);
  };
  await add("gpu_energy_joules_total");
  // The integrated counter is written every second, so that a day of it is large: queried only for GPUs without a counter of their
  // own.
  const others = knownGpus
    .peek()
    .flatMap(({ id, device: { uuid } }) => (joules.has(id) ? [] : [uuid]));
  if (others.length > 0)
    await add(`{__name__="gpu_energy_integrated_joules_total"${uuidMatcher(others)}}`);
  if (joules.size === 0) return undefined;
  const sum = [...joules.values()].reduce((all, one) => all + one, 0);
  return { kilowattHours: sum / JOULES_PER_KWH, count: joules.size };
}

/** The sum over the GPUs' own counters, without a value for each of them. A GPU that two instances report counts once. */
async function countersIn(
  over: string,
  atMs: number,
  signalOf: AbortSignal,
): Promise<Energy | undefined> {
  const increase = (matcher: string): string =>
    `increase(gpu_energy_joules_total{${matcher}}${over})`;
  const each = `max by (host, uuid) (${increase('host!=""')}) or max by (instance, uuid) (${increase('host=""')})`;
  const value = async (query: string): Promise<number | undefined> =>
    (await queryInstant(query, atMs, signalOf)).samples[0]?.value;
  const [joules, count] = await Promise.all([value(`sum(${each})`), value(`count(${each})`)]);
  return joules === undefined || count === undefined
    ? undefined
    : { kilowattHours: joules / JOULES_PER_KWH, count };
}

const STORED = "gpulse.kwh";
/** Undefined until it is read: the first access to localStorage waits for the browser. */
const stored = signal<string | undefined>(undefined);

/** The address overrides the stored price, so that a shared link shows the same cost. */
export function usePrice(): Price | undefined {
  // After the first drawing.
  useEffect(() => {
    stored.value ??= readStoredText(STORED) ?? "";
  }, []);
  return readPrice(addressQuery.value.get("kwh") ?? stored.value ?? "");
}

export function setPrice(text: string): void {
  stored.value = text.trim();
  writeStoredText(STORED, stored.value);
  setParams({ kwh: undefined }, "replace");
}
