/**
 * The hub's state of the fleet: retains every device, so that one that stops delivering stays listed with its reason instead of
 * vanishing. Time is an argument; nothing here waits or writes to the network.
 */
import { deviceKey } from "../../model/device.ts";
import { presence } from "../../model/presence.ts";
import type { Delivery } from "../../pipeline/sink.ts";
import { collectRows, type DeviceRow, type SeenDevice, seenDevices } from "./collect.ts";
import { wireColumns } from "./columns.ts";
import { HISTORY_SECONDS, historyPoint, RecentHistory } from "./history.ts";
import { planCurves } from "./plan.ts";
import type { PastPoints } from "./prime.ts";
import {
  columnKeys,
  factKeys,
  historyKeys,
  type LiveFrame,
  SCHEMA,
  type WireDevice,
  type WireFleet,
} from "./protocol.ts";

/** About 200 kB compressed; for a larger fleet the history is shortened instead. */
const HISTORY_POINTS_SENT = 200_000;
/** Limits the memory that a source with invented devices can use. */
const DEVICES_KEPT = 20_000;

export interface FleetIdentity {
  readonly host: string;
  readonly version: string;
}

export class LiveFleet {
  readonly #identity: FleetIdentity;
  readonly #history = new RecentHistory(HISTORY_SECONDS);
  readonly #known = new Map<string, SeenDevice>();
  #devices: readonly WireDevice[] = [];
  #frame: LiveFrame = { fleet: 0, timeMs: 0, problems: [], rows: [] };

  constructor(identity: FleetIdentity) {
    this.#identity = identity;
  }

  /** Takes the fresh deliveries. `changed` is true if devices or their limits changed, so that every page needs a fleet event. */
  update(
    deliveries: readonly Delivery[],
    problems: readonly string[],
    nowMs: number,
  ): { changed: boolean } {
    const { host } = this.#identity;
    for (const [key, seen] of seenDevices(deliveries, host)) {
      if (this.#known.has(key) || this.#known.size < DEVICES_KEPT) this.#known.set(key, seen);
    }
    const collected = collectRows(deliveries, [...this.#known.values()], nowMs, host);
    const devices = [...this.#known.values()].map((seen, at) =>
      this.#describe(seen, collected[at], this.#devices[at]),
    );
    const changed = !sameDevices(devices, this.#devices);
    if (changed) this.#devices = devices;
    const rows = collected.map(({ row }) => row);
    this.#frame = { fleet: this.#frame.fleet + (changed ? 1 : 0), timeMs: nowMs, problems, rows };
    this.#remember(nowMs);
    return { changed };
  }

  /**
   * Only writes the points of the curves, for the time when no page is open: a tenth of the cost of `update`. Devices and rows
   * stay as they were. Returns false, and writes nothing, if a device is new: then call `update`.
   */
  updateCurves(deliveries: readonly Delivery[], nowMs: number): boolean {
    const history = this.#history;
    for (const { frame, host = this.#identity.host } of deliveries)
      for (const { device } of planCurves(frame.layout, host))
        if (!this.#known.has(device) && this.#known.size < DEVICES_KEPT) return false;
    history.beginPoints(Math.floor(nowMs / 1_000));
    for (const { frame, host = this.#identity.host } of deliveries)
      for (const { device, slots } of planCurves(frame.layout, host)) {
        if (!this.#known.has(device)) continue;
        const point = history.openPoint(device);
        if (point === undefined) continue;
        for (const { slot, key } of slots) {
          const value = frame.values[slot];
          if (frame.presence[slot] === presence.present && value !== undefined)
            history.raise(point, key, value);
        }
      }
    return true;
  }

  /** Adds curves from before this start, always older than the points written from now on. */
  prime(past: PastPoints): void {
    for (const [key, points] of past) {
      for (const second of [...points.keys()].sort((left, right) => left - right)) {
        this.#history.write(key, second, points.get(second) ?? {});
      }
    }
  }

  get frame(): LiveFrame {
    return this.#frame;
  }

  get devices(): readonly WireDevice[] {
    return this.#devices;
  }

  /** Returns everything a page needs to start. */
  describe(): WireFleet {
    const endSecond = Math.floor(this.#frame.timeMs / 1_000);
    const perDevice = this.#devices.length * historyKeys.length;
    const count = Math.max(
      30,
      Math.min(HISTORY_SECONDS, Math.floor(HISTORY_POINTS_SENT / Math.max(1, perDevice))),
    );
    return {
      schema: SCHEMA,
      fleet: this.#frame.fleet,
      version: this.#identity.version,
      host: this.#identity.host,
      simulated: this.#devices.some((device) => device.simulated),
      columns: wireColumns,
      devices: this.#devices,
      history: {
        endSecond,
        keys: historyKeys,
        points: this.#devices.map(({ host, uuid }) =>
          historyKeys.map((key) =>
            this.#history.read(deviceKey(host, uuid), key, endSecond, count),
          ),
        ),
      },
      frame: this.#frame,
    };
  }

  /** A reported limit is retained while its frame is too old to serve: a hung source does not change a card's limits. */
  #describe(
    { device, source, host }: SeenDevice,
    collected: DeviceRow | undefined,
    before: WireDevice | undefined,
  ): WireDevice {
    const isSame = before?.uuid === device.uuid && before.host === host;
    const earlier = isSame ? before.facts : undefined;
    const facts = Object.fromEntries(
      factKeys.map((key) => {
        const now = collected?.facts[key] ?? "stale";
        return [key, now === "stale" ? (earlier?.[key] ?? now) : now];
      }),
    ) as WireDevice["facts"];
    return {
      uuid: device.uuid,
      index: device.index,
      host,
      vendor: device.vendor,
      model: device.model,
      simulated: device.simulated,
      source,
      pciBusId: device.pciBusId,
      driver: device.driver,
      vbios: device.vbios,
      linkType: device.linkType,
      facts,
    };
  }

  #remember(nowMs: number): void {
    const second = Math.floor(nowMs / 1_000);
    this.#devices.forEach(({ host, uuid }, at) => {
      const values = this.#frame.rows[at]?.values ?? [];
      this.#history.write(
        deviceKey(host, uuid),
        second,
        historyPoint((key) => values[columnKeys.indexOf(key)]),
      );
    });
  }
}

function sameDevices(left: readonly WireDevice[], right: readonly WireDevice[]): boolean {
  return left.length === right.length && left.every((device, at) => sameDevice(device, right[at]));
}

function sameDevice(left: WireDevice, right: WireDevice | undefined): boolean {
  if (right === undefined) return false;
  return (
    factKeys.every((key) => left.facts[key] === right.facts[key]) &&
    left.uuid === right.uuid &&
    left.index === right.index &&
    left.model === right.model &&
    left.simulated === right.simulated &&
    left.source === right.source &&
    left.host === right.host &&
    left.pciBusId === right.pciBusId &&
    left.driver === right.driver &&
    left.vbios === right.vbios &&
    left.linkType === right.linkType
  );
}
