/** This machine's own sources, through the agent's pipeline. */
import type { Collector } from "../../agent/collector.ts";
import { LiveFleet } from "../../view/live/fleet.ts";
import type { WireDevice } from "../../view/live/protocol.ts";
import type { Feed, FeedEvents } from "./feed.ts";
import type { LocalTasks } from "./local-tasks.ts";
import { TaskMemory } from "./tasks.ts";

/** Sources tick at the same instant; this delay collects them all in one picture. */
const GATHER_MS = 25;
/** A source that has delivered no reading after this time is reported as a problem. */
const FIRST_READING_MS = 3_000;

export interface LocalFeedOptions {
  readonly collector: Collector;
  readonly host: string;
  readonly version: string;
  readonly intervalMs: number;
  readonly nowMs: () => number;
  readonly tasks: LocalTasks;
}

export class LocalFeed implements Feed {
  readonly #options: LocalFeedOptions;
  readonly #events: FeedEvents;
  readonly #fleet: LiveFleet;
  readonly #tasks = new TaskMemory();
  #devices: readonly WireDevice[] = [];
  #unsubscribe: () => void = () => {};
  #gathering: NodeJS.Timeout | undefined;
  #overdue: NodeJS.Timeout | undefined;
  #startedMs = 0;
  #lastMs = Number.NEGATIVE_INFINITY;

  constructor(options: LocalFeedOptions, events: FeedEvents) {
    this.#options = options;
    this.#events = events;
    this.#fleet = new LiveFleet({ host: options.host, version: options.version });
  }

  start(): void {
    const { collector, nowMs, intervalMs } = this.#options;
    this.#startedMs = nowMs();
    this.#unsubscribe = collector.latest.subscribe(({ tier }) => {
      const isDue = nowMs() - this.#lastMs >= intervalMs * 0.8;
      // Limits arrive with the slow tiers: the first picture is completed as they arrive.
      const isEarly = nowMs() - this.#startedMs < 2 * intervalMs;
      if (
        this.#gathering !== undefined ||
        !(isEarly || (isDue && tier !== "slow" && tier !== "static"))
      )
        return;
      this.#gathering = setTimeout(() => this.#beat(), GATHER_MS);
    });
    collector.start();
    this.#overdue = setTimeout(() => this.#beat(), intervalMs * 1.3);
  }

  async stop(): Promise<void> {
    this.#unsubscribe();
    clearTimeout(this.#gathering);
    clearTimeout(this.#overdue);
    await this.#options.collector.stop();
  }

  #beat(): void {
    const { collector, intervalMs, tasks } = this.#options;
    clearTimeout(this.#gathering);
    clearTimeout(this.#overdue);
    this.#gathering = undefined;
    this.#overdue = setTimeout(() => this.#beat(), intervalMs * 1.3);
    const nowMs = this.#options.nowMs();
    this.#lastMs = nowMs;
    const deliveries = collector.latest.at(nowMs);
    const problems =
      nowMs - this.#startedMs < FIRST_READING_MS
        ? []
        : collector
            .readiness()
            .sources.flatMap(({ source, problem }) =>
              problem === undefined ? [] : [`${source}: ${problem}`],
            );
    if (this.#fleet.update(deliveries, problems, nowMs).changed)
      this.#devices = this.#fleet.describe().devices;
    this.#events.update({
      devices: this.#devices,
      rows: this.#fleet.frame.rows,
      timeMs: nowMs,
      problems,
      tasks: tasks.describe(this.#tasks.of(deliveries, this.#devices)),
    });
  }
}
