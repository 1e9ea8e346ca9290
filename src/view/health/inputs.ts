/** The readings behind a verdict: which series of a frame each is made from, and how several series become one number. */
import { gpu, host, type MetricEntry } from "../../model/catalogue/index.ts";
import type { Frame } from "../../model/frame.ts";
import { type LabelSet, labelValue } from "../../model/labels.ts";
import type { Layout } from "../../model/layout.ts";
import { presence } from "../../model/presence.ts";

/** `zeros` and `ones` count the series with the value 0 or 1. */
type Combine = "sum" | "max" | "min" | "zeros" | "ones";

interface InputSpec {
  readonly metric: MetricEntry;
  readonly combine: Combine;
  /** Only series whose label has one of these values. */
  readonly where?: { readonly label: string; readonly values: readonly string[] };
}

const spec = (
  metric: MetricEntry,
  combine: Combine = "max",
  label?: string,
  ...values: readonly string[]
): InputSpec => ({ metric, combine, ...(label === undefined ? {} : { where: { label, values } }) });

const thermal = ["thermal", "thermal_hardware"];

const gpuInputs = {
  up: spec(gpu.up),
  asleep: spec(gpu.asleep),
  utilization: spec(gpu.utilization),
  xidWatched: spec(gpu.xidWatched),
  eccCorrected: spec(gpu.eccErrors, "sum", "type", "corrected"),
  eccUncorrected: spec(gpu.eccErrors, "sum", "type", "uncorrected", "deferred"),
  blockCorrected: spec(gpu.blockErrors, "sum", "type", "corrected"),
  blockUncorrected: spec(gpu.blockErrors, "sum", "type", "uncorrected", "deferred"),
  retiredPages: spec(gpu.retiredPages, "sum"),
  retiredPending: spec(gpu.retiredPagesPending),
  remappedUncorrected: spec(gpu.remappedRows, "sum", "cause", "uncorrected"),
  remapPending: spec(gpu.remappedRowsPending),
  remapFailed: spec(gpu.rowRemapFailed),
  recoveryAction: spec(gpu.recoveryAction),
  linksUp: spec(gpu.interconnectUp, "ones"),
  linksDown: spec(gpu.interconnectUp, "zeros"),
  linkRecoveries: spec(gpu.interconnectErrors, "sum", "type", "recovery"),
  linkErrors: spec(gpu.interconnectErrors, "sum", "type", "replay", "crc_flit", "crc_data"),
  fabricState: spec(gpu.fabricState),
  pcieWidth: spec(gpu.pcieLinkWidth),
  pcieWidthMax: spec(gpu.pcieLinkWidthMax),
  pcieGeneration: spec(gpu.pcieLinkGeneration),
  pcieGenerationMax: spec(gpu.pcieLinkGenerationMax),
  pcieReplays: spec(gpu.pcieReplays, "sum"),
  pcieFatal: spec(gpu.pcieErrors, "sum", "severity", "fatal"),
  pcieNonfatal: spec(gpu.pcieErrors, "sum", "severity", "nonfatal"),
  edgeCelsius: spec(gpu.temperature, "max", "sensor", "edge"),
  hotspotCelsius: spec(gpu.temperature, "max", "sensor", "hotspot"),
  marginCelsius: spec(gpu.temperatureMargin, "min"),
  fanRatio: spec(gpu.fanSpeed, "min"),
  fanRpm: spec(gpu.fanRpm, "min"),
  throttled: spec(gpu.throttleActive),
  heatThrottled: spec(gpu.throttleActive, "max", "reason", ...thermal),
  hardwareThrottled: spec(gpu.throttleActive, "max", "reason", "thermal_hardware"),
  powerBrake: spec(gpu.throttleActive, "max", "reason", "power_brake"),
  /** Throttle reasons that explain a low clock. */
  clockHeld: spec(
    gpu.throttleActive,
    "max",
    "reason",
    ...thermal,
    "power_cap",
    "power_brake",
    "current",
    "sync_boost",
  ),
  clockHertz: spec(gpu.clock, "max", "domain", "graphics"),
  clockMaxHertz: spec(gpu.clockMax, "max", "domain", "graphics"),
} as const satisfies Readonly<Record<string, InputSpec>>;

