/** One query's evaluation: its limits, sample counts, annotations, and when to yield to the event loop. */
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
  /** Also detects counter resets from the start times of samples. */
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

/** Maximum time of evaluation before it yields to the event loop. */
const breathMs = 12;
/** Number of small operations between two checks of the time; this many processed samples count as one operation. */
const callsPerLook = 64;
const samplesPerCall = 8_192;
/** The maximum length of a label from a function; nested calls could otherwise double it each time. */
const maxLabelLetters = 16_384;
/** Limit for all labels that functions create in one query. */
const maxMadeLetters = 32 * 1024 * 1024;

export class QueryRun {
  readonly query: string;
  readonly options: QueryRunOptions;
  readonly queryable: Queryable;
  readonly maxLabelLetters = maxLabelLetters;
  readonly annotations = new Annotations();
  readonly selected = new Map<VectorSelector, readonly SelectedSeries[]>();
  /** The start times of a selector's samples, by label set; only if they exist and are relevant. */
  readonly startTimes = new Map<VectorSelector, StartTimesBySeries>();
  /** Processed samples, as counted in Prometheus's statistics. */
  totalSamples = 0;
  peakSamples = 0;
  readonly samplesPerStep: Float64Array | undefined;
  /** True if equal labels are possible at one timestamp and have to be detected at the end. */
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

  /** Counts samples in memory against the limit. */
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

  /** The remaining time, for a worker thread with its own clock. */
  get leftMs(): number {
    return Math.max(0, this.deadlineMs - this.options.nowMs());
  }

  get heldSamples(): number {
    return this.held;
  }

  /** Reserves memory for series with this many steps before they are created. */
  takeSeries(series: number, steps: number): void {
    this.options.memory.take(bytesOfSteps(series, steps));
  }

  /** Reserves memory for all series of a selection in advance; waits for other queries if necessary. */
  reserveSeries(series: number, steps: number): Promise<void> {
    return this.options.memory.reserve(bytesOfSteps(series, steps), this.options.signal);
  }

  giveSeries(series: number, steps: number): void {
    this.options.memory.give(bytesOfSteps(series, steps));
  }

  /** Counts the length of a label that a function is about to create. */
  makes(letters: number): void {
    this.madeLetters += letters;
    if (letters > maxLabelLetters)
      throw executionError(`a label of more than ${maxLabelLetters} letters is not made`);
    if (this.madeLetters > maxMadeLetters)
      throw executionError("query would make too much label text");
  }

  /**
   * True if evaluation should yield to the event loop; checks the time only occasionally. `samples`: processed since the
   * last call.
   */
  isDue(samples = 0): boolean {
    this.calls += 1 + samples / samplesPerCall;
    if (this.calls < callsPerLook) return false;
    this.calls = 0;
    return this.options.nowMs() - this.lastBreathMs >= breathMs;
  }

  /** Throws if the query was canceled or timed out; yields to the event loop if it is due. */
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
