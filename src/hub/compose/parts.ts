/** Every part of a hub beside its history and its port, which are open already: opened in the order in which they need each other. */
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
import { Timeline } from "../events/timeline.ts";
import type { PrometheusGpus } from "../exporters/prometheus.ts";
import { fanOut } from "../fan-out.ts";
import { HubHealth } from "../health/health.ts";
import { createHub } from "../hub.ts";
import type { HubListener } from "../listener.ts";
import type { WebListener } from "../../net/http/web-listener.ts";
import { RunStore } from "../runs/store.ts";
import { OverloadMonitor } from "../limits/overload.ts";
import { SnapshotStore } from "../snapshots/store.ts";
import { HistorySink, type Storage } from "../storage.ts";
import type { Log } from "../../base/log.ts";
import { identityOf } from "../../model/identity.ts";
import type { Delivery } from "../../pipeline/sink.ts";
import type { History, SampleWriter } from "../../storage/history.ts";
import type { OpenSource } from "../../sources/open.ts";
import { openAlerting } from "./alerting.ts";
import { openHubAccessControl } from "./access-control.ts";
import { openHubLake } from "./lake.ts";
import { openHubSinks } from "./sinks.ts";
import { openHubPipes } from "./pipes.ts";
import { loadScrapeFiles, type ScrapeFiles } from "./scrape-config.ts";
import type { HubScrapeRunner } from "./scraping.ts";
import { startSelfScrape, startUpSeries } from "./self-scrape.ts";
import { startWarmUp } from "../warm-up.ts";

/** Beside the bundle's folder; every chunk stands in it. */
const webDir = fileURLToPath(new URL("../web", import.meta.url));
const docsDir = fileURLToPath(new URL("../docs", import.meta.url));

export interface HubServer {
  readonly url: string;
  readonly collector: Collector;
  close(): Promise<void>;
}

export interface HubServerOptions {
  readonly settings: Settings;
  /** This machine's own GPUs; none on a hub. */
  readonly sources: readonly OpenSource[];
  readonly selfScrape: boolean;
  /** Whether a lake is kept where nothing says otherwise. */
  readonly lake: boolean;
  readonly io: CommandIo;
  readonly log: Log;
}

/** Closed in the reverse order. */
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
  const writer = fanOut(history, [...outgoing.sampleSinks, ...lake.sinks]);
  const collector = createCollector(settings, sources, io, log, {
    ...openHealth(settings, sources),
    lagEveryMs: lagResolutionMs.hub,
    memoryLimitBytes: storage.api.budgets?.limit.bytes,
    sinks:
      sources.length === 0
        ? []
        : [new HistorySink(writer, identityOf(settings.hostName)), ...outgoing.frameSinks],
    selfMetrics: [
      storage.selfMetrics,
      (put, nowMs) => agents.selfMetrics(put, nowMs),
      (put) => scraping?.selfMetrics(put),
      (put, nowMs) => conflicts.selfMetrics(put, nowMs),
      (put, nowMs) => shedding.selfMetrics(put, nowMs),
      outgoing.selfMetrics,
      control.selfMetrics,
      (put, nowMs) => alerting.selfMetrics(put, nowMs),
      (put, nowMs) => alerting.sink.selfMetrics(put, nowMs),
      (put, nowMs) => pipes.selfMetrics(put, nowMs),
    ],
    pageFrames: [() => anomalies.frame()],
  });
  parts.push({ close: () => collector.stop() });
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
  const api = {
    ...storage.api,
    traceUrl: settings.traceUrl,
    ingestWorkers: settings.ingestWorkers,
    ingest: {
      bucketLimit: settings.bucketLimit,
      usesStarts: settings.features.includes("created-timestamp-zero-ingestion"),
      toCustomBuckets: files?.config.otlp.toCustomBuckets ?? false,
    },
    shedding,
    writer,
    agents,
    hostName: settings.hostName,
    ...(lake.lake === undefined ? {} : { lake: lake.lake }),
  };
  const scraping = await openScraping(files, api, collector, options);
  if (scraping !== undefined) parts.push(scraping);
  const prometheus = await openPrometheusGpus(settings, { writer, history, collector, log });
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
    log,
    nowMs: Date.now,
  });
  parts.push(anomalies);
  const health = new HubHealth({
    frames: collector.latest,
    anomalies: () => anomalies.active(),
    log,
    nowMs: Date.now,
    version: io.version,
  });
  parts.push(health);
  const alerting = await openAlerting(settings, { history, writer }, timeline, io, log);
  parts.push(alerting);
  const take = lazySnapshot(collector, settings, io, log);
  const snapshots = new SnapshotStore({ dataDir: settings.dataDir, log, take });
  parts.push(snapshots);
  const analytics =
    lake.lake &&
    new AnalysisQueue({
      lake: lake.lake,
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
      audit: new AuditLog({ dataDir: settings.dataDir, log, nowMs: Date.now }),
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
      runs: new RunStore(path.join(settings.dataDir, "runs"), log),
      snapshots,
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
          ...alerting.sink.problems(),
        ]),
    },
    listener,
  );
  parts.push(hub);
  // Before the server: a pipe into this very hub must be able to hand over its last.
  parts.push({ close: () => pipes.halt() });
  const self = { writer, host: settings.hostName, log };
  if (sources.length > 0) parts.push(startUpSeries(identityOf(settings.hostName), self));
  if (options.selfScrape) parts.push(startSelfScrape(collector, self));
  if (settings.store === undefined) parts.push(startWarmUp(log));
  return { collector, shedding };
}

/** Where a file may tell what to scrape, now or when it is read again. */
async function openScraping(
  files: ScrapeFiles | undefined,
  api: ApiContext,
  collector: Collector,
  { settings, io, log }: HubServerOptions,
): Promise<HubScrapeRunner | undefined> {
  if (settings.prometheusConfig === undefined && settings.configFile === undefined)
    return undefined;
  const { startScraping } = await import("./scraping.ts");
  const scraping = startScraping(files, settings, api, (one) => collector.show(one), io, log);
  // It has logged the error.
  io.onReload?.(() => void scraping.reload().catch(() => undefined));
  return scraping;
}

/** GPUs that an engine elsewhere knows of, where one is configured. */
async function openPrometheusGpus(
  { prometheus: address }: Settings,
  { writer, history, collector, log }: PrometheusContext,
): Promise<PrometheusGpus | undefined> {
  if (address === undefined) return undefined;
  const [{ ExporterGpus }, { PrometheusGpus: Opened }] = await Promise.all([
    import("../exporters/exporters.ts"),
    import("../exporters/prometheus.ts"),
  ]);
  const show = (delivery: Delivery): void => collector.show(delivery);
  const exporters = new ExporterGpus({ writer, show, nowMs: Date.now, storesOwn: true });
  return new Opened({ address, exporters, history, log, nowMs: Date.now });
}

interface PrometheusContext {
  readonly writer: SampleWriter;
  readonly history: History;
  readonly collector: Collector;
  readonly log: Log;
}

/** Each is done, whatever becomes of the others; then what went wrong first is thrown. */
async function allOf(works: readonly (() => Promise<void> | undefined)[]): Promise<void> {
  const problems: unknown[] = [];
  for (const work of works) await work()?.catch((thrown: unknown) => void problems.push(thrown));
  if (problems.length > 0) throw problems[0];
}

/** A hub without sources is ready when it answers; with them, when each has been read. */
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

/** An agent that is silent is reported; the hub itself is as ready as before. */
function withProblems<State extends { readonly problems: readonly string[] }>(
  state: State,
  more: readonly string[],
): State {
  return { ...state, problems: [...state.problems, ...more] };
}
