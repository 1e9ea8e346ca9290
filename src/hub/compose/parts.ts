/** Opens every part of a hub besides its history and listener, which are open already, in the order of their dependencies. */
import path from "node:path";
import { fileURLToPath } from "node:url";
import { AuditLog } from "../../access/audit.ts";
import type { Collector } from "../../agent/collector.ts";
import { lagResolutionMs } from "../../agent/runtime.ts";
import { createCollector, lazySnapshot, openHealth } from "../../agent/run.ts";
import type { CommandIo } from "../../cli/command/io.ts";
import type { Settings } from "../../cli/command/settings.ts";
import { AnalysisQueue } from "../analytics/queue.ts";
import { openAgents } from "../agents/open.ts";
import { UuidConflicts } from "../agents/uuid-conflicts.ts";
import { openAnomalies } from "../anomalies/open.ts";
import type { ApiContext } from "../api/context.ts";
import { OwnRules } from "../alerts/own-rules.ts";
import { BoardStore } from "../boards/store.ts";
import { Timeline } from "../events/timeline.ts";
import { ExporterGpus } from "../exporters/exporters.ts";
import { PushedGpus } from "../exporters/pushed.ts";
import type { PrometheusGpus } from "../exporters/prometheus.ts";
import { fanOut } from "../fan-out.ts";
import type { NodeTaints } from "../node-taints/node-taints.ts";
import type { PodInfo } from "../pod-info/pod-info.ts";
import { HubHealth } from "../health/health.ts";
import { ThermalWear } from "../health/thermal-wear.ts";
import { openHeldIdle } from "../jobs/held-idle/open.ts";
import type { HubJobs } from "../jobs/jobs.ts";
import { openHubJobs } from "../jobs/open.ts";
import { createHub } from "../hub.ts";
import type { HubListener } from "../listener.ts";
import type { WebListener } from "../../net/http/web-listener.ts";
import { RunStore } from "../runs/store.ts";
import { OverloadMonitor } from "../limits/overload.ts";
import { SnapshotStore } from "../snapshots/store.ts";
import { HistorySink, type Storage } from "../storage.ts";
import type { Log } from "../../base/log.ts";
import { deviceKey } from "../../model/device.ts";
import { identityOf } from "../../model/identity.ts";
import type { History, SampleWriter } from "../../storage/history.ts";
import type { OpenSource } from "../../sources/open.ts";
import { externalUrlOf, openAlerting } from "./alerting.ts";
import { requiresAuth } from "../auth/authenticator.ts";
import { openHubAccessControl } from "./access-control.ts";
import { openHubLake, withJobTable } from "./lake.ts";
import { openHubSinks } from "./sinks.ts";
import { openHubPipes } from "./pipes.ts";
import { loadScrapeFiles, type ScrapeFiles } from "./scrape-config.ts";
import type { HubScrapeRunner } from "./scraping.ts";
import { startSelfScrape, startUpSeries } from "./self-scrape.ts";
import { startWarmUp } from "../warm-up/warm-up.ts";

/** Beside the folder of the bundle, which contains every chunk. */
const webDir = fileURLToPath(new URL("../web", import.meta.url));
const docsDir = fileURLToPath(new URL("../docs", import.meta.url));

export interface HubServer {
  readonly url: string;
  readonly collector: Collector;
  close(): Promise<void>;
}

export interface HubServerOptions {
  readonly settings: Settings;
  /** Sources of this machine's own GPUs; empty for the `hub` command. */
  readonly sources: readonly OpenSource[];
  readonly selfScrape: boolean;
  /** Default for keeping a lake. */
  readonly lake: boolean;
  readonly io: CommandIo;
  readonly log: Log;
}

/** Parts are closed in reverse order. */
export type Part = { close(): void | Promise<void> };

interface OpenedFirst {
  readonly storage: Storage;
  readonly web: WebListener;
  readonly listener: HubListener;
}

