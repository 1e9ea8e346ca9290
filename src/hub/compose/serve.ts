/**
 * Startup and shutdown that `up` and `hub` share: the history and the listener first, then every other part. Imports only what
 * a hub needs to be ready; the rest is loaded while it already listens.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { makePrivateFolder } from "../../base/private-folder.ts";
import type { Log } from "../../base/log.ts";
import type { CommandIo } from "../../cli/command/io.ts";
import { guardOutbound } from "../../cli/command/outbound.ts";
import type { Settings } from "../../cli/command/settings.ts";
import type { RetentionRule } from "../../storage/embedded/rules.ts";
import { formatError, GpulseError } from "../../base/error.ts";
import { WebListener } from "../../net/http/web-listener.ts";
import { publishAddress } from "../address.ts";
import { isLoopback } from "../guard.ts";
import { defaultConnectionsPerAddress } from "../limits/connections.ts";
import { budgetsOf, logBudgets, memoryLimit } from "../limits/memory.ts";
import type { OverloadMonitor } from "../limits/overload.ts";
import { openListener } from "../listener.ts";
import {
  defaultQueryWorkers,
  type EmbeddedStorage,
  endInterrupted,
  openRemoteStorage,
  openStorage,
  type Storage,
} from "../storage.ts";
import { toRetentionRules } from "./retention-rules.ts";
import type { HubServer, HubServerOptions, Part } from "./parts.ts";

export async function serveHub(options: HubServerOptions): Promise<HubServer> {
  const { settings, sources, io, log } = options;
  if (!isLoopback(settings.listen.host) && !settings.insecure) {
    const { requireNetworkAuth } = await import("./access-control.ts");
    await requireNetworkAuth(settings, io);
  }
  const parts: Part[] = [];
  const close = async (): Promise<void> => {
    const part = parts.pop();
    if (part === undefined) return;
    try {
      await part.close();
    } finally {
      await close();
    }
  };
  try {
    parts.push({ close: guardOutbound(settings.outbound, log, Date.now) });
    const storage: Storage = await openConfiguredHistory(settings, io, log);
    parts.push(storage);
    const web = await WebListener.open(settings.web, io.env, log);
    parts.push(web);
    io.onReload?.(() => void web.reload());
    const late: { shedding?: OverloadMonitor } = {};
    const isReady = sources.length === 0 && !readsFiles(settings);
    const listener = await openListener(
      {
        ...settings.listen,
        listener: web,
        connectionsPerAddress: connectionsPerAddress(settings),
        log,
        nowMs: Date.now,
      },
      () => late.shedding?.shed("connections"),
      () => (isReady ? { ready: true, problems: storage.problems() } : undefined),
    );
    parts.push(listener);
    if (settings.store === undefined)
      parts.push(publishAddress(settings.dataDir, listener.url, log));
    await loadParts();
    const { openParts } = await import("./parts.ts");
    const opened = await openParts(options, { storage, web, listener }, parts);
    late.shedding = opened.shedding;
    return { url: listener.url, collector: opened.collector, close };
  } catch (thrown) {
    // The original error matters; a failing disk often fails during close as well.
    await close().catch((failure: unknown) =>
      log.warn("not everything could be closed", { error: formatError(failure) }),
    );
    throw thrown;
  }
}

/** Loads modules one after the other, so that a health check waits for one of them at most: 10 to 30 ms each. */
async function loadParts(): Promise<void> {
  for (const load of [
    () => import("fastify"),
    () => import("../api/queries.ts"),
    () => import("../alerts/alerting.ts"),
    () => import("../alerts/apis.ts"),
    () => import("../../agent/collector.ts"),
    () => import("../receive/receivers.ts"),
    () => import("../hub.ts"),
  ]) {
    await nextTurn();
    await load();
  }
  await nextTurn();
}

/** A hub with user files is ready only after reading them: an invalid file aborts the start. */
const readsFiles = ({ alerting, prometheusConfig, configFile, web }: Settings): boolean =>
  alerting.ruleFiles.length > 0 ||
  alerting.routingFile !== undefined ||
  prometheusConfig !== undefined ||
  configFile !== undefined ||
  web.configFile !== undefined;

/** Opens the history that the settings select. */
async function openConfiguredHistory(
  settings: Settings,
  io: CommandIo,
  log: Log,
): Promise<Storage> {
  const { store, dataDir: dir } = settings;
  makePrivateFolder(dir);
  if (store === undefined) {
    const storage = await openHistory(settings, io, log, toRetentionRules(settings));
    endInterrupted(storage, log);
    return storage;
  }
  if (settings.retentionRules.length > 0)
    throw new GpulseError(
      "CONFIG_WRONG_VALUE",
      "Retention rules need the embedded store: with --store, the engine elsewhere has its own retention. Remove retention_rules.",
    );
  return openRemoteStorage(store, {
    dir,
    log,
    nowMs: Date.now,
    version: io.version,
    maxExemplars: settings.maxExemplars,
  });
}

/** Opens the history in the data folder of the settings. Without `retentionRules`, the folder keeps its current rules. */
export async function openHistory(
  settings: Settings,
  io: CommandIo,
  log: Log,
  retentionRules?: readonly RetentionRule[],
): Promise<EmbeddedStorage> {
  const { dataDir, retentionMs, rollupRetentionMs, retentionBytes, durability } = settings;
  const budgets = budgetsOf(await memoryLimit(settings.memoryBytes));
  logBudgets(budgets, log);
  return openStorage({
    dir: dataDir,
    retentionMs,
    rollupRetentionMs,
    ...(retentionRules !== undefined && { retentionRules }),
    retentionBytes,
    durability,
    budgets,
    queryWorkers: settings.queryWorkers ?? defaultQueryWorkers(),
    maxExemplars: settings.maxExemplars,
    usesStartTimes: settings.features.includes("use-start-timestamps"),
    log,
    nowMs: Date.now,
    version: io.version,
  });
}

/** Unlimited behind a proxy, which hides client addresses, unless the operator set a number. */
const connectionsPerAddress = ({ limits, access }: Settings): number =>
  limits.connectionsPerAddress ?? (access.behindProxy ? Infinity : defaultConnectionsPerAddress);
