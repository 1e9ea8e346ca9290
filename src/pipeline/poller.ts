/**
 * Reads one polled source on its schedules, one read at a time. A read past its deadline marks the source as hung; it is
 * never started twice, and its late result is discarded. A failure never affects another source.
 */
import { formatError } from "../base/error.ts";
import { limitDebug, type Log } from "../base/log.ts";
import { type Tier, tiers as tierOrder } from "../model/catalogue/index.ts";
import type { Frame } from "../model/frame.ts";
import type { PolledSource } from "../sources/source.ts";
import type { Clock } from "../base/clock.ts";
import { within } from "../base/retry.ts";
import { DeviceLog } from "./device-log.ts";
import { SourceDownFrames } from "./source-down.ts";
import {
  countReadings,
  findFrameProblem,
  type ReadOutcome,
  type SourceState,
  type TierState,
  tierState,
} from "./source-state.ts";
import { startTicker } from "./ticker.ts";

export interface PollerOptions {
  readonly intervalsMs: Readonly<Record<Tier, number>>;
  /** The read deadline of a source that does not set its own. */
  readonly deadlineMs: number;
  /** The `host` label of frames that report an unreachable source's GPUs as down. */
  readonly host: string;
  readonly clock: Clock;
  readonly log: Log;
  /** `durationMs`: how long the read took. */
  readonly deliver: (frame: Frame, tier: Tier, durationMs: number) => void;
}

/** A value stays fresh for three intervals, and for at least five seconds, so that a late tick does not expire it. */
export const freshForMs = (intervalMs: number): number => Math.max(5_000, 3 * intervalMs);

/** Slow readings cost milliseconds; static ones hardly ever change. */
export function tierIntervals(intervalMs: number): Record<Tier, number> {
  return {
    fast: intervalMs,
    slow: Math.max(intervalMs, 5_000),
    static: Math.max(intervalMs, 60_000),
  };
}

export function pollerOptions({
  intervalMs,
  host,
  clock,
  log,
}: Pick<PollerOptions, "clock" | "log"> & {
  readonly intervalMs: number;
  readonly host: string;
}): Omit<PollerOptions, "deliver"> {
  return {
    intervalsMs: tierIntervals(intervalMs),
    deadlineMs: Math.min(10_000, Math.max(1_000, 2 * intervalMs)),
    host,
    clock,
    log,
  };
}

/** After `patience` failures in a row, the pause between reads of a tier grows up to this limit. */
const patience = 3;
const longestPauseMs = 30_000;

/** A pending `refresh` call, with the tiers that have not been read successfully since it started. */
interface Refresh {
  readonly pending: Set<Tier>;
  readonly resolve: () => void;
}

export class Poller {
  readonly #source: PolledSource;
  readonly #state: SourceState;
  readonly #options: PollerOptions;
  readonly #log: Log;
  readonly #downFrames: SourceDownFrames;
  readonly #deviceLog: DeviceLog;
  readonly #due = new Map<Tier, number>();
  readonly #pausedUntilMs = new Map<Tier, number>();
  /** Monotonic, so that a clock step or a suspended process does not count as an outage. */
  readonly #succeededMs = new Map<Tier, number>();
  /** The last tick of the fastest schedule that was reported as down. */
  #downMs: number | undefined;
  #earlyMs = 0;
  readonly #refreshes = new Set<Refresh>();
  readonly #stops: (() => void)[] = [];
  readonly #abort = new AbortController();
  #reading = false;

