/** A secret that does not show itself: printing, logging or turning it to JSON gives `<secret>`. */
import { inspect } from "node:util";

export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** Only where the secret is put to use. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return "<secret>";
  }

  toJSON(): string {
    return "<secret>";
  }

  [inspect.custom](): string {
    return "<secret>";
  }
}
