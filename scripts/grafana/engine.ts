/**
 * Queries the engines behind panels over HTTP as Grafana does. Returns how many series have a number in them, and never treats an
 * error as an empty result.
 */

export interface Range {
  readonly startMs: number;
  readonly endMs: number;
  readonly stepSeconds: number;
}

type Sample = readonly [unixSeconds: number, value: string];

interface PromAnswer {
  readonly status: string;
  readonly error?: string;
  readonly data?: {
    readonly resultType: string;
    readonly result: readonly {
      readonly metric: Readonly<Record<string, string>>;
      readonly value?: Sample;
      readonly values?: readonly Sample[];
    }[];
  };
}

async function post(url: string, form: Readonly<Record<string, string>>): Promise<unknown> {
  const response = await fetch(url, { method: "POST", body: new URLSearchParams(form) });
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${url} answered ${response.status}: ${text.slice(0, 200)}`);
  }
}

const isNumber = ([, value]: Sample): boolean => Number.isFinite(Number(value));

/** Prometheus's API, served by Prometheus or by the hub. */
export class PromEngine {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url.replace(/\/$/, "");
  }

  async #data(route: string, form: Readonly<Record<string, string>>) {
    const answer = (await post(`${this.#url}${route}`, form)) as PromAnswer;
    if (answer.data === undefined) throw new Error(answer.error ?? `no data: ${answer.status}`);
    return answer.data;
  }

  /** The number of series with a value now; 1 for a scalar. */
  async now(query: string, { endMs }: Range): Promise<number> {
    const data = await this.#data("/api/v1/query", { query, time: String(endMs / 1_000) });
    if (data.resultType === "scalar") return 1;
    return data.result.filter(({ value }) => value !== undefined && isNumber(value)).length;
  }

  /** The number of series with a value anywhere in the range. */
  async over(query: string, { startMs, endMs, stepSeconds }: Range): Promise<number> {
    const { result } = await this.#data("/api/v1/query_range", {
      query,
      start: String(startMs / 1_000),
      end: String(endMs / 1_000),
      step: String(stepSeconds),
    });
    return result.filter(({ values = [] }) => values.some(isNumber)).length;
  }

  async labelValues(label: string, match: string, { startMs, endMs }: Range): Promise<string[]> {
    const search = new URLSearchParams({
      "match[]": match,
      start: String(startMs / 1_000),
      end: String(endMs / 1_000),
    });
    const response = await fetch(`${this.#url}/api/v1/label/${label}/values?${search.toString()}`);
    const answer = (await response.json()) as { data?: string[]; error?: string };
    if (answer.data === undefined) throw new Error(answer.error ?? `answered ${response.status}`);
    return answer.data;
  }

  /** The labels of a query's result, formatted as by Grafana's query_result(). */
  async results(query: string, { endMs }: Range): Promise<string[]> {
    const data = await this.#data("/api/v1/query", { query, time: String(endMs / 1_000) });
    return data.result.map(({ metric }) => {
      const labels = Object.entries(metric).map(([name, value]) => `${name}="${value}"`);
      return `{${labels.join(",")}}`;
    });
  }
}

export interface InfluxOptions {
  readonly url: string;
  readonly database: string;
  readonly username?: string;
  readonly password?: string;
}

interface InfluxAnswer {
  readonly error?: string;
  readonly results?: readonly {
    readonly error?: string;
    readonly series?: readonly { readonly values: readonly (readonly unknown[])[] }[];
  }[];
}

/** InfluxDB 1: the number of resulting series with a non-null value. */
export async function askInflux(options: InfluxOptions, query: string): Promise<number> {
  const { url, database, username, password } = options;
  const user = username === undefined ? {} : { u: username, p: password ?? "" };
  const answer = (await post(`${url}/query`, { q: query, db: database, ...user })) as InfluxAnswer;
  const error = answer.error ?? answer.results?.find((result) => result.error)?.error;
  if (error !== undefined) throw new Error(error);
  const series = (answer.results ?? []).flatMap((result) => result.series ?? []);
  return series.filter(({ values }) =>
    values.some(([, value]) => value !== undefined && value !== null),
  ).length;
}
