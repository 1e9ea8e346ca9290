/**
 * Caches the text of messages. Messages of one sender repeat: the same text around other numbers. A template is the text of a
 * message that the schema accepted, with gaps for the time and the readings. A message with the same text, another time and other
 * JSON numbers is decoded from its bytes, without parsing JSON; every other message is parsed in full. On a log of 30 sensors that
 * takes less than half the time.
 */
import type { Device } from "../../model/device.ts";
import type { Layout } from "../../model/layout.ts";
import { presence } from "../../model/presence.ts";
import type { DecodedMessage } from "./decode.ts";
import { parseMessageTime } from "./schema.ts";

interface Template {
  /** The literal text of all parts, concatenated. */
  readonly text: Uint8Array;
  readonly words: DataView;
  /** The end of each part in the text; every part but the last is followed by a gap. */
  readonly ends: Int32Array;
  /** The index of the gap with the time; the other gaps are readings, in the order of `slots`. */
  readonly timeGap: number;
  readonly slots: Int32Array;
  readonly layout: Layout;
  /** Values of the slots without a gap: 1 for the labels of a GPU, 0 for an absent reading. */
  readonly values: Float64Array;
  readonly states: Uint8Array;
  readonly host: string;
  readonly devices: readonly Device[];
  readonly tags: DecodedMessage["tags"];
}

interface Gap {
  readonly start: number;
  readonly end: number;
}

/** Per sender: the tiers of an agent, and tags that change. */
const templatesOfSender = 8;
const maxSenders = 10_000;
/** The length of 2026-01-01T00:00:00.000Z, as gpulse writes it; another form is not a gap. */
const timeLength = 24;

export class MessageTemplates {
  readonly #bySender = new Map<string, Template[]>();
  readonly #cursor = new Cursor();
  /** The template of the previous message: messages of one GPU often follow each other. */
  #latest: Template | undefined;

