/**
 * The NVIDIA source: requests snapshots from the NVML process and turns them into frames. If a driver call hangs, its reads are
 * late; if it crashes, they fail until another process is started. Other sources are not affected.
 */
import { formatError } from "../../base/error.ts";
import type { Tier } from "../../model/catalogue/index.ts";
import type { Device } from "../../model/device.ts";
import { type Frame, FrameWriter } from "../../model/frame.ts";
import type { OwnerResolver } from "../../machine/owners/resolver.ts";
import type { Log } from "../../base/log.ts";
import type { PolledSource, SourceProcess } from "../source.ts";
import { ownerExtras, processExtras, xidExtras } from "./attribution.ts";
import type { NvmlConnection } from "./connection.ts";
import { type ExtraSeries, NvidiaFrameBuilder } from "./frames.ts";
import type {
  WorkerResponse,
  ProcessUsage,
  WorkerRequest,
  WorkerSnapshot,
  StartSettings,
  NvmlFailure,
} from "./protocol.ts";
import { RestartBackoff } from "./restart.ts";

export interface NvidiaSourceOptions {
  readonly host: string;
  readonly settings: StartSettings;
  /** Returns the connection, or a new one if the last has ended. */
  readonly connect: () => NvmlConnection;
  readonly resolver: OwnerResolver;
  readonly explain: (problem: NvmlFailure) => Promise<string>;
  readonly log: Log;
}

export class NvidiaSource implements PolledSource {
  readonly shape = "polled";
  readonly tiers: readonly Tier[] = ["fast", "slow", "static"];
  readonly #options: NvidiaSourceOptions;
  #frames: NvidiaFrameBuilder;
  #connection: NvmlConnection | undefined;
  #started: Promise<NvmlFailure | undefined> | undefined;
  readonly #backoff = new RestartBackoff();
  /** Why the last process ended; used while none runs. */
  #endedBy = "";
  #usage: ProcessUsage | undefined;
  #losses: Readonly<Record<string, string>> = {};

  constructor(options: NvidiaSourceOptions) {
    this.#options = options;
    this.#frames = new NvidiaFrameBuilder(options.host);
  }

  devices(): readonly Device[] {
    return this.#frames.devices;
  }

  lossOf(uuid: string): string | undefined {
    return Object.hasOwn(this.#losses, uuid) ? this.#losses[uuid] : undefined;
  }

  process(): SourceProcess {
    return { restarts: this.#backoff.restarts, ...this.#usage };
  }

  onChange(listener: (tier: Tier) => void): void {
    this.#options.resolver.onChange(() => listener("slow"));
  }

  /** Opens the library and finds the GPUs; a failure is returned, and retried with every read. */
  async start(): Promise<NvmlFailure | undefined> {
    this.#noticeEnd();
    const waitMs = this.#backoff.waitMs(performance.now());
    if (waitMs > 0) {
      const detail = `${this.#endedBy}; another is started in ${Math.ceil(waitMs / 1_000)} s`;
      return { stage: "worker", detail };
    }
    this.#started ??= this.#start();
    const problem = await this.#started;
    if (problem !== undefined) this.#started = undefined;
    return problem;
  }

  async read(tier: Tier, timeMs: number): Promise<Frame> {
    const problem = await this.start();
    // The GPUs sleep: this is no error, but nothing can be read without waking them, not even their identity.
    if (problem?.stage === "asleep") return new FrameWriter({ series: [] }, timeMs).finish();
    if (problem !== undefined) throw new Error(await this.#options.explain(problem));
    const snapshot = await this.#readSnapshot(tier);
    return this.#frames.frame(tier, timeMs, snapshot, await this.#extras(snapshot));
  }

  async close(): Promise<void> {
    await this.#connection?.close();
  }

  async #start(): Promise<NvmlFailure | undefined> {
    const connection = this.#options.connect();
    if (connection !== this.#connection) this.#backoff.started(performance.now());
    this.#connection = connection;
    const { settings, host } = this.#options;
    const known = this.devices().filter(({ parent }) => parent === undefined);
    const answer = await this.#ask(connection, { kind: "start", settings, known });
    if (answer.kind === "failure") return answer.problem;
    // Read once before the first frame, so that `devices` is complete from the start.
    const first = await this.#ask(connection, { kind: "read", tier: "fast", knows: 0 });
    if (first.kind === "failure") return first.problem;
    // A new process restarts its plan versions. Until it has a plan, its GPUs are those known before.
    this.#frames = new NvidiaFrameBuilder(host);
    if (first.kind === "snapshot") this.#frames.take(first.snapshot.plan);
    return undefined;
  }

  async #readSnapshot(tier: Tier): Promise<WorkerSnapshot> {
    const connection = this.#connection;
    if (connection === undefined) throw new Error("BUG: read before the process was started");
    const request = { kind: "read", tier, knows: this.#frames.version } as const;
    const answer = await this.#ask(connection, request);
    if (answer.kind === "failure") throw new Error(await this.#options.explain(answer.problem));
    if (answer.kind !== "snapshot") throw new Error(`BUG: sent read, got ${answer.kind}`);
    this.#frames.take(answer.snapshot.plan);
    this.#usage = answer.snapshot.usage ?? this.#usage;
    if (tier === "fast") this.#losses = answer.snapshot.losses ?? {};
    return answer.snapshot;
  }

  async #ask(connection: NvmlConnection, request: WorkerRequest): Promise<WorkerResponse> {
    try {
      return await connection.ask(request);
    } catch (thrown) {
      this.#noticeEnd();
      return { kind: "failure", problem: { stage: "worker", detail: formatError(thrown) } };
    }
  }

  #noticeEnd(): void {
    const endedBy = this.#connection?.endedBy;
    if (endedBy === undefined) return;
    this.#connection = undefined;
    this.#started = undefined;
    this.#usage = undefined;
    this.#endedBy = endedBy.message;
    const pauseMs = this.#backoff.ended(performance.now());
    this.#options.log.warn("NVML process ended, starting another", {
      reason: endedBy.message,
      pauseSeconds: pauseMs / 1_000,
    });
  }

  async #extras({ xids = [], processes }: WorkerSnapshot): Promise<ExtraSeries[]> {
    if (processes === undefined) return [];
    const { resolver, settings } = this.#options;
    const labels: NvidiaFrameBuilder["labels"] = (at, extra) => this.#frames.labels(at, extra);
    return [
      ...xidExtras(xids, labels),
      ...(await ownerExtras(this.devices(), processes, resolver, labels)),
      ...(settings.processes ? await processExtras(processes, resolver, labels) : []),
    ];
  }
}
