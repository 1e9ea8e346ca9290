/** Combines several queries of a chart into one PromQL expression. Pure. */
import { withStep } from "../query/client.ts";
import type { TimeGrid } from "../query/columns.ts";
import type { ChartQuery } from "./model.ts";

const SELECTOR = /^([a-zA-Z_:][\w:]*)\{(.*)\}$/s;

const POINT_MS = 15_000;

/** Replaces `$step` by the step of this grid; before the first result, by 15 s. */
export const fillStep = (
  queries: readonly ChartQuery[],
  grid: Pick<TimeGrid, "stepMs"> | undefined,
): readonly ChartQuery[] =>
  queries.map((one) => ({ ...one, query: withStep(one.query, grid ?? { stepMs: POINT_MS }) }));

/**
 * Selectors with the same matchers become one selector. Otherwise the series of each query get a label `line`: `or` compares label
 * sets without the metric's name, so `a or b` alone would drop every series of b.
 */
export function combineQueries(queries: readonly ChartQuery[]): string {
  const [first, ...others] = queries;
  if (first === undefined) return "";
  if (others.length === 0) return first.query;
  const parsed = queries.map(({ query }) => SELECTOR.exec(query));
  const names = parsed.map((found) => found?.[1]);
  const matchers = new Set(parsed.map((found) => found?.[2]));
  const [own] = matchers;
  if (matchers.size === 1 && own !== undefined)
    return `{__name__=~"${[...new Set(names)].join("|")}"${own === "" ? "" : `,${own}`}}`;
  return queries
    .map(({ query, label }, at) => {
      const line = typeof label === "string" ? label : (names[at] ?? `${at + 1}`);
      return `label_replace(${query},"line",${JSON.stringify(line.replaceAll("$", "$$$$"))},"","")`;
    })
    .join(" or ");
}
