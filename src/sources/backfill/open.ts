/** The two supported engines: Prometheus through query_range, InfluxDB through InfluxQL. */
import { GpulseError } from "../../base/error.ts";
import { HttpAgent, HttpRequestError, request } from "../../net/http/request.ts";
import { findColumn } from "../../model/aliases.ts";
import { seriesOf } from "../../model/columns.ts";
import { entry } from "../../model/catalogue/define.ts";
import { findMetric } from "../../model/catalogue/index.ts";
import { deviceFromLabels } from "../../model/device.ts";
import { labelSet } from "../../model/labels.ts";
import type { Series } from "../../model/layout.ts";
import { type BackfillEngine, type BackfillSeries, BackfillSource } from "./source.ts";

/* One HTTP request to an engine, with a deadline; returns JSON or throws an error with the fix. */

interface BackfillConnection {
  readonly agent: HttpAgent;
  readonly origin: string;
  readonly username: string | undefined;
  readonly password: string | undefined;
}

async function fetchEngineJson(
  { agent, origin, username, password }: BackfillConnection,
  path: string,
  form: URLSearchParams,
  signal: AbortSignal,
): Promise<unknown> {
  const basic = Buffer.from(`${username ?? ""}:${password ?? ""}`).toString("base64");
  const answer = await request(`${origin}${path}`, {
    method: "POST",
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      ...(username === undefined ? {} : { authorization: `Basic ${basic}` }),
    },
    body: form.toString(),
    timeoutMs: 120_000,
    maxBytes: 512 * 2 ** 20,
    agent,
    signal,
  }).catch((thrown: unknown) => {
    if (!(thrown instanceof HttpRequestError) || signal.aborted) throw thrown;
    throw new GpulseError(
      "QUERY_FAILED",
      `${origin} does not answer (${thrown.message}): check the address, or ask for less at a time with window=.`,
      { cause: thrown },
    );
  });
  const text = answer.body.toString("utf8");
  if (answer.status === 401 || answer.status === 403)
    throw new GpulseError(
      "ACCESS_REFUSED",
      `${origin} refuses access: pass username= and password=.`,
    );
  if (answer.status !== 200)
    throw new GpulseError(
      "QUERY_FAILED",
      `${origin} answered ${answer.status}: ${text.slice(0, 300)}`,
    );
  try {
    return JSON.parse(text);
  } catch (thrown) {
    throw new GpulseError(
      "QUERY_FAILED",
      `${origin} answered with no JSON: is it the right address?`,
      {
        cause: thrown,
      },
    );
  }
}

interface Common {
  readonly address?: string | undefined;
  readonly start?: number | undefined;
  readonly end?: number | undefined;
  readonly window: number;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
}

export function openPrometheus(
  scheme: string,
  options: Common & { readonly match: string; readonly step: number },
): BackfillSource {
  const { url, asking } = place(scheme, options, `prometheus+${scheme}://HOST:9090`);
  const path = `${url.pathname.replace(/\/$/, "")}/api/v1/query_range`;
  const engine: BackfillEngine = {
    close: () => asking.agent.close(),
    read: async (fromMs, toMs, signal) => {
      // Align windows to the step, so that they meet; the end belongs to the next window.
      const first = Math.ceil(fromMs / options.step) * options.step;
      const last = Math.ceil(toMs / options.step) * options.step - options.step;
      if (last < first) return [];
      const form = new URLSearchParams({
        query: options.match,
        start: String(first / 1_000),
        end: String(last / 1_000),
        step: String(options.step / 1_000),
      });
      const { data } = (await fetchEngineJson(asking, path, form, signal)) as {
        data?: {
          result?: readonly { metric: Record<string, string>; values: [number, string][] }[];
        };
      };
      return (data?.result ?? []).map(({ metric: labels, values }): BackfillSeries => {
        const { __name__: name = "", job: _job, instance: _instance, ...own } = labels;
        return {
          series: { metric: metricOf(name), suffix: "", labels: labelSet(own) },
          points: values.map(([seconds, text]) => [Math.round(seconds * 1_000), Number(text)]),
        };
      });
    },
  };
  return new BackfillSource(engine, span(options));
}

