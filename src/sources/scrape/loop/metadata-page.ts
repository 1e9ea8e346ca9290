/** Type, help and unit of a target's metrics; each change is emitted once. Bounded. */
import type { Metadata } from "../../../formats/samples/batch.ts";

const maxFamilies = 20_000;

export class MetadataPage {
  readonly #families = new Map<string, Metadata>();
  readonly #news = new Set<string>();

  set(kind: "type" | "help" | "unit", family: string, text: string): void {
    const before = this.#families.get(family);
    if (before === undefined && this.#families.size >= maxFamilies) return;
    if (before?.[kind] === text) return;
    const known = before ?? { family, type: "unknown", help: "", unit: "" };
    this.#families.set(family, { ...known, [kind]: text });
    this.#news.add(family);
  }

  typeOf(family: string): string | undefined {
    return this.#families.get(family)?.type;
  }

  all(): Iterable<Metadata> {
    return this.#families.values();
  }

  /** Returns the metadata changed since the last call. */
  news(): readonly Metadata[] {
    if (this.#news.size === 0) return [];
    const changed = [...this.#news].flatMap((family) => this.#families.get(family) ?? []);
    this.#news.clear();
    return changed;
  }
}