  /** Stores the template of a message that the schema accepted. */
  keep(bytes: Uint8Array, message: DecodedMessage): void {
    const made = makeTemplate(bytes, message);
    if (made === undefined) return;
    const key = senderKey(bytes);
    if (this.#bySender.size >= maxSenders) this.#bySender.clear();
    const known = this.#bySender.get(key) ?? [];
    this.#bySender.set(key, [made, ...known].slice(0, templatesOfSender));
  }

  /** Undefined if no template fits. */
  read(bytes: Uint8Array): DecodedMessage | undefined {
    const again = this.#latest === undefined ? undefined : this.#cursor.fill(this.#latest, bytes);
    if (again !== undefined) return again;
    for (const template of this.#bySender.get(senderKey(bytes)) ?? []) {
      const read = this.#cursor.fill(template, bytes);
      if (read === undefined) continue;
      this.#latest = template;
      return read;
    }
    return undefined;
  }
}

/** The text before the readings, without the time: host and GPU, as gpulse and most other senders order a message. */
function senderKey(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const values = buffer.indexOf('"values"');
  const time = buffer.indexOf('"time"');
  if (time < 0 || time > values) return buffer.toString("latin1", 0, Math.max(0, values));
  const after = Math.min(values, time + '"time":""'.length + timeLength);
  return buffer.toString("latin1", after, values);
}

function makeTemplate(bytes: Uint8Array, message: DecodedMessage): Template | undefined {
  const { frame, host, devices, tags } = message;
  const gaps = findGaps(bytes);
  if (gaps === undefined) return undefined;
  const { time, readings } = gaps;
  const slots: number[] = [];
  // The labels of a GPU come first and are not readings.
  for (let slot = devices.length; slot < frame.presence.length; slot++)
    if (frame.presence[slot] === presence.present) slots.push(slot);
  // A name that occurs twice has one slot.
  if (slots.length !== readings.length) return undefined;
  const all = [...readings, time].sort((a, b) => a.start - b.start);
  const text = new Uint8Array(bytes.length);
  const ends = new Int32Array(all.length + 1);
  let [length, at] = [0, 0];
  for (const [part, { start, end }] of [...all, { start: bytes.length, end: 0 }].entries()) {
    text.set(bytes.subarray(at, start), length);
    length += start - at;
    ends[part] = length;
    at = end;
  }
  const values = frame.values.slice();
  for (const slot of slots) values[slot] = 0;
  return {
    text,
    words: new DataView(text.buffer),
    ends,
    timeGap: all.indexOf(time),
    slots: Int32Array.from(slots),
    layout: frame.layout,
    values,
    states: frame.presence.slice(),
    host,
    devices,
    tags,
  };
}

const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;
const opening = new Set([0x5b, 0x7b]);
const closing = new Set([0x5d, 0x7d]);

/**
 * The positions of the time and of the numbers in `values` and `other` of a valid message. Undefined if they are not in the order
 * of a frame's slots.
 */
function findGaps(bytes: Uint8Array): { time: Gap; readings: readonly Gap[] } | undefined {
  const readings: Gap[] = [];
  let time: Gap | undefined;
  let [depth, field, name, hasOther] = [0, "", "", false];
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (opening.has(byte)) depth++;
    else if (closing.has(byte)) depth--;
    else if (byte === quote) {
      const start = at + 1;
      for (at = start; bytes[at] !== quote && at < bytes.length; at++)
        if (bytes[at] === backslash) at++;
      const end = at;
      while (isSpace(bytes[at + 1])) at++;
      if (bytes[at + 1] === colon) {
        name = latin1(bytes, start, end);
        if (depth === 1) field = name;
        if (field === "other") hasOther = true;
        else if (field === "values" && hasOther) return undefined;
      } else if (depth === 1 && field === "time") {
        if (time !== undefined || end - start !== timeLength) return undefined;
        time = { start, end };
      }
    } else if (byte === minus || isDigit(byte)) {
      const start = at;
      while (isNumberByte(bytes[at + 1])) at++;
      const isReading =
        (depth === 2 && field === "values") ||
        (depth === 3 && field === "other" && name === "value");
      if (isReading) readings.push({ start, end: at + 1 });
    }
  }
  return time === undefined ? undefined : { time, readings };
}

const minus = 0x2d;
const plus = 0x2b;
const point = 0x2e;
const zero = 0x30;
const letterT = 0x54;
const letterZ = 0x5a;

const isDigit = (byte: number | undefined): boolean =>
  byte !== undefined && byte >= zero && byte <= 0x39;
const isSpace = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
const isExponent = (byte: number | undefined): boolean => byte === 0x65 || byte === 0x45;
const isNumberByte = (byte: number | undefined): boolean =>
  isDigit(byte) || byte === point || byte === plus || byte === minus || isExponent(byte);

const latin1 = (bytes: Uint8Array, start: number, end: number): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1", start, end);

/** Powers of ten that a double represents exactly: a quotient of two exact numbers is rounded once, as JSON.parse does. */
const powersOfTen = Float64Array.from({ length: 23 }, (_, power) => Number(`1e${power}`));
const exactDigits = 15;
const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const secondMs = 1_000;

/** Reads a message with a template. */
class Cursor {
  #bytes: Uint8Array = new Uint8Array();
  #at = 0;
  /** The current day as the number 20260101, and its start. */
  #day = Number.NaN;
  #dayMs = 0;