/** @param parts gets each part as soon as it is open, so that the caller can close it if a later one fails */
export async function openParts(
  options: HubServerOptions,
  { storage, web, listener }: OpenedFirst,
  parts: Part[],
): Promise<{ readonly collector: Collector; readonly shedding: OverloadMonitor }> {
  const { settings, sources, io, log } = options;
  const control = openHubAccessControl(settings, web, log);
  parts.push(control);
  const files = await loadScrapeFiles(settings, io.env);
  const outgoing = await openHubSinks(settings, sources.length > 0, io, log, files?.config);
  parts.push(outgoing);
  const lake = await openHubLake(settings, options.lake, io, log, storage.trustedNowMs);
  parts.push(lake);
  const { history } = storage;
  const jobs = openHubJobs(settings, {
    log,
    nowMs: Date.now,
    trustedNowMs: storage.trustedNowMs,
    anomaliesOf: ({ key }) => anomalies.activeKindsOf(key),
  });
  if (jobs !== undefined) parts.push(jobs);
  const hubLake = await withJobTable(lake, jobs, settings, io, log);
  if (hubLake.jobTable !== undefined) parts.push(hubLake.jobTable);
  const writer = fanOut(history, [...outgoing.sampleSinks, ...lake.sinks], jobs?.take);
  const collector = createCollector(settings, sources, io, log, {
    ...openHealth(settings, sources, (line) => timeline.addKernelLine(line)),
    lagEveryMs: lagResolutionMs.hub,
    memoryLimitBytes: storage.api.budgets?.limit.bytes,
    sinks:
      sources.length === 0
        ? []
        : [new HistorySink(writer, identityOf(settings.hostName)), ...outgoing.frameSinks],
    selfMetrics: [
      storage.selfMetrics,
      (put, nowMs) => agents.selfMetrics(put, nowMs),
      (put) => exporters.selfMetrics(put),
      (put) => pushed.selfMetrics(put),
      (put, nowMs) => conflicts.selfMetrics(put, nowMs),
      (put, nowMs) => shedding.selfMetrics(put, nowMs),
      outgoing.selfMetrics,
      control.selfMetrics,
      (put, nowMs) => alerting.selfMetrics(put, nowMs),
      (put, nowMs) => alerting.sink.selfMetrics(put, nowMs),
      (put, nowMs) => pipes.selfMetrics(put, nowMs),
      (put) => jobs?.selfMetrics(put),
    ],
    pageFrames: [() => anomalies.frame()],
  });
  parts.push({ close: () => collector.stop() });
  jobs?.watch(collector.latest);
  const shedding = new OverloadMonitor({ log, nowMs: Date.now, received: storage.api.received });
  parts.push(shedding);
  const agents = openAgents({
    writer,
    show: (delivery) => collector.show(delivery),
    log,
    nowMs: Date.now,
    trustedNowMs: storage.trustedNowMs,
    oldestSampleMs: storage.oldestSampleMs,
    version: io.version,
    retentionMs: settings.retentionMs,
    dataDir: settings.dataDir,
  });
  parts.push(agents);
  const exporters = new ExporterGpus({
    writer,
    show: (delivery) => collector.show(delivery),
    nowMs: Date.now,
  });
  const pushed = new PushedGpus({ gpus: exporters, log, nowMs: Date.now });
  parts.push(pushed);
  const zeroAtStarts = settings.features.includes("created-timestamp-zero-ingestion");
  const storesStarts = settings.features.includes("st-storage");
  const api = {
    ...storage.api,
    pushed,
    traceUrl: settings.traceUrl,
    ingestWorkers: settings.ingestWorkers,
    ingest: {
      bucketLimit: settings.bucketLimit,
      usesStarts: zeroAtStarts || storesStarts,
      zeroAtStarts,
      storesStarts,
      toCustomBuckets: files?.config.otlp.toCustomBuckets ?? false,
    },
    shedding,
    writer,
    agents,
    hostName: settings.hostName,
    ...(hubLake.lake === undefined ? {} : { lake: hubLake.lake }),
  };
  const scraping = await openScraping(files, api, exporters, options);
  if (scraping !== undefined) parts.push(scraping);
  const prometheus = await openPrometheusGpus(settings, { exporters, history, log });
  if (prometheus !== undefined) parts.push(prometheus);
  const { trustedNowMs } = storage;
  const timeline = new Timeline({ ...settings, env: io.env, nowMs: Date.now, trustedNowMs, log });
  parts.push(timeline);
  timeline.watchFrames(collector.latest);
  timeline.watchAgents(agents);
  const conflicts = new UuidConflicts({
    latest: collector.latest,
    hostName: settings.hostName,
    events: timeline.store,
    log,
    nowMs: Date.now,
  });
  parts.push(conflicts);
  const anomalies = openAnomalies(settings.alerting.anomalies, {
    frames: collector.latest,
    history,
    writer,
    events: timeline.store,
    onBegin: ({ host, uuid }) => jobs?.noteAnomaly(deviceKey(host, uuid)),
    log,
    nowMs: Date.now,
  });
  parts.push(anomalies);
  const wear = new ThermalWear({ history, log, nowMs: Date.now });
  parts.push(wear);
  const health = new HubHealth({
    frames: collector.latest,
    anomalies: () => anomalies.active(),
    wear: () => wear.reasons(),
    log,
    nowMs: Date.now,
    version: io.version,
  });
  parts.push(health);
  const audit = new AuditLog({ dataDir: settings.dataDir, log, nowMs: Date.now });
  const nodeTaints = await openNodeTaints(settings, { health, audit, env: io.env, log });
  if (nodeTaints !== undefined) parts.push(nodeTaints);
  const { latest } = collector;
  const describe = jobs?.describePods;
  const podInfo = await openPodInfo(settings, { latest, writer, describe, env: io.env, log });
  if (podInfo !== undefined) parts.push(podInfo);
  const alerting = await openAlerting(settings, { history, writer }, timeline, io, log);
  parts.push(alerting);
  const heldIdle = await openHeldIdle(settings, jobs, {
    put: (alerts) => alerting.sink.put(alerts),
    externalUrl: externalUrlOf(settings),
    audit,
    env: io.env,
    log,
  });
  if (heldIdle !== undefined) parts.push(heldIdle);
  const take = lazySnapshot(collector, settings, io, log);
  const snapshots = new SnapshotStore({ dataDir: settings.dataDir, log, take });
  parts.push(snapshots);
  const boards = new BoardStore({ dataDir: settings.dataDir, log, nowMs: Date.now });
  parts.push(boards);
  const analytics =
    hubLake.lake &&
    new AnalysisQueue({
      lake: hubLake.lake,
      cacheDir: path.join(settings.dataDir, "lake-cache"),
      env: io.env,
      log,
      nowMs: Date.now,
      ...(storage.api.budgets !== undefined && {
        memoryBytes: storage.api.budgets.analysisBytes,
      }),
    });
  if (analytics !== undefined) parts.push(analytics);
  const pipes = openHubPipes(settings, io, log);
  parts.push(pipes);
  const hub = await createHub(
    {
      listener: web,
      access: control.access,
      audit,
      latest: collector.latest,
      shedding,
      ...settings.listen,
      ...(settings.alerting.externalUrl !== undefined && {
        publicUrl: settings.alerting.externalUrl,
      }),
      rates: settings.limits,
      hostName: settings.hostName,
      webDir,
      docsDir,
      timeline,
      health,
      ...(jobs === undefined ? {} : { jobs, jobTariffs: settings.jobs }),
      ...(heldIdle === undefined ? {} : { heldIdle }),
      runs: new RunStore(path.join(settings.dataDir, "runs"), log),
      snapshots,
      boards,
      ownRules: new OwnRules(settings.dataDir, () => alerting.reload()),
      embedOrigins: settings.embedOrigins,
      pipes,
      ...(analytics === undefined ? {} : { analytics }),
      importUpload: async (upload, signal) => {
        const { uploadImporter } = await import("../../cli/import/upload.ts");
        return uploadImporter(settings, writer)(upload, signal);
      },
      api: { ...api, alerting, ...(scraping === undefined ? {} : { scraping }) },
      log,
      nowMs: () => Date.now(),
      version: io.version,
      metricsPage: (accept) => collector.pageParts(accept),
      stats: () => collector.stats(),
      reload: async () => {
        await allOf([() => scraping?.reload(), () => alerting.reload()]);
        if (!(await web.reload()))
          throw new Error("the new TLS or user files are invalid: see the log");
      },
      ready: () =>
        withProblems(readyState(collector, sources.length), [
          ...storage.problems(),
          ...agents.problems(),
          ...conflicts.problems(),
          ...(prometheus?.problems() ?? []),
          ...shedding.problems(),
          ...(jobs?.problems() ?? []),
          ...alerting.sink.problems(),
          ...(nodeTaints?.problems() ?? []),
          ...(heldIdle?.problems() ?? []),
          ...(podInfo?.problems() ?? []),
        ]),
    },
    listener,
  );
  parts.push(hub);
  // Closed before the server: a pipe into this same hub has to deliver its last samples.
  parts.push({ close: () => pipes.halt() });
  const self = { writer, host: settings.hostName, log };
  if (sources.length > 0) parts.push(startUpSeries(identityOf(settings.hostName), self));
  if (options.selfScrape) parts.push(startSelfScrape(collector, self));
  const { store } = storage.api;
  if (store !== undefined) {
    const isOpen = (): boolean =>
      !web.secure &&
      settings.limits?.queriesPerSecond === undefined &&
      (control.access.openReads || !requiresAuth(control.access));
    const url = (): string | undefined => (isOpen() ? hub.url : undefined);
    parts.push(startWarmUp({ store, url, log }));
  }
  return { collector, shedding };
}

