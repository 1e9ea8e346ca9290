/**
 * Encodes ticks for the journal: 2,000 GPUs make 400 a second, and as JSON they cost more than everything else in the ledger. The
 * rarely changing facts of a GPU are written once, as its shape; a tick is then a row of numbers.
 *
 *   u8 1
 *   shape:  u8 2, u32 id, u32 bytes, JSON {uuid, host, gpu, model, simulated, meter, owners, throttle, xids, anomalies}
 *   tick:   u8 5, u32 shape's id, f64 timeMs, joules, activity, tensor, DRAM, memory, peak of memory, idle ms, idle since ms,
 *           for each owner f64 memory, peak, utilisation; for each reason f64 seconds; for each Xid f64 count
 *   steady: u8 7, as a tick, then f64 coveredFromMs
 *   same:   u8 6, f64 timeMs, u32 count, for each f64 joules, u32 2 × shape's id + 1 if idle since the previous reading:
 *           everything else is as in the last tick. The next tick of the GPU includes it again, with means and peaks, so it
 *           counts only if no tick follows
 *   start:  u8 8, before all others: a process has started, whose ticks do not include readings before it
 *
 * Earlier versions wrote ticks without both idle times as u8 3, and u8 4 with the id alone in place of u8 6.
 *
 * Little-endian; a missing reading is NaN. Ids increase through the life of a codec, which reads a journal before it writes to
 * it, so a shape that is lost with a damaged record is unknown and never mistaken for another one.
 */
import * as v from "valibot";
import { frameBytes } from "../../base/state/record.ts";
import type { OwnerLabels } from "../../machine/owners/gpu-owners.ts";
import { defaultLedgerOptions } from "./ledger-options.ts";
import { type GpuTick, hasGap, type TickOwner, tickKey } from "./tick.ts";

const [ticksMark, shapeMark, oldTickMark, oldSameMark, tickMark, sameMark] = [1, 2, 3, 4, 5, 6];
const [steadyMark, startMark] = [7, 8];
const [plainNumbers, idleNumbers, ownerNumbers] = [7, 2, 3];
const shapeHeadBytes = 9;
const tickHeadBytes = 5;
const [sameHeadBytes, sameGpuBytes] = [13, 12];
const firstBytes = 4_096;
const firstGpus = 64;

const labelsSchema = v.object({
  namespace: v.exactOptional(v.string()),
  pod: v.exactOptional(v.string()),
  container: v.exactOptional(v.string()),
  workload: v.exactOptional(v.string()),
  user: v.exactOptional(v.string()),
});

const names = v.array(v.string());
const shapeSchema = v.object({
  uuid: v.string(),
  host: v.string(),
  gpu: v.number(),
  model: v.string(),
  simulated: v.boolean(),
  meter: v.picklist(["hardware", "integrated"]),
  owners: v.optional(v.array(labelsSchema)),
  throttle: v.optional(names),
  xids: v.optional(names),
  anomalies: v.optional(names),
});

type TickShape = v.InferOutput<typeof shapeSchema>;

interface WrittenShape {
  readonly id: number;
  readonly shape: TickShape;
  /** The original labels object: the same in every frame of a layout. */
  readonly owners: readonly OwnerLabels[];
}

/** GPUs of which only the meter has changed: the first `count` of each array. */
export interface UnchangedGpus {
  readonly timeMs: number;
  readonly count: number;
  /** By `TickCodec.indexOf`. */
  readonly indexes: ArrayLike<number>;
  readonly joules: ArrayLike<number>;
  /** 1 if idle since the previous reading, else 0. */
  readonly idle: ArrayLike<number>;
}

interface ReadShape {
  readonly shape: TickShape;
  last: GpuTick | undefined;
  readonly gpu: ReadGpu;
}

/** The unchanged readings of a GPU since its last tick, all of one shape. */
interface ReadGpu {
  shape: ReadShape | undefined;
  /** Of each reading: time, joules, and 1 if idle since the previous one, 0 if not, NaN if unknown. */
  readonly readings: number[];
}

export class TickCodec {
  readonly #indexes = new Map<string, number>();
  /** By index: the current shape in the journal, and its id or -1, which is all that an unchanged GPU needs. */
  #written: (WrittenShape | undefined)[] = [];
  #writtenIds = new Int32Array(firstGpus).fill(-1);
  readonly #read = new Map<number, ReadShape>();
  readonly #readGpus = new Map<string, ReadGpu>();
  #nextId = 0;
  #hasStarted = false;
  #bytes = Buffer.allocUnsafe(firstBytes);
  #view = viewOf(this.#bytes);
  #end = 0;

  /** The journal was replaced: its shapes have to be written again. */
  reset(): void {
    this.#written = [];
    this.#writtenIds.fill(-1);
    this.#read.clear();
    this.#readGpus.clear();
  }