  fill(template: Template, bytes: Uint8Array): DecodedMessage | undefined {
    const { text, ends, timeGap, slots, layout, host, devices, tags } = template;
    this.#bytes = bytes;
    this.#at = 0;
    const { length } = bytes;
    // Compares four bytes at a time: a third of the time of single bytes.
    const words = template.words;
    const given = new DataView(bytes.buffer, bytes.byteOffset, length);
    let timeMs = Number.NaN;
    let reading = 0;
    let from = 0;
    const values = template.values.slice();
    for (let part = 0; part < ends.length; part++) {
      const end = ends[part] ?? 0;
      let at = this.#at;
      if (at + end - from > length) return undefined;
      for (; from + 4 <= end; from += 4, at += 4)
        if (words.getInt32(from) !== given.getInt32(at)) return undefined;
      for (; from < end; from++, at++) if (text[from] !== bytes[at]) return undefined;
      this.#at = at;
      if (part === ends.length - 1) break;
      const value = part === timeGap ? this.#time() : this.#number();
      if (Number.isNaN(value)) return undefined;
      if (part === timeGap) timeMs = value;
      else values[slots[reading++] ?? 0] = value;
    }
    if (this.#at !== bytes.length) return undefined;
    return {
      frame: { timeMs, layout, values, presence: template.states.slice() },
      host,
      devices,
      ...(tags !== undefined && { tags }),
    };
  }

  /** Reads a JSON number as JSON.parse does; NaN if there is none, or it is not finite. */
  #number(): number {
    const bytes = this.#bytes;
    const start = this.#at;
    let at = start;
    const isNegative = bytes[at] === minus;
    if (isNegative) at++;
    const first = at;
    let mantissa = 0;
    for (; isDigit(bytes[at]); at++) mantissa = mantissa * 10 + (bytes[at] ?? 0) - zero;
    let digits = at - first;
    if (digits === 0 || (digits > 1 && bytes[first] === zero)) return Number.NaN;
    let decimals = 0;
    if (bytes[at] === point) {
      const begin = ++at;
      for (; isDigit(bytes[at]); at++) mantissa = mantissa * 10 + (bytes[at] ?? 0) - zero;
      decimals = at - begin;
      digits += decimals;
      if (decimals === 0) return Number.NaN;
    }
    if (digits > exactDigits || isExponent(bytes[at])) return this.#longNumber(start);
    this.#at = at;
    const value = decimals === 0 ? mantissa : mantissa / (powersOfTen[decimals] ?? Number.NaN);
    return isNegative ? -value : value;
  }

  #longNumber(start: number): number {
    let at = start;
    while (isNumberByte(this.#bytes[at])) at++;
    const token = latin1(this.#bytes, start, at);
    const value = jsonNumber.test(token) ? Number(token) : Number.NaN;
    this.#at = at;
    return Number.isFinite(value) ? value : Number.NaN;
  }

  /** Reads an instant such as 2026-01-01T00:00:00.000Z; NaN if it has another form or is invalid. */
  #time(): number {
    const at = this.#at;
    const bytes = this.#bytes;
    if (bytes[at + 10] !== letterT || bytes[at + 13] !== colon || bytes[at + 16] !== colon)
      return Number.NaN;
    if (bytes[at + 19] !== point || bytes[at + 23] !== letterZ) return Number.NaN;
    const hours = this.#digits(11, 2);
    const minutes = this.#digits(14, 2);
    const seconds = this.#digits(17, 2);
    const ms = this.#digits(20, 3);
    // Unusual forms, such as 24:00, are left to Date.parse.
    if (!(hours < 24 && minutes < 60 && seconds < 60 && ms < secondMs)) return Number.NaN;
    if (bytes[at + 4] !== minus || bytes[at + 7] !== minus) return Number.NaN;
    const day = this.#digits(0, 4) * 10_000 + this.#digits(5, 2) * 100 + this.#digits(8, 2);
    if (day !== this.#day) {
      const dayMs = Number.isNaN(day) ? day : parseMessageTime(latin1(bytes, at, at + 10));
      if (Number.isNaN(dayMs)) return Number.NaN;
      this.#day = day;
      this.#dayMs = dayMs;
    }
    this.#at = at + timeLength;
    return this.#dayMs + ((hours * 60 + minutes) * 60 + seconds) * secondMs + ms;
  }

  /** NaN if one of the characters is not a digit. */
  #digits(offset: number, count: number): number {
    let value = 0;
    for (let at = this.#at + offset; at < this.#at + offset + count; at++) {
      const byte = this.#bytes[at];
      if (!isDigit(byte)) return Number.NaN;
      value = value * 10 + (byte ?? 0) - zero;
    }
    return value;
  }
}
