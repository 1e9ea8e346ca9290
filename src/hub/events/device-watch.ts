/**
 * Records changes of devices on the timeline: one that appears, is lost, returns or has another driver, and XIDs. Its state
 * persists across restarts, so that a restart is not reported. Reads few slots of a frame, and no value twice.
 */
import path from "node:path";
import type { Log } from "../../base/log.ts";
import { gpu } from "../../model/catalogue/index.ts";
import { type Device, deviceKey } from "../../model/device.ts";
import { labelValue } from "../../model/labels.ts";
import type { Layout } from "../../model/layout.ts";
import { presence } from "../../model/presence.ts";
import type { Delivery } from "../../pipeline/sink.ts";
import { StateMap } from "../../base/state/state-map.ts";
import type { EventSink } from "./event.ts";

interface KnownDevice {
  readonly model: string;
  readonly driver: string;
  readonly host: string;
  readonly gpu: string;
  readonly isUp: boolean;
}

interface DeviceId {
  readonly host: string;
  readonly uuid: string;
}

const keyOf = ({ host, uuid }: DeviceId): string => deviceKey(host, uuid);

export interface DeviceChangeWatchOptions {
  readonly dataDir: string;
  readonly events: EventSink;
  /** The host name for frames read on this machine. */
  readonly hostName: string;
  readonly log: Log;
}

/** The slots of a layout to watch. */
interface Plan {
  readonly up: readonly { readonly slot: number; readonly uuid: string }[];
  readonly xids: readonly {
    readonly slot: number;
    /** Slot of the XID's last time; -1 if not reported. */
    readonly lastSlot: number;
    readonly uuid: string;
    readonly xid: string;
  }[];
}

/** A source that invents devices must not grow the timeline without limit. */
const maxDevices = 10_000;

export class DeviceChangeWatch {
  readonly #options: DeviceChangeWatchOptions;
  readonly #known: StateMap<KnownDevice>;
  readonly #plans = new WeakMap<Layout, Plan>();
  readonly #counts = new Map<string, number>();
  /** Device lists already checked, with their length at that time. */
  readonly #met = new WeakMap<readonly Device[], number>();

