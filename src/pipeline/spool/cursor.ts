/**
 * Stores how far a spool is acknowledged. The file is overwritten in place, so that a full disk does not stop it, and
 * its two slots are written alternately, so that one of them is always complete:
 *
 * u32 magic "gCur", u32 CRC-32 of the rest, f64 writes so far, f64 position of the last acknowledged record, 36 bytes id
 */
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import zlib from "node:zlib";
import { systemCode } from "../../base/error.ts";

const magic = 0x72754367;
const slotBytes = 64;

export class SpoolCursor {
  /** Identifies this spool. A folder that lost its cursor gets a new id, because its positions have a new meaning. */
  readonly id: string;
  position: number;
  #writes: number;
  #fd: number | undefined;
  readonly #file: string;

  constructor(file: string, newId: () => string) {
    this.#file = file;
    const found = readSlots(file);
    this.id = found?.id ?? newId();
    this.position = found?.position ?? 0;
    this.#writes = found?.writes ?? 0;
  }

  /** Throws if the disk write fails; acknowledged records may then be sent again after a restart. */
  save(): void {
    this.#fd ??= openForWriting(this.#file);
    const slot = Buffer.alloc(slotBytes);
    slot.writeUInt32LE(magic, 0);
    slot.writeDoubleLE(this.#writes + 1, 8);
    slot.writeDoubleLE(this.position, 16);
    slot.write(this.id, 24, 36, "latin1");
    slot.writeUInt32LE(zlib.crc32(slot.subarray(8)), 4);
    writeSync(this.#fd, slot, 0, slotBytes, (this.#writes % 2) * slotBytes);
    this.#writes++;
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }
}

function openForWriting(file: string): number {
  try {
    return openSync(file, "r+");
  } catch (thrown) {
    if (systemCode(thrown) !== "ENOENT") throw thrown;
    return openSync(file, "w+");
  }
}

function readSlots(file: string) {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch {
    return undefined;
  }
  return [0, slotBytes]
    .filter((at) => at + slotBytes <= bytes.length)
    .map((at) => bytes.subarray(at, at + slotBytes))
    .filter(
      (slot) =>
        slot.readUInt32LE(0) === magic && slot.readUInt32LE(4) === zlib.crc32(slot.subarray(8)),
    )
    .map((slot) => ({
      writes: slot.readDoubleLE(8),
      position: slot.readDoubleLE(16),
      id: slot.toString("latin1", 24, 60).replace(/\0+$/, ""),
    }))
    .reduce<{ writes: number; position: number; id: string } | undefined>(
      (best, slot) => (best === undefined || slot.writes > best.writes ? slot : best),
      undefined,
    );
}
