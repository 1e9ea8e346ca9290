/**
 * The readings of every pass. On an H200 each of these calls takes about a microsecond; costly ones are detected at startup for
 * the card and driver, and then read less often (see cost.ts).
 */
import { code, isUnsupported } from "../nvml/codes.ts";
import { fieldIds, slowdownIds } from "../nvml/field-ids.ts";
import { fanSpeed, margin, memoryV1, memoryV2, readCount } from "../nvml/structs.ts";
import {
  decodeThrottleBits,
  nvidiaThrottleReasons as reasons,
  type NvidiaThrottleReason,
} from "../../../model/nvidia-throttle.ts";
import { type CardBuilder, type NvmlSeries, readU32 } from "./card.ts";
import type { Task } from "./task.ts";

/** NVML's clock types, in NVML's order. */
export const clockDomains = ["graphics", "sm", "memory", "video"] as const;

/** Counters in nanoseconds; nvidia-smi prints the same counters divided by a thousand, as µs. */
function throttleCounters(
  driver: string | undefined,
): readonly (readonly [id: number, reason: NvidiaThrottleReason])[] {
  const slowdown = slowdownIds(driver);
  return [
    [fieldIds.powerCapNanoseconds, "power_cap"],
    [fieldIds.syncBoostNanoseconds, "sync_boost"],
    ...(slowdown === undefined
      ? []
      : ([
          [slowdown.thermal, "thermal"],
          [slowdown.thermalHardware, "thermal_hardware"],
          [slowdown.powerBrake, "power_brake"],
        ] as const)),
  ];
}

export function fastTasks(bench: CardBuilder): Task[] {
  const { nvml, card } = bench;
  const spare = Buffer.alloc(4);
  return [
    utilization(bench),
    bench.reading(
      "fast",
      "encoder",
      [["encoderUtilization"]],
      readU32((out) => nvml.nvmlDeviceGetEncoderUtilization(card.handle, out, spare), 0.01),
    ),
    bench.reading(
      "fast",
      "decoder",
      [["decoderUtilization"]],
      readU32((out) => nvml.nvmlDeviceGetDecoderUtilization(card.handle, out, spare), 0.01),
    ),
    bench.reading(
      "fast",
      "jpeg",
      [["jpegUtilization"]],
      readU32((out) => nvml.nvmlDeviceGetJpgUtilization(card.handle, out, spare), 0.01),
    ),
    bench.reading(
      "fast",
      "ofa",
      [["ofaUtilization"]],
      readU32((out) => nvml.nvmlDeviceGetOfaUtilization(card.handle, out, spare), 0.01),
    ),
    memoryUse(bench),
    visibleMemory(bench),
    bench.reading(
      "fast",
      "temperature",
      [["temperature", { sensor: "edge" }]],
      readU32((out) => nvml.nvmlDeviceGetTemperature(card.handle, 0, out), 1),
    ),
    ...marginTask(bench),
    bench.reading(
      "fast",
      "power",
      [["power"]],
      readU32((out) => nvml.nvmlDeviceGetPowerUsage(card.handle, out), 0.001),
    ),
    ...clockDomains.map((domain, type) =>
      bench.reading(
        "fast",
        `clock ${domain}`,
        [["clock", { domain }]],
        readU32((out) => nvml.nvmlDeviceGetClockInfo(card.handle, type, out), 1e6),
      ),
    ),
    throttleReasons(bench),
    performanceState(bench),
    ...fans(bench),
    bench.fields("fast", "fields", [
      {
        id: fieldIds.memoryTemperature,
        series: ["temperature", { sensor: "memory" }],
        zeroIsAbsent: true,
      },
      { id: fieldIds.powerInstant, series: ["powerInstant"], scale: 0.001 },
      // Scope 0 is the board, scope 2 the memory; nvidia-smi calls them GPU and GPU Memory Power Readings.
      { id: fieldIds.powerAverage, series: ["powerAverage"], scale: 0.001 },
      { id: fieldIds.powerAverage, scope: 2, series: ["memoryPower"], scale: 0.001 },
      ...throttleCounters(card.device.driver).map(([id, reason]) => ({
        id,
        series: ["throttleSeconds", { reason }] as const,
        scale: 1e-9,
        isCounter: true,
      })),
    ]),
  ];
}

function utilization({ nvml, card, reading }: CardBuilder): Task {
  const buffer = Buffer.alloc(8);
  const series: NvmlSeries[] = [["utilization"], ["memoryControllerUtilization"]];
  return reading("fast", "utilization", series, (out) => {
    const got = nvml.nvmlDeviceGetUtilizationRates(card.handle, buffer);
    out[0] = buffer.readUInt32LE(0) / 100;
    out[1] = buffer.readUInt32LE(4) / 100;
    card.utilizationRatio = out[0];
    return got;
  });
}

export interface MemoryReading {
  total: number;
  used: number;
  free: number;
  reserved: number;
}

