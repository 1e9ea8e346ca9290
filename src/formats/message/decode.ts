/**
 * Decodes a message to a frame, with the GPU it reports on. Trusts nothing: an invalid, too large or newer message gives one
 * sentence with the reason, never a partial frame.
 */
import * as v from "valibot";
import type { MetricEntry } from "../../model/catalogue/index.ts";
import { seriesOf } from "../../model/columns.ts";
import { type Device, deviceInfoLabels } from "../../model/device.ts";
import type { Frame } from "../../model/frame.ts";
import { type LabelSet, labelSet, withLabels } from "../../model/labels.ts";
import { type Layout, LayoutBuilder, seriesKey } from "../../model/layout.ts";
import { type AbsenceReason, presence } from "../../model/presence.ts";
import {
  resolveMetric,
  messageLimits,
  messageSchema,
  messageVersion,
  parseMessageTime,
  type StreamMessage,
} from "./schema.ts";
import { MessageTemplates } from "./templates.ts";

export interface DecodedMessage {
  readonly frame: Frame;
  readonly host: string;
  /** The GPU of the message; empty if its vendor is unknown. */
  readonly devices: readonly Device[];
  readonly tags?: ReadonlyMap<string, readonly string[]>;
}

export type MessageDecodeResult =
  | { readonly ok: true; readonly message: DecodedMessage }
  | { readonly ok: false; readonly reason: string };

const utf8 = new TextDecoder("utf-8", { fatal: true });
/** The limit of layouts and GPUs cached between messages. */
const maxLayouts = 10_000;

export class MessageDecoder {
  readonly #layouts = new Map<string, Layout>();
  readonly #devices = new Map<string, Device>();
  readonly #plain = new Map<string, MetricEntry>();
  readonly #templates = new MessageTemplates();

  decode(bytes: Uint8Array): MessageDecodeResult {
    const known = bytes.length > messageLimits.bytes ? undefined : this.#templates.read(bytes);
    if (known !== undefined) return { ok: true, message: known };
    const parsed = parseMessage(bytes);
    if (typeof parsed === "string") return { ok: false, reason: parsed };
    const result = this.decodeObject(parsed);
    if (result.ok) this.#templates.keep(bytes, result.message);
    return result;
  }

  /** Decodes a message that was parsed from an encoding other than JSON. */
  decodeObject(parsed: Readonly<Record<string, unknown>>): MessageDecodeResult {
    const checked = checkMessage(parsed);
    const message = typeof checked === "string" ? checked : this.#build(checked);
    return typeof message === "string" ? { ok: false, reason: message } : { ok: true, message };
  }

