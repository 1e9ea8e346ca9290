/** Runs the local sources through the pipeline and renders what the HTTP server returns. Shared by `agent` and `up`. */
import { CompatFrames } from "../formats/compat/compat.ts";
import { type CompatName, compatTables } from "../formats/compat/tables.ts";
import { contentTypes, type PageFormat, PageWriter } from "../formats/prometheus/page.ts";
import { protobufContentType } from "../formats/exposition/write-protobuf.ts";
import { negotiateFormat, prefersProtobuf } from "../formats/prometheus/negotiate.ts";
import { type NativeOf, ProtobufPageWriter } from "../formats/prometheus/protobuf-page.ts";
import { self } from "../model/catalogue/index.ts";
import { labelValue } from "../model/labels.ts";
import type { Log } from "../base/log.ts";
import type { Frame } from "../model/frame.ts";
import type { Clock } from "../base/clock.ts";
import { pause } from "../base/retry.ts";
import { type SourceHealth, isReady, sourceHealth } from "../pipeline/health.ts";
import { Pipeline } from "../pipeline/pipeline.ts";
import type { Delivery, Sink } from "../pipeline/sink.ts";
import { type CollectMetrics, SelfFrames } from "../model/self-frames.ts";
import { collectSelf } from "../pipeline/self.ts";
import { type ActivityOptions, createActivity } from "../pipeline/transforms/activity.ts";
import { createDerive } from "../pipeline/transforms/derive.ts";
import { createInfoLabels } from "../pipeline/transforms/info-labels.ts";
import { LatestFrames } from "../sinks/latest/latest.ts";
import { viewDevices } from "../sinks/latest/devices.ts";
import { RecentPower } from "../sinks/recent/power.ts";
import type { OpenSource } from "../sources/open.ts";
import { hostFileAccess } from "../machine/sysfs/file-access.ts";
import { readNumaNode } from "../machine/sysfs/numa.ts";
import type { GpuView } from "../machine/snapshot-gpu.ts";
import type { HealthSource } from "./health/source.ts";
import { createHealthReport, type HealthReport } from "../view/health/report.ts";
import { HostReader, processFacts } from "./host.ts";
import { lagResolutionMs, RuntimeMonitor } from "./runtime.ts";
import type { Stats } from "./stats/schema.ts";
import { createStats } from "./stats/stats.ts";

export interface CollectorOptions {
  readonly sources: readonly OpenSource[];
  /** Other exporters whose metric names the page contains as well. */
  readonly compat?: readonly CompatName[];
  readonly activity?: ActivityOptions;
  readonly intervalMs: number;
  readonly hostName: string;
  readonly procfs: string;
  /** `/sys` by default. */
  readonly sysfs?: string;
  /** Labels added to this machine's `gpu_info` and `host_info`. */
  readonly machineLabels?: Readonly<Record<string, string>>;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Memory limit of this process, exposed as a self-metric. */
  readonly memoryLimitBytes?: number | undefined;
  /** Interval of the event loop delay measurement; the agent's default if absent. */
  readonly lagEveryMs?: number;
  /** Self-metrics of further components, added to the page. */
  readonly selfMetrics?: readonly CollectMetrics[];
  /** Further frames of the page. */
  readonly pageFrames?: readonly (() => Frame)[];
  /** Sinks that receive every frame, in addition to the served page. */
  readonly sinks?: readonly Sink[];
  /** Evaluates the health of this machine's GPUs; absent if health is not enabled. */
  readonly health?: HealthSource;
}

export interface RenderedPage {
  readonly body: string | Buffer;
  readonly contentType: string;
}

/** The page as parts that are rendered while they are read. */
export interface RenderedPageParts {
  readonly body: Iterable<string | Buffer>;
  readonly contentType: string;
}

export interface Readiness {
  readonly ready: boolean;
  readonly sources: readonly SourceHealth[];
}

const lookEveryMs = 50;

