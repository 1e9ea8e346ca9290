/** The constants of a GPU model. Everything the simulator reports about a card follows from these and from its load. */

export interface FanConstants {
  readonly count: number;
  readonly maxRpm: number;
  /** Below this temperature the fans stop, on cards that support it. */
  readonly stopBelowCelsius?: number;
  /** Fan speed ratio by temperature of the governing sensor, ascending. */
  readonly curve: readonly (readonly [celsius: number, ratio: number])[];
}

export interface VoltageConstants {
  readonly idleVolts: number;
  /** The minimum under load: below the knee a lower clock saves no voltage, above it the voltage rises to the maximum at boost. */
  readonly floorVolts: number;
  readonly maxVolts: number;
  readonly kneeHertz: number;
}

export interface PowerConstants {
  readonly limitWatts: number;
  /** The governor keeps the mean at this share of the limit: 0.987 on an H200, whose mean under load is 691 of 700 W. */
  readonly capShare: number;
  /** Drawn at any clock: memory refresh, regulators, links. */
  readonly boardWatts: number;
  /** Power of the idle clock tree at boost. */
  readonly clockTreeWatts: number;
  /** Leakage at 35 °C and full voltage. */
  readonly leakageWatts: number;
  /** Dynamic power of the compute units at boost under a kernel of intensity 1. */
  readonly coreWatts: number;
  /** Dynamic power of the memory system, from L2 to the chips, at full bandwidth. */
  readonly memoryWatts: number;
  /** The window over which the reported power is averaged. */
  readonly windowMs: number;
}

/** One RC stage: the settled temperature rise per watt, and its time constant. */
export interface ThermalStage {
  readonly kelvinPerWatt: number;
  readonly seconds: number;
}

export interface ThermalConstants {
  /** Junction to spreader, and spreader to heatsink base; both are heated by the die's power. */
  readonly junction: ThermalStage;
  readonly spreader: ThermalStage;
  /** The heatsink's base above its fins, heated by the whole board. */
  readonly base: ThermalStage;
  /** Rise at the die's sensor from memory traffic. */
  readonly traffic: ThermalStage;
  /** Fins to air at full airflow, heated by the whole board. */
  readonly sink: ThermalStage;
  /** Memory chips above the heatsink, heated by traffic; and the share of the die's own rise that reaches them. */
  readonly memory: ThermalStage;
  readonly memoryCoupling: number;
  /** The hottest spot of the die above its edge sensor. */
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
  /** The temperature sensors that the vendor's driver reports for this card. */
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
    /** Datacentre cards stay at boost while a program, even an idle one, holds a context. */
    readonly contextHoldsBoost: boolean;
    /** How long the clocks stay high after the last use. */
    readonly holdMs: number;
  };
  readonly voltage: VoltageConstants;
  readonly power: PowerConstants;
  readonly thermal: ThermalConstants;
  /** Absent if the chassis cools the card. */
  readonly fans?: FanConstants;
  /** Work a kernel completes at boost relative to an H200; makes the same job slower on a smaller card. */
  readonly speed: number;
}
