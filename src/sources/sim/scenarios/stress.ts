/** Two desktop cards under the same stress test. */
export const stressScenario = `
says: An RX 7800 XT beside an RX 7700 XT under the same stress test, after a minute of idling.
ambient: 24
fleet:
  - { model: RX 7800 XT, count: 1 }
  - { model: RX 7700 XT, count: 1 }
workloads:
  - { gpus: all, run: stress, after: 1m }
`;
