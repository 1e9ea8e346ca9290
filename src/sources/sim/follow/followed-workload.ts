/** Work that a service says a GPU does: its kernel for the share of time it says, with the memory it says. The rest is physics. */
import { kernels } from "../kernels.ts";
import type { Demand } from "../physics/demand.ts";
import type { JobKind } from "../workloads/tally.ts";
import { apply, type WorkContext, type Workload } from "../workloads/workload.ts";
import type { ReportedLoad } from "./reported-load.ts";

/** What is said of one GPU now, or undefined: nothing runs on it. */
export type LoadReader = () => ReportedLoad | undefined;

export class FollowedWorkload implements Workload {
  readonly kind?: JobKind;
  readonly workload: string;
  readonly #told: LoadReader;
  readonly #memoryBytes: number;

  constructor(told: LoadReader, { workload, kind }: ReportedLoad, { memoryBytes }: WorkContext) {
    this.#told = told;
    this.workload = workload;
    this.#memoryBytes = memoryBytes;
    if (kind !== undefined) this.kind = kind;
  }

  advance(_stepMs: number, _pace: number, _clockMs: number, demand: Demand): void {
    const said = this.#told();
    const memoryBytes = said?.memoryBytes ?? 0;
    const { kernel, busy } = said ?? { kernel: "idle", busy: 0 };
    // A program that waits for work still holds its memory.
    demand.context = memoryBytes > 0 || this.kind !== undefined;
    demand.memoryBytes = Math.round(Math.min(memoryBytes, this.#memoryBytes));
    apply(demand, kernels[kernel], kernel === "idle" ? 0 : busy);
  }
}
