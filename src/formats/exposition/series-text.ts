/**
 * Splits a series into its parts: `name`, `name{label="value",…}` or `{"any name","any label"="value",…}`. OpenMetrics allows no
 * blanks; the text format allows them between all parts, and label pairs without a comma between them.
 */
import { isUtf8 } from "node:buffer";
import type { Label, LabelSet } from "../../model/labels.ts";
import { pageError, type TextFormat } from "./visit.ts";

const letter = 1;
const colon = 2;
const digit = 4;
const kinds = new Uint8Array(256);
for (let code = 0; code < 256; code++) {
  const char = String.fromCharCode(code);
  if (/[A-Za-z_]/.test(char)) kinds[code] = letter;
  else if (/[0-9]/.test(char)) kinds[code] = digit;
  else if (char === ":") kinds[code] = colon;
}

export const isNameStart = (byte: number): boolean => ((kinds[byte] ?? 0) & (letter | colon)) !== 0;

/** The end of a metric name that begins at `at`. */
export function nameEnd(bytes: Buffer, at: number): number {
  let end = at;
  while (kinds[bytes[end] ?? 0] !== 0) end++;
  return end;
}

/** The end of a quoted string that begins at `at`, closing quote included; -1 if it is not closed. */
export function quotedEnd(bytes: Buffer, at: number, takesLineBreaks: boolean): number {
  for (let end = at + 1; end < bytes.length; end++) {
    const byte = bytes[end];
    if (byte === 92) end++;
    else if (byte === 34) return end + 1;
    else if (byte === 10 && !takesLineBreaks) return -1;
  }
  return -1;
}

/** Shared by all series without empty labels. */
const nothingEmptied: readonly string[] = [];

export class SeriesText {
  readonly #bytes: Buffer;
  readonly #isText: boolean;
  /** Start and end of the name, then of each label's name and value, without quotes. */
  readonly #offsets: number[] = [];

  constructor(bytes: Buffer, format: TextFormat) {
    this.#bytes = bytes;
    this.#isText = format === "text";
  }

  /** Reads a series that begins at `start`; returns its end. */
  read(start: number): number {
    const bytes = this.#bytes;
    const offsets = this.#offsets;
    offsets.length = 0;
    let at = start;
    if (bytes[at] === 123) offsets.push(-1, -1);
    else {
      at = nameEnd(bytes, at);
      offsets.push(start, at);
    }
    const brace = this.#skipBlanks(at);
    if (bytes[brace] !== 123) return at;
    at = this.#labels(this.#skipBlanks(brace + 1));
    if (offsets[0] === -1) throw pageError(bytes, start, "the series has no metric name");
    return at;
  }

  /** Reads an exemplar's labels, which open at `brace`; a metric name is not allowed among them. */
  readExemplar(brace: number): number {
    this.#offsets.length = 0;
    this.#offsets.push(brace, brace);
    return this.#labels(brace + 1);
  }

  /** The labels of the exemplar that was read last. */
  exemplarLabels(): LabelSet {
    return this.#pairs();
  }

  /** Labels that the last series sets to the empty string. */
  emptied: readonly string[] = nothingEmptied;

  /** The labels of the last series; `at` is its start. */
  labels(at: number): LabelSet {
    const [start = 0, end = 0] = this.#offsets;
    const pairs: Label[] = [["__name__", this.#text(start, end)], ...this.#pairs()];
    pairs.sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0));
    let last = "";
    for (const [name, value] of pairs) {
      if (name === "") throw pageError(this.#bytes, at, "a label has no name");
      if (name === last)
        throw pageError(this.#bytes, at, `label ${JSON.stringify(name)} occurs twice`);
      if (name === "__name__" && value === "")
        throw pageError(this.#bytes, at, "the series has no metric name");
      last = name;
    }
    const kept = pairs.filter(([, value]) => value !== "");
    this.emptied =
      kept.length === pairs.length
        ? nothingEmptied
        : pairs.flatMap(([name, value]) => (value === "" ? [name] : []));
    return kept;
  }

  #pairs(): Label[] {
    const offsets = this.#offsets;
    const pairs: Label[] = [];
    for (let index = 2; index < offsets.length; index += 4) {
      const name = this.#text(offsets[index] as number, offsets[index + 1] as number);
      pairs.push([name, this.#text(offsets[index + 2] as number, offsets[index + 3] as number)]);
    }
    return pairs;
  }

  /** Reads from after the opening brace to after the closing one. */
  #labels(from: number): number {
    const bytes = this.#bytes;
    const offsets = this.#offsets;
    let at = from;
    while (bytes[at] !== 125) {
      const isQuoted = bytes[at] === 34;
      const end = isQuoted ? quotedEnd(bytes, at, this.#isText) : this.#labelNameEnd(at);
      if (end === -1 || end === at) throw pageError(bytes, at, "a label name is expected");
      const next = this.#skipBlanks(end);
      if (isQuoted && (bytes[next] === 44 || bytes[next] === 125)) {
        if (offsets[0] !== -1) throw pageError(bytes, at, "the metric name occurs twice");
        offsets[0] = at + 1;
        offsets[1] = end - 1;
        at = bytes[next] === 44 ? this.#skipBlanks(next + 1) : next;
        continue;
      }
      if (bytes[next] !== 61) throw pageError(bytes, at, "= is expected after a label name");
      const value = this.#skipBlanks(next + 1);
      const valueEnd = bytes[value] === 34 ? quotedEnd(bytes, value, this.#isText) : -1;
      if (valueEnd === -1) throw pageError(bytes, value, "a label value in quotes is expected");
      offsets.push(isQuoted ? at + 1 : at, isQuoted ? end - 1 : end, value + 1, valueEnd - 1);
      at = this.#afterPair(valueEnd);
    }
    return at + 1;
  }

  #afterPair(valueEnd: number): number {
    const at = this.#skipBlanks(valueEnd);
    if (this.#bytes[at] === 44) return this.#skipBlanks(at + 1);
    if (this.#bytes[at] !== 125 && !this.#isText)
      throw pageError(this.#bytes, at, "a comma or } is expected after a label");
    return at;
  }

  #labelNameEnd(at: number): number {
    let end = at;
    if (kinds[this.#bytes[end] ?? 0] !== letter) return end;
    while (((kinds[this.#bytes[end] ?? 0] ?? 0) & (letter | digit)) !== 0) end++;
    return end;
  }

  #skipBlanks(at: number): number {
    if (!this.#isText) return at;
    let next = at;
    while (this.#bytes[next] === 32 || this.#bytes[next] === 9) next++;
    return next;
  }

  #text(start: number, end: number): string {
    const part = this.#bytes.subarray(start, end);
    if (!isUtf8(part)) throw pageError(this.#bytes, start, "a name or value is not valid UTF-8");
    return unescapeLabel(part.toString("utf8"));
  }
}

/** Unescapes `\"`, `\\` and `\n`; any other backslash is literal. */
export const unescapeLabel = (text: string): string =>
  text.includes("\\")
    ? text.replace(/\\(["\\n])/g, (_, char: string) => (char === "n" ? "\n" : char))
    : text;
