/** Metadata lines: `# TYPE name counter`, `# HELP name text`, and OpenMetrics's `# UNIT name seconds`. */
import { isUtf8 } from "node:buffer";
import { pageError, type TextFormat } from "./visit.ts";
import { isNameStart, nameEnd, quotedEnd, unescapeLabel } from "./series-text.ts";

export type MetadataKind = "type" | "help" | "unit";

export interface MetadataLine {
  readonly kind: MetadataKind;
  readonly family: string;
  readonly text: string;
}

const textTypes = ["counter", "gauge", "histogram", "summary", "untyped"];
const openMetricsTypes = [
  "counter",
  "gauge",
  "histogram",
  "gaugehistogram",
  "summary",
  "info",
  "stateset",
  "unknown",
];

/** `at`: the expected position of the family's name; `end`: the end of the line. */
export function readMetadata(
  bytes: Buffer,
  format: TextFormat,
  kind: MetadataKind,
  at: number,
  end: number,
): MetadataLine {
  const isQuoted = bytes[at] === 34;
  const nameStop = isQuoted
    ? quotedEnd(bytes, at, false)
    : isNameStart(bytes[at] ?? 0)
      ? nameEnd(bytes, at)
      : -1;
  if (nameStop === -1 || nameStop > end)
    throw pageError(bytes, at, `a metric name is expected after ${kind.toUpperCase()}`);
  const family = readText(bytes, isQuoted ? at + 1 : at, isQuoted ? nameStop - 1 : nameStop);
  if (format === "openmetrics" && bytes[nameStop] !== 32)
    throw pageError(bytes, at, `a text is expected after the name in ${kind.toUpperCase()}`);
  const text = readText(bytes, Math.min(nameStop + 1, end), end);
  switch (kind) {
    case "type":
      if (!(format === "text" ? textTypes : openMetricsTypes).includes(text))
        throw pageError(bytes, at, `${JSON.stringify(text)} is not a metric type`);
      return { kind, family, text: text === "untyped" ? "unknown" : text };
    case "unit":
      if (text !== "" && !family.endsWith(`_${text}`))
        throw pageError(bytes, at, `the unit ${JSON.stringify(text)} does not end the name`);
      return { kind, family, text };
    case "help":
      return { kind, family, text: format === "text" ? unescapeHelp(text) : unescapeLabel(text) };
  }
}

function readText(bytes: Buffer, start: number, end: number): string {
  const part = bytes.subarray(start, end);
  if (!isUtf8(part)) throw pageError(bytes, start, "the text is not valid UTF-8");
  return part.toString("utf8");
}

const unescapeHelp = (text: string): string =>
  text.replace(/\\([\\n])/g, (_, char: string) => (char === "n" ? "\n" : char));
