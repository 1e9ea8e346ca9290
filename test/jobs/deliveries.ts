/** Frames of GPUs that run one job after the other, the same in every process: for the crash test of the job ledger. */
import { gpu } from "../../src/model/catalogue/index.ts";
import { type Device, deviceLabels } from "../../src/model/device.ts";
import { FrameWriter } from "../../src/model/frame.ts";
import { LayoutBuilder } from "../../src/model/layout.ts";
import type { Delivery } from "../../src/pipeline/sink.ts";

const gpus = 50;
const ticksPerJob = 6;
const startMs = Date.UTC(2026, 0, 5, 20);
/** Long enough for every job to have ended. */
const idleTicks = 40;

/** How many deliveries there are for this many jobs, a multiple of the GPUs. */
export const deliveriesOf = (jobs: number): number =>
  ((jobs / gpus) * ticksPerJob + idleTicks) * gpus;

/** Delivery `at` is tick `at / gpus` of GPU `at % gpus`. */
export function deliveryAt(at: number, jobs: number): Delivery {
  const index = at % gpus;
  const tick = Math.floor(at / gpus);
  const turn = Math.floor(tick / ticksPerJob);
  const workload = turn < jobs / gpus ? String(1 + turn * gpus + index) : undefined;
  const host = `node${index}`;
  const device: Device = {
    uuid: `GPU-${index}`,
    index: 0,
    vendor: "nvidia",
    model: "H200",
    simulated: false,
  };
  const builder = new LayoutBuilder();
  const energy = builder.add(gpu.energy, deviceLabels(device, host));
  const activity = builder.add(gpu.smActivity, deviceLabels(device, host));
  const processes = builder.add(gpu.processes, deviceLabels(device, host));
  const owner =
    workload === undefined
      ? undefined
      : builder.add(gpu.ownerInfo, deviceLabels(device, host, { workload, user: "ada" }));
  const writer = new FrameWriter(builder.build(), startMs + tick * 10_000);
  writer.set(energy, 1_000 + tick * (1_000 + index));
  writer.set(activity, tick % 5 === 0 ? 0 : 0.9);
  writer.set(processes, workload === undefined ? 0 : 1);
  if (owner !== undefined) writer.set(owner, 1);
  return {
    frame: writer.finish(),
    source: `agent:${host}/nvidia`,
    tier: "slow",
    freshForMs: 30_000,
    devices: [device],
    host,
  };
}
