/** Attacks a hub with limited memory: many series, and range queries over all of them. */
import { existsSync, readFileSync } from "node:fs";
import type { Answer, HubClient } from "../../bench/overload/client.ts";

const seriesPerRequest = 5_000;

/** Writes series as a cluster with many pods has them, one sample each; returns the responses. */
export async function writeSeries(
  client: HubClient,
  metric: string,
  count: number,
  timeMs: number,
): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  for (let from = 0; from < count; from += seriesPerRequest) {
    const lines: string[] = [];
    for (let at = from; at < Math.min(count, from + seriesPerRequest); at++)
      lines.push(
        `${metric},host=node-${at % 1_000},namespace=team-${at % 20},pod=worker-${at}-x7k2p,uuid=GPU-${at % 8_000} value=${at % 100} ${timeMs}`,
      );
    const path = "/api/v2/write?bucket=b&precision=ms";
    answers.push(await client.send({ path, body: lines.join("\n") }));
  }
  return answers;
}

export const rangeQuery = (
  client: HubClient,
  query: string,
  endMs: number,
  steps: number,
): Promise<Answer> => {
  const end = Math.floor(endMs / 1_000);
  const asked = new URLSearchParams({ query, end: String(end), step: "1" });
  asked.set("start", String(end - steps + 1));
  return client.send({ path: `/api/v1/query_range?${asked.toString()}` });
};

/** Tracks a process's resident memory; undefined if /proc does not report it. */
export class ResidentMemory {
  readonly #file: string;
  readonly #timer: NodeJS.Timeout;
  peakBytes = 0;

  constructor(pid: number, everyMs = 50) {
    this.#file = `/proc/${pid}/status`;
    this.#timer = setInterval(() => this.#look(), everyMs);
    this.#look();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const text = existsSync(this.#file) ? readFileSync(this.#file, "utf8") : "";
    const kibibytes = Number(/^VmRSS:\s+(\d+)/m.exec(text)?.[1] ?? 0);
    this.peakBytes = Math.max(this.peakBytes, kibibytes * 1_024);
  }
}
