/** What a page of metrics is read into: calls, so that nothing is kept that the reader of the page does not keep. */
import type { HistogramFault } from "../../model/histogram/check.ts";
import type { Histogram } from "../../model/histogram/histogram.ts";
import type { LabelSet } from "../../model/labels.ts";
import { GpulseError } from "../../base/error.ts";

export type ExpositionFormat = "text" | "openmetrics" | "protobuf";
/** Formats of lines. */
export type TextFormat = Exclude<ExpositionFormat, "protobuf">;

export interface PageExemplar {
  readonly labels: LabelSet;
  readonly value: number;
  /** That of its sample where absent. */
  readonly timeMs: number | undefined;
}

/** `Handle` is whatever the caller keeps per series of a target; it is made once and remembered across pages. */
export interface PageVisitor<Handle> {
  /**
   * A series whose text was not on an earlier page. Labels are sorted, `__name__` among them, none empty; those that the
   * page gives as empty (`instance=""`) are named apart.
   */
  open(labels: LabelSet, emptied: readonly string[]): Handle;
  /** Without a time of its own the sample is of the moment of the scrape. A throw ends the reading and passes through. */
  sample(handle: Handle, value: number, timeMs: number | undefined): void;
  /** A native histogram in place of a number; one that is malformed comes with the reason. */
  histogram?(handle: Handle, checked: Histogram | HistogramFault, timeMs: number | undefined): void;
  /** Of the sample before it. */
  exemplar?(handle: Handle, exemplar: PageExemplar): void;
  /** When the series of the sample before it began to count. */
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

/** Counts lines only now that something is wrong, and quotes the one at fault. */
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
