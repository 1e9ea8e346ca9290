/**
 * The layouts of amdgpu's `gpu_metrics` as tables: members in order, from the kernel's kgd_pp_interface.h. Offsets follow from
 * the members by a C compiler's rules, so a table is correct exactly if its size is. No code reads bytes here.
 *
 * Header of every version, little endian: u16 structure_size, u8 format_revision, u8 content_revision.
 */
export type FieldType = "u8" | "u16" | "u32" | "u64";

/** The names of members; padding and unused members have no name. */
export type FieldName =
  | `temperature${"Edge" | "Hotspot" | "Memory" | "VrGfx" | "VrSoc" | "VrMemory" | "Gfx" | "Soc" | "Skin"}`
  | "temperatureHbm"
  | `${"gfx" | "memory" | "video"}Activity`
  | "vcnActivity"
  | `${"socket" | "cpu" | "soc" | "gfx" | "ipu" | "cores"}Power`
  | "energy"
  | `${"average" | "current"}${"Gfx" | "Soc" | "Memory" | "Fabric" | "Video"}Clock`
  | `${"soc" | "gfx" | "memory"}Voltage`
  | "fanRpm"
  | "independentThrottle"
  | "accumulations"
  | `residency${"Prochot" | "PowerCap" | "SlowPower" | "FastPower" | "Thermal" | "ThermalGfx" | "ThermalSoc" | "ThermalVr" | "ThermalHbm"}`
  | "pcieWidth"
  | "pcieSpeed"
  | "pcieReplays"
  | `pcie${"Recoveries" | "ReplayRollovers" | "NaksSent" | "NaksReceived"}`
  | "xgmiRead"
  | "xgmiWritten"
  | "xgmiStatus"
  | "partitions"
  | "dieActivity"
  | "memoryMaxBandwidth";

export type Member = readonly [type: FieldType, name: FieldName | "", count?: number];

export interface MetricsLayout {
  readonly version: `${number}.${number}`;
  readonly sizeBytes: number;
  readonly members: readonly Member[];
}

/** The driver's own timestamp in ns; unused, since the frame has its own. */
const driverTime: Member = ["u64", ""];
/** In steps of 10 ns. */
const firmwareTime: Member = ["u64", ""];

const clocks7 = (age: "average" | "current"): readonly Member[] => [
  ["u16", `${age}GfxClock`],
  ["u16", `${age}SocClock`],
  ["u16", `${age}MemoryClock`],
  ["u16", `${age}VideoClock`],
  ["u16", "", 3],
];

const temperatures1: readonly Member[] = [
  ["u16", "temperatureEdge"],
  ["u16", "temperatureHotspot"],
  ["u16", "temperatureMemory"],
  ["u16", "temperatureVrGfx"],
  ["u16", "temperatureVrSoc"],
  ["u16", "temperatureVrMemory"],
];
const activity1: readonly Member[] = [
  ["u16", "gfxActivity"],
  ["u16", "memoryActivity"],
  ["u16", "videoActivity"],
];

/** The chip-specific throttle status differs by chip and is not read; the independent one consists of four groups of 16 bits. */
const chipThrottle: Member = ["u32", ""];
const independentThrottle: Member = ["u16", "independentThrottle", 4];

const v1_0: readonly Member[] = [
  driverTime,
  ...temperatures1,
  ...activity1,
  ["u16", "socketPower"],
  ["u32", "energy"],
  ...clocks7("average"),
  ...clocks7("current"),
  chipThrottle,
  ["u16", "fanRpm"],
  ["u8", "pcieWidth"],
  ["u8", "pcieSpeed"],
];
const v1_1: readonly Member[] = [
  ...temperatures1,
  ...activity1,
  ["u16", "socketPower"],
  ["u64", "energy"],
  driverTime,
  ...clocks7("average"),
  ...clocks7("current"),
  chipThrottle,
  ["u16", "fanRpm"],
  ["u16", "pcieWidth"],
  ["u16", "pcieSpeed"],
  ["u16", ""],
  ["u32", "", 2],
  ["u16", "temperatureHbm", 4],
];
const v1_2: readonly Member[] = [...v1_1, firmwareTime];
const v1_3: readonly Member[] = [
  ...v1_2,
  ["u16", "socVoltage"],
  ["u16", "gfxVoltage"],
  ["u16", "memoryVoltage"],
  ["u16", ""],
  independentThrottle,
];

