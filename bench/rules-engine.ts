/** A hub and a Prometheus that evaluate the same rule file over the same samples from remote-write, for the rules benchmarks. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startHub } from "../engines/hub.ts";
import { requiredTool } from "../engines/cache.ts";
import { startPrometheus } from "../engines/prometheus.ts";
import { WriteClient, WriteRequests } from "./remote-write.ts";
import { series, valueAt } from "./rules-file.ts";

const stepMs = 15_000;
const historySteps = 24;

export interface RunningEngine {
  readonly url: string;
  readonly pid: number;
  readonly names: {
    readonly duration: string;
    readonly missed: string;
    readonly evaluated: string;
  };
  stop(): Promise<void>;
}

/** Sends every series its samples, on time, until stopped. */
export class SampleFeed {
  readonly #client: WriteClient;
  readonly #requests = new WriteRequests(series);
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(url: string) {
    this.#client = new WriteClient(url);
  }

  /** Sends the history that a rule looks back on, and then every step. */
  async begin(): Promise<void> {
    const firstStep = Math.floor(Date.now() / stepMs) - historySteps;
    for (let step = firstStep; step <= firstStep + historySteps; step++) await this.#send(step);
    this.#running = this.#go(firstStep + historySteps + 1);
    // end() reports the error, and nothing before it.
    this.#running.catch(() => undefined);
  }

  async end(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    this.#client.close();
  }

  async #go(from: number): Promise<void> {
    for (let step = from; ; step++) {
      const waitMs = Math.max(0, step * stepMs - Date.now());
      await sleep(waitMs, undefined, { signal: this.#stop.signal }).catch(() => undefined);
      if (this.#stop.signal.aborted) return;
      await this.#send(step);
    }
  }

  async #send(step: number): Promise<void> {
    const perRequest = 2_000;
    for (let from = 0; from < series.length; from += perRequest) {
      const body = this.#requests.encode(from, from + perRequest, [step * stepMs], (index) =>
        valueAt(index, step),
      );
      // A connection that was idle for a step may be closed just as it is reused.
      const { status, text } = await this.#client.send(body).catch(() => this.#client.send(body));
      if (status >= 300) throw new Error(`the samples were refused: ${status} ${text}`);
    }
  }
}

export interface RuleFigures {
  readonly slowest: number;
  readonly missed: number;
  readonly evaluated: number;
}

export async function readPage({ url, names }: RunningEngine): Promise<RuleFigures> {
  const page = await (await fetch(`${url}/metrics`)).text();
  const valuesOf = (name: string): number[] =>
    [...page.matchAll(new RegExp(`^${name}\\{[^\\n]*\\} (\\S+)$`, "gm"))].map(([, value]) =>
      Number(value),
    );
  const sumOf = (name: string): number => valuesOf(name).reduce((sum, value) => sum + value, 0);
  return {
    slowest: Math.max(0, ...valuesOf(names.duration)),
    missed: sumOf(names.missed),
    evaluated: sumOf(names.evaluated),
  };
}

export async function countAlerts(url: string): Promise<number> {
  const answer = (await (await fetch(`${url}/api/v1/alerts`)).json()) as {
    data: { alerts: readonly unknown[] };
  };
  return answer.data.alerts.length;
}

export async function hub(file: string): Promise<RunningEngine> {
  const dataDir = mkdtempSync(path.join(tmpdir(), "gpulse-bench-hub-"));
  const running = await startHub({ dataDir, args: ["--rules", file, "--no-default-rules"] });
  return {
    url: running.url,
    pid: running.process.pid,
    names: {
      duration: "gpulse_rule_group_last_duration_seconds",
      missed: "gpulse_rule_group_iterations_missed_total",
      evaluated: "gpulse_rule_evaluations_total",
    },
    stop: async () => {
      await running.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

export async function prometheus(file: string): Promise<RunningEngine> {
  const running = await startPrometheus({
    path: requiredTool("prometheus"),
    config: { rule_files: [file] },
    args: ["--web.enable-lifecycle"],
    logLevel: "warn",
  });
  return {
    url: running.url,
    pid: running.process.pid,
    names: {
      duration: "prometheus_rule_group_last_duration_seconds",
      missed: "prometheus_rule_group_iterations_missed_total",
      evaluated: "prometheus_rule_evaluations_total",
    },
    stop: () => running.stop(),
  };
}
