/** Evaluates measurements against their references and derives one verdict per GPU. Pure. */
import type { Device } from "../../../model/device.ts";
import type {
  CheckedDevice,
  CheckEnd,
  CheckTest,
  LoadConditions,
  Measurement,
  RateResult,
  SelfTestResult,
} from "./protocol.ts";

/**
 * `pass`; `slow`: correct results below the reference, or clocks held down by heat or a power brake; `fail`: wrong results or a
 * GPU that failed. The others mean that there is no result, and why.
 */
export type CheckVerdict =
  | "pass"
  | "slow"
  | "fail"
  | "busy"
  | "stopped"
  | "unsupported"
  | "unavailable";

export type CheckStatus = "ok" | "slow" | "wrong" | "no reference" | "skipped";

export interface CheckReference {
  readonly value: number;
  readonly unit: string;
  readonly basis: string;
}

export interface CheckResult {
  readonly test: CheckTest;
  readonly status: CheckStatus;
  readonly value?: number;
  readonly unit?: string;
  readonly reference?: CheckReference;
  /** Value over reference. */
  readonly ratio?: number;
  readonly note?: string;
  /** The raw measurement in base units; absent if the test was skipped. */
  readonly measurement?: Measurement;
}

export interface GpuCheck {
  readonly gpu: Device;
  readonly verdict: CheckVerdict;
  readonly reasons: readonly string[];
  readonly fix?: string | undefined;
  readonly device?: CheckedDevice | undefined;
  readonly conditions?: LoadConditions | undefined;
  readonly results: readonly CheckResult[];
  readonly selfTest?: SelfTestResult | undefined;
}

/** Everything that a check of one GPU returned. */
export interface CheckOutcome {
  readonly gpu: Device;
  readonly end: CheckEnd;
  readonly device?: CheckedDevice | undefined;
  readonly conditions?: LoadConditions | undefined;
  readonly measurements: readonly Measurement[];
  readonly skipped: readonly { readonly test: CheckTest; readonly reason: string }[];
  readonly selfTest?: SelfTestResult | undefined;
}

/** FLOP per cycle and SM of the model, dense; absent if the model is unknown. */
export interface CycleRates {
  readonly bf16?: number | undefined;
  readonly fp32?: number | undefined;
}

/**
 * A result below this share of its reference is slow. Measured on an H200: bf16 by wgmma 1.00 and FP32 0.99 of the rate at the
 * clock held, copies 0.88 of the memory's and 0.88 of the link's raw rate.
 */
const slowBelow = { rate: 0.85, device_copy: 0.7, link: 0.7 } as const;

/** Throttle reasons that mean a cooling or power supply problem; a power cap under full load is normal. */
const badThrottle: ReadonlySet<string> = new Set(["thermal", "thermal_hardware", "power_brake"]);

export function judge(outcome: CheckOutcome, rates: CycleRates): GpuCheck {
  const { gpu, end, device, conditions, selfTest } = outcome;
  const results = [
    ...outcome.measurements.map((measurement) => judgeMeasurement(measurement, device, rates)),
    ...outcome.skipped.map(({ test, reason }): CheckResult => ({
      test,
      status: "skipped",
      note: reason,
    })),
  ];
  const wrong = results.filter(({ status }) => status === "wrong");
  const slow = results.filter(({ status }) => status === "slow");
  const throttle = (conditions?.throttle ?? []).filter((reason) => badThrottle.has(reason));
  const missed =
    selfTest !== undefined && (selfTest.found < selfTest.injected || selfTest.falseAlarms > 0);
  const reasons = [
    ...(end.says === undefined ? [] : [end.says]),
    ...wrong.map(({ test, note = "" }) => `${test}: ${note}.`),
    ...(missed ? [selfTestReason(selfTest)] : []),
    ...slow.map(
      ({ test, ratio = 0, reference }) =>
        `${test} reaches ${percent(ratio)} of ${reference?.basis ?? "its reference"}.`,
    ),
    ...throttle.map((reason) => `Clocks were held down: ${reason}.`),
  ];
  const verdict = ((): CheckVerdict => {
    if (wrong.length > 0 || missed || end.state === "failed") return "fail";
    if (end.state !== "done") return end.state;
    return slow.length > 0 || throttle.length > 0 ? "slow" : "pass";
  })();
  return {
    gpu,
    verdict,
    reasons,
    fix: end.fix ?? fixOf(verdict),
    device,
    conditions,
    results,
    selfTest,
  };
}

function fixOf(verdict: CheckVerdict): string | undefined {
  if (verdict === "fail")
    return "Take the GPU out of service and run the check again; replace it if the result comes back.";
  if (verdict === "slow")
    return "Compare with gpulse top while it runs: temperature, power limit, PCIe link; then with another GPU of this model.";
  return undefined;
}

const selfTestReason = ({ injected, found, falseAlarms }: SelfTestResult): string =>
  falseAlarms > 0
    ? `The clean runs of the self-test found ${falseAlarms} wrong values.`
    : `The self-test found ${found} of ${injected} flipped bits.`;

