/** A benchmark's shape: a still system, warm-up, a measured run, stillness. */
export const mlperfScenario = `
says: A benchmark run every 20 minutes. Two minutes of stillness, then eight GPUs serve as fast as they can for 18.
ambient: 25
fleet:
  - { model: H200, count: 8 }
workloads:
  - { gpus: all, run: infer_heavy, after: 2m, for: 18m, every: 20m }
`;
