/**
 * Arrays of numbers that grow by doubling: one array holds a value of all series, so there is no object per series. They
 * are in shared memory, so that a worker reads them without a copy.
 */

abstract class Growable<Numbers extends Uint8Array | Uint32Array | Float64Array> {
  array: Numbers;

  constructor(array: Numbers) {
    this.array = array;
  }

  protected abstract make(length: number): Numbers;

  /** Grows the array to include an index; new elements are zero. */
  reach(index: number): void {
    if (index < this.array.length) return;
    const larger = this.make(Math.max(this.array.length * 2, index + 1));
    larger.set(this.array);
    this.array = larger;
  }

  at(index: number): number {
    return this.array[index] ?? 0;
  }

  put(index: number, value: number): void {
    if (index >= this.array.length) this.reach(index);
    this.array[index] = value;
  }

  get byteLength(): number {
    return this.array.byteLength;
  }
}

export class GrowableUint32 extends Growable<Uint32Array> {
  constructor(length = 1024) {
    super(shared32(length));
  }

  protected override make(length: number): Uint32Array {
    return shared32(length);
  }
}

export class GrowableUint8 extends Growable<Uint8Array> {
  constructor(length = 1024) {
    super(shared8(length));
  }

  protected override make(length: number): Uint8Array {
    return shared8(length);
  }
}

export class GrowableFloat64 extends Growable<Float64Array> {
  constructor(length = 1024) {
    super(shared64(length));
  }

  protected override make(length: number): Float64Array {
    return shared64(length);
  }
}

const shared8 = (length: number): Uint8Array => new Uint8Array(new SharedArrayBuffer(length));
const shared32 = (length: number): Uint32Array =>
  new Uint32Array(new SharedArrayBuffer(length * 4));
const shared64 = (length: number): Float64Array =>
  new Float64Array(new SharedArrayBuffer(length * 8));
