/**
 * External Alertmanagers, used instead of the hub's own routing. Each gets all alerts through its own queue, so that one that
 * is down delays no other.
 */
import type { PostableAlert } from "../../alerting/alert.ts";
import type { Log } from "../../base/log.ts";
import type { Clock } from "../../base/clock.ts";
import { configKey } from "../../sources/scrape/config-key.ts";
import { AlertmanagerSender } from "./alertmanager-sender.ts";
import type { AlertmanagerTarget, AlertmanagerTargets } from "./alertmanager-targets.ts";
import { collectSenders } from "./self-metrics.ts";
import type { AlertSink } from "./sink.ts";

export interface ExternalAlertmanagersOptions {
  /** Reads the targets. @throws GpulseError if the configuration is invalid. */
  readonly targets: () => Promise<AlertmanagerTargets>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly version: string;
  readonly capacity?: number;
}

export interface ExternalAlertmanagers extends AlertSink {
  readonly alertmanagers: {
    readonly active: readonly string[];
    readonly dropped: readonly string[];
  };
  readonly senders: readonly AlertmanagerSender[];
}

/** The queue capacity of Prometheus. */
const usualCapacity = 10_000;

export async function openExternalAlertmanagers(
  options: ExternalAlertmanagersOptions,
): Promise<ExternalAlertmanagers> {
  const { targets, log, capacity = usualCapacity } = options;
  let senders = new Map<string, AlertmanagerSender>();
  let dropped: readonly string[] = [];
  const use = async (): Promise<void> => {
    const found = await targets();
    for (const warning of found.warnings) log.warn("prometheus.yml", { note: warning });
    const next = new Map<string, AlertmanagerSender>();
    for (const target of found.active) {
      const key = keyOf(target);
      next.set(key, senders.get(key) ?? new AlertmanagerSender(target, { ...options, capacity }));
    }
    const removed = [...senders].filter(([key]) => !next.has(key));
    senders = next;
    dropped = found.dropped;
    await Promise.all(removed.map(([, sender]) => sender.close()));
  };
  await use();
  const all = (): AlertmanagerSender[] => [...senders.values()];
  return {
    get alertmanagers() {
      return { active: all().map(({ target }) => target.url), dropped };
    },
    get senders() {
      return all();
    },
    put: (alerts: readonly PostableAlert[]) => {
      for (const sender of all()) sender.put(alerts);
      return 0;
    },
    problems: () =>
      all().flatMap(({ target, problem, waiting }) =>
        problem === undefined
          ? []
          : [`${target.url} does not accept alerts, ${waiting} waiting: ${problem}`],
      ),
    selfMetrics: (put) => collectSenders(put, all()),
    reload: use,
    close: async () => void (await Promise.all(all().map((sender) => sender.close()))),
  };
}

const keyOf = (target: AlertmanagerTarget): string => configKey(target);
