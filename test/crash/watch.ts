// What a hub shows of itself while the lab waits for it.

import { setTimeout as sleep } from "node:timers/promises";

import type { RunningHub } from "../../engines/hub.ts";

const shownLines = 20;

export const lastLinesOf = (output: string): string =>
  output.trimEnd().split("\n").slice(-shownLines).join("\n");

export const lastLines = (hub: RunningHub): string => lastLinesOf(hub.process.output());

export const isListening = (hub: RunningHub): boolean => / is up/.test(hub.process.output());

/** Waits that end when the hub does. */
export class Deadline {
  readonly #hub: RunningHub;

  constructor(hub: RunningHub) {
    this.#hub = hub;
  }

  async until(limitMs: number, isDone: () => boolean): Promise<void> {
    const endMs = performance.now() + limitMs;
    while (performance.now() < endMs && !isDone() && this.#hub.process.exited() === undefined)
      await sleep(5);
  }
}