  #build(message: StreamMessage): DecodedMessage | string {
    const { host, gpu, tags } = message;
    const device = this.#deviceOf(message);
    const slots = slotsOf(message, device !== undefined);
    const layout = this.#layoutOf(message, device, slots);
    if (typeof layout === "string") return layout;
    const values = Float64Array.from(slots, ({ reading }) =>
      typeof reading === "number" ? reading : 0,
    );
    const states = Uint8Array.from(slots, ({ reading }) =>
      typeof reading === "number" ? presence.present : presence[reading],
    );
    const devices = device === undefined ? [] : [device];
    return {
      frame: { timeMs: parseMessageTime(message.time), layout, values, presence: states },
      host,
      devices,
      ...(gpu !== undefined &&
        tags !== undefined &&
        tags.length > 0 && { tags: new Map([[gpu.uuid, tags]]) }),
    };
  }

  #deviceOf({ gpu }: StreamMessage): Device | undefined {
    if (gpu?.vendor === undefined || gpu.model === undefined) return undefined;
    const key = JSON.stringify(gpu);
    const known = this.#devices.get(key);
    if (known !== undefined) return known;
    const made: Device = {
      uuid: gpu.uuid,
      index: gpu.index,
      vendor: gpu.vendor,
      model: gpu.model,
      simulated: gpu.simulated ?? false,
      pciBusId: gpu.pci_bus_id,
      driver: gpu.driver,
      vbios: gpu.vbios,
      linkType: gpu.link_type,
      parent: gpu.parent,
    };
    keep(this.#devices, key, made);
    return made;
  }

  #layoutOf(
    { host, gpu }: StreamMessage,
    device: Device | undefined,
    slots: readonly Slot[],
  ): Layout | string {
    const key = JSON.stringify([host, gpu, slots.map(({ name, labels }) => [name, labels])]);
    const known = this.#layouts.get(key);
    if (known !== undefined) return known;
    const builder = new LayoutBuilder();
    const seen = new Set<string>();
    for (const { name, labels: given } of slots) {
      const column = given === undefined ? seriesOf(name) : undefined;
      const { metric, suffix } =
        column === undefined
          ? resolveMetric(name, this.#plain)
          : { metric: column.metric, suffix: "" as const };
      const labels =
        given === "info"
          ? device === undefined
            ? []
            : deviceInfoLabels(device, host)
          : (given ?? whose(column?.labels ?? [], metric, host, gpu));
      const series = seriesKey({ metric, suffix, labels });
      if (seen.has(series)) return `"${name}" occurs twice with the same labels`;
      seen.add(series);
      builder.add(metric, labels, suffix);
    }
    const made = builder.build();
    keep(this.#layouts, key, made);
    return made;
  }
}

interface Slot {
  readonly name: string;
  /** Undefined for a column, whose labels are the message's own. */
  readonly labels: LabelSet | "info" | undefined;
  readonly reading: number | AbsenceReason;
}

/** A series that occurs twice counts once: columns take precedence. */
function slotsOf({ values, absent = {}, other = [] }: StreamMessage, hasDevice: boolean): Slot[] {
  const slots: Slot[] = hasDevice ? [{ name: "gpu_info", labels: "info", reading: 1 }] : [];
  const seen = new Set<string>();
  for (const [name, reading] of Object.entries(values)) {
    seen.add(name);
    slots.push({ name, labels: undefined, reading });
  }
  for (const [name, reading] of Object.entries(absent)) {
    if (!seen.has(name)) slots.push({ name, labels: undefined, reading });
  }
  const keys = new Set<string>();
  for (const { name, labels, value, absent: reason = "failed" } of other) {
    const set = labelSet(labels);
    const key = JSON.stringify([name, set]);
    if (keys.has(key)) continue;
    keys.add(key);
    slots.push({ name, labels: set, reading: value ?? reason });
  }
  return slots;
}

function whose(
  labels: LabelSet,
  metric: MetricEntry,
  host: string,
  gpu: StreamMessage["gpu"],
): LabelSet {
  return metric.subject === "device" && gpu !== undefined
    ? withLabels(labels, { uuid: gpu.uuid, gpu: String(gpu.index), host })
    : withLabels(labels, { host });
}

/** The parsed object, or why the bytes are not a message. */
function parseMessage(bytes: Uint8Array): Readonly<Record<string, unknown>> | string {
  if (bytes.length === 0) return "the message is empty";
  if (bytes.length > messageLimits.bytes)
    return `the message has ${bytes.length} bytes, more than the ${messageLimits.bytes} that are read`;
  let parsed: unknown;
  try {
    parsed = JSON.parse(utf8.decode(bytes));
  } catch {
    return "the message is not valid JSON";
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed))
    return "the message is not a JSON object";
  return parsed as Readonly<Record<string, unknown>>;
}

/** The validated message, or why it is invalid. */
function checkMessage(parsed: Readonly<Record<string, unknown>>): StreamMessage | string {
  const { version } = parsed;
  if (typeof version === "number" && Number.isInteger(version) && version > messageVersion)
    return `the message is of version ${version}, and this gpulse reads up to version ${messageVersion}: update it`;
  if (version !== messageVersion) return `"version" must be ${messageVersion}`;
  const checked = v.safeParse(messageSchema, parsed, { abortEarly: true });
  if (!checked.success) {
    const [issue] = checked.issues;
    const place = (v.getDotPath(issue) ?? "the message").slice(0, 100);
    return `"${place}" ${problemOf(issue)}`;
  }
  if (Number.isNaN(parseMessageTime(checked.output.time))) return `"time" must be a time`;
  return checked.output;
}

/** Most messages of the schema are ours; these two are valibot's. */
function problemOf({ message, expected }: v.BaseIssue<unknown>): string {
  if (message.startsWith("Invalid key:")) return "is missing";
  if (message.startsWith("Invalid type:")) return `must be of type ${expected ?? "object"}`;
  return `must be ${message.slice(0, 200)}`;
}

function keep<Value>(map: Map<string, Value>, key: string, value: Value): void {
  if (map.size >= maxLayouts) map.clear();
  map.set(key, value);
}
