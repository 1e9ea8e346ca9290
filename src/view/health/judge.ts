/** Turns the recorded state of a GPU into a verdict: every reason with its numbers, and every check that was not possible. Pure. */
import { conditions } from "./conditions.ts";
import type { CounterInput, GpuRecord } from "./gpu-record.ts";
import type { GpuInput } from "./inputs.ts";
import {
  combineReasons,
  type HealthAction,
  type HealthCheck,
  type HealthReason,
  type JudgedState,
  type UncheckedCheck,
  type Verdict,
} from "./verdict.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Corrected errors per hour above which a row of memory is failing. */
const correctedAnHour = 10;
/** NVIDIA replaces boards with this many retired pages (dynamic page retirement, before Ampere). */
const mostRetiredPages = 60;
/** DCGM's own limit is 8 replays a minute. */
const replaysInTenMinutes = 80;
const linkErrorsAnHour = 100;
/** Thermal throttling for this share of ten minutes is more than a short peak. */
const heatSecondsInTenMinutes = 60;
/** A healthy power supply never triggers a power brake. Counted per hour, because it shows under load only. */
const brakeSecondsAnHour = 10;

/** Whether the driver's errors of this GPU can be read. Undefined if only the GPU's own readings are available. */
export type DriverLogAccess = { readonly ok: true } | { readonly ok: false; readonly why: string };

export interface JudgeContext {
  readonly nowMs: number;
  readonly driverLog: DriverLogAccess | undefined;
  /** Reasons from elsewhere: the anomaly watch and the kernel's log. */
  readonly more: readonly HealthReason[];
}

/** Without readings for this long, the state of the GPU is unknown. */
const silentMs = 2 * minuteMs;

export function judgeGpu(record: GpuRecord, { nowMs, driverLog, more }: JudgeContext): Verdict {
  const { readings } = record;
  const silentFor = nowMs - record.timeMs;
  if (silentFor > silentMs)
    return combineReasons(
      [],
      [
        {
          check: "presence",
          why: `no readings for ${Math.round(silentFor / minuteMs)} min: its machine or agent does not report`,
        },
      ],
      false,
    );
  const own = [
    ...heldReasons(record),
    ...countedReasons(record, nowMs),
    ...repairReasons(record),
    ...record.xids.reasons(nowMs),
    ...resetReasons(record, nowMs),
    ...more,
  ];
  // Reasons that the agent reports too are omitted, because the reported ones carry no numbers.
  const reported = record.reported?.reasons ?? [];
  const reasons = [
    ...own,
    ...reported.filter((one) => !own.some(({ reason }) => reason === one.reason)),
  ];
  const unchecked = uncheckedOf(record, driverLog);
  if (readings.get("asleep") === 1)
    return combineReasons(reasons, [{ check: "presence", why: asleepWords }, ...unchecked], false);
  return combineReasons(
    withoutEchoes(reasons),
    unchecked,
    readings.get("up") !== undefined && unchecked.length < inputsOf.length,
  );
}

const asleepWords = "the GPU is asleep, and reading it would wake it";

/** Causes of slow clocks and little work. */
const slowdowns = new Set([
  "power_brake",
  "too_hot",
  "thermal_throttling",
  "fan_stopped",
  "anomaly_fan_slow",
  "anomaly_cooling_degraded",
]);
const slowdownEchoes = new Set(["clock_stuck", "anomaly_clock_low", "anomaly_straggler"]);

/** Removes reasons that follow from another reason, because their action would not help. */
function withoutEchoes(reasons: readonly HealthReason[]): readonly HealthReason[] {
  // For a GPU that does not respond, only that reason and its driver's earlier errors count.
  if (reasons.some(({ state }) => state === "lost"))
    return reasons.filter(({ state, check }) => state === "lost" || check === "driver_errors");
  return reasons.some(({ reason }) => slowdowns.has(reason))
    ? reasons.filter(({ reason }) => !slowdownEchoes.has(reason))
    : reasons;
}

function heldReasons(record: GpuRecord): HealthReason[] {
  return conditions.flatMap(({ name, check, title, state, action, text }) => {
    const sinceMs = record.since(name);
    return sinceMs === undefined
      ? []
      : [{ check, reason: name, title, state, action, text: text(record), sinceMs }];
  });
}

interface CounterRule {
  readonly input: CounterInput;
  readonly check: HealthCheck;
  readonly reason: string;
  readonly title: string;
  readonly state: JudgedState;
  readonly action: HealthAction;
  readonly spanMs: number;
  /** The reason applies above this count within the span. */
  readonly limit: number;
  readonly text: (count: number) => string;
}

