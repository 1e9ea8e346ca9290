/** Substitutes variables as Grafana does: an unset variable selects everything. */
import type { PromEngine, Range } from "./engine.ts";
import type { Board, Variable } from "./shape.ts";

export type Values = Readonly<Record<string, string>>;

/** `$name` and `${name}`, also with a format; Grafana's built-in names begin with two underscores. */
const reference = /\$(?:\{(\w+)(?::\w+)?\}|(\w+))/g;

export const usedVariables = (text: string): string[] =>
  [...text.matchAll(reference)].map(([, braced, bare]) => braced ?? bare ?? "");

export function substitute(text: string, values: Values): string {
  return text.replace(reference, (whole, braced?: string, bare?: string) => {
    const value = values[braced ?? bare ?? ""];
    if (value === undefined) throw new Error(`nothing to put in for ${whole}`);
    return value;
  });
}

const labelQuery = /^label_values\((.+), (\w+)\)$/;
const resultQuery = /^query_result\((.+)\)$/;

/** The choices of a variable. */
async function choices(
  { query, regex }: Pick<Variable, "query" | "regex">,
  values: Values,
  engine: PromEngine,
  range: Range,
): Promise<string[]> {
  const asked = substitute(query, values);
  const [, match, label] = labelQuery.exec(asked) ?? [];
  if (match !== undefined && label !== undefined) return engine.labelValues(label, match, range);
  const [, expr] = resultQuery.exec(asked) ?? [];
  if (expr === undefined) throw new Error(`a variable may not ask: ${query}`);
  const lines = await engine.results(expr, range);
  return regex === undefined ? lines : lines.flatMap((line) => captured(line, regex));
}

/** The values of the groups named `value` in a `/…/g` regex. */
function captured(line: string, regex: string): string[] {
  const pattern = new RegExp(regex.slice(1, regex.lastIndexOf("/")), "g");
  return [...line.matchAll(pattern)].flatMap(({ groups }) => groups?.["value"] ?? []);
}

export interface ResolvedVariables {
  readonly values: Values;
  /** The number of choices of each variable. */
  readonly counts: ReadonlyMap<string, number>;
}

/**
 * Joins several values to a PromQL regular expression as Grafana does: backslashes are doubled twice, for the string and for the
 * pattern.
 */
export const anyOf = (values: readonly string[]): string =>
  `(${values.map((value) => value.replaceAll("\\", "\\\\\\\\").replaceAll(/[$^*{}[\]'+?.()|]/g, "\\\\$&")).join("|")})`;

/** Selects all choices of a multiple-selection variable; for a single one, a choice that no earlier variable has. */
export async function resolve(
  { variables }: Pick<Board, "variables">,
  builtIn: Values,
  engine: PromEngine,
  range: Range,
): Promise<ResolvedVariables> {
  const values: Record<string, string> = { ...builtIn };
  const counts = new Map<string, number>();
  const taken = new Set<string>();
  for (const { name, takes, ...variable } of variables) {
    const found = await choices(variable, values, engine, range);
    counts.set(name, found.length);
    if (takes === "all") values[name] = ".*";
    else if (takes === "some") values[name] = anyOf(found);
    else {
      const chosen = found.find((value) => !taken.has(value)) ?? found[0] ?? "";
      taken.add(chosen);
      values[name] = chosen;
    }
  }
  return { values, counts };
}
