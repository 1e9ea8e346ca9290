/** Collects the data of a page's first view, to inline it in the HTML. Slow, large or refused parts are left out: the page fetches them. */
import type { FastifyReply, FastifyRequest } from "fastify";
import { formatError } from "../base/error.ts";
import { parseDurationMs } from "../config/duration.ts";
import { formatValue } from "../formats/prometheus/page.ts";
import type { MatrixSeries } from "../query/result.ts";
import { type GpuWindow, matchersOf } from "../view/first-load.ts";
import { gpuId } from "../view/gpu.ts";
import type { LiveFeed } from "../view/live/feed.ts";
import { stepMsFor } from "../view/step.ts";
import { summarizeAlerts } from "./alerts/summary.ts";
import type { ApiContext } from "./api/context.ts";
import { reserveFor } from "./api/reserve.ts";
import { clientOf } from "./limits/client.ts";
import type { PageName } from "./page-names.ts";

/** A larger payload would arrive in the HTML later than over the live stream: about 5,000 GPUs. */
const maxFleetBytes = 2 * 1024 * 1024;
const maxGpuBytes = 512 * 1024;
/** Longest wait in the query queue: the page opens without the charts' data rather than late. */
const patienceMs = 100;
const timeoutMs = 400;
const defaultRangeMs = 3_600_000;
/** The page draws longer ranges from means, which this data does not include. */
const maxRangeMs = 3 * 3_600_000;
/** On nearly every screen a chart has about this width, and therefore the same step. */
const chartWidthPx = 450;

export interface FirstLoadOptions {
  readonly feed: LiveFeed;
  readonly api?: ApiContext | undefined;
  /** Counts a query of this client; false if its rate limit is exceeded. */
  readonly mayQuery: (request: FastifyRequest) => boolean;
}

/** Returns the parts of a `FirstLoad` as JSON, safe inside a script element; undefined if there is nothing to inline. */
export async function firstLoadJson(
  page: PageName,
  request: FastifyRequest,
  reply: FastifyReply,
  options: FirstLoadOptions,
): Promise<readonly (string | Buffer)[] | undefined> {
  const fleet = options.feed.describe(true);
  if (fleet.byteLength > maxFleetBytes) return undefined;
  const { api } = options;
  const alerts =
    api?.alerting === undefined ? undefined : summarizeAlerts(api.alerting, api.nowMs());
  const gpu = page === "gpu" ? await gpuJson(request, reply, options) : undefined;
  return [
    '{"fleet":',
    fleet.includes("<") ? escapeJson(fleet.toString()) : fleet,
    ...(alerts === undefined ? [] : [',"alerts":', escapeJson(JSON.stringify(alerts))]),
    ...(gpu === undefined ? [] : [',"gpu":', escapeJson(gpu)]),
    "}",
  ];
}

/** Escapes `<`, so that `</script>` in a label does not end the element. In JSON, `<` only occurs inside strings. */
const escapeJson = (json: string): string => json.replaceAll("<", String.raw`\u003c`);

async function gpuJson(
  request: FastifyRequest,
  reply: FastifyReply,
  { feed, api, mayQuery }: FirstLoadOptions,
): Promise<string | undefined> {
  const asked = new URL(request.url, "http://hub").searchParams;
  const rangeMs = rangeOf(asked);
  const wanted = asked.get("uuid");
  const { devices } = feed;
  const device =
    wanted === null
      ? devices[0]
      : (devices.find((one) => gpuId(one) === wanted) ??
        devices.find(({ uuid }) => uuid === wanted));
  // With a remote engine the page queries the data itself, while its code loads.
  if (device === undefined || rangeMs === undefined || api?.store === undefined) return undefined;
  if (!mayQuery(request)) return undefined;
  const nowMs = api.nowMs();
  const stepMs = stepMsFor(rangeMs, chartWidthPx);
  const startMs = Math.ceil((nowMs - rangeMs) / stepMs) * stepMs;
  const endMs = Math.floor(nowMs / stepMs) * stepMs;
  const matchers = matchersOf(device);
  try {
    const { data } = await api.history.range(`{${matchers}}`, startMs, endMs, stepMs, {
      client: clientOf(request),
      reservation: reserveFor(api, request, reply),
      patienceMs,
      timeoutMs,
    });
    if (data.type !== "matrix") return undefined;
    const series = data.series.map((one) => seriesJson(one, startMs, endMs, stepMs));
    const found: GpuWindow = { matchers, rangeMs, nowMs, startMs, endMs, stepMs, series };
    const json = JSON.stringify(found);
    return json.length > maxGpuBytes ? undefined : json;
  } catch (thrown) {
    api.log.debug("the page was sent without its charts' data", { error: formatError(thrown) });
    return undefined;
  }
}

/** Returns undefined for an absolute time range, and for one that the page does not draw from samples. */
function rangeOf(asked: URLSearchParams): number | undefined {
  if (asked.has("from") || asked.has("to")) return undefined;
  const ms = parseDurationMs(asked.get("range") ?? "") ?? defaultRangeMs;
  return ms >= 10_000 && ms <= maxRangeMs ? ms : undefined;
}

function seriesJson(
  { labels, times, values }: MatrixSeries,
  startMs: number,
  endMs: number,
  stepMs: number,
): GpuWindow["series"][number] {
  const length = Math.floor((endMs - startMs) / stepMs) + 1;
  const column = Array.from<unknown, number | string | null>({ length }, () => null);
  times.forEach((timeMs, at) => {
    const value = values[at] ?? Number.NaN;
    column[Math.round((timeMs - startMs) / stepMs)] = Number.isFinite(value)
      ? value
      : formatValue(value);
  });
  return { labels: Object.fromEntries(labels), values: column };
}
