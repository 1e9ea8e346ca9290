/** Progress of a long command on standard error: one line that updates on a terminal, a plain line every 10 s elsewhere. */
import { formatDuration } from "../../config/duration.ts";
import { countOf, formatBytes, formatCount } from "./quantity.ts";
import type { CommandIo } from "./io.ts";

const barWidth = 24;
const drawEveryMs = 200;
const lineEveryMs = 10_000;
/** An earlier estimate of the remaining time would be unstable. */
const estimateAfterMs = 1_000;

export interface ProgressStep {
  /** The current step, such as the name of a file. */
  readonly name: string;
  /** From 0 to 1; absent if the total is unknown. */
  readonly fraction?: number | undefined;
  /** Units done so far, for the rate. */
  readonly count?: number;
  /** The singular noun of the unit, such as `sample`; a `byte` is shown as MB. */
  readonly unit?: string;
  readonly notes?: readonly string[];
}

export class Progress {
  readonly #stderr: CommandIo["stderr"];
  readonly #nowMs: () => number;
  readonly #isTerminal: boolean;
  readonly #isShown: boolean;
  #name: string | undefined;
  #begin = { ms: 0, fraction: 0, count: 0 };
  #lastMs: number;
  #isDrawn = false;

  /** With `--json`, progress is only shown on a terminal. */
  constructor(stderr: CommandIo["stderr"], nowMs: () => number, json = false) {
    this.#stderr = stderr;
    this.#nowMs = nowMs;
    this.#isTerminal = stderr.isTTY === true;
    this.#isShown = this.#isTerminal || !json;
    this.#lastMs = nowMs();
    this.#begin = { ms: this.#lastMs, fraction: 0, count: 0 };
  }

  /** Draws at most five times a second; a new name restarts the rate and the estimate. */
  show(step: ProgressStep): void {
    const nowMs = this.#nowMs();
    if (this.#name !== undefined && this.#name !== step.name)
      this.#begin = { ms: nowMs, fraction: step.fraction ?? 0, count: step.count ?? 0 };
    this.#name = step.name;
    if (!this.#isShown || nowMs - this.#lastMs < (this.#isTerminal ? drawEveryMs : lineEveryMs))
      return;
    this.#lastMs = nowMs;
    const text = this.line(step);
    if (!this.#isTerminal) {
      this.#stderr.write(`${text}\n`);
      return;
    }
    const columns = this.#stderr.columns ?? 80;
    const bar = step.fraction === undefined ? "" : `${barOf(step.fraction)} `;
    this.#stderr.write(`\r\u001b[K${`${bar}${text}`.slice(0, Math.max(20, columns - 1))}`);
    this.#isDrawn = true;
  }

  /** Shows the step periodically; returns the function that stops it. */
  watch(step: () => ProgressStep): () => void {
    const timer = setInterval(() => this.show(step()), drawEveryMs);
    timer.unref();
    return () => {
      clearInterval(timer);
      this.clear();
    };
  }

  /** `power.csv   50 %  5,000 samples  5,000/s  1m20s left`. */
  line({ name, fraction, count, unit = "step", notes = [] }: ProgressStep): string {
    const elapsedMs = Math.max(1, this.#nowMs() - this.#begin.ms);
    const rate = ((count ?? 0) - this.#begin.count) / (elapsedMs / 1_000);
    const isSize = unit === "byte";
    const done = (fraction ?? 0) - this.#begin.fraction;
    const leftMs = (elapsedMs * (1 - (fraction ?? 0))) / done;
    return [
      name === "" ? undefined : name,
      fraction === undefined ? undefined : percentOf(fraction),
      ...(count === undefined
        ? []
        : [
            isSize ? formatBytes(count) : countOf(count, unit),
            `${isSize ? formatBytes(rate) : formatCount(Math.round(rate))}/s`,
          ]),
      ...notes,
      done > 0 && elapsedMs >= estimateAfterMs && (fraction ?? 1) < 1
        ? `${formatDuration(Math.ceil(leftMs / 1_000) * 1_000)} left`
        : undefined,
    ]
      .filter((text) => text !== undefined)
      .join("  ");
  }

  /** Clears the progress line for other output. */
  clear(): void {
    if (this.#isDrawn) this.#stderr.write("\r\u001b[K");
    this.#isDrawn = false;
  }
}

const within = (fraction: number): number => Math.min(1, Math.max(0, fraction));

const percentOf = (fraction: number): string =>
  `${Math.floor(within(fraction) * 100)} %`.padStart(5);

function barOf(fraction: number): string {
  const filled = Math.round(within(fraction) * barWidth);
  return `${"█".repeat(filled)}${"░".repeat(barWidth - filled)}`;
}