  constructor(source: PolledSource, state: SourceState, options: PollerOptions) {
    this.#source = source;
    this.#state = state;
    if (source.process !== undefined) state.process = source.process.bind(source);
    this.#options = options;
    this.#log = limitDebug(options.log, () => options.clock.monotonicMs());
    this.#downFrames = new SourceDownFrames(options.host);
    this.#deviceLog = new DeviceLog({
      state,
      log: options.log,
      nowMs: () => options.clock.monotonicMs(),
    });
  }

  start(): void {
    const { clock, intervalsMs } = this.#options;
    for (const tier of this.#source.tiers) {
      this.#due.set(tier, clock.nowMs());
      this.#stops.push(
        startTicker(clock, intervalsMs[tier], ({ timeMs, missed }) =>
          this.#tick(tier, timeMs, missed),
        ),
      );
    }
    this.#source.onChange?.((tier) => this.#readEarly(tier));
    this.#readDue();
  }

  stop(): void {
    for (const stop of this.#stops.splice(0)) stop();
    this.#abort.abort();
  }

  /**
   * Reads every tier now, ahead of its schedule. Resolves after a read that started after this call has succeeded for
   * each tier. It never resolves if a source keeps failing, so callers limit the wait (`refreshAll`).
   */
  refresh(): Promise<void> {
    for (const tier of this.#source.tiers)
      if (!this.#due.has(tier)) this.#due.set(tier, this.#options.clock.nowMs());
    return new Promise((resolve) => {
      this.#refreshes.add({ pending: new Set(this.#source.tiers), resolve });
      this.#readDue();
    });
  }

  /** Reads a tier ahead of its schedule, unless the tier is already due or is paused after failures. */
  #readEarly(tier: Tier): void {
    const { clock } = this.#options;
    if (this.#due.has(tier) || clock.monotonicMs() < (this.#pausedUntilMs.get(tier) ?? 0)) return;
    // The timestamp must be new: a store would have two contradicting frames with the same timestamp.
    this.#earlyMs = Math.max(clock.nowMs(), this.#earlyMs + 1);
    this.#due.set(tier, this.#earlyMs);
    this.#readDue();
  }

  /** Reports the source's GPUs as down at every tick of its fastest schedule, once no frame of the source is fresh. */
  #reportDown(tier: Tier, timeMs: number): void {
    const { clock, intervalsMs, deliver } = this.#options;
    const succeededMs = this.#succeededMs.get(tier);
    if (tier !== this.#source.tiers[0] || succeededMs === undefined) return;
    const devices = this.#source.devices();
    if (clock.monotonicMs() - succeededMs <= freshForMs(intervalsMs[tier]) || devices.length === 0)
      return;
    this.#downMs = timeMs;
    const frame = this.#downFrames.at(timeMs, devices);
    const { problem } = tierState(this.#state, tier);
    this.#deviceLog.observe(frame, devices, () => `its source failed: ${problem ?? "no answer"}`);
    deliver(frame, tier, 0);
  }

  #tick(tier: Tier, timeMs: number, missed: number): void {
    const counts = tierState(this.#state, tier);
    counts.skippedTicks += missed;
    const paused = this.#options.clock.monotonicMs() < (this.#pausedUntilMs.get(tier) ?? 0);
    // A tick that is due but not yet read is skipped in favour of the newer one.
    if (this.#due.has(tier) || paused) counts.skippedTicks++;
    if (!paused) this.#due.set(tier, timeMs);
    // Only if no read follows: one timestamp must not be reported both up and down.
    if (paused || this.#state.hungSinceMs !== undefined) this.#reportDown(tier, timeMs);
    this.#readDue();
  }

  #readDue(): void {
    if (this.#reading || this.#abort.signal.aborted) return;
    const tier = tierOrder.find((name) => this.#due.has(name));
    if (tier === undefined) return;
    const dueMs = this.#due.get(tier) ?? 0;
    // A timestamp that was reported as down stays down: a read that succeeds afterwards gets a later one.
    const wasReported = tier === this.#source.tiers[0] && dueMs === this.#downMs;
    const timeMs = wasReported ? Math.max(dueMs + 1, this.#options.clock.nowMs()) : dueMs;
    this.#due.delete(tier);
    this.#reading = true;
    void this.#read(tier, timeMs).finally(() => {
      this.#reading = false;
      this.#readDue();
    });
  }

  async #read(tier: Tier, timeMs: number): Promise<void> {
    const { clock, log } = this.#options;
    const deadlineMs = this.#source.deadlineMs ?? this.#options.deadlineMs;
    const startMs = clock.monotonicMs();
    const refreshes = [...this.#refreshes];
    let late = false;
    const cancelDeadline = clock.after(deadlineMs, () => {
      late = true;
      this.#state.hungSinceMs = clock.nowMs();
      this.#end(tier, "late", `no answer for ${deadlineMs} ms`);
    });
    try {
      const frame: unknown = await this.#source.read(tier, timeMs, this.#abort.signal);
      if (late || this.#abort.signal.aborted) return;
      const problem = findFrameProblem(frame);
      if (problem !== undefined) return this.#fail(tier, timeMs, "invalid", problem);
      this.#succeed(tier, frame as Frame, clock.monotonicMs() - startMs);
      for (const refresh of refreshes) this.#finishTier(refresh, tier);
    } catch (thrown) {
      if (!late && !this.#abort.signal.aborted)
        this.#fail(tier, timeMs, "failed", formatError(thrown));
    } finally {
      cancelDeadline();
      const counts = tierState(this.#state, tier);
      counts.lastDurationSeconds = (clock.monotonicMs() - startMs) / 1_000;
      if (late) this.#recover(tier);
      if (log.isDebug === true) this.#logRead(tier, late, counts);
    }
  }

  #finishTier(refresh: Refresh, tier: Tier): void {
    refresh.pending.delete(tier);
    if (refresh.pending.size > 0) return;
    this.#refreshes.delete(refresh);
    refresh.resolve();
  }

  #logRead(tier: Tier, late: boolean, { lastDurationSeconds, readings, problem }: TierState): void {
    this.#log.debug("source read", {
      source: this.#state.name,
      tier,
      tookMs: Math.round((lastDurationSeconds ?? 0) * 1e5) / 100,
      ...(problem === undefined && !late
        ? { readings: readings?.present, absent: countAbsent(readings) }
        : { error: problem ?? "late" }),
    });
  }

  #succeed(tier: Tier, frame: Frame, durationMs: number): void {
    const counts = tierState(this.#state, tier);
    counts.lastSuccessMs = this.#options.clock.nowMs();
    this.#succeededMs.set(tier, this.#options.clock.monotonicMs());
    counts.readings = countReadings(frame);
    this.#end(tier, "ok");
    this.#deviceLog.observe(frame, this.#source.devices(), (uuid) => this.#source.lossOf?.(uuid));
    this.#options.deliver(frame, tier, durationMs);
  }

  #fail(tier: Tier, timeMs: number, outcome: ReadOutcome, problem: string): void {
    this.#end(tier, outcome, problem);
    // If a newer tick is due already, the read for that tick reports the state.
    if (!this.#due.has(tier)) this.#reportDown(tier, timeMs);
  }

  /** Logs only the first failure after a success, and recoveries, so a source that fails ten times a second is one line. */
  #end(tier: Tier, outcome: ReadOutcome, problem?: string): void {
    const { log, clock, intervalsMs } = this.#options;
    const counts = tierState(this.#state, tier);
    counts.reads[outcome]++;
    counts.success = outcome === "ok";
    if (problem === undefined) {
      if (counts.problem !== undefined)
        log.info("source recovered", { source: this.#state.name, tier });
      delete counts.problem;
      counts.failuresInARow = 0;
      return;
    }
    if (counts.problem === undefined) {
      log.warn("source failed", {
        source: this.#state.name,
        tier,
        outcome,
        error: problem,
      });
    }
    counts.problem = problem;
    counts.failuresInARow++;
    const over = counts.failuresInARow - patience;
    if (over < 0) return;
    const pauseMs = Math.min(longestPauseMs, intervalsMs[tier] * 2 ** Math.min(over, 20));
    this.#pausedUntilMs.set(tier, clock.monotonicMs() + pauseMs);
  }

  /** The hung call has returned: reads again at the next tick instead of waiting for the pause to end. */
  #recover(tier: Tier): void {
    delete this.#state.hungSinceMs;
    tierState(this.#state, tier).failuresInARow = 0;
    this.#pausedUntilMs.delete(tier);
  }
}

function countAbsent(readings: TierState["readings"]): number {
  let absent = 0;
  for (const [name, count] of Object.entries(readings ?? {}))
    if (name !== "present") absent += count;
  return absent;
}

/** Reads every tier of every source now, and waits until all reads have succeeded or the deadline has passed. */
export async function refreshAll(
  pollers: readonly Poller[],
  clock: Clock,
  deadlineMs: number,
): Promise<void> {
  if (pollers.length === 0) return;
  await within(Promise.all(pollers.map((poller) => poller.refresh())), deadlineMs, clock);
}
