/** Builds the machines of a scenario: their GPUs, each GPU's work, and the faults. */
import { makeSimCard, type SimCard, noDemand } from "../physics/card.ts";
import { idleState } from "../physics/gpu.ts";
import type { GpuModel } from "../physics/model.ts";
import { normalEnvironment } from "../physics/state.ts";
import { findModel } from "../models/index.ts";
import { Random } from "../random.ts";
import { namesGpu, type Scenario } from "../scenario/schema.ts";
import { JobQueue } from "../workloads/queue.ts";
import { idleWorkload } from "../workloads/steady.ts";
import { Tally } from "../workloads/workload.ts";
import type { ReportedLoad } from "../follow/reported-load.ts";
import type { FaultPlan } from "./faults.ts";
import type { Assignment, SimGpu } from "./gpu.ts";
import { SimMachine } from "./machine.ts";

/** Number of GPUs that share a queue and can access each other. */
export const gpusPerMachine = 8;

export interface FleetOptions {
  readonly seed: number;
  /** Owner of the GPUs, such as host and source; affects only their UUIDs, never their behaviour. */
  readonly owner?: string | undefined;
  /** The number of GPUs; the scenario's if undefined. */
  readonly gpus: number | undefined;
  /** Replaces the scenario's models. */
  readonly model: GpuModel | undefined;
  /** Replaces the scenario's work: the load that a service reports for a GPU, by index. */
  readonly follow?: ((index: number) => ReportedLoad | undefined) | undefined;
}

interface Slot {
  readonly model: GpuModel;
  readonly sleeps: boolean;
}

export function buildMachines(scenario: Scenario, options: FleetOptions): SimMachine[] {
  const slots = fillSlots(scenario, options);
  const cards = new Map<GpuModel, SimCard>();
  const machines: SimMachine[] = [];
  for (let first = 0; first < slots.length; first += gpusPerMachine) {
    const own = slots.slice(first, first + gpusPerMachine);
    const tally = new Tally();
    const gpus = own.map((slot, at) => buildGpu(scenario, options, first + at, slot, cards, tally));
    const users = Math.max(
      1,
      Math.round(((scenario.queue?.users ?? 0) * own.length) / gpusPerMachine),
    );
    const queue =
      scenario.queue === undefined || options.follow !== undefined
        ? undefined
        : new JobQueue(
            new Random(options.seed, `queue/${machines.length}`),
            scenario.queue.jobs,
            users,
            tally,
          );
    machines.push(new SimMachine(gpus, queue, tally));
  }
  return machines;
}

/** Repeats the scenario's fleet in order until the requested number is reached. */
function fillSlots(scenario: Scenario, { gpus, model }: FleetOptions): Slot[] {
  const listed = scenario.fleet.flatMap((entry) => {
    const found = model ?? findModel(entry.model);
    if (found === undefined) throw new Error(`BUG: model ${entry.model} passed the schema`);
    return Array.from({ length: entry.count ?? 1 }, (): Slot => ({
      model: found,
      sleeps: entry.sleeps,
    }));
  });
  const unsized = scenario.fleet.every(({ count }) => count === undefined);
  const wanted = gpus ?? (unsized ? gpusPerMachine : listed.length);
  return Array.from({ length: wanted }, (_, at) => listed[at % listed.length]).filter(
    (slot) => slot !== undefined,
  );
}

function buildGpu(
  scenario: Scenario,
  { seed, owner = "", follow }: FleetOptions,
  index: number,
  slot: Slot,
  cards: Map<GpuModel, SimCard>,
  tally: Tally,
): SimGpu {
  const { model } = slot;
  const card = cards.get(model) ?? makeSimCard(model);
  cards.set(model, card);
  const random = new Random(seed, `gpu/${index}`);
  const identity = new Random(seed, `uuid/${owner}/${index}`);
  // The air temperature differs between the cards of a chassis.
  const around = normalEnvironment(card, scenario.ambient + random.between(-1.5, 2.5));
  around.airflow = scenario.airflow;
  return {
    device: {
      uuid: `SIM-${[8, 4, 4, 4, 12].map((digits) => identity.hex(digits)).join("-")}`,
      index,
      vendor: model.vendor,
      model: model.name,
      simulated: true,
      pciBusId: pciBusId(index),
      driver: model.driver,
      vbios: model.vbios,
      linkType: model.linkType,
      ...(model.partNumber === undefined ? {} : { partNumber: model.partNumber }),
    },
    model,
    card,
    sleeps: slot.sleeps,
    context: {
      random,
      tally,
      memoryBytes: model.memory.totalBytes - model.memory.reservedBytes,
      speed: model.speed,
      done: { units: 0 },
    },
    faultRandom: new Random(seed, `faults/${index}`),
    faults: faultsOf(scenario, index),
    assignments: follow === undefined ? assignmentsOf(scenario, index) : [],
    followedLoad: follow === undefined ? undefined : () => follow(index),
    around,
    demand: noDemand(),
    state: idleState(card, around, false),
    workload: idleWorkload,
    assigned: -1,
    job: undefined,
    pace: 1,
    leakedBytes: 0,
    lost: false,
    pcieGeneration: model.pcie.generation,
    pcieWidth: model.pcie.width,
    pcieReplays: 0,
    eccCorrected: 0,
    eccUncorrected: 0,
    xid: undefined,
    xids: new Map(),
  };
}

function faultsOf(scenario: Scenario, index: number): FaultPlan[] {
  return scenario.faults
    .filter(({ fault, gpu }) => fault !== "hung-driver" && namesGpu(gpu, index))
    .map((given) => ({
      fault: given.fault,
      atMs: given.at,
      forMs: given.for,
      everyMs: given.every,
      amount: given.amount,
    }));
}

function assignmentsOf(scenario: Scenario, index: number): Assignment[] {
  return scenario.workloads
    .filter(({ gpus }) => namesGpu(gpus, index))
    .map((given) => ({
      run: given.run,
      level: given.level,
      rate: given.rate,
      afterMs: given.after,
      forMs: given.for,
      everyMs: given.every,
    }));
}

function pciBusId(index: number): string {
  const machine = Math.floor(index / gpusPerMachine);
  const bus = 0x18 + (index % gpusPerMachine) * 0x10;
  return `${machine.toString(16).padStart(4, "0")}:${bus.toString(16).padStart(2, "0")}:00.0`;
}
