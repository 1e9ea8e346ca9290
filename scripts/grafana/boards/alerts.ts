/** What is wrong, since when, who was notified, and whether alerting itself works. */
import { gpu, self } from "../../../src/model/catalogue/index.ts";
import { metricPanel } from "../metric-panel.ts";
import { type Board, rising } from "../shape.ts";
import { ask, all, window } from "./ask.ts";

const hub = "a hub that is asked or scraped";
const firing = '{alertstate="firing",severity=~"$severity"}';

export const alerts: Board = {
  uid: "gpulse-alerts",
  title: "gpulse: alerts",
  about: "Alerts and anomalies now and over time, and the delivery of notifications.",
  tags: ["alerts"],
  source: "prometheus",
  variables: [all("severity", "Severity", "label_values(ALERTS, severity)")],
  rows: [
    {
      title: "Now",
      panels: [
        {
          title: "Firing",
          kind: "stat",
          unit: "short",
          about: "Alerts that fire now.",
          targets: [ask(`count(ALERTS${firing}) or vector(0)`, "firing")],
          steps: rising(1, 5),
          width: 4,
        },
        {
          title: "About to fire",
          kind: "stat",
          unit: "short",
          about: "Alerts whose condition holds, but not for long enough yet.",
          targets: [
            ask(
              'count(ALERTS{alertstate="pending",severity=~"$severity"}) or vector(0)',
              "pending",
            ),
          ],
          width: 4,
        },
        metricPanel(gpu.anomalyActive, {
          title: "Count of anomalies",
          kind: "stat",
          targets: [
            ask("count(gpu_anomaly_active == 1) or 0 * count(gpulse_store_series)", "anomalies"),
          ],
          steps: rising(1, 5),
          needs: hub,
          width: 4,
        }),
        {
          title: "Alerts",
          kind: "table",
          unit: "short",
          about:
            "Each alert that holds. The runbook has an entry for every name; nothing here is good news.",
          targets: [ask('ALERTS{severity=~"$severity"}', "present")],
          showsTarget: true,
          leadsTo: { uid: "gpulse-gpu", labels: ["host", "gpu"] },
          needs: "an alert that holds",
          width: 12,
        },
      ],
    },
    {
      title: "Over time",
      panels: [
        {
          title: "Alerts over time",
          kind: "timeseries",
          unit: "short",
          about: "How many fired of each. Saw teeth are an alert without enough patience.",
          targets: [ask(`count by (alertname) (ALERTS${firing})`, "{{alertname}}")],
          stacked: true,
          range: [0, undefined],
          needs: "an alert that fired",
          width: 12,
        },
        metricPanel(gpu.throttleActive, {
          title: "GPUs held back by heat",
          kind: "timeseries",
          targets: [
            ask(
              'sum by (host) (gpu_throttle_active{reason=~"thermal|thermal_hardware"})',
              "{{host}}",
            ),
          ],
          range: [0, undefined],
          width: 12,
        }),
      ],
    },
    {
      title: "Notifications",
      panels: [
        metricPanel(self.ruleAlerts, {
          title: "Alerts of the hub's rules",
          kind: "timeseries",
          targets: [ask("sum by (state) (gpulse_rule_alerts)", "{{state}}")],
          range: [0, undefined],
          needs: hub,
          width: 8,
        }),
        metricPanel(self.silences, {
          title: "Silences",
          kind: "timeseries",
          todo: "Of the hub, else of Alertmanager. An active one that nobody remembers hides what is wrong.",
          targets: [
            ask(
              "sum by (state) (gpulse_silences) or sum by (state) (alertmanager_silences)",
              "{{state}}",
            ),
          ],
          range: [0, undefined],
          needs: "a hub that routes alerts, or Alertmanager",
          width: 8,
        }),
        metricPanel(self.ruleFailures, {
          title: "Rules that could not be evaluated",
          todo: "More than none: an alert may be blind. The program's log names the rule.",
          rate: true,
          kind: "timeseries",
          targets: [
            ask(`sum(rate(gpulse_rule_evaluation_failures_total[${window}]))`, "hub"),
            ask(`sum(rate(prometheus_rule_evaluation_failures_total[${window}]))`, "Prometheus"),
          ],
          range: [0, undefined],
          needs: "a hub and a Prometheus that are scraped",
          width: 8,
        }),
        {
          title: "Alertmanager: alerts held",
          kind: "timeseries",
          unit: "short",
          about: "What Alertmanager has, by state.",
          targets: [ask("sum by (state) (alertmanager_alerts)", "{{state}}")],
          range: [0, undefined],
          needs: "Alertmanager",
          width: 8,
        },
        {
          title: "Alertmanager: notifications",
          kind: "timeseries",
          unit: "cps",
          about:
            "Sent and failed by channel, of the channels that were used. Failing: check the address and the password.",
          targets: [
            ask(
              `sum by (integration) (rate(alertmanager_notifications_total[${window}]))`,
              "{{integration}} tried",
            ),
            ask(
              `sum by (integration) (rate(alertmanager_notifications_failed_total[${window}]))`,
              "{{integration}} failed",
            ),
          ],
          range: [0, undefined],
          needs: "Alertmanager",
          width: 8,
        },
        {
          title: "Alerts sent to Alertmanager",
          kind: "timeseries",
          unit: "cps",
          about: "Sent, and dropped on the way: nobody was notified of dropped ones.",
          targets: [
            ask(`sum(rate(prometheus_notifications_sent_total[${window}]))`, "Prometheus sent"),
            ask(
              `sum(rate(prometheus_notifications_dropped_total[${window}]))`,
              "Prometheus dropped",
            ),
            ask(`sum(rate(gpulse_alertmanager_alerts_sent_total[${window}]))`, "hub sent"),
            ask(`sum(rate(gpulse_alertmanager_alerts_dropped_total[${window}]))`, "hub dropped"),
          ],
          range: [0, undefined],
          needs: "a Prometheus and a hub that are scraped and send to an Alertmanager",
          width: 8,
        },
      ],
    },
  ],
};
