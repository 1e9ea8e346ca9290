/** What `sim:8` shows. */
export const defaultScenario = `
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
