/**
 * A label set while rules change it. Walks what it was made of first and what was set since in the order of setting, as
 * Prometheus does: where two labels are mapped to one name, the later one stays.
 */
import { type Label, type LabelSet, labelValue } from "../../model/labels.ts";

export class LabelBuilder {
  readonly #base: LabelSet;
  readonly #set = new Map<string, string>();
  readonly #deleted = new Set<string>();

  constructor(base: LabelSet) {
    this.#base = base;
  }

  /** Empty where there is none. */
  get(name: string): string {
    const set = this.#set.get(name);
    if (set !== undefined) return set;
    return this.#deleted.has(name) ? "" : (labelValue(this.#base, name) ?? "");
  }

  set(name: string, value: string): void {
    if (value === "") this.delete(name);
    else this.#set.set(name, value);
  }

  delete(name: string): void {
    this.#set.delete(name);
    this.#deleted.add(name);
  }

  /** A copy: changes while walking it are not seen. */
  pairs(): Label[] {
    const kept = this.#base.filter(([name]) => !this.#set.has(name) && !this.#deleted.has(name));
    return [...kept, ...this.#set];
  }

  /** Sorted, none empty. */
  labels(): LabelSet {
    if (this.#set.size === 0 && this.#deleted.size === 0) return this.#base;
    return this.pairs().sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0));
  }
}
