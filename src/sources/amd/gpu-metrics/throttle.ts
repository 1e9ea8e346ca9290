/**
 * Throttle reasons from gpu_metrics. Cards up to 1.3 and 2.x report bits with the same meaning on every chip; newer ones report how long
 * each cause has been active, so a cause is active if its count grew. Chip-specific bits are not read: a wrong reason is worse than none.
 */
import type { GpuMetrics } from "./decode.ts";
import type { FieldName } from "./layouts.ts";

const amdThrottleReasons = [
  "power_cap",
  "current",
  "thermal",
  "thermal_hardware",
  "reliability",
] as const;
export type AmdThrottleReason = (typeof amdThrottleReasons)[number];

export type Throttle =
  | { readonly kind: "bits"; readonly active: ReadonlySet<AmdThrottleReason> }
  | {
      readonly kind: "residency";
      readonly counts: Readonly<Partial<Record<AmdThrottleReason, number>>>;
    };

/** Groups of 16 bits: power, current, temperature, other. In the third, bits 12 to 15 are VRHOT and PROCHOT; in the fourth,
 * bit 8 is PPM (power) and bit 9 FIT (reliability). */
const hardwareThermalBits = 0xf000;
const powerManagementBit = 1 << 8;
const reliabilityBit = 1 << 9;

const residencyFields: Readonly<Record<"power_cap" | "thermal" | "thermal_hardware", FieldName[]>> =
  {
    power_cap: ["residencyPowerCap", "residencySlowPower", "residencyFastPower"],
    thermal: [
      "residencyThermal",
      "residencyThermalGfx",
      "residencyThermalSoc",
      "residencyThermalHbm",
    ],
    thermal_hardware: ["residencyProchot", "residencyThermalVr"],
  };

export function throttleOf(metrics: GpuMetrics): Throttle | undefined {
  const groups = metrics.fields.get("independentThrottle");
  if (groups !== undefined)
    return groups.every((group) => group === undefined) ? undefined : bits(groups);
  const counts: Partial<Record<AmdThrottleReason, number>> = {};
  for (const reason of ["power_cap", "thermal", "thermal_hardware"] as const) {
    const residencies = residencyFields[reason].flatMap((name) => metrics.fields.get(name) ?? []);
    const known = residencies.filter((count) => count !== undefined);
    if (known.length > 0) counts[reason] = known.reduce((sum, count) => sum + count, 0);
  }
  return Object.keys(counts).length === 0 ? undefined : { kind: "residency", counts };
}

function bits(groups: readonly (number | undefined)[]): Throttle {
  const [power = 0, current = 0, temperature = 0, other = 0] = groups;
  const active = new Set<AmdThrottleReason>();
  if (power !== 0 || (other & powerManagementBit) !== 0) active.add("power_cap");
  if (current !== 0) active.add("current");
  if ((temperature & ~hardwareThermalBits) !== 0) active.add("thermal");
  if ((temperature & hardwareThermalBits) !== 0) active.add("thermal_hardware");
  if ((other & reliabilityBit) !== 0) active.add("reliability");
  return { kind: "bits", active };
}

/** The reasons that this kind of table can report. */
export function reportableReasons(throttle: Throttle): readonly AmdThrottleReason[] {
  return throttle.kind === "bits"
    ? amdThrottleReasons
    : amdThrottleReasons.filter((reason) => throttle.counts[reason] !== undefined);
}

/** True if the reason is active now; undefined if a count has no previous value to compare with. */
export function isThrottled(
  reason: AmdThrottleReason,
  now: Throttle,
  before: Throttle | undefined,
): boolean | undefined {
  if (now.kind === "bits") return now.active.has(reason);
  const count = now.counts[reason];
  if (count === 0) return false;
  const earlier = before?.kind === "residency" ? before.counts[reason] : undefined;
  return count === undefined || earlier === undefined ? undefined : count > earlier;
}
