/** The built-in scenarios, as text, so that they are part of the bundle and have the format of a user's own file. */

const faultsScenario = `
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

const mixedScenario = `
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

const stressScenario = `
says: An RX 7800 XT beside an RX 7700 XT under the same stress test, after a minute of idling.
ambient: 24
fleet:
  - { model: RX 7800 XT, count: 1 }
  - { model: RX 7700 XT, count: 1 }
workloads:
  - { gpus: all, run: stress, after: 1m }
`;

const idleScenario = `
says: Nothing runs. The desktop card without a display falls asleep.
ambient: 22
fleet:
  - { model: H200, count: 1 }
  - { model: RTX 4090, count: 1 }
  - { model: RX 7800 XT, count: 1, sleeps: true }
  - { model: MI300X, count: 1 }
workloads:
  - { gpus: all, run: idle }
`;

const mlperfScenario = `
says: A benchmark run every 20 minutes. Two minutes of stillness, then eight GPUs serve as fast as they can for 18.
ambient: 25
fleet:
  - { model: H200, count: 8 }
workloads:
  - { gpus: all, run: infer_heavy, after: 2m, for: 18m, every: 20m }
`;

/** The scenario of `sim:8`. */
const defaultScenario = `
says: A shared machine. Eleven users for eight GPUs train, serve and run batches through a job queue.
ambient: 27
fleet:
  - model: H200
queue:
  users: 11
  jobs:
    - { kind: training, share: 3, minutes: [3, 6] }
    - { kind: inference, share: 3, minutes: [3, 7], level: [0.25, 0.5] }
    - { kind: batch, share: 1, minutes: [2, 5] }
    - { kind: inference, share: 1, minutes: [3, 6], level: [0.02, 0.12] }
`;

export const scenarios: Readonly<Record<string, string>> = {
  default: defaultScenario,
  stress: stressScenario,
  idle: idleScenario,
  faults: faultsScenario,
  mixed: mixedScenario,
  mlperf: mlperfScenario,
};
