/**
 * Encodes frames as integer multiples of each series' resolution, as differences to the previous frame of the same layout in the
 * same request; a value that is not a multiple is sent as its eight bytes. Lossless: decoded values are identical bit for bit.
 */
import type { Tier } from "../../model/catalogue/index.ts";
import { presence, presenceNames, sentPresence } from "../../model/presence.ts";
import {
  type ByteReader,
  ByteWriter,
  FramesError,
  largestInteger,
  hashBytes,
  limits,
} from "./bytes.ts";

export type FrameTier = Tier | "stream";
const tierNames: readonly FrameTier[] = ["fast", "slow", "static", "stream"];

/** A frame that references its layout and devices by id. */
export interface PushFrame {
  /** Increases within a session, with gaps; 1 or more. */
  readonly sequence: number;
  readonly layout: string;
  readonly devices: string;
  readonly source: string;
  /** The host the frame was read on; empty for the sender's own host. */
  readonly host: string;
  readonly tier: FrameTier;
  readonly freshForMs: number;
  readonly timeMs: number;
  readonly presence: Uint8Array;
  readonly values: Float64Array;
}

/** The frame's ids, names and time, which can be read without its layout. */
export type FrameHead = Omit<PushFrame, "presence" | "values">;

/** How presence is encoded: all present, the same as in the previous frame, or in runs. */
const presenceForm = { allPresent: 0, asBefore: 1, runs: 2 } as const;

interface PreviousFrame {
  readonly presence: Uint8Array;
  readonly multiples: Float64Array;
}

/** The previous frame of each layout; encoder and decoder maintain the same state. */
class Memory {
  readonly #before = new Map<string, PreviousFrame>();
  timeMs = 0;
  sequence = 0;

  of(layout: string, slots: number): PreviousFrame {
    const known = this.#before.get(layout);
    if (known !== undefined) return known;
    const none = new Uint8Array(slots).fill(presence.failed);
    const made = { presence: none, multiples: new Float64Array(slots) };
    this.#before.set(layout, made);
    return made;
  }
}

export class FrameEncoder {
  readonly #memory = new Memory();

