/** Accessors for JSON of unknown shape: a value of another type is undefined or an empty list. Pure. */

export type BoardJson = Readonly<Record<string, unknown>>;

export const isRecord = (value: unknown): value is BoardJson =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const own = (value: BoardJson, name: string): unknown =>
  Object.hasOwn(value, name) ? value[name] : undefined;

export function textIn(value: BoardJson, name: string): string | undefined {
  const found = own(value, name);
  return typeof found === "string" ? found : undefined;
}

export function numberIn(value: BoardJson, name: string): number | undefined {
  const found = own(value, name);
  return typeof found === "number" && Number.isFinite(found) ? found : undefined;
}

export function recordIn(value: BoardJson, name: string): BoardJson | undefined {
  const found = own(value, name);
  return isRecord(found) ? found : undefined;
}

export function listIn(value: BoardJson, name: string): readonly BoardJson[] {
  const found = own(value, name);
  return Array.isArray(found) ? found.filter(isRecord) : [];
}
