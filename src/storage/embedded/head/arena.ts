/** Memory for the head's full chunks: consecutive bytes in shared slabs, released only all together. */

const arenaUnit = 4;
const slabBytes = 4 * 2 ** 20;
const slabUnits = slabBytes / arenaUnit;

/** The fields that a worker needs to read it. */
export interface ArenaView {
  readonly slabs: readonly Uint8Array[];
}

export class Arena implements ArenaView {
  readonly slabs: Uint8Array[] = [];
  #used = slabBytes;

  /** Ensures that this many contiguous bytes are available, and returns their address. */
  place(mostBytes: number): number {
    if (this.#used + mostBytes > slabBytes) {
      this.slabs.push(new Uint8Array(new SharedArrayBuffer(slabBytes)));
      this.#used = 0;
    }
    return (this.slabs.length - 1) * slabUnits + this.#used / arenaUnit;
  }

  /** Marks this many of the bytes reserved by `place` as used. */
  take(bytes: number): void {
    this.#used += Math.ceil(bytes / arenaUnit) * arenaUnit;
  }

  get usedBytes(): number {
    return this.slabs.length === 0 ? 0 : (this.slabs.length - 1) * slabBytes + this.#used;
  }
}

export const arenaSlab = (view: ArenaView, address: number): Uint8Array =>
  view.slabs[Math.floor(address / slabUnits)] as Uint8Array;
export const arenaOffset = (address: number): number => (address % slabUnits) * arenaUnit;

export function readWord(bytes: Uint8Array, at: number): number {
  return (
    ((bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24)) >>>
    0
  );
}

export function writeWord(bytes: Uint8Array, at: number, word: number): void {
  bytes[at] = word;
  bytes[at + 1] = word >>> 8;
  bytes[at + 2] = word >>> 16;
  bytes[at + 3] = word >>> 24;
}
