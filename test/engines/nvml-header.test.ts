// Compares the reader's and the stand-in's view of NVML with NVIDIA's own: nvml.h from the go-nvml module for structures, constants
// and arguments, and the constants of nvidia-ml-py for drivers before and after it.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";

import { goModuleFiles } from "../../engines/go.ts";
import { runProcess } from "../../engines/process.ts";
import { pythonPackages } from "../../engines/python.ts";
import { findTool, toolOrSkip } from "../../engines/tools.ts";
import { decodeThrottleBits, nvidiaThrottleReasons } from "../../src/model/nvidia-throttle.ts";
import type { ArgumentKind } from "../../src/sources/nvidia/native.ts";
import { code, codeName } from "../../src/sources/nvidia/nvml/codes.ts";
import {
  fieldIds,
  type SlowdownIds,
  slowdownIds,
} from "../../src/sources/nvidia/nvml/field-ids.ts";
import { signatures } from "../../src/sources/nvidia/nvml/library.ts";
import {
  eventData,
  fabricInfo,
  fanSpeed,
  fieldValue,
  gpm,
  gpuInstanceInfo,
  margin,
  memoryV1,
  memoryV2,
  pciInfo,
  processSampleBytes,
  xidEvent,
} from "../../src/sources/nvidia/nvml/structs.ts";
import { gpuMetrics } from "../../src/sources/nvidia/reader/gpm-metrics.ts";

const folder = mkdtempSync(path.join(tmpdir(), "gpulse-nvml-header-"));
let headers: string;

