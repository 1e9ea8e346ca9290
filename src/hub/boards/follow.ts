/** Adds a variable to a query: a matcher on every selector that has none for the label. Pure. */
import { childrenOf, type Expr, type VectorSelector } from "../../query/ast.ts";
import { parse } from "../../query/parse/parse.ts";

/** Replacements of the same length, so that positions in the text stay valid. */
const durations: readonly (readonly [string, string])[] = [
  ["$range", "10000s"],
  ["$step", "1000s"],
  ["$rate", "1000s"],
];

/**
 * `sum(gpu_power_watts)` becomes `sum(gpu_power_watts{host=~"$host"})`. A selector that names a GPU or already has the label
 * stays as it is. @throws QueryError if it is not PromQL.
 */
export function followVariable(query: string, label: string, variable: string): string {
  const text = durations.reduce((sum, [name, same]) => sum.replaceAll(name, same), query);
  const selectors = selectorsIn(parse(text))
    .filter(({ matchers }) => !matchers.some(({ name }) => name === label || name === "uuid"))
    .sort((one, other) => other.span.start - one.span.start);
  let followed = query;
  for (const { name, matchers, span } of selectors) {
    const own = followed.slice(span.start, span.end);
    const matcher = `${label}=~"$${variable}"`;
    const close = endOfMatchers(own, matchers.length - (name === "" ? 0 : 1));
    const next =
      close === undefined
        ? `${own.slice(0, name.length)}{${matcher}}${own.slice(name.length)}`
        : `${own.slice(0, close.at)}${close.hasOthers ? "," : ""}${matcher}${own.slice(close.at)}`;
    followed = followed.slice(0, span.start) + next + followed.slice(span.end);
  }
  return followed;
}

/** Position of the closing brace, ignoring braces inside quotes; undefined for a bare name. */
function endOfMatchers(
  selector: string,
  matchers: number,
): { readonly at: number; readonly hasOthers: boolean } | undefined {
  let quote = "";
  for (let at = 0; at < selector.length; at += 1) {
    const letter = selector[at] ?? "";
    if (quote !== "") {
      if (letter === "\\" && quote !== "`") at += 1;
      else if (letter === quote) quote = "";
    } else if (`"'\``.includes(letter)) quote = letter;
    else if (letter === "}") {
      const before = selector.slice(0, at).trimEnd();
      return { at, hasOthers: matchers > 0 && !before.endsWith(",") };
    }
  }
  return undefined;
}

export function selectorsIn(expr: Expr): VectorSelector[] {
  if (expr.kind === "vector") return [expr];
  if (expr.kind === "matrix") return [expr.selector];
  return childrenOf(expr).flatMap(selectorsIn);
}