  constructor(options: DeviceChangeWatchOptions) {
    this.#options = options;
    this.#known = new StateMap(path.join(options.dataDir, "events", "devices.state"), {
      log: options.log,
      parse: parseKnown,
      maxEntries: maxDevices,
    });
  }

  take(delivery: Delivery): void {
    const { devices, frame } = delivery;
    // Usually the same list as before, and this runs ten times a second.
    if (this.#met.get(devices) !== devices.length) {
      this.#met.set(devices, devices.length);
      for (const device of devices) this.#meet(device, delivery);
    }
    const { up, xids } = this.#planOf(frame.layout);
    const host = delivery.host ?? this.#options.hostName;
    for (const { slot, uuid } of up)
      if (frame.presence[slot] === presence.present)
        this.#judge({ host, uuid }, frame.values[slot] === 1, frame.timeMs);
    for (const { slot, lastSlot, uuid, xid } of xids) {
      if (frame.presence[slot] !== presence.present) continue;
      const isPresent = lastSlot >= 0 && frame.presence[lastSlot] === presence.present;
      const lastMs = isPresent ? Math.round((frame.values[lastSlot] ?? 0) * 1_000) : undefined;
      this.#count({ host, uuid }, xid, frame.values[slot] ?? 0, lastMs, frame.timeMs);
    }
  }

  close(): void {
    this.#known.close();
  }

  #meet(device: Device, { frame, host = this.#options.hostName }: Delivery): void {
    const id = { host, uuid: device.uuid };
    const before = this.#find(id);
    const now: KnownDevice = {
      model: device.model,
      driver: device.driver ?? "",
      host,
      gpu: String(device.index),
      isUp: before?.isUp ?? true,
    };
    if (before !== undefined && sameDevice(before, now)) return;
    if (before === undefined && this.#known.size >= maxDevices) return;
    this.#known.put(keyOf(id), now);
    if (before === undefined)
      this.#record(id, frame.timeMs, "appeared", "info", "was detected", now);
    else if (before.driver !== now.driver)
      this.#record(
        id,
        frame.timeMs,
        "driver",
        "info",
        `has a new driver: ${now.driver || "none"} after ${before.driver || "none"}`,
        now,
      );
  }

  /** Records of earlier versions use the uuid alone as their key. */
  #find(id: DeviceId): KnownDevice | undefined {
    const known = this.#known.get(keyOf(id));
    if (known !== undefined) return known;
    const earlier = this.#known.get(id.uuid);
    return earlier?.host === id.host ? earlier : undefined;
  }

  #judge(id: DeviceId, isUp: boolean, timeMs: number): void {
    const before = this.#find(id);
    if (before === undefined || before.isUp === isUp) return;
    const now = { ...before, isUp };
    this.#known.put(keyOf(id), now);
    if (isUp) this.#record(id, timeMs, "back", "info", "responds again", now);
    else this.#record(id, timeMs, "lost", "critical", "does not respond", now);
  }

  #count(
    device: DeviceId,
    xid: string,
    count: number,
    lastMs: number | undefined,
    timeMs: number,
  ): void {
    const { uuid } = device;
    const id = `${keyOf(device)}/${xid}`;
    const before = this.#counts.get(id);
    if (before === count) return;
    this.#counts.set(id, count);
    // Without a time, the first count seen may be of any age.
    if (count === 0 || (before === undefined && lastMs === undefined)) return;
    const more = before === undefined || count < before ? 1 : count - before;
    const known = this.#find(device);
    this.#options.events.add({
      timeMs: lastMs ?? timeMs,
      kind: "xid",
      severity: "warning",
      title: `${nameOf(uuid, known)}: XID ${xid}${more > 1 ? `, ${more} times` : ""}`,
      labels: { ...labelsOf(uuid, known), xid },
      key: lastMs === undefined ? undefined : `xid:${uuid}/${xid}:${lastMs}`,
    });
  }

  #record(
    { uuid }: DeviceId,
    timeMs: number,
    state: string,
    severity: "info" | "critical",
    says: string,
    known: KnownDevice,
  ): void {
    this.#options.events.add({
      timeMs,
      kind: "device",
      state,
      severity,
      title: `${nameOf(uuid, known)} ${says}`,
      labels: labelsOf(uuid, known),
    });
  }

  #planOf(layout: Layout): Plan {
    let plan = this.#plans.get(layout);
    if (plan === undefined) {
      plan = planOf(layout);
      this.#plans.set(layout, plan);
    }
    return plan;
  }
}

function planOf(layout: Layout): Plan {
  const slots = layout.series.flatMap(({ metric, labels }, slot) => {
    const uuid = labelValue(labels, "uuid");
    return uuid === undefined ? [] : [{ metric, slot, uuid, xid: labelValue(labels, "xid") ?? "" }];
  });
  const last = slots.filter(({ metric }) => metric === gpu.xidLast);
  return {
    up: slots.filter(({ metric }) => metric === gpu.up),
    xids: slots
      .filter(({ metric }) => metric === gpu.xidErrors)
      .map(({ slot, uuid, xid }) => ({
        slot,
        uuid,
        xid,
        lastSlot: last.find((one) => one.uuid === uuid && one.xid === xid)?.slot ?? -1,
      })),
  };
}

const sameDevice = (left: KnownDevice, right: KnownDevice): boolean =>
  left.model === right.model &&
  left.driver === right.driver &&
  left.host === right.host &&
  left.gpu === right.gpu;

function nameOf(uuid: string, known: KnownDevice | undefined): string {
  const prefix = uuid.slice(0, 12);
  return known === undefined
    ? `GPU ${prefix}`
    : `${known.model} GPU ${known.gpu} on ${known.host} (${prefix})`;
}

const labelsOf = (uuid: string, known: KnownDevice | undefined): Record<string, string> => ({
  uuid,
  ...(known === undefined ? {} : { gpu: known.gpu, host: known.host, model: known.model }),
});

function parseKnown(value: unknown): KnownDevice | undefined {
  const known = value as KnownDevice | null;
  return typeof known === "object" && known !== null && typeof known.isUp === "boolean"
    ? known
    : undefined;
}