beforeAll(async () => {
  if (!("path" in findTool("gcc"))) return;
  headers = await goModuleFiles("device-plugin", {
    module: "github.com/NVIDIA/go-nvml",
    files: ["pkg/nvml/nvml.h"],
  });
}, 300_000);
beforeEach((context) => toolOrSkip(context, "gcc"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** C expressions with the numbers that gpulse uses in their place. */
const numbers: Readonly<Record<string, number>> = {
  "sizeof(nvmlMemory_v2_t)": memoryV2.bytes,
  nvmlMemory_v2: memoryV2.version,
  "offsetof(nvmlMemory_v2_t, total)": memoryV2.total,
  "offsetof(nvmlMemory_v2_t, reserved)": memoryV2.reserved,
  "offsetof(nvmlMemory_v2_t, free)": memoryV2.free,
  "offsetof(nvmlMemory_v2_t, used)": memoryV2.used,
  "sizeof(nvmlMemory_t)": memoryV1.bytes,
  "offsetof(nvmlMemory_t, total)": memoryV1.total,
  "offsetof(nvmlMemory_t, free)": memoryV1.free,
  "offsetof(nvmlMemory_t, used)": memoryV1.used,
  "sizeof(nvmlBAR1Memory_t)": memoryV1.bytes,
  "offsetof(nvmlBAR1Memory_t, bar1Total)": memoryV1.total,
  "offsetof(nvmlBAR1Memory_t, bar1Used)": memoryV1.used,
  "sizeof(nvmlMarginTemperature_v1_t)": margin.bytes,
  nvmlMarginTemperature_v1: margin.version,
  "offsetof(nvmlMarginTemperature_v1_t, marginTemperature)": margin.celsius,
  "sizeof(nvmlFanSpeedInfo_v1_t)": fanSpeed.bytes,
  nvmlFanSpeedInfo_v1: fanSpeed.version,
  "offsetof(nvmlFanSpeedInfo_v1_t, fan)": fanSpeed.fan,
  "offsetof(nvmlFanSpeedInfo_v1_t, speed)": fanSpeed.rpm,
  "sizeof(nvmlPciInfo_t)": pciInfo.bytes,
  "offsetof(nvmlPciInfo_t, busId)": pciInfo.busId,
  NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE: pciInfo.busIdBytes,
  "sizeof(nvmlGpuInstanceInfo_t)": gpuInstanceInfo.bytes,
  "offsetof(nvmlGpuInstanceInfo_t, profileId)": gpuInstanceInfo.profileId,
  "offsetof(nvmlGpuInstanceInfo_t, placement)": gpuInstanceInfo.placementStart,
  "sizeof(nvmlEventData_t)": eventData.bytes,
  "offsetof(nvmlEventData_t, device)": eventData.device,
  "offsetof(nvmlEventData_t, eventType)": eventData.type,
  "offsetof(nvmlEventData_t, eventData)": eventData.data,
  nvmlEventTypeXidCriticalError: xidEvent,
  "sizeof(nvmlGpuFabricInfo_t)": fabricInfo.bytes,
  "offsetof(nvmlGpuFabricInfo_t, state)": fabricInfo.state,
  NVML_GPU_FABRIC_STATE_NOT_SUPPORTED: 0,
  NVML_GPU_FABRIC_STATE_COMPLETED: 3,
  "sizeof(nvmlFieldValue_t)": fieldValue.bytes,
  "offsetof(nvmlFieldValue_t, fieldId)": fieldValue.id,
  "offsetof(nvmlFieldValue_t, scopeId)": fieldValue.scope,
  "offsetof(nvmlFieldValue_t, valueType)": fieldValue.type,
  "offsetof(nvmlFieldValue_t, nvmlReturn)": fieldValue.code,
  "offsetof(nvmlFieldValue_t, value)": fieldValue.value,
  // As in readFieldValue.
  NVML_VALUE_TYPE_DOUBLE: 0,
  NVML_VALUE_TYPE_UNSIGNED_INT: 1,
  NVML_VALUE_TYPE_UNSIGNED_LONG: 2,
  NVML_VALUE_TYPE_UNSIGNED_LONG_LONG: 3,
  NVML_VALUE_TYPE_SIGNED_LONG_LONG: 4,
  NVML_VALUE_TYPE_SIGNED_INT: 5,
  NVML_VALUE_TYPE_UNSIGNED_SHORT: 6,
  // As in readProcesses and readProcessSamples.
  "sizeof(nvmlProcessInfo_v1_t)": 16,
  "sizeof(nvmlProcessInfo_v2_t)": 24,
  "offsetof(nvmlProcessInfo_v2_t, usedGpuMemory)": 8,
  "offsetof(nvmlProcessInfo_v2_t, gpuInstanceId)": 16,
  "offsetof(nvmlProcessInfo_v2_t, computeInstanceId)": 20,
  "sizeof(nvmlProcessUtilizationSample_t)": processSampleBytes,
  "offsetof(nvmlProcessUtilizationSample_t, timeStamp)": 8,
  "offsetof(nvmlProcessUtilizationSample_t, smUtil)": 16,
  "offsetof(nvmlUtilization_t, gpu)": 0,
  "offsetof(nvmlUtilization_t, memory)": 4,
  "offsetof(nvmlGpmMetricsGet_t, metrics)": gpm.headerBytes,
  "offsetof(nvmlGpmMetricsGet_t, sample1)": gpm.firstSample,
  "offsetof(nvmlGpmMetricsGet_t, sample2)": gpm.secondSample,
  "sizeof(nvmlGpmMetric_t)": gpm.metricBytes,
  "offsetof(nvmlGpmMetric_t, nvmlReturn)": gpm.code,
  "offsetof(nvmlGpmMetric_t, value)": gpm.value,
  "offsetof(nvmlGpmMetric_t, metricInfo)": gpm.name,
  "offsetof(nvmlGpmSupport_t, isSupportedDevice)": 4,
  NVML_GPM_METRICS_GET_VERSION: 1,
  NVML_GPM_SUPPORT_VERSION: 1,
  // Arguments that the reader passes as numbers.
  NVML_TEMPERATURE_GPU: 0,
  NVML_TEMPERATURE_THRESHOLD_SHUTDOWN: 0,
  NVML_TEMPERATURE_THRESHOLD_SLOWDOWN: 1,
  NVML_TEMPERATURE_THRESHOLD_MEM_MAX: 2,
  NVML_TEMPERATURE_THRESHOLD_ACOUSTIC_CURR: 5,
  NVML_CLOCK_GRAPHICS: 0,
  NVML_CLOCK_SM: 1,
  NVML_CLOCK_MEM: 2,
  NVML_CLOCK_VIDEO: 3,
  NVML_MEMORY_ERROR_TYPE_CORRECTED: 0,
  NVML_MEMORY_ERROR_TYPE_UNCORRECTED: 1,
  NVML_VOLATILE_ECC: 0,
  NVML_AGGREGATE_ECC: 1,
  NVML_PCIE_UTIL_TX_BYTES: 0,
  NVML_PCIE_UTIL_RX_BYTES: 1,
  NVML_P2P_CAPS_INDEX_READ: 0,
  NVML_P2P_CAPS_INDEX_WRITE: 1,
  NVML_P2P_STATUS_OK: 0,
  NVML_BUS_TYPE_PCIE: 2,
  NVML_PSTATE_UNKNOWN: 32,
  NVML_POWER_SCOPE_GPU: 0,
  NVML_POWER_SCOPE_MEMORY: 2,
  NVML_GPU_RECOVERY_ACTION_NONE: 0,
  NVML_GPU_RECOVERY_ACTION_GPU_RESET: 1,
  NVML_GPU_RECOVERY_ACTION_NODE_REBOOT: 2,
  NVML_GPU_RECOVERY_ACTION_DRAIN_P2P: 3,
  NVML_GPU_RECOVERY_ACTION_DRAIN_AND_RESET: 4,
};

const fieldNames: Readonly<Record<keyof typeof fieldIds, string>> = {
  retiredPagesCorrected: "RETIRED_SBE",
  retiredPagesUncorrected: "RETIRED_DBE",
  retiredPagesPending: "RETIRED_PENDING",
  nvlinkCrcFlitErrors: "NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL",
  nvlinkCrcDataErrors: "NVLINK_CRC_DATA_ERROR_COUNT_TOTAL",
  nvlinkReplays: "NVLINK_REPLAY_ERROR_COUNT_TOTAL",
  nvlinkRecoveries: "NVLINK_RECOVERY_ERROR_COUNT_TOTAL",
  powerCapNanoseconds: "PERF_POLICY_POWER",
  syncBoostNanoseconds: "PERF_POLICY_SYNC_BOOST",
  memoryTemperature: "MEMORY_TEMP",
  nvlinkTransmitKibibytes: "NVLINK_THROUGHPUT_DATA_TX",
  nvlinkReceiveKibibytes: "NVLINK_THROUGHPUT_DATA_RX",
  remappedRowsCorrected: "REMAPPED_COR",
  remappedRowsUncorrected: "REMAPPED_UNC",
  remappedRowsPending: "REMAPPED_PENDING",
  rowRemapFailed: "REMAPPED_FAILURE",
  nvlinkSpeed: "NVLINK_GET_SPEED",
  powerAverage: "POWER_AVERAGE",
  powerInstant: "POWER_INSTANT",
  recoveryAction: "GET_GPU_RECOVERY_ACTION",
};
const slowdownNames: Readonly<Record<keyof SlowdownIds, string>> = {
  thermal: "CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN",
  thermalHardware: "CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN",
  powerBrake: "CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN",
};

/** The ids that gpulse uses with this driver, by NVIDIA's names. */
function fieldsOf(driver: string): Readonly<Record<string, number>> {
  const slowdown = slowdownIds(driver, "linux");
  return Object.fromEntries([
    ...Object.entries(fieldNames).map(([name, theirs]) => [
      `NVML_FI_DEV_${theirs}`,
      fieldIds[name as keyof typeof fieldIds],
    ]),
    ...(slowdown === undefined
      ? []
      : Object.entries(slowdownNames).map(([name, theirs]) => [
          `NVML_FI_DEV_${theirs}`,
          slowdown[name as keyof SlowdownIds],
        ])),
  ]) as Record<string, number>;
}

async function evaluate(expressions: readonly string[]): Promise<Record<string, number>> {
  const lines = expressions.map((one, at) => `printf("${at} %lld\\n", (long long)(${one}));`);
  const source = path.join(folder, "numbers.c");
  const program = path.join(folder, "numbers");
  writeFileSync(
    source,
    `#include <stddef.h>\n#include <stdio.h>\n#include "nvml.h"\nint main(void) {\n${lines.join("\n")}\nreturn 0; }\n`,
  );
  const built = await runProcess("gcc", ["-I", headers, "-o", program, source]);
  expect(built.stderr).toBe("");
  const printed = await runProcess(program, []);
  return Object.fromEntries(
    printed.stdout
      .trim()
      .split("\n")
      .map((line) => {
        const [at = "", value = ""] = line.split(" ");
        return [expressions[Number(at)] ?? "", Number(value)];
      }),
  );
}

test("structures, versions and constants are those of nvml.h", async () => {
  expect(await evaluate(Object.keys(numbers))).toEqual(numbers);
});

test("return codes have nvml.h's numbers and names", async () => {
  const text = readFileSync(path.join(headers, "nvml.h"), "utf8");
  const listed = [...text.matchAll(/^ +NVML_(SUCCESS|ERROR_\w+) += (\d+),?/gm)];
  expect(listed.length).toBeGreaterThan(30);
  for (const [, name = "", number] of listed)
    expect(codeName(Number(number))).toBe(name.replace("ERROR_", ""));
  expect(Object.values(code).every((number) => !codeName(number).startsWith("code"))).toBe(true);
});

test("throttle bits are nvml.h's clock event reasons", async () => {
  const reasons = {
    nvmlClocksEventReasonSwPowerCap: "power_cap",
    nvmlClocksThrottleReasonHwPowerBrakeSlowdown: "power_brake",
    nvmlClocksEventReasonSwThermalSlowdown: "thermal",
    nvmlClocksThrottleReasonHwThermalSlowdown: "thermal_hardware",
    nvmlClocksThrottleReasonHwSlowdown: "thermal_hardware",
    nvmlClocksEventReasonSyncBoost: "sync_boost",
    nvmlClocksEventReasonApplicationsClocksSetting: "clock_setting",
    nvmlClocksEventReasonDisplayClockSetting: "clock_setting",
  } as const;
  const bits = await evaluate([...Object.keys(reasons), "nvmlClocksEventReasonGpuIdle"]);
  for (const [name, reason] of Object.entries({ ...reasons, nvmlClocksEventReasonGpuIdle: "" })) {
    const active = decodeThrottleBits(bits[name] ?? 0);
    expect(nvidiaThrottleReasons.filter((one) => active[one]).join(), name).toBe(reason);
  }
});

test("GPM metrics have nvml.h's ids", async () => {
  const metrics = gpuMetrics(Array.from({ length: 18 }, (_, link) => link));
  const names = new Map(metrics.map(({ id, series }) => [gpmName(series), id]));
  expect(names.size).toBe(metrics.length);
  expect(await evaluate([...names.keys()])).toEqual(Object.fromEntries(names));
  const [longest] = Object.values(await evaluate(["sizeof(nvmlGpmMetricsGet_t)"]));
  expect(longest).toBeLessThanOrEqual(gpm.bytes);
});

test("field ids are those of nvml.h, of driver 580.65", async () => {
  const fields = fieldsOf("580.65.06");
  expect(await evaluate(Object.keys(fields))).toEqual(fields);
});

test.each([
  ["12.570.172", "570.172.08"],
  ["12.575.51", "575.57.08"],
  ["13.580.82", "580.82.07"],
  ["13.615.71", "615.71.01"],
])(
  "field ids are those of nvidia-ml-py %s with driver %s",
  { timeout: 120_000 },
  async (release, driver) => {
    const { python } = await pythonPackages("nvidia-ml-py", [`nvidia-ml-py==${release}`]);
    const print =
      "import json, pynvml; print(json.dumps({k: v for k, v in vars(pynvml).items() if isinstance(v, int)}))";
    const printed = await runProcess(python, ["-c", print]);
    const theirs = JSON.parse(printed.stdout) as Readonly<Record<string, number>>;
    const unknown = Object.entries(fieldsOf(driver)).filter(
      ([name, id]) => theirs[name] === undefined && id < (theirs["NVML_FI_MAX"] ?? 0),
    );
    expect(unknown).toEqual([]);
    const wrong = Object.entries(fieldsOf(driver)).filter(
      ([name, id]) => theirs[name] !== undefined && theirs[name] !== id,
    );
    expect(wrong).toEqual([]);
    expect(theirs["NVML_GPM_METRIC_MAX"]).toBeLessThanOrEqual(512);
  },
);

test("every function is called with nvml.h's arguments, and the stand-in takes the same", async () => {
  const theirs = prototypes(
    await preprocess(path.join(headers, "nvml.h"), "-DNVML_NO_UNVERSIONED_FUNC_DEFS"),
  );
  for (const [name, kinds] of Object.entries(signatures))
    expect(theirs.get(name)?.map(kindOf), name).toEqual(kinds);
  const stub = fileURLToPath(new URL("../nvml-stub/nvml-stub.c", import.meta.url));
  const own = prototypes(await preprocess(stub));
  expect(own.size).toBeGreaterThan(60);
  for (const [name, parameters] of own) {
    const wanted = theirs.get(name);
    expect(wanted, `${name} is not in nvml.h`).toBeDefined();
    expect(parameters.map(registerOf), name).toEqual((wanted ?? []).map(registerOf));
  }
});

async function preprocess(file: string, ...flags: readonly string[]): Promise<string> {
  const done = await runProcess("gcc", ["-E", "-P", ...flags, file]);
  expect(done.code, done.stderr).toBe(0);
  return done.stdout;
}

/** Parameter types of all functions that are declared or defined with a name like nvmlX. */
function prototypes(text: string): ReadonlyMap<string, readonly string[]> {
  const found = [...text.matchAll(/\b(?:nvmlReturn_t|int)\s+(nvml\w+)\s*\(([^()]*)\)\s*[;{]/g)];
  return new Map(
    found.map(([, name = "", list = ""]) => {
      const parameters = list.split(",").map((one) => one.trim());
      return [name, parameters.filter((one) => one !== "" && one !== "void")];
    }),
  );
}

function kindOf(parameter: string): ArgumentKind {
  if (parameter.includes("*") || parameter.includes("[")) return "out";
  if (/\bunsigned long long\b/.test(parameter)) return "u64";
  return /^nvml(Device|EventSet|GpmSample|GpuInstance|ComputeInstance)_t\b/.test(parameter)
    ? "handle"
    : "u32";
}

/** What the caller passes: an address, a 64-bit or a 32-bit number. */
function registerOf(parameter: string): "address" | "64" | "32" {
  const kind = kindOf(parameter);
  if (kind === "out") return "address";
  return kind === "u32" && !/\bu?int64_t\b/.test(parameter) ? "32" : "64";
}

/** NVIDIA's name for the metric that fills this series. */
function gpmName([metric, labels = {}]: ReturnType<typeof gpuMetrics>[number]["series"]): string {
  const { pipe = "", engine = "", link = "", direction = "" } = labels;
  const way = direction === "transmit" ? "TX" : "RX";
  const name: Partial<Record<typeof metric, string>> = {
    graphicsActivity: "GRAPHICS_UTIL",
    smActivity: "SM_UTIL",
    smOccupancy: "SM_OCCUPANCY",
    integerActivity: "INTEGER_UTIL",
    tensorActivity: "ANY_TENSOR_UTIL",
    tensorPipeActivity: `${{ fp64: "DFMA", half: "HMMA", int8: "IMMA" }[pipe] ?? ""}_TENSOR_UTIL`,
    dramActivity: "DRAM_BW_UTIL",
    fp64Activity: "FP64_UTIL",
    fp32Activity: "FP32_UTIL",
    fp16Activity: "FP16_UTIL",
    decoderEngineActivity: `NVDEC_${engine}_UTIL`,
    jpegEngineActivity: `NVJPG_${engine}_UTIL`,
    ofaEngineActivity: `NVOFA_${engine}_UTIL`,
    pcieThroughput: `PCIE_${way}_PER_SEC`,
    interconnectThroughput: `NVLINK_TOTAL_${way}_PER_SEC`,
    interconnectLinkThroughput: `NVLINK_L${link}_${way}_PER_SEC`,
    c2cThroughput: `C2C_TOTAL_${way}_PER_SEC`,
  };
  return `NVML_GPM_METRIC_${name[metric] ?? metric}`;
}
