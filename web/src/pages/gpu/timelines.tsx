/** Timelines of a GPU: when it was lost, asleep or throttled, and which alerts and anomalies were active. */
import { boundMeanings, boundWords } from "../../../../src/model/bound.ts";
import { CAPPED_FROM_RATIO, throttleBadge } from "../../../../src/view/gpu-status.ts";
import type { Labels } from "../../query/columns.ts";
import { QueryTimeline } from "../../chart/query-timeline.tsx";

export function Timelines({ who }: { who: string }) {
  // If points are closer together than samples, the last sample still counts.
  const most = (selector: string): string => `(max_over_time(${selector}[$step]) or ${selector})`;
  const named = (query: string, row: string): string =>
    `label_replace(${query},"row","${row}","","")`;
  const states = [
    named(`max(${most(`gpu_utilization_ratio{${who}}`)}) >= bool 0.05`, "working"),
    named(`max(${most(`gpu_asleep{${who}}`)})`, "asleep"),
    named(`1 - min(min_over_time(gpu_up{${who}}[$step]) or gpu_up{${who}})`, "lost"),
  ].join(" or ");
  const problems = [
    named(
      `max by (reason) (${most(`gpu_throttle_active{${who},reason!="power_cap"}`)})`,
      "throttle",
    ),
    // A power cap reported far below the limit does not limit the clocks.
    named(
      `max by (reason) (${most(`gpu_throttle_active{${who},reason="power_cap"}`)}) * on () group_left () (max(${most(`gpu_power_watts{${who}}`)}) >= bool ${CAPPED_FROM_RATIO} * max(gpu_power_limit_watts{${who}}) or vector(1))`,
      "throttle",
    ),
    named(`max by (alertname,severity) (${most(`ALERTS{${who},alertstate="firing"}`)})`, "alert"),
    named(`max by (kind) (${most(`gpu_anomaly_active{${who}}`)})`, "anomaly"),
  ].join(" or ");
  return (
    <div class="chart-grid timelines">
      <QueryTimeline
        title="States"
        family="utilization"
        query={states}
        row={stateRow}
        onlyOn
        empty="No samples of this GPU in this range."
      />
      <QueryTimeline
        title="Bound by"
        family="utilization"
        query={`max by (by) (${most(`gpu_bound{${who}}`)})`}
        row={boundRow}
        onlyOn
        empty="The bottleneck of this GPU is unknown: it does not report the metrics for it."
      />
      <QueryTimeline
        title="Slowed down, alerts, anomalies"
        query={problems}
        row={problemRow}
        onlyOn
        empty="No throttling, alert or anomaly in this range."
      />
    </div>
  );
}

type Row = ReturnType<Parameters<typeof QueryTimeline>[0]["row"]>;

function stateRow({ row = "" }: Labels): Row {
  const tips: Readonly<Record<string, string>> = {
    working: "Utilisation of 5 % or more.",
    asleep: "Powered down by its driver.",
    lost: "It was present before and stopped responding.",
  };
  return {
    label: row,
    tip: tips[row] ?? row,
    say: () => row,
    ...(row === "lost" ? { level: "bad" as const } : {}),
  };
}

function boundRow({ by = "" }: Labels): Row {
  const word = boundWords.find((known) => known === by);
  return { label: by, tip: word === undefined ? by : boundMeanings[word], say: () => by };
}

function problemRow({ row, reason = "", alertname = "", severity, kind = "" }: Labels): Row {
  if (row === "throttle") {
    const { text, tip, level } = throttleBadge(reason);
    return { label: text, tip: `Slowed down: ${text}. ${tip}`, level };
  }
  if (row === "alert")
    return {
      label: alertname,
      tip: `Alert ${alertname}${severity === undefined ? "" : `, ${severity}`}`,
      say: () => "firing",
      level: severity === "critical" ? "bad" : severity === "info" ? "note" : "warn",
    };
  const label = kind.replaceAll("_", " ");
  return { label, tip: `Anomaly: ${label}`, level: "warn" };
}