const counterRules: readonly CounterRule[] = [
  {
    input: "eccUncorrected",
    check: "memory",
    reason: "ecc_uncorrected",
    title: "uncorrectable memory errors",
    state: "failing",
    action: "reset_gpu",
    spanMs: dayMs,
    limit: 0,
    text: (count) =>
      `${count} uncorrectable memory errors within a day: results of its jobs may be wrong. A reset replaces bad rows.`,
  },
  {
    input: "eccCorrected",
    check: "memory",
    reason: "ecc_corrected",
    title: "many corrected memory errors",
    state: "degraded",
    action: "inspect",
    spanMs: hourMs,
    limit: correctedAnHour,
    text: (count) =>
      `${count} memory errors were corrected within an hour; the limit is ${correctedAnHour}. No data was lost.`,
  },
  {
    input: "blockUncorrected",
    check: "memory",
    reason: "ras_uncorrected",
    title: "uncorrectable hardware errors (RAS)",
    state: "failing",
    action: "reset_gpu",
    spanMs: dayMs,
    limit: 0,
    text: (count) => `${count} uncorrectable errors in hardware blocks within a day.`,
  },
  {
    input: "blockCorrected",
    check: "memory",
    reason: "ras_corrected",
    title: "many corrected hardware errors (RAS)",
    state: "degraded",
    action: "inspect",
    spanMs: hourMs,
    limit: correctedAnHour,
    text: (count) =>
      `${count} errors in hardware blocks were corrected within an hour; the limit is ${correctedAnHour}.`,
  },
  {
    input: "linkRecoveries",
    check: "interconnect",
    reason: "link_recoveries",
    title: "links to other GPUs had to recover",
    state: "degraded",
    action: "reset_gpu",
    spanMs: hourMs,
    limit: 0,
    text: (count) => `Links to other GPUs went down and recovered ${count} times within an hour.`,
  },
  {
    input: "linkErrors",
    check: "interconnect",
    reason: "link_errors",
    title: "errors on links to other GPUs",
    state: "degraded",
    action: "inspect",
    spanMs: hourMs,
    limit: linkErrorsAnHour,
    text: (count) =>
      `${count} CRC and replay errors on links to other GPUs within an hour; the limit is ${linkErrorsAnHour}.`,
  },
  {
    input: "pcieReplays",
    check: "pcie",
    reason: "pcie_replays",
    title: "PCIe packets are sent again",
    state: "degraded",
    action: "inspect",
    spanMs: 10 * minuteMs,
    limit: replaysInTenMinutes,
    text: (count) =>
      `${count} PCIe packets were sent again within ten minutes; the limit is ${replaysInTenMinutes}. Reseat the card or riser.`,
  },
  {
    input: "pcieFatal",
    check: "pcie",
    reason: "pcie_fatal",
    title: "fatal PCIe errors",
    state: "failing",
    action: "reboot",
    spanMs: dayMs,
    limit: 0,
    text: (count) => `${count} fatal PCIe errors within a day.`,
  },
  {
    input: "pcieNonfatal",
    check: "pcie",
    reason: "pcie_nonfatal",
    title: "uncorrected PCIe errors",
    state: "degraded",
    action: "inspect",
    spanMs: hourMs,
    limit: 0,
    text: (count) => `${count} uncorrected, non-fatal PCIe errors within an hour.`,
  },
];

function countedReasons(record: GpuRecord, nowMs: number): HealthReason[] {
  const reasons = counterRules.flatMap(({ input, spanMs, limit, text, ...rule }) => {
    const growth = record.growth(input);
    const count = growth?.within(spanMs, nowMs) ?? 0;
    if (count <= limit) return [];
    const { check, reason, title, state, action } = rule;
    const sinceMs = growth?.firstMs ?? nowMs;
    return [{ check, reason, title, state, action, text: text(count), sinceMs }];
  });
  const heat = record.heatSeconds.within(10 * minuteMs, nowMs);
  if (heat >= heatSecondsInTenMinutes)
    reasons.push({
      check: "cooling",
      reason: "thermal_throttling",
      title: "clocks are held down by heat",
      state: "degraded",
      action: "inspect",
      text: `Clocks were held down by heat for ${Math.round(heat)} s of the last ten minutes. Check fans, airflow and paste.`,
      sinceMs: record.heatSeconds.firstMs ?? nowMs,
    });
  const brake = record.brakeSeconds.within(hourMs, nowMs);
  if (brake >= brakeSecondsAnHour)
    reasons.push({
      check: "power",
      reason: "power_brake",
      title: "slowed down by the power supply",
      state: "degraded",
      action: "inspect",
      text: `The machine's power supply slowed the GPU down for ${Math.round(brake)} s of the last hour. Check supplies and cables.`,
      sinceMs: record.brakeSeconds.firstMs ?? nowMs,
    });
  return reasons;
}

