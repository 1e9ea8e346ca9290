/**
 * The routing used without an alertmanager.yml: grouping and inhibition as in deploy/alertmanager, and no notifications. Tests
 * check that both have the same inhibition rules, and that text and configuration are the same.
 */
import { type LabelMatcher, trustedMatcher } from "../route/matchers.ts";
import type { RoutingConfig } from "../route/config.ts";

export const defaultRouting = `
route:
  receiver: nobody
  group_by: [alertname, host]
  group_wait: 30s
  group_interval: 5m
  repeat_interval: 12h
receivers:
  - name: nobody
inhibit_rules:
  - source_matchers: ['alertname = GpulseExporterDown']
    target_matchers: ['alertname =~ "Gpu.*|Cpu.*"', 'alertname != GpulseExporterDown']
    equal: [job, instance]
  - source_matchers: ['alertname = GpulseSourceFailing']
    target_matchers: ['alertname =~ "GpuDataStale|GpuMissing"']
    equal: [job, instance]
  - source_matchers: ['alertname =~ "GpuLost|GpuMissing"']
    target_matchers: ['uuid != ""', 'alertname !~ "GpuLost|GpuMissing"']
    equal: [host, uuid]
  - source_matchers: ['severity = critical', 'uuid != ""']
    target_matchers: ['severity = warning', 'uuid != ""']
    equal: [host, uuid]
`;

/** The parsed text. As code, because every hub without a file would otherwise load YAML and every channel at its start: 20 ms. */
export function defaultRoutingConfig(): RoutingConfig {
  return {
    route: {
      key: "{}",
      id: "{}",
      receiver: "nobody",
      groupBy: new Set(["alertname", "host"]),
      matchers: [],
      continues: false,
      groupWaitMs: 30_000,
      groupIntervalMs: 5 * 60_000,
      repeatIntervalMs: 12 * 3_600_000,
      muteTimes: [],
      activeTimes: [],
      labels: {},
      routes: [],
    },
    inhibitRules: [
      {
        source: [alertname("=", "GpulseExporterDown")],
        target: [alertname("=~", "Gpu.*|Cpu.*"), alertname("!=", "GpulseExporterDown")],
        equal: ["job", "instance"],
      },
      {
        source: [alertname("=", "GpulseSourceFailing")],
        target: [alertname("=~", "GpuDataStale|GpuMissing")],
        equal: ["job", "instance"],
      },
      {
        source: [alertname("=~", "GpuLost|GpuMissing")],
        target: [hasUuid, alertname("!~", "GpuLost|GpuMissing")],
        equal: ["host", "uuid"],
      },
      {
        source: [trustedMatcher("severity", "=", "critical"), hasUuid],
        target: [trustedMatcher("severity", "=", "warning"), hasUuid],
        equal: ["host", "uuid"],
      },
    ],
    timeIntervals: new Map(),
    resolveTimeoutMs: 5 * 60_000,
    global: {},
    receivers: [{ name: "nobody" }],
    templates: [],
    source: defaultRouting,
  };
}

const alertname = (op: LabelMatcher["op"], value: string): LabelMatcher =>
  trustedMatcher("alertname", op, value);
const hasUuid = trustedMatcher("uuid", "!=", "");
