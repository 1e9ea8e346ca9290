/** Formats serving figures for the terminal and the page: three significant digits, a dash for an absent value. */
import {
  type ServingFigure,
  type FigureUnit,
  figureSpecs,
  type FigureName,
  type ServingGpus,
  type ServingReplica,
} from "./figures.ts";

const matchWords = {
  pod: "its pod",
  workload: "its workload",
  port: "the listener on its port",
  container: "its container",
  host: "all of the machine",
} as const;

function formatFigure(figure: ServingFigure, unit: FigureUnit, currency?: string): string {
  if ("absent" in figure) return "-";
  const { value } = figure;
  switch (unit) {
    case "ratio":
      return `${digits(100 * value)} %`;
    case "seconds":
      return value < 1 ? `${digits(1_000 * value)} ms` : `${digits(value)} s`;
    case "watts":
      return `${digits(value)} W`;
    case "tokens/s":
    case "requests/s":
    case "requests":
    case "per minute":
    case "tokens/J":
    case "J/token":
      return digits(value);
    case "per million tokens":
      return currency === undefined ? digits(value) : `${digits(value)} ${currency}`;
  }
}

export const formatFigureOf = (
  { figures }: Pick<ServingReplica, "figures">,
  name: FigureName,
  currency?: string,
): string => formatFigure(figures[name], figureSpecs[name].unit, currency);

export function formatGpus(gpus: ServingGpus): string {
  if ("absent" in gpus) return "-";
  const byHost = new Map<string, string[]>();
  for (const { host, index } of gpus.list) byHost.set(host, [...(byHost.get(host) ?? []), index]);
  const hosts = [...byHost].map(([host, indexes]) => `${host}:${indexes.join(",")}`);
  const shown =
    hosts.length > 3 ? [...hosts.slice(0, 3), `${hosts.length - 3} more machines`] : hosts;
  return `${shown.join(" ")} (${matchWords[gpus.by]})`;
}

/** One sentence on the energy split, or why it is unknown. */
export function formatSplit(split: ServingReplica["energySplit"]): string {
  if ("absent" in split) return split.absent;
  const of = ({ value, standardError }: { value: number; standardError: number }): string =>
    `${digits(value)} ± ${Number(standardError.toPrecision(2))}`;
  const percent = {
    value: 100 * split.prefillRatio.value,
    standardError: 100 * split.prefillRatio.standardError,
  };
  return `${of(split.joulesPerPromptToken)} J per prompt token, ${of(split.joulesPerGeneratedToken)} J per generated token, ${of(split.idleWatts)} W idle; prompts took ${of(percent)} % of the tokens' energy.`;
}

/** Three significant digits; numbers from 1,000 on are rounded to integers. */
function digits(value: number): string {
  if (value === 0) return "0";
  const rounded = Math.abs(value) >= 1_000 ? Math.round(value) : Number(value.toPrecision(3));
  return rounded.toLocaleString("en-US", { maximumSignificantDigits: 12 });
}
