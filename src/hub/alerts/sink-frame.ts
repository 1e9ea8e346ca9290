/** What the hub tells of routing and of Alertmanagers elsewhere on its own page. */
import { silenceState } from "../../alerting/route/silences.ts";
import type { Router } from "../../alerting/route/router.ts";
import { isResolved } from "../../alerting/alert.ts";
import { self } from "../../model/catalogue/index.ts";
import type { MetricEntry } from "../../model/catalogue/entry.ts";
import { type Frame, FrameWriter } from "../../model/frame.ts";
import { labelSet } from "../../model/labels.ts";
import { LayoutBuilder } from "../../model/layout.ts";
import type { AlertmanagerSender } from "./alertmanager-sender.ts";

export interface SelfMetricReading {
  readonly metric: MetricEntry;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Frames of readings whose labels are mostly the same as before. */
export class SinkFrames {
  #names = "\u0000";
  #layout = new LayoutBuilder().build();

  at(readings: readonly SelfMetricReading[], nowMs: number): Frame {
    const names = readings.map(({ metric, labels }) => metric.name + JSON.stringify(labels)).join();
    if (names !== this.#names) {
      this.#names = names;
      const builder = new LayoutBuilder();
      for (const { metric, labels } of readings) builder.add(metric, labelSet(labels));
      this.#layout = builder.build();
    }
    const writer = new FrameWriter(this.#layout, nowMs);
    readings.forEach(({ value }, slot) => writer.set(slot, value));
    return writer.finish();
  }
}

export function routingReadings(router: Router, nowMs: number): SelfMetricReading[] {
  const count = (metric: MetricEntry, states: readonly string[], found: readonly string[]) =>
    states.map((state) => ({
      metric,
      labels: { state },
      value: found.filter((one) => one === state).length,
    }));
  const firing = router.alerts.filter((alert) => !isResolved(alert, nowMs));
  return [
    ...count(
      self.alertsHeld,
      ["active", "suppressed"],
      firing.map((alert) => router.statusOf(alert).state),
    ),
    ...count(
      self.silences,
      ["active", "pending", "expired"],
      router.silences.all.map((silence) => silenceState(silence, nowMs)),
    ),
    ...router.deliveries.totals.map(({ channel, outcome, count: value }) => ({
      metric: self.notifications,
      labels: { channel, outcome },
      value,
    })),
  ];
}

export function senderReadings(senders: readonly AlertmanagerSender[]): SelfMetricReading[] {
  return senders.flatMap(({ target: { url }, sent, dropped, waiting }) => {
    const labels = { alertmanager: url };
    return [
      { metric: self.alertsSent, labels, value: sent },
      { metric: self.alertsDropped, labels, value: dropped },
      { metric: self.alertsWaiting, labels, value: waiting },
    ];
  });
}
