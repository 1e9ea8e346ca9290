/** Type, help and unit of metrics: gpulse's own from the catalogue, others as their senders report them. Bounded. */
import type { Metadata } from "../../formats/samples/batch.ts";
import { catalogue } from "../../model/catalogue/index.ts";

export interface MetricMetadata {
  readonly type: string;
  readonly help: string;
  readonly unit: string;
}

const maxFamilies = 50_000;
const maxTextLength = 4_096;

export class MetadataRegistry {
  readonly #metadata = new Map<string, MetricMetadata>();

  learn(entries: readonly Metadata[]): void {
    for (const { family, type, help, unit } of entries) {
      if (family === "" || (!this.#metadata.has(family) && this.#metadata.size >= maxFamilies))
        continue;
      this.#metadata.set(family, {
        type,
        help: help.slice(0, maxTextLength),
        unit: unit.slice(0, maxTextLength),
      });
    }
  }

  /** Families in order of first appearance, gpulse's own first. */
  list(metric: string | undefined, limit: number): Record<string, MetricMetadata[]> {
    const found: Record<string, MetricMetadata[]> = {};
    let count = 0;
    const put = (family: string, entry: MetricMetadata): void => {
      if (metric !== undefined && family !== metric) return;
      if (limit > 0 && count >= limit && found[family] === undefined) return;
      const before = found[family];
      if (before === undefined) {
        found[family] = [entry];
        count++;
      } else if (
        !before.some(
          (other) =>
            other.type === entry.type && other.help === entry.help && other.unit === entry.unit,
        )
      ) {
        before.push(entry);
      }
    };
    for (const { name, kind, help, unit } of catalogue) {
      put(name, {
        type: kind === "info" ? "gauge" : kind,
        help,
        unit: unit === "none" ? "" : unit,
      });
    }
    for (const [family, entry] of this.#metadata) put(family, entry);
    return found;
  }
}
