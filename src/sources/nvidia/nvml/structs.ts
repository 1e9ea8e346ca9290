/**
 * NVML's structures as byte offsets, little-endian and naturally aligned as on every 64-bit platform it runs on. Pure. The
 * numbers are NVIDIA's binary interface, which is stable: new layouts come as new versions.
 */

/** nvmlMemory_v2_t: u32 version, pad, u64 total, reserved, free, used. */
export const memoryV2 = {
  bytes: 40,
  version: 0x0200_0028,
  total: 8,
  reserved: 16,
  free: 24,
  used: 32,
} as const;
/** nvmlMemory_t: u64 total, free, used. nvmlBAR1Memory_t has the same three in the same order. */
export const memoryV1 = { bytes: 24, total: 0, free: 8, used: 16 } as const;
/** nvmlMarginTemperature_v1_t: u32 version, i32 margin. */
export const margin = { bytes: 8, version: 0x0100_0008, celsius: 4 } as const;
/** nvmlFanSpeedInfo_v1_t: u32 version, u32 fan, u32 rpm. */
export const fanSpeed = { bytes: 12, version: 0x0100_000c, fan: 4, rpm: 8 } as const;
/** nvmlPciInfo_t: char[16] legacy id, five u32, char[32] id. */
export const pciInfo = { bytes: 68, busId: 36, busIdBytes: 32 } as const;
/** nvmlGpuInstanceInfo_t: handle, u32 id, u32 profile, u32 start and u32 size of its placement. */
export const gpuInstanceInfo = { bytes: 24, profileId: 12, placementStart: 16 } as const;
/** nvmlEventData_t: handle, u64 type, u64 data, u32 GPU instance, u32 compute instance. */
export const eventData = { bytes: 32, device: 0, type: 8, data: 16 } as const;

/** nvmlGpuFabricInfo_t: char[16] cluster, u32 status, u32 clique, u8 state. */
export const fabricInfo = { bytes: 28, state: 24 } as const;

export const xidEvent = 0x8;
export const nameBytes = 96;

/** Text up to the first NUL. */
export function readText(buffer: Buffer, offset = 0, bytes = buffer.length - offset): string {
  const part = buffer.subarray(offset, offset + bytes);
  const end = part.indexOf(0);
  return part.toString("utf8", 0, end < 0 ? part.length : end).trim();
}

/** A u64 as a number; all ones, NVML's "not available", as NaN. Beyond 2^53 precision is lost, which no counter here reaches. */
export function readCount(buffer: Buffer, offset: number): number {
  const low = buffer.readUInt32LE(offset);
  const high = buffer.readUInt32LE(offset + 4);
  if (low === 0xffff_ffff && high === 0xffff_ffff) return Number.NaN;
  return high * 0x1_0000_0000 + low;
}

/** nvmlFieldValue_t: u32 id, u32 scope, i64 time, i64 latency, u32 type, u32 return code, 8 bytes of value. */
export const fieldValue = { bytes: 40, id: 0, scope: 4, type: 24, code: 28, value: 32 } as const;

export function readFieldValue(buffer: Buffer, at: number): number {
  const offset = at + fieldValue.value;
  switch (buffer.readUInt32LE(at + fieldValue.type)) {
    case 0:
      return buffer.readDoubleLE(offset);
    case 1: {
      const value = buffer.readUInt32LE(offset);
      return value === 0xffff_ffff ? Number.NaN : value;
    }
    case 2:
    case 3:
      return readCount(buffer, offset);
    case 4:
      return Number(buffer.readBigInt64LE(offset));
    case 5:
      return buffer.readInt32LE(offset);
    case 6:
      return buffer.readUInt16LE(offset);
    default:
      return Number.NaN;
  }
}

export interface RunningProcess {
  readonly pid: number;
  /** NaN if the driver does not report it, as on Windows and in some containers. */
  readonly memoryBytes: number;
  /** The MIG instance; both undefined on a GPU without MIG instances. */
  readonly gpuInstance: number | undefined;
  readonly computeInstance: number | undefined;
}

/** nvmlProcessInfo_t: 24 bytes since version 2 (u32 pid, pad, u64 memory, u32 GPU instance, u32 compute instance), 16 before. */
export function readProcesses(
  buffer: Buffer,
  count: number,
  structBytes: 16 | 24,
): RunningProcess[] {
  const fit = Math.min(count, Math.floor(buffer.length / structBytes));
  return Array.from({ length: fit }, (_, index) => {
    const at = index * structBytes;
    const instance = (offset: number): number | undefined => {
      const number = structBytes === 24 ? buffer.readUInt32LE(at + offset) : 0xffff_ffff;
      return number === 0xffff_ffff ? undefined : number;
    };
    return {
      pid: buffer.readUInt32LE(at),
      memoryBytes: readCount(buffer, at + 8),
      gpuInstance: instance(16),
      computeInstance: instance(20),
    };
  });
}

export interface ProcessSample {
  readonly pid: number;
  readonly timeMicros: number;
  readonly smRatio: number;
}

export const processSampleBytes = 32;

/** nvmlProcessUtilizationSample_t: u32 pid, pad, u64 time in µs, u32 SM, memory, encoder and decoder percent. */
export function readProcessSamples(buffer: Buffer, count: number): ProcessSample[] {
  const fit = Math.min(count, Math.floor(buffer.length / processSampleBytes));
  return Array.from({ length: fit }, (_, index) => {
    const at = index * processSampleBytes;
    return {
      pid: buffer.readUInt32LE(at),
      timeMicros: readCount(buffer, at + 8),
      smRatio: buffer.readUInt32LE(at + 16) / 100,
    };
  });
}

/**
 * nvmlGpmMetricsGet_t: u32 version, u32 count, two sample handles, then 40 bytes per metric: u32 id, u32 code, f64 value, three names.
 */
export const gpm = {
  headerBytes: 24,
  metricBytes: 40,
  /** The array declared by NVML is longer in newer versions; this size fits the longest known. */
  bytes: 24 + 40 * 512,
  firstSample: 8,
  secondSample: 16,
  code: 4,
  value: 8,
  /** Pointer to the short name; null for an id that the driver does not support, whose code may still be "success". */
  name: 16,
} as const;
