/** Turns the newest deliveries into one row per device for the wire. Pure; an absent reading keeps its reason. */
import type { BoundWord } from "../../model/bound.ts";
import type { Tier } from "../../model/catalogue/index.ts";
import { type Device, deviceKey } from "../../model/device.ts";
import { presenceNames } from "../../model/presence.ts";
import type { Delivery } from "../../pipeline/sink.ts";
import { readingSpecs } from "./columns.ts";
import { planLayout, type PlannedSlot } from "./plan.ts";
import {
  columnKeys,
  type FactKey,
  factKeys,
  type WireAbsence,
  type WireRow,
  type WireValue,
  type WireXid,
} from "./protocol.ts";

export interface SeenDevice {
  readonly device: Device;
  readonly source: string;
  readonly host: string;
}

/**
 * Returns every device of the deliveries by `deviceKey`, in the order of the sources. Deliveries without a host belong to
 * `ownHost`.
 */
export function seenDevices(
  deliveries: readonly Delivery[],
  ownHost: string,
): Map<string, SeenDevice> {
  const seen = new Map<string, SeenDevice>();
  for (const { devices, source, host = ownHost } of deliveries) {
    for (const device of devices) {
      const key = deviceKey(host, device.uuid);
      if (!seen.has(key)) seen.set(key, { device, source, host });
    }
  }
  return seen;
}

export interface DeviceRow {
  readonly row: WireRow;
  readonly facts: Readonly<Record<FactKey, WireValue>>;
}

/** Returns one row per wanted device, in that order. A device without a fresh frame gets a row of `stale`. */
export function collectRows(
  deliveries: readonly Delivery[],
  wanted: readonly SeenDevice[],
  nowMs: number,
  ownHost: string,
): DeviceRow[] {
  // By host, then by uuid: joining the two for each of 400,000 slots would cost more than reading them.
  const byHost = new Map<string, Map<string, DeviceRowBuilder>>();
  const rows = wanted.map(({ host, device }) => {
    const draft = newDeviceRowBuilder();
    const drafts = byHost.get(host) ?? new Map<string, DeviceRowBuilder>();
    byHost.set(host, drafts.set(device.uuid, draft));
    return draft;
  });
  for (const { frame, host = ownHost } of deliveries) {
    const drafts = byHost.get(host);
    if (drafts === undefined) continue;
    for (const planned of planLayout(frame.layout)) {
      const draft = drafts.get(planned.uuid);
      if (draft === undefined) continue;
      const state = presenceNames[frame.presence[planned.slot] ?? -1] ?? "failed";
      const age = Math.max(0, nowMs - frame.timeMs);
      const tier = planned.series.metric.tier;
      draft.ageMs[tier] = Math.min(age, draft.ageMs[tier] ?? age);
      if (state === "ended") continue;
      applyReading(
        draft,
        planned,
        state === "present"
          ? (frame.values[planned.slot] ?? "failed")
          : state === "pending"
            ? "stale"
            : state,
      );
    }
  }
  return rows.map((draft) => finish(draft));
}

interface SeenXid {
  readonly count: number;
  readonly lastMs?: number;
}

interface DeviceRowBuilder {
  readonly readings: (WireValue | undefined)[];
  readonly ageMs: Partial<Record<Tier, number>>;
  readonly throttle: string[];
  xids: Map<string, SeenXid> | undefined;
  /** Per reading, the series to sum, so that a link reported by two sources counts once. */
  parts: Map<number, Map<string, number>> | undefined;
  throttleKnown: boolean;
  throttleAbsence: WireAbsence | undefined;
  bound: BoundWord | WireAbsence | undefined;
  job: string | undefined;
  user: string | undefined;
}

const newDeviceRowBuilder = (): DeviceRowBuilder => ({
  readings: Array.from<WireValue | undefined>({ length: readingSpecs.length }),
  ageMs: {},
  throttle: [],
  xids: undefined,
  parts: undefined,
  throttleKnown: false,
  throttleAbsence: undefined,
  bound: undefined,
  job: undefined,
  user: undefined,
});

function applyReading(draft: DeviceRowBuilder, { target }: PlannedSlot, value: WireValue): void {
  switch (target.kind) {
    case "reading": {
      const before = draft.readings[target.at];
      if (typeof value !== "number") draft.readings[target.at] ??= value;
      else draft.readings[target.at] = typeof before === "number" ? Math.max(before, value) : value;
      return;
    }
    case "part": {
      if (typeof value !== "number") {
        draft.readings[target.at] ??= value;
        return;
      }
      draft.parts ??= new Map();
      const parts = draft.parts.get(target.at) ?? new Map<string, number>();
      draft.parts.set(target.at, parts);
      parts.set(target.part, Math.max(value, parts.get(target.part) ?? value));
      draft.readings[target.at] = [...parts.values()].reduce((sum, part) => sum + part, 0);
      return;
    }
    case "throttle":
      if (typeof value !== "number") draft.throttleAbsence ??= value;
      else draft.throttleKnown = true;
      if (value === 1) draft.throttle.push(target.reason);
      return;
    case "bound":
      if (value === 1) draft.bound = target.word;
      else if (typeof value !== "number") draft.bound ??= value;
      return;
    case "owner":
      if (value !== 1) return;
      draft.job = target.job;
      draft.user = target.user;
      return;
    case "xid-count":
      if (typeof value === "number" && value > 0) {
        const xids = (draft.xids ??= new Map<string, SeenXid>());
        xids.set(target.xid, { ...xids.get(target.xid), count: value });
      }
      return;
    case "xid-last":
      if (typeof value === "number") {
        const xids = (draft.xids ??= new Map<string, SeenXid>());
        xids.set(target.xid, {
          count: xids.get(target.xid)?.count ?? 1,
          lastMs: value * 1_000,
        });
      }
      return;
    case "other":
      return;
  }
}

function finish(draft: DeviceRowBuilder): DeviceRow {
  // A device that delivers a tier without this reading does not have it. If it delivers nothing of the tier, the reading is stale.
  const reading = (at: number): WireValue =>
    draft.readings[at] ??
    (draft.ageMs[readingSpecs[at]?.metric.tier ?? "fast"] === undefined ? "stale" : "unsupported");
  const xids: WireXid[] = [...(draft.xids ?? [])].map(([xid, seen]) => ({ xid, ...seen }));
  const throttle = draft.throttleKnown
    ? draft.throttle
    : (draft.throttleAbsence ?? (draft.ageMs.fast === undefined ? "stale" : "unsupported"));
  const row: WireRow = {
    values: columnKeys.map((_, at) => reading(at)),
    ageMs: draft.ageMs,
    throttle,
    ...(draft.bound === undefined ? {} : { bound: draft.bound }),
    ...(draft.job === undefined ? {} : { job: draft.job }),
    ...(draft.user === undefined ? {} : { user: draft.user }),
    ...(xids.length === 0 ? {} : { xids }),
  };
  const facts: Partial<Record<FactKey, WireValue>> = {};
  factKeys.forEach((key, at) => {
    facts[key] = reading(columnKeys.length + at);
  });
  return { row, facts: facts as Record<FactKey, WireValue> };
}