/** Reasons from the repair state that the GPU itself reports. */
function repairReasons(record: GpuRecord): HealthReason[] {
  const { readings, firstMs: sinceMs } = record;
  const memory = (
    reason: string,
    title: string,
    state: JudgedState,
    action: HealthAction,
    text: string,
  ): HealthReason => ({ check: "memory", reason, title, state, action, text, sinceMs });
  const reasons: HealthReason[] = [];
  if (readings.get("remapFailed") === 1)
    reasons.push(
      memory(
        "row_remap_failed",
        "memory row could not be remapped",
        "failing",
        "drain",
        "A bad row of memory could not be replaced: no spare row is left.",
      ),
    );
  if (readings.get("remapPending") === 1 || readings.get("retiredPending") === 1)
    reasons.push(
      memory(
        "memory_repair_pending",
        "memory repair waits for a reset",
        "degraded",
        "reset_gpu",
        `Bad memory is replaced at the next reset${uncorrectedRows(readings.get("remappedUncorrected"))}.`,
      ),
    );
  const pages = readings.get("retiredPages") ?? 0;
  if (pages >= mostRetiredPages)
    reasons.push(
      memory(
        "retired_pages",
        "many retired memory pages",
        "failing",
        "drain",
        `${pages} memory pages are retired; at ${mostRetiredPages} a board is replaced.`,
      ),
    );
  const uncorrected = readings.get("eccUncorrected") ?? 0;
  if (uncorrected > 0)
    reasons.push(
      memory(
        "ecc_uncorrected",
        "uncorrectable memory errors",
        "degraded",
        "reset_gpu",
        `${uncorrected} uncorrectable memory errors since the driver was loaded.`,
      ),
    );
  const recovery = readings.get("recoveryAction") ?? record.loggedRecovery ?? 0;
  return [...reasons, ...recoveryReasons(recovery, sinceMs)];
}

/** From this many driver resets within a day on, a single program is not to blame. */
const resetsADay = 3;

/** Hangs and resets that the driver wrote to the kernel's log. */
function resetReasons({ driverResets }: GpuRecord, nowMs: number): HealthReason[] {
  const count = driverResets.within(dayMs, nowMs);
  const isOften = count >= resetsADay;
  if (!isOften && driverResets.within(hourMs, nowMs) === 0) return [];
  return [
    {
      check: "driver_errors",
      reason: "driver_reset",
      title: "hang or reset by the driver",
      state: isOften ? "degraded" : "healthy",
      action: isOften ? "reset_gpu" : "restart_app",
      text: `The driver reported a hang or reset in ${count} of the last 1440 minutes; from ${resetsADay} on, it is not one program's.`,
      sinceMs: driverResets.firstMs ?? nowMs,
    },
  ];
}

const uncorrectedRows = (rows: number | undefined): string =>
  rows === undefined || rows === 0 ? "" : `; ${rows} rows were replaced for uncorrectable errors`;

/** NVML's `nvmlDeviceGpuRecoveryAction_t`. */
const recoveryActions: Readonly<
  Record<number, readonly [JudgedState, HealthAction, needs: string]>
> = {
  1: ["failing", "reset_gpu", "a reset of the GPU"],
  2: ["failing", "reboot", "a reboot of the machine"],
  3: ["degraded", "reset_gpu", "its peer-to-peer traffic drained"],
  4: ["degraded", "reset_gpu", "a drain and a reset of the GPU"],
  5: ["degraded", "inspect", "recovery of its IMEX domain"],
  6: ["failing", "reset_gpu", "a reset of its PCIe bus"],
  7: ["failing", "reboot", "a reboot of the system"],
};

function recoveryReasons(value: number, sinceMs: number): HealthReason[] {
  const known = recoveryActions[value];
  if (known === undefined) return [];
  const [state, action, needs] = known;
  const title = "the driver asks for recovery";
  const text = `The driver asks for ${needs} (recovery action ${value}).`;
  return [{ check: "recovery", reason: "recovery_action", title, state, action, text, sinceMs }];
}

interface CheckInputs {
  readonly check: HealthCheck;
  /** The check is possible with any one of these inputs. */
  readonly anyOf: readonly GpuInput[];
  readonly name: string;
}

const inputsOf: readonly CheckInputs[] = [
  {
    check: "memory",
    anyOf: ["eccUncorrected", "remapFailed", "retiredPages", "blockUncorrected"],
    name: "ECC",
  },
  { check: "recovery", anyOf: ["recoveryAction"], name: "recovery action" },
  { check: "interconnect", anyOf: ["linksUp", "linkErrors"], name: "links to other GPUs" },
  { check: "pcie", anyOf: ["pcieWidth", "pcieReplays"], name: "PCIe link" },
  { check: "cooling", anyOf: ["edgeCelsius", "hotspotCelsius"], name: "temperature" },
  { check: "clock", anyOf: ["clockHertz"], name: "clock" },
  { check: "power", anyOf: ["throttled"], name: "throttle reasons" },
];

function uncheckedOf(
  { readings, reported }: GpuRecord,
  driverLog: DriverLogAccess | undefined,
): UncheckedCheck[] {
  const unchecked: UncheckedCheck[] = inputsOf.flatMap(({ check, anyOf, name }) => {
    const [first] = anyOf;
    if (first === undefined || anyOf.some((input) => readings.get(input) !== undefined)) return [];
    return [{ check, why: `${name}: ${readings.whyAbsent(first)}` }];
  });
  const seesDriver =
    readings.get("xidWatched") === 1 ||
    driverLog?.ok === true ||
    (reported !== undefined && !reported.unchecked.some(({ check }) => check === "driver_errors"));
  if (!seesDriver)
    unchecked.push({
      check: "driver_errors",
      why: driverLog?.ok === false ? driverLog.why : "errors of the driver are not reported",
    });
  return unchecked;
}
