/** What a GPU model is: constants only. Everything the simulator reports on a card follows from these and from its load. */

export interface FanConstants {
  readonly count: number;
  readonly maxRpm: number;
  /** Below this the fans stand still on cards that allow it. */
  readonly stopBelowCelsius?: number;
  /** Speed ratio over temperature of the governing sensor, rising. */
  readonly curve: readonly (readonly [celsius: number, ratio: number])[];
}

export interface VoltageConstants {
  readonly idleVolts: number;
  /** The floor: below the knee a lower clock saves no voltage, above it voltage rises to the maximum at boost. */
  readonly floorVolts: number;
  readonly maxVolts: number;
  readonly kneeHertz: number;
}

export interface PowerConstants {
  readonly limitWatts: number;
  /** The governor steers the mean to this share of the limit: 0.987 on an H200, whose mean under load is 691 of 700 W. */
  readonly capShare: number;
  /** Drawn whatever the clock: memory refresh, regulators, links. */
  readonly boardWatts: number;
  /** The clock tree at boost with nothing to do. */
  readonly clockTreeWatts: number;
  /** Leakage at 35 °C and full voltage. */
  readonly leakageWatts: number;
  /** Dynamic power of the compute units at boost under a kernel of intensity 1. */
  readonly coreWatts: number;
  /** Dynamic power of the memory system, from L2 to the chips, at full bandwidth. */
  readonly memoryWatts: number;
  /** The reported power is the mean over this. */
  readonly windowMs: number;
}

/** One RC stage: what a watt adds once settled, and how long that takes. */
export interface ThermalStage {
  readonly kelvinPerWatt: number;
  readonly seconds: number;
}

export interface ThermalConstants {
  /** Junction to spreader, and spreader to heatsink base: both heated by what the die draws. */
  readonly junction: ThermalStage;
  readonly spreader: ThermalStage;
  /** The heatsink's base over its fins, heated by the whole board. */
  readonly base: ThermalStage;
  /** What memory traffic adds at the die's sensor. */
  readonly traffic: ThermalStage;
  /** Fins to air at full airflow, heated by the whole board. */
  readonly sink: ThermalStage;
  /** Memory chips over the heatsink, heated by traffic; and how much of the die's own rise reaches them. */
  readonly memory: ThermalStage;
  readonly memoryCoupling: number;
  /** The hottest spot of the die over its edge sensor. */
  readonly hotspotKelvinPerWatt: number;
  readonly targetCelsius: number;
  readonly slowdownCelsius: number;
  readonly shutdownCelsius: number;
  readonly memoryLimitCelsius?: number;
}

export interface GpuModel {
  readonly key: string;
  readonly name: string;
  readonly vendor: "nvidia" | "amd";
  readonly kind: "datacentre" | "desktop";
  readonly driver: string;
  readonly vbios: string;
  readonly partNumber?: string;
  readonly linkType: "PCIe" | "SXM" | "OAM";
  /** The temperatures the vendor's driver reports on this card. */
  readonly sensors: readonly ("edge" | "hotspot" | "memory")[];
  readonly memory: {
    readonly totalBytes: number;
    readonly reservedBytes: number;
    readonly clockHertz: number;
    readonly idleClockHertz: number;
    readonly ecc: boolean;
  };
  readonly pcie: {
    readonly generation: number;
    readonly width: number;
    readonly idleGeneration: number;
    readonly bytesPerSecond: number;
  };
  readonly clocks: {
    readonly idleHertz: number;
    readonly baseHertz: number;
    readonly boostHertz: number;
    readonly stepHertz: number;
    readonly videoHertz: number;
    readonly idleVideoHertz: number;
    /** Datacentre cards stay at boost while a program holds a context, even one that does nothing. */
    readonly contextHoldsBoost: boolean;
    /** How long the clocks stay up after the last use. */
    readonly holdMs: number;
  };
  readonly voltage: VoltageConstants;
  readonly power: PowerConstants;
  readonly thermal: ThermalConstants;
  /** Absent where the chassis cools it. */
  readonly fans?: FanConstants;
  /** Work a kernel gets done at boost, over an H200: what makes the same job slower on a smaller card. */
  readonly speed: number;
}
