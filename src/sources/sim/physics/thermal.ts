/**
 * Heat transfer: RC stages from the junction through the heatsink to the air, the memory chips, and the fan controlled by temperature.
 */
import type { SimCard } from "./card.ts";
import type { FanConstants } from "./model.ts";
import { type CardEnvironment, governingCelsius, type SimGpuState } from "./state.ts";

/** Airflow with all fans stopped: little through a server's dense fins, more around an open card. */
const stillAir = { chassis: 0.015, card: 0.05 } as const;
const fanSeconds = 2.5;

/** Airflow relative to normal: the chassis's for cards without fans, otherwise the card's own. */
export function airflow(card: SimCard, state: SimGpuState, around: CardEnvironment): number {
  const ownFans = card.model.fans !== undefined;
  const still = ownFans ? stillAir.card : stillAir.chassis;
  if (around.fansFailed) return still;
  return Math.max(still, ownFans ? state.fanRatio * around.airflow : around.airflow);
}

/** Thermal resistance from heatsink to air: convection scales with the flow to the power of 0.8. */
export function sinkKelvinPerWatt(card: SimCard, flow: number): number {
  return card.model.thermal.sink.kelvinPerWatt * flow ** -0.8;
}

export function fanTarget(fans: FanConstants, celsius: number): number {
  if (fans.stopBelowCelsius !== undefined && celsius < fans.stopBelowCelsius) return 0;
  let [lastCelsius, lastRatio] = fans.curve[0] ?? [0, 1];
  if (celsius <= lastCelsius) return lastRatio;
  for (const [atCelsius, ratio] of fans.curve) {
    if (celsius < atCelsius) {
      return (
        lastRatio + ((ratio - lastRatio) * (celsius - lastCelsius)) / (atCelsius - lastCelsius)
      );
    }
    lastCelsius = atCelsius;
    lastRatio = ratio;
  }
  return lastRatio;
}

/** Advances all stages by one step, heated by the power of the die and the memory system. */
export function heat(
  card: SimCard,
  state: SimGpuState,
  around: CardEnvironment,
  dieWatts: number,
  trafficWatts: number,
): void {
  const { thermal, fans } = card.model;
  const seconds = card.stepMs / 1_000;
  const paste = around.pasteFactor;
  state.junctionKelvin = settle(
    state.junctionKelvin,
    thermal.junction.kelvinPerWatt * dieWatts,
    card.junctionDecay,
  );
  state.spreaderKelvin = settle(
    state.spreaderKelvin,
    thermal.spreader.kelvinPerWatt * paste * dieWatts,
    card.spreaderDecay,
  );
  state.baseKelvin = settle(
    state.baseKelvin,
    thermal.base.kelvinPerWatt * state.powerWatts,
    card.baseDecay,
  );
  state.trafficKelvin = settle(
    state.trafficKelvin,
    thermal.traffic.kelvinPerWatt * paste * trafficWatts,
    card.trafficDecay,
  );
  state.memoryKelvin = settle(
    state.memoryKelvin,
    thermal.memory.kelvinPerWatt * trafficWatts,
    card.memoryDecay,
  );

  const resistance = sinkKelvinPerWatt(card, airflow(card, state, around));
  const capacity = thermal.sink.seconds / thermal.sink.kelvinPerWatt;
  const leaving = (state.sinkCelsius - around.ambientCelsius) / resistance;
  state.sinkCelsius += (seconds / capacity) * (state.powerWatts - leaving);

  updateSensors(card, state);
  if (fans !== undefined) {
    const target = around.fansFailed ? 0 : fanTarget(fans, governingCelsius(card, state));
    state.fanRatio += (target - state.fanRatio) * Math.min(1, seconds / fanSeconds);
  }
}

/** Computes the sensor readings from the stages. */
export function updateSensors(card: SimCard, state: SimGpuState): void {
  const { thermal } = card.model;
  const rise = state.junctionKelvin + state.spreaderKelvin;
  const base = state.sinkCelsius + state.baseKelvin;
  state.dieCelsius = base + rise + state.trafficKelvin;
  const dieWatts = state.junctionKelvin / thermal.junction.kelvinPerWatt;
  state.hotspotCelsius = state.dieCelsius + thermal.hotspotKelvinPerWatt * dieWatts;
  state.memoryCelsius = base + state.memoryKelvin + thermal.memoryCoupling * rise;
}

function settle(value: number, towards: number, decay: number): number {
  return towards + (value - towards) * decay;
}
