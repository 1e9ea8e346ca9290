/** Up to eight GPUs and their job queue. Machines are independent, so another one never changes the existing ones. */
import { stepMs, type Demand } from "../physics/card.ts";
import { idleState, step } from "../physics/gpu.ts";
import { clockHertz } from "../physics/state.ts";
import { FollowedWorkload, type LoadReader } from "../follow/follower.ts";
import { makeWorkload } from "../workloads/make.ts";
import type { JobQueue } from "../workloads/queue.ts";
import { idleWorkload } from "../workloads/steady.ts";
import type { Tally } from "../workloads/workload.ts";
import { applyFaults } from "./faults.ts";
import { assignmentAt, type SimGpu } from "./gpu.ts";

const stepsPerSecond = 1_000 / stepMs;

export class SimMachine {
  readonly gpus: readonly SimGpu[];
  readonly tally: Tally;
  readonly #queue: JobQueue | undefined;
  /** Incremented when a job starts or ends or a new XID occurs, since each changes the layout. */
  changes = 0;

  constructor(gpus: readonly SimGpu[], queue: JobQueue | undefined, tally: Tally) {
    this.gpus = gpus;
    this.#queue = queue;
    this.tally = tally;
  }

  /** Advances through the steps [from, to) of virtual time, which starts at the date startMs. */
  advance(from: number, to: number, startMs: number): void {
    for (let at = from; at < to; at++) {
      const elapsedMs = at * stepMs;
      if (at % stepsPerSecond === 0) this.#second(elapsedMs, startMs);
      for (const gpu of this.gpus) {
        if (gpu.lost) continue;
        const { card, state, demand } = gpu;
        // A card in deep idle reaches boost before the work runs.
        const clock = state.rung < 0 ? 1 : clockHertz(card, state) / card.model.clocks.boostHertz;
        gpu.workload.advance(stepMs, gpu.pace * clock, startMs + elapsedMs, demand);
        if (gpu.pace < 1) slacken(demand, gpu.pace);
        if (gpu.leakedBytes > 0) leak(gpu);
        step(card, state, gpu.around, demand);
      }
    }
  }

  /** Updates what changes at most once a second: faults, starting and ending jobs. */
  #second(elapsedMs: number, startMs: number): void {
    this.#queue?.tick(elapsedMs);
    for (const gpu of this.gpus) {
      const was = gpu.lost;
      applyFaults(gpu, elapsedMs);
      if (gpu.xid !== undefined) this.#note(gpu, gpu.xid, startMs + elapsedMs);
      const struck = gpu.lost || gpu.xid !== undefined;
      gpu.xid = undefined;
      if (gpu.lost && !was) this.changes += 1;
      // After a reset the card is cold and its counters are zero.
      if (was && !gpu.lost) gpu.state = idleState(gpu.card, gpu.around, false);
      if (struck) this.#stop(gpu, elapsedMs, true);
      if (!gpu.lost) this.#feed(gpu, elapsedMs);
    }
  }

  #feed(gpu: SimGpu, elapsedMs: number): void {
    if (gpu.followedLoad !== undefined) return this.#obey(gpu, gpu.followedLoad, elapsedMs);
    if (gpu.assignments.length > 0) {
      const assigned = assignmentAt(gpu.assignments, elapsedMs);
      if (assigned === gpu.assigned) return;
      this.#stop(gpu, elapsedMs, false);
      gpu.assigned = assigned;
      const plan = gpu.assignments[assigned];
      gpu.workload =
        plan === undefined
          ? idleWorkload
          : makeWorkload(
              plan.run,
              { level: plan.level, rate: plan.rate, warm: elapsedMs === 0 },
              gpu.context,
            );
      if (gpu.workload.kind !== undefined) this.tally.running[gpu.workload.kind] += 1;
      this.changes += 1;
      return;
    }
    if (this.#queue === undefined) return;
    if (gpu.job !== undefined && elapsedMs >= gpu.job.endsAtMs) this.#stop(gpu, elapsedMs, false);
    if (gpu.job !== undefined) return;
    gpu.job = this.#queue.take(elapsedMs);
    if (gpu.job === undefined) return;
    gpu.workload = makeWorkload(
      gpu.job.kind,
      { level: gpu.job.level, warm: elapsedMs === 0 },
      gpu.context,
    );
    this.changes += 1;
  }

  /** A different workload name is a different job; the running one reads its load by itself. */
  #obey(gpu: SimGpu, reported: LoadReader, elapsedMs: number): void {
    const said = reported();
    const now = gpu.workload instanceof FollowedWorkload ? gpu.workload.workload : undefined;
    if (said?.workload === now) return;
    this.#stop(gpu, elapsedMs, false);
    if (said === undefined) return;
    gpu.workload = new FollowedWorkload(reported, said, gpu.context);
    if (gpu.workload.kind !== undefined) this.tally.running[gpu.workload.kind] += 1;
    this.changes += 1;
  }

  #stop(gpu: SimGpu, elapsedMs: number, failed: boolean): void {
    if (gpu.job !== undefined) this.#queue?.end(gpu.job, elapsedMs, failed);
    else if (gpu.workload.kind !== undefined) {
      this.tally.running[gpu.workload.kind] -= 1;
      this.tally.ended[gpu.workload.kind][failed ? "failed" : "succeeded"] += 1;
    }
    if (gpu.workload !== idleWorkload) this.changes += 1;
    gpu.job = undefined;
    // The driver frees the memory of an ended program.
    gpu.leakedBytes = 0;
    gpu.assigned = -1;
    gpu.workload = idleWorkload;
  }

  #note(gpu: SimGpu, xid: number, clockMs: number): void {
    const seen = gpu.xids.get(xid);
    if (seen === undefined) {
      gpu.xids.set(xid, { count: 1, lastMs: clockMs });
      this.changes += 1;
    } else {
      seen.count += 1;
      seen.lastMs = clockMs;
    }
  }
}

/** A slowed kernel moves fewer bits: its units wait and draw less power. */
function slacken(demand: Demand, pace: number): void {
  demand.core *= pace;
  demand.dram *= pace;
  demand.memoryBusy *= pace;
  demand.tensor *= pace;
}

/** Adds the leaked memory to what the program needs, up to the card's memory. */
function leak({ demand, context, leakedBytes }: SimGpu): void {
  if (demand.memoryBytes > 0)
    demand.memoryBytes = Math.min(context.memoryBytes, demand.memoryBytes + leakedBytes);
}
