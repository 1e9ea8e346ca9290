/**
 * One GPU opened through the CUDA driver: memory, kernels, copies and their timing. `close` releases everything it allocated. It
 * changes no clock, limit or mode. A call may never return: `onCall` is called before each one that can block.
 */
import { type Cuda, cudaCode, CudaError, type CudaFunctionName, type CudaLibrary } from "./cuda.ts";
import type { CheckedDevice } from "./protocol.ts";
import type { Argument } from "../native.ts";

/** Numbers of CUdevice_attribute. */
const attribute = {
  clockKilohertz: 13,
  smCount: 16,
  memoryClockKilohertz: 36,
  memoryBusBits: 37,
  major: 75,
  minor: 76,
} as const;

/** The waiting thread sleeps instead of spinning. */
const blockingSync = 4;
const jitErrorLog = 5;
const jitErrorLogBytes = 6;
const jitLogBytes = 8_192;

export type OnCall = (name: CudaFunctionName, isSlow: boolean) => void;

export interface KernelLaunch {
  readonly kernel: number;
  readonly blocks: number;
  readonly threads: number;
  /** All parameters are passed as 64 bits. */
  readonly params: readonly (number | bigint)[];
}

export class CudaDevice {
  readonly #cuda: Cuda;
  readonly #addressOf: CudaLibrary["addressOf"];
  readonly #onCall: OnCall;
  readonly #ordinal: number;
  readonly #release: (() => void)[] = [];
  readonly #modules = new Map<string, (kernel: string) => number>();
  readonly #events: readonly [number, number];
  readonly #out = Buffer.alloc(8);
  readonly #launchMemory: LaunchMemory;

