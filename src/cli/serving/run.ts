/** Runs `gpulse serving`: queries a hub and prints the servers as a table, in detail, or as JSON. */
import { GpulseError } from "../../base/error.ts";
import { formatDuration } from "../../config/duration.ts";
import {
  figureNames,
  figureSpecs,
  type Serving,
  type ServingReplica,
  servingSchema,
} from "../../view/serving/figures.ts";
import { formatFigureOf, formatGpus, formatSplit } from "../../view/serving/text.ts";
import { clientAccess, type ClientFlags, defaultHubUrl } from "../command/client.ts";
import type { CommandIo } from "../command/io.ts";
import { HubClient } from "../hub-client.ts";
import { alignColumns, plainText } from "../table.ts";

export interface ServingFlags extends ClientFlags {
  readonly window?: string;
  readonly ttft?: string;
  readonly itl?: string;
  readonly details?: boolean;
  readonly url?: string;
  readonly json?: boolean;
}

export async function runServing(
  text: string | undefined,
  flags: ServingFlags,
  io: CommandIo,
): Promise<number> {
  const query = new URLSearchParams();
  for (const name of ["window", "ttft", "itl"] as const) {
    const value = flags[name];
    if (value !== undefined) query.set(name, value);
  }
  const client = new HubClient(flags.url ?? defaultHubUrl, clientAccess(flags, io.env));
  const serving = await client.get(`/api/serving?${query.toString()}`, servingSchema);
  const wanted = (text ?? "").toLowerCase();
  const replicas = serving.replicas.filter(({ model = "", instance, program }) =>
    [model, instance, program].some((part) => part.toLowerCase().includes(wanted)),
  );
  if (replicas.length === 0 && serving.replicas.length > 0)
    throw new GpulseError(
      "USAGE",
      `No server's model, address or program contains "${plainText(text ?? "")}".`,
    );
  const shown = { ...serving, replicas };
  io.stdout.write(
    flags.json === true
      ? `${JSON.stringify(shown, null, 2)}\n`
      : servingText(shown, flags.details === true),
  );
  return 0;
}

const noServers = `No LLM server is scraped. Name its metrics address in a prometheus.yml and start the hub with
--prometheus-config: docs/guides/serving.md has an example for each server.
`;

const tableColumns = [
  ["PROMPT/S", "promptTokens"],
  ["GEN/S", "generatedTokens"],
  ["QUEUE", "waiting"],
  ["KV", "kvCache"],
  ["TTFT P99", "timeToFirstTokenP99"],
  ["ITL P99", "interTokenP99"],
  ["IN SLO", "withinSlo"],
  ["TOK/J AT SLO", "generatedPerJouleAtSlo"],
  ["COST/M", "costPerMillion"],
] as const;

function servingText(serving: Serving, isDetailed: boolean): string {
  const { replicas, currency, slo, windowMs, leftOut } = serving;
  if (replicas.length === 0) return noServers;
  const ms = (seconds: number): string => formatDuration(Math.round(1_000 * seconds));
  const foot = `\nMean of ${formatDuration(windowMs)}. SLO: first token within ${ms(slo.timeToFirstTokenSeconds)}, ${ms(slo.interTokenSeconds)} between tokens.${leftOut > 0 ? ` ${leftOut} more servers are not shown.` : ""}\n`;
  if (isDetailed) return replicas.map((replica) => detailsOf(replica, currency)).join("\n") + foot;
  const rows = replicas.map((replica) => [
    plainText(replica.model ?? "-"),
    replica.program,
    plainText(replica.instance),
    plainText(formatGpus(replica.gpus)),
    ...tableColumns.map(([, name]) => formatFigureOf(replica, name, currency)),
  ]);
  const head = ["MODEL", "SERVER", "REPLICA", "GPUS", ...tableColumns.map(([label]) => label)];
  return alignColumns([head, ...rows]) + foot;
}

function detailsOf(replica: ServingReplica, currency: string | undefined): string {
  const { gpus, figures, problems } = replica;
  const rows = figureNames.map((name) => {
    const figure = figures[name];
    const { label, unit, help } = figureSpecs[name];
    const value =
      "absent" in figure
        ? "-"
        : ["ratio", "seconds", "watts"].includes(unit)
          ? formatFigureOf(replica, name)
          : `${formatFigureOf(replica, name, currency)} ${unit}`;
    return [`  ${label}`, value, "absent" in figure ? plainText(figure.absent) : help];
  });
  const lines = [
    `${plainText(replica.model ?? "unknown model")} on ${replica.program}, ${plainText(replica.instance)}`,
    `  GPUs: ${plainText("absent" in gpus ? gpus.absent : formatGpus(gpus))}`,
    ...problems.map((problem) => `  Problem: ${plainText(problem)}`),
  ];
  return `${lines.join("\n")}\n${alignColumns(rows)}  Prefill and decode: ${plainText(formatSplit(replica.energySplit))}\n`;
}
