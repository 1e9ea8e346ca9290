/**
 * Stores how far the log is acknowledged, in a file beside its segments: a missing record before this position is lost;
 * a torn one after it is a write that never returned. Two slots alternate, so that a torn write leaves the other intact.
 *
 * It also records the last manifest's generation, so that an older copy of the manifest is detected.
 *
 *   slot, 64 bytes: 16 bytes store id (ASCII), f64 number of the write, f64 samples, u32 sequence of the next record,
 *                   u32 CRC-32 of the slot so far, f64 generation of the manifest, u32 CRC-32 of the slot so far, zeros
 */
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import path from "node:path";
import zlib from "node:zlib";
import { systemCode } from "../../../base/error.ts";
import type { LogPosition } from "./log.ts";

const slotBytes = 64;
const checkedBytes = 36;
const generationAt = 40;
const allCheckedBytes = 48;
const markFile = (dir: string): string => path.join(dir, "acknowledged");

export class AcknowledgedMark {
  readonly #file: string;
  #fd = -1;
  readonly #slot = Buffer.alloc(slotBytes);
  #writes: number;
  #position: LogPosition;

  constructor(dir: string, storeId: string, generation: number, position: LogPosition) {
    this.#position = position;
    this.#writes = readSlots(dir)?.writes ?? 0;
    this.#file = markFile(dir);
    this.#slot.write(storeId, 0, 16, "latin1");
    this.#slot.writeDoubleLE(generation, generationAt);
  }

  /** Records that a manifest was written. */
  setGeneration(generation: number): void {
    this.#slot.writeDoubleLE(generation, generationAt);
    this.write(this.#position);
  }

  /** Throws if the file cannot be created, as on a full disk. */
  open(): void {
    if (this.#fd >= 0) return;
    closeSync(openSync(this.#file, "a", 0o600));
    this.#fd = openSync(this.#file, "r+");
  }

  /**
   * Best effort: an outdated mark hides no loss before its position. If it cannot be written and the end of the log is
   * lost as well, the reported loss is too small.
   */
  write(position: LogPosition): void {
    const slot = this.#slot;
    const { sequence, samples } = (this.#position = position);
    slot.writeDoubleLE(++this.#writes, 16);
    slot.writeDoubleLE(samples, 24);
    slot.writeUInt32LE(sequence, 32);
    slot.writeUInt32LE(zlib.crc32(slot.subarray(0, checkedBytes)), checkedBytes);
    slot.writeUInt32LE(zlib.crc32(slot.subarray(0, allCheckedBytes)), allCheckedBytes);
    try {
      this.open();
      const start = (this.#writes % 2) * slotBytes;
      // A partial write would leave the mark outdated.
      for (let done = 0; done < slotBytes;)
        done += writeSync(this.#fd, slot, done, slotBytes - done, start + done);
    } catch {
      // The records themselves are written; the next mark includes them.
    }
  }

  close(): void {
    if (this.#fd >= 0) closeSync(this.#fd);
    this.#fd = -1;
  }
}

export interface StoredMark extends LogPosition {
  readonly storeId: string;
  readonly writes: number;
  /** Generation of the last manifest; 0 if an older gpulse wrote the mark. */
  readonly generation: number;
}

/** Returns undefined if there is no readable mark of this store. */
export function readMark(dir: string, storeId: string): StoredMark | undefined {
  const mark = readSlots(dir);
  return mark?.storeId === storeId ? mark : undefined;
}

function readSlots(dir: string): StoredMark | undefined {
  let bytes: Buffer;
  try {
    bytes = readFileSync(markFile(dir));
  } catch (thrown) {
    if (systemCode(thrown) === "ENOENT") return undefined;
    throw thrown;
  }
  let newest: StoredMark | undefined;
  for (let at = 0; at + slotBytes <= bytes.length; at += slotBytes) {
    const slot = bytes.subarray(at, at + slotBytes);
    if (slot.readUInt32LE(checkedBytes) !== zlib.crc32(slot.subarray(0, checkedBytes))) continue;
    const mark = {
      storeId: slot.toString("latin1", 0, 16),
      writes: slot.readDoubleLE(16),
      samples: slot.readDoubleLE(24),
      sequence: slot.readUInt32LE(32),
      generation: readGeneration(slot),
    };
    if (newest === undefined || mark.writes > newest.writes) newest = mark;
  }
  return newest;
}

const readGeneration = (slot: Buffer): number =>
  slot.readUInt32LE(allCheckedBytes) === zlib.crc32(slot.subarray(0, allCheckedBytes))
    ? slot.readDoubleLE(generationAt)
    : 0;
