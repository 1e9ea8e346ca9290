/** Polls an agent over HTTP at the interval, with back-off while it does not respond. */
import { backoffMs } from "../../base/retry.ts";
import { checkValue } from "../../config/check.ts";
import { type GpuStats, type Stats, statsSchema } from "../../agent/stats/schema.ts";
import { formatError } from "../../base/error.ts";
import { LiveFleet } from "../../view/live/fleet.ts";
import type { WireDevice } from "../../view/live/protocol.ts";
import type { Device } from "../../model/device.ts";
import { labelValue } from "../../model/labels.ts";
import type { Layout, Series } from "../../model/layout.ts";
import type { Delivery } from "../../pipeline/sink.ts";
import { type Feed, type FeedEvents, feedBackoff } from "./feed.ts";
import { PageFrames } from "./page-frames.ts";
import type { Peer } from "./peer.ts";
import { TaskMemory } from "./tasks.ts";

/** The identity of GPUs rarely changes. */
const STATS_EVERY_MS = 60_000;

export interface AgentFeedOptions {
  readonly peer: Peer;
  readonly intervalMs: number;
  readonly version: string;
  readonly nowMs: () => number;
  readonly random: () => number;
}

export class AgentFeed implements Feed {
  readonly #options: AgentFeedOptions;
  readonly #events: FeedEvents;
  readonly #pages = new PageFrames();
  #fleet: LiveFleet | undefined;
  #known: readonly Device[] = [];
  #layout: Layout | undefined;
  readonly #tasks = new TaskMemory();
  #devices: readonly WireDevice[] = [];
  #statsMs = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #next: NodeJS.Timeout | undefined;
  readonly #stopping = new AbortController();

  constructor(options: AgentFeedOptions, events: FeedEvents) {
    this.#options = options;
    this.#events = events;
  }

  start(): void {
    void this.#turn();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#next);
    this.#options.peer.close();
  }

  async #turn(): Promise<void> {
    const { nowMs, intervalMs, random } = this.#options;
    const startMs = nowMs();
    let waitMs: number;
    try {
      await this.#ask();
      this.#failures = 0;
      waitMs = Math.max(50, intervalMs - (nowMs() - startMs));
    } catch (thrown) {
      if (this.#stopping.signal.aborted) return;
      this.#failures += 1;
      waitMs = backoffMs(this.#failures - 1, random, feedBackoff);
      // After a restart it may be a different program with different GPUs.
      this.#statsMs = Number.NEGATIVE_INFINITY;
      this.#events.link({ kind: "lost", why: formatError(thrown), retryAtMs: nowMs() + waitMs });
    }
    if (!this.#stopping.signal.aborted) this.#next = setTimeout(() => void this.#turn(), waitMs);
  }

  async #ask(): Promise<void> {
    const { peer, nowMs, version } = this.#options;
    const { signal } = this.#stopping;
    if (nowMs() - this.#statsMs >= STATS_EVERY_MS) {
      const stats = await this.#stats();
      this.#fleet ??= new LiveFleet({ host: stats.host.name, version });
      this.#known = stats.gpus.flatMap(deviceOf);
      this.#statsMs = nowMs();
    }
    const page = await peer.get("metrics", { signal, headers: { accept: "text/plain" } });
    const timeMs = nowMs();
    const frame = this.#pages.read(page.body, page.headers["content-type"], timeMs);
    const fleet = this.#fleet;
    if (fleet === undefined) throw new Error("BUG: a page without a fleet");
    if (frame.layout !== this.#layout) this.#meet(frame.layout);
    const delivery: Delivery = {
      frame,
      source: "agent",
      tier: "stream",
      freshForMs: Infinity,
      devices: this.#known,
    };
    if (fleet.update([delivery], [], timeMs).changed) this.#devices = fleet.describe().devices;
    this.#events.update({
      devices: this.#devices,
      rows: fleet.frame.rows,
      timeMs,
      problems: [],
      tasks: this.#tasks.of([delivery], this.#devices),
    });
  }

  /** Schedules another read of the identities if the layout has an unknown GPU. */
  #meet(layout: Layout): void {
    this.#layout = layout;
    const known = new Set(this.#known.map(({ uuid }) => uuid));
    const isStranger = ({ labels }: Series): boolean =>
      !known.has(labelValue(labels, "uuid") ?? "");
    if (layout.series.some(isStranger)) this.#statsMs = Number.NEGATIVE_INFINITY;
  }

  async #stats(): Promise<Stats> {
    const { body } = await this.#options.peer.get("stats", { signal: this.#stopping.signal });
    const checked = checkValue(statsSchema, JSON.parse(body.toString("utf8")));
    if (!checked.ok)
      throw new Error(
        `/stats is from a version of gpulse that this one cannot read: ${checked.problems[0]?.sentence ?? ""}`,
      );
    return checked.value;
  }
}

function deviceOf(stats: GpuStats): Device[] {
  const { uuid, vendor } = stats;
  if (uuid.value === null || vendor.value === null) return [];
  return [
    {
      uuid: uuid.value,
      index: stats.index.value,
      vendor: vendor.value,
      model: stats.model.value ?? "n/a",
      simulated: stats.simulated,
      pciBusId: stats.pci_bus_id.value ?? undefined,
      driver: stats.driver.value ?? undefined,
      vbios: stats.vbios.value ?? undefined,
      linkType: stats.pcie_link.type.value ?? undefined,
      parent: stats.parent.value ?? undefined,
    },
  ];
}
