/** Caches parsed attributes and names across requests: senders repeat the same ones. Bounded: cleared when it grows too large. */
import type { EncodedLabels } from "./labels.ts";
import type { Attributes } from "./model.ts";

const maxBytes = 32 * 2 ** 20;
const maxEntries = 200_000;

export class OtlpCache {
  readonly #attributes = new Map<string, Attributes>();
  /** Keyed by the labels of the resource, then by the attributes themselves. */
  readonly #labels = new Map<string, Map<Attributes, EncodedLabels>>();
  readonly #names = new Map<string, Uint8Array>();
  #bytes = 0;
  #entries = 0;

  /** Call this before a request, never during one: equal attributes must stay the same object. */
  makeRoom(): void {
    if (this.#bytes < maxBytes && this.#entries < maxEntries) return;
    this.#attributes.clear();
    this.#labels.clear();
    this.#names.clear();
    this.#bytes = 0;
    this.#entries = 0;
  }

  attributes(key: string): Attributes | undefined {
    return this.#attributes.get(key);
  }

  keepAttributes(key: string, attributes: Attributes): void {
    this.#attributes.set(key, attributes);
    this.#count(key.length);
  }

  labelsOf(identity: string): Map<Attributes, EncodedLabels> {
    const found = this.#labels.get(identity);
    if (found !== undefined) return found;
    const made = new Map<Attributes, EncodedLabels>();
    this.#labels.set(identity, made);
    this.#count(identity.length);
    return made;
  }

  keepLabels(
    into: Map<Attributes, EncodedLabels>,
    attributes: Attributes,
    labels: EncodedLabels,
  ): void {
    into.set(attributes, labels);
    this.#count(labels.byteLength);
  }

  name(name: string): Uint8Array | undefined {
    return this.#names.get(name);
  }

  keepName(name: string, block: Uint8Array): void {
    this.#names.set(name, block);
    this.#count(name.length + block.length);
  }

  #count(bytes: number): void {
    this.#entries++;
    this.#bytes += bytes * 2;
  }
}
