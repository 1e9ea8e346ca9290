/** The GPU a chart shows, from the labels of its lines: what a picture or a file says beside its title. */
import { gpuId, nameOf } from "../../../src/view/gpu.ts";
import { fleet } from "../live/feed.ts";
import type { Labels } from "../query/columns.ts";
import { knownGpus } from "../query/known-gpus.ts";

/** Undefined where the lines are of several GPUs or of none. */
export function gpuNameOf(all: readonly (Labels | undefined)[]): string | undefined {
  const ids = new Set(
    all.flatMap((labels) => {
      const { uuid, host } = labels ?? {};
      return uuid === undefined || host === undefined ? [] : [gpuId({ uuid, host })];
    }),
  );
  const [id] = ids;
  if (ids.size !== 1 || id === undefined) return undefined;
  const device = fleet.value?.devices.find((one) => gpuId(one) === id);
  return device === undefined ? id : `${nameOf({ device })} on ${device.host}`;
}

/** A GPU by its uuid alone, as lists offer it. */
export function gpuTitle(uuid: string): string {
  const gpu = knownGpus.value.find(({ device }) => device.uuid === uuid);
  return gpu === undefined ? uuid : `${nameOf(gpu)} on ${gpu.device.host}`;
}
