/**
 * Encodes a delivery as messages: one per GPU, and one for the host if some series belong to no GPU. The constant parts of a
 * layout's messages are computed once. Never writes an absent reading as a number.
 */
import { gpu as gpuMetrics } from "../../model/catalogue/index.ts";
import { columnOf } from "../../model/columns.ts";
import type { Device } from "../../model/device.ts";
import type { Frame } from "../../model/frame.ts";
import { type LabelSet, labelValue } from "../../model/labels.ts";
import type { Layout, Series } from "../../model/layout.ts";
import { presence, presenceNames, sentPresence } from "../../model/presence.ts";
import { messageVersion } from "./schema.ts";

/** The parts of a delivery that a message contains. */
export interface MessageInput {
  readonly frame: Frame;
  readonly devices: readonly Device[];
  readonly host: string;
  readonly tags?: ReadonlyMap<string, readonly string[]> | undefined;
}

export interface KeyedMessage {
  /** The GPU's uuid, or the host's name: messages with the same key stay in order. */
  readonly key: string;
  readonly value: string;
}

/** A reading of a message: its slot in the frame, and its column, or its name with all labels if it has no column. */
export interface MessageSlot {
  readonly slot: number;
  readonly name: string;
  readonly labels: LabelSet;
}

interface Slot {
  readonly slot: number;
  /** The reading up to its number: `"gpu_power_watts":`. */
  readonly head: string;
}

/** Consecutive readings of a message. Most sensors repeat their value: the text of a group is rebuilt only when a value changes. */
class ReadingGroup {
  readonly #slots: readonly Slot[];
  readonly #isColumn: boolean;
  readonly #values: Float64Array;
  readonly #states: Uint8Array;
  /** In the format of `values`, or as items of `other`. */
  readings = "";
  /** In the format of `absent`; the items of `other` contain their reasons. */
  absent = "";

  constructor(slots: readonly Slot[], isColumn: boolean) {
    this.#slots = slots;
    this.#isColumn = isColumn;
    this.#values = new Float64Array(slots.length).fill(Number.NaN);
    this.#states = new Uint8Array(slots.length);
  }

  update(frame: Frame): void {
    let isSame = true;
    for (let at = 0; at < this.#slots.length; at++) {
      const slot = this.#slots[at]?.slot ?? 0;
      const [value, state] = [frame.values[slot] ?? 0, frame.presence[slot] ?? presence.failed];
      if (this.#values[at] === value && this.#states[at] === state) continue;
      isSame = false;
      this.#values[at] = value;
      this.#states[at] = state;
    }
    if (!isSame) this.#write(frame);
  }

  #write(frame: Frame): void {
    const readings: string[] = [];
    const absent: string[] = [];
    for (const { slot, head } of this.#slots) {
      const reason = reasonAt(frame, slot);
      const value = frame.values[slot] ?? 0;
      if (!this.#isColumn)
        readings.push(
          reason === undefined ? `${head}"value":${value}}` : `${head}"absent":"${reason}"}`,
        );
      else if (reason === undefined) readings.push(`${head}${value}`);
      else absent.push(`${head}"${reason}"`);
    }
    this.readings = readings.join(",");
    this.absent = absent.join(",");
  }
}

const groupSlots = 8;

function groupsOf(readings: readonly MessageSlot[], isColumn: boolean): readonly ReadingGroup[] {
  const slots = readings.map(({ slot, name, labels }) => {
    const text = JSON.stringify(name);
    const all = isColumn ? "" : JSON.stringify(Object.fromEntries(labels));
    return { slot, head: isColumn ? `${text}:` : `{"name":${text},"labels":${all},` };
  });
  const groups: ReadingGroup[] = [];
  for (let at = 0; at < slots.length; at += groupSlots)
    groups.push(new ReadingGroup(slots.slice(at, at + groupSlots), isColumn));
  return groups;
}

/** The part of a layout that goes into one message. */
export interface MessagePart<Readings = readonly MessageSlot[]> {
  /** Undefined for the host's own message. */
  readonly uuid: string | undefined;
  readonly index: number;
  readonly columns: Readings;
  readonly others: Readings;
}

type Part = MessagePart<readonly ReadingGroup[]>;

/** The parts of each layout's messages, computed once per host. */
export class MessagePlans<One> {
  readonly #plans = new WeakMap<
    Layout,
    { readonly host: string; readonly parts: readonly One[] }
  >();
  readonly #planOf: (part: MessagePart) => One;

  constructor(planOf: (part: MessagePart) => One) {
    this.#planOf = planOf;
  }

