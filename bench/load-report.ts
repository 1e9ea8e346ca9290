/** What a process of senders reports on its hosts, and how several of them add up. */
export interface SenderReport {
  hosts: number;
  ticks: number;
  /** Samples handed to the agent's push code, and those the hub has acknowledged. */
  written: number;
  sent: number;
  /** Refused for good, and dropped out of a full spool: lost. */
  refused: number;
  dropped: number;
  /** Frames that wait in spools. */
  waiting: number;
  retries: number;
  /** How long the oldest of them has waited. */
  lagSeconds: number;
  /** What the hub, or the network, said to hosts that have to try again. */
  problems: Record<string, number>;
}

export const noReport = (): SenderReport => ({
  hosts: 0,
  ticks: 0,
  written: 0,
  sent: 0,
  refused: 0,
  dropped: 0,
  waiting: 0,
  retries: 0,
  lagSeconds: 0,
  problems: {},
});
