/** One parameter of the view, read from and written to the address. Default values are omitted. */
import { computed, type ReadonlySignal } from "@preact/signals";
import { type HistoryMode, query, setParams } from "./address.ts";

export interface Codec<Value> {
  /** `text` is null if the address lacks the parameter; an invalid text returns the default. */
  read(text: string | null): Value;
  /** Undefined omits the parameter. */
  write(value: Value): string | undefined;
}

/** Used as a signal: reading `value` in a component redraws it when the address changes. */
export class Param<Value> {
  readonly #name: string;
  readonly #codec: Codec<Value>;
  readonly #entry: HistoryMode;
  readonly #value: ReadonlySignal<Value>;

  /** `entry`: whether a change adds an entry to the browser history. */
  constructor(name: string, codec: Codec<Value>, entry: HistoryMode = "replace") {
    this.#name = name;
    this.#codec = codec;
    this.#entry = entry;
    // Computed from the text, so that a change of another parameter keeps the same value object.
    const text = computed(() => query.value.get(name));
    this.#value = computed(() => codec.read(text.value));
  }

  get value(): Value {
    return this.#value.value;
  }

  set value(next: Value) {
    setParams({ [this.#name]: this.#codec.write(next) }, this.#entry);
  }

  peek(): Value {
    return this.#value.peek();
  }
}

export const text: Codec<string> = {
  read: (given) => given ?? "",
  write: (value) => (value === "" ? undefined : value),
};

export const optional: Codec<string | undefined> = {
  read: (given) => given ?? undefined,
  write: (value) => value,
};

/** A comma-separated list: uuids, hosts and names contain no commas. */
export const list: Codec<readonly string[]> = {
  read: (given) => (given ?? "").split(",").filter((part) => part !== ""),
  write: (value) => (value.length === 0 ? undefined : value.join(",")),
};

/** One of a few words; the first is the default. */
export function oneOf<Word extends string>(words: readonly [Word, ...Word[]]): Codec<Word> {
  return {
    read: (given) => words.find((word) => word === given) ?? words[0],
    write: (value) => (value === words[0] ? undefined : value),
  };
}
