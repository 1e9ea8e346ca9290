/** Reads the data of the Serving page from the history: series of LLM servers, and labels and energy of GPUs. */
import { serverSeriesNames } from "../../formats/servers/list.ts";
import { gpu } from "../../model/catalogue/index.ts";
import { labelValue } from "../../model/labels.ts";
import { deviceKey } from "../../model/device.ts";
import { anyOf, type Matcher, type Queryable, type SelectBudget } from "../../model/select.ts";
import { QueryError } from "../../query/errors.ts";
import { Cumulative } from "../../view/serving/cumulative.ts";
import type { Serving } from "../../view/serving/figures.ts";
import type { FleetLabels } from "../../view/serving/gpus.ts";
import type { ServerSeries } from "../../view/serving/replicas.ts";
import { describeServing, splitMs } from "../../view/serving/serving.ts";

export interface ServingRequest {
  readonly timeMs: number;
  readonly windowMs: number;
  readonly slo: Serving["slo"];
  readonly ownHost: string;
  readonly pricePerKwh?: number | undefined;
  readonly currency?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** About 500 servers with all their histograms. */
const mostSeries = 50_000;
/** How long a series counts as live. */
const lookbackMs = 300_000;

const tokenNames: readonly string[] = [...serverSeriesNames].flatMap(([name, uses]) =>
  uses.some(({ signal }) => signal === "promptTokens" || signal === "generatedTokens")
    ? [name]
    : [],
);
const otherNames: readonly string[] = [...serverSeriesNames.keys()].filter(
  (name) => !tokenNames.includes(name),
);
/** In order of preference: the hardware's own counter, the integrated energy, then power samples. */
const energyNames = [gpu.energy.name, gpu.energyIntegrated.name, gpu.power.name] as const;

export async function readServing(
  history: Pick<Queryable, "select" | "series">,
  request: ServingRequest,
): Promise<Serving> {
  const { timeMs, windowMs, signal } = request;
  const select = async (fromMs: number, ...matchers: Matcher[]): Promise<ServerSeries[]> => {
    const found = await history.select(matchers, fromMs, timeMs, signal, budget());
    return found.map(({ labels, column }) => ({ labels, column }));
  };
  const windowStartMs = timeMs - Math.max(windowMs, lookbackMs);
  const tokens = await select(timeMs - Math.max(splitMs, windowMs), anyOf("__name__", tokenNames));
  const others = await select(windowStartMs, anyOf("__name__", otherNames));
  const series = [...tokens, ...others];
  const fleet = await readFleet(history, request);
  const base = { ...request, series, fleet };
  // Determines the GPUs in use before reading their energy.
  const draft = describeServing({ ...base, joulesOf: () => undefined });
  const uuids = new Set(
    draft.replicas.flatMap(({ gpus }) => ("list" in gpus ? gpus.list.map(({ uuid }) => uuid) : [])),
  );
  if (uuids.size === 0) return draft;
  const joules = new Map<string, Cumulative>();
  for (const name of energyNames) {
    const found = await select(
      timeMs - Math.max(splitMs, windowMs),
      { name: "__name__", op: "=", value: name },
      anyOf("uuid", [...uuids]),
    );
    for (const { labels, column } of found) {
      const key = deviceKey(labelValue(labels, "host") ?? "", labelValue(labels, "uuid") ?? "");
      const one =
        name === gpu.power.name ? Cumulative.ofGauge(column) : Cumulative.ofCounter(column);
      // Of a GPU that two targets report, only one series is read.
      if (!joules.has(key) && one.times.length > 1) joules.set(key, one);
    }
  }
  return describeServing({ ...base, joulesOf: (host, uuid) => joules.get(deviceKey(host, uuid)) });
}

async function readFleet(
  history: Pick<Queryable, "series">,
  { timeMs, ownHost }: ServingRequest,
): Promise<FleetLabels> {
  const labelSets = async (name: string) =>
    history.series([[{ name: "__name__", op: "=", value: name }]], timeMs - lookbackMs, timeMs);
  return {
    infos: await labelSets(gpu.info.name),
    owners: await labelSets(gpu.ownerInfo.name),
    listeners: await labelSets(gpu.listenerInfo.name),
    ownHost,
  };
}

function budget(): SelectBudget {
  let held = 0;
  return {
    series: async (count) => {
      if (count > mostSeries)
        throw new QueryError(
          "execution",
          `${count} series have names of LLM servers; at most ${mostSeries} are read. Drop labels of single requests or users from what is scraped.`,
        );
    },
    hold: (bytes) => {
      held += bytes;
      if (held > mostBytes)
        throw new QueryError("execution", "The series of LLM servers do not fit into memory.");
    },
  };
}
const mostBytes = 512 * 2 ** 20;