export function openInfluxDb(
  scheme: string,
  options: Common & { readonly measurement?: string | undefined },
): BackfillSource {
  const { url, asking } = place(scheme, options, `influxdb+${scheme}://HOST:8086/DATABASE`);
  const db = decodeURIComponent(url.pathname.slice(1));
  const from =
    options.measurement === undefined
      ? "/^(gpu_metrics|gpu|host)$/"
      : `"${options.measurement.replace(/["\\]/g, "\\$&")}"`;
  const engine: BackfillEngine = {
    close: () => asking.agent.close(),
    read: async (fromMs, toMs, signal) => {
      const q = `SELECT * FROM ${from} WHERE time >= ${fromMs}ms AND time < ${toMs}ms GROUP BY *`;
      const form = new URLSearchParams({ db, q, epoch: "ms" });
      const { results = [] } = (await fetchEngineJson(asking, "/query", form, signal)) as {
        results?: readonly InfluxResult[];
      };
      const problem = results.find(({ error }) => error !== undefined)?.error;
      if (problem !== undefined)
        throw new GpulseError("QUERY_FAILED", `${asking.origin}: ${problem}`);
      return results.flatMap(({ series = [] }) => series.flatMap(fromInflux));
    },
  };
  return new BackfillSource(engine, span(options));
}

interface InfluxSeries {
  readonly tags?: Readonly<Record<string, string>>;
  readonly columns: readonly string[];
  readonly values: readonly (readonly (number | string | boolean | null)[])[];
}

interface InfluxResult {
  readonly series?: readonly InfluxSeries[];
  readonly error?: string;
}

/** A field is a column of the lake, by its own name or by GPU-Z's; tags that do not belong to a series identify the GPU. */
function fromInflux({ tags = {}, columns, values }: InfluxSeries): BackfillSeries[] {
  const { uuid, gpu, host, vendor, model, simulated } = tags;
  const who = {
    uuid: uuid ?? gpu,
    gpu: gpu === undefined || /^\d+$/.test(gpu) ? gpu : undefined,
    host,
  };
  return columns.flatMap((name, at): BackfillSeries[] => {
    const column = findColumn(name);
    const found = column === undefined ? undefined : seriesOf(column.column);
    if (column === undefined || found === undefined) return [];
    const own = Object.fromEntries(found.labels);
    const of = found.metric.subject === "host" ? { host } : who;
    const points = values.flatMap((row): [number, number][] => {
      const [time, value] = [row[0], row[at]];
      return typeof time === "number" && typeof value === "number"
        ? [[time, value / column.scale]]
        : [];
    });
    const series: Series = {
      metric: found.metric,
      suffix: "",
      labels: labelSet({ ...own, ...of }),
    };
    const device = deviceFromLabels({ ...who, vendor, model, simulated });
    return [{ series, points, device }];
  });
}

const metricOf = (name: string) =>
  findMetric(name) ?? entry("self", name, { help: "", kind: "gauge" });

function place(
  scheme: string,
  { address, username, password }: Common,
  takes: string,
): { readonly url: URL; readonly asking: BackfillConnection } {
  const whole = `${scheme}:${address ?? ""}`;
  if (address === undefined || !address.startsWith("//") || !URL.canParse(whole))
    throw new GpulseError("SOURCE_OPTIONS", `Name the server: ${takes}?start=2026-01-01.`);
  const url = new URL(whole);
  return { url, asking: { agent: new HttpAgent(), origin: url.origin, username, password } };
}

function span({ start, end, window }: Common): {
  startMs: number;
  endMs: number;
  windowMs: number;
} {
  if (start === undefined)
    throw new GpulseError(
      "SOURCE_OPTIONS",
      "Say from when: start=2026-01-01, and end= up to when.",
    );
  const endMs = end ?? Date.now();
  if (endMs <= start) throw new GpulseError("SOURCE_OPTIONS", "end= is not after start=.");
  return { startMs: start, endMs, windowMs: window };
}
