/** Nobody does anything. */
export const idleScenario = `
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
