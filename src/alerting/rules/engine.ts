/**
 * Runs all groups, each on its own schedule. A reload keeps the state of unchanged groups; a slow group does not delay another.
 */
import { pause } from "../../base/retry.ts";
import type { Clock } from "../../base/clock.ts";
import { SharedSelects } from "../../query/shared-selects.ts";
import type { RuleContext } from "./context.ts";
import { RuleGroupRunner } from "./group.ts";
import { ConcurrencyLimiter } from "./concurrency-limiter.ts";
import { offsetMs } from "./offset.ts";
import type { RuleGroup } from "./types.ts";

interface RunningGroup {
  readonly group: RuleGroupRunner;
  readonly stop: AbortController;
  done: Promise<void>;
}

/** Settings that a reload may change besides the groups. */
export type RuleSettings = Pick<RuleContext, "externalLabels" | "externalUrl" | "queryOffsetMs"> & {
  readonly intervalMs: number;
};

export type RuleEngineContext = Omit<RuleContext, keyof RuleSettings>;

/**
 * Groups evaluated concurrently; the others wait. Evaluation uses one processor, and fifty concurrent groups would only need
 * fifty times the memory; two, since one may wait for an external engine.
 */
const groupsAtOnce = 2;

export class RuleEngine {
  readonly #base: RuleEngineContext;
  readonly #clock: Clock;
  readonly #instants = new Map<number, { readonly selects: SharedSelects; users: number }>();
  readonly #limiter = new ConcurrencyLimiter(groupsAtOnce);
  #settingsKey = "";
  #running = new Map<string, RunningGroup>();
  #started = false;
  #closed = false;

  constructor(base: RuleEngineContext, clock: Clock) {
    this.#base = base;
    this.#clock = clock;
  }

  /** Sorted by file and name. */
  get groups(): readonly RuleGroupRunner[] {
    return [...this.#running.values()]
      .map(({ group }) => group)
      .sort(({ definition: left }, { definition: right }) =>
        left.file === right.file
          ? left.name < right.name
            ? -1
            : 1
          : left.file < right.file
            ? -1
            : 1,
      );
  }

  /** Switches to these groups. Unchanged groups continue undisturbed. */
  async update(definitions: readonly RuleGroup[], settings: RuleSettings): Promise<void> {
    if (this.#closed) return;
    const settingsKey = keyOf({ ...settings, externalLabels: [...settings.externalLabels] });
    const same = settingsKey === this.#settingsKey;
    this.#settingsKey = settingsKey;
    const context = { ...this.#base, ...settings };
    const before = this.#running;
    const next = new Map<string, RunningGroup | RuleGroupRunner>();
    for (const definition of definitions) {
      const group = new RuleGroupRunner(definition, settings.intervalMs, !this.#started);
      const old = before.get(group.key);
      const stays = same && old !== undefined && keyOf(old.group.definition) === keyOf(definition);
      next.set(group.key, stays ? old : group);
    }
    const groups = [...next.values()].map((one) =>
      one instanceof RuleGroupRunner ? one : one.group,
    );
    if (!this.#started) this.#expect(groups, context);
    this.#started = true;
    const leaving = [...before].filter(([key, running]) => next.get(key) !== running);
    for (const [, { stop }] of leaving) stop.abort();
    await Promise.all(leaving.map(([, { done }]) => done));
    const removed = leaving.filter(([key]) => !next.has(key));
    for (const [, { group }] of removed) await group.end(this.#clock.nowMs(), context);
    this.#running = new Map();
    for (const [key, one] of next) {
      if (!(one instanceof RuleGroupRunner)) this.#running.set(key, one);
      else {
        const old = before.get(key);
        if (old !== undefined) one.adopt(old.group);
        this.#start(one, context);
      }
    }
    const rules = groups.flatMap(({ runs }) => runs.map(({ key }) => key));
    context.firing?.forgetOthers(new Set(rules));
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const { stop } of this.#running.values()) stop.abort();
    await Promise.all([...this.#running.values()].map(({ done }) => done));
  }

  /** Restores the alerts that fired before a restart. */
  #expect(groups: readonly RuleGroupRunner[], context: RuleContext): void {
    const { firing } = context;
    if (firing === undefined) return;
    const nowMs = this.#clock.nowMs();
    const expected = groups.flatMap((group) => group.expect(firing, nowMs, context));
    if (expected.length > 0) context.hold?.(expected);
  }

  #start(group: RuleGroupRunner, context: RuleContext): void {
    const stop = new AbortController();
    const running: RunningGroup = { group, stop, done: Promise.resolve() };
    running.done = this.#loop(group, context, stop.signal);
    this.#running.set(group.key, running);
  }

  async #loop(group: RuleGroupRunner, context: RuleContext, signal: AbortSignal): Promise<void> {
    const { intervalMs } = group;
    const offset = offsetMs(group.definition.file, intervalMs);
    const slotAfter = (timeMs: number): number =>
      Math.floor((timeMs - offset) / intervalMs + 1) * intervalMs + offset;
    let slotMs = slotAfter(this.#clock.nowMs() - 1);
    while (await this.#waitUntil(slotMs, signal)) {
      await this.#sharing(slotMs, (selects) =>
        group.evaluate(slotMs, context, { signal, selects }),
      );
      const next = slotAfter(slotMs);
      const now = this.#clock.nowMs();
      // After the clock was set back, do not wait until it has caught up.
      if (next - now > 2 * intervalMs) slotMs = slotAfter(now);
      else slotMs = next >= now - intervalMs ? next : slotAfter(now - intervalMs);
      group.missed += Math.max(0, Math.round((slotMs - next) / intervalMs));
    }
  }

  /** Shares the selected series between groups that are evaluated at the same instant. */
  async #sharing(timeMs: number, work: (selects: SharedSelects) => Promise<void>): Promise<void> {
    const shared = this.#instants.get(timeMs) ?? { selects: new SharedSelects(), users: 0 };
    this.#instants.set(timeMs, shared);
    shared.users++;
    try {
      await this.#limiter.run(() => work(shared.selects));
    } finally {
      if (--shared.users === 0) this.#instants.delete(timeMs);
    }
  }

  /** Returns false if stopped. */
  async #waitUntil(timeMs: number, signal: AbortSignal): Promise<boolean> {
    await pause(Math.max(0, timeMs - this.#clock.nowMs()), signal, this.#clock);
    return !signal.aborted;
  }
}

const keyOf = (value: unknown): string => JSON.stringify(value);
