/** The GPU of a chart, from the labels of its lines, for the title of a picture or a file. */
import { gpuId, nameOf } from "../../../src/view/gpu.ts";
import { fleet } from "../live/feed.ts";
import type { Labels } from "../query/columns.ts";
import { knownGpus } from "../query/known-gpus.ts";

/** Undefined if the lines belong to several GPUs or to none. */
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

/** Display name of a GPU by its uuid, for lists. */
export function gpuTitle(uuid: string): string {
  const gpu = knownGpus.value.find(({ device }) => device.uuid === uuid);
  return gpu === undefined ? uuid : `${nameOf(gpu)} on ${gpu.device.host}`;
}
