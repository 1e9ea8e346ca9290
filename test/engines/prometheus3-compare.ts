// Sends the same request to two servers with Prometheus's API and describes where the responses differ.

export interface ApiAnswer {
  readonly status: string;
  readonly data?: unknown;
  readonly error?: string | undefined;
  readonly warnings?: readonly string[];
  readonly infos?: readonly string[];
}

export interface AskedQuery {
  readonly query: string;
  /** In seconds. Without `step` an instant query at `end`. */
  readonly start: number;
  readonly end: number;
  readonly step?: number;
}

export type Ask = (asked: AskedQuery) => Promise<ApiAnswer>;

export function askOf(url: string): Ask {
  return async ({ query, start, end, step }) => {
    const form =
      step === undefined
        ? { query, time: String(end) }
        : { query, start: String(start), end: String(end), step: String(step) };
    const response = await fetch(`${url}/api/v1/${step === undefined ? "query" : "query_range"}`, {
      method: "POST",
      body: new URLSearchParams(form),
    });
    return (await response.json()) as ApiAnswer;
  };
}

/**
 * Describes the difference; undefined if there is none.
 * @param isRange true for the results of a range query or with a subquery
 */
export function differenceOf(
  ours: ApiAnswer,
  theirs: ApiAnswer,
  isRange = true,
): string | undefined {
  const [error, wantedError] = [sentenceOf(ours.error), sentenceOf(theirs.error)];
  if (ours.status !== theirs.status || error !== wantedError)
    return `${ours.status} ${error} instead of ${theirs.status} ${wantedError}`;
  const [mine, wanted] = [inOrder(ours.data), inOrder(theirs.data)];
  const difference = firstDifference(mine, wanted);
  if (difference !== undefined) {
    const [path, own, other] = difference;
    return `at ${path}: ${JSON.stringify(own)} instead of ${JSON.stringify(other)}`;
  }
  for (const kind of ["warnings", "infos"] as const) {
    const [got, want] = [annotationsOf(ours[kind], isRange), annotationsOf(theirs[kind], isRange)];
    if (got !== want) return `${kind} ${got} instead of ${want}`;
  }
  return undefined;
}

const sentenceOf = (error = ""): string => error.replace(/^invalid parameter "query": /, "");

/**
 * Prometheus lists annotations in any order, and of more than ten any ten. For a range it counts the samples with
 * corrected buckets again at every step, so that the number doubles with each.
 */
function annotationsOf(listed: readonly string[] = [], isRange: boolean): string {
  const omitted = listed.filter((text) => text.endsWith("annotations omitted"));
  const texts = omitted.length > 0 ? omitted : [...listed].sort();
  const comparable = texts.map((text) =>
    text
      .replace(isRange ? /over \d+ samples/ : /(?!)/, "over n samples")
      // Which series of a group is named depends on the order, which Prometheus chooses at random for operators with
      // fill.
      .replace(
        /(a mix of histograms with exponential and custom .* for metric name) "[^"]*"/,
        "$1",
      ),
  );
  return JSON.stringify([...new Set(comparable)]);
}

interface ApiSeries {
  readonly metric?: Readonly<Record<string, string>>;
  readonly values?: readonly (readonly [seconds: number, value: string])[];
}

/**
 * Sorts series by labels: without a sort function their order is undefined. Labels that `count_values` made of numbers are
 * compared to the eleventh digit, as the numbers are.
 */
function inOrder(data: unknown): unknown {
  const { result } = (data ?? {}) as { readonly result?: readonly ApiSeries[] };
  if (!Array.isArray(result) || typeof result[0] !== "object") return data;
  const byKey = new Map<string, ApiSeries>();
  for (const one of result as readonly ApiSeries[]) {
    const series = rounded(one);
    const key = keyOf(series);
    const { values } = byKey.get(key) ?? {};
    byKey.set(
      key,
      values === undefined || series.values === undefined
        ? series
        : { ...series, values: [...values, ...series.values].sort(([a], [b]) => a - b) },
    );
  }
  const sorted = [...byKey].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, series]) => series);
  return { ...(data as object), result: sorted };
}

function rounded(series: ApiSeries): ApiSeries {
  const { metric } = series;
  const value = Number(metric?.["value"] ?? Number.NaN);
  if (!Number.isFinite(value)) return series;
  return { ...series, metric: { ...metric, value: value.toPrecision(11) } };
}

const keyOf = ({ metric = {} }: ApiSeries): string =>
  JSON.stringify(Object.entries(metric).sort(([a], [b]) => (a < b ? -1 : 1)));

type Difference = readonly [path: string, ours: unknown, theirs: unknown];

/** Compares numbers to the eleventh digit: logarithms and powers of Go and JavaScript differ in the last. */
function firstDifference(a: unknown, b: unknown, path = ""): Difference | undefined {
  if (a === b || (typeof a === "string" && typeof b === "string" && isClose(a, b)))
    return undefined;
  if (!isTree(a) || !isTree(b) || Array.isArray(a) !== Array.isArray(b)) return [path, a, b];
  const [left, right] = [Object.entries(a), new Map(Object.entries(b))];
  if (left.length !== right.size) return [path, a, b];
  for (const [name, value] of left) {
    if (!right.has(name)) return [path, a, b];
    const found = firstDifference(value, right.get(name), `${path}/${name}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

const isTree = (value: unknown): value is object => typeof value === "object" && value !== null;

function isClose(a: string, b: string): boolean {
  if (a.trim() === "" || b.trim() === "") return false;
  const [x, y] = [Number(a), Number(b)];
  return Math.abs(x - y) <= 1e-11 * Math.max(Math.abs(x), Math.abs(y));
}
