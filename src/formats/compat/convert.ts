/** From our base units to the units other exporters use. Where their number is whole, ours is made whole the same way. */
import type { Device } from "../../model/device.ts";

/** Memory in whole MiB, rounded down as NVML and amd-smi do. */
export const mebibytes = (bytes: number): number => Math.floor(bytes / 1_048_576);
export const kibibytes = (bytes: number): number => Math.floor(bytes / 1_024);
/** 0.07 times 100 is 7.000000000000001: two decimals keep what a ratio of four had. */
export const percent = (ratio: number): number => Math.round(ratio * 10_000) / 100;
export const megahertz = (hertz: number): number => Math.round(hertz / 1e6);
export const millijoules = (joules: number): number => Math.round(joules * 1e3);
export const microjoules = (joules: number): number => Math.round(joules * 1e6);
export const millivolts = (volts: number): number => Math.round(volts * 1e3);
export const nanoseconds = (seconds: number): number => Math.round(seconds * 1e9);
export const megabitsPerSecond = (bytesPerSecond: number): number =>
  Math.round((bytesPerSecond * 8) / 1e6);

const gigatransfers = [2.5, 5, 8, 16, 32, 64, 128];

/** Speed of a PCIe lane by generation. */
export const gigatransfersPerSecond = (generation: number): number | undefined =>
  gigatransfers[generation - 1];

/** `0000:83:00.0` as NVML writes it: eight digits of domain, capitals. */
export function nvmlBusId({ pciBusId }: Device): string | undefined {
  const parts = /^([0-9a-f]{4,8}):([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])$/i.exec(pciBusId ?? "");
  return parts === null ? pciBusId : `${parts[1]?.padStart(8, "0")}:${parts[2]}`.toUpperCase();
}

/** Simulated numbers never pass for measured ones, under whatever name. */
export const simulatedLabel = (device: Device): string | undefined =>
  device.simulated ? "true" : undefined;
