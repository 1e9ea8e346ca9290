/** The memory in which kernels report wrong values; its layout is in ptx/kernel.ts. */
import type { CudaDevice } from "./device.ts";
import { findings as layout } from "./ptx/kernel.ts";

export interface CheckFindings {
  readonly wrong: number;
  readonly first: bigint;
  readonly bits: bigint;
  readonly smCount: number;
}

export class FindingsMemory {
  readonly #device: CudaDevice;
  readonly #memory: { readonly address: number; readonly free: () => void };
  readonly #bytes = Buffer.alloc(layout.bytes);

  constructor(device: CudaDevice) {
    this.#device = device;
    this.#memory = device.allocate(layout.bytes);
    this.clear();
  }

  get address(): number {
    return this.#memory.address;
  }

  clear(): void {
    this.#bytes.fill(0);
    this.#bytes.fill(0xff, layout.first, layout.first + 8);
    this.#device.write(this.address, this.#bytes);
  }

  read(): CheckFindings {
    this.#device.read(this.#bytes, this.address);
    let smCount = 0;
    for (const byte of this.#bytes.subarray(layout.sms, layout.sms + layout.smBytes))
      for (let bit = 0; bit < 8; bit++) smCount += (byte >> bit) & 1;
    return {
      wrong: Number(this.#bytes.readBigUInt64LE(layout.wrong)),
      first: this.#bytes.readBigUInt64LE(layout.first),
      bits: this.#bytes.readBigUInt64LE(layout.bits),
      smCount,
    };
  }

  free(): void {
    this.#memory.free();
  }
}
