/** Checks a value against a schema; each problem is one sentence with the path, the expected value and a suggestion. */
import * as v from "valibot";
import { didYouMean } from "./closest.ts";

export interface Problem {
  readonly kind: "unknown-key" | "wrong-value";
  readonly path: readonly (string | number)[];
  readonly sentence: string;
}

export type ConfigCheckResult<Output> =
  | { readonly ok: true; readonly value: Output }
  | { readonly ok: false; readonly problems: readonly Problem[] };

export function checkValue<Schema extends v.GenericSchema>(
  schema: Schema,
  input: unknown,
): ConfigCheckResult<v.InferOutput<Schema>> {
  const result = v.safeParse(schema, input);
  if (result.success) return { ok: true, value: result.output };
  return { ok: false, problems: result.issues.map((issue) => problemOf(schema, issue)) };
}

function problemOf(schema: v.GenericSchema, issue: v.BaseIssue<unknown>): Problem {
  const path = (issue.path ?? []).map(({ key }) => (typeof key === "number" ? key : String(key)));
  const last = path.at(-1);
  if (issue.type === "strict_object" && issue.expected === "never" && last !== undefined) {
    const known = keysAt(schema, path.slice(0, -1));
    const near = didYouMean(String(last), known);
    const hint = near === "" && known.length > 0 ? ` Known keys: ${known.join(", ")}.` : near;
    return { kind: "unknown-key", path, sentence: `unknown key "${path.join(".")}".${hint}` };
  }
  const at = path.length === 0 ? "" : `"${path.join(".")}" `;
  if (issue.type === "strict_object" || issue.type === "object") {
    const missing = issue.received === "undefined" && last !== undefined;
    return {
      kind: "wrong-value",
      path,
      sentence: missing ? `${at}is missing.` : `${at}must be a mapping of keys.`,
    };
  }
  if (issue.type === "array")
    return { kind: "wrong-value", path, sentence: `${at}must be a list.` };
  return {
    kind: "wrong-value",
    path,
    sentence: `${at}must be ${issue.message}, not ${formatInput(issue)}.`,
  };
}

/** The actual value, shortened; the caller hides it if the value came from a secret. */
function formatInput(issue: v.BaseIssue<unknown>): string {
  const deepest = issue.path?.at(-1)?.value ?? issue.input;
  const value = JSON.stringify(deepest) ?? "nothing";
  return value.length > 60 ? `${value.slice(0, 57)}…` : value;
}

interface SchemaParts {
  readonly entries?: Readonly<Record<string, v.GenericSchema>>;
  readonly item?: v.GenericSchema;
  /** The schema of the values, for a mapping with any keys. */
  readonly value?: v.GenericSchema;
  readonly wrapped?: v.GenericSchema;
  readonly pipe?: readonly v.GenericSchema[];
  readonly options?: readonly v.GenericSchema[];
}

/** The keys that a schema accepts at a path, looking through optional, pipe, list, record and union. */
export function keysAt(schema: v.GenericSchema, path: readonly (string | number)[]): string[] {
  const { entries, item, value, wrapped, pipe, options } = schema as SchemaParts;
  if (wrapped !== undefined) return keysAt(wrapped, path);
  if (options !== undefined && entries === undefined)
    return options.flatMap((option) => (typeof option === "object" ? keysAt(option, path) : []));
  const [head, ...rest] = path;
  if (entries !== undefined) {
    if (head === undefined) return Object.keys(entries);
    const next = entries[String(head)];
    return next === undefined ? [] : keysAt(next, rest);
  }
  if (item !== undefined && typeof head === "number") return keysAt(item, rest);
  if (schema.type === "record" && value !== undefined && head !== undefined)
    return keysAt(value, rest);
  if (pipe?.[0] !== undefined && pipe[0] !== schema) return keysAt(pipe[0], path);
  return [];
}
