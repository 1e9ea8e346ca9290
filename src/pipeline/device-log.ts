/**
 * Logs events of one source's GPUs: a GPU that is lost or returns, and rejected readings. Each event is one line when it
 * begins, not one per frame; a flapping GPU or reading is logged once an hour. Rejected readings are counted in the
 * source's state, for the self-metrics.
 */
import type { Log } from "../base/log.ts";
import { findMetric, gpu } from "../model/catalogue/index.ts";
import type { Device } from "../model/device.ts";
import type { Frame, RejectedReading } from "../model/frame.ts";
import { labelValue } from "../model/labels.ts";
import { type Layout, type Series, seriesKey } from "../model/layout.ts";
import { presence } from "../model/presence.ts";
import type { SourceState } from "./source-state.ts";

/** Minimum time between two log lines about the same GPU or reading. */
const repeatAfterMs = 3_600_000;
/** Streams may carry any number of GPUs: beyond this many entries, rejected readings are counted but not logged. */
const maxRemembered = 10_000;

interface DeviceUpState {
  isUp: boolean;
  lostMs: number;
  loggedMs: number;
  isLogged: boolean;
  /** Losses since the last log line that were not logged. */
  unlogged: number;
}

interface RejectedState {
  readonly metric: string;
  readonly key: string;
  isActive: boolean;
  loggedMs: number;
}

export interface DeviceLogOptions {
  readonly state: SourceState;
  readonly log: Log;
  readonly nowMs: () => number;
}

export class DeviceLog {
  readonly #options: DeviceLogOptions;
  readonly #upSlots = new WeakMap<Layout, readonly (readonly [slot: number, uuid: string])[]>();
  readonly #devices = new Map<string, DeviceUpState>();
  /** Key: UUID and metric. */
  readonly #rejected = new Map<string, RejectedState>();
  #active = 0;

  constructor(options: DeviceLogOptions) {
    this.#options = options;
  }

  /** @param lossOf returns why a GPU is down, if the source knows the reason */
  observe(
    frame: Frame,
    devices: readonly Device[],
    lossOf: (uuid: string) => string | undefined,
  ): void {
    this.#observeUp(frame, devices, lossOf);
    this.observeRejected(frame, devices);
  }

  observeRejected(frame: Frame, devices: readonly Device[]): void {
    if (this.#active > 0) this.#recover(frame);
    for (const one of frame.rejected ?? []) this.#reject(one, frame.layout, devices);
  }

  #observeUp(
    frame: Frame,
    devices: readonly Device[],
    lossOf: (uuid: string) => string | undefined,
  ): void {
    for (const [slot, uuid] of this.#slotsOf(frame.layout)) {
      if (frame.presence[slot] !== presence.present) continue;
      const isUp = frame.values[slot] === 1;
      const before = this.#devices.get(uuid);
      if (before?.isUp === isUp) continue;
      const state: DeviceUpState = before ?? {
        isUp: true,
        lostMs: 0,
        loggedMs: -Infinity,
        isLogged: false,
        unlogged: 0,
      };
      this.#devices.set(uuid, state);
      state.isUp = isUp;
      if (!isUp) this.#logLost(state, uuid, devices, lossOf(uuid));
      else if (before !== undefined) this.#logReturned(state, uuid, devices);
    }
  }

  #logLost(
    state: DeviceUpState,
    uuid: string,
    devices: readonly Device[],
    reason = "its driver no longer answers for it",
  ): void {
    const { state: source, log, nowMs } = this.#options;
    state.lostMs = nowMs();
    state.isLogged = state.lostMs - state.loggedMs >= repeatAfterMs;
    if (!state.isLogged) {
      state.unlogged += 1;
      return;
    }
    log.warn("GPU lost", {
      source: source.name,
      ...deviceFields(uuid, devices),
      reason,
      lossesNotLogged: state.unlogged === 0 ? undefined : state.unlogged,
    });
    state.loggedMs = state.lostMs;
    state.unlogged = 0;
  }

  #logReturned(state: DeviceUpState, uuid: string, devices: readonly Device[]): void {
    const { state: source, log, nowMs } = this.#options;
    if (!state.isLogged) return;
    log.info("GPU returned", {
      source: source.name,
      ...deviceFields(uuid, devices),
      lostSeconds: Math.round((nowMs() - state.lostMs) / 1_000),
    });
  }

  #reject(
    { slot, value, reason }: RejectedReading,
    layout: Layout,
    devices: readonly Device[],
  ): void {
    const { state, log, nowMs } = this.#options;
    const series = layout.series[slot];
    if (series === undefined) return;
    const { metric } = series;
    // Metric names from other programs are unbounded, so all of them share one counter.
    const name = findMetric(metric.name) === undefined ? "other" : metric.name;
    const counted = (state.rejected ??= new Map());
    const counter = `${name} ${reason}`;
    const count = counted.get(counter)?.count ?? 0;
    counted.set(counter, { metric: name, reason, count: count + 1 });

    const uuid = labelValue(series.labels, "uuid") ?? "";
    const key = `${uuid} ${metric.name}`;
    const known = this.#rejected.get(key);
    if (known?.isActive === true || (known === undefined && this.#rejected.size >= maxRemembered))
      return;
    const entry: RejectedState = known ?? {
      metric: metric.name,
      key: seriesKey(series),
      isActive: true,
      loggedMs: -Infinity,
    };
    entry.isActive = true;
    this.#active += 1;
    this.#rejected.set(key, entry);
    if (nowMs() - entry.loggedMs < repeatAfterMs) return;
    entry.loggedMs = nowMs();
    log.warn("reading rejected: it is reported as absent", {
      source: state.name,
      ...deviceFields(uuid, devices),
      metric: metric.name,
      ...ownLabels(series),
      value,
      reason,
      plausible: `${metric.plausible[0]} to ${metric.plausible[1]}`,
    });
  }

  /** A rejected reading that is present again may be logged again. */
  #recover({ layout, presence: states, rejected = [] }: Frame): void {
    const still = new Set(rejected.map(({ slot }) => slot));
    const active = [...this.#rejected.values()].filter(({ isActive }) => isActive);
    const byKey = new Map(active.map((entry) => [entry.key, entry]));
    const metrics = new Set(active.map(({ metric }) => metric));
    layout.series.forEach((series, slot) => {
      if (!metrics.has(series.metric.name) || states[slot] !== presence.present || still.has(slot))
        return;
      const entry = byKey.get(seriesKey(series));
      if (entry === undefined) return;
      entry.isActive = false;
      this.#active -= 1;
    });
  }

  #slotsOf(layout: Layout): readonly (readonly [number, string])[] {
    const known = this.#upSlots.get(layout);
    if (known !== undefined) return known;
    const slots = layout.series.flatMap(({ metric, labels }, slot) => {
      const uuid = metric === gpu.up ? labelValue(labels, "uuid") : undefined;
      return uuid === undefined ? [] : [[slot, uuid] as const];
    });
    this.#upSlots.set(layout, slots);
    return slots;
  }
}

function deviceFields(
  uuid: string,
  devices: readonly Device[],
): { readonly gpu?: number; readonly uuid: string; readonly model?: string } {
  const device = devices.find((one) => one.uuid === uuid);
  return device === undefined ? { uuid } : { gpu: device.index, uuid, model: device.model };
}

/** The labels that tell the readings of one metric apart, such as the sensor. */
function ownLabels({ metric, labels }: Series): Readonly<Record<string, string>> {
  const names = new Set(metric.labels.map(({ name }) => name));
  return Object.fromEntries(labels.filter(([name]) => names.has(name)));
}
