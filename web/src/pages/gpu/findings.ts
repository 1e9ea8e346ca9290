/** What is wrong with a GPU, in sentences, worst first: from its live state, the alerts on it and what departs from its past. Pure. */
import { type AnomalyKind, kindFacts } from "../../../../src/lake/analyses/anomaly/anomaly.ts";
import { toColumnQuantity, formatWithUnit } from "../../format/quantity.ts";
import { type Gpu, temperature, temperatureMargin } from "../../../../src/view/gpu.ts";
import {
  type Level,
  rank,
  statusBadges,
  temperatureLevel,
} from "../../../../src/view/gpu-status.ts";
import { type ActiveAlert, formatActiveAlert, levelOfAlert } from "../../query/alert.ts";

export interface GpuFinding {
  readonly level: Level;
  /** In a few words. */
  readonly title: string;
  readonly says: string;
  /** Where it comes from. */
  readonly from: "now" | "alert" | "pending alert" | "anomaly";
}

export interface GpuFindingInput {
  readonly gpu: Gpu;
  readonly alerts: readonly ActiveAlert[];
  /** Kinds of anomalies that are on. */
  readonly anomalies: readonly string[];
}

export function findingsOf({ gpu, alerts, anomalies }: GpuFindingInput): readonly GpuFinding[] {
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
    ...anomalies.map((kind): GpuFinding => {
      const title = isKind(kind) ? kindFacts[kind].title : kind.replaceAll("_", " ");
      return {
        level: "warn",
        title: kind.replaceAll("_", " "),
        says: `${title.charAt(0).toUpperCase()}${title.slice(1)}.`,
        from: "anomaly",
      };
    }),
  ];
  return found.sort((one, other) => rank[other.level] - rank[one.level]);
}

const isKind = (kind: string): kind is AnomalyKind => Object.hasOwn(kindFacts, kind);

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
          : `It is${at} where it slows down.`,
      from: "now",
    },
  ];
}

/** The rules name the GPU in their summaries; on its own page that is known. */
const withoutName = (summary: string): string =>
  summary
    .replace(/^.*\bGPU \S+ on \S+ \([^)]*\) /, "")
    .replace(/^./, (first) => first.toUpperCase());
