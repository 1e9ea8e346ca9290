/** The energy of a run as a document beside MLPerf results, which states first that it is not MLPerf Power. */
import { measuredSeconds, measuredSpan, type Run, type RunEnergy } from "../run.ts";

const energyNotice =
  "Board power by the GPU's sensors, not MLPerf Power: no analyser at the wall, no host, no cooling. Not for a power submission.";

interface DeviceEnergy extends RunEnergy {
  readonly uuid: string;
  readonly model: string;
  readonly host: string;
  readonly power: string;
  readonly simulated: boolean;
}

export interface EnergyDocument {
  readonly notice: string;
  /** Whether the energy is of the benchmark's own window, or of the whole command. */
  readonly measured: "window of the result" | "whole command";
  readonly from: string;
  readonly to: string;
  readonly seconds: number;
  readonly tool?: string;
  readonly work?: { readonly amount: number; readonly unit: string };
  readonly gpus: readonly DeviceEnergy[];
  /** Absent if one of the GPUs has no energy. */
  readonly joules?: number;
  readonly meanWatts?: number;
  readonly joulesPerUnit?: number;
}

export function describeEnergy(run: Run): EnergyDocument {
  const [fromMs, toMs] = measuredSpan(run);
  const seconds = measuredSeconds(run);
  const gpus = run.devices.filter(({ parent }) => parent === undefined);
  const parts = gpus.map(({ energy }) => energy.counterJoules ?? energy.integratedJoules);
  const joules = sumOfAll(parts);
  return {
    notice: energyNotice,
    measured: run.result?.window === undefined ? "whole command" : "window of the result",
    from: new Date(fromMs).toISOString(),
    to: new Date(toMs).toISOString(),
    seconds,
    ...(run.result !== undefined && { tool: run.result.tool }),
    ...(run.work !== undefined && { work: { amount: run.work.amount, unit: run.work.unit } }),
    gpus: gpus.map(({ uuid, model, host, power, simulated, energy }) => ({
      uuid,
      model,
      host,
      power,
      simulated,
      ...energy,
    })),
    ...(joules !== undefined && {
      joules,
      ...(seconds > 0 && { meanWatts: joules / seconds }),
      ...(run.work !== undefined && { joulesPerUnit: joules / run.work.amount }),
    }),
  };
}

function sumOfAll(parts: readonly (number | undefined)[]): number | undefined {
  let total = 0;
  for (const part of parts) {
    if (part === undefined) return undefined;
    total += part;
  }
  return parts.length === 0 ? undefined : total;
}
