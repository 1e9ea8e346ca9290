/** Every fault once, each on a GPU of its own where it can be. */
export const faultsScenario = `
says: Every fault once within an hour, on a machine that otherwise trains. It starts over every hour.
ambient: 27
fleet:
  - { model: H200, count: 8 }
workloads:
  - { gpus: all, run: training }
faults:
  - { fault: fan-failure, gpu: 0, at: 2m, for: 10m, every: 1h }
  - { fault: degraded-paste, gpu: 1, at: 4m, for: 15m, every: 1h }
  - { fault: stuck-clocks, gpu: 2, at: 6m, for: 10m, every: 1h }
  - { fault: ecc-growth, gpu: 3, at: 8m, for: 20m, every: 1h }
  - { fault: xid, gpu: 4, at: 10m, every: 1h }
  - { fault: pcie-downgrade, gpu: 5, at: 12m, for: 10m, every: 1h }
  - { fault: gpu-lost, gpu: 6, at: 14m, for: 3m, every: 1h }
  - { fault: power-brake, gpu: 7, at: 16m, for: 5m, every: 1h }
  - { fault: straggler, gpu: 0, at: 25m, for: 10m, every: 1h }
  - { fault: memory-leak, gpu: 1, at: 25m, for: 12m, every: 1h }
  - { fault: hung-driver, at: 40m, for: 30s, every: 1h }
`;