/** MI300 and newer, whose tables differ only in the members inserted between these. */
const head4: readonly Member[] = [
  ["u16", "temperatureHotspot"],
  ["u16", "temperatureMemory"],
  ["u16", "temperatureVrSoc"],
  ["u16", "socketPower"],
  ["u16", "gfxActivity"],
  ["u16", "memoryActivity"],
];
const engines5: readonly Member[] = [
  ["u16", "vcnActivity", 4],
  ["u16", "", 32],
];
const energy4: readonly Member[] = [["u64", "energy"], driverTime];
const residencies: readonly Member[] = [
  ["u32", "accumulations"],
  ["u32", "residencyProchot"],
  ["u32", "residencyPowerCap"],
  ["u32", "residencyThermal"],
  ["u32", "residencyThermalVr"],
  ["u32", "residencyThermalHbm"],
];
/** Clock lock, links, activity totals, then PCIe: bandwidth total and current, and counts of link events. */
const links4: readonly Member[] = [
  ["u32", ""],
  ["u16", "pcieWidth"],
  ["u16", "pcieSpeed"],
  ["u16", "", 2],
  ["u32", "", 2],
  ["u64", "", 2],
  ["u64", "pcieRecoveries"],
  ["u64", "pcieReplays"],
  ["u64", "pcieReplayRollovers"],
];
const naks: readonly Member[] = [
  ["u32", "pcieNaksSent"],
  ["u32", "pcieNaksReceived"],
];
const xgmi: readonly Member[] = [
  ["u64", "xgmiRead", 8],
  ["u64", "xgmiWritten", 8],
];
const clocks4: readonly Member[] = [
  ["u16", "currentGfxClock", 8],
  ["u16", "currentSocClock", 4],
  ["u16", "currentVideoClock", 4],
  ["u16", "", 4],
  ["u16", "currentMemoryClock"],
];
const v1_4: readonly Member[] = [
  ...head4,
  ["u16", "vcnActivity", 4],
  ...energy4,
  chipThrottle,
  ...links4,
  ...xgmi,
  firmwareTime,
  ...clocks4,
  ["u16", ""],
];
const v1_5: readonly Member[] = [
  ...head4,
  ...engines5,
  ...energy4,
  chipThrottle,
  ...links4,
  ...naks,
  ...xgmi,
  firmwareTime,
  ...clocks4,
  ["u16", ""],
];
/** Two tables have version 1.6; they differ in size. */
const v1_6_small: readonly Member[] = [
  ...head4,
  ...engines5,
  ...energy4,
  ...residencies,
  ...links4,
  ...naks,
  ...xgmi,
  firmwareTime,
  ...clocks4,
  ["u16", ""],
];

/** Per partition: current graphics use of its compute dies in %, jpeg and video engines, then totals of 8 compute dies each. */
const partitionStats = (jpegEngines: number, sums: number): readonly Member[] =>
  Array.from({ length: 8 }, (): readonly Member[] => [
    ["u32", "dieActivity", 8],
    ["u16", "", jpegEngines],
    ["u16", "", 4],
    ["u64", "", 8 * sums],
  ]).flat();

const tail6 = (jpegEngines: number, sums: number): readonly Member[] => [
  firmwareTime,
  ...clocks4,
  ["u16", "partitions"],
  ...partitionStats(jpegEngines, sums),
  ["u32", ""],
];
const v1_6: readonly Member[] = [
  ...head4,
  ...energy4,
  ...residencies,
  ...links4,
  ...naks,
  ...xgmi,
  ...tail6(32, 1),
];
const withLinkStatus: readonly Member[] = [
  ...head4,
  ["u64", "memoryMaxBandwidth"],
  ...energy4,
  ...residencies,
  ...links4,
  ...naks,
  ...xgmi,
  ["u16", "xgmiStatus", 8],
  ["u16", ""],
];
const v1_7: readonly Member[] = [...withLinkStatus, ...tail6(32, 2)];
const v1_8: readonly Member[] = [...withLinkStatus, ...tail6(40, 5)];