  private constructor({ cuda, addressOf }: CudaLibrary, ordinal: number, onCall: OnCall) {
    [this.#cuda, this.#addressOf] = [cuda, addressOf];
    [this.#ordinal, this.#onCall] = [ordinal, onCall];
    this.#launchMemory = createLaunchMemory(addressOf);
    cuda.cuDevicePrimaryCtxSetFlags_v2(ordinal, blockingSync);
    const context = this.#made("cuDevicePrimaryCtxRetain", true, ordinal);
    this.#release.push(() => void cuda.cuDevicePrimaryCtxRelease_v2(ordinal));
    this.call("cuCtxSetCurrent", context);
    const event = (): number => {
      this.call("cuEventCreate", this.#out, 0);
      const handle = this.#handle();
      this.#release.push(() => void cuda.cuEventDestroy_v2(handle));
      return handle;
    };
    this.#events = [event(), event()];
  }

  /** Throws a CudaError; returns undefined if the driver lists no GPU with this UUID. */
  static open(library: CudaLibrary, uuid: string, onCall: OnCall): CudaDevice | undefined {
    const { cuda } = library;
    const check = (name: CudaFunctionName, ...args: Argument[]): void => {
      const got = cuda[name](...args);
      if (got !== cudaCode.success) throw new CudaError(name, got);
    };
    onCall("cuInit", true);
    check("cuInit", 0);
    const out = Buffer.alloc(4);
    check("cuDeviceGetCount", out);
    for (let index = 0, count = out.readInt32LE(0); index < count; index++) {
      check("cuDeviceGet", out, index);
      const ordinal = out.readInt32LE(0);
      if (readUuid(cuda, ordinal) === uuid) return new CudaDevice(library, ordinal, onCall);
    }
    return undefined;
  }

  /** Makes a call without a deadline of its own; throws if it fails. */
  call(name: CudaFunctionName, ...args: Argument[]): void {
    const got = this.#cuda[name](...args);
    if (got !== cudaCode.success) throw new CudaError(name, got);
  }

  #made(name: CudaFunctionName, isSlow: boolean, ...args: Argument[]): number {
    this.#onCall(name, isSlow);
    this.call(name, this.#out, ...args);
    return this.#handle();
  }

  #handle(): number {
    return Number(this.#out.readBigUInt64LE(0));
  }

  describe(): Omit<CheckedDevice, "pcieGeneration" | "pcieWidth"> {
    const read = (which: number): number => {
      this.call("cuDeviceGetAttribute", this.#out, which, this.#ordinal);
      return this.#out.readInt32LE(0);
    };
    const reported = (value: number): number | undefined => (value > 0 ? value : undefined);
    const memoryClock = read(attribute.memoryClockKilohertz) * 1_000;
    return {
      computeCapability: read(attribute.major) * 10 + read(attribute.minor),
      smCount: read(attribute.smCount),
      boostHertz: reported(read(attribute.clockKilohertz) * 1_000),
      memoryBytesPerSecond: reported((memoryClock * read(attribute.memoryBusBits) * 2) / 8),
      memoryTotalBytes: this.memory().totalBytes,
    };
  }

  memory(): { readonly freeBytes: number; readonly totalBytes: number } {
    const [free, total] = [Buffer.alloc(8), Buffer.alloc(8)];
    this.call("cuMemGetInfo_v2", free, total);
    return {
      freeBytes: Number(free.readBigUInt64LE(0)),
      totalBytes: Number(total.readBigUInt64LE(0)),
    };
  }

  /** Has the driver compile the text, once; a CudaError contains its compiler's log. */
  loadModule(ptx: string): (kernel: string) => number {
    const known = this.#modules.get(ptx);
    if (known !== undefined) return known;
    const loaded = this.#compile(ptx);
    this.#modules.set(ptx, loaded);
    return loaded;
  }

  #compile(ptx: string): (kernel: string) => number {
    const image = Buffer.from(`${ptx}\0`, "latin1");
    const log = Buffer.alloc(jitLogBytes);
    const options = Buffer.alloc(8);
    options.writeUInt32LE(jitErrorLog, 0);
    options.writeUInt32LE(jitErrorLogBytes, 4);
    const values = Buffer.alloc(16);
    values.writeBigUInt64LE(this.#addressOf(log), 0);
    values.writeBigUInt64LE(BigInt(jitLogBytes), 8);
    this.#onCall("cuModuleLoadDataEx", true);
    const got = this.#cuda.cuModuleLoadDataEx(this.#out, image, 2, options, values);
    if (got !== cudaCode.success) {
      const end = log.indexOf(0);
      throw new CudaError(
        "cuModuleLoadDataEx",
        got,
        log.toString("utf8", 0, Math.max(0, end)).trim(),
      );
    }
    const module = this.#handle();
    this.#release.push(() => void this.#cuda.cuModuleUnload(module));
    return (name) => {
      this.call("cuModuleGetFunction", this.#out, module, Buffer.from(`${name}\0`, "latin1"));
      return this.#handle();
    };
  }

  allocate(bytes: number): { readonly address: number; readonly free: () => void } {
    const address = this.#made("cuMemAlloc_v2", false, bytes);
    return { address, free: this.#once(() => void this.#cuda.cuMemFree_v2(address)) };
  }

  /** Allocates pinned host memory, which the GPU copies at the speed of the link. */
  allocateHost(bytes: number): { readonly address: number; readonly free: () => void } {
    const address = this.#made("cuMemAllocHost_v2", false, bytes);
    return { address, free: this.#once(() => void this.#cuda.cuMemFreeHost(address)) };
  }

  #once(release: () => void): () => void {
    this.#release.push(release);
    return () => {
      const at = this.#release.indexOf(release);
      if (at < 0) return;
      this.#release.splice(at, 1);
      this.#onCall("cuMemFree_v2", false);
      release();
    };
  }

  write(address: number, bytes: ArrayBufferView): void {
    this.#onCall("cuMemcpyHtoD_v2", false);
    this.call("cuMemcpyHtoD_v2", address, bytes, bytes.byteLength);
  }

  read(into: ArrayBufferView, address: number): void {
    this.#onCall("cuMemcpyDtoH_v2", false);
    this.call("cuMemcpyDtoH_v2", into, address, into.byteLength);
  }

  launch({ kernel, blocks, threads, params }: KernelLaunch): void {
    const { packed, size, extra } = this.#launchMemory;
    if (params.length * 8 > packed.length) throw new Error("BUG: too many kernel parameters");
    params.forEach((value, at) => packed.writeBigUInt64LE(BigInt(value), at * 8));
    size.writeBigUInt64LE(BigInt(params.length * 8), 0);
    this.call("cuLaunchKernel", kernel, blocks, 1, 1, threads, 1, 1, 0, 0, null, extra);
  }

  /** Seconds the GPU takes for the work that `enqueue` queues, measured by its own clock. */
  time(enqueue: () => void): number {
    const [start, end] = this.#events;
    this.call("cuEventRecord", start, 0);
    enqueue();
    this.call("cuEventRecord", end, 0);
    this.#onCall("cuEventSynchronize", false);
    this.call("cuEventSynchronize", end);
    this.call("cuEventElapsedTime", this.#out, start, end);
    return this.#out.readFloatLE(0) / 1_000;
  }

  /** Releases everything. Errors are ignored: what fails here has failed before. */
  close(): void {
    for (const release of this.#release.splice(0).toReversed()) {
      this.#onCall("cuDevicePrimaryCtxRelease_v2", false);
      release();
    }
  }
}

/**
 * Parameters of a launch. They live as long as the device, because `extra` contains their addresses, which the garbage collector
 * does not see.
 */
interface LaunchMemory {
  readonly packed: Buffer;
  readonly size: Buffer;
  readonly extra: Buffer;
}

function createLaunchMemory(addressOf: CudaLibrary["addressOf"]): LaunchMemory {
  const [packed, size, extra] = [Buffer.alloc(128), Buffer.alloc(8), Buffer.alloc(40)];
  // CU_LAUNCH_PARAM_BUFFER_POINTER, _SIZE and _END.
  [1n, addressOf(packed), 2n, addressOf(size), 0n].forEach((word, at) =>
    extra.writeBigUInt64LE(word, at * 8),
  );
  return { packed, size, extra };
}

/** Formats the UUID as NVML does: GPU-8-4-4-4-12. */
function readUuid(cuda: Cuda, ordinal: number): string | undefined {
  const bytes = Buffer.alloc(16);
  const newer = cuda.cuDeviceGetUuid_v2(bytes, ordinal);
  const got = newer === cudaCode.notFound ? cuda.cuDeviceGetUuid(bytes, ordinal) : newer;
  if (got !== cudaCode.success) return undefined;
  const hex = bytes.toString("hex");
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ];
  return `GPU-${parts.join("-")}`;
}
