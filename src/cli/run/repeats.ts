/** Combines the repeats of `gpulse run --repeats` once all have run. Holds figures, not traces. */
import path from "node:path";
import { seriesOf } from "../../hub/compare/run-series.ts";
import { type Figures, figuresOf } from "../../runs/compare/figures.ts";
import { metrics } from "../../runs/compare/metrics.ts";
import { formatMeasurement } from "../../runs/compare/quantity.ts";
import {
  adviseRepeats,
  FEWEST_TO_JUDGE,
  outlierSentence,
  type RepeatAdvice,
  type RepeatReview,
  reviewRepeats,
  warmUpSentence,
} from "../../runs/compare/repeats.ts";
import type { Run, RunFile } from "../../runs/run.ts";

export interface SavedRun {
  readonly file: string;
  readonly seal: string;
  readonly made: RunFile;
}

interface RepeatFigures {
  readonly file: string;
  readonly seal: string;
  readonly run: Run;
  readonly figures: Figures;
}

export class RepeatedRuns {
  readonly #runs: RepeatFigures[] = [];

  add({ file, seal, made }: SavedRun): void {
    const figures = figuresOf(seriesOf(file, made), metrics);
    this.#runs.push({ file, seal, run: made.run, figures });
  }

  #review(): RepeatReview | undefined {
    const named = this.#runs.map(({ file, figures }) => ({ run: path.basename(file), figures }));
    const worked = this.#runs.every(({ figures }) => {
      const value = figures.get("perWatt")?.value;
      return value !== undefined && "value" in value;
    });
    return reviewRepeats(named, worked ? "perWatt" : "power");
  }

  /** JSON: the list of runs, each as for a single run, and their combined result. */
  json(): object {
    const review = this.#review();
    const advice = adviseRepeats([review]);
    return {
      runs: this.#runs.map(({ file, seal, run }) => ({ file, seal, ...run })),
      ...(review === undefined ? {} : { repeats: review }),
      ...(advice === undefined ? {} : { advice }),
    };
  }

  summary(): readonly string[] {
    const review = this.#review();
    if (review === undefined || this.#runs.length < 2) return [];
    const advice = adviseRepeats([review]);
    return [
      this.#meanLine(review),
      ...review.warmUp.map(warmUpSentence),
      ...review.outliers.map(outlierSentence),
      adviceLine(review, advice),
    ];
  }

  #meanLine({ metric, used, warmUp, spreadRatio }: RepeatReview): string {
    const entry = metrics.find(({ key }) => key === metric);
    const values = this.#runs.slice(warmUp.length).flatMap(({ figures }) => {
      const value = figures.get(metric)?.value;
      return value !== undefined && "value" in value ? [value.value] : [];
    });
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const unit = this.#runs[0]?.run.work?.unit;
    const shown = entry === undefined ? "" : formatMeasurement(mean, entry.unit, unit);
    const spread =
      spreadRatio === undefined
        ? ""
        : `, standard deviation ${Number((100 * spreadRatio).toPrecision(2))} %`;
    return `${used} repeats: ${entry?.title.toLowerCase() ?? metric} ${shown.replaceAll("\u00a0", " ")}${spread}`;
  }
}

function adviceLine({ used }: RepeatReview, advice: RepeatAdvice | undefined): string {
  const judged =
    used < FEWEST_TO_JUDGE ? `; warm-up and outliers need ${FEWEST_TO_JUDGE} repeats` : "";
  return advice === undefined
    ? `too few repeats to know the spread: record at least three${judged}`
    : `${advice.sentence.replace(/\.$/, "")}${judged}`;
}
