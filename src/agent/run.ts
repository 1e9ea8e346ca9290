/** `gpulse agent`: reads the local sources and serves them on a port for Prometheus to scrape. */
import { type CommandIo, commandLog } from "../cli/command/io.ts";
import { type FlagValues, resolveSettings, type Settings } from "../cli/command/settings.ts";
import type { WebListener } from "../net/http/web-listener.ts";
import type { Log } from "../base/log.ts";
import { systemClock } from "../base/clock.ts";
import type { KernelLine } from "../sinks/kernel-log/line.ts";
import { type OpenSource, openSources, resolveAuto } from "../sources/open.ts";
import type { SourceContext } from "../sources/source.ts";
import { type FileAccess, hostFileAccess } from "../machine/sysfs/file-access.ts";
import { Collector, type CollectorOptions } from "./collector.ts";
import { HealthSource } from "./health/source.ts";
import { createAgentServer } from "./http.ts";
import { listen } from "../net/http/listen.ts";
import type { TakeSnapshot } from "./snapshot/take.ts";

export interface AgentFlags extends FlagValues {
  readonly json?: boolean;
}

export async function runAgent(flags: AgentFlags, io: CommandIo): Promise<number> {
  const settings = await resolveSettings("agent", flags, io.env);
  const log = commandLog(io, settings.logLevel, flags.json === true);
  const sources = await openConfiguredSources(settings, log);
  if (sources.length === 0 && settings.sources.length > 0)
    log.warn("no GPU found: serving only our own metrics; try --source sim:8, or gpulse doctor");
  const push =
    settings.push.hubs.length === 0
      ? undefined
      : (await import("./push.ts")).openPush(settings, io, log);
  const outgoing =
    settings.to.length === 0 && push === undefined
      ? undefined
      : await (await import("./sinks.ts")).openAgentSinks(settings, io, log, push?.sinks ?? []);
  const kernelLog =
    settings.kernelLog === undefined
      ? undefined
      : await (
          await import("./kernel-log.ts")
        ).openKernelLog(settings.kernelLog, settings, io, log);
  const collector = createCollector(settings, sources, io, log, {
    ...openHealth(settings, sources),
    sinks: [...(push?.sinks ?? []), ...(outgoing?.sinks ?? [])],
    selfMetrics: [outgoing, kernelLog].flatMap((one) => one?.selfMetrics ?? []),
  });
  const listener = await openAgentListener(settings, io, log);
  const server = createAgentServer(
    collector,
    settings.metricsPath,
    log,
    listener,
    lazySnapshot(collector, settings, io, log),
  );
  const stopping = io.stopped();
  const { url } = await listen(server, settings.listen.host, settings.listen.port);
  warnSimulated(sources, log);
  collector.start();
  push?.start(collector);
  kernelLog?.start();
  log.info("agent is up", {
    url: `${url}${settings.metricsPath}`,
    sources: sources.map(({ name }) => name).join(","),
  });
  const signal = await stopping;
  log.info("stopping", { signal });
  listener?.close();
  server.close();
  server.closeIdleConnections();
  push?.stop();
  await Promise.all([collector.stop(), kernelLog?.stop()]);
  server.closeAllConnections();
  return 0;
}

/** Loads the snapshot code with the first request for a snapshot. */
export function lazySnapshot(
  collector: Collector,
  { hostName, procfs, sysfs }: Settings,
  { env, version }: CommandIo,
  log: Log,
): TakeSnapshot {
  let taker: Promise<TakeSnapshot> | undefined;
  return async () => {
    taker ??= import("./snapshot/take.ts").then(({ createSnapshotTaker: snapshotTaker }) =>
      snapshotTaker(() => collector.gpuViews(), {
        hostName,
        procfs,
        sysfs,
        env,
        version,
        log,
        nowMs: () => Date.now(),
      }),
    );
    return (await taker)();
  };
}

/** Loads TLS only if it is configured. */
async function openAgentListener(
  { web }: Settings,
  io: CommandIo,
  log: Log,
): Promise<WebListener | undefined> {
  if (web.configFile === undefined && web.tls === undefined) return undefined;
  const { WebListener } = await import("../net/http/web-listener.ts");
  const listener = await WebListener.open(web, io.env, log);
  io.onReload?.(() => void listener.reload());
  return listener;
}

export function sourceContext(
  settings: Settings,
  log: Log,
  listener: FileAccess = hostFileAccess,
): SourceContext {
  return {
    fileAccess: listener,
    host: settings.hostName,
    log,
    nowMs: () => Date.now(),
    sysfs: settings.sysfs,
    procfs: settings.procfs,
    kubeletSocket: settings.kubeletSocket,
  };
}

/** Opens the configured sources; `auto` in the list is replaced by the sources found on this machine. */
export async function openConfiguredSources(
  settings: Settings,
  log: Log,
  listener: FileAccess = hostFileAccess,
): Promise<OpenSource[]> {
  const context = sourceContext(settings, log, listener);
  return openSources(await resolveAuto(settings.sources, context), context);
}

/** Returns a health source if this machine has GPUs. */
export function openHealth(
  { hostName, sysfs }: Settings,
  sources: readonly OpenSource[],
  onLine?: (line: KernelLine) => void,
): Pick<CollectorOptions, "health"> {
  if (sources.length === 0) return {};
  return {
    health: new HealthSource({ hostName, sysfs, ...(onLine === undefined ? {} : { onLine }) }),
  };
}

/** Logs once at startup that GPUs are simulated; the page, `/stats` and `gpu_info` mark them too. */
export function warnSimulated(sources: readonly OpenSource[], log: Log): boolean {
  const gpus = sources
    .flatMap(({ source }) => source.devices())
    .filter((device) => device.simulated).length;
  if (gpus > 0)
    log.warn("these GPUs are simulated: their numbers come from a model, not from hardware", {
      gpus,
    });
  return gpus > 0;
}

export function createCollector(
  settings: Settings,
  sources: readonly OpenSource[],
  io: CommandIo,
  log: Log,
  more: Pick<
    CollectorOptions,
    "sinks" | "selfMetrics" | "pageFrames" | "lagEveryMs" | "memoryLimitBytes" | "health"
  > = {},
): Collector {
  return new Collector({
    sources,
    ...more,
    compat: settings.compat,
    activity: settings.activity,
    intervalMs: settings.intervalMs,
    hostName: settings.hostName,
    procfs: settings.procfs,
    sysfs: settings.sysfs,
    machineLabels: settings.machineLabels,
    version: io.version,
    clock: systemClock,
    log,
  });
}