/** Starts scraping if a file can configure it, now or after a reload. */
async function openScraping(
  files: ScrapeFiles | undefined,
  api: ApiContext,
  exporters: ExporterGpus,
  { settings, io, log }: HubServerOptions,
): Promise<HubScrapeRunner | undefined> {
  if (settings.prometheusConfig === undefined && settings.configFile === undefined)
    return undefined;
  const { startScraping } = await import("./scraping.ts");
  const scraping = startScraping(files, settings, api, exporters, io, log);
  // `reload` has logged the error.
  io.onReload?.(() => void scraping.reload().catch(() => undefined));
  return scraping;
}

/** GPUs found in an external engine, if one is configured. */
async function openPrometheusGpus(
  { prometheus: address }: Settings,
  { exporters, history, log }: PrometheusContext,
): Promise<PrometheusGpus | undefined> {
  if (address === undefined) return undefined;
  const { PrometheusGpus: Opened } = await import("../exporters/prometheus.ts");
  return new Opened({ address, exporters, history, log, nowMs: Date.now });
}

interface PrometheusContext {
  readonly exporters: ExporterGpus;
  readonly history: History;
  readonly log: Log;
}

interface NodeTaintContext {
  readonly health: HubHealth;
  readonly audit: AuditLog;
  readonly env: CommandIo["env"];
  readonly log: Log;
}

