/** One stress run on simulated GPUs, in virtual time: idle, warm-up, the measured span, idle. All values come from the model. */
import type { Device } from "../../model/device.ts";
import { createActivity } from "../../pipeline/transforms/activity.ts";
import { createDerive } from "../../pipeline/transforms/derive.ts";
import { energyOf, points, powerKindOf } from "../../runs/energy.ts";
import { TraceLayoutPlans, TraceBuilder, valueIn } from "../../runs/record/trace-builder.ts";
import type { Run, RunFile, RunTrace, RunSpan } from "../../runs/run.ts";
import { Emitter } from "../../sources/sim/emit/emitter.ts";
import { SimFleet } from "../../sources/sim/fleet/fleet.ts";
import type { GpuModel } from "../../sources/sim/physics/model.ts";
import { parseScenario } from "../../sources/sim/scenario/load.ts";
import { SimulatedStream } from "../../sources/sim/source.ts";

export interface StressPlan {
  readonly id: string;
  readonly label: string;
  readonly host: string;
  readonly version: string;
  readonly model: GpuModel;
  readonly gpus: number;
  readonly seed: number;
  readonly ambientCelsius: number;
  /** Units per second on each GPU; the maximum if absent. */
  readonly rate?: number;
  readonly baselineMs: number;
  readonly warmupMs: number;
  readonly measuredMs: number;
  readonly samplingMs: number;
  readonly startMs: number;
}

const workColumn = "gpu_work_units_total";
const workUnit = "H200-ms";

export async function simulateStress(plan: StressPlan): Promise<RunFile> {
  const { baselineMs, warmupMs, measuredMs, samplingMs, startMs } = plan;
  const loadMs = warmupMs + measuredMs;
  const scenario = parseScenario(
    JSON.stringify({
      ambient: plan.ambientCelsius,
      fleet: [{ model: plan.model.key, count: plan.gpus }],
      workloads: [
        {
          run: "work",
          after: `${baselineMs}ms`,
          for: `${loadMs}ms`,
          ...(plan.rate === undefined ? {} : { rate: plan.rate }),
        },
      ],
    }),
    "of the stress run",
  );
  const fleet = new SimFleet(
    scenario,
    { seed: plan.seed, owner: plan.host, gpus: plan.gpus, model: plan.model },
    startMs,
  );
  const stream = new SimulatedStream(fleet, new Emitter(fleet, plan.host), {
    fastEveryMs: samplingMs,
    slowEveryMs: Math.max(samplingMs, 1_000),
    staticEveryMs: 60_000,
    durationMs: 2 * baselineMs + loadMs + samplingMs,
  });
  const { devices } = fleet;
  const builder = new TraceBuilder();
  const plans = new TraceLayoutPlans(devices.map(({ uuid }) => uuid));
  const [derive, activity] = [createDerive(), createActivity()];
  await stream.run(async (given) => {
    const derived = derive({
      frame: given,
      source: "sim",
      tier: "stream",
      freshForMs: 5_000,
      devices,
    });
    const { frame } = activity(derived);
    for (const { uuid, slots, columns } of plans.of(frame.layout))
      builder.add(uuid, frame.timeMs, columns, (at) => valueIn(frame, slots[at] ?? -1));
  }, new AbortController().signal);
  const trace = builder.build();
  const run = describe(plan, devices, trace);
  return { run, trace, before: undefined, after: undefined, output: new Uint8Array() };
}

function describe(plan: StressPlan, devices: readonly Device[], trace: RunTrace): Run {
  const { baselineMs, warmupMs, measuredMs, startMs, samplingMs } = plan;
  const loadFrom = startMs + baselineMs;
  const span: RunSpan = [loadFrom + warmupMs, loadFrom + warmupMs + measuredMs];
  const samples = Math.floor(measuredMs / samplingMs);
  return {
    format: "gpulse-run",
    version: 1,
    id: plan.id,
    label: plan.label,
    host: plan.host,
    command: [],
    startedMs: span[0],
    endedMs: span[1],
    durationSeconds: measuredMs / 1_000,
    exitCode: null,
    complete: true,
    work: { amount: workOf(devices, trace, span), unit: workUnit, from: "simulator" },
    phases: [{ name: "measured", startMs: span[0], endMs: span[1] }],
    devices: devices.map((device) => ({
      ...device,
      host: plan.host,
      power: powerKindOf(trace.get(device.uuid)),
      energy: energyOf(trace.get(device.uuid), span, samplingMs),
    })),
    visible: { variables: {}, hidden: [] },
    samplingMs,
    baselines:
      baselineMs === 0
        ? {}
        : { before: [startMs, loadFrom], after: [span[1], span[1] + baselineMs] },
    overhead: {
      cpuSeconds: 0,
      shareOfCore: 0,
      cores: 0,
      samplesWanted: samples,
      samplesTaken: samples,
    },
    verdict: { verdict: "same", changes: [], foreign: [] },
    hosts: [{ host: plan.host, clockDifferenceMs: 0 }],
    notes: [
      `Simulated: every number comes from a model of the ${plan.model.name}, none from hardware, and only what the model has can change.`,
      `Work is in ${workUnit}: one is what the model of an H200 does in a millisecond at boost.`,
      plan.rate === undefined
        ? "The load is saturated: the card does as much as it can."
        : `The load asks for ${plan.rate} ${workUnit} a second of each card.`,
    ],
    gpulse: plan.version,
  };
}

/** Difference of the counter between both ends, which coincide with samples. */
function workOf(devices: readonly Device[], trace: RunTrace, [fromMs, toMs]: RunSpan): number {
  let sum = 0;
  for (const { uuid } of devices) {
    const gpu = trace.get(uuid);
    const counter = gpu === undefined ? [] : points(gpu, workColumn);
    const at = (timeMs: number): number | undefined =>
      counter.findLast((point) => point.timeMs <= timeMs)?.value;
    const [from, to] = [at(fromMs), at(toMs)];
    if (from === undefined || to === undefined)
      throw new Error(`BUG: the simulator counted no work on ${uuid}`);
    sum += to - from;
  }
  // The counter has three decimal places.
  return Math.round(sum * 1_000) / 1_000;
}
