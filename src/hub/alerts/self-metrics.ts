/** Self-metrics of rules, routing and external Alertmanagers. The number of rule groups reported by name is bounded. */
import { isResolved } from "../../alerting/alert.ts";
import type { Router } from "../../alerting/route/router.ts";
import { silenceState } from "../../alerting/route/silences.ts";
import type { RuleGroupRunner } from "../../alerting/rules/group.ts";
import { self } from "../../model/catalogue/index.ts";
import type { PutMetric } from "../../model/self-frames.ts";
import type { AlertmanagerSender } from "./alertmanager-sender.ts";

const maxNamedGroups = 200;

export function collectRules(
  put: PutMetric,
  groups: readonly RuleGroupRunner[],
  loaded: { readonly ok: boolean; readonly timeMs: number },
): void {
  put(self.rulesReloaded, Number(loaded.ok));
  put(self.rulesReloadTime, loaded.timeMs / 1_000);
  const counts = { pending: 0, firing: 0 };
  for (const { runs } of groups)
    for (const { alerting } of runs)
      for (const { state } of alerting?.active ?? []) if (state !== "inactive") counts[state]++;
  for (const [state, count] of Object.entries(counts)) put(self.ruleAlerts, count, { state });
  for (const group of groups.slice(0, maxNamedGroups)) {
    const labels = { rule_group: group.key };
    put(self.ruleGroupInterval, group.intervalMs / 1_000, labels);
    put(self.ruleGroupDuration, group.evaluationSeconds, labels);
    put(self.ruleGroupMissed, group.missed, labels);
    put(self.ruleEvaluations, group.evaluations, labels);
    put(self.ruleFailures, group.failures, labels);
  }
}

export function collectRouting(put: PutMetric, router: Router, nowMs: number): void {
  const count = (all: readonly string[], state: string): number =>
    all.filter((one) => one === state).length;
  const alerts = router.alerts
    .filter((alert) => !isResolved(alert, nowMs))
    .map((alert) => router.statusOf(alert).state);
  for (const state of ["active", "suppressed"])
    put(self.alertsHeld, count(alerts, state), { state });
  const silences = router.silences.all.map((silence) => silenceState(silence, nowMs));
  for (const state of ["active", "pending", "expired"])
    put(self.silences, count(silences, state), { state });
  for (const { channel, outcome, count: value } of router.deliveries.totals)
    put(self.notifications, value, { channel, outcome });
}

export function collectSenders(put: PutMetric, senders: readonly AlertmanagerSender[]): void {
  for (const { target, sent, dropped, waiting } of senders) {
    const labels = { alertmanager: target.url };
    put(self.alertsSent, sent, labels);
    put(self.alertsDropped, dropped, labels);
    put(self.alertsWaiting, waiting, labels);
  }
}
