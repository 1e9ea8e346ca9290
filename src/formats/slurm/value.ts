/**
 * Parses values of Slurm's JSON, whose format changed between versions: a number is `5`, or since 23.02 `{"set": true, "infinite":
 * false, "number": 5}`; an absent one is `null`, an empty string, or `"set": false`; a state is `"RUNNING"` or `["RUNNING"]`.
 */

export type JsonRecord = Readonly<Record<string, unknown>>;

export const asRecord = (value: unknown): JsonRecord | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as JsonRecord)
    : undefined;

export const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** A finite, non-negative number: Slurm uses no others with a meaning here. */
export function asNumber(value: unknown): number | undefined {
  if (typeof value === "number") return Number.isFinite(value) && value >= 0 ? value : undefined;
  const wrapped = asRecord(value);
  if (wrapped === undefined || wrapped["set"] !== true || wrapped["infinite"] === true)
    return undefined;
  return typeof wrapped["number"] === "number" ? asNumber(wrapped["number"]) : undefined;
}

/** A number for which Slurm writes 0 if it is absent: times and ids. */
export function asPositive(value: unknown): number | undefined {
  const number = asNumber(value);
  return number === 0 ? undefined : number;
}

/** Converts seconds since 1970 to milliseconds; 0 is absent. */
export function asTimeMs(value: unknown): number | undefined {
  const seconds = asPositive(value);
  return seconds === undefined ? undefined : seconds * 1_000;
}

/** User-supplied text (a job's name) may contain anything: control characters are replaced, and long text is cut. */
export function asText(value: unknown): string | undefined {
  if (typeof value !== "string" || value === "" || value === "(null)") return undefined;
  return value.replace(/\p{Cc}/gu, "?").slice(0, 256);
}

export const asWords = (value: unknown): readonly string[] =>
  (typeof value === "string" ? [value] : asList(value)).flatMap((word) => asText(word) ?? []);
