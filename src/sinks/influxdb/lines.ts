/**
 * Formats deliveries as lines: one per GPU and timestamp, and more if labels distinguish its series. The same readings
 * always have the same measurement, tags and time, so that a line written twice is one point. An absent reading has no
 * field.
 */
import { fieldHead, floatText, lineHead, quotedText } from "../../formats/influx/encode.ts";
import type { Device } from "../../model/device.ts";
import type { Frame } from "../../model/frame.ts";
import { type LabelSet, labelSet, labelValue } from "../../model/labels.ts";
import type { Layout, Series } from "../../model/layout.ts";
import { presence } from "../../model/presence.ts";
import type { Delivery } from "../../pipeline/sink.ts";
import { type InfluxField, type InfluxNaming, resolveInfluxField } from "./names.ts";

interface Field {
  readonly slot: number;
  readonly head: string;
  readonly scale: number;
}

interface Group {
  readonly measurement: string;
  readonly labels: LabelSet;
  /** The GPU of the line, whose model is one of the tags. */
  readonly uuid: string | undefined;
  /** True if no label but the GPU's own distinguishes the line; it carries the anomalies, once per timestamp. */
  readonly isRow: boolean;
  readonly fields: Field[];
}

interface Plan {
  readonly host: string;
  readonly groups: readonly Group[];
}

interface Head {
  readonly device: Device | undefined;
  readonly text: string;
}

export class InfluxLineWriter {
  readonly #naming: InfluxNaming;
  readonly #tags: Readonly<Record<string, string>>;
  readonly #plans = new WeakMap<Layout, Plan>();
  readonly #heads = new WeakMap<Group, Head>();

  /** @param tags added to every line that has no tag of that name */
  constructor(naming: InfluxNaming, tags: Readonly<Record<string, string>> = {}) {
    this.#naming = naming;
    this.#tags = tags;
  }

  /** @param host the host of series without a host label */
  lines({ frame, devices, tags }: Delivery, host: string): string[] {
    let plan = this.#plans.get(frame.layout);
    if (plan?.host !== host) {
      plan = { host, groups: groupsOf(frame.layout, host, this.#naming) };
      this.#plans.set(frame.layout, plan);
    }
    const lines: string[] = [];
    for (const group of plan.groups) {
      const fields = fieldsOf(group, frame);
      if (fields === "") continue;
      const found = group.isRow ? tags?.get(group.uuid ?? "") : undefined;
      const anomalies =
        found === undefined || found.length === 0
          ? ""
          : `,tags=${quotedText(found.join(","))},anomalies=${found.length}i`;
      const head = this.#head(group, devices);
      lines.push(`${head}${fields}${anomalies} ${Math.round(frame.timeMs)}`);
    }
    return lines;
  }

  #head(group: Group, devices: readonly Device[]): string {
    const { uuid } = group;
    const device = uuid === undefined ? undefined : devices.find((one) => one.uuid === uuid);
    const known = this.#heads.get(group);
    if (known !== undefined && known.device === device) return known.text;
    const isGpuz = this.#naming.preset === "gpuz";
    const text = lineHead(
      group.measurement,
      labelSet({
        ...this.#tags,
        ...(device !== undefined && {
          model: device.model,
          ...(!isGpuz && {
            vendor: device.vendor,
            simulated: device.simulated ? "true" : undefined,
          }),
        }),
        ...Object.fromEntries(group.labels),
      }),
    );
    this.#heads.set(group, { device, text });
    return text;
  }
}

function groupsOf(layout: Layout, host: string, naming: InfluxNaming): Group[] {
  const groups = new Map<string, Group>();
  const gpus = new Map<string, LabelSet>();
  for (const { labels } of layout.series) {
    const uuid = labelValue(labels, "uuid");
    if (uuid !== undefined && !gpus.has(uuid)) gpus.set(uuid, whoOf(labels, host));
  }
  const put = (
    slot: number,
    place: InfluxField,
    labels: LabelSet,
    uuid: string | undefined,
  ): void => {
    const key = JSON.stringify([place.measurement, labels]);
    let group = groups.get(key);
    if (group === undefined) {
      const isRow = uuid !== undefined && labels.length === gpus.get(uuid)?.length;
      group = { measurement: place.measurement, labels, uuid, isRow, fields: [] };
      groups.set(key, group);
    }
    const head = fieldHead(place.field);
    // If two readings have the same field name, the first wins.
    if (!group.fields.some((field) => field.head === head))
      group.fields.push({ slot, head, scale: place.scale });
  };
  layout.series.forEach((series, slot) => {
    const place = resolveInfluxField(series, naming);
    if (place === undefined) return;
    const uuid = labelValue(series.labels, "uuid");
    // Host readings in a GPU's log go into that GPU's line.
    if (uuid === undefined && naming.preset === "gpuz")
      for (const [of, who] of gpus) put(slot, place, who, of);
    else if (place.isColumn) put(slot, place, whoOf(series.labels, host), uuid);
    else put(slot, place, allOf(series, host), uuid);
  });
  return [...groups.values()];
}

function whoOf(labels: LabelSet, host: string): LabelSet {
  return labelSet({
    host: labelValue(labels, "host") ?? host,
    uuid: labelValue(labels, "uuid"),
    gpu: labelValue(labels, "gpu"),
  });
}

function allOf({ labels }: Series, host: string): LabelSet {
  return labelSet({ host, ...Object.fromEntries(labels) });
}

/** Joined once, since a text that grows by pieces keeps every piece until the batch is sent. */
function fieldsOf({ fields }: Group, frame: Frame): string {
  const parts: string[] = [];
  for (const { slot, head, scale } of fields) {
    if (frame.presence[slot] !== presence.present) continue;
    const text = floatText(scaled(frame.values[slot] as number, scale));
    if (text !== undefined) parts.push(head + text);
  }
  return parts.join(",");
}

/** Rounds away floating-point error: 0.57 × 100 is 56.99999999999999. Twelve digits; most values have fewer, at a tenth the cost. */
export function scaled(value: number, scale: number): number {
  if (scale === 1) return value;
  const product = value * scale;
  const short = Math.round(product * 1e6) / 1e6;
  if (Math.abs(product) < 1e5 && Math.abs(product - short) <= Math.abs(product) * 4e-13)
    return short;
  return Number(product.toPrecision(12));
}
