/** All groups, each on its own schedule. A reload keeps the state of what stays; one slow group does not hold up another. */
import { sayError } from "../../errors/error.ts";
import type { Clock } from "../../pipeline/clock.ts";
import type { RuleContext } from "./context.ts";
import { Group } from "./group.ts";
import type { RuleGroup } from "./types.ts";

interface Running {
  readonly group: Group;
  readonly stop: AbortController;
  done: Promise<void>;
}

export class RuleEngine {
  readonly #context: RuleContext;
  readonly #clock: Clock;
  readonly #defaultIntervalMs: number;
  #running = new Map<string, Running>();

  constructor(context: RuleContext, clock: Clock, defaultIntervalMs: number) {
    this.#context = context;
    this.#clock = clock;
    this.#defaultIntervalMs = defaultIntervalMs;
  }

  get groups(): readonly Group[] {
    return [...this.#running.values()].map(({ group }) => group);
  }

  /** Goes over to these groups. */
  async update(definitions: readonly RuleGroup[]): Promise<void> {
    const before = this.#running;
    const next = definitions.map((definition) => new Group(definition, this.#defaultIntervalMs));
    for (const { stop } of before.values()) stop.abort();
    await Promise.all([...before.values()].map(({ done }) => done));
    this.#running = new Map();
    for (const group of next) {
      const old = before.get(group.key);
      if (old !== undefined) group.adopt(old.group);
      before.delete(group.key);
      this.#start(group);
    }
    for (const { group } of before.values())
      await group.end(this.#clock.nowMs(), this.#context).catch((thrown: unknown) =>
        this.#context.log.warn("a rule's series could not be ended", {
          trouble: sayError(thrown),
        }),
      );
  }

  async close(): Promise<void> {
    for (const { stop } of this.#running.values()) stop.abort();
    await Promise.all([...this.#running.values()].map(({ done }) => done));
    this.#running.clear();
  }

  #start(group: Group): void {
    const stop = new AbortController();
    const running: Running = { group, stop, done: Promise.resolve() };
    running.done = this.#loop(group, stop.signal);
    this.#running.set(group.key, running);
  }

  async #loop(group: Group, signal: AbortSignal): Promise<void> {
    const { intervalMs } = group;
    const offsetMs = group.offsetMs();
    const slotAfter = (timeMs: number): number =>
      Math.floor((timeMs - offsetMs) / intervalMs + 1) * intervalMs + offsetMs;
    let slotMs = slotAfter(this.#clock.nowMs() - 1);
    while (await this.#waitUntil(slotMs, signal)) {
      await group.evaluate(slotMs, this.#context, signal);
      const next = slotAfter(slotMs);
      const now = this.#clock.nowMs();
      slotMs = next >= now - intervalMs ? next : slotAfter(now - intervalMs);
      group.missed += Math.round((slotMs - next) / intervalMs);
    }
  }

  /** False when told to stop. */
  #waitUntil(timeMs: number, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const cancel = this.#clock.after(Math.max(0, timeMs - this.#clock.nowMs()), () => {
        signal.removeEventListener("abort", stopped);
        resolve(true);
      });
      const stopped = (): void => {
        cancel();
        resolve(false);
      };
      signal.addEventListener("abort", stopped, { once: true });
    });
  }
}
