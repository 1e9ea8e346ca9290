/** Tools for alerts, events and the runbook. */
import * as v from "valibot";
import {
  type RunbookSection,
  runbookSection,
  runbookSections,
} from "../../alerting/pack/runbook.ts";
import { GpulseError } from "../../base/error.ts";
import { actionWords } from "../health/verdict.ts";
import { findXid } from "../health/xids.ts";
import { instant, name, pageOf, type ToolAnswer, word } from "./answer.ts";
import { oneGpu, resolveGpu } from "./gpu-selector.ts";
import { readOptionalRoute, readRoute, routeOf } from "./hub-reader.ts";
import { promqlString, quoteText } from "./quote.ts";
import { defineTool, linePaging, oneOf, paging, text, timeHint, timeOf } from "./tool.ts";

const labels = v.record(v.string(), v.string());
const routedAlerts = v.array(
  v.object({
    labels,
    annotations: labels,
    startsAt: v.string(),
    fingerprint: v.string(),
    status: v.object({ state: v.string() }),
  }),
);
const ruleAlerts = v.object({
  data: v.object({
    alerts: v.array(
      v.object({ labels, annotations: labels, state: v.string(), activeAt: v.string() }),
    ),
  }),
});

interface ListedAlert {
  readonly labels: Readonly<Record<string, string>>;
  readonly summary: string | undefined;
  readonly sinceMs: number;
  readonly state: string;
  /** Absent if the hub sends alerts to external Alertmanagers. */
  readonly fingerprint?: string;
}

const alertsInput = v.strictObject({
  alert: text("Only alerts of this name, such as GpuHot."),
  host: text("Only alerts of this host."),
  gpu: oneGpu,
  ...paging,
});

export const listAlerts = defineTool({
  name: "list_alerts",
  title: "Alerts",
  description:
    "Alerts that are active now, newest first: name, severity, host, GPU, since when, state (active or suppressed by a silence or inhibition), summary and fingerprint. explain takes the fingerprint, runbook the name.",
  input: alertsInput,
  example: { limit: 10 },
  run: async ({ alert, host, gpu: given, limit, offset }, context) => {
    const { hub } = context;
    const gpu = await resolveGpu(given, context);
    const matching = { alertname: alert, host, uuid: gpu };
    const filter = Object.entries(matching).flatMap(([label, value]) =>
      value === undefined ? [] : [`${label}=${promqlString(value)}`],
    );
    const route = routeOf("/api/v2/alerts", { filter });
    const routed = await readOptionalRoute(hub, route, routedAlerts);
    const alerts: ListedAlert[] =
      routed?.map((one) => ({
        labels: one.labels,
        summary: one.annotations["summary"] ?? one.annotations["description"],
        sinceMs: Date.parse(one.startsAt),
        state: one.status.state,
        fingerprint: one.fingerprint,
      })) ??
      (await readRoute(hub, "/api/v1/alerts", ruleAlerts)).data.alerts
        .filter((one) =>
          Object.entries(matching).every(
            ([label, value]) => value === undefined || one.labels[label] === value,
          ),
        )
        .map((one) => ({
          labels: one.labels,
          summary: one.annotations["summary"] ?? one.annotations["description"],
          sinceMs: Date.parse(one.activeAt),
          state: one.state,
        }));
    alerts.sort((a, b) => b.sinceMs - a.sinceMs);
    return {
      summary:
        alerts.length === 0
          ? "No alert is active."
          : `${alerts.length} alert${alerts.length === 1 ? " is" : "s are"} active.`,
      columns: [
        "ALERT",
        "SEVERITY",
        "HOST",
        "GPU UUID",
        "SINCE",
        "STATE",
        "SUMMARY",
        "FINGERPRINT",
      ].map((title) => ({ title })),
      rows: alerts
        .slice(offset, offset + limit)
        .map((one) => [
          name(one.labels["alertname"]),
          name(one.labels["severity"], 20),
          name(one.labels["host"]),
          name(one.labels["uuid"], 100),
          instant(one.sinceMs),
          name(one.state, 20),
          name(one.summary, 200),
          name(one.fingerprint, 40),
        ]),
      offset,
      total: alerts.length,
      rerun: [{ route: routed === undefined ? "/api/v1/alerts" : route }],
      page: "alerts",
    };
  },
});

const eventKinds = [
  "all",
  "alert",
  "anomaly",
  "xid",
  "device",
  "kernel",
  "deployment",
  "annotation",
] as const;
const eventsSchema = v.object({
  data: v.object({
    events: v.array(
      v.object({
        time: v.string(),
        kind: v.string(),
        state: v.optional(v.string()),
        severity: v.string(),
        title: v.string(),
        labels,
      }),
    ),
    truncated: v.boolean(),
  }),
});
const fetchedEvents = 1_000;

