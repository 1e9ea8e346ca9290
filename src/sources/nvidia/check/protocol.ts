/** The messages between the program and the process that loads a GPU. The process gets its settings as an argument and sends events. */

export type CopyPath = "device_copy" | "host_to_device" | "device_to_host";
export type RateTest = "tensor" | "fp32";
export type CheckTest = CopyPath | RateTest | "products" | "memory";

/** In the order they run: the load increases, and nearly all memory is allocated only at the end. */
export const checkTests: readonly CheckTest[] = [
  "device_copy",
  "host_to_device",
  "device_to_host",
  "fp32",
  "tensor",
  "products",
  "memory",
];

export interface CheckSettings {
  readonly uuid: string;
  readonly cudaLibraries: readonly string[];
  readonly nvmlLibraries: readonly string[];
  readonly seconds: number;
  readonly tests: readonly CheckTest[];
  /** Deadline of a call; opening the driver and compiling have six times as long. */
  readonly deadlineMs: number;
  /** Run this many short tests with one flipped bit each and count how many are found; nothing is measured. */
  readonly selfTest?: number;
}

/** The driver's facts about the GPU; a value is absent if the driver does not report it, as in some virtual machines. */
export interface CheckedDevice {
  /** 9.0 is 90, 12.1 is 121. */
  readonly computeCapability: number;
  readonly smCount: number;
  readonly boostHertz?: number | undefined;
  /** Memory clock × bus width × 2. */
  readonly memoryBytesPerSecond?: number | undefined;
  readonly pcieGeneration?: number | undefined;
  readonly pcieWidth?: number | undefined;
  readonly memoryTotalBytes: number;
}

/** Wrong values found by a test. */
export interface WrongValues {
  readonly count: number;
  /** SMs that computed a wrong value. */
  readonly sms: readonly number[];
}

export interface CopyResult {
  readonly test: CopyPath;
  /** For a copy on the device, bytes read and bytes written are both counted. */
  readonly bytesPerSecond: number;
  readonly seconds: number;
}

export interface RateResult {
  readonly test: RateTest;
  /** The measured instruction: a GPU can have several with different peak rates. */
  readonly instruction: "wgmma" | "mma.sync" | "fma";
  readonly flopsPerSecond: number;
  /** Measured with each SM's cycle counter, so independent of clock changes. */
  readonly flopsPerCycleAndSm: number;
  readonly heldHertz: number;
  readonly seconds: number;
  readonly wrong: WrongValues;
}

export interface ProductsResult {
  readonly test: "products";
  readonly products: number;
  readonly smCount: number;
  readonly kinds: readonly ("integer" | "bf16")[];
  readonly seconds: number;
  readonly wrong: WrongValues;
}

export interface MemoryResult {
  readonly test: "memory";
  readonly bytes: number;
  readonly patterns: number;
  readonly passes: number;
  readonly seconds: number;
  readonly wrongWords: number;
  /** Offset of the lowest wrong byte in the tested memory, and every bit that differed, in hexadecimal. */
  readonly firstOffset?: number | undefined;
  readonly bits?: string | undefined;
}

export type Measurement = CopyResult | RateResult | ProductsResult | MemoryResult;

export interface SelfTestResult {
  readonly injected: number;
  readonly found: number;
  /** Wrong values reported by the clean runs between the injected ones; must be 0. */
  readonly falseAlarms: number;
  readonly kinds: Readonly<Record<string, { readonly injected: number; readonly found: number }>>;
}

/** NVML's readings while the GPU was loaded. */
export interface LoadConditions {
  readonly temperatureMaxCelsius?: number | undefined;
  readonly powerMaxWatts?: number | undefined;
  /** Throttle reasons, named as in gpu_throttle_active. */
  readonly throttle: readonly string[];
}

/**
 * Why a check ended early. `busy` and `stopped`: another process uses the GPU. `unsupported`: this GPU cannot be checked.
 * `unavailable`: the driver cannot be used. `failed`: the GPU failed under load.
 */
export type CheckEndState = "done" | "busy" | "stopped" | "unsupported" | "unavailable" | "failed";

export interface CheckEnd {
  readonly state: CheckEndState;
  readonly says?: string;
  readonly fix?: string;
}

export type CheckEvent =
  /** Sent before a call that may block: no further event comes until it returns. */
  | { readonly kind: "call"; readonly name: string; readonly deadlineMs: number }
  | { readonly kind: "device"; readonly device: CheckedDevice }
  | { readonly kind: "progress"; readonly test: string; readonly fraction: number }
  | { readonly kind: "measurement"; readonly measurement: Measurement }
  | { readonly kind: "skipped"; readonly test: CheckTest; readonly reason: string }
  | { readonly kind: "self-test"; readonly result: SelfTestResult }
  | { readonly kind: "conditions"; readonly conditions: LoadConditions }
  | { readonly kind: "end"; readonly end: CheckEnd };

export type CheckRequest = { readonly kind: "stop" };
