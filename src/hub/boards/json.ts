/** Looks into JSON of unknown shape: a value of another kind is undefined or an empty list. Pure. */

export type JsonRecord = Readonly<Record<string, unknown>>;

export const isRecord = (value: unknown): value is JsonRecord =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const own = (value: JsonRecord, name: string): unknown =>
  Object.hasOwn(value, name) ? value[name] : undefined;

export function textIn(value: JsonRecord, name: string): string | undefined {
  const found = own(value, name);
  return typeof found === "string" ? found : undefined;
}

export function numberIn(value: JsonRecord, name: string): number | undefined {
  const found = own(value, name);
  return typeof found === "number" && Number.isFinite(found) ? found : undefined;
}

export function recordIn(value: JsonRecord, name: string): JsonRecord | undefined {
  const found = own(value, name);
  return isRecord(found) ? found : undefined;
}

export function listIn(value: JsonRecord, name: string): readonly JsonRecord[] {
  const found = own(value, name);
  return Array.isArray(found) ? found.filter(isRecord) : [];
}