/** APUs: the table includes the processor's cores. */
const temperatures2: readonly Member[] = [
  ["u16", "temperatureGfx"],
  ["u16", "temperatureSoc"],
  ["u16", "", 8],
  ["u16", "", 2],
];
const activity2: readonly Member[] = [
  ["u16", "gfxActivity"],
  ["u16", "videoActivity"],
];
const clocks2 = (age: "average" | "current"): readonly Member[] => [
  ["u16", `${age}GfxClock`],
  ["u16", `${age}SocClock`],
  ["u16", `${age}MemoryClock`],
  ["u16", `${age}FabricClock`],
  ["u16", `${age}VideoClock`],
  ["u16", ""],
];
const rest2: readonly Member[] = [
  ["u16", "socketPower"],
  ["u16", "cpuPower"],
  ["u16", "socPower"],
  ["u16", "gfxPower"],
  ["u16", "", 8],
  ...clocks2("average"),
  ...clocks2("current"),
  ["u16", "", 8],
  ["u16", "", 2],
  chipThrottle,
  ["u16", ""],
];
const v2_0: readonly Member[] = [driverTime, ...temperatures2, ...activity2, ...rest2, ["u16", ""]];
const v2_1: readonly Member[] = [
  ...temperatures2,
  ...activity2,
  driverTime,
  ...rest2,
  ["u16", "", 3],
];
const v2_2: readonly Member[] = [...v2_1, independentThrottle];
const v2_3: readonly Member[] = [...v2_2, ["u16", "", 12]];
/** Additional members: processor, SoC and graphics voltage in mV, and their currents in mA. */
const v2_4: readonly Member[] = [
  ...v2_3,
  ["u16", ""],
  ["u16", "socVoltage"],
  ["u16", "gfxVoltage"],
  ["u16", "", 3],
];

const v3_0: readonly Member[] = [
  ["u16", "temperatureGfx"],
  ["u16", "temperatureSoc"],
  ["u16", "", 16],
  ["u16", "temperatureSkin"],
  ["u16", "gfxActivity"],
  ["u16", "videoActivity"],
  ["u16", "", 8 + 16 + 4],
  driverTime,
  ["u32", "socketPower"],
  ["u16", "ipuPower"],
  ["u32", "", 1],
  ["u32", "gfxPower"],
  ["u32", "", 1],
  ["u32", "coresPower"],
  ["u16", "", 16 + 3],
  ["u16", "averageGfxClock"],
  ["u16", "averageSocClock"],
  ["u16", "", 2],
  ["u16", "averageFabricClock"],
  ["u16", "averageVideoClock"],
  ["u16", "averageMemoryClock"],
  ["u16", ""],
  ["u16", "", 16 + 2],
  ["u32", "residencyProchot"],
  ["u32", "residencyPowerCap"],
  ["u32", "residencyFastPower"],
  ["u32", "residencySlowPower"],
  ["u32", "residencyThermal"],
  ["u32", "residencyThermalGfx"],
  ["u32", "residencyThermalSoc"],
  ["u32", ""],
];

export const metricsLayouts: readonly MetricsLayout[] = [
  { version: "1.0", sizeBytes: 80, members: v1_0 },
  { version: "1.1", sizeBytes: 96, members: v1_1 },
  { version: "1.2", sizeBytes: 104, members: v1_2 },
  { version: "1.3", sizeBytes: 120, members: v1_3 },
  { version: "1.4", sizeBytes: 288, members: v1_4 },
  { version: "1.5", sizeBytes: 360, members: v1_5 },
  { version: "1.6", sizeBytes: 384, members: v1_6_small },
  { version: "1.6", sizeBytes: 1_664, members: v1_6 },
  { version: "1.7", sizeBytes: 2_208, members: v1_7 },
  { version: "1.8", sizeBytes: 3_872, members: v1_8 },
  { version: "2.0", sizeBytes: 120, members: v2_0 },
  { version: "2.1", sizeBytes: 120, members: v2_1 },
  { version: "2.2", sizeBytes: 128, members: v2_2 },
  { version: "2.3", sizeBytes: 152, members: v2_3 },
  { version: "2.4", sizeBytes: 168, members: v2_4 },
  { version: "3.0", sizeBytes: 264, members: v3_0 },
];
