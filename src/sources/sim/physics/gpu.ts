/** Advances one GPU step by step: governor, power, heat, counters. No clock and no randomness: the same inputs give the same state. */
import { type SimCard, type Demand, governorMs } from "./card.ts";
import { kernels } from "../kernels.ts";
import { govern, idleWatts, leakageWatts, scaleAt } from "./governor.ts";
import {
  type CardEnvironment,
  clockVolts,
  governingCelsius,
  type SimGpuState,
  simThrottleReasons,
} from "./state.ts";
import { airflow, fanTarget, heat, updateSensors, sinkKelvinPerWatt } from "./thermal.ts";

/** The utilization counters average over about the last 200 ms: the weight of the latest 50 ms. */
const counterShare = 0.25;
const counterMs = 50;

/** The state of a GPU that has been idle for long: deep idle, unless a program holds a context on a card that then stays at boost. */
export function idleState(card: SimCard, around: CardEnvironment, context: boolean): SimGpuState {
  const deep = !(context && card.model.clocks.contextHoldsBoost);
  const state: SimGpuState = {
    rung: deep ? -1 : card.topRung,
    quietSteps: deep ? card.model.clocks.holdMs / governorMs + 1 : 0,
    seenCoreWatts: 0,
    seenMemoryWatts: 0,
    measuredSteps: 0,
    measuredCoreWatts: 0,
    measuredMemoryWatts: 0,
    capHoldSteps: 0,
    thermalRungs: 0,
    reasons: 0,
    reasonSeconds: new Float64Array(simThrottleReasons.length),
    junctionKelvin: 0,
    spreaderKelvin: 0,
    baseKelvin: 0,
    trafficKelvin: 0,
    sinkCelsius: around.ambientCelsius,
    memoryKelvin: 0,
    dieCelsius: around.ambientCelsius,
    hotspotCelsius: around.ambientCelsius,
    memoryCelsius: around.ambientCelsius,
    fanRatio: 0,
    powerRing: new Float64Array(card.windowSteps),
    ringAt: 0,
    ringSum: 0,
    powerWatts: 0,
    energyJoules: 0,
    utilization: 0,
    memoryUtilization: 0,
    tensorActivity: 0,
    dramActivity: 0,
    units: kernels.idle.units,
    memoryBytes: 0,
    receive: 0,
    transmit: 0,
    context,
  };
  settleIdle(card, state, around, deep);
  return state;
}

/** Heat raises leakage and leakage raises heat: iterates until both converge. */
function settleIdle(
  card: SimCard,
  state: SimGpuState,
  around: CardEnvironment,
  deep: boolean,
): void {
  const { thermal, fans } = card.model;
  for (let round = 0; round < 20; round++) {
    const watts = idleWatts(card, deep, state.dieCelsius);
    const dieWatts = watts - card.model.power.boardWatts;
    if (fans !== undefined)
      state.fanRatio = around.fansFailed ? 0 : fanTarget(fans, governingCelsius(card, state));
    state.sinkCelsius =
      around.ambientCelsius + sinkKelvinPerWatt(card, airflow(card, state, around)) * watts;
    state.baseKelvin = thermal.base.kelvinPerWatt * watts;
    state.junctionKelvin = thermal.junction.kelvinPerWatt * dieWatts;
    state.spreaderKelvin = thermal.spreader.kelvinPerWatt * around.pasteFactor * dieWatts;
    updateSensors(card, state);
    state.powerWatts = watts;
  }
  state.powerRing.fill(state.powerWatts);
  state.ringSum = state.powerWatts * card.windowSteps;
}

/** The ambient temperature at which an idle card has this die temperature; derives a room's temperature from a trace's first reading. */
export function ambientForIdle(card: SimCard, dieCelsius: number, context: boolean): number {
  const { thermal, power } = card.model;
  const watts = idleWatts(card, !(context && card.model.clocks.contextHoldsBoost), dieCelsius);
  const rise = thermal.junction.kelvinPerWatt + thermal.spreader.kelvinPerWatt;
  return (
    dieCelsius -
    rise * (watts - power.boardWatts) -
    (thermal.base.kelvinPerWatt + thermal.sink.kelvinPerWatt) * watts
  );
}

/** Advances by one step under a load. */
export function step(
  card: SimCard,
  state: SimGpuState,
  around: CardEnvironment,
  demand: Readonly<Demand>,
): void {
  const { power, clocks } = card.model;
  if (state.measuredSteps === 0)
    govern(card, state, around, demand.busy > 0 || (demand.context && clocks.contextHoldsBoost));

  const scale = scaleAt(card, state.rung);
  const coreAtBoost = demand.busy * demand.core * power.coreWatts;
  const trafficWatts = demand.busy * demand.dram * power.memoryWatts;
  const leakage = leakageWatts(card, clockVolts(card, state), state.dieCelsius);
  const dieWatts = (power.clockTreeWatts + coreAtBoost) * scale + leakage;
  state.powerWatts = power.boardWatts + dieWatts + trafficWatts;
  measure(card, state, coreAtBoost, trafficWatts);

  heat(card, state, around, dieWatts, trafficWatts);
  count(card, state, demand);
}

/** Accumulates the measurements for the governor's next decision. */
function measure(
  card: SimCard,
  state: SimGpuState,
  coreAtBoost: number,
  trafficWatts: number,
): void {
  state.measuredSteps += 1;
  state.measuredCoreWatts += coreAtBoost;
  state.measuredMemoryWatts += trafficWatts;
  if (state.measuredSteps < card.governorSteps) return;
  state.seenCoreWatts = state.measuredCoreWatts / card.governorSteps;
  state.seenMemoryWatts = state.measuredMemoryWatts / card.governorSteps;
  state.measuredSteps = 0;
  state.measuredCoreWatts = 0;
  state.measuredMemoryWatts = 0;
}

function count(card: SimCard, state: SimGpuState, demand: Readonly<Demand>): void {
  const seconds = card.stepMs / 1_000;
  state.energyJoules += state.powerWatts * seconds;
  state.ringSum += state.powerWatts - (state.powerRing[state.ringAt] ?? 0);
  state.powerRing[state.ringAt] = state.powerWatts;
  state.ringAt = (state.ringAt + 1) % card.windowSteps;
  for (let reason = 0, bits = state.reasons; bits > 0; reason++, bits >>= 1) {
    if ((bits & 1) === 1)
      state.reasonSeconds[reason] = (state.reasonSeconds[reason] ?? 0) + seconds;
  }
  const share =
    card.stepMs === counterMs ? counterShare : 1 - (1 - counterShare) ** (card.stepMs / counterMs);
  state.utilization += (demand.busy - state.utilization) * share;
  state.memoryUtilization += (demand.busy * demand.memoryBusy - state.memoryUtilization) * share;
  state.tensorActivity += (demand.busy * demand.tensor - state.tensorActivity) * share;
  state.dramActivity += (demand.busy * demand.dram - state.dramActivity) * share;
  if (demand.busy > 0) state.units = demand.units;
  state.receive += (demand.receive - state.receive) * share;
  state.transmit += (demand.transmit - state.transmit) * share;
  state.memoryBytes = demand.memoryBytes;
  state.context = demand.context;
}
