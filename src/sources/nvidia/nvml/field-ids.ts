/** NVML's field ids by name. Pure. NVIDIA has renumbered one group of them between drivers. */

export const fieldIds = {
  retiredPagesCorrected: 29,
  retiredPagesUncorrected: 30,
  retiredPagesPending: 31,
  nvlinkCrcFlitErrors: 38,
  nvlinkCrcDataErrors: 45,
  nvlinkReplays: 52,
  nvlinkRecoveries: 59,
  powerCapNanoseconds: 74,
  syncBoostNanoseconds: 76,
  memoryTemperature: 82,
  nvlinkTransmitKibibytes: 138,
  nvlinkReceiveKibibytes: 139,
  remappedRowsCorrected: 142,
  remappedRowsUncorrected: 143,
  remappedRowsPending: 144,
  rowRemapFailed: 145,
  nvlinkSpeed: 164,
  powerAverage: 185,
  powerInstant: 186,
  recoveryAction: 230,
} as const;

/** Times of slowdown in nanoseconds. */
export interface SlowdownIds {
  readonly thermal: number;
  readonly thermalHardware: number;
  readonly powerBrake: number;
}

/** Drivers 575 to 580.65. In 570, and again from 580.82 on, these ids are settings of power smoothing. */
const early: SlowdownIds = { thermal: 251, thermalHardware: 252, powerBrake: 253 };
/** Since driver 580.82. In 575 to 580.65 these ids are settings of power smoothing; older drivers do not have them. */
const present: SlowdownIds = { thermal: 269, thermalHardware: 270, powerBrake: 271 };

/**
 * The ids of the slowdown counters, from `nvidia-ml-py` 12.570 to 13.615. Undefined for drivers in between, of which it is unknown:
 * a setting must not be read as a time. Windows counts its drivers differently, so all of its 580 are unknown.
 *
 * @param driver such as `580.159.04`
 */
export function slowdownIds(
  driver: string | undefined,
  platform: NodeJS.Platform = process.platform,
): SlowdownIds | undefined {
  const [major = Number.NaN, minor = 0] = (driver ?? "").split(".").map(Number);
  if (major >= 575 && major < 580) return early;
  if (major !== 580) return present;
  if (platform === "win32") return undefined;
  if (minor <= 65) return early;
  return minor >= 82 ? present : undefined;
}
