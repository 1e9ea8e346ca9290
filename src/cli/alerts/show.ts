/** Formats alerts, deliveries and tests for the terminal. */
import { formatDuration } from "../../config/duration.ts";
import { alignColumns } from "../table.ts";
import type { HubAlert, HubDelivery, HubGroup, HubTestResult, HubRuleAlert } from "./hub-alerts.ts";

type Labels = Readonly<Record<string, string>>;

/** `12m`, `3h5m`: a rounded duration. */
export function since(time: string, nowMs: number): string {
  const seconds = Math.max(0, Math.floor((nowMs - Date.parse(time)) / 1_000));
  const coarse =
    seconds < 120
      ? seconds
      : seconds < 86_400
        ? seconds - (seconds % 60)
        : seconds - (seconds % 3_600);
  return formatDuration(coarse * 1_000);
}

const labelText = (labels: Labels): string =>
  Object.entries(labels)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .join(" ");

function without(labels: Labels, names: readonly string[]): Labels {
  return Object.fromEntries(Object.entries(labels).filter(([name]) => !names.includes(name)));
}

const about = ({ annotations }: { readonly annotations: Labels }): string =>
  (annotations["summary"] ?? annotations["description"] ?? annotations["message"] ?? "")
    .split("\n", 1)[0]
    ?.slice(0, 120) ?? "";

/** The alert's state in one word, with the silence or inhibition that causes it. */
function stateOf({
  status: { state, silencedBy, inhibitedBy },
}: HubAlert): readonly [word: string, by: string] {
  if (silencedBy[0] !== undefined) return ["silenced", `by silence ${silencedBy[0]}`];
  if (inhibitedBy[0] !== undefined) return ["inhibited", `by alert ${inhibitedBy[0]}`];
  return [state, ""];
}

export function formatGroups(groups: readonly HubGroup[], nowMs: number): string {
  return groups
    .map(({ labels, receiver, alerts }) => {
      const names = Object.keys(labels);
      const rows = alerts.map((alert) => {
        const [state, by] = stateOf(alert);
        return [
          `  ${state}`,
          labelText(without(alert.labels, names)),
          `for ${since(alert.startsAt, nowMs)}`,
          [about(alert), by].filter((text) => text !== "").join("  "),
        ];
      });
      const title = Object.keys(labels).length === 0 ? "all alerts" : labelText(labels);
      return `${title}  → ${receiver.name}\n${alignColumns(rows)}`;
    })
    .join("\n");
}

/** Formats rule alerts: with a value, and without groups. */
export function formatRuleAlerts(alerts: readonly HubRuleAlert[], nowMs: number): string {
  return alignColumns(
    alerts.map((alert) => [
      `  ${alert.state}`,
      alert.labels["alertname"] ?? "",
      labelText(without(alert.labels, ["alertname"])),
      `for ${since(alert.activeAt, nowMs)}`,
      `value ${Number(alert.value)}`,
      about(alert),
    ]),
  );
}

export function formatDeliveries(deliveries: readonly HubDelivery[]): string {
  return alignColumns([
    ["TIME", "OUTCOME", "RECEIVER", "STATUS", "ALERTS", "TRIES", "GROUP", "WHY"],
    ...deliveries.map((one) => [
      one.time.slice(0, 19).replace("T", " "),
      one.outcome,
      one.channel === undefined ? one.receiver : `${one.receiver}/${one.channel}`,
      one.status,
      String(one.alerts.length),
      one.attempts === 0 ? "" : String(one.attempts),
      labelText(one.group),
      one.why ?? "",
    ]),
  ]);
}

export function formatTestResult({ receiver, ways }: HubTestResult): string {
  return alignColumns(
    ways.map(({ channel, index, ok, tookMs, why }) => [
      `${receiver}/${channel}[${index}]`,
      ok ? "delivered" : "failed",
      `${tookMs} ms`,
      why ?? "",
    ]),
  );
}
