/** The callbacks that receive a page of metrics, so that the parser stores nothing itself. */
import type { HistogramFault } from "../../model/histogram/check.ts";
import type { Histogram } from "../../model/histogram/histogram.ts";
import type { LabelSet } from "../../model/labels.ts";
import { GpulseError } from "../../base/error.ts";

export type ExpositionFormat = "text" | "openmetrics" | "protobuf";
/** The line-based formats. */
export type TextFormat = Exclude<ExpositionFormat, "protobuf">;

export interface PageExemplar {
  readonly labels: LabelSet;
  readonly value: number;
  /** The time of its sample if absent. */
  readonly timeMs: number | undefined;
}

/** `Handle` is what the caller stores per series of a target; it is created once and cached across pages. */
export interface PageVisitor<Handle> {
  /**
   * Opens a series whose text was not on an earlier page. Labels are sorted, `__name__` included, none empty; labels that the page
   * sets to the empty string (`instance=""`) are listed separately.
   */
  open(labels: LabelSet, emptied: readonly string[]): Handle;
  /** A sample without a timestamp has the time of the scrape. An exception ends the parsing and is rethrown. */
  sample(handle: Handle, value: number, timeMs: number | undefined): void;
  /** A native histogram instead of a number; a malformed one is passed as its fault. */
  histogram?(handle: Handle, checked: Histogram | HistogramFault, timeMs: number | undefined): void;
  /** The exemplar of the preceding sample. */
  exemplar?(handle: Handle, exemplar: PageExemplar): void;
  /** The start time of the preceding sample's series. */
  start?(handle: Handle, startMs: number): void;
  metadata?(kind: "type" | "help" | "unit", family: string, text: string): void;
}

export interface PageCounts {
  readonly samples: number;
  /** Series whose text was new. */
  readonly opened: number;
  readonly exemplars: number;
}

const shownBytes = 80;

export class ExpositionError extends GpulseError {
  readonly line: number;

  constructor(line: number, sentence: string) {
    super("PAGE_INVALID", `line ${line}: ${sentence}`);
    this.name = "ExpositionError";
    this.line = line;
  }
}

/** Counts lines only in case of an error, and quotes the line at fault. */
export function pageError(bytes: Buffer, at: number, sentence: string): ExpositionError {
  let line = 1;
  let start = 0;
  for (let next = bytes.indexOf(10); next !== -1 && next < at; next = bytes.indexOf(10, start)) {
    line++;
    start = next + 1;
  }
  const end = bytes.indexOf(10, start);
  const stop = Math.min(end === -1 ? bytes.length : end, start + shownBytes);
  const text = bytes.toString("utf8", start, stop);
  return new ExpositionError(line, `${sentence}, in ${JSON.stringify(text)}`);
}
