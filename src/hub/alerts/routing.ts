/**
 * Routing in this hub: an alertmanager.yml, its receivers and the router, with their state in the data folder. An invalid file
 * at a reload changes nothing and is reported.
 */
import { readFile } from "node:fs/promises";
import { randomUUID } from "node:crypto";
import { defaultRoutingConfig } from "../../alerting/pack/routing.ts";
import type { RoutingConfig } from "../../alerting/route/config.ts";
import { Router } from "../../alerting/route/router.ts";
import { openAlertState } from "../../alerting/state.ts";
import { GpulseError, systemCode } from "../../base/error.ts";
import type { Log } from "../../base/log.ts";
import type { ReceiverSet } from "../../alerting/channels/open.ts";
import { testReceiver } from "../../alerting/channels/test-receiver.ts";
import type { Clock } from "../../base/clock.ts";
import { collectRouting } from "./self-metrics.ts";
import type { AlertSink, RoutingView } from "./sink.ts";

export interface RoutingOptions {
  /** The alertmanager.yml; if undefined, alerts are shown and can be silenced, but no notifications are sent. */
  readonly file: string | undefined;
  readonly dataDir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly externalUrl: string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
}

/** @throws GpulseError ALERT_CONFIG if the file is invalid. */
export async function openRouting(
  options: RoutingOptions,
): Promise<AlertSink & { readonly routing: RoutingView }> {
  const { clock, random, log, externalUrl } = options;
  let { config, receivers } = await load(options);
  const state = openAlertState(options.dataDir, log);
  const router = new Router({
    ...state,
    config,
    integrations: (receiver) => receivers.integrations(receiver),
    externalUrl,
    clock,
    random,
    log,
  });
  logReceiverWarnings(receivers, log);
  let reloading: Promise<void> = Promise.resolve();
  const reload = async (): Promise<void> => {
    const next = await load(options);
    const before = receivers;
    ({ config, receivers } = next);
    await router.reconfigure(config);
    before.close();
    logReceiverWarnings(receivers, log);
  };
  return {
    routing: {
      router,
      firing: state.firing,
      get warnings() {
        return receivers.warnings;
      },
      test: (receiver) =>
        testReceiver(receivers, receiver, { clock, externalUrl, id: randomUUID() }),
    },
    problems: () => [],
    selfMetrics: (put, nowMs) => collectRouting(put, router, nowMs),
    put: (alerts) => router.put(alerts),
    // Serializes reloads: two at once would combine the groups of one with the receivers of the other.
    reload: () => (reloading = reloading.catch(() => undefined).then(reload)),
    close: async () => {
      await reloading.catch(() => undefined);
      await router.close();
      receivers.close();
      state.close();
    },
  };
}

async function load({
  file,
  env,
  log,
  clock,
}: RoutingOptions): Promise<{ config: RoutingConfig; receivers: ReceiverSet }> {
  if (file === undefined) return { config: defaultRoutingConfig(), receivers: noChannels };
  const [{ parseRouting }, { openReceivers }] = await Promise.all([
    import("../../alerting/route/config.ts"),
    import("../../alerting/channels/open.ts"),
  ]);
  const config = await parseRouting(await read(file), file);
  return { config, receivers: await openReceivers(config, { file, env, log, clock }) };
}

/** The receivers of the default routing. */
const noChannels: ReceiverSet = {
  names: defaultRoutingConfig().receivers.map(({ name }) => name),
  warnings: [],
  integrations: () => [],
  hide: (text) => text,
  close: () => undefined,
};

async function read(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (thrown) {
    throw new GpulseError(
      "ALERT_CONFIG",
      `The alertmanager.yml ${file} cannot be read (${systemCode(thrown) ?? "error"}).`,
      { cause: thrown },
    );
  }
}

function logReceiverWarnings({ warnings }: ReceiverSet, log: Log): void {
  for (const warning of warnings) log.warn("alertmanager.yml", { note: warning });
}
