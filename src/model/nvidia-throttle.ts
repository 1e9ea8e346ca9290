/** NVIDIA's throttle reasons, under the names of the catalogue. Pure. */

export const nvidiaThrottleReasons = [
  "power_cap",
  "power_brake",
  "thermal",
  "thermal_hardware",
  "sync_boost",
  "clock_setting",
] as const;
export type NvidiaThrottleReason = (typeof nvidiaThrottleReasons)[number];

/**
 * Bits: 0 idle (no throttling), 1 application clocks, 2 software power cap, 3 hardware slowdown, 4 sync boost, 5 software thermal,
 * 6 hardware thermal, 7 hardware power brake, 8 display clocks. Bit 3 is also set whenever 6 or 7 is.
 */
export function decodeThrottleBits(bits: number): Record<NvidiaThrottleReason, boolean> {
  const has = (bit: number): boolean => (bits & (1 << bit)) !== 0;
  return {
    power_cap: has(2),
    power_brake: has(7),
    thermal: has(5),
    thermal_hardware: has(6) || (has(3) && !has(7)),
    sync_boost: has(4),
    clock_setting: has(1) || has(8),
  };
}
