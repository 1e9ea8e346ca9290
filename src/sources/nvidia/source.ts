/**
 * The NVIDIA source: asks the worker for snapshots and makes frames of them. It holds no NVML itself, so a driver that hangs
 * makes its reads late and stops nothing else.
 */
import type { Tier } from "../../model/catalogue/index.ts";
import type { Device } from "../../model/device.ts";
import type { Frame } from "../../model/frame.ts";
import { FrameWriter } from "../../model/frame.ts";
import type { OwnerResolver } from "../../owners/resolver.ts";
import type { PolledSource } from "../source.ts";
import { ownerExtras, processExtras, xidExtras } from "./attribution.ts";
import type { NvmlConnection } from "./connection.ts";
import type { Extra } from "./frames.ts";
import { Frames } from "./frames.ts";
import type { Answer, Snapshot, StartSettings, Trouble } from "./protocol.ts";

export interface NvidiaSourceOptions {
  readonly host: string;
  readonly settings: StartSettings;
  /** Gives the connection, a new one where the last has died. */
  readonly connect: () => NvmlConnection;
  readonly resolver: OwnerResolver;
  readonly explain: (trouble: Trouble) => Promise<string>;
}

export class NvidiaSource implements PolledSource {
  readonly shape = "polled";
  readonly tiers: readonly Tier[] = ["fast", "slow", "static"];
  readonly #options: NvidiaSourceOptions;
  #frames: Frames;
  #connection: NvmlConnection | undefined;
  #started: Promise<Trouble | undefined> | undefined;

  constructor(options: NvidiaSourceOptions) {
    this.#options = options;
    this.#frames = new Frames(options.host);
  }

  devices(): readonly Device[] {
    return this.#frames.devices;
  }

  /** Opens the library and finds the GPUs; what it cannot do is returned, and tried again with every read. */
  async start(): Promise<Trouble | undefined> {
    this.#started ??= this.#start();
    const trouble = await this.#started;
    if (trouble !== undefined) this.#started = undefined;
    return trouble;
  }

  async read(tier: Tier, timeMs: number): Promise<Frame> {
    if (this.#connection?.alive === false) this.#started = undefined;
    const trouble = await this.start();
    // Nothing is wrong, and nothing can be told without waking it: not even which GPU it is.
    if (trouble?.stage === "asleep") return new FrameWriter({ series: [] }, timeMs).finish();
    if (trouble !== undefined) throw new Error(await this.#options.explain(trouble));
    const snapshot = await this.#ask(tier);
    return this.#frames.frame(tier, timeMs, snapshot, await this.#extras(snapshot));
  }

  async close(): Promise<void> {
    await this.#connection?.close();
  }

  async #start(): Promise<Trouble | undefined> {
    const connection = this.#options.connect();
    this.#connection = connection;
    // A new worker counts its plans from the start again.
    this.#frames = new Frames(this.#options.host);
    const answer = await connection.ask({ kind: "start", settings: this.#options.settings });
    if (answer.kind === "trouble") return answer.trouble;
    // The devices are known before the first frame is asked for: whoever lists them need not wait for one.
    const first = await connection.ask({ kind: "read", tier: "fast", knows: 0 });
    if (first.kind === "trouble") return first.trouble;
    if (first.kind === "snapshot") this.#frames.take(first.snapshot.plan);
    return undefined;
  }

  async #ask(tier: Tier): Promise<Snapshot> {
    const connection = this.#connection;
    if (connection === undefined) throw new Error("BUG: read before the worker was started");
    const answer: Answer = await connection.ask({
      kind: "read",
      tier,
      knows: this.#frames.version,
    });
    if (answer.kind === "trouble") throw new Error(await this.#options.explain(answer.trouble));
    if (answer.kind !== "snapshot") throw new Error(`BUG: asked to read, was told ${answer.kind}`);
    this.#frames.take(answer.snapshot.plan);
    return answer.snapshot;
  }

  async #extras({ xids = [], processes }: Snapshot): Promise<Extra[]> {
    if (processes === undefined) return [];
    const { resolver, settings } = this.#options;
    const labels: Frames["labels"] = (at, extra) => this.#frames.labels(at, extra);
    return [
      ...xidExtras(xids, labels),
      ...(await ownerExtras(this.devices(), processes, resolver, labels)),
      ...(settings.processes ? await processExtras(processes, resolver, labels) : []),
    ];
  }
}
