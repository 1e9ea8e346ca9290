/**
 * The well-behaved clients beside a flood: an agent whose samples must all arrive, a reader whose query is timed, and a health
 * probe.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { HubClient } from "./client.ts";
import { sample } from "./floods.ts";

const sampleEveryMs = 200;
const probeEveryMs = 50;

/** Sends a sample every 200 ms and retries until it is accepted, as an agent's spool does. */
export class InnocentAgent {
  readonly #client: HubClient;
  readonly #waiting: { readonly timeMs: number; readonly value: number }[] = [];
  #made = 0;
  retries = 0;

  constructor(client: HubClient) {
    this.#client = client;
  }

  get made(): number {
    return this.#made;
  }

  async run(isOver: () => boolean): Promise<void> {
    const sending = this.#drain(isOver);
    while (!isOver()) {
      this.#waiting.push({ timeMs: Date.now(), value: this.#made++ });
      await sleep(sampleEveryMs);
    }
    await sending;
  }

  /** The number of samples missing in the hub. */
  async lost(): Promise<number> {
    const { body } = await this.#client.send({
      path: `/api/v1/query?query=${encodeURIComponent("count_over_time(innocent[1h])")}`,
    });
    const { data } = JSON.parse(body) as { data: { result: { value: [number, string] }[] } };
    return this.#made - Number(data.result[0]?.value[1] ?? 0);
  }

  async #drain(isOver: () => boolean): Promise<void> {
    while (!isOver() || this.#waiting.length > 0) {
      const [next] = this.#waiting;
      if (next === undefined) {
        await sleep(20);
        continue;
      }
      const { status } = await this.#client.send(sample("innocent", next.value, next.timeMs));
      if (status === 204) this.#waiting.shift();
      else {
        this.retries++;
        await sleep(500);
      }
    }
  }
}

export interface Times {
  readonly medianMs: number;
  readonly p99Ms: number;
  readonly longestMs: number;
  readonly failed: number;
}

/** Repeats a request and times every response. */
export async function timeRequests(
  client: HubClient,
  path: string,
  isOver: () => boolean,
): Promise<Times> {
  const times: number[] = [];
  let failed = 0;
  while (!isOver()) {
    const beganMs = performance.now();
    const { status } = await client.send({ path });
    times.push(performance.now() - beganMs);
    if (status !== 200) failed++;
    await sleep(probeEveryMs);
  }
  times.sort((left, right) => left - right);
  const at = (part: number): number => times[Math.floor((times.length - 1) * part)] ?? Number.NaN;
  return { medianMs: at(0.5), p99Ms: at(0.99), longestMs: at(1), failed };
}
