/**
 * The readings that a card of each model reports, and the state each comes from. One list serves the layout and the frame, in the
 * same order. Readings that the vendor's real driver does not report for such a card are not in the list.
 */
import { gpu as metrics, type MetricEntry, type Tier } from "../../../model/catalogue/index.ts";
import type { SimGpu } from "../fleet/gpu.ts";
import type { UnitActivity } from "../kernels.ts";
import type { GpuModel } from "../physics/model.ts";
import { clockHertz, clockVolts, reportedWatts, simThrottleReasons } from "../physics/state.ts";

export interface SimReading {
  readonly metric: MetricEntry;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: (gpu: SimGpu) => number;
  /** True if a lost or sleeping card still reports it. */
  readonly always: boolean;
}

const reading = (
  metric: MetricEntry,
  value: (gpu: SimGpu) => number,
  labels: Readonly<Record<string, string>> = {},
  always = false,
): SimReading => ({ metric, labels, value, always });

/** No real card counts work: the metric exists only in scenarios with a load that does. */
export function readingsOf(
  model: GpuModel,
  countsWork: boolean,
): Readonly<Record<Tier, readonly SimReading[]>> {
  const work = reading(metrics.work, ({ context }) => context.done.units);
  return {
    fast: [...fastReadings(model), ...(countsWork ? [work] : [])],
    slow: slowReadings(model),
    static: staticReadings(model),
  };
}

function fastReadings(model: GpuModel): SimReading[] {
  const nvidia = model.vendor === "nvidia";
  const list = [
    reading(metrics.up, (gpu) => (gpu.lost ? 0 : 1), {}, true),
    reading(metrics.utilization, ({ state }) => state.utilization),
    reading(metrics.memoryControllerUtilization, ({ state }) =>
      Math.min(1, state.memoryUtilization),
    ),
    reading(metrics.memoryUsed, ({ state }) => state.memoryBytes),
    reading(
      metrics.memoryFree,
      ({ state }) => model.memory.totalBytes - model.memory.reservedBytes - state.memoryBytes,
    ),
    ...temperatures(model),
    reading(metrics.power, ({ card, state }) => reportedWatts(card, state)),
    ...clocks(model),
    ...fans(model),
    ...throttling(model),
  ];
  if (nvidia) {
    list.push(
      reading(metrics.encoderUtilization, () => 0),
      reading(metrics.decoderUtilization, () => 0),
      reading(metrics.performanceState, ({ state }) =>
        state.rung < 0 && model.kind === "desktop" ? 8 : 0,
      ),
      reading(metrics.clockEventReasons, ({ state }) => eventReasonsMask(state)),
    );
  } else
    list.push(
      reading(metrics.voltage, ({ card, state }) => clockVolts(card, state), { rail: "gfx" }),
    );
  if (nvidia && model.kind === "datacentre")
    list.push(reading(metrics.powerInstant, ({ state }) => state.powerWatts));
  return list;
}

function temperatures(model: GpuModel): SimReading[] {
  // NVIDIA reports whole degrees, AMD thousandths of one.
  const reported = model.vendor === "nvidia" ? Math.round : (celsius: number): number => celsius;
  const by = {
    edge: ({ state }: SimGpu) => reported(state.dieCelsius),
    hotspot: ({ state }: SimGpu) => reported(state.hotspotCelsius),
    memory: ({ state }: SimGpu) => reported(state.memoryCelsius),
  } as const;
  return model.sensors.map((sensor) => reading(metrics.temperature, by[sensor], { sensor }));
}

function clocks(model: GpuModel): SimReading[] {
  const core = ({ card, state }: SimGpu): number => clockHertz(card, state);
  const memory = ({ state }: SimGpu): number =>
    state.rung < 0 ? model.memory.idleClockHertz : model.memory.clockHertz;
  const video = ({ state }: SimGpu): number =>
    state.rung < 0 ? model.clocks.idleVideoHertz : model.clocks.videoHertz;
  const list = [
    reading(metrics.clock, core, { domain: "graphics" }),
    reading(metrics.clock, memory, { domain: "memory" }),
  ];
  if (model.vendor === "nvidia") {
    list.push(
      reading(metrics.clock, core, { domain: "sm" }),
      reading(metrics.clock, video, { domain: "video" }),
    );
  }
  return list;
}

function fans({ fans: own, vendor }: GpuModel): SimReading[] {
  if (own === undefined) return [];
  return Array.from({ length: own.count }, (_, at) => {
    const labels = { fan: String(at + 1) };
    const speed = reading(metrics.fanSpeed, ({ state }) => state.fanRatio, labels);
    if (vendor === "nvidia") return [speed];
    return [speed, reading(metrics.fanRpm, ({ state }) => state.fanRatio * own.maxRpm, labels)];
  }).flat();
}

function throttling(model: GpuModel): SimReading[] {
  const reported =
    model.vendor === "nvidia" ? simThrottleReasons : (["power_cap", "thermal"] as const);
  return reported.flatMap((reason) => {
    const at = simThrottleReasons.indexOf(reason);
    const active = reading(metrics.throttleActive, ({ state }) => (state.reasons >> at) & 1, {
      reason,
    });
    if (model.vendor !== "nvidia") return [active];
    return [
      active,
      reading(metrics.throttleSeconds, ({ state }) => state.reasonSeconds[at] ?? 0, { reason }),
    ];
  });
}

/** NVML's bit of each throttle reason, in the order of `simThrottleReasons`. */
const maskBits: Readonly<Record<(typeof simThrottleReasons)[number], number>> = {
  power_cap: 2,
  power_brake: 7,
  thermal: 5,
  thermal_hardware: 6,
  clock_setting: 1,
};

