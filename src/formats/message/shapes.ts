/**
 * Messages of one sender look alike: the same GPU, the same names in the same order, other numbers. What such a message is
 * made of was checked once; of the next only what differs is. Never takes a message that the schema would not: whatever is
 * not exactly as remembered is left to it. On a log of 30 sensors that is a third of the time a message takes.
 */
import type { Device } from "../../model/device.ts";
import type { Layout } from "../../model/layout.ts";
import { presence, type PresenceName } from "../../model/presence.ts";
import type { DecodedMessage } from "./decode.ts";
import { messageLimits, type StreamMessage, timePattern } from "./schema.ts";

interface Shape {
  readonly gpu: StreamMessage["gpu"];
  readonly values: readonly string[];
  readonly absent: readonly string[];
  readonly other: readonly { readonly name: string; readonly labels: readonly string[] }[];
  readonly layout: Layout;
  readonly devices: readonly Device[];
}

type Fields = Readonly<Record<string, unknown>>;

/** Of one GPU: an agent's tiers, and what comes and goes with them. */
const shapesOfOne = 8;
const mostSenders = 10_000;

const gpuFields = [
  "uuid",
  "index",
  "vendor",
  "model",
  "simulated",
  "pci_bus_id",
  "driver",
  "vbios",
  "link_type",
  "parent",
] as const satisfies readonly (keyof NonNullable<StreamMessage["gpu"]>)[];

const codes: ReadonlyMap<unknown, number> = new Map(
  (Object.entries(presence) as [PresenceName, number][]).filter(([name]) => name !== "present"),
);

export class MessageShapes {
  readonly #bySender = new Map<string, Shape[]>();

  /** Remembers a message that the schema took, whose slots are in the order of its parts. */
  keep(message: StreamMessage, layout: Layout, devices: readonly Device[]): void {
    const { host, gpu, values, absent = {}, other = [] } = message;
    const shape: Shape = {
      gpu,
      values: Object.keys(values),
      absent: Object.keys(absent),
      other: other.map(({ name, labels }) => ({ name, labels: Object.entries(labels).flat() })),
      layout,
      devices,
    };
    // A name that stands twice has one slot.
    const slots = shape.values.length + shape.absent.length + shape.other.length + devices.length;
    if (slots !== layout.series.length) return;
    const key = senderKey(host, gpu?.uuid);
    if (this.#bySender.size >= mostSenders) this.#bySender.clear();
    this.#bySender.set(key, [shape, ...(this.#bySender.get(key) ?? [])].slice(0, shapesOfOne));
  }

  /** Undefined where it looks like none that is known, or where anything about it is not as it must be. */
  read(message: Fields): DecodedMessage | undefined {
    const { host, gpu, values, absent, other, tags, time } = message;
    if (typeof host !== "string" || !isFields(values)) return undefined;
    if (gpu !== undefined && !isFields(gpu)) return undefined;
    const shapes = this.#bySender.get(senderKey(host, gpu?.["uuid"]));
    if (shapes === undefined) return undefined;
    if (typeof time !== "string" || !timePattern.test(time)) return undefined;
    const timeMs = Date.parse(time);
    if (!Number.isFinite(timeMs) || !areTags(tags)) return undefined;
    const names = Object.keys(values);
    for (const shape of shapes) {
      if (!sameNames(names, shape.values) || !sameGpu(gpu, shape.gpu)) continue;
      const slots = new Slots(shape);
      if (!slots.values(values) || !slots.absent(absent) || !slots.other(other)) continue;
      const { layout, devices } = shape;
      const uuid = shape.gpu?.uuid;
      return {
        frame: { timeMs, layout, values: slots.readings, presence: slots.states },
        host,
        devices,
        ...(uuid !== undefined &&
          tags !== undefined &&
          tags.length > 0 && { tags: new Map([[uuid, tags]]) }),
      };
    }
    return undefined;
  }
}

/** The slots of a frame, filled in the order in which a layout is made of a message. */
class Slots {
  readonly readings: Float64Array;
  readonly states: Uint8Array;
  readonly #shape: Shape;
  #next: number;

  constructor(shape: Shape) {
    this.#shape = shape;
    this.readings = new Float64Array(shape.layout.series.length);
    this.states = new Uint8Array(shape.layout.series.length);
    this.#next = shape.devices.length;
    // Labels of the GPU itself come first.
    this.readings.fill(1, 0, this.#next);
    this.states.fill(presence.present, 0, this.#next);
  }

  values(given: Fields): boolean {
    for (const name of this.#shape.values) if (!this.#put(given[name])) return false;
    return true;
  }

  absent(given: unknown): boolean {
    const { absent } = this.#shape;
    if (given === undefined) return absent.length === 0;
    if (!isFields(given) || !sameNames(Object.keys(given), absent)) return false;
    for (const name of absent) if (!this.#miss(given[name])) return false;
    return true;
  }

  other(given: unknown): boolean {
    const { other } = this.#shape;
    if (given === undefined) return other.length === 0;
    if (!Array.isArray(given) || given.length !== other.length) return false;
    return other.every((known, at) => this.#one(given[at] as unknown, known));
  }

  #one(given: unknown, known: Shape["other"][number]): boolean {
    if (!isFields(given) || given["name"] !== known.name) return false;
    const { labels, value, absent } = given;
    if (!isFields(labels)) return false;
    const names = Object.keys(labels);
    if (names.length * 2 !== known.labels.length) return false;
    const isKnown = names.every(
      (name, at) => known.labels[at * 2] === name && known.labels[at * 2 + 1] === labels[name],
    );
    if (!isKnown || (absent !== undefined && !codes.has(absent))) return false;
    return value === undefined ? this.#miss(absent ?? "failed") : this.#put(value);
  }

  #put(value: unknown): boolean {
    if (typeof value !== "number" || !Number.isFinite(value)) return false;
    this.states[this.#next] = presence.present;
    this.readings[this.#next++] = value;
    return true;
  }

  #miss(reason: unknown): boolean {
    const code = codes.get(reason);
    if (code === undefined) return false;
    this.states[this.#next++] = code;
    return true;
  }
}

const senderKey = (host: string, uuid: unknown): string =>
  typeof uuid === "string" ? `${host}\u0000${uuid}` : host;

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function sameNames(names: readonly string[], known: readonly string[]): boolean {
  if (names.length !== known.length) return false;
  for (let at = 0; at < names.length; at++) if (names[at] !== known[at]) return false;
  return true;
}

function sameGpu(given: Fields | undefined, known: StreamMessage["gpu"]): boolean {
  if (given === undefined || known === undefined) return given === known;
  for (const field of gpuFields) if (given[field] !== known[field]) return false;
  return true;
}

function areTags(tags: unknown): tags is readonly string[] | undefined {
  if (tags === undefined) return true;
  if (!Array.isArray(tags) || tags.length > messageLimits.tags) return false;
  return tags.every(
    (tag) => typeof tag === "string" && tag !== "" && tag.length <= messageLimits.textLength,
  );
}
