/** One of each model. */
export const mixedScenario = `
says: One of each model, each with work of its own.
ambient: 25
fleet:
  - { model: H200, count: 1 }
  - { model: H100, count: 1 }
  - { model: MI300X, count: 1 }
  - { model: RTX 4090, count: 1 }
  - { model: RX 7800 XT, count: 1 }
  - { model: RX 7700 XT, count: 1 }
workloads:
  - { gpus: 0-2, run: training }
  - { gpus: 3-4, run: inference, level: 0.45 }
  - { gpus: 5, run: batch }
`;
