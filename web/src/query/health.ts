/** The hub's verdicts: for the fleet those with a problem, for one GPU the complete verdict. */
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Gpu } from "../../../src/view/gpu.ts";
import { gpuId } from "../../../src/view/gpu.ts";
import type { GpuHealthReport, HealthReport } from "../../../src/view/health/report.ts";
import { type FetchState, useJson } from "./use-fetch.ts";

const FLEET_EVERY_MS = 15_000;
const GPU_EVERY_MS = 10_000;

/** GPUs whose verdict is anything but healthy, by id. */
export const verdicts = signal<ReadonlyMap<string, GpuHealthReport>>(new Map());

/** Keeps `verdicts` current while the component is shown. */
export function useVerdicts(): void {
  const { value } = useJson<HealthReport>(
    "api/health?state=degraded,failing,lost,unknown",
    FLEET_EVERY_MS,
  );
  useEffect(() => {
    if (value !== undefined)
      verdicts.value = new Map(gpusOf(value).map((gpu) => [gpuId(gpu), gpu]));
  }, [value]);
}

/** The complete verdict on one GPU; undefined until it has arrived, and on a hub that does not judge the GPU. */
export function useVerdict({ device }: Gpu): FetchState<GpuHealthReport | undefined> {
  const query = new URLSearchParams({ host: device.host, uuid: device.uuid });
  const state = useJson<HealthReport>(`api/health?${query}`, GPU_EVERY_MS);
  return { ...state, value: state.value && gpusOf(state.value)[0] };
}

const gpusOf = ({ hosts }: HealthReport): readonly GpuHealthReport[] =>
  hosts.flatMap(({ gpus }) => gpus);