const hostInputs = {
  memoryCorrected: spec(host.memoryErrors, "sum", "type", "corrected"),
  memoryUncorrected: spec(host.memoryErrors, "sum", "type", "uncorrected"),
} as const satisfies Readonly<Record<string, InputSpec>>;

export type GpuInput = keyof typeof gpuInputs;
export type HostInput = keyof typeof hostInputs;
type InputName = GpuInput | HostInput;

const inputNames = [
  ...(Object.keys(gpuInputs) as GpuInput[]),
  ...(Object.keys(hostInputs) as HostInput[]),
];
const specs: Readonly<Record<InputName, InputSpec>> = { ...gpuInputs, ...hostInputs };
const indexOf = new Map(inputNames.map((name, index) => [name, index]));
const byMetric = new Map<MetricEntry, InputName[]>();
for (const name of inputNames)
  byMetric.set(specs[name].metric, [...(byMetric.get(specs[name].metric) ?? []), name]);

/** The series of a layout that form one input of one GPU or machine. */
export interface PlannedInput {
  readonly name: InputName;
  readonly combine: Combine;
  readonly slots: readonly number[];
}

export function planInputs(layout: Layout, slots: readonly number[]): PlannedInput[] {
  const planned = new Map<InputName, number[]>();
  for (const slot of slots) {
    const series = layout.series[slot];
    if (series === undefined) continue;
    for (const name of byMetric.get(series.metric) ?? []) {
      if (!matches(specs[name], series.labels)) continue;
      const known = planned.get(name);
      if (known === undefined) planned.set(name, [slot]);
      else known.push(slot);
    }
  }
  return [...planned].map(([name, own]) => ({ name, combine: specs[name].combine, slots: own }));
}

const matches = ({ where }: InputSpec, labels: LabelSet): boolean =>
  where === undefined || where.values.includes(labelValue(labels, where.label) ?? "");

const whyAbsent: ReadonlyMap<number | undefined, string> = new Map([
  [presence.denied, "this user may not read it"],
  [presence.asleep, "the GPU is asleep"],
  [presence.failed, "reading failed"],
]);

/** The newest readings of one GPU or machine over all schedules. An absent reading keeps its reason, never its last value. */
export class HealthReadings {
  readonly #values = new Float64Array(inputNames.length);
  readonly #presence = new Uint8Array(inputNames.length).fill(presence.unsupported);

  get(name: InputName): number | undefined {
    const index = indexOf.get(name) ?? -1;
    return this.#presence[index] === presence.present ? this.#values[index] : undefined;
  }

  /** Returns why the value is absent. */
  whyAbsent(name: InputName): string {
    return whyAbsent.get(this.#presence[indexOf.get(name) ?? -1]) ?? "not reported by this card";
  }

  take(frame: Frame, { name, combine, slots }: PlannedInput): void {
    const index = indexOf.get(name) ?? -1;
    let value: number | undefined;
    let absent: number = presence.unsupported;
    for (const slot of slots) {
      const state = frame.presence[slot] ?? presence.failed;
      if (state === presence.present) value = combined(combine, value, frame.values[slot] ?? 0);
      else absent = state;
    }
    this.#presence[index] = value === undefined ? absent : presence.present;
    if (value !== undefined) this.#values[index] = value;
  }
}

function combined(combine: Combine, before: number | undefined, value: number): number {
  switch (combine) {
    case "sum":
      return (before ?? 0) + value;
    case "max":
      return Math.max(before ?? value, value);
    case "min":
      return Math.min(before ?? value, value);
    case "zeros":
      return (before ?? 0) + (value === 0 ? 1 : 0);
    case "ones":
      return (before ?? 0) + (value === 1 ? 1 : 0);
  }
}
