/**
 * Converts base units to the units of other exporters, and back. If the other exporter writes integers, values are rounded the same
 * way.
 */
import type { Device } from "../../model/device.ts";
import type { ConversionContext } from "./row.ts";

/** `write` converts our unit to theirs, `read` converts back. Undefined leaves the reading out. */
export interface Conversion {
  readonly write: (value: number, folded: ConversionContext) => number | undefined;
  /** Absent if their value does not determine ours. */
  readonly read?: (value: number) => number | undefined;
}

/** Their value is ours divided by `unit`, rounded by `round`. */
const scaled = (unit: number, round: (value: number) => number): Conversion => ({
  write: (value) => round(value / unit),
  read: (value) => value * unit,
});

/** Their value is ours times `factor`, rounded. Not a division by the inverse: 1e-3 is not exact. */
const multiplied = (factor: number): Conversion => ({
  write: (value) => Math.round(value * factor),
  read: (value) => value / factor,
});

/** Memory in whole MiB, rounded down as NVML and amd-smi do. */
export const mebibytes = scaled(1_048_576, Math.floor);
export const kibibytes = scaled(1_024, Math.floor);
/** 0.07 times 100 is 7.000000000000001: two decimals of a percentage keep the four decimals of a ratio. */
export const percent: Conversion = {
  write: (ratio) => Math.round(ratio * 10_000) / 100,
  read: (value) => value / 100,
};
export const megahertz = scaled(1e6, Math.round);
export const millijoules = multiplied(1e3);
export const microjoules = multiplied(1e6);
export const millivolts = multiplied(1e3);
export const nanoseconds = multiplied(1e9);
export const megabitsPerSecond: Conversion = {
  write: (bytesPerSecond) => Math.round((bytesPerSecond * 8) / 1e6),
  read: (value) => (value * 1e6) / 8,
};

const gigatransfers = [2.5, 5, 8, 16, 32, 64, 128];

/** Speed of a PCIe lane by generation. */
export const gigatransfersPerSecond: Conversion = {
  write: (generation) => gigatransfers[generation - 1],
  read: (speed) => {
    const at = gigatransfers.indexOf(speed);
    return at < 0 ? undefined : at + 1;
  },
};

/** NVML's spelling of `0000:83:00.0`: an eight-digit domain, in capitals. */
export function nvmlBusId({ pciBusId }: Device): string | undefined {
  const parts = /^([0-9a-f]{4,8}):([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])$/i.exec(pciBusId ?? "");
  return parts === null ? pciBusId : `${parts[1]?.padStart(8, "0")}:${parts[2]}`.toUpperCase();
}

/** `1g.18gb` of `NVIDIA H200 MIG 1g.18gb`; undefined on a whole GPU, and if the driver does not name the profile. */
export const migProfile = ({ model }: Device): string | undefined =>
  / MIG (\S*g\.\S+)$/.exec(model)?.[1];

/** Marks simulated values under every name, so that they never pass for measured ones. */
export const simulatedLabel = (device: Device): string | undefined =>
  device.simulated ? "true" : undefined;
