/** The value schemas of options and gpulse.yaml. Each message names what the field accepts. */
import * as v from "valibot";
import { logLevels, parseLogLevel } from "../base/log.ts";
import { formatDuration, parseDurationMs } from "./duration.ts";

/** A duration as text (`1s`, `500ms`) or a bare number of seconds; the result is in milliseconds. */
export function durationMs(minMs: number, maxMs: number) {
  const inMs = (value: string | number) => parseDurationMs(String(value)) ?? Number.NaN;
  const isInRange = (value: string | number) => inMs(value) >= minMs && inMs(value) <= maxMs;
  const examples = ["1s", "500ms", "10m", "2h", "30d"].filter(isInRange).slice(0, 2);
  const takes = `a duration such as ${examples.join(" or ")}, from ${formatDuration(minMs)} to ${formatDuration(maxMs)}`;
  return v.pipe(
    v.union([v.string(takes), v.number(takes)], takes),
    // Checked before the conversion, so that the message can show the original text.
    v.check(isInRange, takes),
    v.transform(inMs),
    v.metadata({ takes: "duration" }),
  );
}

const sizeUnits = ["B", "KB", "MB", "GB", "TB", "PB"] as const;

/** Parses a size as Prometheus writes it: `512MB`, `50GB`, in powers of 1024; a bare number is bytes. */
export function parseBytes(given: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*(?:([kmgtp])i?)?b?$/i.exec(given.trim());
  if (match === null) return undefined;
  const power = sizeUnits.findIndex((unit) => unit === `${(match[2] ?? "").toUpperCase()}B`);
  return Math.floor(Number(match[1]) * 1024 ** power);
}

/** A size as text (`512MB`, `50GB`) or a number of bytes; the result is in bytes. */
export function byteSize(min: string) {
  const inBytes = (value: string | number) => parseBytes(String(value)) ?? Number.NaN;
  const takes = `a size such as 50GB, from ${min}`;
  return v.pipe(
    v.union([v.string(takes), v.number(takes)], takes),
    v.check(
      (value) => inBytes(value) >= inBytes(min) && Number.isSafeInteger(inBytes(value)),
      takes,
    ),
    v.transform(inBytes),
    v.metadata({ takes: "size" }),
  );
}

/** A whole number, or its text: URLs and variables provide text. */
export function wholeNumber(min: number, max: number) {
  const takes = `a whole number from ${min} to ${max}`;
  return v.pipe(
    v.union(
      [
        v.pipe(v.string(takes), v.regex(/^-?\d{1,15}$/, takes), v.transform(Number)),
        v.number(takes),
      ],
      takes,
    ),
    v.integer(takes),
    v.minValue(min, takes),
    v.maxValue(max, takes),
    v.metadata({ takes: "whole number" }),
  );
}

/** Port 0 lets the system choose a free port. */
export const port = () => wholeNumber(0, 65_535);

/** true or false, or its text. */
export function flag() {
  const takes = "true or false";
  return v.pipe(
    v.union(
      [
        v.boolean(),
        v.pipe(
          v.picklist(["true", "false"], takes),
          v.transform((given) => given === "true"),
        ),
      ],
      takes,
    ),
    v.metadata({ takes: "true or false" }),
  );
}

export function logLevel() {
  const takes = `one of ${logLevels.join(", ")}`;
  return v.pipe(
    v.string(takes),
    v.transform((given) => parseLogLevel(given) ?? given),
    v.picklist(logLevels, takes),
  );
}

export function text(takes = "text") {
  return v.pipe(
    v.string(takes),
    v.nonEmpty(takes),
    v.maxLength(4_096, "text of at most 4096 characters"),
  );
}
