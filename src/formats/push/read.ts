/** Reads the fields of a plain JSON entry; each error names its field. */
import { defaultLabelLimits } from "../samples/labels.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

export class EntryError extends Error {
  readonly field: string;

  constructor(field: string, sentence: string) {
    super(sentence);
    this.field = field;
  }
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const notFinite = new Map([
  ["NaN", Number.NaN],
  ["Inf", Infinity],
  ["+Inf", Infinity],
  ["-Inf", -Infinity],
]);

export function readValue(given: unknown, field: string): number {
  if (typeof given === "number") return given;
  if (typeof given === "boolean") return given ? 1 : 0;
  const special = typeof given === "string" ? notFinite.get(given) : undefined;
  if (special !== undefined) return special;
  if (given === undefined) throw new EntryError(field, "is missing");
  throw new EntryError(
    field,
    given === null
      ? "is null: omit the metric if it has no value"
      : 'must be a number, true, false, "NaN", "+Inf" or "-Inf"',
  );
}

export function readName(given: unknown, field: string): string {
  if (typeof given === "string" && given !== "") return given;
  throw new EntryError(field, given === undefined ? "is missing" : "must be a name");
}

/** `job` and `instance` are labels with their own fields; numbers and booleans are converted to text. */
export function readLabels(entry: JsonObject): ReadonlyMap<string, string> {
  const labels = new Map<string, string>();
  const given = entry["labels"] ?? {};
  if (!isObject(given)) throw new EntryError("labels", "must be names with texts");
  const names = Object.keys(given);
  // Checked before sorting and encoding: a million labels would block all other requests for seconds.
  if (names.length > defaultLabelLimits.labels)
    throw new EntryError("labels", `has more than ${defaultLabelLimits.labels} names`);
  for (const name of names) {
    const value = given[name];
    if (name === "" || name === "__name__")
      throw new EntryError("labels", `"${name}" is not a label: put the metric's name into name`);
    labels.set(name, textOf(value, `labels.${name.slice(0, 100)}`));
  }
  for (const name of ["job", "instance"])
    if (entry[name] !== undefined) labels.set(name, textOf(entry[name], name));
  return labels;
}

function textOf(value: unknown, field: string): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  throw new EntryError(field, "must be a text");
}

/** A larger number of seconds must be milliseconds: the year 5138. */
const absurdSeconds = 1e11;

export function readTimeMs(given: unknown, otherwiseMs: number): number {
  if (given === undefined) return otherwiseMs;
  if (typeof given === "number" && Number.isFinite(given)) {
    if (Math.abs(given) >= absurdSeconds)
      throw new EntryError("time", "must be in seconds: divide milliseconds by 1000");
    return Math.round(given * 1_000);
  }
  if (typeof given === "string" && /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d/.test(given)) {
    const timeMs = Date.parse(given);
    if (!Number.isNaN(timeMs)) return timeMs;
  }
  throw new EntryError("time", "must be Unix seconds, or a text as in 2030-01-31T12:00:00Z");
}