  /** `resolutions` by slot, from the layout's definition. */
  encode(frame: PushFrame, resolutions: Float64Array): Buffer {
    const bytes = new ByteWriter();
    const slots = resolutions.length;
    const before = this.#memory.of(frame.layout, slots);
    bytes.varint(frame.sequence - this.#memory.sequence);
    this.#memory.sequence = frame.sequence;
    bytes.raw(Buffer.from(frame.layout, "hex"));
    bytes.raw(Buffer.from(frame.devices, "hex"));
    bytes.text(frame.source);
    bytes.text(frame.host);
    bytes.byte(tierNames.indexOf(frame.tier));
    bytes.varint(Math.max(0, Math.round(frame.freshForMs)));
    const timeMs = Math.round(frame.timeMs);
    bytes.zigzag(timeMs - this.#memory.timeMs);
    this.#memory.timeMs = timeMs;
    const states = frame.presence.map(sentPresence);
    writePresence(bytes, states, before.presence);
    writeValues(bytes, frame, before.multiples, resolutions);
    before.presence.set(states);
    return bytes.finish();
  }
}

export class FrameDecoder {
  readonly #memory = new Memory();
  #valuesLeft: number = limits.values;

  /** Reads names and time; the rest needs the layout, and is read from the current position. @throws FramesError */
  head(reader: ByteReader): FrameHead {
    const ahead = reader.varint();
    const sequence = this.#memory.sequence + ahead;
    if (ahead === 0 || sequence > Number.MAX_SAFE_INTEGER)
      throw new FramesError("frames are not in their sequence");
    this.#memory.sequence = sequence;
    const { layout, devices, source, host, tier } = readNames(reader);
    const freshForMs = reader.varint();
    const timeMs = this.#memory.timeMs + reader.zigzag();
    if (timeMs < 0 || timeMs > 8.64e15) throw new FramesError("a frame's timestamp is invalid");
    this.#memory.timeMs = timeMs;
    return { sequence, layout, devices, source, host, tier, freshForMs, timeMs };
  }

  /** @param isOnly no other frame is read with this decoder, so no state is stored. @throws FramesError */
  body(reader: ByteReader, head: FrameHead, resolutions: Float64Array, isOnly = false): PushFrame {
    const slots = resolutions.length;
    this.#valuesLeft -= slots;
    if (this.#valuesLeft < 0)
      throw new FramesError(`more than ${limits.values} values in one request`);
    const before = isOnly ? undefined : this.#memory.of(head.layout, slots);
    const states = readPresence(reader, slots, before?.presence);
    const values = readValues(reader, states, before?.multiples, resolutions);
    before?.presence.set(states);
    const { sequence, layout, devices, source, host, tier, freshForMs, timeMs } = head;
    return {
      sequence,
      layout,
      devices,
      source,
      host,
      tier,
      freshForMs,
      timeMs,
      presence: states,
      values,
    };
  }
}

type FrameNames = Pick<PushFrame, "layout" | "devices" | "source" | "host" | "tier">;

/** Cached by their bytes: the frames of a source have the same names until its layout or devices change. */
const knownNames = new Map<string, FrameNames>();
const maxKnownNames = 20_000;

function readNames(reader: ByteReader): FrameNames {
  const from = reader.position;
  reader.skip(2 * hashBytes);
  reader.skipText(limits.nameBytes);
  reader.skipText(limits.nameBytes);
  reader.skip(1);
  const key = reader.latin1(from);
  const known = knownNames.get(key);
  if (known !== undefined) return known;
  reader.position = from;
  const names: FrameNames = {
    layout: reader.raw(hashBytes).toString("hex"),
    devices: reader.raw(hashBytes).toString("hex"),
    source: reader.text(limits.nameBytes),
    host: reader.text(limits.nameBytes),
    // An unknown tier of a newer agent is treated as a stream: stored by its layout.
    tier: tierNames[reader.byte()] ?? "stream",
  };
  if (knownNames.size >= maxKnownNames) knownNames.clear();
  knownNames.set(key, names);
  return names;
}

function writePresence(bytes: ByteWriter, states: Uint8Array, before: Uint8Array): void {
  if (states.every((state) => state === presence.present)) {
    bytes.byte(presenceForm.allPresent);
  } else if (states.every((state, slot) => state === before[slot])) {
    bytes.byte(presenceForm.asBefore);
  } else {
    bytes.byte(presenceForm.runs);
    for (let slot = 0; slot < states.length;) {
      let end = slot + 1;
      while (end < states.length && states[end] === states[slot]) end++;
      bytes.byte(states[slot] ?? presence.failed);
      bytes.varint(end - slot);
      slot = end;
    }
  }
}

/** Before the first frame of a layout, nothing was present. */
function readPresence(
  reader: ByteReader,
  slots: number,
  before: Uint8Array | undefined,
): Uint8Array {
  const form = reader.byte();
  if (form === presenceForm.asBefore)
    return before?.slice() ?? new Uint8Array(slots).fill(presence.failed);
  const states = new Uint8Array(slots);
  if (form === presenceForm.allPresent) return states;
  if (form !== presenceForm.runs) throw new FramesError("a frame's presence is not understood");
  for (let slot = 0; slot < states.length;) {
    const state = reader.byte();
    const run = reader.varint();
    if (run === 0 || run > states.length - slot || presenceNames[state] === undefined)
      throw new FramesError("a frame's presence does not fit its layout");
    states.fill(state, slot, slot + run);
    slot += run;
  }
  return states;
}

function writeValues(
  bytes: ByteWriter,
  { presence: states, values }: PushFrame,
  before: Float64Array,
  resolutions: Float64Array,
): void {
  const multiples = new ByteWriter();
  const exact: number[] = [];
  for (let slot = 0; slot < resolutions.length; slot++) {
    if (states[slot] !== presence.present) continue;
    const value = values[slot] as number;
    const multiple = multipleOf(value, resolutions[slot] as number);
    if (multiple === undefined) {
      exact.push(slot);
      continue;
    }
    multiples.zigzag(multiple - (before[slot] as number));
    before[slot] = multiple;
  }
  bytes.varint(exact.length);
  const words = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  let last = 0;
  for (const slot of exact) {
    bytes.varint(slot - last);
    bytes.raw(words.subarray(slot * 8, slot * 8 + 8));
    last = slot;
  }
  bytes.raw(multiples.finish());
}

/** Scratch buffer for the differences of the frame being read. */
let differences = new Float64Array(1_024);

function readValues(
  reader: ByteReader,
  states: Uint8Array,
  before: Float64Array | undefined,
  resolutions: Float64Array,
): Float64Array {
  const slots = states.length;
  const values = new Float64Array(slots);
  const exactCount = reader.count("exact values", slots, 9);
  const isExact = exactCount === 0 ? undefined : readExact(reader, states, values, exactCount);
  let count = 0;
  for (let slot = 0; slot < slots; slot++)
    if (states[slot] === presence.present && isExact?.[slot] !== 1) count++;
  if (differences.length < count) differences = new Float64Array(count * 2);
  reader.zigzags(differences, count);
  const scales = scalesOf(resolutions);
  for (let slot = 0, at = 0; slot < slots; slot++) {
    if (states[slot] !== presence.present || isExact?.[slot] === 1) continue;
    let multiple = differences[at++] as number;
    if (before !== undefined) multiple += before[slot] as number;
    if (multiple > largestInteger || multiple < -largestInteger)
      throw new FramesError("a value is out of bounds");
    if (before !== undefined) before[slot] = multiple;
    const scale = scales[slot] as number;
    values[slot] = scale >= 1 ? multiple * scale : multiple / -scale;
  }
  return values;
}

/** Cached per layout's resolutions: the factor of each slot, or for steps below 1 its divisor as a negative number. */
const knownScales = new WeakMap<Float64Array, Float64Array>();

function scalesOf(resolutions: Float64Array): Float64Array {
  const known = knownScales.get(resolutions);
  if (known !== undefined) return known;
  const scales = resolutions.map((step) => (step >= 1 ? step : -Math.round(1 / step)));
  knownScales.set(resolutions, scales);
  return scales;
}

/** Reads the values that are not multiples of their resolution; returns 1 for each of their slots. */
function readExact(
  reader: ByteReader,
  states: Uint8Array,
  values: Float64Array,
  count: number,
): Uint8Array {
  const words = new Uint8Array(values.buffer);
  const isExact = new Uint8Array(states.length);
  let slot = 0;
  for (let left = count; left > 0; left--) {
    slot += reader.varint();
    if (slot >= states.length || isExact[slot] === 1 || states[slot] !== presence.present)
      throw new FramesError("an exact value has no place in its layout");
    isExact[slot] = 1;
    words.set(reader.raw(8), slot * 8);
  }
  return isExact;
}

/** Divides by the inverse for steps below 1, the same way readings are rounded: 3 / 10 is 0.3, 3 * 0.1 is not. */
function valueOf(multiple: number, resolution: number): number {
  return resolution >= 1 ? multiple * resolution : multiple / Math.round(1 / resolution);
}

function multipleOf(value: number, resolution: number): number | undefined {
  const multiple =
    resolution >= 1
      ? Math.round(value / resolution)
      : Math.round(value * Math.round(1 / resolution));
  const isExact = valueOf(multiple, resolution) === value;
  // An integer cannot represent negative zero.
  return isExact && Math.abs(multiple) <= largestInteger && !Object.is(value, -0)
    ? multiple
    : undefined;
}