export class Collector {
  readonly latest = new LatestFrames();
  readonly #power = new RecentPower();
  readonly #pipeline: Pipeline;
  readonly #options: CollectorOptions;
  readonly #host: HostReader;
  readonly #self = new SelfFrames();
  readonly #components = new SelfFrames();
  readonly #runtime: RuntimeMonitor;
  readonly #compat: CompatFrames;
  readonly #writers: Record<PageFormat, PageWriter> = {
    text: new PageWriter("text"),
    openmetrics: new PageWriter("openmetrics"),
  };
  readonly #protobuf = new ProtobufPageWriter();

  constructor(options: CollectorOptions) {
    this.#options = options;
    const { lagEveryMs = lagResolutionMs.agent, clock } = options;
    this.#runtime = new RuntimeMonitor(lagEveryMs, clock.monotonicMs());
    this.#compat = new CompatFrames((options.compat ?? []).map((name) => compatTables[name]));
    this.#host = new HostReader(options.hostName, {
      procfs: options.procfs,
      sysfs: options.sysfs ?? "/sys",
      fileAccess: hostFileAccess,
      architecture: process.arch,
      env: process.env,
    });
    const { health } = options;
    if (health !== undefined) this.latest.subscribe((delivery) => health.take(delivery));
    this.#pipeline = new Pipeline({
      sources:
        health === undefined
          ? options.sources
          : [...options.sources, { name: "health", source: health }],
      transforms: [
        createInfoLabels({
          labels: options.machineLabels ?? {},
          numaNodeOf: (address) => readNumaNode(options.sysfs ?? "/sys", address),
        }),
        createDerive(),
        createActivity(options.activity),
      ],
      sinks: [this.latest, this.#power, ...(options.sinks ?? [])],
      intervalMs: options.intervalMs,
      host: options.hostName,
      clock: options.clock,
      log: options.log,
    });
  }

  start(): void {
    this.#pipeline.start();
  }

  /** Reads every tier of every source now; resolves when all have returned or the deadline has passed. */
  async refresh(deadlineMs: number): Promise<void> {
    await this.#pipeline.refresh(deadlineMs);
  }

  async stop(): Promise<void> {
    this.#runtime.close();
    await this.#pipeline.stop();
  }

  /** Reads for `leastMs`, and for up to `mostMs` if the first reads of a slow source have not finished. */
  async readFor(leastMs: number, mostMs: number): Promise<void> {
    const { clock } = this.#options;
    const startMs = clock.monotonicMs();
    await pause(leastMs, undefined, clock);
    while (!this.#pipeline.hasReadOnce && clock.monotonicMs() - startMs < mostMs)
      await pause(lookEveryMs, undefined, clock);
  }

  /** Adds a frame that another machine read to the served data. */
  show(delivery: Delivery): void {
    this.latest.write(delivery);
    this.#power.write(delivery);
  }

  /** Renders the newest fresh frames and the self-metrics; reads no hardware. */
  page(accept: string | undefined): RenderedPage {
    const { body, contentType } = this.pageParts(accept);
    const parts = [...body];
    const bytes = parts.flatMap((part) => (typeof part === "string" ? [] : [part]));
    return { body: bytes.length > 0 ? Buffer.concat(bytes) : parts.join(""), contentType };
  }

  /** Renders the page as parts; the values are those at the time of this call, however slowly the parts are read. */
  pageParts(accept: string | undefined): RenderedPageParts {
    const nowMs = this.#options.clock.nowMs();
    const served = this.latest.at(nowMs).filter(({ isExposed }) => isExposed !== false);
    const { selfMetrics = [], pageFrames = [] } = this.#options;
    const frames = [
      ...served.map(({ frame }) => frame),
      ...this.#compat.of(served),
      this.selfFrame(served),
      this.#components.at(nowMs, selfMetrics),
      ...pageFrames.map((frame) => frame()),
    ];
    if (prefersProtobuf(accept)) {
      const body = this.#protobuf.parts(frames, this.#nativeHistograms());
      return { body, contentType: protobufContentType };
    }
    const format = negotiateFormat(accept);
    return { body: this.#writers[format].parts(frames), contentType: contentTypes[format] };
  }

  /** The native histograms at the time of this call; the page may be rendered later. */
  #nativeHistograms(): NativeOf {
    const { gc } = this.#runtime.read(this.#options.clock.monotonicMs());
    return (metric, labels) =>
      metric === self.gcDuration
        ? gc.find(({ kind }) => kind === labelValue(labels, "kind"))?.native
        : undefined;
  }

  /** The self-metrics of this process, its sources and its sinks. */
  selfFrame(served: readonly Delivery[] = []): Frame {
    const { clock, version, memoryLimitBytes } = this.#options;
    const { states, outlets } = this.#pipeline;
    const collect: CollectMetrics = (put, nowMs) =>
      collectSelf(put, nowMs, {
        version,
        nodeVersion: process.version,
        states,
        outlets,
        served,
        process: processFacts(),
        memoryLimitBytes,
        runtime: this.#runtime.read(clock.monotonicMs()),
      });
    return this.#self.at(clock.nowMs(), [collect]);
  }

  async stats(): Promise<Stats> {
    const host = await this.#host.read();
    const nowMs = this.#options.clock.nowMs();
    return createStats({
      nowMs,
      version: this.#options.version,
      host,
      fresh: this.latest.at(nowMs),
      power: this.#power,
    });
  }

  /** Undefined if health is not evaluated. */
  health(): HealthReport | undefined {
    const nowMs = this.#options.clock.nowMs();
    const { health, version } = this.#options;
    return health && createHealthReport(health.report(nowMs), nowMs, version);
  }

  /** The current readings of this machine's GPUs for a snapshot; GPUs pushed by other machines are left out. */
  gpuViews(): GpuView[] {
    const nowMs = this.#options.clock.nowMs();
    const own = this.latest.at(nowMs).filter(({ host }) => host === undefined);
    return viewDevices(own, this.#options.hostName).map(({ device, host, readings }) => {
      const averagePower = this.#power.average(host, device.uuid, nowMs);
      return { device, readings, ...(averagePower === undefined ? {} : { averagePower }) };
    });
  }

  readiness(): Readiness {
    const nowMs = this.#options.clock.nowMs();
    const sources = this.#pipeline.states.map((state) => sourceHealth(state, nowMs));
    // Health verdicts are made from the other sources' frames, so the health source does not count for readiness.
    const own = sources.filter(({ source }) => source !== "health");
    return { ready: isReady(own), sources };
  }
}
