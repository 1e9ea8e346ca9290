/** Problems of a GPU in sentences, worst first: from its live state, its alerts and the verdict. Pure. */
import { toColumnQuantity, formatWithUnit } from "../../format/quantity.ts";
import { type Gpu, temperature, temperatureMargin } from "../../../../src/view/gpu.ts";
import {
  type Level,
  rank,
  statusBadges,
  temperatureLevel,
} from "../../../../src/view/gpu-status.ts";
import type { GpuHealthReport } from "../../../../src/view/health/report.ts";
import { actionWords } from "../../../../src/view/health/verdict.ts";
import { verdictLevels } from "../../../../src/view/health/words.ts";
import { type ActiveAlert, formatActiveAlert, levelOfAlert } from "../../query/alert.ts";

export interface GpuFinding {
  readonly level: Level;
  /** A few words. */
  readonly title: string;
  readonly says: string;
  /** Origin of the finding. */
  readonly from: "now" | "alert" | "pending alert" | "verdict";
}

export interface GpuFindingInput {
  readonly gpu: Gpu;
  readonly alerts: readonly ActiveAlert[];
  /** The hub's verdict, with the anomalies; undefined until it has arrived. */
  readonly verdict: Pick<GpuHealthReport, "reasons"> | undefined;
}

export function findingsOf({ gpu, alerts, verdict }: GpuFindingInput): readonly GpuFinding[] {
  const now = statusBadges(gpu).map(({ text, level, tip }): GpuFinding => ({
    level,
    title: text,
    says: tip,
    from: "now",
  }));
  const found = [
    ...now,
    ...heat(gpu),
    ...alerts.map((alert): GpuFinding => ({
      level: levelOfAlert(alert),
      title: `${alert.labels["alertname"] ?? "Alert"}${alert.state === "pending" ? " pending" : ""}`,
      says: withoutName(formatActiveAlert(alert)),
      from: alert.state === "pending" ? "pending alert" : "alert",
    })),
    ...(verdict?.reasons ?? []).map(({ state, title, text, action }): GpuFinding => ({
      level: verdictLevels[state],
      title,
      says: action === "none" ? text : `${text} Action: ${actionWords[action]}.`,
      from: "verdict",
    })),
  ];
  return found.sort((one, other) => rank[other.level] - rank[one.level]);
}

function heat(gpu: Gpu): GpuFinding[] {
  const level = temperatureLevel(gpu);
  const [now, margin] = [temperature(gpu), temperatureMargin(gpu)];
  if (level === undefined || typeof margin !== "number") return [];
  const at =
    typeof now === "number" ? ` at ${formatWithUnit(toColumnQuantity(now, "celsius"))}` : "";
  const text = formatWithUnit(toColumnQuantity(Math.abs(margin), "celsius"));
  return [
    {
      level,
      title: "hot",
      says:
        margin > 0
          ? `${text} below the temperature at which it slows down${at}.`
          : `It is${at} at its slowdown temperature.`,
      from: "now",
    },
  ];
}

/** Removes the GPU's name from a rule's summary on the GPU's own page. */
const withoutName = (summary: string): string =>
  summary
    .replace(/^.*\bGPU \S+ on \S+ \([^)]*\) /, "")
    .replace(/^./, (first) => first.toUpperCase());