  /** The index of a GPU by its `tickKey` for `UnchangedGpus`: the same through the life of the codec. */
  indexOf(key: string): number {
    const known = this.#indexes.get(key);
    if (known !== undefined) return known;
    const index = this.#indexes.size;
    this.#indexes.set(key, index);
    if (index === this.#writtenIds.length) {
      const larger = new Int32Array(2 * index).fill(-1);
      larger.set(this.#writtenIds);
      this.#writtenIds = larger;
    }
    return index;
  }

  /** Encodes at `frameBytes` of the returned buffer, which the next call reuses. */
  encode(
    ticks: readonly GpuTick[],
    unchanged?: UnchangedGpus,
  ): { readonly bytes: Buffer; readonly payloadBytes: number } {
    this.#end = frameBytes;
    this.#reserve(1);
    this.#bytes[this.#end++] = ticksMark;
    if (!this.#hasStarted) {
      this.#reserve(1);
      this.#bytes[this.#end++] = startMark;
      this.#hasStarted = true;
    }
    for (const tick of ticks) this.#encodeTick(tick);
    if (unchanged !== undefined) this.#encodeUnchanged(unchanged);
    // The frame is padded after the payload.
    this.#reserve(8);
    return { bytes: this.#bytes, payloadBytes: this.#end - frameBytes };
  }

  /**
   * Returns the ticks without unchanged readings, for which see `takeReadings`; undefined if a shape is unknown or the bytes were
   * not written by `encode`.
   */
  decode(payload: Uint8Array): GpuTick[] | undefined {
    const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
    if (bytes[0] !== ticksMark) return undefined;
    const ticks: GpuTick[] = [];
    for (let at = 1; at < bytes.length;) {
      if (bytes[at] === startMark) {
        this.#takeInto(ticks);
        at++;
        continue;
      }
      if (bytes[at] === shapeMark) {
        const length = this.#decodeShape(bytes, at);
        if (length === undefined) return undefined;
        at += length;
        continue;
      }
      const length =
        bytes[at] === sameMark || bytes[at] === oldSameMark
          ? this.#decodeUnchanged(bytes, at)
          : this.#decodeTick(bytes, at, ticks);
      if (length === undefined) return undefined;
      at += length;
    }
    return ticks;
  }

  /** Returns the unchanged readings of every GPU since its last tick as ticks: to call after the whole journal was decoded. */
  takeReadings(): GpuTick[] {
    const ticks: GpuTick[] = [];
    this.#takeInto(ticks);
    return ticks;
  }

  #takeInto(ticks: GpuTick[]): void {
    for (const { shape, readings } of this.#readGpus.values())
      takeReadingsOf(shape, readings, ticks);
  }

  #encodeTick(tick: GpuTick): void {
    const index = this.indexOf(tickKey(tick));
    let written = this.#written[index];
    if (written === undefined || !hasShape(tick, written)) written = this.#encodeShape(tick, index);
    const { id, shape } = written;
    this.#reserve(tickHeadBytes + 8 * (idleNumbers + numbersOf(shape) + 1));
    this.#bytes[this.#end] = tick.coveredFromMs === undefined ? tickMark : steadyMark;
    this.#view.setUint32(this.#end + 1, id, true);
    this.#end += tickHeadBytes;
    this.#put(tick.timeMs);
    this.#put(tick.joules);
    this.#put(tick.activityRatio);
    this.#put(tick.tensorRatio);
    this.#put(tick.dramRatio);
    this.#put(tick.memoryBytes);
    this.#put(tick.peakMemoryBytes);
    this.#put(tick.idleMs);
    this.#put(tick.idleSinceMs);
    if (tick.owners !== undefined)
      for (const owner of tick.owners) {
        this.#put(owner.memoryBytes);
        this.#put(owner.peakMemoryBytes);
        this.#put(owner.utilizationRatio);
      }
    for (const name in tick.throttleSeconds) this.#put(tick.throttleSeconds[name]);
    for (const name in tick.xids) this.#put(tick.xids[name]);
    if (tick.coveredFromMs !== undefined) this.#put(tick.coveredFromMs);
  }

  #encodeUnchanged({ timeMs, count: most, indexes, joules, idle }: UnchangedGpus): void {
    this.#reserve(sameHeadBytes + sameGpuBytes * most);
    const headAt = this.#end;
    this.#bytes[headAt] = sameMark;
    this.#view.setFloat64(headAt + 1, timeMs, true);
    this.#end += sameHeadBytes;
    let count = 0;
    for (let at = 0; at < most; at++) {
      const id = this.#writtenIds[indexes[at] ?? -1] ?? -1;
      if (id < 0) continue;
      this.#put(joules[at]);
      this.#view.setUint32(this.#end, 2 * id + (idle[at] ?? 0), true);
      this.#end += 4;
      count++;
    }
    this.#view.setUint32(headAt + 9, count, true);
  }

