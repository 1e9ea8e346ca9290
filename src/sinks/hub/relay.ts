/**
 * Forwards a hub's data to the hub above it: frames unchanged, under the names of the agents that sent them, and
 * everything else by remote-write to the same hub. A frame that this hub has relayed before is not relayed again.
 */
import type { SampleBatch } from "../../formats/samples/batch.ts";
import { type LabelSet, labelSet } from "../../model/labels.ts";
import type { Layout } from "../../model/layout.ts";
import { presence } from "../../model/presence.ts";
import type { Delivery, ShippingStats, Sink } from "../../pipeline/sink.ts";
import type { HubSink } from "./sink.ts";

export class HubRelay implements Sink {
  readonly name: string;
  readonly #frames: HubSink;
  readonly #samples: Sink;
  /** The name under which the hub above receives this hub's frames. */
  readonly #ownName: string;
  readonly #bound = new WeakMap<Layout, { readonly key: string; readonly layout: Layout }>();
  readonly #newest = new Map<string, Delivery>();

  constructor(frames: HubSink, samples: Sink, ownName: string) {
    this.name = frames.name;
    this.#frames = frames;
    this.#samples = samples;
    this.#ownName = ownName;
  }

  write(delivery: Delivery): Promise<void> {
    return this.#frames.write(delivery);
  }

  samples(batch: SampleBatch): void {
    this.#samples.samples?.(batch);
  }

  relay(delivery: Delivery, labels: LabelSet): void {
    // Breaks cycles: hubs that forward to each other would send a frame round forever.
    if (`/${delivery.source}`.includes(`/agent:${this.#ownName}/`)) return;
    const layout = this.#bind(delivery.frame.layout, labels);
    const bound: Delivery = { ...delivery, frame: { ...delivery.frame, layout } };
    this.#newest.set(delivery.source, bound);
    this.#frames.append(bound);
  }

  relayEnd(source: string, timeMs: number): void {
    const last = this.#newest.get(source);
    if (last === undefined) return;
    this.#newest.delete(source);
    const states = new Uint8Array(last.frame.presence.length).fill(presence.ended);
    this.#frames.append({ ...last, frame: { ...last.frame, timeMs, presence: states } });
  }

  shipping(): ShippingStats {
    return this.#frames.shipping();
  }

  async close(): Promise<void> {
    await Promise.all([this.#frames.close(), this.#samples.close()]);
  }

  /** Adds the labels to every series that lacks them. Returns the same layout object for the same labels. */
  #bind(layout: Layout, labels: LabelSet): Layout {
    if (labels.length === 0) return layout;
    const key = JSON.stringify(labels);
    const known = this.#bound.get(layout);
    if (known?.key === key) return known.layout;
    const more = Object.fromEntries(labels);
    const series = layout.series.map((one) => ({
      ...one,
      labels: labelSet({ ...more, ...Object.fromEntries(one.labels) }),
    }));
    const bound = { key, layout: { series } };
    this.#bound.set(layout, bound);
    return bound.layout;
  }
}
