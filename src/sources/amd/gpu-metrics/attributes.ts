/**
 * gpu_metrics 1.9 describes itself: after the header an i32 count, then per attribute a u64 that encodes it and its values,
 * packed without padding. Bits of the encoding: unit 31–24, type 23–20, id 19–10, instances 9–0. Unknown ids are skipped by their
 * type and count.
 */
import type { FieldName } from "./layouts.ts";

export interface Attribute {
  readonly id: number;
  readonly unit: number;
  readonly type: number;
  readonly instances: number;
}

export const attributeTypes = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"] as const;
export const attributeTypeBytes = [1, 1, 2, 2, 4, 4, 8, 8] as const;

/** Field names of the ids in use; the rest of the kernel's list is skipped. */
export const attributeNames: Readonly<Partial<Record<number, FieldName>>> = {
  0: "temperatureHotspot",
  1: "temperatureMemory",
  2: "temperatureVrSoc",
  3: "socketPower",
  4: "gfxActivity",
  5: "memoryActivity",
  6: "memoryMaxBandwidth",
  7: "energy",
  9: "accumulations",
  10: "residencyProchot",
  11: "residencyPowerCap",
  12: "residencyThermal",
  13: "residencyThermalVr",
  14: "residencyThermalHbm",
  16: "pcieWidth",
  17: "pcieSpeed",
  24: "pcieRecoveries",
  25: "pcieReplays",
  26: "pcieReplayRollovers",
  27: "pcieNaksSent",
  28: "pcieNaksReceived",
  29: "xgmiRead",
  30: "xgmiWritten",
  31: "xgmiStatus",
  33: "currentGfxClock",
  34: "currentSocClock",
  35: "currentVideoClock",
  37: "currentMemoryClock",
  38: "partitions",
  40: "dieActivity",
  42: "vcnActivity",
};

/** The fixed layouts contain the PCIe speed in 0.1 GT/s; an attribute may contain whole GT/s (unit 6), which is converted. */
export const gigatransfersUnit = 6;

export function parseAttribute(encoding: bigint): Attribute {
  const low = Number(encoding & 0xffff_ffffn);
  return {
    unit: low >>> 24,
    type: (low >>> 20) & 0xf,
    id: (low >>> 10) & 0x3ff,
    instances: low & 0x3ff,
  };
}

export function encodeAttribute({ id, unit, type, instances }: Attribute): bigint {
  return (BigInt(unit) << 24n) | (BigInt(type) << 20n) | (BigInt(id) << 10n) | BigInt(instances);
}