  of(layout: Layout, host: string): readonly One[] {
    let plan = this.#plans.get(layout);
    if (plan?.host !== host) {
      plan = { host, parts: partsOf(layout, host).map(this.#planOf) };
      this.#plans.set(layout, plan);
    }
    return plan.parts;
  }
}

export class MessageEncoder {
  readonly #plans = new MessagePlans<Part>((part) => ({
    ...part,
    columns: groupsOf(part.columns, true),
    others: groupsOf(part.others, false),
  }));

  encode(input: MessageInput): KeyedMessage[] {
    const { frame, host } = input;
    return this.#plans.of(frame.layout, host).map((part) => write(part, input));
  }
}

function partsOf(layout: Layout, host: string): MessagePart[] {
  const uuids = new Map<string, number>();
  for (const { labels } of layout.series) {
    const uuid = labelValue(labels, "uuid");
    if (uuid !== undefined && !uuids.has(uuid))
      uuids.set(uuid, Number(labelValue(labels, "gpu") ?? 0));
  }
  const own = (uuid: string | undefined): Pick<MessagePart, "columns" | "others"> => {
    const columns: MessageSlot[] = [];
    const others: MessageSlot[] = [];
    layout.series.forEach((series, slot) => {
      const { metric, suffix, labels } = series;
      const of = labelValue(labels, "uuid");
      if (metric === gpuMetrics.info) return;
      const column = isHere(series, host, uuids) ? columnOf(series) : undefined;
      const other = { slot, name: metric.name + suffix, labels };
      if (column !== undefined) {
        // Host readings of a log go into the row of its GPU.
        if (of === uuid || (of === undefined && uuid !== undefined))
          columns.push({ slot, name: column, labels });
        else if (of === undefined && uuids.size === 0) others.push(other);
      } else if (of === uuid || (of === undefined && uuids.size === 1)) others.push(other);
    });
    return { columns, others };
  };
  const parts = [...uuids].map(([uuid, index]): MessagePart => ({ uuid, index, ...own(uuid) }));
  if (uuids.size !== 1) {
    const { others } = own(undefined);
    if (others.length > 0) parts.push({ uuid: undefined, index: 0, columns: [], others });
  }
  return parts.filter(
    ({ uuid, columns, others }) => uuid !== undefined || columns.length + others.length > 0,
  );
}

/** A column implies neither the host nor the GPU index: if they differ, the labels must be written. */
function isHere({ metric, labels }: Series, host: string, uuids: ReadonlyMap<string, number>) {
  if (labelValue(labels, "host") !== host) return false;
  const uuid = labelValue(labels, "uuid");
  if (uuid === undefined) return metric.subject !== "device";
  return labelValue(labels, "gpu") === String(uuids.get(uuid)) && metric.subject === "device";
}

function write(part: Part, { frame, devices, host, tags }: MessageInput): KeyedMessage {
  for (const group of part.columns) group.update(frame);
  for (const group of part.others) group.update(frame);
  const absent = listOf(part.columns, "absent");
  const others = listOf(part.others, "readings");
  const found = part.uuid === undefined ? undefined : tags?.get(part.uuid);
  let value = `{"version":${messageVersion},"time":"${new Date(frame.timeMs).toISOString()}"`;
  value += `,"host":${JSON.stringify(host)}`;
  if (part.uuid !== undefined) value += `,"gpu":${gpuOf(part.uuid, part.index, devices)}`;
  value += `,"values":{${listOf(part.columns, "readings")}}`;
  if (absent !== "") value += `,"absent":{${absent}}`;
  if (others !== "") value += `,"other":[${others}]`;
  if (found !== undefined && found.length > 0) value += `,"tags":${JSON.stringify(found)}`;
  return { key: part.uuid ?? host, value: `${value}}` };
}

function listOf(groups: readonly ReadingGroup[], list: "readings" | "absent"): string {
  let text = "";
  for (const group of groups)
    if (group[list] !== "") text += text === "" ? group[list] : `,${group[list]}`;
  return text;
}

/** JSON has no infinities: a reading that is not a JSON number counts as failed. */
export function reasonAt(frame: Frame, slot: number): string | undefined {
  const state = sentPresence(frame.presence[slot] ?? presence.failed);
  if (state !== presence.present) return presenceNames[state] ?? "failed";
  return Number.isFinite(frame.values[slot]) ? undefined : "failed";
}

const written = new WeakMap<Device, string>();

function gpuOf(uuid: string, index: number, devices: readonly Device[]): string {
  const device = devices.find((one) => one.uuid === uuid);
  if (device === undefined) return JSON.stringify({ uuid, index });
  const known = written.get(device);
  if (known !== undefined) return known;
  const made = JSON.stringify({
    uuid,
    index: device.index,
    vendor: device.vendor,
    model: device.model,
    simulated: device.simulated ? true : undefined,
    pci_bus_id: device.pciBusId,
    driver: device.driver,
    vbios: device.vbios,
    link_type: device.linkType,
    parent: device.parent,
  });
  written.set(device, made);
  return made;
}
