/** What a program asks of a GPU during one step. Workloads and recorded phases write it, the physics reads it. */

export interface Demand {
  /** Whether a program holds a context. */
  context: boolean;
  /** Share of the step in which kernels ran. */
  busy: number;
  /** Compute intensity while busy: 1 is a large bf16 matrix product. */
  core: number;
  /** Share of the memory bandwidth used while busy. */
  dram: number;
  /** What the memory controller counter shows while busy: it counts time, so it reads higher than bandwidth. */
  memoryBusy: number;
  /** Share of cycles in which the matrix units are active while busy. */
  tensor: number;
  memoryBytes: number;
  /** Share of the PCIe link used, by direction as the GPU sees it. */
  receive: number;
  transmit: number;
}

export function noDemand(): Demand {
  return {
    context: false,
    busy: 0,
    core: 0,
    dram: 0,
    memoryBusy: 0,
    tensor: 0,
    memoryBytes: 0,
    receive: 0,
    transmit: 0,
  };
}
