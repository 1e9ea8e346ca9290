/** Formats the numbers of an explanation, on the page and in the terminal. */
import type { CauseEvidence, Explanation } from "./explanation.ts";

interface DisplayUnit {
  readonly divisor: number;
  readonly digits: number;
  readonly unit: string;
}

const shown: Readonly<Record<string, DisplayUnit>> = {
  ratio: { divisor: 0.01, digits: 0, unit: " %" },
  bytes: { divisor: 2 ** 30, digits: 1, unit: " GiB" },
  celsius: { divisor: 1, digits: 0, unit: " °C" },
  watts: { divisor: 1, digits: 0, unit: " W" },
  hertz: { divisor: 1e6, digits: 0, unit: " MHz" },
};

export function formatEvidence(value: number | null, unit: string): string {
  if (value === null) return "-";
  const { divisor, digits, unit: suffix } = shown[unit] ?? { divisor: 1, digits: 0, unit: "" };
  return `${(value / divisor).toFixed(digits)}${suffix}`;
}

export const formatSigmas = ({ sigmas }: Pick<CauseEvidence, "sigmas">): string =>
  sigmas === null ? "-" : sigmas.toFixed(0);

/** Formats how long before the time of the explanation it began: `12 min`. */
export function formatSince(sinceMs: number, timeMs: number): string {
  const minutes = Math.round((timeMs - sinceMs) / 60_000);
  if (minutes < 1) return "under a minute";
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}

/** Describes the data behind a result. */
export const formatLookedAt = ({ series, gpus, fromMs, toMs }: Explanation["lookedAt"]): string =>
  `Looked at ${series} series of ${gpus} ${gpus === 1 ? "GPU" : "GPUs"}: ${formatSince(fromMs, toMs)} of history.`;
