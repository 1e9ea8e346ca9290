/**
 * Watches the GPU under test through NVML: the test does not start while another program computes on the GPU, and ends as soon as
 * one appears. Also records temperature, power and throttle reasons under load. Read-only.
 */
import { readFileSync } from "node:fs";
import { code, codeName, meansDriverGone, meansLost } from "../nvml/codes.ts";
import type { Nvml } from "../nvml/library.ts";
import { memoryV1, readCount } from "../nvml/structs.ts";
import { computeLister, type ProcessListResult } from "../reader/processes.ts";
import { decodeThrottleBits, nvidiaThrottleReasons } from "../../../model/nvidia-throttle.ts";
import type { CheckedDevice, LoadConditions } from "./protocol.ts";

/** The GPU or the driver is lost. */
export class GpuLostError extends Error {}

/** Above these, the GPU is in use by something the process list does not contain, such as another container's process. */
const busyUtilizationPercent = 10;
const busyMemoryRatio = 0.25;
/** A drop of free memory this large is another program's, if the driver does not list our own process and so may hide others. */
const foreignBytes = 64 * 2 ** 20;

export class GpuGuard {
  readonly #nvml: Nvml;
  readonly #handle: number;
  readonly #list: (handle: number) => ProcessListResult;
  readonly #throttle = new Set<string>();
  #own: ReadonlySet<number> = new Set();
  #freeBytes: number | undefined;
  #temperatureMax: number | undefined;
  #powerMax: number | undefined;

  constructor(nvml: Nvml, handle: number) {
    [this.#nvml, this.#handle] = [nvml, handle];
    this.#list = computeLister(nvml);
  }

  /** Returns what uses the GPU before the test allocates anything on it; undefined if it is free. */
  findUser(): string | undefined {
    const pids = this.#pids();
    if (pids.length > 0) return describeProcesses(pids);
    const rates = Buffer.alloc(8);
    const got = this.#nvml.nvmlDeviceGetUtilizationRates(this.#handle, rates);
    const utilization = got === code.success ? rates.readUInt32LE(0) : 0;
    if (utilization >= busyUtilizationPercent && utilization <= 100)
      return `a program that is not listed here (utilization ${utilization} %)`;
    const memory = this.#memory();
    if (memory !== undefined && memory.used / memory.total >= busyMemoryRatio)
      return `a program that is not listed here (${Math.round(memory.used / 2 ** 20)} MiB of memory in use)`;
    return undefined;
  }

  /** True if the GPU is divided into MIG instances. */
  isSplit(): boolean {
    const [current, pending] = [Buffer.alloc(4), Buffer.alloc(4)];
    const got = this.#nvml.nvmlDeviceGetMigMode(this.#handle, current, pending);
    return got === code.success && current.readUInt32LE(0) === 1;
  }

  /**
   * Called after our CUDA context has been created: the process that is listed now and was not before is this process, which a
   * container knows by another pid than the driver. Returns another program that appeared at the same time.
   */
  began(ownPid: number): string | undefined {
    const pids = this.#pids();
    const own = pids.includes(ownPid) ? ownPid : pids.length === 1 ? pids[0] : undefined;
    this.#own = new Set(own === undefined ? [] : [own]);
    return this.findForeign();
  }

  /** If our own process is not listed, only free memory shows other programs; they are detected relative to `freeBytes`. */
  expectMemory(freeBytes: number): void {
    this.#freeBytes = this.#own.size === 0 ? freeBytes : undefined;
  }

  /** Returns another program on the GPU; undefined if there is none. `freeBytes` is the amount CUDA reports now. */
  findForeign(freeBytes?: number): string | undefined {
    const others = this.#pids().filter((pid) => !this.#own.has(pid));
    if (others.length > 0) return describeProcesses(others);
    if (this.#freeBytes === undefined || freeBytes === undefined) return undefined;
    const taken = this.#freeBytes - freeBytes;
    return taken >= foreignBytes
      ? `a program that is not listed here (it took ${Math.round(taken / 2 ** 20)} MiB of memory)`
      : undefined;
  }

  link(): Pick<CheckedDevice, "pcieGeneration" | "pcieWidth"> {
    const read = (call: (out: Buffer) => number): number | undefined => this.#u32(call);
    return {
      pcieGeneration: read((out) =>
        this.#nvml.nvmlDeviceGetCurrPcieLinkGeneration(this.#handle, out),
      ),
      pcieWidth: read((out) => this.#nvml.nvmlDeviceGetCurrPcieLinkWidth(this.#handle, out)),
    };
  }

  sample(): void {
    const temperature = this.#u32((out) =>
      this.#nvml.nvmlDeviceGetTemperature(this.#handle, 0, out),
    );
    if (temperature !== undefined && temperature <= 150)
      this.#temperatureMax = Math.max(temperature, this.#temperatureMax ?? 0);
    const power = this.#u32((out) => this.#nvml.nvmlDeviceGetPowerUsage(this.#handle, out));
    if (power !== undefined && power < 10_000_000)
      this.#powerMax = Math.max(power / 1_000, this.#powerMax ?? 0);
    const bits = Buffer.alloc(8);
    const newer = this.#nvml.nvmlDeviceGetCurrentClocksEventReasons(this.#handle, bits);
    const got =
      newer === code.functionNotFound
        ? this.#nvml.nvmlDeviceGetCurrentClocksThrottleReasons(this.#handle, bits)
        : newer;
    if (got !== code.success) return;
    const active = decodeThrottleBits(bits.readUInt32LE(0));
    for (const reason of nvidiaThrottleReasons) if (active[reason]) this.#throttle.add(reason);
  }

  get conditions(): LoadConditions {
    return {
      temperatureMaxCelsius: this.#temperatureMax,
      powerMaxWatts: this.#powerMax,
      throttle: [...this.#throttle].sort(),
    };
  }

  #pids(): number[] {
    const { got, list } = this.#list(this.#handle);
    if (meansLost(got) || meansDriverGone(got))
      throw new GpuLostError(`NVML reports ${codeName(got)}`);
    return list.map(({ pid }) => pid);
  }

  #memory(): { readonly used: number; readonly total: number } | undefined {
    const out = Buffer.alloc(memoryV1.bytes);
    if (this.#nvml.nvmlDeviceGetMemoryInfo(this.#handle, out) !== code.success) return undefined;
    return { used: readCount(out, memoryV1.used), total: readCount(out, memoryV1.total) };
  }

  #u32(call: (out: Buffer) => number): number | undefined {
    const out = Buffer.alloc(4);
    return call(out) === code.success ? out.readUInt32LE(0) : undefined;
  }
}

const maxNamed = 4;

function describeProcesses(pids: readonly number[]): string {
  const named = pids.slice(0, maxNamed).map((pid) => {
    const name = commandOf(pid);
    return name === undefined ? `pid ${pid}` : `${name} (pid ${pid})`;
  });
  const more = pids.length - named.length;
  return `${named.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

function commandOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8").trim();
  } catch {
    // The driver's pid belongs to another PID namespace, or the process has ended.
    return undefined;
  }
}
