/** The table and the JSON of `gpulse check`. Pure. */
import { percent, type CheckResult, type GpuCheck } from "../../sources/nvidia/check/verdict.ts";
import { formatBytes, formatCount } from "../command/quantity.ts";
import { alignColumns } from "../table.ts";

const titles: Readonly<Record<CheckResult["test"], string>> = {
  device_copy: "device copy (read + write)",
  host_to_device: "host to device, pinned",
  device_to_host: "device to host, pinned",
  fp32: "FP32",
  tensor: "bf16 tensor",
  products: "known products",
  memory: "memory patterns",
};

export function formatCheck(checks: readonly GpuCheck[]): string {
  return checks.map(formatGpu).join("\n");
}

function formatGpu({
  gpu,
  verdict,
  reasons,
  fix,
  conditions,
  results,
  selfTest,
}: GpuCheck): string {
  const head = `GPU ${gpu.index}  ${gpu.model}  ${gpu.uuid}${gpu.driver === undefined ? "" : `  driver ${gpu.driver}`}\n`;
  const rows = results.map((result) => [
    titles[result.test],
    formatValue(result.value, result.unit),
    result.reference === undefined
      ? "-"
      : `${formatValue(result.reference.value, result.reference.unit)} (${result.reference.basis})`,
    result.ratio === undefined ? "-" : percent(result.ratio),
    result.status,
    result.note ?? "",
  ]);
  const table =
    rows.length === 0
      ? ""
      : alignColumns([["TEST", "RESULT", "REFERENCE", "SHARE", "STATUS", "NOTE"], ...rows]);
  const flips =
    selfTest === undefined
      ? ""
      : `self-test: ${selfTest.found} of ${selfTest.injected} flipped bits found (${Object.entries(
          selfTest.kinds,
        )
          .map(([name, { injected, found }]) => `${name} ${found} of ${injected}`)
          .join(", ")}), ${selfTest.falseAlarms} false alarms\n`;
  const flop = results.reduce((sum, { measurement }) => sum + flopOf(measurement), 0);
  const work = flop === 0 ? "" : `did ${(flop / 1e12).toFixed(1)} TFLOP\n`;
  const load = formatConditions(conditions);
  const lines = [...reasons, ...(fix === undefined ? [] : [fix])].map((line) => `  ${line}\n`);
  return `${head}${table}${flips}${work}${load}verdict: ${verdict}\n${lines.join("")}`;
}

/** Total floating-point operations of the rate loads; `gpulse stress` reads the resulting line. */
const flopOf = (measurement: CheckResult["measurement"]): number =>
  measurement?.test === "tensor" || measurement?.test === "fp32"
    ? measurement.flopsPerSecond * measurement.seconds
    : 0;

function formatConditions(conditions: GpuCheck["conditions"]): string {
  const { temperatureMaxCelsius, powerMaxWatts, throttle = [] } = conditions ?? {};
  const parts = [
    temperatureMaxCelsius === undefined ? undefined : `at most ${temperatureMaxCelsius} °C`,
    powerMaxWatts === undefined ? undefined : `${Math.round(powerMaxWatts)} W`,
    throttle.length === 0 ? undefined : `clocks held down by ${throttle.join(", ")}`,
  ].filter((part) => part !== undefined);
  return parts.length === 0 ? "" : `under load: ${parts.join(", ")}\n`;
}

function formatValue(value: number | undefined, unit: string | undefined): string {
  if (value === undefined) return "-";
  if (unit === "FLOP/s") return `${(value / 1e12).toFixed(1)} TFLOP/s`;
  if (unit === "bytes/s") return `${(value / 1e9).toFixed(1)} GB/s`;
  return unit === "bytes" ? formatBytes(value) : formatCount(value);
}

/** Every number has a unit: in the field's name, or in `unit` beside it. */
export function checkJson(checks: readonly GpuCheck[]): string {
  const gpus = checks.map(({ gpu, ...check }) => ({
    uuid: gpu.uuid,
    gpu: gpu.index,
    vendor: gpu.vendor,
    model: gpu.model,
    driver: gpu.driver ?? null,
    ...check,
  }));
  return JSON.stringify({ gpus }, null, 2);
}
