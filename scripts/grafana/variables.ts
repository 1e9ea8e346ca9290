/** Puts values in for variables, as Grafana does: what is not chosen is all of it. */
import type { PromEngine, Range } from "./engine.ts";
import type { Board, Variable } from "./shape.ts";

export type Values = Readonly<Record<string, string>>;

/** `$name` and `${name}`, also with a format; the names Grafana itself gives begin with two underscores. */
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
export async function choices(
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

/** The groups of `/…/g` that are named value. */
function captured(line: string, regex: string): string[] {
  const pattern = new RegExp(regex.slice(1, regex.lastIndexOf("/")), "g");
  return [...line.matchAll(pattern)].flatMap(({ groups }) => groups?.["value"] ?? []);
}

export interface ResolvedVariables {
  readonly values: Values;
  /** How many choices each variable has. */
  readonly counts: ReadonlyMap<string, number>;
}

/** As Grafana puts several into a regular expression of PromQL: a backslash twice, once for the string and once for the pattern. */
export const anyOf = (values: readonly string[]): string =>
  `(${values.map((value) => value.replaceAll("\\", "\\\\\\\\").replaceAll(/[$^*{}[\]'+?.()|]/g, "\\\\$&")).join("|")})`;

/** Everything of what may be many; of what is one, a choice that no variable before it has taken. */
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
