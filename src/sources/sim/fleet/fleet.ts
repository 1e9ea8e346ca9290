/** All machines of a simulation, advanced in virtual time. The state depends only on seed and time, never on the reads. */
import type { Device } from "../../../model/device.ts";
import { stepMs } from "../physics/card.ts";
import type { Scenario } from "../scenario/schema.ts";
import { buildMachines, type FleetOptions } from "./build.ts";
import { type FaultPlan, intoFault } from "./faults.ts";
import type { SimGpu } from "./gpu.ts";
import type { SimMachine } from "./machine.ts";

export class SimFleet {
  readonly machines: readonly SimMachine[];
  readonly gpus: readonly SimGpu[];
  readonly devices: readonly Device[];
  /** The date and time of the simulation's start. */
  readonly startMs: number;
  readonly #hangs: readonly FaultPlan[];
  #steps = 0;

  constructor(scenario: Scenario, options: FleetOptions, startMs: number) {
    this.machines = buildMachines(scenario, options);
    this.gpus = this.machines.flatMap(({ gpus }) => gpus);
    this.devices = this.gpus.map(({ device }) => device);
    this.startMs = startMs;
    this.#hangs = scenario.faults
      .filter(({ fault }) => fault === "hung-driver")
      .map((given) => ({
        fault: given.fault,
        atMs: given.at,
        forMs: given.for,
        everyMs: given.every,
        amount: given.amount,
      }));
  }

  /** Advances every GPU to this virtual time since the start. Never goes back. */
  advanceTo(elapsedMs: number): void {
    const steps = Math.floor(elapsedMs / stepMs);
    if (steps <= this.#steps) return;
    for (const machine of this.machines) machine.advance(this.#steps, steps, this.startMs);
    this.#steps = steps;
  }

  get changes(): number {
    let sum = 0;
    for (const machine of this.machines) sum += machine.changes;
    return sum;
  }

  /** How much longer the driver does not respond; 0 if it does. */
  hangsForMs(elapsedMs: number): number {
    for (const plan of this.#hangs) {
      const into = intoFault(plan, elapsedMs);
      if (into !== undefined) return plan.forMs - into;
    }
    return 0;
  }
}
