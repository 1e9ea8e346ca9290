/**
 * The cost of a hub under load and its responsiveness: processor time and memory from /proc, repeated `/-/healthy` requests, and
 * its own counters.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { peakBytes } from "./hub-engines.ts";
import { quantile } from "./hub-print.ts";
import { processCost } from "./process-cost.ts";

export interface LoadFigures {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  readonly peakBytes: number;
  readonly healthyMedianMs: number;
  readonly healthyP99Ms: number;
  /** Since the watch began. */
  readonly shed: Readonly<Record<string, number>>;
  readonly problems: readonly string[];
}

const probeEveryMs = 200;

export class HubWatch {
  readonly #url: string;
  readonly #pid: number;
  readonly #waitsMs: number[] = [];
  readonly #beganMs = performance.now();
  readonly #before: ReturnType<typeof processCost>;
  readonly #shedBefore: Promise<Record<string, number>>;
  readonly #probing: Promise<void>;
  #over = false;

  constructor(url: string, pid: number) {
    this.#url = url;
    this.#pid = pid;
    this.#before = processCost(pid);
    this.#shedBefore = shedOf(url);
    this.#probing = this.#probe();
  }

  async end(): Promise<LoadFigures> {
    this.#over = true;
    const seconds = (performance.now() - this.#beganMs) / 1_000;
    const { cpuSeconds, residentBytes } = processCost(this.#pid);
    await this.#probing;
    const [before, now] = [await this.#shedBefore, await shedOf(this.#url)];
    const problems = await problemsOf(this.#url);
    return {
      seconds,
      cpuSeconds: cpuSeconds - this.#before.cpuSeconds,
      residentBytes,
      peakBytes: peakBytes(this.#pid),
      healthyMedianMs: quantile(this.#waitsMs, 0.5),
      healthyP99Ms: quantile(this.#waitsMs, 0.99),
      shed: Object.fromEntries(
        Object.entries(now).map(([what, count]) => [what, count - (before[what] ?? 0)]),
      ),
      problems: problems.filter((problem) => problem.startsWith("asked for more")),
    };
  }

  async #probe(): Promise<void> {
    while (!this.#over) {
      const beganMs = performance.now();
      await fetch(`${this.#url}/-/healthy`).then(
        (answer) => answer.arrayBuffer(),
        () => undefined,
      );
      this.#waitsMs.push(performance.now() - beganMs);
      await sleep(probeEveryMs);
    }
  }
}

/** An overloaded hub may reject this request too. */
async function problemsOf(url: string): Promise<readonly string[]> {
  const answer = await fetch(`${url}/-/ready`);
  const text = await answer.text();
  const { problems } = JSON.parse(text) as { problems?: readonly string[] };
  return problems ?? [`/-/ready answered ${answer.status}: ${text}`];
}

/** From the hub's own metrics. */
export async function shedOf(url: string): Promise<Record<string, number>> {
  const page = await (await fetch(`${url}/metrics`)).text();
  return Object.fromEntries(
    [...page.matchAll(/^gpulse_hub_shed_total\{what="(\w+)"\} (\d+)$/gm)].map(([, what, count]) => [
      what ?? "",
      Number(count),
    ]),
  );
}

export async function valueOf(url: string, query: string): Promise<number> {
  const answer = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(query)}`);
  const { data } = (await answer.json()) as { data: { result: { value: [number, string] }[] } };
  return Number(data.result[0]?.value[1] ?? 0);
}