/** The mask as the driver reports it: bit 0 in deep idle. */
function eventReasonsMask({ rung, reasons }: SimGpu["state"]): number {
  return simThrottleReasons.reduce(
    (mask, reason, at) => mask | (((reasons >> at) & 1) << maskBits[reason]),
    rung < 0 ? 1 : 0,
  );
}

function slowReadings(model: GpuModel): SimReading[] {
  const datacentre = model.kind === "datacentre";
  const nvidia = model.vendor === "nvidia";
  const list = [
    reading(metrics.powerLimit, ({ around }) => around.powerLimitWatts),
    reading(metrics.pcieLinkGeneration, (gpu) =>
      gpu.state.rung < 0
        ? Math.min(gpu.pcieGeneration, model.pcie.idleGeneration)
        : gpu.pcieGeneration,
    ),
    reading(metrics.pcieLinkWidth, (gpu) => gpu.pcieWidth),
    reading(metrics.pcieReplays, (gpu) => gpu.pcieReplays),
  ];
  // A Radeon's energy counter always reads 0, so it is not reported.
  if (datacentre || nvidia) list.push(reading(metrics.energy, ({ state }) => state.energyJoules));
  if (datacentre || nvidia) {
    list.push(
      reading(metrics.pcieThroughput, (gpu) => pcieBytes(gpu, gpu.state.receive), {
        direction: "receive",
      }),
      reading(metrics.pcieThroughput, (gpu) => pcieBytes(gpu, gpu.state.transmit), {
        direction: "transmit",
      }),
    );
  }
  if (nvidia) list.push(reading(metrics.xidWatched, () => 1));
  if (datacentre && nvidia) {
    list.push(...activityReadings());
  }
  if (model.memory.ecc) {
    list.push(
      reading(metrics.eccErrors, (gpu) => gpu.eccCorrected, { type: "corrected" }),
      reading(metrics.eccErrors, (gpu) => gpu.eccUncorrected, { type: "uncorrected" }),
      reading(metrics.eccLifetimeErrors, (gpu) => gpu.eccCorrected, { type: "corrected" }),
      reading(metrics.eccLifetimeErrors, (gpu) => gpu.eccUncorrected, { type: "uncorrected" }),
    );
  }
  return list;
}

/** The metrics of NVML's GPM. */
function activityReadings(): SimReading[] {
  const share =
    (of: (units: UnitActivity) => number) =>
    ({ state }: SimGpu): number =>
      Math.min(1, state.utilization * of(state.units));
  const pipe = (name: UnitActivity["tensorPipe"]): SimReading =>
    reading(
      metrics.tensorPipeActivity,
      ({ state }) => (state.units.tensorPipe === name ? Math.min(1, state.tensorActivity) : 0),
      { pipe: name },
    );
  return [
    reading(
      metrics.graphicsActivity,
      share(({ graphics }) => graphics),
    ),
    reading(
      metrics.smActivity,
      share(({ sm }) => sm),
    ),
    reading(
      metrics.smOccupancy,
      share(({ occupancy }) => occupancy),
    ),
    reading(metrics.tensorActivity, ({ state }) => Math.min(1, state.tensorActivity)),
    pipe("half"),
    pipe("fp64"),
    reading(metrics.dramActivity, ({ state }) => Math.min(1, state.dramActivity)),
    reading(
      metrics.fp64Activity,
      share(({ fp64 }) => fp64),
    ),
    reading(
      metrics.fp32Activity,
      share(({ fp32 }) => fp32),
    ),
    reading(
      metrics.integerActivity,
      share(({ integer }) => integer),
    ),
  ];
}

/** The requested traffic, limited to what the link can transfer now: a downgraded link transfers less. */
function pcieBytes({ model, pcieGeneration, pcieWidth }: SimGpu, share: number): number {
  const link = (pcieWidth / model.pcie.width) * 2 ** (pcieGeneration - model.pcie.generation);
  return Math.min(share, link) * model.pcie.bytesPerSecond;
}

function staticReadings(model: GpuModel): SimReading[] {
  const { thermal, clocks: clock, pcie, memory, power } = model;
  const constant = (
    metric: MetricEntry,
    value: number,
    labels: Readonly<Record<string, string>> = {},
  ): SimReading => reading(metric, () => value, labels, true);
  const list = [
    constant(metrics.memoryTotal, memory.totalBytes),
    constant(metrics.temperatureLimit, thermal.slowdownCelsius, { limit: "slowdown" }),
    constant(metrics.temperatureLimit, thermal.shutdownCelsius, { limit: "shutdown" }),
    constant(metrics.powerLimitDefault, power.limitWatts),
    constant(metrics.clockMax, clock.boostHertz, { domain: "graphics" }),
    constant(metrics.clockMax, memory.clockHertz, { domain: "memory" }),
    constant(metrics.pcieLinkGenerationMax, pcie.generation),
    constant(metrics.pcieLinkWidthMax, pcie.width),
  ];
  if (model.vendor === "nvidia") {
    list.push(
      constant(metrics.clockMax, clock.boostHertz, { domain: "sm" }),
      constant(metrics.clockMax, clock.videoHertz, { domain: "video" }),
    );
    if (model.kind === "desktop")
      list.push(constant(metrics.temperatureLimit, thermal.targetCelsius, { limit: "target" }));
  }
  if (thermal.memoryLimitCelsius !== undefined)
    list.push(constant(metrics.temperatureLimit, thermal.memoryLimitCelsius, { limit: "memory" }));
  return list;
}