  /** Adds to `ticks` and returns the bytes read; undefined if they are not a tick of a known shape. */
  #decodeTick(bytes: Buffer, at: number, ticks: GpuTick[]): number | undefined {
    const isOld = bytes[at] === oldTickMark;
    const isSteady = bytes[at] === steadyMark;
    if (!isOld && !isSteady && bytes[at] !== tickMark) return undefined;
    if (at + tickHeadBytes > bytes.length) return undefined;
    const known = this.#read.get(bytes.readUInt32LE(at + 1));
    if (known === undefined) return undefined;
    const length =
      tickHeadBytes + 8 * (numbersOf(known.shape) + (isOld ? 0 : idleNumbers) + (isSteady ? 1 : 0));
    if (at + length > bytes.length) return undefined;
    const values: number[] = [];
    for (let from = at + tickHeadBytes; from < at + length; from += 8)
      values.push(bytes.readDoubleLE(from));
    const coveredFromMs = isSteady ? finite(values.pop()) : undefined;
    const [idleMs, idleSinceMs] = isOld
      ? []
      : values.splice(plainNumbers, idleNumbers).map((value) => finite(value));
    const tick = tickOf(known.shape, values);
    if (tick === undefined) return undefined;
    const { gpu } = known;
    const next = { ...tick, coveredFromMs, idleMs, idleSinceMs };
    // It does not reach back to the last tick in the journal, as the one between could not be written: nothing includes these.
    const before = gpu.shape?.last;
    if (before !== undefined && hasGap(before, next, defaultLedgerOptions.gapMs))
      takeReadingsOf(gpu.shape, gpu.readings, ticks);
    gpu.readings.length = 0;
    known.last = next;
    ticks.push(next);
    return length;
  }

  /** Returns the bytes read; undefined if they are not readings of known shapes. */
  #decodeUnchanged(bytes: Buffer, at: number): number | undefined {
    if (at + sameHeadBytes > bytes.length) return undefined;
    const isOld = bytes[at] === oldSameMark;
    const timeMs = bytes.readDoubleLE(at + 1);
    const length = sameHeadBytes + sameGpuBytes * bytes.readUInt32LE(at + 9);
    if (at + length > bytes.length || !Number.isFinite(timeMs)) return undefined;
    for (let from = at + sameHeadBytes; from < at + length; from += sameGpuBytes) {
      const id = bytes.readUInt32LE(from + 8);
      const known = this.#read.get(isOld ? id : id >>> 1);
      const joules = bytes.readDoubleLE(from);
      if (known?.last === undefined || !Number.isFinite(joules)) return undefined;
      known.gpu.shape = known;
      known.gpu.readings.push(timeMs, joules, isOld ? Number.NaN : id % 2);
    }
    return length;
  }

  #encodeShape(tick: GpuTick, index: number): WrittenShape {
    const { uuid, host, gpu, model, simulated, meter, anomalies } = tick;
    const owners = tick.owners?.map(({ labels }) => labels);
    const throttle = tick.throttleSeconds && Object.keys(tick.throttleSeconds);
    const xids = tick.xids && Object.keys(tick.xids);
    const shape: TickShape = {
      uuid,
      host,
      gpu,
      model,
      simulated,
      meter,
      owners: owners?.map((labels) => ({ ...labels })),
      throttle,
      xids,
      anomalies: anomalies && [...anomalies],
    };
    const written = { id: this.#nextId++, shape, owners: owners ?? [] };
    this.#written[index] = written;
    this.#writtenIds[index] = written.id;
    const text = JSON.stringify(shape);
    const length = Buffer.byteLength(text);
    this.#reserve(shapeHeadBytes + length);
    this.#bytes[this.#end] = shapeMark;
    this.#view.setUint32(this.#end + 1, written.id, true);
    this.#view.setUint32(this.#end + 5, length, true);
    this.#bytes.write(text, this.#end + shapeHeadBytes);
    this.#end += shapeHeadBytes + length;
    return written;
  }

  /** Returns the bytes read; undefined if they are not a shape. */
  #decodeShape(bytes: Buffer, at: number): number | undefined {
    if (at + shapeHeadBytes > bytes.length) return undefined;
    const id = bytes.readUInt32LE(at + 1);
    const length = shapeHeadBytes + bytes.readUInt32LE(at + 5);
    if (at + length > bytes.length) return undefined;
    const shape = v.safeParse(shapeSchema, parseJson(bytes, at + shapeHeadBytes, at + length));
    if (!shape.success) return undefined;
    const key = tickKey(shape.output);
    let gpu = this.#readGpus.get(key);
    if (gpu === undefined) this.#readGpus.set(key, (gpu = { shape: undefined, readings: [] }));
    this.#read.set(id, { shape: shape.output, last: undefined, gpu });
    this.#nextId = Math.max(this.#nextId, id + 1);
    return length;
  }

  #put(value: number | undefined): void {
    this.#view.setFloat64(this.#end, value ?? Number.NaN, true);
    this.#end += 8;
  }

  #reserve(length: number): void {
    if (this.#end + length <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.#end + length));
    this.#bytes.copy(larger, 0, 0, this.#end);
    this.#bytes = larger;
    this.#view = viewOf(larger);
  }
}

