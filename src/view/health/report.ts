/** The shape of `/api/health` and `gpulse health --json`. A change of meaning needs a new schema name; additions are optional. */
import * as v from "valibot";
import {
  gpuChecks,
  healthActions,
  type HealthReason,
  healthStates,
  hostChecks,
  type Verdict,
  worstState,
} from "./verdict.ts";
import type { HostHealth } from "./watch.ts";

const state = v.picklist([...healthStates, "unknown"]);
const action = v.picklist(healthActions);
const check = v.picklist([...gpuChecks, ...hostChecks]);

const verdict = {
  state,
  action,
  /** Worst first. A reason with the state `healthy` is a note. */
  reasons: v.array(
    v.object({
      check,
      reason: v.string(),
      title: v.string(),
      state: v.picklist(healthStates),
      action,
      text: v.string(),
      since: v.string(),
    }),
  ),
  /** Checks without input, and why: the verdict does not cover them. */
  unchecked: v.array(v.object({ check, why: v.string() })),
};

const gpuHealth = v.object({
  uuid: v.string(),
  gpu: v.number(),
  host: v.string(),
  model: v.string(),
  vendor: v.string(),
  simulated: v.boolean(),
  ...verdict,
});

const hostHealth = v.object({
  host: v.string(),
  /** The worst state of the machine itself and of its GPUs. */
  worst: state,
  ...verdict,
  gpus: v.array(gpuHealth),
});

export const healthSchema = v.object({
  schema: v.literal("gpulse.health/1"),
  time: v.string(),
  gpulse: v.object({ version: v.string() }),
  /** The worst state of all machines. */
  state,
  /** GPUs by state, whatever the request selects. */
  counts: v.object(
    Object.fromEntries([...healthStates, "unknown"].map((name) => [name, v.number()])),
  ),
  hosts: v.array(hostHealth),
});

export type HealthReport = v.InferOutput<typeof healthSchema>;
export type HostHealthReport = HealthReport["hosts"][number];
export type GpuHealthReport = HostHealthReport["gpus"][number];

export interface HealthSelection {
  readonly host?: string | undefined;
  readonly uuid?: string | undefined;
  /** Only GPUs in one of these states. */
  readonly states?: readonly string[] | undefined;
}

export function createHealthReport(
  hosts: readonly HostHealth[],
  nowMs: number,
  version: string,
  { host, uuid, states }: HealthSelection = {},
): HealthReport {
  const counts: Record<string, number> = {
    healthy: 0,
    degraded: 0,
    failing: 0,
    lost: 0,
    unknown: 0,
  };
  for (const { gpus } of hosts)
    for (const one of gpus) counts[one.state] = (counts[one.state] ?? 0) + 1;
  const selected = hosts.filter((one) => host === undefined || one.host === host);
  const isSelective = uuid !== undefined || states !== undefined;
  return {
    schema: "gpulse.health/1",
    time: new Date(nowMs).toISOString(),
    gpulse: { version },
    state: worstState(selected.map(({ worst }) => worst)),
    counts,
    hosts: selected
      .map((one) => ({
        host: one.host,
        worst: one.worst,
        ...verdictFields(one),
        gpus: one.gpus
          .filter(
            ({ device, state: own }) =>
              (uuid === undefined || device.uuid === uuid) &&
              (states === undefined || states.includes(own)),
          )
          .map(({ device, host: on, ...own }) => ({
            uuid: device.uuid,
            gpu: device.index,
            host: on,
            model: device.model,
            vendor: device.vendor,
            simulated: device.simulated,
            ...verdictFields(own),
          })),
      }))
      .filter(
        (one) =>
          !isSelective ||
          one.gpus.length > 0 ||
          (uuid === undefined && states?.includes(one.state)),
      ),
  };
}

const verdictFields = ({ state: own, action: todo, reasons, unchecked }: Verdict) => ({
  state: own,
  action: todo,
  reasons: reasons.map(({ sinceMs, ...reason }: HealthReason) => ({
    ...reason,
    since: new Date(sinceMs).toISOString(),
  })),
  unchecked: [...unchecked],
});
