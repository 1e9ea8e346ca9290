/**
 * Polls a service about once a second for the load of its GPUs, independently of the reads, which never wait for it. A service
 * that is unavailable for long has no jobs, so its GPUs are idle until it responds again; this is logged once, not every second.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../../../base/log.ts";
import { formatUrl, HttpAgent, HttpRequestError, request } from "../../../net/http/request.ts";
import { parseReportedLoads, type ReportedLoad } from "./reported-load.ts";
import { kernels } from "../kernels.ts";
import type { Demand } from "../physics/card.ts";
import {
  type WorkloadKind,
  apply,
  type WorkContext,
  type Workload,
} from "../workloads/workload.ts";

const askEveryMs = 1_000;
const timeoutMs = 2_000;
const awayAfterMs = 10_000;
/** Enough for a hundred thousand GPUs at a hundred bytes each. */
const maxBytes = 16 * 1_048_576;

interface FollowerOptions {
  readonly url: string;
  readonly log: Log;
  readonly nowMs: () => number;
}

const nothing: ReadonlyMap<number, ReportedLoad> = new Map();

export class Follower {
  readonly #options: FollowerOptions;
  readonly #agent = new HttpAgent({}, 1);
  readonly #closing = new AbortController();
  readonly #ended: Promise<void>;
  #said = nothing;
  #heardMs: number;
  #isAway = false;

  constructor(options: FollowerOptions) {
    this.#options = options;
    this.#heardMs = options.nowMs();
    this.#ended = this.#run();
  }

  /** The load last reported for a GPU; undefined if none was reported, which means idle. */
  of(index: number): ReportedLoad | undefined {
    return this.#said.get(index);
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      const said = await this.#ask();
      if (signal.aborted) return;
      if (typeof said === "string") this.#miss(said);
      else this.#hear(said);
      // The timer is unreferenced, because the reads keep the process alive.
      await sleep(askEveryMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  async #ask(): Promise<ReadonlyMap<number, ReportedLoad> | string> {
    try {
      const { status, body } = await request(this.#options.url, {
        timeoutMs,
        maxBytes,
        agent: this.#agent,
        signal: this.#closing.signal,
        headers: { accept: "application/json" },
      });
      return status === 200
        ? parseReportedLoads(body.toString("utf8"))
        : `it answers with ${status}`;
    } catch (thrown) {
      if (thrown instanceof HttpRequestError) return thrown.message;
      throw thrown;
    }
  }

  #hear(said: ReadonlyMap<number, ReportedLoad>): void {
    this.#said = said;
    this.#heardMs = this.#options.nowMs();
    if (this.#isAway) this.#options.log.info("followed service is reachable again");
    this.#isAway = false;
  }

  #miss(reason: string): void {
    const { nowMs, log, url } = this.#options;
    if (this.#isAway || nowMs() - this.#heardMs <= awayAfterMs) return;
    this.#isAway = true;
    this.#said = nothing;
    log.warn(
      `The service that the simulator follows has not responded for ${awayAfterMs / 1_000} s: its GPUs are idle until it does.`,
      { service: formatUrl(new URL(url)), reason },
    );
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#ended;
    this.#agent.close();
  }
}

/*
 * A workload reported by a service: the GPU runs its kernel for the reported share of time with the reported memory. The rest is physics.
 */

/** Returns the load of one GPU; undefined if nothing runs on it. */
export type LoadReader = () => ReportedLoad | undefined;

export class FollowedWorkload implements Workload {
  readonly kind?: WorkloadKind;
  readonly workload: string;
  readonly #followedLoad: LoadReader;
  readonly #memoryBytes: number;

  constructor(
    reported: LoadReader,
    { workload, kind }: ReportedLoad,
    { memoryBytes }: WorkContext,
  ) {
    this.#followedLoad = reported;
    this.workload = workload;
    this.#memoryBytes = memoryBytes;
    if (kind !== undefined) this.kind = kind;
  }

  advance(_stepMs: number, _pace: number, _clockMs: number, demand: Demand): void {
    const said = this.#followedLoad();
    const memoryBytes = said?.memoryBytes ?? 0;
    const { kernel, busy } = said ?? { kernel: "idle", busy: 0 };
    // A program that waits for work still holds its memory.
    demand.context = memoryBytes > 0 || this.kind !== undefined;
    demand.memoryBytes = Math.round(Math.min(memoryBytes, this.#memoryBytes));
    apply(demand, kernels[kernel], kernel === "idle" ? 0 : busy);
  }
}