export const percent = (ratio: number): string => `${(ratio * 100).toFixed(1)} %`;

function judgeMeasurement(
  measurement: Measurement,
  device: CheckedDevice | undefined,
  rates: CycleRates,
): CheckResult {
  switch (measurement.test) {
    case "tensor":
    case "fp32":
      return judgeRate(measurement, device, rates);
    case "products": {
      const { products, smCount, kinds, wrong } = measurement;
      const isComplete = device === undefined || smCount >= Math.min(device.smCount, 256);
      const note =
        wrong.count > 0
          ? `${wrong.count} wrong ${plural(wrong.count, "digest")}, first on SM ${wrong.sms.join(", ")}`
          : `${kinds.join(" and ")} on ${smCount} SMs`;
      return {
        test: "products",
        status: wrong.count > 0 ? "wrong" : isComplete ? "ok" : "slow",
        value: products,
        unit: "products",
        note: isComplete ? note : `${note} of ${device?.smCount}`,
        measurement,
      };
    }
    case "memory": {
      const { bytes, patterns, passes, wrongWords, firstOffset, bits } = measurement;
      return {
        test: "memory",
        status: wrongWords > 0 ? "wrong" : "ok",
        value: bytes,
        unit: "bytes",
        note:
          wrongWords > 0
            ? `${wrongWords} wrong ${plural(wrongWords, "word")}, the first at byte ${firstOffset}, bits ${bits}`
            : `${patterns} patterns, ${passes} ${plural(passes, "pass", "passes")}`,
        measurement,
      };
    }
    case "device_copy":
    case "host_to_device":
    case "device_to_host": {
      const { test, bytesPerSecond: value } = measurement;
      const reference = test === "device_copy" ? memoryReference(device) : linkReference(device);
      const limit = test === "device_copy" ? slowBelow.device_copy : slowBelow.link;
      return { ...compare(value, reference, limit), test, value, unit: "bytes/s", measurement };
    }
  }
}

const plural = (count: number, one: string, many = `${one}s`): string => (count === 1 ? one : many);

function judgeRate(
  measurement: RateResult,
  device: CheckedDevice | undefined,
  rates: CycleRates,
): CheckResult {
  const { test, flopsPerSecond: value, heldHertz, instruction, wrong } = measurement;
  const perCycle = test === "fp32" ? rates.fp32 : rates.bf16;
  const unit = "FLOP/s";
  const base = { test, value, unit, measurement };
  if (wrong.count > 0)
    return {
      ...base,
      status: "wrong",
      note: `${wrong.count} ${plural(wrong.count, "digest differs", "digests differ")} from the majority, on SM ${wrong.sms.join(", ")}`,
    };
  const note = `${instruction}, ${Math.round(heldHertz / 1e6)} MHz held`;
  // The table's bf16 rate is that of wgmma on Hopper and of tcgen05 on later GPUs; mma.sync is slower there.
  const isRated =
    test === "fp32" || instruction === "wgmma" || (device?.computeCapability ?? 999) < 90;
  if (perCycle === undefined || device === undefined || !isRated)
    return { ...base, status: "no reference", note };
  const reference: CheckReference = {
    value: perCycle * device.smCount * heldHertz,
    unit,
    basis: `${perCycle} FLOP per cycle and SM at the clock held`,
  };
  const ratio = measurement.flopsPerCycleAndSm / perCycle;
  return { ...base, status: ratio < slowBelow.rate ? "slow" : "ok", reference, ratio, note };
}

function memoryReference(device: CheckedDevice | undefined): CheckReference | undefined {
  const value = device?.memoryBytesPerSecond;
  if (value === undefined) return undefined;
  return { value, unit: "bytes/s", basis: "the memory's clock and width" };
}

/** Bytes/s per lane by PCIe generation, after line coding. */
const laneBytes: Readonly<Record<number, number>> = {
  1: 0.25e9,
  2: 0.5e9,
  3: 8e9 / 8.125,
  4: 16e9 / 8.125,
  5: 32e9 / 8.125,
  6: 60.5e9 / 8,
};

function linkReference(device: CheckedDevice | undefined): CheckReference | undefined {
  const { pcieGeneration: generation, pcieWidth: width } = device ?? {};
  const lane = generation === undefined ? undefined : laneBytes[generation];
  if (lane === undefined || width === undefined || width < 1 || width > 32) return undefined;
  return { value: lane * width, unit: "bytes/s", basis: `PCIe ${generation} x${width}` };
}

function compare(
  value: number,
  reference: CheckReference | undefined,
  limit: number,
): { readonly status: CheckStatus; readonly reference?: CheckReference; readonly ratio?: number } {
  if (reference === undefined) return { status: "no reference" };
  const ratio = value / reference.value;
  return { status: ratio < limit ? "slow" : "ok", reference, ratio };
}
