/** Reads a request body according to Alertmanager's schema. Errors include the path of the field, in its API's format. */
import { parseTimeMs } from "../../../config/time.ts";
import { missing, unreadable } from "./failure.ts";

export class Body {
  readonly #what: string;
  readonly #place: string;
  readonly #value: Readonly<Record<string, unknown>>;

  constructor(what: string, place: string, value: unknown) {
    this.#what = what;
    this.#place = place;
    if (typeof value !== "object" || value === null || Array.isArray(value))
      throw this.wrong("", "an object");
    this.#value = value as Readonly<Record<string, unknown>>;
  }

  /** The path of a field for error messages, such as `0.labels`. */
  at(name: string): string {
    return [this.#place, name].filter((part) => part !== "").join(".");
  }

  wrong(name: string, takes: string): Error {
    const at = this.at(name);
    return unreadable(this.#what, `${at === "" ? "it" : at} must be ${takes}`);
  }

  has(name: string): boolean {
    return this.#value[name] !== undefined && this.#value[name] !== null;
  }

  need(name: string): void {
    if (!this.has(name)) throw missing(this.at(name));
  }

  text(name: string): string | undefined {
    const value = this.#value[name] ?? undefined;
    if (value !== undefined && typeof value !== "string") throw this.wrong(name, "text");
    return value;
  }

  truth(name: string): boolean | undefined {
    const value = this.#value[name] ?? undefined;
    if (value !== undefined && typeof value !== "boolean") throw this.wrong(name, "true or false");
    return value;
  }

  list(name: string): readonly unknown[] | undefined {
    const value: unknown = this.#value[name] ?? undefined;
    if (value !== undefined && !Array.isArray(value)) throw this.wrong(name, "a list");
    return value as readonly unknown[] | undefined;
  }

  /** Reads an object of strings. */
  pairs(name: string): ReadonlyMap<string, string> | undefined {
    if (!this.has(name)) return undefined;
    const value = this.#value[name];
    if (typeof value !== "object" || Array.isArray(value))
      throw this.wrong(name, "an object of texts");
    return new Map(
      Object.entries(value as object).map(([key, item]: [string, unknown]) => {
        if (typeof item !== "string") throw this.wrong(`${name}.${key}`, "text");
        return [key, item];
      }),
    );
  }

  /** Returns undefined if absent, or for Go's zero time. */
  timeMs(name: string): number | undefined {
    const given = this.text(name);
    if (given === undefined) return undefined;
    const ms = given === "" ? 0 : parseTimeMs(withZone(given));
    if (ms === undefined)
      throw this.wrong(name, `a time such as 2026-01-31T12:00:00Z, not ${JSON.stringify(given)}`);
    return ms === zeroTimeMs ? undefined : ms;
  }
}

const zeroTimeMs = Date.parse("0001-01-01T00:00:00Z");

/** A time without a zone is UTC; a blank may replace the T. */
const withZone = (given: string): string => {
  const whole = given.replace(/^(\d{4}-\d{2}-\d{2}) /, "$1T");
  return /([Zz]|[+-]\d{2}:\d{2})$/.test(whole) ? whole : `${whole}Z`;
};
