/** A hub's live stream, as the browser receives it: the whole fleet with its last minutes, then a frame a second. */
import { backoffMs } from "../../base/retry.ts";
import { formatError } from "../../base/error.ts";
import { streamLines } from "../../net/http/stream.ts";
import {
  type LiveFrame,
  SCHEMA,
  type WireClosed,
  type WireDevice,
  type WireFleet,
} from "../../view/live/protocol.ts";
import type { GpuTask } from "../model/process.ts";
import { type Feed, type FeedEvents, feedBackoff } from "./feed.ts";
import type { Peer } from "./peer.ts";
import { taskMetrics, type TaskReading, tasksOf } from "./tasks.ts";

/** The hub sends at least every 1.3 s. */
const SILENCE_MS = 6_000;
const MAX_LINE_BYTES = 64 * 1024 * 1024;
/** Processes are on the hub's slow tier. */
const TASKS_EVERY_MS = 5_000;

export interface HubFeedOptions {
  readonly peer: Peer;
  readonly nowMs: () => number;
  readonly random: () => number;
}

export class HubFeed implements Feed {
  readonly #options: HubFeedOptions;
  readonly #events: FeedEvents;
  readonly #stopping = new AbortController();
  #fleet = -1;
  #devices: readonly WireDevice[] = [];
  #tasks: readonly GpuTask[] = [];
  #taskProblem: string | undefined;
  #isReported = false;
  #failures = 0;
  #next: NodeJS.Timeout | undefined;
  #taskTimer: NodeJS.Timeout | undefined;

  constructor(options: HubFeedOptions, events: FeedEvents) {
    this.#options = options;
    this.#events = events;
  }

  start(): void {
    void this.#listen();
    void this.#askTasks();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#next);
    clearTimeout(this.#taskTimer);
    this.#options.peer.close();
  }

  async #listen(): Promise<void> {
    const { nowMs, random } = this.#options;
    let why: string;
    try {
      await this.#stream();
      why = "the hub ended the stream";
    } catch (thrown) {
      why = formatError(thrown);
    }
    if (this.#stopping.signal.aborted) return;
    this.#failures += 1;
    const waitMs = backoffMs(this.#failures - 1, random, feedBackoff);
    this.#events.link({ kind: "lost", why, retryAtMs: nowMs() + waitMs });
    this.#next = setTimeout(() => void this.#listen(), waitMs);
  }

  async #stream(): Promise<void> {
    const { peer } = this.#options;
    const { status, lines } = await streamLines(peer.at("api/live"), {
      headers: { ...peer.headers, accept: "text/event-stream" },
      agent: peer.agent,
      silenceMs: SILENCE_MS,
      maxLineBytes: MAX_LINE_BYTES,
      signal: this.#stopping.signal,
    });
    if (status !== 200) throw new Error(`the live stream of the hub returned status ${status}`);
    let event = "";
    for await (const line of lines) {
      if (line.startsWith("event: ")) event = line.slice("event: ".length);
      else if (line.startsWith("data: ")) this.#take(event, line.slice("data: ".length));
    }
  }

  #take(event: string, json: string): void {
    if (event === "fleet") {
      const fleet = JSON.parse(json) as WireFleet;
      if (fleet.schema !== SCHEMA)
        throw new Error(
          `the hub sends version ${fleet.schema} of the live stream, and this program reads version ${SCHEMA}: update the older one`,
        );
      this.#fleet = fleet.fleet;
      this.#devices = fleet.devices;
      this.#events.recall(fleet);
      this.#update(fleet.frame);
    } else if (event === "frame") {
      const frame = JSON.parse(json) as LiveFrame;
      if (frame.fleet === this.#fleet) this.#update(frame);
    } else if (event === "closed") throw new Error((JSON.parse(json) as WireClosed).reason);
  }

  #update({ rows, timeMs, problems }: LiveFrame): void {
    this.#failures = 0;
    this.#events.update({
      devices: this.#devices,
      rows,
      timeMs,
      problems:
        this.#taskProblem === undefined
          ? problems
          : [...problems, `processes: ${this.#taskProblem}`],
      tasks: this.#tasks,
      areTasksPending: !this.#isReported,
    });
  }

  async #askTasks(): Promise<void> {
    const { signal } = this.#stopping;
    try {
      const query = `{__name__=~"${taskMetrics.map(({ name }) => name).join("|")}"}`;
      const { body } = await this.#options.peer.get("api/v1/query", {
        method: "POST",
        body: new URLSearchParams({ query }).toString(),
        headers: { "content-type": "application/x-www-form-urlencoded" },
        signal,
      });
      this.#tasks = tasksOf(vectorOf(JSON.parse(body.toString("utf8"))), this.#devices);
      this.#taskProblem = undefined;
    } catch (thrown) {
      if (signal.aborted) return;
      // A lost hub is reported by the stream.
      this.#taskProblem = formatError(thrown);
    }
    this.#isReported = this.#devices.length > 0;
    const waitMs = this.#devices.length === 0 ? 200 : TASKS_EVERY_MS;
    if (!signal.aborted) this.#taskTimer = setTimeout(() => void this.#askTasks(), waitMs);
  }
}

interface VectorAnswer {
  readonly data?: {
    readonly result?: readonly {
      readonly metric?: Readonly<Record<string, string>>;
      readonly value?: readonly [number, string];
    }[];
  };
}

function vectorOf(answer: unknown): TaskReading[] {
  const { data } = answer as VectorAnswer;
  return (data?.result ?? []).map(({ metric = {}, value }) => {
    const number = Number(value?.[1]);
    return {
      metric: metric["__name__"] ?? "",
      labels: metric,
      value: value === undefined || Number.isNaN(number) ? "failed" : number,
    };
  });
}