/** Loaded only if enabled. */
async function openNodeTaints(
  { nodeTaints }: Settings,
  { health, audit, env, log }: NodeTaintContext,
): Promise<NodeTaints | undefined> {
  const { mode, budget, returnAfterMs, kubeconfig } = nodeTaints;
  if (mode === "off") return undefined;
  const [{ NodeTaints: Opened }, { NodeApi }] = await Promise.all([
    import("../node-taints/node-taints.ts"),
    import("../node-taints/node-api.ts"),
  ]);
  const nodes = await NodeApi.open(kubeconfig, { env });
  const report = () => health.report();
  const nowMs = () => Date.now();
  const taints = new Opened({ mode, budget, returnAfterMs, nodes, report, audit, log, nowMs });
  taints.start();
  return taints;
}

interface PodInfoContext {
  readonly latest: Collector["latest"];
  readonly writer: SampleWriter;
  readonly describe: HubJobs["describePods"] | undefined;
  readonly env: CommandIo["env"];
  readonly log: Log;
}

/** Loaded only if enabled. */
async function openPodInfo(
  { podInfo, nodeTaints }: Settings,
  { latest, writer, describe, env, log }: PodInfoContext,
): Promise<PodInfo | undefined> {
  if (!podInfo.isOn) return undefined;
  const [{ PodInfo: Opened }, { ApiServer }] = await Promise.all([
    import("../pod-info/pod-info.ts"),
    import("../kubernetes/api-server.ts"),
  ]);
  const server = await ApiServer.open(nodeTaints.kubeconfig, { env });
  const readPod = (namespace: string, pod: string): Promise<unknown> =>
    server.call(
      "GET",
      `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}`,
    );
  const { labels } = podInfo;
  const info = new Opened({ latest, readPod, labels, writer, describe, log, nowMs: Date.now });
  info.start();
  return info;
}

/** Runs all of them even if some fail, then throws the first error. */
async function allOf(works: readonly (() => Promise<void> | undefined)[]): Promise<void> {
  const problems: unknown[] = [];
  for (const work of works) await work()?.catch((thrown: unknown) => void problems.push(thrown));
  if (problems.length > 0) throw problems[0];
}

/** A hub without sources is ready once it responds; with sources, once each has been read. */
function readyState(
  collector: Collector,
  sourceCount: number,
): { readonly ready: boolean; readonly problems: readonly string[] } {
  if (sourceCount === 0) return { ready: true, problems: [] };
  const { ready, sources } = collector.readiness();
  return {
    ready,
    problems: sources.flatMap(({ source, problem }) =>
      problem === undefined ? [] : [`${source}: ${problem}`],
    ),
  };
}

/** Silent agents are reported as problems but do not affect readiness. */
function withProblems<State extends { readonly problems: readonly string[] }>(
  state: State,
  more: readonly string[],
): State {
  return { ...state, problems: [...state.problems, ...more] };
}
