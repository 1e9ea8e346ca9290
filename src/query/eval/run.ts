/** One query's evaluation: its limits, its samples so far, its annotations, and when to let others run. */
import type { ClientKey } from "../../base/fair/client-key.ts";
import { loopTurns } from "../../base/fair/loop-turns.ts";
import type { VectorSelector } from "../ast.ts";
import type { HeldSamples } from "../admission.ts";
import { Annotations } from "../annotations.ts";
import { executionError, QueryError, tooManySamples } from "../errors.ts";
import { bytesOfSteps, type Reservation } from "../memory.ts";
import type { SharedSelects } from "../shared-selects.ts";
import type { StartTimesBySeries } from "./start-times.ts";
import type { Queryable, SelectedSeries } from "../../model/select.ts";

export interface QueryRunOptions {
  readonly lookbackMs: number;
  readonly maxSamples: number;
  readonly timeoutMs: number;
  readonly delayedNameRemoval: boolean;
  readonly typeAndUnitLabels: boolean;
  /** Counter resets also follow from the start times of samples. */
  readonly usesStartTimes: boolean;
  readonly defaultSubqueryStepMs: number;
  readonly maxSubqueryDepth: number;
  /** The samples of all running queries. */
  readonly samples: HeldSamples;
  readonly memory: Reservation;
  readonly nowMs: () => number;
  readonly signal?: AbortSignal | undefined;
  readonly client?: ClientKey | undefined;
  readonly patienceMs?: number | undefined;
  readonly selects?: SharedSelects | undefined;
}

/** How long evaluation may keep the event loop before it yields. */
const breathMs = 12;
/** So many small things are done between two looks at the clock; going through this many samples counts as one. */
const callsPerLook = 64;
const samplesPerCall = 8_192;
/** The longest label a function may make; nested calls could otherwise double it each time. */
const maxLabelLetters = 16_384;
/** All labels that functions make in one query, together. */
const maxMadeLetters = 32 * 1024 * 1024;

export class QueryRun {
  readonly query: string;
  readonly options: QueryRunOptions;
  readonly queryable: Queryable;
  readonly maxLabelLetters = maxLabelLetters;
  readonly annotations = new Annotations();
  readonly selected = new Map<VectorSelector, readonly SelectedSeries[]>();
  /** The start times of what a selector selects, by label set; only where there are any and they matter. */
  readonly startTimes = new Map<VectorSelector, StartTimesBySeries>();
  /** Samples looked at, as Prometheus counts them for its statistics. */
  totalSamples = 0;
  peakSamples = 0;
  readonly samplesPerStep: Float64Array | undefined;
  /** Equal labels were let through at one instant: the end has to look for them. */
  mayHoldEqual = false;
  private held = 0;
  private madeLetters = 0;
  private calls = 0;
  private readonly deadlineMs: number;
  private lastBreathMs: number;

  constructor(
    query: string,
    queryable: Queryable,
    options: QueryRunOptions,
    steps: number,
    perStep: boolean,
  ) {
    this.query = query;
    this.queryable = queryable;
    this.options = options;
    this.lastBreathMs = options.nowMs();
    this.deadlineMs = this.lastBreathMs + options.timeoutMs;
    this.samplesPerStep = perStep ? new Float64Array(steps) : undefined;
  }

  /** Counts samples now in memory against the limit. */
  hold(samples: number): void {
    this.held += samples;
    this.options.samples.hold(samples);
    if (this.held > this.peakSamples) this.peakSamples = this.held;
    if (this.held > this.options.maxSamples) throw tooManySamples();
  }

  release(samples: number): void {
    this.held -= samples;
    this.options.samples.release(samples);
  }

  tally(step: number, samples: number): void {
    this.totalSamples += samples;
    const counts = this.samplesPerStep;
    if (counts !== undefined) counts[step] = (counts[step] ?? 0) + samples;
  }

  /** What is left of its time, for a worker thread with a clock of its own. */
  get leftMs(): number {
    return Math.max(0, this.deadlineMs - this.options.nowMs());
  }

  get heldSamples(): number {
    return this.held;
  }

  /** Reserves memory for series of so many steps, filled or not, before they are made. */
  takeSeries(series: number, steps: number): void {
    this.options.memory.take(bytesOfSteps(series, steps));
  }

  /** The same for all that a selection may give: refused before the first is made, or after a wait for other queries. */
  reserveSeries(series: number, steps: number): Promise<void> {
    return this.options.memory.reserve(bytesOfSteps(series, steps), this.options.signal);
  }

  giveSeries(series: number, steps: number): void {
    this.options.memory.give(bytesOfSteps(series, steps));
  }

  /** Counts the text of a label that a function is about to make. */
  makes(letters: number): void {
    this.madeLetters += letters;
    if (letters > maxLabelLetters)
      throw executionError(`a label of more than ${maxLabelLetters} letters is not made`);
    if (this.madeLetters > maxMadeLetters)
      throw executionError("query would make too much label text");
  }

  /** Whether to yield to the event loop; reads the clock only now and then. `samples`: processed since the last call. */
  isDue(samples = 0): boolean {
    this.calls += 1 + samples / samplesPerCall;
    if (this.calls < callsPerLook) return false;
    this.calls = 0;
    return this.options.nowMs() - this.lastBreathMs >= breathMs;
  }

  /** Throws when the query was cancelled or took too long; lets the event loop turn when it is time. */
  async breathe(): Promise<void> {
    const now = this.options.nowMs();
    this.check(now);
    if (now - this.lastBreathMs < breathMs) return;
    const { client } = this.options;
    await loopTurns.turn(client === undefined ? "hub" : "query", client);
    this.lastBreathMs = this.options.nowMs();
    this.check(this.lastBreathMs);
  }

  private check(now: number): void {
    if (this.options.signal?.aborted === true) {
      throw new QueryError("canceled", "query was canceled in expression evaluation");
    }
    if (now > this.deadlineMs)
      throw new QueryError("timeout", "query timed out in expression evaluation");
  }
}