export const listEvents = defineTool({
  name: "list_events",
  title: "Events",
  description:
    "The timeline, newest first: alerts, anomalies, Xid errors, GPUs that appeared or were lost, kernel log lines about GPUs, deployments and notes. Answers what changed before a problem began.",
  input: v.strictObject({
    from: text(`Start (default: 24h ago): ${timeHint}.`),
    to: text(`End (default: now): ${timeHint}.`),
    kind: oneOf("Only events of this kind.", eventKinds, "all"),
    host: text("Only events of this host."),
    gpu: oneGpu,
    ...paging,
  }),
  example: { from: "6h" },
  run: async ({ from, to, kind, host, gpu: given, limit, offset }, context) => {
    const { hub, nowMs } = context;
    const gpu = await resolveGpu(given, context);
    const toMs = to === undefined ? nowMs : timeOf("to", to, nowMs);
    const fromMs = from === undefined ? toMs - 86_400_000 : timeOf("from", from, nowMs);
    const matchers = [
      ...(host === undefined ? [] : [`host=${promqlString(host)}`]),
      ...(gpu === undefined ? [] : [`uuid=${promqlString(gpu)}`]),
    ];
    const route = routeOf("/api/events", {
      start: fromMs / 1_000,
      end: toMs / 1_000,
      kind: kind === "all" ? undefined : kind,
      "match[]": matchers.length === 0 ? undefined : `{${matchers.join(",")}}`,
      limit: fetchedEvents,
    });
    const { data } = await readRoute(hub, route, eventsSchema);
    const events = [...data.events].sort((a, b) => Date.parse(b.time) - Date.parse(a.time));
    return {
      summary: `${data.truncated ? `The newest ${events.length}` : events.length} events from ${new Date(fromMs).toISOString()} to ${new Date(toMs).toISOString()}.`,
      columns: ["TIME", "KIND", "STATE", "SEVERITY", "EVENT", "HOST", "GPU UUID"].map((title) => ({
        title,
      })),
      rows: events
        .slice(offset, offset + limit)
        .map((event) => [
          instant(Date.parse(event.time)),
          name(event.kind, 20),
          name(event.state, 20),
          name(event.severity, 20),
          name(event.title, 160),
          name(event.labels["host"]),
          name(event.labels["uuid"], 100),
        ]),
      offset,
      total: events.length,
      rerun: [{ route }],
      page: pageOf("alerts", { tab: "events" }),
    };
  },
});

export const runbook = defineTool({
  name: "runbook",
  title: "Runbook",
  description:
    "What an alert or an Xid error of NVIDIA's driver means, how to check it and what to do, from gpulse's own runbook. Without an alert: the names it has.",
  input: v.strictObject({
    alert: text("Name of an alert, such as GpuHot, or the number of an error, such as Xid 79."),
    ...linePaging,
  }),
  example: { alert: "GpuHot" },
  run: async ({ alert, limit, offset }) => {
    const xid = /^xid ?(\d{1,4})$/i.exec(alert ?? "")?.[1];
    if (xid !== undefined) return xidAnswer(Number(xid), limit, offset);
    const section = alert === undefined ? undefined : runbookSection(alert);
    if (alert !== undefined && section === undefined)
      throw new GpulseError(
        "USAGE",
        `The runbook has no alert ${quoteText(alert)}: call runbook without arguments for its names.`,
      );
    const lines =
      section === undefined ? runbookSections().map((one) => one.alert) : linesOf(section);
    return paged(lines, section?.alert, limit, offset);
  },
});

const linesOf = ({ text: markdown }: RunbookSection): string[] =>
  markdown.split("\n").filter((line) => line.trim() !== "");

/** The meaning of an Xid, above the runbook of the alert that it fires. */
function xidAnswer(xid: number, limit: number, offset: number): ToolAnswer {
  const entry = findXid(xid);
  const alert = entry === undefined || entry.state === "healthy" ? "GpuXid" : "GpuXidCritical";
  const section = runbookSection(alert);
  const meaning =
    entry === undefined
      ? [`Xid ${xid}: not in NVIDIA's catalogue.`]
      : [
          `Xid ${xid}: ${entry.name}. ${entry.meaning}`,
          `NVIDIA's action: ${entry.nvidiaAction ?? "none given"}.`,
          `Health verdict: ${entry.state}; ${actionWords[entry.action]}.`,
        ];
  const lines = [...meaning, ...(section === undefined ? [] : linesOf(section))];
  return paged(lines, alert, limit, offset);
}

function paged(
  lines: readonly string[],
  alert: string | undefined,
  limit: number,
  offset: number,
): ToolAnswer {
  return {
    summary:
      alert === undefined ? `The runbook has ${lines.length} alerts.` : `Runbook of ${alert}.`,
    columns: [{ title: alert === undefined ? "ALERT" : "RUNBOOK" }],
    rows: lines.slice(offset, offset + limit).map((line) => [word(line)]),
    offset,
    total: lines.length,
    rerun: [{ route: alert === undefined ? "/runbook" : `/runbook/${alert.toLowerCase()}` }],
    page: alert === undefined ? "runbook" : `runbook/${alert.toLowerCase()}`,
  };
}
