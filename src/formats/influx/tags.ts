/**
 * The tags of an Influx line as encoded labels, split into those before the metric's name and those after it. Nearly all lines have
 * plain, sorted names and no escapes: their bytes are copied; the others are parsed as text.
 */
import type { Label } from "../../model/labels.ts";
import { LabelBlockWriter } from "../samples/block.ts";
import { byteOf, findPlain, LineError, plainText } from "./scan.ts";

export const nameLabel = "__name__";
const nameBytes = Buffer.from(nameLabel);
/** More tags than a series may have labels. */
const maxTags = 256;

/** 1 for characters that a label name may contain, 2 for those it may not begin with. */
const plainName = new Uint8Array(256);
for (const letter of "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
  plainName[letter.charCodeAt(0)] = 1;
for (const digit of "0123456789") plainName[digit.charCodeAt(0)] = 2;

export class TagWriter {
  readonly before = new LabelBlockWriter();
  readonly after = new LabelBlockWriter();
  readonly #extra: Label | undefined;
  readonly #extraName: Buffer;
  /** For each tag: the start of its name, its equals sign, and the end of its value. */
  readonly #places = new Int32Array(maxTags * 3);

  /** The extra label is added unless a tag has its name. */
  constructor(extra: Label | undefined) {
    this.#extra = extra;
    this.#extraName = Buffer.from(extra?.[0] ?? "");
  }

  /** @param start the comma before the first tag, or `end` if there is none */
  write(bytes: Buffer, start: number, end: number): void {
    this.before.clear();
    this.after.clear();
    const count = this.#find(bytes, start, end);
    if (count < 0) return this.#writeTexts(bytes, start, end);
    let extra = this.#extra;
    const places = this.#places;
    for (let at = 0; at < count * 3; at += 3) {
      const [name, equals, valueEnd] = [
        places[at] as number,
        places[at + 1] as number,
        places[at + 2] as number,
      ];
      if (extra !== undefined) {
        const order = compareName(bytes, name, equals, this.#extraName);
        if (order >= 0) {
          if (order > 0) this.#side(extra[0]).label(...extra);
          extra = undefined;
        }
      }
      if (valueEnd === equals + 1) continue;
      const side = compareName(bytes, name, equals, nameBytes) < 0 ? this.before : this.after;
      side.copied(bytes, name, equals, equals + 1, valueEnd);
    }
    if (extra !== undefined) this.#side(extra[0]).label(...extra);
  }

  /** The number of tags, or -1 if they are not all plain and sorted. */
  #find(bytes: Buffer, start: number, end: number): number {
    const places = this.#places;
    let count = 0;
    for (let at = start; at < end; count++) {
      if (count === maxTags) throw new LineError(`it has more than ${maxTags} tags`);
      const name = at + 1;
      let equals = name;
      if (plainName[bytes[name] as number] !== 1) return -1;
      while (plainName[bytes[equals] as number] !== 0) equals++;
      if (bytes[equals] !== byteOf.equals || equals >= end) return -1;
      at = equals + 1;
      for (; at < end && bytes[at] !== byteOf.comma; at++) {
        const byte = bytes[at];
        if (byte === byteOf.backslash || byte === byteOf.equals) return -1;
      }
      const place = count * 3;
      places[place] = name;
      places[place + 1] = equals;
      places[place + 2] = at;
      if (count > 0 && !isAfter(bytes, places, place)) return -1;
    }
    return count;
  }

  #writeTexts(bytes: Buffer, start: number, end: number): void {
    const labels = new Map<string, string>(this.#extra === undefined ? [] : [this.#extra]);
    const tags = new Set<string>();
    for (let at = start; at < end;) {
      if (tags.size === maxTags) throw new LineError(`it has more than ${maxTags} tags`);
      const equals = findPlain(bytes, at + 1, end, byteOf.equals, byteOf.comma);
      if (bytes[equals] !== byteOf.equals || equals === at + 1 || equals >= end)
        throw new LineError("a tag is not name=value");
      const next = findPlain(bytes, equals + 1, end, byteOf.comma, byteOf.comma);
      const name = labelName(plainText(bytes, at + 1, equals));
      if (tags.has(name)) throw new LineError(`tag "${name}" occurs twice`);
      tags.add(name);
      labels.set(name, plainText(bytes, equals + 1, next));
      at = next;
    }
    const sorted = [...labels].sort(([left], [right]) => (left < right ? -1 : 1));
    for (const [name, value] of sorted) if (value !== "") this.#side(name).label(name, value);
  }

  #side(name: string): LabelBlockWriter {
    return name < nameLabel ? this.before : this.after;
  }
}

/** True if the tag at `place` sorts after the previous one. */
function isAfter(bytes: Buffer, places: Int32Array, place: number): boolean {
  const [left, leftEnd] = [places[place - 3] as number, places[place - 2] as number];
  const [right, rightEnd] = [places[place] as number, places[place + 1] as number];
  for (let i = 0; ; i++) {
    if (left + i === leftEnd) return right + i < rightEnd;
    if (right + i === rightEnd) return false;
    const difference = (bytes[right + i] as number) - (bytes[left + i] as number);
    if (difference !== 0) return difference > 0;
  }
}

function compareName(bytes: Buffer, start: number, end: number, name: Uint8Array): number {
  for (let i = 0; ; i++) {
    if (start + i === end) return i === name.length ? 0 : -1;
    if (i === name.length) return 1;
    const difference = (bytes[start + i] as number) - (name[i] as number);
    if (difference !== 0) return difference;
  }
}

export const metricName = (text: string): string =>
  text.replace(/[^a-zA-Z0-9_:]/g, "_").replace(/^(?=\d)/, "_");

const labelName = (text: string): string =>
  text.replace(/[^a-zA-Z0-9_]/g, "_").replace(/^(?=\d)/, "_");