/** Version 2 separates memory reserved by the driver from memory in use; drivers before 510 have only version 1. */
export function memoryReader({ nvml, card }: CardBuilder): (into: MemoryReading) => number {
  const buffer = Buffer.alloc(memoryV2.bytes);
  return (into) => {
    buffer.writeUInt32LE(memoryV2.version, 0);
    const got = nvml.nvmlDeviceGetMemoryInfo_v2(card.handle, buffer);
    const layout = isUnsupported(got) ? memoryV1 : memoryV2;
    const ended = layout === memoryV2 ? got : nvml.nvmlDeviceGetMemoryInfo(card.handle, buffer);
    into.total = readCount(buffer, layout.total);
    into.used = readCount(buffer, layout.used);
    into.free = readCount(buffer, layout.free);
    into.reserved = layout === memoryV2 ? readCount(buffer, memoryV2.reserved) : Number.NaN;
    return ended;
  };
}

export const noMemory = (): MemoryReading => ({ total: 0, used: 0, free: 0, reserved: 0 });

export function memoryUse(bench: CardBuilder): Task {
  const read = memoryReader(bench);
  const memory = noMemory();
  return bench.reading("fast", "memory", [["memoryUsed"], ["memoryFree"]], (out) => {
    const got = read(memory);
    out[0] = memory.used;
    out[1] = memory.free;
    return got;
  });
}

function visibleMemory({ nvml, card, reading }: CardBuilder): Task {
  const buffer = Buffer.alloc(memoryV1.bytes);
  return reading("fast", "bar1", [["visibleMemoryUsed"]], (out) => {
    const got = nvml.nvmlDeviceGetBAR1MemoryInfo(card.handle, buffer);
    out[0] = readCount(buffer, memoryV1.used);
    return got;
  });
}

/** Planned only if the card reports a margin: otherwise the margin is derived from the slowdown limit, as for every vendor. */
function marginTask({ nvml, card, reading }: CardBuilder): Task[] {
  const buffer = Buffer.alloc(margin.bytes);
  const call = (): number => {
    buffer.writeUInt32LE(margin.version, 0);
    return nvml.nvmlDeviceGetMarginTemperature(card.handle, buffer);
  };
  if (isUnsupported(call())) return [];
  return [
    reading("fast", "margin", [["temperatureMargin"]], (out) => {
      const got = call();
      out[0] = buffer.readInt32LE(margin.celsius);
      return got;
    }),
  ];
}

function throttleReasons({ nvml, card, reading }: CardBuilder): Task {
  const buffer = Buffer.alloc(8);
  const series: NvmlSeries[] = [
    ...reasons.map((reason): NvmlSeries => ["throttleActive", { reason }]),
    ["clockEventReasons"],
  ];
  return reading("fast", "throttle reasons", series, (out) => {
    let got = nvml.nvmlDeviceGetCurrentClocksEventReasons(card.handle, buffer);
    // Before driver 535 the function for the same bits has an older name.
    if (got === code.functionNotFound)
      got = nvml.nvmlDeviceGetCurrentClocksThrottleReasons(card.handle, buffer);
    const mask = buffer.readUInt32LE(0);
    const active = decodeThrottleBits(mask);
    out[reasons.length] = mask;
    for (let index = 0; index < reasons.length; index++) {
      const reason = reasons[index];
      out[index] = reason !== undefined && active[reason] ? 1 : 0;
    }
    return got;
  });
}

/** NVML's 32 means unknown. */
function performanceState({ nvml, card, reading }: CardBuilder): Task {
  const read = readU32((out) => nvml.nvmlDeviceGetPerformanceState(card.handle, out), 1);
  return reading("fast", "performance state", [["performanceState"]], (out) => {
    const got = read(out);
    if (out[0] === 32) out[0] = Number.NaN;
    return got;
  });
}

/** A passively cooled card reports no fan, so it gets no fan series. */
function fans({ nvml, card, reading }: CardBuilder): Task[] {
  const count = Buffer.alloc(4);
  if (nvml.nvmlDeviceGetNumFans(card.handle, count) !== code.success) return [];
  const numbers = Array.from({ length: Math.min(count.readUInt32LE(0), 16) }, (_, fan) => fan);
  return numbers.flatMap((fan) => {
    const labels = { fan: String(fan + 1) };
    const buffer = Buffer.alloc(fanSpeed.bytes);
    return [
      reading(
        "fast",
        `fan ${fan + 1}`,
        [["fanSpeed", labels]],
        readU32((out) => nvml.nvmlDeviceGetFanSpeed_v2(card.handle, fan, out), 0.01),
      ),
      reading("fast", `fan ${fan + 1} rpm`, [["fanRpm", labels]], (out) => {
        buffer.writeUInt32LE(fanSpeed.version, 0);
        buffer.writeUInt32LE(fan, fanSpeed.fan);
        const got = nvml.nvmlDeviceGetFanSpeedRPM(card.handle, buffer);
        out[0] = buffer.readUInt32LE(fanSpeed.rpm);
        return got;
      }),
    ];
  });
}
