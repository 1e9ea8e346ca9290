/**
 * Records when and by how much this machine's clock was set while frames were spooled, so that the timestamps of frames
 * from before can be corrected. A step shows as a change between the wall clock and the uptime, which cannot be set. The
 * steps are in a file beside the spool, because spooled frames survive restarts.
 */
import { readFileSync } from "node:fs";
import * as v from "valibot";
import { formatError } from "../../base/error.ts";
import type { Log } from "../../base/log.ts";
import type { Clock } from "../../base/clock.ts";
import { replaceFile } from "../../base/state/atomic.ts";

export interface ClockStepsOptions {
  readonly file: string;
  readonly clock: Clock;
  /** Uptimes of two boots cannot be compared; undefined if the system has no boot id. */
  readonly bootId: string | undefined;
  readonly log: Log;
}

const stateSchema = v.object({
  boot: v.optional(v.string()),
  /** Wall clock minus uptime. */
  offsetMs: v.number(),
  /** Frames before `position` were stamped before the clock was set; `byMs` is null if the size of the step is unknown. */
  steps: v.array(v.object({ position: v.number(), byMs: v.nullable(v.number()) })),
});
type State = v.InferOutput<typeof stateSchema>;

/** A hub accepts frames in spite of smaller steps. */
const leastStepMs = 2_000;
const maxSteps = 64;
/** Slow readings may be stamped before the clock is set and spooled after it, at most this many frames later. */
const racedFrames = 64;

export class ClockSteps {
  readonly #options: ClockStepsOptions;
  #steps: State["steps"];
  #offsetMs: number;
  #monotonicOffsetMs: number;

  constructor(options: ClockStepsOptions, nextPosition: number) {
    const { clock, bootId, file } = options;
    this.#options = options;
    const stored = read(file);
    const isSameBoot = stored !== undefined && bootId !== undefined && stored.boot === bootId;
    this.#steps = stored?.steps ?? [];
    this.#offsetMs = isSameBoot ? stored.offsetMs : clock.nowMs() - clock.uptimeMs();
    this.#monotonicOffsetMs = clock.nowMs() - clock.monotonicMs();
    if (stored !== undefined && !isSameBoot) this.#add(nextPosition, null);
    else this.observe(nextPosition);
    if (stored === undefined) this.#write();
  }

  /**
   * Must be called before each append of a frame that this machine has stamped; takes 24 µs. The monotonic clock alone
   * is not enough: it stops while the machine is suspended, and may jump with the wall clock on a machine that emulates
   * both.
   */
  observe(nextPosition: number): void {
    const { clock } = this.#options;
    const nowMs = clock.nowMs();
    const byMs = nowMs - clock.uptimeMs() - this.#offsetMs;
    const monotonicByMs = nowMs - clock.monotonicMs() - this.#monotonicOffsetMs;
    this.#offsetMs += byMs;
    this.#monotonicOffsetMs += monotonicByMs;
    if (Math.abs(byMs) < leastStepMs) return;
    // Prefers the monotonic clock's value, because uptime has a resolution of 10 ms.
    const isSame = Math.abs(byMs - monotonicByMs) < leastStepMs;
    this.#add(nextPosition, Math.round(isSame ? monotonicByMs : byMs));
  }

  /** Returns the timestamp that the frame would have with the clock as it is set now; undefined if none is plausible. */
  correct(
    timeMs: number,
    position: number,
    isPlausible: (timeMs: number) => boolean,
  ): number | undefined {
    let correctedMs = timeMs;
    for (const step of this.#steps.toReversed()) {
      if (step.position <= position && isPlausible(correctedMs)) break;
      if (step.position <= position - racedFrames) break;
      correctedMs += step.byMs ?? Number.NaN;
    }
    return isPlausible(correctedMs) ? correctedMs : undefined;
  }

  #add(position: number, byMs: number | null): void {
    this.#steps.push({ position, byMs });
    if (this.#steps.length > maxSteps) {
      this.#steps = this.#steps.slice(-maxSteps);
      // Without the removed step, the size of the oldest remaining one is unknown.
      const [oldest] = this.#steps;
      if (oldest !== undefined) oldest.byMs = null;
    }
    this.#write();
  }

  #write(): void {
    const { file, bootId, log } = this.#options;
    const state: State = {
      ...(bootId === undefined ? {} : { boot: bootId }),
      offsetMs: this.#offsetMs,
      steps: this.#steps,
    };
    try {
      replaceFile(file, `${JSON.stringify(state)}\n`);
    } catch (thrown) {
      log.warn("changes of the clock cannot be stored: they are forgotten at a restart", {
        file,
        error: formatError(thrown),
      });
    }
  }
}

function read(file: string): State | undefined {
  try {
    const parsed = v.safeParse(stateSchema, JSON.parse(readFileSync(file, "utf8")));
    return parsed.success ? parsed.output : undefined;
  } catch {
    return undefined;
  }
}
