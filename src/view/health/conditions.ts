/**
 * Conditions of a GPU that become active after they have held for a while, and stay active for a while afterwards, so that verdicts
 * do not flicker.
 */
import type { GpuRecord } from "./gpu-record.ts";
import type { GpuInput } from "./inputs.ts";
import type { HealthAction, HealthCheck, JudgedState } from "./verdict.ts";

export type ConditionName =
  | "gpu_lost"
  | "fan_stopped"
  | "too_hot"
  | "hotspot_delta"
  | "clock_stuck"
  | "pcie_degraded"
  | "links_down"
  | "fabric_incomplete";

export interface HealthCondition {
  readonly name: ConditionName;
  readonly check: HealthCheck;
  readonly title: string;
  readonly state: JudgedState;
  readonly action: HealthAction;
  readonly needMs: number;
  readonly keepMs: number;
  /** True if a single check of a few seconds is enough. */
  readonly isQuick: boolean;
  readonly holds: (record: GpuRecord) => boolean;
  readonly text: (record: GpuRecord) => string;
}

const second = 1_000;
const minute = 60_000;
/** Above these temperatures the fan has to turn. */
const fanEdgeCelsius = 70;
const fanHotspotCelsius = 90;
/** The hotspot of a healthy card is 10 to 30 °C above the edge; more points to thermal paste or contact. */
const hotspotDeltaCelsius = 40;
const busyShare = 0.2;

const round = (value: number | undefined): string =>
  value === undefined ? "?" : String(Math.round(value));

const hottest = ({ readings }: GpuRecord): number | undefined =>
  readings.get("hotspotCelsius") ?? readings.get("edgeCelsius");

const isBusy = (record: GpuRecord): boolean => (record.busy.value ?? 0) > busyShare;

function isBelow({ readings }: GpuRecord, input: GpuInput, most: GpuInput): boolean {
  const value = readings.get(input);
  const limit = readings.get(most);
  return value !== undefined && limit !== undefined && value < limit;
}

export const conditions: readonly HealthCondition[] = [
  {
    name: "gpu_lost",
    check: "presence",
    title: "GPU does not respond",
    state: "lost",
    action: "reboot",
    // Five readings a second apart or three of a scrape every two seconds, with jitter: long enough for a slow call, short
    // enough to keep the next pod away.
    needMs: 3.5 * second,
    keepMs: 0,
    isQuick: true,
    holds: ({ readings }) => readings.get("up") === 0,
    text: () => "The GPU was seen before and does not respond now.",
  },
  {
    name: "fan_stopped",
    check: "cooling",
    title: "fan stopped on a hot GPU",
    state: "failing",
    action: "drain",
    needMs: minute,
    keepMs: 10 * minute,
    isQuick: true,
    holds: ({ readings }) =>
      (readings.get("fanRatio") === 0 || readings.get("fanRpm") === 0) &&
      ((readings.get("edgeCelsius") ?? 0) > fanEdgeCelsius ||
        (readings.get("hotspotCelsius") ?? 0) > fanHotspotCelsius),
    text: (record) =>
      `A fan stands still at ${round(hottest(record))} °C; it should turn above ${fanEdgeCelsius} °C.`,
  },
  {
    name: "too_hot",
    check: "cooling",
    title: "at its slowdown temperature",
    state: "degraded",
    action: "inspect",
    needMs: 30 * second,
    keepMs: 10 * minute,
    isQuick: false,
    holds: ({ readings }) =>
      readings.get("hardwareThrottled") === 1 || (readings.get("marginCelsius") ?? 1) <= 0,
    text: (record) =>
      `It reached its slowdown temperature (${round(hottest(record))} °C now). Check fans, airflow and paste.`,
  },
  {
    name: "hotspot_delta",
    check: "cooling",
    title: "hotspot far above the edge",
    state: "degraded",
    action: "inspect",
    needMs: 5 * minute,
    keepMs: 10 * minute,
    isQuick: false,
    holds: (record) =>
      isBusy(record) &&
      (record.readings.get("hotspotCelsius") ?? 0) -
        (record.readings.get("edgeCelsius") ?? Number.POSITIVE_INFINITY) >
        hotspotDeltaCelsius,
    text: ({ readings }) =>
      `The hotspot is at ${round(readings.get("hotspotCelsius"))} °C, the edge at ${round(readings.get("edgeCelsius"))} °C; more than ${hotspotDeltaCelsius} °C apart points to the paste.`,
  },
  {
    name: "clock_stuck",
    check: "clock",
    title: "clock far below its maximum under load",
    state: "degraded",
    action: "reset_gpu",
    needMs: 5 * minute,
    keepMs: 10 * minute,
    isQuick: false,
    holds: ({ busy, clockRatio, clockHeld }) =>
      (busy.value ?? 0) > 0.8 && (clockRatio.value ?? 1) < 0.5 && (clockHeld.value ?? 0) < 0.1,
    text: ({ clockRatio }) =>
      `Busy for five minutes at ${round(100 * (clockRatio.value ?? 0))} % of its highest clock, without a power or thermal limit. Unlock its clocks; if they are not locked, reset it.`,
  },
  {
    name: "pcie_degraded",
    check: "pcie",
    title: "PCIe link below its maximum",
    state: "degraded",
    action: "reboot",
    needMs: 5 * minute,
    keepMs: 10 * minute,
    isQuick: true,
    holds: (record) =>
      isBusy(record) &&
      (isBelow(record, "pcieWidth", "pcieWidthMax") ||
        isBelow(record, "pcieGeneration", "pcieGenerationMax")),
    text: ({ readings }) =>
      `Under load the link has ${round(readings.get("pcieWidth"))} of ${round(readings.get("pcieWidthMax"))} lanes at generation ${round(readings.get("pcieGeneration"))} of ${round(readings.get("pcieGenerationMax"))}. A reboot trains it again; if it stays, reseat the card or riser.`,
  },
  {
    name: "links_down",
    check: "interconnect",
    title: "links to other GPUs are down",
    state: "degraded",
    action: "reset_gpu",
    needMs: 5 * minute,
    keepMs: 0,
    isQuick: true,
    holds: ({ readings, mostLinksUp }) => (readings.get("linksDown") ?? 0) > 0 && mostLinksUp > 0,
    text: ({ readings, mostLinksUp }) =>
      `${round(readings.get("linksDown"))} links are down, ${round(readings.get("linksUp"))} are up; ${mostLinksUp} were up at most.`,
  },
  {
    name: "fabric_incomplete",
    check: "interconnect",
    title: "has not joined the NVLink fabric",
    state: "degraded",
    action: "inspect",
    needMs: 10 * minute,
    keepMs: 0,
    isQuick: false,
    holds: ({ readings }) => (readings.get("fabricState") ?? 3) < 3,
    text: () =>
      "The GPU has not joined the NVLink fabric for ten minutes. Check the fabric manager.",
  },
];
