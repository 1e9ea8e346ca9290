/**
 * Encodes a delivery as compact messages: each is a complete request of src/formats/frames, with one frame of one GPU, its layout
 * and its GPU, so that a reader may start anywhere. Many in one batch compress well, since they differ in a few bytes.
 */
import { FrameEncoder } from "../frames/frame.ts";
import { FramesError } from "../frames/bytes.ts";
import {
  encodeDevices,
  encodeLayout,
  type LayoutDefinition,
  resolutionOf,
} from "../frames/layout.ts";
import { encodeHello, type Hello } from "../frames/hello.ts";
import { encodeMetric } from "../frames/metric.ts";
import { RequestWriter, readRequest, recordKind } from "../frames/request.ts";
import { findMetric, type MetricEntry } from "../../model/catalogue/index.ts";
import type { Device } from "../../model/device.ts";
import { labelValue } from "../../model/labels.ts";
import type { Layout } from "../../model/layout.ts";
import type { MessageDecodeResult, DecodedMessage } from "./decode.ts";
import type { MessageInput } from "./encode.ts";
import { resolveMetric, messageLimits } from "./schema.ts";

const mark = Buffer.from("gpulse");

/** True if the message has this format: JSON begins with a brace. */
export const isBinary = (bytes: Uint8Array): boolean =>
  bytes.length > mark.length && mark.equals(bytes.subarray(0, mark.length));

export interface BinaryMessage {
  readonly key: string;
  readonly value: Buffer;
  readonly tags: readonly string[];
}

interface Part {
  readonly uuid: string | undefined;
  readonly slots: Uint32Array;
  readonly hash: string;
  readonly definition: Buffer;
  readonly metrics: readonly Buffer[];
  readonly resolutions: Float64Array;
}

export class BinaryEncoder {
  readonly #plans = new WeakMap<Layout, readonly Part[]>();
  readonly #hello: (host: string, timeMs: number) => Hello;

  constructor(version: string) {
    this.#hello = (host, timeMs) => ({
      agent: host,
      session: "stream",
      version,
      host,
      job: "gpulse",
      instance: host,
      sentMs: timeMs,
      intervalMs: 0,
      spool: { records: 0, bytes: 0, lost: 0 },
      capabilities: [],
    });
  }

  encode({ frame, devices, host, tags }: MessageInput, source: string): BinaryMessage[] {
    let parts = this.#plans.get(frame.layout);
    if (parts === undefined) {
      parts = partsOf(frame.layout);
      this.#plans.set(frame.layout, parts);
    }
    return parts.map((part) => {
      const writer = new RequestWriter();
      writer.record(recordKind.hello, encodeHello(this.#hello(host, frame.timeMs)));
      for (const metric of part.metrics) writer.record(recordKind.metric, metric);
      writer.record(recordKind.layout, part.definition);
      const encodedDevices = encodeDevices(devices.filter(({ uuid }) => uuid === part.uuid));
      writer.record(recordKind.devices, encodedDevices.content);
      const wire = {
        sequence: 1,
        layout: part.hash,
        devices: encodedDevices.hash,
        source,
        host,
        tier: "stream",
        freshForMs: 0,
        timeMs: frame.timeMs,
        presence: Uint8Array.from(part.slots, (slot) => frame.presence[slot] ?? 0),
        values: Float64Array.from(part.slots, (slot) => frame.values[slot] ?? 0),
      } as const;
      writer.record(recordKind.frame, new FrameEncoder().encode(wire, part.resolutions));
      return {
        key: part.uuid ?? host,
        value: writer.finish(),
        tags: (part.uuid === undefined ? undefined : tags?.get(part.uuid)) ?? [],
      };
    });
  }
}

/** A host's own series go with its only GPU, or into a message of their own if there are several GPUs. */
function partsOf(layout: Layout): Part[] {
  const slots = new Map<string | undefined, number[]>();
  layout.series.forEach(({ labels }, slot) => {
    const uuid = labelValue(labels, "uuid");
    slots.set(uuid, [...(slots.get(uuid) ?? []), slot]);
  });
  const rest = slots.get(undefined);
  const [only, ...more] = [...slots.keys()].filter((uuid) => uuid !== undefined);
  if (rest !== undefined && only !== undefined && more.length === 0) {
    slots.delete(undefined);
    slots.get(only)?.push(...rest);
  }
  return [...slots].map(([uuid, of]) => {
    const series = of.flatMap((slot) => layout.series[slot] ?? []);
    const { hash, content } = encodeLayout({ series });
    const unknown = new Set(
      series.map(({ metric }) => metric).filter(({ name }) => findMetric(name) === undefined),
    );
    return {
      uuid,
      slots: Uint32Array.from(of),
      hash,
      definition: content,
      metrics: [...unknown].map(encodeMetric),
      resolutions: Float64Array.from(series, ({ metric, suffix }) =>
        resolutionOf(suffix, metric.resolution),
      ),
    };
  });
}

export class BinaryDecoder {
  readonly #layouts = new Map<string, Layout>();
  readonly #plain = new Map<string, MetricEntry>();

  decode(bytes: Uint8Array, tags: readonly string[]): MessageDecodeResult {
    if (bytes.length > messageLimits.bytes)
      return {
        ok: false,
        reason: `the message has ${bytes.length} bytes, more than the ${messageLimits.bytes} that are read`,
      };
    try {
      return { ok: true, message: this.#read(bytes, tags) };
    } catch (thrown) {
      if (!(thrown instanceof FramesError)) throw thrown;
      return { ok: false, reason: `not a frame that can be read: ${thrown.message}` };
    }
  }

  #read(bytes: Uint8Array, tags: readonly string[]): DecodedMessage {
    const definitions = new Map<string, LayoutDefinition>();
    const devicesByHash = new Map<string, readonly Device[]>();
    const metrics = new Map<string, MetricEntry>();
    const { frames, heads } = readRequest(bytes, () => ({
      layout: (hash) => definitions.get(hash),
      learnLayout: (layout) => void definitions.set(layout.hash, layout),
      learnDevices: (hash, devices) => void devicesByHash.set(hash, devices),
      learnMetric: (metric) => void metrics.set(metric.name, metric),
    }));
    const [frame, ...more] = frames;
    const definition = frame === undefined ? undefined : definitions.get(frame.layout);
    if (frame === undefined || definition === undefined || more.length > 0 || heads.length !== 1)
      throw new FramesError("a message holds one frame with its layout");
    const devices = devicesByHash.get(frame.devices) ?? [];
    const [device] = devices;
    return {
      frame: {
        timeMs: frame.timeMs,
        layout: this.#layoutOf(definition, metrics),
        values: frame.values,
        presence: frame.presence,
      },
      host: frame.host,
      devices,
      ...(device !== undefined && tags.length > 0 && { tags: new Map([[device.uuid, tags]]) }),
    };
  }

  #layoutOf(definition: LayoutDefinition, metrics: ReadonlyMap<string, MetricEntry>): Layout {
    const known = this.#layouts.get(definition.hash);
    if (known !== undefined) return known;
    const made: Layout = {
      series: definition.series.map(({ metric, suffix, labels }) => ({
        metric:
          findMetric(metric.name) ??
          metrics.get(metric.name) ??
          resolveMetric(metric.name, this.#plain).metric,
        suffix,
        labels,
      })),
    };
    if (this.#layouts.size >= 10_000) this.#layouts.clear();
    this.#layouts.set(definition.hash, made);
    return made;
  }
}
