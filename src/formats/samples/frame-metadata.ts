/** What the catalogue tells of a layout's metrics, told once with every new layout. */
import type { Frame } from "../../model/frame.ts";
import type { Layout } from "../../model/layout.ts";
import type { MetricEntry } from "../../model/catalogue/index.ts";
import type { Metadata, SampleBatch } from "./batch.ts";

export const metadataOf = ({ name, kind, help, unit }: MetricEntry): Metadata => ({
  family: name,
  type: kind,
  help,
  unit: unit === "none" ? "" : unit,
});

export class LayoutMetadata {
  readonly #told = new WeakSet<Layout>();

  with(batch: SampleBatch, { layout }: Frame): SampleBatch {
    if (this.#told.has(layout)) return batch;
    this.#told.add(layout);
    const metrics = new Set(layout.series.map(({ metric }) => metric));
    return { ...batch, metadata: [...metrics].map(metadataOf) };
  }
}