/** Moves the unchanged readings of a GPU to `ticks`. */
function takeReadingsOf(shape: ReadShape | undefined, readings: number[], ticks: GpuTick[]): void {
  const last = shape?.last;
  if (last === undefined) return;
  let beforeMs = last.timeMs;
  for (let at = 0; at < readings.length; at += 3) {
    const [timeMs = 0, joules = 0, idle = 0] = readings.slice(at, at + 3);
    const idleMs = idle === 1 ? Math.max(0, timeMs - beforeMs) : 0;
    const unknown = { ...last, timeMs, joules, coveredFromMs: undefined };
    ticks.push(Number.isNaN(idle) ? unknown : { ...unknown, idleMs, idleSinceMs: undefined });
    beforeMs = timeMs;
  }
  readings.length = 0;
}

const viewOf = ({ buffer, byteOffset, length }: Buffer): DataView =>
  new DataView(buffer, byteOffset, length);

const finite = (value: number | undefined): number | undefined =>
  value === undefined || !Number.isFinite(value) ? undefined : value;

const numbersOf = ({ owners, throttle, xids }: TickShape): number =>
  plainNumbers +
  ownerNumbers * (owners?.length ?? 0) +
  (throttle?.length ?? 0) +
  (xids?.length ?? 0);

function hasShape(tick: GpuTick, { shape, owners }: WrittenShape): boolean {
  if (
    tick.host !== shape.host ||
    tick.model !== shape.model ||
    tick.gpu !== shape.gpu ||
    tick.meter !== shape.meter ||
    tick.simulated !== shape.simulated ||
    tick.owners?.length !== shape.owners?.length
  )
    return false;
  for (let at = 0; at < owners.length; at++)
    if (tick.owners?.[at]?.labels !== owners[at]) return false;
  return (
    hasNames(tick.throttleSeconds, shape.throttle) &&
    hasNames(tick.xids, shape.xids) &&
    isSameList(tick.anomalies, shape.anomalies)
  );
}

/** True if both have the same names in the same order. */
function hasNames(
  counts: Readonly<Record<string, number>> | undefined,
  known: readonly string[] | undefined,
): boolean {
  if (counts === undefined || known === undefined) return counts === known;
  let at = 0;
  for (const name in counts) if (name !== known[at++]) return false;
  return at === known.length;
}

function isSameList(
  list: readonly string[] | undefined,
  known: readonly string[] | undefined,
): boolean {
  if (list === undefined || known === undefined) return list === known;
  return list.length === known.length && list.every((one, at) => one === known[at]);
}

function tickOf(shape: TickShape, values: readonly number[]): GpuTick | undefined {
  const { owners, throttle, xids, ...rest } = shape;
  const optional = (at: number): number | undefined => finite(values[at]);
  const [timeMs, joules] = [optional(0), optional(1)];
  if (timeMs === undefined || joules === undefined) return undefined;
  let at = plainNumbers;
  const held = owners?.map((labels): TickOwner => {
    const [memoryBytes, peakMemoryBytes] = [optional(at), optional(at + 1)];
    const utilizationRatio = optional(at + 2);
    at += ownerNumbers;
    return { labels, memoryBytes, peakMemoryBytes, utilizationRatio };
  });
  const counts = (of: readonly string[] | undefined) =>
    of && Object.fromEntries(of.map((name) => [name, optional(at++) ?? 0]));
  const throttleSeconds = counts(throttle);
  return {
    ...rest,
    timeMs,
    joules,
    activityRatio: optional(2),
    tensorRatio: optional(3),
    dramRatio: optional(4),
    memoryBytes: optional(5),
    peakMemoryBytes: optional(6),
    throttleSeconds,
    xids: counts(xids),
    owners: held,
  };
}

function parseJson(bytes: Buffer, from: number, to: number): unknown {
  try {
    return JSON.parse(bytes.toString("utf8", from, to)) as unknown;
  } catch {
    return undefined;
  }
}
